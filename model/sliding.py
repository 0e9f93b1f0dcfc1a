"""The winner of every sliding window, dimension by dimension, by doubling.

The best of 2k taps is the better of two bests of k taps that lie k taps apart, and the best of a
window of any length is the better of two such bests that overlap: so a window of n taps takes
log2(n) passes. Winners may overlap and may be found dimension by dimension because the order of
elements (key, then position) is total. What is joined with what follows from the geometry: `_plan`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import EllipsisType
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from .order import comparable, from_key, lowest, lowest_key
from .rows import best_of_rows, elements_at, first_winner
from .spatial import SpatialDimension

__all__ = ["are_planes", "slide_maximum", "slide_winners"]

LITTLE_ENDIAN = sys.byteorder == "little"
UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
SHORT_STRETCH = 256
"""Bytes below which a stretch of pairs takes NumPy longer to set up than to join.

Measured on lines of 28 to 512 bytes. Then all is joined in one go, and what is wanted is copied,
which needs less setting up; with strides above 2, too much would be joined in vain.
"""


def slide_maximum(x: np.ndarray, dimensions: Sequence[SpatialDimension]) -> np.ndarray:
    """Take the maximum of every window over the last axes.

    Parameters
    ----------
    x : ndarray
        Its last axes are the dimensions, in order. No -0. Some NaN wins if a window meets any, but
        half floats must hold none.
    dimensions : sequence of SpatialDimension

    Returns
    -------
    ndarray
        Windows in place of elements along the last axes; the lowest number for an empty window.
        Fresh, also where each window is an element.

    Examples
    --------
    >>> slide_maximum(np.array([3, 1, 2]), [SpatialDimension(3, window=2, end_padding=1)])
    array([3, 2, 2])
    """
    if dimensions[0].outputs == 1 and are_planes(dimensions):
        lead = x.shape[: x.ndim - len(dimensions)]
        rows = x.reshape(-1, math.prod(d.size for d in dimensions))
        return best_of_rows(rows).reshape(*lead, *(1,) * len(dimensions))
    keys, least = comparable(x), lowest_key(x.dtype)
    dtype = keys.dtype

    def make(shape: tuple[int, ...]) -> np.ndarray:
        return np.empty(shape, dtype)

    # Outermost first: fewer rows remain for the inner dimensions, where strides are slow.
    plans, sizes = _planned(tuple(dimensions), x.shape, x.itemsize, range(-len(dimensions), 0))
    if not plans:
        return x.copy()
    for plan in plans:
        padded, inside = make(plan.shape), plan.inside
        result = padded[..., inside] if inside else padded
        _slide(keys, result, plan, make, _join_keys)
        if len(plan.dimension.empty_windows):
            result[:, plan.dimension.empty_windows] = least
        if inside:
            padded[..., : inside.start] = padded[..., inside.stop :] = least
        keys = padded
    return from_key(keys.reshape(sizes), x.dtype)


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
        The greatest, +0 or -0 where they meet; the lowest number for an empty window. Fresh.
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

    def make(shape: tuple[int, ...]) -> _Winners:
        return _Winners(np.empty(shape, key.dtype), np.empty(shape, kind))

    winners = _Winners(key, None)
    # Innermost first: so the earlier row wins among equals, and in it the earlier column.
    axes = range(-len(dimensions), 0)[::-1]
    plans, sizes = _planned(tuple(dimensions), key.shape, key.itemsize, axes)
    for plan in plans:
        result = make(plan.shape)
        _slide(winners, result, plan, make, partial(_join_winners, step=steps[plan.axis]))
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
    """Tell whether there is one window, and it is the plane."""
    return all(d.outputs == 1 and d.window == d.size == d.padded for d in dimensions)


def _plane_winners(
    key: np.ndarray, sizes: Sequence[int], weights: Sequence[int], origin: int
) -> tuple[np.ndarray, np.ndarray]:
    shape = (*key.shape[: key.ndim - len(sizes)], *(1,) * len(sizes))
    plane = math.prod(sizes)
    rows = key.reshape(-1, plane)
    positions = first_winner(rows)
    best = elements_at(rows, positions)
    if list(weights) != [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]:
        places = np.unravel_index(positions, sizes)
        columns = zip(places, weights, strict=True)
        positions = np.asarray(sum(place * weight for place, weight in columns))
    return best.reshape(shape), positions.reshape(shape) + origin


class _Winners(NamedTuple):
    """Keys and their offsets; all offsets are 0 where there are none."""

    keys: np.ndarray
    offsets: np.ndarray | None

    def reshape(self, *shape: int) -> _Winners:
        """Reshape both, as an array."""
        offsets = None if self.offsets is None else self.offsets.reshape(shape)
        return _Winners(self.keys.reshape(shape), offsets)


_Found = TypeVar("_Found", np.ndarray, _Winners)
"""What slides: keys alone, or with their offsets."""


def _slide(
    source: _Found,
    target: _Found,
    plan: _Plan,
    make: Callable[[tuple[int, ...]], _Found],
    join: Callable[[_Found, _Found, _Pairs], None],
) -> None:
    """Slide along one axis: write the best of every window that meets an element.

    `make` makes room for lines, and `join` writes the better ones of pairs of them.
    """
    pitch = plan.pitch

    def joined(source: _Found, pairs: _Pairs) -> _Found:
        """Give as many lines as there are, with the winners at the first lines of the pairs."""
        best = make((plan.lines, pitch))
        join(source, best, pairs)
        return best

    levels = {0: source.reshape(-1, pitch)}
    for level, pairs in enumerate(plan.doublings, 1):
        levels[level] = joined(levels[level - 1], pairs)
        if level - 1 not in plan.dimension.levels:
            del levels[level - 1]
    for level, everywhere, in_a_row, pairs in plan.runs:
        lines = levels[level]
        if everywhere:
            lines = joined(lines, everywhere)
        if in_a_row:
            join(lines, target.reshape(-1, pitch), pairs)
        else:
            join(lines.reshape(-1, plan.dimension.size, pitch), target, pairs)


_Lines: TypeAlias = tuple[EllipsisType, slice, slice]
"""Index of lines, which are what lies at one element of a dimension: of each plane, or of all."""


class _Pairs(NamedTuple):
    """Pairs of lines that are joined.

    Attributes
    ----------
    early, late, target : tuple
        The two lines of the pairs, and where their winners go. The early ones are just copied if
        there are no late ones.
    taps : int
        How many taps lie between the two.
    """

    early: _Lines
    late: _Lines | None
    target: _Lines
    taps: int


class _RunPlan(NamedTuple):
    """How the windows of a run are found.

    Attributes
    ----------
    level : int
        How often the taps are doubled before.
    everywhere : _Pairs or None
        What is joined in one go before, so that the windows need but be copied.
    in_a_row : bool
        Whether the windows of all planes are taken as those of one.
    pairs : _Pairs
    """

    level: int
    everywhere: _Pairs | None
    in_a_row: bool
    pairs: _Pairs


class _Plan(NamedTuple):
    """How to slide along a dimension.

    Attributes
    ----------
    axis : int
        Where it is, counted from the end.
    dimension : SpatialDimension
    lines, pitch : int
        How many lines there are, and elements in each.
    shape : tuple of int
        The result's: planes, windows, elements of a line.
    inside : slice or None
        Which elements of a line are those, where the next dimension's padding is beside them.
    doublings, runs : list
        What is joined to double the taps, level by level, and for each run.
    """

    axis: int
    dimension: SpatialDimension
    lines: int
    pitch: int
    shape: tuple[int, int, int]
    inside: slice | None
    doublings: list[_Pairs]
    runs: list[_RunPlan]


@lru_cache(maxsize=256)
def _planned(
    dimensions: tuple[SpatialDimension, ...], shape: tuple[int, ...], itemsize: int, axes: range
) -> tuple[list[_Plan], tuple[int, ...]]:
    """Plan to slide along axes, counted from the end; give the shape of the result too.

    Plans are kept, as they take as long to make as small tensors take to pool.
    """
    rest, sizes, plans = list(dimensions), list(shape), []
    for axis in axes:
        dimension, last, inside = rest[axis], rest[-1], None
        if dimension.window == dimension.stride == 1 and dimension.padded == dimension.size:
            continue
        planes = math.prod(sizes[:axis])
        lines = planes * dimension.size
        pitch = width = math.prod(sizes) // lines
        sizes[axis] = dimension.outputs
        in_step = last.size < last.padded == last.outputs * last.stride
        if axis == -2 and axes.step == 1 and in_step and last.size * itemsize < SHORT_STRETCH:
            # With the padding among the elements, the windows of all lines are a stride apart.
            width = sizes[-1] = last.padded
            inside = slice(last.start_padding, last.start_padding + last.size)
            rest[-1] = SpatialDimension(last.padded, last.window, last.stride, last.dilation)
        joins = _plan(dimension, planes, pitch * itemsize)
        shape = (planes, dimension.outputs, width)
        plans.append(_Plan(axis, dimension, lines, pitch, shape, inside, *joins))
    return plans, tuple(sizes)


def _plan(
    dimension: SpatialDimension, planes: int, line: int
) -> tuple[list[_Pairs], list[_RunPlan]]:
    """Plan the joins along a dimension of `planes` planes of lines of `line` bytes."""
    size, stride, dilation = dimension.size, dimension.stride, dimension.dilation

    def everywhere(taps: int) -> _Pairs:
        # All planes are one long row here; nobody uses what reaches from one into the next.
        shift = taps * dilation
        early, late = (_lines(start, planes * size - shift) for start in (0, shift))
        return _Pairs(early, late, early, taps)

    runs = []
    for run in dimension.runs:
        count, taps, before = run.windows, run.taps - (1 << run.level), None
        several = run.windows > 1 and run.taps == dimension.window
        # The windows of all planes may be a stride apart too, and are taken as those of one plane.
        # Those that reach from one plane into the next are overwritten by later runs.
        in_a_row = several and dimension.outputs * stride == size
        stretch = line if stride > 1 else line * (planes if in_a_row else 1) * count
        if several and taps and stride <= 2 and stretch < SHORT_STRETCH:
            before, taps = everywhere(taps), 0
        shift = taps * dilation
        if in_a_row:
            room = planes * size - run.element - shift
            count = min(planes * dimension.outputs - run.window, -(-room // stride))
        early = _lines(run.element, count, run.element_step)
        late = _lines(run.element + shift, count, run.element_step) if shift else None
        pairs = _Pairs(early, late, _lines(run.window, count, run.window_step), taps)
        runs.append(_RunPlan(run.level, before, in_a_row, pairs))
    doublings = [everywhere(1 << level) for level in range(max(dimension.levels, default=0))]
    return doublings, runs


def _lines(start: int, count: int, step: int = 1) -> _Lines:
    return ..., slice(start, start + (count - 1) * step + 1, step), slice(None)


def _copy_lines(source: np.ndarray, index: _Lines, target: np.ndarray) -> None:
    """Copy some lines, in larger units than elements where it can be: half the time for NumPy."""
    size, pitch = source.itemsize, source.shape[-1]
    if pitch > 1 and source.strides[-1] == size:
        line = _line_type(pitch * size)
        target.view(line)[...] = source[index].view(line)
        return
    places = index[1]
    even = pitch == 1 and places.step == 2 and places.start % 2 == 0
    fits = size <= 4 and places.stop < source.shape[-2] and source.strides[-2] == size
    if even and fits and LITTLE_ENDIAN:
        # The wanted one of two elements is the lower half of their word.
        words = source[..., places.start : places.stop + 1, 0].view(UNSIGNED[2 * size])
        if words.flags.aligned:
            target[..., 0].view(UNSIGNED[size])[...] = words
            return
    target[...] = source[index]


@lru_cache
def _line_type(size: int) -> np.dtype:
    return np.dtype((np.void, size))


def _join_keys(source: np.ndarray, target: np.ndarray, pairs: _Pairs) -> None:
    """Write the better keys of pairs."""
    early, late, places, _ = pairs
    if late is None:
        _copy_lines(source, early, target[places])
    else:
        np.maximum(source[early], source[late], out=target[places])


def _join_winners(source: _Winners, target: _Winners, pairs: _Pairs, step: int) -> None:
    """Write the winners of pairs; `step` is what a tap adds to an offset."""
    early, late, places, taps = pairs
    best, offset = target.keys[places], target.offsets[places]  # pyright: ignore[reportOptionalSubscript]
    if late is None:
        _copy_lines(source.keys, early, best)
        if source.offsets is None:
            offset[...] = 0
        else:
            _copy_lines(source.offsets, early, offset)
        return
    picked = [(part[early], part[late]) for part in source if part is not None]
    if early[1].step > 1:
        # NumPy computes faster without gaps.
        picked = [tuple(np.ascontiguousarray(part) for part in pair) for pair in picked]
    first, second = picked[0]
    wins = np.greater(second, first).view(np.uint8)
    np.maximum(first, second, out=best)
    # It is slow at choosing by a mask, and fast at arithmetic. The second wins with a later tap
    # than any of the first, so that the greater offset is the winner's.
    added = offset.dtype.type(taps * step)
    if len(picked) == 1:
        np.multiply(wins, added, out=offset)
        return
    first, second = picked[1]
    second = second + added
    second *= wins
    np.maximum(first, second, out=offset)
