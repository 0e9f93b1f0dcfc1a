"""The comparisons that find all windows along one dimension: of which lines, and in what order.

Windows are found in one of three ways. Mostly they are the best of two groups of taps that overlap,
which come from doubling (see `sliding`). Small windows, and those that lie far apart, are compared
with one tap after the other. If their lines are neither short nor long, these are first copied by
their phase, so that no comparison has gaps.

A *line* is what lies at one coordinate of the dimension: all elements of the dimensions behind it.
A *plane* is what lies at one coordinate of the dimensions in front of it.
"""

from __future__ import annotations

from types import EllipsisType
from typing import NamedTuple, TypeAlias

from extremum.model.spatial import SpatialDimension, WindowSeries

__all__ = ["LineIndex", "LinePairs", "SeriesPlan", "are_short", "line_index", "line_plan"]

SHORT_STRETCH = 256
"""Bytes below which NumPy takes longer to set up a loop over pairs than to compare them.

Measured on lines of 28 to 512 bytes. Shorter stretches are compared in one pass over the whole
array, and the wanted results are copied, which takes less setting up. With strides above 2 too much
would be compared in vain.
"""

LEAST_ONE_BY_ONE, MOST_ONE_BY_ONE = 128, 8
"""Least bytes of such a stretch, and most taps of a window, for which windows are compared with one
tap after the other."""

LEAST_BY_PHASE, MOST_BY_PHASE = 16, 512
"""Bytes of the lines that are first copied by their phase: from so many on, and below so many.

Shorter lines are compared in one pass, and longer ones where they lie.
"""

