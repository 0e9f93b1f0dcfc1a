"""The best of each row of a matrix: its value, or the first or the last of its places.

NumPy's argmax is fast where the length of a row suits it, and its max where rows are long.
"""

from __future__ import annotations

import numpy as np

from .order import highest, lowest

__all__ = ["best_of_rows", "elements_at", "first_winner", "last_winner"]

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
LEAST_BY_ROW = 160
"""Bytes from which a row is worth a reduction of its own; doubling takes all rows at once.

Measured for all types: they break even at 100 to 200 bytes.
"""


def best_of_rows(x: np.ndarray, *, minimum: bool = False) -> np.ndarray:
    """Give the greatest, or smallest, element of each row.

    Parameters
    ----------
    x : ndarray
        A matrix of integers or floats. Some NaN wins if a row has any, but half floats must hold
        none; +0 or -0 wins where they meet.
    minimum : bool
        Whether the smallest element is wanted.

    Examples
    --------
    >>> best_of_rows(np.array([[1, 3, 2], [-1, -3, -2]], np.float16))
    array([ 3., -1.], dtype=float16)
    """
    if x.dtype == np.float16:
        return _best_halves(x, minimum)
    better, flat, count = np.minimum if minimum else np.maximum, x.reshape(-1), x.shape[1]
    if count * x.itemsize >= LEAST_BY_ROW:
        # Half the time of a reduction along an axis, which sets up every row anew.
        return better.reduceat(flat, np.arange(0, flat.size, count))
    # As in `sliding`: the best of 2n is the better of two bests of n. All rows are one here, and
    # nobody uses what reaches from one into the next.
    span = 1
    while 2 * span < count:
        flat = better(flat[:-span], flat[span:])
        span *= 2
    return better(flat[::count], flat[count - span :: count])


def _best_halves(x: np.ndarray, minimum: bool) -> np.ndarray:
    bits = _half_bits(x, minimum)
    best = best_of_rows(bits)
    if (rest := _are_worse(best)).any():
        best[rest] = best_of_rows(bits[rest], minimum=True)
    return best.view(x.dtype)


def _first_halves(x: np.ndarray, minimum: bool) -> np.ndarray:
    bits = _half_bits(x, minimum)
    winners = first_winner(bits)
    if (rest := _are_worse(elements_at(bits, winners))).any():
        winners[rest] = first_winner(bits[rest], minimum=True)
    return winners


def _half_bits(x: np.ndarray, minimum: bool) -> np.ndarray:
    """View half floats as integers, because NumPy compares floats of that size one by one.

    Those of the better sign are above the others then, and ordered as they are: positive ones for a
    maximum, negative ones for a minimum. The others are ordered the other way round, which matters
    where a row has nothing else.
    """
    return x.view(np.uint16 if minimum else np.int16)


def _are_worse(bits: np.ndarray) -> np.ndarray:
    """Tell which of the bits from `_half_bits` have the worse sign."""
    return bits < (0 if bits.dtype.kind == "i" else 1 << 15)


def first_winner(x: np.ndarray, *, minimum: bool = False) -> np.ndarray:
    """Find the first of the greatest, or smallest, elements of each row.

    Parameters
    ----------
    x : ndarray
        A matrix in which NumPy's argmax, or argmin, finds the winners. Half floats must hold no NaN
        and no -0, and take twice the time where all of a row have the worse sign.
    minimum : bool
        Whether the smallest element wins.

    Examples
    --------
    >>> first_winner(np.array([[1, 3, 3, 2]]))
    array([1])
    """
    if x.dtype == np.float16:
        return _first_halves(x, minimum)
    rows, count = x.shape
    if LEAST_TO_PAD <= count < SIMD_ELEMENTS <= rows and x.itemsize <= 4:
        # Behind the others, what beats no element does not win.
        dtype = x.dtype if x.itemsize == 4 else np.dtype(np.int32)
        padded = np.empty((rows, SIMD_ELEMENTS), dtype)
        padded[:, :count] = x
        padded[:, count:] = highest(dtype) if minimum else lowest(dtype)
        x = padded
    return x.argmin(axis=1) if minimum else x.argmax(axis=1)


def elements_at(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Give one element of each row: the one at its place.

    Examples
    --------
    >>> elements_at(np.array([[1, 3], [5, 4]]), np.array([1, 0]))
    array([3, 5])
    """
    # Half the time of an index for each axis.
    return x.take(np.arange(0, x.size, x.shape[1]) + places)


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
    count, group = x.shape[1], WORD.itemsize // x.itemsize
    tail = count % group
    words = x[:, : count - tail].view(WORD)
    # All of them backwards, rows too, are one run of memory to NumPy.
    backwards = np.ascontiguousarray(words[::-1, ::-1])
    skipped = first_winner(backwards.view(x.dtype), minimum=minimum) // group
    ends = elements_at(backwards, skipped).view(x.dtype)[::-1].reshape(-1, group)
    skipped = skipped[::-1] * group
    if tail:
        ends = np.hstack([x[:, : -tail - 1 : -1], ends])
    place = first_winner(ends, minimum=minimum)
    if tail:
        # What comes behind the word: nothing but the tail if the winner is in that.
        skipped[place < tail] = 0
    return count - 1 - skipped - place
