"""The winner of every sliding window, dimension by dimension, by doubling.

The best of 2k taps is the better of two bests of k taps that lie k taps apart, and the best of a
window of any length is the better of two such bests that overlap: so a window of n taps takes
log2(n) passes. Winners may overlap and may be found dimension by dimension because the order of
elements (key, then position) is total.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .order import lowest
from .rows import first_winner
from .spatial import SpatialDimension

__all__ = ["are_planes", "slide_maximum", "slide_winners"]

LONG_PLANE = 256
"""Elements from which a plane is worth a reduction of its own; doubling takes all at once."""


def slide_maximum(x: np.ndarray, dimensions: Sequence[SpatialDimension]) -> np.ndarray:
    """Take the maximum of every window over the last axes.

    Parameters
    ----------
    x : ndarray
        Its last axes are the dimensions, in order. NumPy's maximum must be the order wanted.
    dimensions : sequence of SpatialDimension

    Returns
    -------
    ndarray
        Windows in place of elements along the last axes; the lowest number for an empty window.
        `x` itself if each window is an element.

    Examples
    --------
    >>> slide_maximum(np.array([3, 1, 2]), [SpatialDimension(3, window=2, end_padding=1)])
    array([3, 2, 2])
    """
    lead = x.shape[: x.ndim - len(dimensions)]
    if are_planes(dimensions):
        ones, plane = (1,) * len(dimensions), math.prod(d.size for d in dimensions)
        x = x.reshape(*lead, plane)
        if plane >= LONG_PLANE:
            return x.max(axis=-1).reshape(*lead, *ones)
        return _slide([x], len(lead), _row(plane))[0].reshape(*lead, *ones)
    # Outermost first: fewer rows remain for the inner dimensions, where strides are slow.
    for axis, dimension in enumerate(dimensions, len(lead)):
        [x] = _slide([x], axis, dimension)
    return x


def slide_winners(
    key: np.ndarray,
    dimensions: Sequence[SpatialDimension],
    weights: Sequence[int],
    origin: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the first of the greatest keys of every window over the last axes.

    Parameters
    ----------
    key : ndarray
        Its last axes are the dimensions, in order. No NaN.
    dimensions : sequence of SpatialDimension
    weights : sequence of int
        What a step along each dimension adds to a position; row-major, with gaps or without.
    origin : int
        Position of the first element of a plane.

    Returns
    -------
    keys : ndarray
        The greatest, +0 or -0 where they meet; the lowest number for an empty window.
    positions : ndarray of int64
        The origin, and sums of coordinate times weight; anything for an empty window.

    Examples
    --------
    >>> slide_winners(np.array([1, 3, 3]), [SpatialDimension(3, window=2)], [1])
    (array([3, 3]), array([1, 1]))
    """
    if are_planes(dimensions):
        return _plane_winners(key, [d.size for d in dimensions], weights, origin)
    steps = [d.dilation * weight for d, weight in zip(dimensions, weights, strict=True)]
    most = sum((d.window - 1) * step for d, step in zip(dimensions, steps, strict=True))
    kind = np.min_scalar_type(most)
    parts = [key]
    # Innermost first: so the earlier row wins among equals, and in it the earlier column.
    for axis in reversed(range(len(dimensions))):
        parts = _slide(
            parts, key.ndim - len(dimensions) + axis, dimensions[axis], steps[axis], kind
        )
    positions: np.ndarray | int = origin
    for dimension, weight in zip(dimensions, weights, strict=True):
        positions = np.add.outer(positions, dimension.first_elements() * weight)
    offsets = parts[1] if len(parts) > 1 else np.zeros(key.shape, kind)
    return parts[0], positions + offsets


def are_planes(dimensions: Sequence[SpatialDimension]) -> bool:
    """Tell whether there is one window, and it is the plane."""
    return all(d.outputs == 1 and d.window == d.size == d.padded for d in dimensions)


@lru_cache
def _row(size: int) -> SpatialDimension:
    """One window, and it is the row."""
    return SpatialDimension(size, window=size)


def _plane_winners(
    key: np.ndarray, sizes: Sequence[int], weights: Sequence[int], origin: int
) -> tuple[np.ndarray, np.ndarray]:
    shape = (*key.shape[: key.ndim - len(sizes)], *(1,) * len(sizes))
    plane = math.prod(sizes)
    rows = key.reshape(-1, plane)
    positions = first_winner(rows)
    best = rows.take(np.arange(0, rows.size, plane) + positions)
    if list(weights) != [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]:
        places = np.unravel_index(positions, sizes)
        columns = zip(places, weights, strict=True)
        positions = np.asarray(sum(place * weight for place, weight in columns))
    return best.reshape(shape), positions.reshape(shape) + origin


