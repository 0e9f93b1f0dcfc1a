"""Finds the best element of every row of a matrix: its value, or its first or last position.

NumPy's argmax is fast only for some lengths of rows, and its max only for long rows. The functions
here bring other matrices into such a form.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from extremum.model.fast.order import highest, lowest
from extremum.model.fast.pages import PAGE, bytes_at_page

__all__ = ["best_of_rows", "elements_at", "first_winner", "last_winner"]

SIMD_ELEMENTS = 64
"""How many elements of four bytes NumPy's argmax compares at once; it compares the rest singly."""
LEAST_TO_PAD = 33
"""Least length from which a row is filled up to `SIMD_ELEMENTS`."""
LEAST_ROW_IN_WORDS, LEAST_ELEMENTS_IN_WORDS = 64, 1 << 14
"""Least length of a row, and least number of elements of all rows, to reverse word by word."""
WORD = np.dtype("complex128")
"""The widest type that NumPy copies with one instruction."""
REVERSED_BYTES = 1 << 18
"""Bytes that are reversed at once. The copy stays in the cache until it is searched, which takes
half the time of reversing all rows first."""
LONG_ROW = 1 << 15
"""Least length from which a row is searched from its end, block by block."""
FIRST_BLOCK, BLOCK_GROWTH = 1 << 11, 4
"""Number of elements in the first such block, and how much longer than it the next one is, and so
on. Where elements often tie, the first block has the winner."""
LEAST_BY_ROW, FEW_ROWS = 160, 128
"""Least bytes of a row that is worth a reduction of its own, and most rows that are reduced so if
they are shorter. More rows that are shorter are reduced all at once.

The two ways were measured for all types. They break even at 100 to 200 bytes of many rows, and at
60 to 300 rows of any shorter length.
"""
MOST_PARTS = 4
"""Most parts of each row whose bests are compared one part after the other, in steps from row to
row, instead of all elements of all rows once more."""
LEAST_AT_PAGE = 1 << 16
"""Least bytes of short rows that are reduced in arrays that begin where pages do."""
MOST_STARTS_KEPT = 1 << 12
"""Most rows whose starts are kept for the next call."""


def best_of_rows(x: np.ndarray, *, minimum: bool = False) -> np.ndarray:
    """Return the greatest, or smallest, element of each row.

    Parameters
    ----------
    x : ndarray
        A matrix of integers or floats. Half floats must hold no NaN with the worse sign, which is
        minus for the greatest element. In a row that has NaN, any one of them wins. If zeros of
        both signs tie, either wins.
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
    if count * x.itemsize >= LEAST_BY_ROW or len(x) <= FEW_ROWS:
        # This takes half the time of a reduction along an axis, which sets up every row anew.
        return better.reduceat(flat, _starts(len(x), count))
    # As in `sliding`, the best of 2n elements is the better one of two bests of n. All rows are one
    # array here; what reaches from one row into the next is computed too, and not used.
    span, (out, spare) = 1, _targets(flat)
    while MOST_PARTS * span < count:
        into = None if out is None else out[: len(flat) - span]
        flat = better(flat[:-span], flat[span:], out=into)
        span, out, spare = 2 * span, spare, out
    best = better(flat[::count], flat[count - span :: count])
    for start in range(span, count - span, span):
        better(best, flat[start::count], out=best)
    return best


def _targets(x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """Return two arrays with the size and type of a vector, which begin where pages do.

    A small vector has none: it is not worth the time to find them.
    """
    if x.nbytes < LEAST_AT_PAGE:
        return None, None
    pages = -(-x.nbytes // PAGE)
    first, second = bytes_at_page(2 * pages * PAGE).view(x.dtype).reshape(2, -1)
    return first[: x.size], second[: x.size]


def _best_halves(x: np.ndarray, minimum: bool) -> np.ndarray:
    """Do what `best_of_rows` does, for half floats."""
    bits = _half_bits(x, minimum)
    best = best_of_rows(bits)
    # NumPy finds the least of all faster than it finds whether any is below a bound.
    if _are_worse(best.item(best.argmin()), bits.dtype):
        rest = _are_worse(best, bits.dtype)
        best[rest] = best_of_rows(bits[rest], minimum=True)
    return best.view(x.dtype)


def _first_halves(x: np.ndarray, minimum: bool) -> np.ndarray:
    """Do what `first_winner` does, for half floats."""
    bits = _half_bits(x, minimum)
    winners = first_winner(bits)
    if (rest := _are_worse(elements_at(bits, winners), bits.dtype)).any():
        winners[rest] = first_winner(bits[rest], minimum=True)
    return winners


def _half_bits(x: np.ndarray, minimum: bool) -> np.ndarray:
    """View half floats as integers, because NumPy compares half floats one at a time.

    Elements of the better sign, which is plus for a maximum and minus for a minimum, become greater
    than the others, and the better of two is the greater. Elements of the worse sign are ordered
    the other way round, which matters only in a row that has no others.
    """
    return x.view(np.uint16 if minimum else np.int16)


def _are_worse(bits: Any, dtype: np.dtype) -> Any:
    """Tell whether an element of `_half_bits`, or which of several, has the worse sign."""
    return bits < (0 if dtype.kind == "i" else 1 << 15)


def first_winner(x: np.ndarray, *, minimum: bool = False) -> np.ndarray:
    """Find the first of the greatest, or smallest, elements of each row.

    Parameters
    ----------
    x : ndarray
        A matrix in which NumPy's argmax, or argmin, finds the winners. Half floats must hold no NaN
        and no -0; rows in which all have the worse sign take twice the time.
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
        # The elements that are added beat no other, and come last, so they never win.
        dtype = x.dtype if x.itemsize == 4 else np.dtype(np.int32)
        padded = np.empty((rows, SIMD_ELEMENTS), dtype)
        padded[:, :count] = x
        padded[:, count:] = highest(dtype) if minimum else lowest(dtype)
        x = padded
    return _find_first(x, minimum)


