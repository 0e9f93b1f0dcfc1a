"""The plan of a sliding maximum: which elements are compared with which, in what order.

Windows slide along one dimension after the other. Along a dimension, the best of 2 taps follows
from pairs of elements, the best of 4 taps from pairs of those, and so on: see `sliding`. Where that
takes more comparisons, because windows are small or far apart, they are compared with one tap after
the other. The pairs depend on the sizes alone, so they are planned once for tensors of equal sizes.

A *line* is what lies at one coordinate of the dimension: all elements of the dimensions behind it.
A *plane* is what lies at one coordinate of the dimensions in front of it: `size` lines.
"""

from __future__ import annotations

import math
from functools import lru_cache
from types import EllipsisType
from typing import NamedTuple, TypeAlias

from extremum.model.spatial import SpatialDimension

__all__ = ["LineIndex", "LinePairs", "SeriesPlan", "SlidePlan", "line_index", "slide_plans"]

SHORT_STRETCH = 256
"""Bytes below which NumPy takes longer to set up a loop over pairs than to compare them.

Measured on lines of 28 to 512 bytes. Shorter stretches are compared in one pass over the whole
array, and the wanted results are copied, which takes less setting up. With strides above 2 too much
would be compared in vain.
"""

LEAST_ONE_BY_ONE, MOST_ONE_BY_ONE = 128, 8
"""Least bytes of such a stretch, and most taps of a window, for which windows are compared with one
tap after the other."""

LEAST_WITH_GAPS, MOST_WITH_GAPS = 8, 3
"""Least bytes of an element of which NumPy compares every second or third one faster than all of
them, and most taps of a window for which windows of such elements are compared one by one."""

MOST_KEPT_SERIES = 1024
"""Most series of windows whose plan is kept."""

LineIndex: TypeAlias = tuple[EllipsisType, slice, slice]
"""Index of some lines: of each plane, or of all planes together."""


class LinePairs(NamedTuple):
    """Pairs of lines of which the better elements are taken.

    Attributes
    ----------
    early, late : LineIndex, LineIndex or None
        The two lines of each pair; if there is no late one, the early one is copied.
    target : LineIndex
        Where the better elements are written.
    taps : int
        How many taps lie between the two lines.
    """

    early: LineIndex
    late: LineIndex | None
    target: LineIndex
    taps: int


class SeriesPlan(NamedTuple):
    """How the windows of one series are found.

    Attributes
    ----------
    level : int
        How often the taps are doubled first.
    everywhere : LinePairs or None
        What is compared in one pass over all lines first, if `pairs` only copies.
    in_a_row : bool
        Whether the windows of all planes lie at equal distances, and are taken as those of one
        plane.
    pairs : list of LinePairs
        What is compared to get the windows. If there are several pairs, the windows are compared
        with one tap after the other: from the second pair on, the early lines are those of the
        result.
    """

    level: int
    everywhere: LinePairs | None
    in_a_row: bool
    pairs: list[LinePairs]


class SlidePlan(NamedTuple):
    """How windows slide along one dimension.

    Attributes
    ----------
    axis : int
        The axis of the dimension, counted from the end.
    dimension : SpatialDimension
    lines, pitch : int
        Number of lines in all planes, and of elements in a line.
    shape : tuple of int
        Shape of the result: planes, windows, elements of a line.
    inside : slice or None
        Which elements of a result line are computed, if the padding of the next dimension lies
        beside them.
    doublings : list of LinePairs
        What is compared to double the taps, level by level.
    series : list of SeriesPlan
        How the windows of each series are found.
    """

    axis: int
    dimension: SpatialDimension
    lines: int
    pitch: int
    shape: tuple[int, int, int]
    inside: slice | None
    doublings: list[LinePairs]
    series: list[SeriesPlan]


def slide_plans(
    dimensions: tuple[SpatialDimension, ...], shape: tuple[int, ...], itemsize: int, axes: range
) -> tuple[list[SlidePlan], tuple[int, ...]]:
    """Plan to slide windows along some axes of an array.

    The plans are kept, because they take as long to make as a small tensor takes to pool. Those of
    very many series are made anew: each series takes some hundred bytes.

    Parameters
    ----------
    dimensions : tuple of SpatialDimension
        The last axes of the array.
    shape : tuple of int
    itemsize : int
        Bytes of an element.
    axes : range
        The axes of the dimensions in the order in which windows slide along them, counted from the
        end.

    Returns
    -------
    plans : list of SlidePlan
        A dimension in which every window is one element has none.
    shape : tuple of int
        Shape of the result.
    """
    many = sum(len(dimension.window_series) for dimension in dimensions) > MOST_KEPT_SERIES
    return (_made_plans if many else kept_plans)(dimensions, shape, itemsize, axes)