def _slide(
    parts: list[np.ndarray],
    axis: int,
    dimension: SpatialDimension,
    step: int = 0,
    kind: np.dtype | None = None,
) -> list[np.ndarray]:
    """Slide along one axis.

    Parameters
    ----------
    parts : list of one or two ndarray
        Keys; and the offsets that belong to them, unless they are all 0.
    axis : int
    dimension : SpatialDimension
    step : int
        What a tap adds to an offset.
    kind : dtype, optional
        Type of the offsets; None if nobody asks for them.

    Returns
    -------
    list of ndarray
        The best key of every window, and its offset.
    """
    if dimension.window == dimension.stride == 1 and dimension.padded == dimension.size:
        return parts
    shape, size, stride = parts[0].shape, dimension.size, dimension.stride
    lead, pitch = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    types = [parts[0].dtype] if kind is None else [parts[0].dtype, kind]
    parts = [part.reshape(lead, size, pitch) for part in parts]
    levels = {0: parts} if 0 in dimension.levels else {}
    for level in range(1, max(dimension.levels, default=0) + 1):
        doubled = _empty((lead, size, pitch), types)
        # All planes are one long row here; nobody uses what reaches from one into the next.
        join = _Join(dimension.dilation << (level - 1), step << (level - 1))
        join.write(_in_a_row(parts), _in_a_row(doubled))
        parts = doubled
        if level in dimension.levels:
            levels[level] = parts
    result = _empty((lead, dimension.outputs, pitch), types)
    for run in dimension.runs:
        source, taps = levels[run.level], run.taps - (1 << run.level)
        join = _Join(taps * dimension.dilation, taps * step, run.element, run.window, stride)
        if run.windows > 1 and dimension.outputs * stride == size:
            # The windows of all planes are a stride apart too, and taken as those of one plane.
            # Those that reach from one plane into the next are overwritten by later runs.
            join.write(_in_a_row(source), _in_a_row(result))
        else:
            join.write(source, result, run.windows)
    if len(dimension.empty_windows):
        result[0][:, dimension.empty_windows] = lowest(result[0].dtype)
    return [part.reshape(*shape[:axis], -1, *shape[axis + 1 :]) for part in result]


def _empty(shape: tuple[int, ...], types: Sequence[np.dtype]) -> list[np.ndarray]:
    return [np.empty(shape, dtype) for dtype in types]


def _in_a_row(parts: list[np.ndarray]) -> list[np.ndarray]:
    """View all planes as one."""
    return [part.reshape(1, -1, part.shape[2]) for part in parts]


class _Join(NamedTuple):
    """The better of two elements, window by window, along the middle one of three axes.

    Attributes
    ----------
    shift, added : int
        From the earlier element to the later one; and what that adds to an offset.
    element, window : int
        Where the first pair begins, and where its winner goes.
    stride : int
        From pair to pair.
    """

    shift: int
    added: int
    element: int = 0
    window: int = 0
    stride: int = 1

    def write(
        self, source: list[np.ndarray], target: list[np.ndarray], most: int = sys.maxsize
    ) -> None:
        """Write the winners of as many pairs as there are and have room, but at `most` so many."""
        room = target[0].shape[1] - self.window
        last = source[0].shape[1] - 1 - self.element - self.shift
        count = min(most, room, last // self.stride + 1)
        reach = (count - 1) * self.stride + 1
        later = self.element + self.shift
        first = slice(None), slice(self.element, self.element + reach, self.stride)
        second = slice(None), slice(later, later + reach, self.stride)
        windows = slice(None), slice(self.window, self.window + count)
        pairs = [(part[first], part[second]) for part in source]
        best, *best_offset = (part[windows] for part in target)
        if not self.shift:
            best[...] = pairs[0][0]
            for offset in best_offset:
                offset[...] = pairs[1][0] if len(pairs) > 1 else 0
            return
        if not best_offset:
            np.maximum(*pairs[0], out=best)
            return
        if self.stride > 1:
            # NumPy computes faster without gaps.
            pairs = [tuple(np.ascontiguousarray(part) for part in pair) for pair in pairs]
        early, late = pairs[0]
        wins = np.greater(late, early).view(np.uint8)
        np.maximum(early, late, out=best)
        # It is slow at choosing by a mask, and fast at arithmetic. The second wins with a later tap
        # than any of the first, so that the greater offset is the winner's.
        [target_offset] = best_offset
        added = target_offset.dtype.type(self.added)
        if len(pairs) == 1:
            np.multiply(wins, added, out=target_offset)
            return
        early_offset, late_offset = pairs[1]
        offset = late_offset + added
        offset *= wins
        np.maximum(early_offset, offset, out=target_offset)