LEAST_WITH_GAPS, MOST_WITH_GAPS = 8, 3
"""Least bytes of an element of which NumPy compares every second or third one faster than all of
them, and most taps of a window for which windows of such elements are compared one by one."""

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
    in_a_row : bool
        Whether the lines of all planes are taken as those of one plane, because what is wanted of
        them lies at equal distances.
    """

    early: LineIndex
    late: LineIndex | None
    target: LineIndex
    taps: int
    in_a_row: bool


class SeriesPlan(NamedTuple):
    """How the windows of one series are found, or all windows at once.

    Attributes
    ----------
    level : int
        How often the taps are doubled first.
    before : list of LinePairs
        What is compared or copied in passes over all lines first, for `pairs` to find it without
        gaps.
    pairs : list of LinePairs
        What is compared to get the windows. If there are several pairs, the windows are compared
        with one tap after the other: from the second pair on, the early lines are those of the
        result.
    """

    level: int
    before: list[LinePairs]
    pairs: list[LinePairs]


def line_plan(
    dimension: SpatialDimension, planes: int, pitch: int, itemsize: int
) -> tuple[list[LinePairs], list[SeriesPlan]]:
    """Plan how all windows along a dimension are found.

    Parameters
    ----------
    dimension : SpatialDimension
    planes, pitch : int
        Number of planes, and of elements in a line.
    itemsize : int
        Bytes of an element.

    Returns
    -------
    doublings : list of LinePairs
        What is compared to double the taps, level by level.
    series : list of SeriesPlan
        How the windows of each series are found, or all windows at once.
    """
    planner = _Planner(dimension, planes, pitch, itemsize)
    return planner.doublings(), planner.series()


def are_short(stretch: int) -> bool:
    """Tell whether a loop over so many bytes takes longer to set up than to compare all of them."""
    return stretch < SHORT_STRETCH


class _Planner:
    """The lines of some planes along one dimension, and the fastest ways to find its windows."""

    def __init__(self, dimension: SpatialDimension, planes: int, pitch: int, itemsize: int) -> None:
        self._dimension, self._planes, self._pitch = dimension, planes, pitch
        stride = dimension.stride
        # Windows that reach from one plane into the next are overwritten by later series.
        self._in_step = dimension.outputs * stride == dimension.size
        # Where lines are single elements, a loop over some of them goes on from one to the next.
        has_gaps = pitch == 1 < stride and itemsize >= LEAST_WITH_GAPS
        line = stretch = pitch * itemsize
        if stride == 1 or has_gaps:
            most_windows = max((series.windows for series in dimension.window_series), default=0)
            stretch *= most_windows * (planes if self._in_step else 1)
        self._are_short = are_short(stretch)
        one_by_one = _is_faster_one_by_one(
            dimension, MOST_WITH_GAPS if has_gaps else MOST_ONE_BY_ONE
        )
        self._by_phase = one_by_one and self._in_step and _is_faster_by_phase(dimension, line)
        self._one_by_one = self._by_phase or (one_by_one and stretch >= LEAST_ONE_BY_ONE)
        # Windows that the end of a plane cuts are compared with the others, if loops go over single
        # lines anyway: to leave some out then costs nothing.
        self._with_the_cut = line >= MOST_BY_PHASE and self._in_step and not dimension.start_padding

    def doublings(self) -> list[LinePairs]:
        """Return the comparisons that double the taps, level by level."""
        highest = 0 if self._one_by_one else max(self._dimension.levels, default=0)
        return [self._everywhere(1 << level) for level in range(highest)]

    def series(self) -> list[SeriesPlan]:
        """Plan how the windows of each series are found, or all windows at once."""
        dimension, find = self._dimension, self._from_two
        if self._one_by_one:
            if self._with_the_cut and self._windows_with(1) == dimension.outputs:
                return [self._all_windows()]
            find = self._tap_by_tap
        return [find(series) for series in dimension.window_series]

    def _from_two(self, series: WindowSeries) -> SeriesPlan:
        """Compare two groups of taps that overlap."""
        dimension, stride = self._dimension, self._dimension.stride
        # How many taps lie between the beginnings of the two groups.
        taps = series.taps - (1 << series.level)
        count, in_a_row = self._windows(series, taps)
        start, before = series.element, []
        if self._is_whole(series) and taps and stride <= 2 and self._are_short:
            # Every second element is copied fastest from even places on.
            later = start % 2 if stride == 2 and self._pitch == 1 else 0
            before, taps, start = [self._everywhere(taps, later)], 0, start + later
        early, late = (
            line_index(line, count, series.element_step)
            for line in (start, start + taps * dimension.dilation)
        )
        target = line_index(series.window, count, series.window_step)
        pairs = [LinePairs(early, late if taps else None, target, taps, in_a_row)]
        return SeriesPlan(series.level, before, pairs)

    def _tap_by_tap(self, series: WindowSeries) -> SeriesPlan:
        """Compare one tap after the other."""
        count, in_a_row = self._windows(series, series.taps - 1)
        starts = [series.element + tap * self._dimension.dilation for tap in range(series.taps)]
        step, before, stride = series.element_step, [], self._dimension.stride
        if in_a_row and self._by_phase:
            # First come all lines of phase 0, then those of phase 1, and so on.
            step, each = 1, self._planes * self._dimension.outputs
            before = [
                LinePairs(line_index(n, each, stride), None, line_index(n * each, each), 0, True)
                for n in range(stride)
            ]
            starts = [start % stride * each + start // stride for start in starts]
        target = line_index(series.window, count, series.window_step)
        first, *others = (line_index(start, count, step) for start in starts)
        pairs = [
            LinePairs(first if tap == 1 else target, late, target, tap, in_a_row)
            for tap, late in enumerate(others, 1)
        ]
        pairs = pairs or [LinePairs(first, None, target, 0, in_a_row)]
        return SeriesPlan(0, before, pairs)

    def _all_windows(self) -> SeriesPlan:
        """Compare one tap after the other, each for all windows that meet it.

        Windows that the end of the plane cuts meet the first taps alone, so they are found on the
        way to the others.
        """
        dimension, pairs = self._dimension, []
        for tap in range(1, dimension.window):
            if (count := self._windows_with(tap)) < 1:
                break
            in_a_row = count == dimension.outputs
            count *= self._planes if in_a_row else 1
            first, late = (
                line_index(start, count, dimension.stride)
                for start in (0, tap * dimension.dilation)
            )
            target = line_index(0, count)
            pairs.append(LinePairs(first if tap == 1 else target, late, target, tap, in_a_row))
        return SeriesPlan(0, [], pairs)

    def _windows_with(self, tap: int) -> int:
        """Return how many windows of a plane meet a tap, if its start cuts none.

        Of a tap that no window meets, it may be negative.
        """
        dimension = self._dimension
        room = dimension.size - tap * dimension.dilation
        return min(dimension.outputs, -(-room // dimension.stride))

    def _is_whole(self, series: WindowSeries) -> bool:
        """Tell whether these are several windows without padding."""
        return series.windows > 1 and series.taps == self._dimension.window

    def _windows(self, series: WindowSeries, taps: int) -> tuple[int, bool]:
        """Return how many windows are found at once, and whether those of all planes are.

        Elements up to so many taps behind the first one of a window are looked at.
        """
        if not (self._is_whole(series) and self._in_step):
            return series.windows, False
        dimension, planes = self._dimension, self._planes
        room = planes * dimension.size - series.element - taps * dimension.dilation
        windows = planes * dimension.outputs - series.window
        return min(windows, -(-room // dimension.stride)), True

    def _everywhere(self, taps: int, later: int = 0) -> LinePairs:
        """Compare all lines with those so many taps behind; write the winner so many lines later.

        All planes are one long row here. Pairs that reach from one plane into the next are compared
        too, but no window uses them.
        """
        shift = taps * self._dimension.dilation
        count = self._planes * self._dimension.size - shift
        early, late, target = (line_index(start, count) for start in (0, shift, later))
        return LinePairs(early, late, target, taps, True)


def _is_faster_one_by_one(dimension: SpatialDimension, most_taps: int) -> bool:
    """Tell whether comparing tap after tap takes no more comparisons than doubling, and few calls.

    Doubling compares every line with another, whether a window begins with it or not.
    """
    taps, level = dimension.window, max(dimension.levels, default=0)
    if level == 0 or taps > most_taps:
        return False
    return (taps - 2) * dimension.outputs <= level * dimension.size


def _is_faster_by_phase(dimension: SpatialDimension, line: int) -> bool:
    """Tell whether lines of so many bytes are first copied by their phase.

    The phase of a line is its place within a stride. All taps of one phase are found in the same
    copy, without gaps. That takes less time if some phase has several taps.
    """
    stride, window = dimension.stride, dimension.window
    phases = {tap * dimension.dilation % stride for tap in range(window)}
    return stride > 1 and len(phases) < window and LEAST_BY_PHASE <= line < MOST_BY_PHASE


def line_index(start: int, count: int, step: int = 1) -> LineIndex:
    """Return the index of `count` lines from `start` on, `step` apart."""
    return ..., slice(start, start + (count - 1) * step + 1, step), slice(None)
