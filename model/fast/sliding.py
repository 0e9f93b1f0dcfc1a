"""Finds the winner of every window, dimension by dimension, by doubling.

The best of 2k taps is the better one of two bests of k taps that lie k taps apart. The best of a
window of any length is the better one of two such bests that overlap. So a window of n taps takes
log2(n) passes over the array. Windows may be covered by overlapping parts, and be combined
dimension by dimension, because the order of the elements (by key, then by position) is total.
`line_plan` tells which lines are compared with which. If only values are wanted, `maximum` finds
them without positions.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

import numpy as np

from extremum.model.fast.line_plan import LineIndex, LinePairs
from extremum.model.fast.order import lowest
from extremum.model.fast.rows import elements_at, first_winner
from extremum.model.fast.slide_plan import SlidePlan, slide_plans
from extremum.model.spatial import SpatialDimension

__all__ = [
    "are_planes",
    "columns_first",
    "coordinates",
    "in_large_units",
    "slide",
    "slide_winners",
]

NARROW = 8
"""Most elements of a line that are compared column by column."""
LITTLE_ENDIAN = sys.byteorder == "little"
UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


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
        Its last axes are the dimensions, in order. It must hold no NaN.
    dimensions : sequence of SpatialDimension
    weights : sequence of int
        What a step along each dimension adds to a position. Positions must ascend in row-major
        order, with gaps or without.
    origin : int
        Position of the first element of a plane.

    Returns
    -------
    keys : ndarray
        The greatest key of each window; either zero if both signs tie. An empty window has the
        lowest number. Always a fresh array.
    positions : ndarray of int64
        The origin plus the sum of coordinate times weight; empty windows have any number.

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

    def make(shape: tuple[int, ...]) -> _Winners:
        return _Winners(np.empty(shape, key.dtype), np.empty(shape, kind))

    winners = _Winners(key, None)
    # The innermost dimension comes first, so that of equal elements the one in the earlier row
    # wins, and within a row the one in the earlier column.
    axes = range(-len(dimensions), 0)[::-1]
    plans, sizes = slide_plans(tuple(dimensions), key.shape, key.itemsize, axes)
    for plan in plans:
        result = make(plan.shape)
        slide(winners, result, plan, make, partial(_join_winners, step=steps[plan.axis]))
        if len(plan.dimension.empty_windows):
            result.keys[:, plan.dimension.empty_windows] = lowest(key.dtype)
        winners = result
    positions: np.ndarray | int = origin
    for dimension, weight in zip(dimensions, weights, strict=True):
        positions = np.add.outer(positions, dimension.first_elements() * weight)
    keys = winners.keys if plans else key.copy()
    offsets = np.zeros(sizes, kind) if winners.offsets is None else winners.offsets.reshape(sizes)
    return keys.reshape(sizes), positions + offsets


def are_planes(dimensions: Sequence[SpatialDimension]) -> bool:
    """Tell whether there is only one window, and it covers the plane exactly."""
    return all(d.outputs == 1 and d.window == d.size == d.padded for d in dimensions)


def _plane_winners(
    key: np.ndarray, sizes: Sequence[int], weights: Sequence[int], origin: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find the winner of each plane, as `slide_winners` does."""
    shape = (*key.shape[: key.ndim - len(sizes)], *(1,) * len(sizes))
    plane = math.prod(sizes)
    rows = key.reshape(-1, plane)
    positions = first_winner(rows)
    best = elements_at(rows, positions)
    if list(weights) != [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]:
        columns = zip(coordinates(positions, sizes), weights, strict=True)
        positions = np.asarray(sum(place * weight for place, weight in columns))
    return best.reshape(shape), positions.reshape(shape) + origin


