"""The winner of every sliding window, found dimension by dimension.

That is exact because the order of elements (key, then position) is total: the best of the bests of
the rows is the best of the window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .spatial import SpatialDimension

__all__ = ["slide_maximum", "slide_positions"]


def slide_maximum(
    x: np.ndarray, dimensions: Sequence[SpatialDimension], lowest: np.generic | int
) -> np.ndarray:
    """Take the maximum of every window over the last axes.

    Parameters
    ----------
    x : ndarray
        Its last axes are the dimensions, in order. NumPy's maximum must be the order wanted.
    dimensions : sequence of SpatialDimension
    lowest : scalar
        The result of an empty window; no element is below it.

    Returns
    -------
    ndarray
        Fresh; windows in place of elements along the last axes.

    Examples
    --------
    >>> slide_maximum(np.array([3, 1, 2]), [SpatialDimension(3, window=2, end_padding=1)], -9)
    array([3, 2, 2])
    """
    # Outermost first: there the slices are contiguous, and fewer rows remain for the inner ones.
    for axis, dimension in enumerate(dimensions, x.ndim - len(dimensions)):
        x = _slide_one(x, axis, dimension, lowest)
    return x


def _slide_one(
    x: np.ndarray, axis: int, dimension: SpatialDimension, lowest: np.generic | int
) -> np.ndarray:
    shape = (*x.shape[:axis], dimension.outputs, *x.shape[axis + 1 :])
    if dimension.outputs < dimension.window:
        best = np.full(shape, lowest, x.dtype)
        for window, elements in dimension.windows():
            np.max(_at(x, axis, elements), axis=axis, out=_at(best, axis, window))
        return best
    taps = list(dimension.taps())
    # A tap that lies inside for every window makes the start; else the start is the identity.
    whole = next((tap for tap in taps if tap[0] == slice(0, dimension.outputs)), None)
    if whole is None:
        best = np.full(shape, lowest, x.dtype)
    else:
        taps.remove(whole)
        best = np.array(_at(x, axis, whole[1]), order="C")
    for windows, elements in taps:
        target = _at(best, axis, windows)
        np.maximum(target, _at(x, axis, elements), out=target)
    return best


def slide_positions(key: np.ndarray, dimensions: Sequence[SpatialDimension]) -> np.ndarray:
    """Find the first of the greatest keys of every window over the last axes.

    Parameters
    ----------
    key : ndarray of integers
        Its last axes are the dimensions, in order.
    dimensions : sequence of SpatialDimension

    Returns
    -------
    ndarray of int64
        Row-major positions within the last axes; anything for an empty window.

    Examples
    --------
    >>> slide_positions(np.array([1, 3, 3]), [SpatialDimension(3, window=2)])
    array([1, 1])
    """
    plane = math.prod(dimension.size for dimension in dimensions)
    shape = key.shape[key.ndim - len(dimensions) :]
    needed = 8 * key.itemsize + plane.bit_length()
    position = np.arange(plane).reshape(shape)
    if needed > 64:
        return _slide_pairs(key, np.broadcast_to(position, key.shape), dimensions)
    # Key above, position below, counted down from `plane` to 1: the greater of two such numbers is
    # the greater key, or the earlier of equal ones, and all are above the least of the type.
    packed_type = np.dtype(f"{key.dtype.kind}{4 if needed <= 32 else 8}")
    shift = packed_type.type(plane.bit_length())
    packed = np.left_shift(key, shift, dtype=packed_type)
    packed |= (plane - position).astype(packed_type)
    best = slide_maximum(packed, dimensions, np.iinfo(packed_type).min)
    best &= packed_type.type((1 << int(shift)) - 1)
    return plane - best.astype(np.int64)


def _slide_pairs(
    key: np.ndarray, position: np.ndarray, dimensions: Sequence[SpatialDimension]
) -> np.ndarray:
    """Slide keys and positions side by side, for keys too wide to share a number with them."""
    # Innermost first, taps in order, strictly greater: so the earlier row wins among equals, and
    # in it the earlier column.
    for axis, dimension in reversed(list(enumerate(dimensions, key.ndim - len(dimensions)))):
        first = dimension.first_elements()
        best, best_position = key.take(first, axis), position.take(first, axis)
        for windows, elements in dimension.taps():
            target, candidate = _at(best, axis, windows), _at(key, axis, elements)
            wins = candidate > target
            np.copyto(target, candidate, where=wins)
            np.copyto(_at(best_position, axis, windows), _at(position, axis, elements), where=wins)
        key, position = best, best_position
    return position


def _at(x: np.ndarray, axis: int, index: slice | int) -> np.ndarray:
    return x[(slice(None),) * axis + (index,)]
