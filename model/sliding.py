"""The winner of every sliding window, dimension by dimension, by doubling.

The best of 2k taps is the better of two bests of k taps that lie k taps apart, and the best of a
window of any length is the better of two such bests that overlap: so a window of n taps takes
log2(n) passes. Winners may overlap and may be found dimension by dimension because the order of
elements (key, then position) is total. What is joined with what follows from the geometry: `_plan`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from .order import comparable, from_key, lowest, lowest_key
from .rows import best_of_rows, elements_at, first_winner
from .spatial import SpatialDimension

if TYPE_CHECKING:
    from types import EllipsisType

__all__ = ["are_planes", "slide_maximum", "slide_winners"]

LITTLE_ENDIAN = sys.byteorder == "little"
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
        A view of `x` if each window is an element.

    Examples
    --------
    >>> slide_maximum(np.array([3, 1, 2]), [SpatialDimension(3, window=2, end_padding=1)])
    array([3, 2, 2])
    """
    lead = x.shape[: x.ndim - len(dimensions)]
    if dimensions[0].outputs == 1 and are_planes(dimensions):
        rows = x.reshape(-1, math.prod(d.size for d in dimensions))
        return best_of_rows(rows).reshape(*lead, *(1,) * len(dimensions))
    keys, least = comparable(x), lowest_key(x.dtype)
    # Outermost first: fewer rows remain for the inner dimensions, where strides are slow.
    for axis, dimension in enumerate(dimensions, len(lead)):
        keys = _slide_keys(keys, axis, dimension, least)
    return from_key(keys, x.dtype)


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


def _slide_keys(
    keys: np.ndarray, axis: int, dimension: SpatialDimension, least: np.generic
) -> np.ndarray:
    """Slide along one axis, for the keys alone.

    Parameters
    ----------
    keys : ndarray
    axis : int
    dimension : SpatialDimension
    least : scalar
        The key of an empty window.

    Returns
    -------
    ndarray
        The best key of every window; the keys themselves if each window is an element.
    """
    if dimension.window == dimension.stride == 1 and dimension.padded == dimension.size:
        return keys
    dtype = keys.dtype
    lead, pitch, plan = _planned(dimension, keys.shape, axis, keys.itemsize)
    levels = {0: keys.reshape(-1, pitch)}
    for level, pairs in enumerate(plan.doublings, 1):
        levels[level] = _joined_keys(levels[level - 1], pairs)
        if level - 1 not in dimension.levels:
            del levels[level - 1]
    result = np.empty((lead, dimension.outputs, pitch), dtype)
    for level, everywhere, in_a_row, (early, late, target, _) in plan.runs:
        source, best = levels[level], result
        if everywhere:
            source = _joined_keys(source, everywhere)
        if in_a_row:
            best = best.reshape(-1, pitch)
        else:
            source = source.reshape(lead, -1, pitch)
        if late is None:
            _copy_lines(source, early, best[target])
        else:
            np.maximum(source[early], source[late], out=best[target])
    if len(dimension.empty_windows):
        result[:, dimension.empty_windows] = least
    return result.reshape(*keys.shape[:axis], -1, *keys.shape[axis + 1 :])


def _joined_keys(keys: np.ndarray, pairs: _Pairs) -> np.ndarray:
    """Give as many lines as there are, with the best keys at the first lines of the pairs."""
    best = np.empty(keys.shape, keys.dtype)
    np.maximum(keys[pairs.early], keys[pairs.late], out=best[pairs.target])
    return best


def _slide(
    parts: list[np.ndarray], axis: int, dimension: SpatialDimension, step: int, kind: np.dtype
) -> list[np.ndarray]:
    """Slide along one axis, for the keys and their offsets.

    Parameters
    ----------
    parts : list of one or two ndarray
        Keys; and the offsets that belong to them, unless they are all 0.
    axis : int
    dimension : SpatialDimension
    step : int
        What a tap adds to an offset.
    kind : dtype
        Type of the offsets.

    Returns
    -------
    list of ndarray
        The best key of every window, and its offset.
    """
    if dimension.window == dimension.stride == 1 and dimension.padded == dimension.size:
        return parts
    shape, types = parts[0].shape, [parts[0].dtype, kind]
    lead, pitch, plan = _planned(dimension, shape, axis, parts[0].itemsize)
    levels = {0: [part.reshape(-1, pitch) for part in parts]}
    for level, pairs in enumerate(plan.doublings, 1):
        levels[level] = _joined(levels[level - 1], pairs, types, step)
        if level - 1 not in dimension.levels:
            del levels[level - 1]
    result = [np.empty((lead, dimension.outputs, pitch), dtype) for dtype in types]
    for level, everywhere, in_a_row, pairs in plan.runs:
        source, target = levels[level], result
        if everywhere:
            source = _joined(source, everywhere, types, step)
        if in_a_row:
            target = [part.reshape(-1, pitch) for part in target]
        else:
            source = [part.reshape(lead, -1, pitch) for part in source]
        _join(source, target, pairs, step)
    if len(dimension.empty_windows):
        result[0][:, dimension.empty_windows] = lowest(types[0])
    return [part.reshape(*shape[:axis], -1, *shape[axis + 1 :]) for part in result]