def _made_plans(
    dimensions: tuple[SpatialDimension, ...], shape: tuple[int, ...], itemsize: int, axes: range
) -> tuple[list[SlidePlan], tuple[int, ...]]:
    """Do what `slide_plans` does."""
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
            # If the lines are stored with their padding, the windows of all lines together lie a
            # stride apart.
            width = sizes[-1] = last.padded
            inside = slice(last.start_padding, last.start_padding + last.size)
            rest[-1] = SpatialDimension(last.padded, last.window, last.stride, last.dilation)
        joins = _joins(dimension, planes, pitch, itemsize)
        result = (planes, dimension.outputs, width)
        plans.append(SlidePlan(axis, dimension, lines, pitch, result, inside, *joins))
    return plans, tuple(sizes)


kept_plans = lru_cache(maxsize=256)(_made_plans)
"""`slide_plans` for series that are few."""


def _joins(
    dimension: SpatialDimension, planes: int, pitch: int, itemsize: int
) -> tuple[list[LinePairs], list[SeriesPlan]]:
    """Plan the comparisons along a dimension of `planes` planes, with lines of `pitch` elements."""
    size, stride, dilation = dimension.size, dimension.stride, dimension.dilation

    def everywhere(taps: int) -> LinePairs:
        # All planes are one long row here. Pairs that reach from one plane into the next are
        # compared too, but no window uses them.
        shift = taps * dilation
        early, late = (line_index(start, planes * size - shift) for start in (0, shift))
        return LinePairs(early, late, early, taps)

    # Windows that reach from one plane into the next are overwritten by later series.
    in_step = dimension.outputs * stride == size
    most_windows = max((series.windows for series in dimension.window_series), default=0)
    # Where lines are single elements, a loop over some of them goes on from one to the next.
    has_gaps = pitch == 1 < stride and itemsize >= LEAST_WITH_GAPS
    stretch = pitch * itemsize
    if stride == 1 or has_gaps:
        stretch *= most_windows * (planes if in_step else 1)
    one_by_one = stretch >= LEAST_ONE_BY_ONE and _is_faster_one_by_one(
        dimension, MOST_WITH_GAPS if has_gaps else MOST_ONE_BY_ONE
    )
    plans = []
    for series in dimension.window_series:
        count, level, before = series.windows, 0 if one_by_one else series.level, None
        several = series.windows > 1 and series.taps == dimension.window
        in_a_row = several and in_step
        # How many taps behind the first one the windows are compared with.
        taps = [series.taps - (1 << level)]
        if one_by_one:
            taps = list(range(1, series.taps)) or [0]
        if several and not one_by_one and any(taps) and stride <= 2 and stretch < SHORT_STRETCH:
            before, taps = everywhere(*taps), [0]
        if in_a_row:
            room = planes * size - series.element - taps[-1] * dilation
            count = min(planes * dimension.outputs - series.window, -(-room // stride))
        target = line_index(series.window, count, series.window_step)
        pairs: list[LinePairs] = []
        for tap in taps:
            first, late = (
                line_index(series.element + n * dilation, count, series.element_step)
                for n in (0, tap)
            )
            early = target if pairs else first
            pairs.append(LinePairs(early, late if tap else None, target, tap))
        plans.append(SeriesPlan(level, before, in_a_row, pairs))
    highest = 0 if one_by_one else max(dimension.levels, default=0)
    return [everywhere(1 << level) for level in range(highest)], plans


def _is_faster_one_by_one(dimension: SpatialDimension, most_taps: int) -> bool:
    """Tell whether comparing tap after tap takes no more comparisons than doubling, and few calls.

    Doubling compares every line with another, whether a window begins with it or not.
    """
    taps, level = dimension.window, max(dimension.levels, default=0)
    if level == 0 or taps > most_taps:
        return False
    return (taps - 2) * dimension.outputs <= level * dimension.size


def line_index(start: int, count: int, step: int = 1) -> LineIndex:
    """Return the index of `count` lines from `start` on, `step` apart."""
    return ..., slice(start, start + (count - 1) * step + 1, step), slice(None)
