"""The winner of every sliding window, dimension by dimension, by doubling.

The best of 2k taps is the better of two bests of k taps that lie k taps apart, and the best of a
window of any length is the better of two such bests that overlap: so a window of n taps takes
log2(n) passes. Winners may overlap and may be found dimension by dimension because the order of
elements (key, then position) is total. What is joined with what follows from the geometry alone:
`slide_plan`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

import numpy as np

from .order import comparable, from_key, lowest, lowest_key
from .rows import best_of_rows, elements_at, first_winner
from .slide_plan import Lines, Pairs, Plan, planned
from .spatial import SpatialDimension

__all__ = ["are_planes", "slide_maximum", "slide_winners"]

LITTLE_ENDIAN = sys.byteorder == "little"
UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


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
    plans, sizes = planned(tuple(dimensions), x.shape, x.itemsize, range(-len(dimensions), 0))
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
    plans, sizes = planned(tuple(dimensions), key.shape, key.itemsize, axes)
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
    plan: Plan,
    make: Callable[[tuple[int, ...]], _Found],
    join: Callable[[_Found, _Found, Pairs], None],
) -> None:
    """Slide along one axis: write the best of every window that meets an element.

    `make` makes room for lines, and `join` writes the better ones of pairs of them.
    """
    pitch = plan.pitch

    def joined(source: _Found, pairs: Pairs) -> _Found:
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


def _copy_lines(source: np.ndarray, index: Lines, target: np.ndarray) -> None:
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


def _join_keys(source: np.ndarray, target: np.ndarray, pairs: Pairs) -> None:
    """Write the better keys of pairs."""
    early, late, places, _ = pairs
    if late is None:
        _copy_lines(source, early, target[places])
    else:
        np.maximum(source[early], source[late], out=target[places])


def _join_winners(source: _Winners, target: _Winners, pairs: Pairs, step: int) -> None:
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
