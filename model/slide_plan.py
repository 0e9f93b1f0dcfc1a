"""What is joined with what, to slide windows along dimensions by doubling: geometry alone."""

from __future__ import annotations

import math
from functools import lru_cache
from types import EllipsisType
from typing import NamedTuple, TypeAlias

from .spatial import SpatialDimension

__all__ = ["Lines", "Pairs", "Plan", "RunPlan", "lines_at", "planned"]

SHORT_STRETCH = 256
"""Bytes below which a stretch of pairs takes NumPy longer to set up than to join.

Measured on lines of 28 to 512 bytes. Then all is joined in one go, and what is wanted is copied,
which needs less setting up; with strides above 2, too much would be joined in vain.
"""

Lines: TypeAlias = tuple[EllipsisType, slice, slice]
"""Index of lines, which are what lies at one element of a dimension: of each plane, or of all."""


class Pairs(NamedTuple):
    """Pairs of lines that are joined.

    Attributes
    ----------
    early, late, target : tuple
        The two lines of the pairs, and where their winners go. The early ones are just copied if
        there are no late ones.
    taps : int
        How many taps lie between the two.
    """

    early: Lines
    late: Lines | None
    target: Lines
    taps: int


class RunPlan(NamedTuple):
    """How the windows of a run are found.

    Attributes
    ----------
    level : int
        How often the taps are doubled before.
    everywhere : Pairs or None
        What is joined in one go before, so that the windows need but be copied.
    in_a_row : bool
        Whether the windows of all planes are taken as those of one.
    pairs : Pairs
    """

    level: int
    everywhere: Pairs | None
    in_a_row: bool
    pairs: Pairs


class Plan(NamedTuple):
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
    doublings: list[Pairs]
    runs: list[RunPlan]


@lru_cache(maxsize=256)
def planned(
    dimensions: tuple[SpatialDimension, ...], shape: tuple[int, ...], itemsize: int, axes: range
) -> tuple[list[Plan], tuple[int, ...]]:
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
        joins = _joins(dimension, planes, pitch * itemsize)
        shape = (planes, dimension.outputs, width)
        plans.append(Plan(axis, dimension, lines, pitch, shape, inside, *joins))
    return plans, tuple(sizes)


def _joins(
    dimension: SpatialDimension, planes: int, line: int
) -> tuple[list[Pairs], list[RunPlan]]:
    """Plan the joins along a dimension of `planes` planes of lines of `line` bytes."""
    size, stride, dilation = dimension.size, dimension.stride, dimension.dilation

    def everywhere(taps: int) -> Pairs:
        # All planes are one long row here; nobody uses what reaches from one into the next.
        shift = taps * dilation
        early, late = (lines_at(start, planes * size - shift) for start in (0, shift))
        return Pairs(early, late, early, taps)

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
        early = lines_at(run.element, count, run.element_step)
        late = lines_at(run.element + shift, count, run.element_step) if shift else None
        pairs = Pairs(early, late, lines_at(run.window, count, run.window_step), taps)
        runs.append(RunPlan(run.level, before, in_a_row, pairs))
    doublings = [everywhere(1 << level) for level in range(max(dimension.levels, default=0))]
    return doublings, runs


def lines_at(start: int, count: int, step: int = 1) -> Lines:
    """Give the index of so many lines, `step` apart."""
    return ..., slice(start, start + (count - 1) * step + 1, step), slice(None)