_Lines: TypeAlias = "tuple[EllipsisType, slice, slice]"
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
    """What is joined along a dimension: to double the taps, level by level, and for each run."""

    doublings: list[_Pairs]
    runs: list[_RunPlan]


@lru_cache(maxsize=256)
def _planned(
    dimension: SpatialDimension, shape: tuple[int, ...], axis: int, itemsize: int
) -> tuple[int, int, _Plan]:
    """Count the planes before an axis and the elements of its lines, and plan to slide over it.

    Plans are kept, as they take as long to make as small tensors take to pool.
    """
    lead, pitch = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    return lead, pitch, _plan(dimension, lead, pitch * itemsize)


def _plan(dimension: SpatialDimension, lead: int, line: int) -> _Plan:
    """Plan to slide over `lead` planes of lines of `line` bytes."""
    size, stride, dilation = dimension.size, dimension.stride, dimension.dilation

    def everywhere(taps: int) -> _Pairs:
        # All planes are one long row here; nobody uses what reaches from one into the next.
        shift = taps * dilation
        early, late = (_lines(start, lead * size - shift) for start in (0, shift))
        return _Pairs(early, late, early, taps)

    runs = []
    for run in dimension.runs:
        count, taps, before = run.windows, run.taps - (1 << run.level), None
        several = run.windows > 1 and run.taps == dimension.window
        # The windows of all planes may be a stride apart too, and are taken as those of one plane.
        # Those that reach from one plane into the next are overwritten by later runs.
        in_a_row = several and dimension.outputs * stride == size
        stretch = line if stride > 1 else line * (lead if in_a_row else 1) * count
        if several and taps and stride <= 2 and stretch < SHORT_STRETCH:
            before, taps = everywhere(taps), 0
        shift = taps * dilation
        if in_a_row:
            room = lead * size - run.element - shift
            count = min(lead * dimension.outputs - run.window, -(-room // stride))
        early = _lines(run.element, count, run.element_step)
        late = _lines(run.element + shift, count, run.element_step) if shift else None
        pairs = _Pairs(early, late, _lines(run.window, count, run.window_step), taps)
        runs.append(_RunPlan(run.level, before, in_a_row, pairs))
    doublings = [everywhere(1 << level) for level in range(max(dimension.levels, default=0))]
    return _Plan(doublings, runs)


def _lines(start: int, count: int, step: int = 1) -> _Lines:
    return ..., slice(start, start + (count - 1) * step + 1, step), slice(None)


def _copy_lines(source: np.ndarray, index: _Lines, target: np.ndarray) -> None:
    """Copy some lines, in larger units than elements where it can be: half the time for NumPy."""
    size, pitch, places = source.itemsize, source.shape[-1], index[1]
    if pitch > 1 and source.strides[-1] == size:
        line = _line_type(pitch * size)
        target.view(line)[...] = source[index].view(line)
        return
    even = pitch == 1 and places.step == 2 and places.start % 2 == 0
    fits = size <= 4 and places.stop < source.shape[-2] and source.strides[-2] == size
    if even and fits and LITTLE_ENDIAN:
        # The wanted one of two elements is the lower half of their word.
        words = source[..., places.start : places.stop + 1, 0].view(f"u{2 * size}")
        if words.flags.aligned:
            np.copyto(target[..., 0].view(f"u{size}"), words, casting="unsafe")
            return
    target[...] = source[index]


@lru_cache
def _line_type(size: int) -> np.dtype:
    return np.dtype((np.void, size))


def _joined(
    source: list[np.ndarray], pairs: _Pairs, types: Sequence[np.dtype], step: int
) -> list[np.ndarray]:
    """Give as many lines as there are, with the winners at the first lines of the pairs."""
    target = [np.empty(source[0].shape, dtype) for dtype in types]
    _join(source, target, pairs, step)
    return target


def _join(source: list[np.ndarray], target: list[np.ndarray], pairs: _Pairs, step: int) -> None:
    """Write the winners of pairs: keys and offsets."""
    keys, best = source[0], target[0]
    if pairs.late is None:
        _copy_lines(keys, pairs.early, best[pairs.target])
        if len(source) > 1:
            _copy_lines(source[1], pairs.early, target[1][pairs.target])
        else:
            target[1][pairs.target] = 0
        return
    best = best[pairs.target]
    picked = [(part[pairs.early], part[pairs.late]) for part in source]
    if pairs.early[1].step > 1:
        # NumPy computes faster without gaps.
        picked = [tuple(np.ascontiguousarray(part) for part in pair) for pair in picked]
    early, late = picked[0]
    wins = np.greater(late, early).view(np.uint8)
    np.maximum(early, late, out=best)
    # It is slow at choosing by a mask, and fast at arithmetic. The second wins with a later tap
    # than any of the first, so that the greater offset is the winner's.
    offset = target[1][pairs.target]
    added = offset.dtype.type(pairs.taps * step)
    if len(picked) == 1:
        np.multiply(wins, added, out=offset)
        return
    early, late = picked[1]
    late = late + added
    late *= wins
    np.maximum(early, late, out=offset)
