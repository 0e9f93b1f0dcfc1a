"""The first or the last winner of each row of a matrix, as fast as NumPy's argmax."""

from __future__ import annotations

import numpy as np

from .order import highest, lowest

__all__ = ["first_winner", "last_winner"]

SIMD_ELEMENTS = 64
"""Elements of four bytes that NumPy's argmax takes in one go; what is left it takes one by one."""
LEAST_TO_PAD = 33
"""Length from which a short row is filled up to that."""
LEAST_IN_WORDS = 64
"""Length from which a row is reversed word by word."""
WORD = np.dtype("complex128")
"""The widest type that NumPy copies in one move."""
LONG_ROW = 1 << 15
"""Length from which a row is searched from its end, block by block."""
BLOCK_ELEMENTS = 1 << 14


def first_winner(x: np.ndarray, *, minimum: bool = False) -> np.ndarray:
    """Find the first of the greatest, or smallest, elements of each row.

    Parameters
    ----------
    x : ndarray
        A matrix in which NumPy's argmax, or argmin, finds the winners; no half floats.
    minimum : bool
        Whether the smallest element wins.

    Examples
    --------
    >>> first_winner(np.array([[1, 3, 3, 2]]))
    array([1])
    """
    rows, count = x.shape
    if LEAST_TO_PAD <= count < SIMD_ELEMENTS <= rows and x.itemsize <= 4:
        # Behind the others, what beats no element does not win.
        dtype = x.dtype if x.itemsize == 4 else np.dtype(np.int32)
        padded = np.empty((rows, SIMD_ELEMENTS), dtype)
        padded[:, :count] = x
        padded[:, count:] = highest(dtype) if minimum else lowest(dtype)
        x = padded
    return x.argmin(axis=1) if minimum else x.argmax(axis=1)


def last_winner(x: np.ndarray, *, minimum: bool = False) -> np.ndarray:
    """Find the last of the greatest, or smallest, elements of each row; parameters as above.

    NumPy's functions find the first, and copy what runs backwards, element by element.

    Examples
    --------
    >>> last_winner(np.array([[1, 3, 3, 2]]))
    array([2])
    """
    count = x.shape[1]
    if count >= LONG_ROW:
        best = x.min(axis=1) if minimum else x.max(axis=1)
        return np.array([_last_place(*pair) for pair in zip(x, best, strict=True)])
    if count >= LEAST_IN_WORDS and x.strides[1] == x.itemsize:
        return _last_by_words(x, minimum)
    return count - 1 - first_winner(x[:, ::-1], minimum=minimum)


def _last_place(row: np.ndarray, best: np.generic) -> int:
    """Find the last place of the best element of a row, which may be NaN."""
    for stop in range(len(row), 0, -BLOCK_ELEMENTS):
        start = max(0, stop - BLOCK_ELEMENTS)
        part = row[start:stop]
        places = np.flatnonzero(np.isnan(part) if np.isnan(best) else part == best)
        if len(places):
            return start + int(places[-1])
    raise ValueError("row must hold its best element")


def _last_by_words(x: np.ndarray, minimum: bool) -> np.ndarray:
    """Find the last winners by reversing words of several elements.

    The last winner is in the last word that holds one, or in the tail that fills no word.
    """
    rows, count = np.arange(len(x)), x.shape[1]
    group = WORD.itemsize // x.itemsize
    tail = count % group
    words = x[:, : count - tail].view(WORD)
    backwards = np.ascontiguousarray(words[:, ::-1]).view(x.dtype)
    word = words.shape[1] - 1 - first_winner(backwards, minimum=minimum) // group
    ends, start = words[rows, word].view(x.dtype).reshape(-1, group), word * group
    if tail:
        ends = np.hstack([ends, x[:, count - tail :]])
    place = ends.shape[1] - 1 - first_winner(ends[:, ::-1], minimum=minimum)
    return (
        start + place if not tail else np.where(place < group, start, count - tail - group) + place
    )
