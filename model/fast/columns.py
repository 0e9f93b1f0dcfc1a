"""Finds the winner of every column of a matrix, row by row.

NumPy's argmax along an axis copies the matrix with its axes swapped, and sets up a loop for each
column. Where columns are short and many, as the classes of all pixels are, it is several times as
fast to go through the rows, and to keep the best element of every column and its position.
"""

from __future__ import annotations

import numpy as np

from extremum.model.fast.order import has_nan, order_key

__all__ = ["are_short_and_many", "column_winners"]

MOST_ROWS, MOST_COPIED_ROWS = 64, 20
"""The most rows for which this is faster, and the most if the rows must be copied together."""
LEAST_COLUMNS = 128
"""The least number of columns for each row."""


def are_short_and_many(matrices: int, rows: int, columns: int) -> bool:
    """Tell whether `column_winners` is faster than a search column by column.

    Columns of several matrices that are too few in each count together, but must be copied.
    """
    least = LEAST_COLUMNS * rows
    if columns >= least:
        return 1 < rows <= MOST_ROWS
    return 1 < rows <= MOST_COPIED_ROWS and matrices * columns >= least


def column_winners(x: np.ndarray, *, nan: str, minimum: bool, last: bool) -> np.ndarray:
    """Find the winner of every column.

    Parameters
    ----------
    x : ndarray
        Elements of any type, of shape (matrices, rows, columns), with at most `MOST_ROWS` rows.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or loses to every number.
    minimum : bool
        Whether the smallest element wins.
    last : bool
        Whether the last of equal elements wins, and not the first.

    Returns
    -------
    ndarray of uint8
        The row of each winner, of shape (matrices, columns).

    Examples
    --------
    >>> x = np.array([[[1, 5], [3, 5], [3, 4]]])
    >>> column_winners(x, nan="propagate", minimum=False, last=True)
    array([[2, 1]], dtype=uint8)
    """
    if x.shape[2] < LEAST_COLUMNS * x.shape[1] or x.strides[2] != x.itemsize:
        x = np.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2)
    better = np.minimum if minimum else np.maximum
    if minimum:
        beats = np.less_equal if last else np.less
    else:
        beats = np.greater_equal if last else np.greater
    # NumPy compares half floats one at a time, and integers many at a time.
    keys = order_key(x, nan=nan, minimum=minimum) if x.dtype == np.float16 else x
    best = keys[:, 0].copy()
    winner = np.zeros(best.shape, np.uint8)
    wins, place = np.empty(best.shape, bool), np.empty(best.shape, np.uint8)
    for row in range(1, x.shape[1]):
        elements = keys[:, row]
        beats(elements, best, out=wins)
        better(elements, best, out=best)
        # NumPy is slow at choosing by a mask. A later row has the greater number.
        np.multiply(wins.view(np.uint8), np.uint8(row), out=place)
        np.maximum(winner, place, out=winner)
    if keys is x and has_nan(best):
        # NaN is neither greater nor smaller than anything. One that was met is in `best`.
        x = order_key(x, nan=nan, minimum=minimum)
        return column_winners(x, nan=nan, minimum=minimum, last=last)
    return winner
