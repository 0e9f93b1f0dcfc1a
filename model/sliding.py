"""The winner of every sliding window, found dimension by dimension.

That is exact because the order of elements (key, then position) is total: the best of the bests of
the rows is the best of the window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .order import at
from .phases import slide_flat, suits
from .spatial import SpatialDimension

__all__ = ["are_planes", "slide_maximum", "slide_winners"]


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
        Windows in place of elements along the last axes. `x` itself if each window is an element.

    Examples
    --------
    >>> slide_maximum(np.array([3, 1, 2]), [SpatialDimension(3, window=2, end_padding=1)], -9)
    array([3, 2, 2])
    """
    lead = x.shape[: x.ndim - len(dimensions)]
    if are_planes(dimensions):
        return x.reshape(*lead, -1).max(axis=-1).reshape(*lead, *(1,) * len(dimensions))
    if suits(dimensions) and all(dimension.stride == 1 for dimension in dimensions):
        return slide_flat(x, dimensions, lowest)[0]
    # Outermost first: there the slices are contiguous, and fewer rows remain for the inner ones.
    for axis, dimension in enumerate(dimensions[:-1], len(lead)):
        x = _slide_values(x, axis, dimension, lowest)
    if suits(dimensions[-1:]):
        return slide_flat(x, dimensions[-1:], lowest)[0]
    return _slide_values(x, x.ndim - 1, dimensions[-1], lowest)


def slide_winners(
    key: np.ndarray,
    dimensions: Sequence[SpatialDimension],
    weights: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Find the first of the greatest keys of every window over the last axes.

    Parameters
    ----------
    key : ndarray of integers
        Its last axes are the dimensions, in order.
    dimensions : sequence of SpatialDimension
    weights : sequence of int
        What a step along each dimension adds to a position; row-major, with gaps or without.

    Returns
    -------
    keys : ndarray
        The greatest; the least integer for an empty window.
    positions : ndarray of int64
        Sums of coordinate times weight; anything for an empty window.

    Examples
    --------
    >>> slide_winners(np.array([1, 3, 3]), [SpatialDimension(3, window=2)], [1])
    (array([3, 3]), array([1, 1]))
    """
    if are_planes(dimensions):
        lead, shape = key.shape[: key.ndim - len(dimensions)], key.shape[-len(dimensions) :]
        rows = key.reshape(-1, math.prod(shape))
        positions = rows.argmax(axis=1)
        best = rows[np.arange(len(rows)), positions]
        if list(weights) != [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]:
            places = np.unravel_index(positions, shape)
            columns = zip(places, weights, strict=True)
            positions = np.asarray(sum(place * weight for place, weight in columns))
        lead = (*lead, *(1,) * len(dimensions))
        return best.reshape(lead), positions.reshape(lead)
    lowest = np.iinfo(key.dtype).min
    steps = [d.dilation * weight for d, weight in zip(dimensions, weights, strict=True)]
    if suits(dimensions):
        key, offsets = slide_flat(key, dimensions, lowest, steps)
    else:
        key, offsets = _slide_offsets(key, dimensions, lowest, steps)
    positions = _sums([_starts(d) for d in dimensions], weights) + offsets
    # Where all elements of a window are the least, none of them was greater than the padding.
    if any(dimension.start_padding for dimension in dimensions) and key.min() == lowest:
        first = _sums([dimension.first_elements() for dimension in dimensions], weights)
        np.copyto(positions, first, where=key == lowest)
    return key, positions


def are_planes(dimensions: Sequence[SpatialDimension]) -> bool:
    """Tell whether there is one window, and it is the plane."""
    return all(d.outputs == 1 and d.window == d.size == d.padded for d in dimensions)


def _starts(dimension: SpatialDimension) -> np.ndarray:
    """Give the coordinate of each window's first tap, which may lie in the padding."""
    return np.arange(dimension.outputs) * dimension.stride - dimension.start_padding


def _sums(places: Sequence[np.ndarray], weights: Sequence[int]) -> np.ndarray:
    """Add up coordinates times weights, for all combinations of coordinates."""
    total = np.zeros(1, np.int64)
    for place, weight in zip(places, weights, strict=True):
        total = total[..., None] + place * weight
    return total[0]


def _slide_offsets(
    key: np.ndarray,
    dimensions: Sequence[SpatialDimension],
    lowest: np.generic | int,
    steps: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Give greatest keys and offsets as `slide_flat` does, for windows of any length."""
    most = sum((d.window - 1) * step for d, step in zip(dimensions, steps, strict=True))
    offset = np.zeros(key.shape, np.min_scalar_type(most))
    # Innermost first, taps in order, strictly greater: so the earlier row wins among equals, and
    # in it the earlier column.
    for axis, dimension in reversed(list(enumerate(dimensions, key.ndim - len(dimensions)))):
        step = steps[axis - key.ndim + len(dimensions)]
        taps = list(dimension.numbered_taps())
        first, windows, elements = taps[0]
        best = _start(at(key, axis, elements), axis, dimension, windows, lowest)
        best_offset = _start(at(offset, axis, elements), axis, dimension, windows, 0)
        best_offset += offset.dtype.type(first * step)
        for tap, windows, elements in taps[1:]:
            target, candidate = at(best, axis, windows), at(key, axis, elements)
            wins = np.greater(candidate, target).view(np.uint8)
            np.maximum(target, candidate, out=target)
            target = at(best_offset, axis, windows)
            # NumPy is slow at choosing by a mask, fast at arithmetic, which may wrap around.
            change = at(offset, axis, elements) - target
            change += offset.dtype.type(tap * step)
            change *= wins
            target += change
        key, offset = best, best_offset
    return key, offset


def _slide_values(
    x: np.ndarray, axis: int, dimension: SpatialDimension, lowest: np.generic | int
) -> np.ndarray:
    if dimension.window == dimension.stride == 1 and dimension.padded == dimension.size:
        return x
    if dimension.outputs < dimension.window:
        shape = (*x.shape[:axis], dimension.outputs, *x.shape[axis + 1 :])
        best = np.full(shape, lowest, x.dtype)
        for window, elements in dimension.windows():
            np.max(at(x, axis, elements), axis=axis, out=at(best, axis, window))
        return best
    # A tap that lies inside for every window makes the start; else the start is the lowest value.
    taps = sorted(dimension.numbered_taps(), key=lambda tap: tap[1].start - tap[1].stop)
    best = _start(at(x, axis, taps[0][2]), axis, dimension, taps[0][1], lowest)
    for _, windows, elements in taps[1:]:
        target = at(best, axis, windows)
        np.maximum(target, at(x, axis, elements), out=target)
    return best


def _start(
    x: np.ndarray,
    axis: int,
    dimension: SpatialDimension,
    windows: slice,
    lowest: np.generic | int,
) -> np.ndarray:
    """Give `x` to some windows, and the lowest value to the others."""
    best = np.empty((*x.shape[:axis], dimension.outputs, *x.shape[axis + 1 :]), x.dtype)
    at(best, axis, slice(0, windows.start))[...] = lowest
    at(best, axis, windows)[...] = x
    at(best, axis, slice(windows.stop, None))[...] = lowest
    return best