def _find_first(x: np.ndarray, minimum: bool, out: np.ndarray | None = None) -> np.ndarray:
    """Call NumPy's argmax or argmin for each row."""
    return x.argmin(axis=1, out=out) if minimum else x.argmax(axis=1, out=out)


def elements_at(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return one element of each row: the one at its place.

    Examples
    --------
    >>> elements_at(np.array([[1, 3], [5, 4]]), np.array([1, 0]))
    array([3, 5])
    """
    # This takes half the time of an index for each axis.
    return x.take(_starts(*x.shape) + places)


def _starts(rows: int, count: int) -> np.ndarray:
    """Return where the rows of a contiguous matrix start, counted in elements; only to be read."""
    return _kept_starts(rows, count) if rows <= MOST_STARTS_KEPT else _new_starts(rows, count)


def _new_starts(rows: int, count: int) -> np.ndarray:
    """Do what `_starts` does."""
    return np.arange(0, rows * count, count)


_kept_starts = lru_cache(maxsize=16)(_new_starts)


def last_winner(x: np.ndarray, *, minimum: bool = False) -> np.ndarray:
    """Find the last of the greatest, or smallest, elements of each row.

    Parameters are those of `first_winner`, with rows of any type but half floats. NumPy has no
    function for this: its argmax finds the first winner, and copies an array that is reversed,
    element by element.

    Examples
    --------
    >>> last_winner(np.array([[1, 3, 3, 2]]))
    array([2])
    """
    count = x.shape[1]
    if count >= LONG_ROW:
        best = elements_at(x, first_winner(x, minimum=minimum))
        return np.array([_last_place(*pair) for pair in zip(x, best, strict=True)])
    in_words = count >= LEAST_ROW_IN_WORDS and x.size >= LEAST_ELEMENTS_IN_WORDS
    if in_words and x.strides[1] == x.itemsize:
        return _last_by_words(x, minimum)
    return count - 1 - first_winner(x[:, ::-1], minimum=minimum)


def _last_place(row: np.ndarray, best: np.generic) -> int:
    """Find the last position of the best element of a row, which may be NaN."""
    stop, size, is_nan = len(row), FIRST_BLOCK, bool(np.isnan(best))
    while stop:
        start = max(0, stop - size)
        part = row[start:stop]
        places = np.isnan(part).nonzero()[0] if is_nan else (part == best).nonzero()[0]
        if len(places):
            return start + int(places[-1])
        stop, size = start, BLOCK_GROWTH * size
    raise ValueError("row must hold its best element")


def _last_by_words(x: np.ndarray, minimum: bool) -> np.ndarray:
    """Find the last winners by reversing words of several elements.

    The last winner lies in the last word that has a winner, or in the tail that fills no word.
    """
    rows, count = x.shape
    group = WORD.itemsize // x.itemsize
    tail = count % group
    words = x[:, : count - tail].view(WORD)
    words_per_row = words.shape[1]
    # NumPy reverses words and rows at once faster than the words of each row.
    backwards = words[::-1, ::-1]
    step = min(rows, max(1, REVERSED_BYTES // (count * x.itemsize)))
    block = np.empty((step, words_per_row), WORD)
    elements = block.view(x.dtype)
    found = np.empty(rows, np.intp)
    for start in range(0, rows, step):
        stop = min(rows, start + step)
        if stop - start < step:
            block, elements = block[: stop - start], elements[: stop - start]
        block[...] = backwards[start:stop]
        _find_first(elements, minimum, found[start:stop])
    # A shift takes a third of the time of a division.
    skipped = found[::-1] >> group.bit_length() - 1
    if words.flags.c_contiguous:
        ends = words.take(_starts(rows, words_per_row) + (words_per_row - 1) - skipped)
    else:
        ends = words[np.arange(rows), -1 - skipped]
    ends = ends.view(x.dtype).reshape(rows, group)[:, ::-1]
    # What follows backwards in memory, NumPy would copy row by row before it searches each row.
    ends = np.hstack([x[:, : -tail - 1 : -1], ends]) if tail else np.ascontiguousarray(ends)
    place = _find_first(ends, minimum)
    skipped *= group
    if tail:
        # If the winner is in the tail, no word lies behind it.
        skipped[place < tail] = 0
    place += skipped
    return np.subtract(count - 1, place, out=place)