def coordinates(positions: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """Return the coordinates of row-major positions, one array for each dimension.

    `np.unravel_index` is not used: that of NumPy 2.4 gives wrong coordinates for more than 8192
    positions in an array whose last axis has length 1.

    Examples
    --------
    >>> coordinates(np.array([4, 5]), (2, 3))
    [array([1, 1]), array([1, 2])]
    """
    found: list[np.ndarray] = []
    for size in reversed(sizes):
        positions, coordinate = np.divmod(positions, size)
        found.insert(0, coordinate)
    return found


class _Winners(NamedTuple):
    """Keys of elements, and how far each lies behind the first element of its window.

    All offsets are 0 if there are none.
    """

    keys: np.ndarray
    offsets: np.ndarray | None

    def reshape(self, *shape: int) -> _Winners:
        """Reshape keys and offsets as NumPy reshapes an array."""
        offsets = None if self.offsets is None else self.offsets.reshape(shape)
        return _Winners(self.keys.reshape(shape), offsets)


_Found = TypeVar("_Found", np.ndarray, _Winners)
"""What slides: keys alone, or keys with their offsets."""


def slide(
    source: _Found,
    target: _Found,
    plan: SlidePlan,
    make: Callable[[tuple[int, ...]], _Found],
    join: Callable[[_Found, _Found, _Found, LinePairs], None],
) -> None:
    """Slide windows along one axis, and write the best of every window that meets an element.

    `make` allocates lines of a shape. `join` takes the arrays of the early and of the late lines,
    and writes the better elements of each pair to the third.
    """
    pitch = plan.pitch

    def joined(source: _Found, *passes: LinePairs) -> _Found:
        """Compare or copy lines to a fresh array of as many."""
        best = make((plan.lines, pitch))
        for pairs in passes:
            join(source, source, best, pairs)
        return best

    levels = {0: source.reshape(-1, pitch)}
    for level, pairs in enumerate(plan.doublings, 1):
        levels[level] = joined(levels[level - 1], pairs)
        if level - 1 not in plan.dimension.levels:
            del levels[level - 1]
    for level, before, all_pairs in plan.series:
        found = joined(levels[level], *before) if before else levels[level]
        for number, pairs in enumerate(all_pairs):
            lines, windows = found, target
            if pairs.in_a_row:
                windows = target.reshape(-1, pitch)
            else:
                lines = found.reshape(-1, plan.dimension.size, pitch)
            join(windows if number else lines, lines, windows, pairs)


def in_large_units(
    source: np.ndarray, index: LineIndex, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """View some lines and where they are copied to, in larger units than elements if possible.

    That halves the time that NumPy takes to copy them.

    Parameters
    ----------
    source : ndarray
        Lines along its last axis but one.
    index : LineIndex
        Which of them are copied.
    target : ndarray
        Where they are copied to, in the shape of ``source[index]``.

    Returns
    -------
    lines, target : ndarray
        Views of equal shape and type.
    """
    size, pitch = source.itemsize, source.shape[-1]
    if pitch > 1 and source.strides[-1] == size:
        line = _line_type(pitch * size)
        return source[index].view(line), target.view(line)
    places = index[1]
    even = pitch == 1 and places.step == 2 and places.start % 2 == 0
    fits = size <= 4 and places.stop < source.shape[-2] and source.strides[-2] == size
    if even and fits and LITTLE_ENDIAN:
        # Of every two elements the first is wanted, which is the lower half of their word.
        words = source[..., places.start : places.stop + 1, 0].view(UNSIGNED[2 * size])
        if words.flags.aligned:
            return words, target[..., 0].view(UNSIGNED[size])
    return source[index], target


@lru_cache
def _line_type(size: int) -> np.dtype:
    """Return a type whose elements are whole lines of `size` bytes."""
    return np.dtype((np.void, size))


def columns_first(*parts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Turn a few elements of each of many lines into a few columns of many elements.

    NumPy's innermost loop is along the last axis, if it is told to keep the order of the axes, and
    setting up a loop takes as long as some tens of comparisons. An axis of one element is dropped.
    """
    *_, windows, pitch = parts[0].shape
    if pitch == 1:
        parts = tuple(part[..., 0] for part in parts)
        if parts[0].ndim == 2 and windows <= NARROW < len(parts[0]):
            parts = tuple(part.T for part in parts)
    return parts


def _copy_lines(source: np.ndarray, index: LineIndex, target: np.ndarray) -> None:
    """Copy some lines."""
    lines, places = in_large_units(source, index, target)
    places[...] = lines


def _join_winners(
    early: _Winners, late: _Winners, target: _Winners, pairs: LinePairs, step: int
) -> None:
    """Write the winners of pairs of lines; `step` is what one tap adds to an offset."""
    best, offset = target.keys[pairs.target], target.offsets[pairs.target]  # pyright: ignore[reportOptionalSubscript]
    if pairs.late is None:
        _copy_lines(early.keys, pairs.early, best)
        if early.offsets is None:
            offset[...] = 0
        else:
            _copy_lines(early.offsets, pairs.early, offset)
        return
    first, second, best, offset = columns_first(
        early.keys[pairs.early], late.keys[pairs.late], best, offset
    )
    has_gaps = pairs.early[1].step > 1
    if has_gaps:
        # NumPy computes faster on arrays without gaps, even if they must be copied first.
        first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    wins = np.greater(second, first, order="C").view(np.uint8)
    np.maximum(first, second, out=best, order="C")
    # NumPy is slow at choosing by a mask, and fast at arithmetic. If the late line wins, its offset
    # is greater than that of the early line; if it does not, its offset counts as 0.
    added = offset.dtype.type(pairs.taps * step)
    if late.offsets is None:
        behind = offset if early.offsets is None else None
        behind = np.multiply(wins, added, out=behind, order="C")
    else:
        behind = columns_first(late.offsets[pairs.late])[0] + added
        behind *= wins
    if early.offsets is not None:
        before = columns_first(early.offsets[pairs.early])[0]
        if has_gaps:
            before = np.ascontiguousarray(before)
        np.maximum(before, behind, out=offset, order="C")
