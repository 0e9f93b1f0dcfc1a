"""The plan of a sliding maximum: which elements are compared with which, in what order.

Windows slide along one dimension after the other, and `line_plan` tells what is compared along
each. This depends on the sizes alone, so it is planned once for tensors of equal sizes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from extremum.model.fast.line_plan import LinePairs, SeriesPlan, are_short, line_plan
from extremum.model.spatial import SpatialDimension

__all__ = ["SlidePlan", "slide_plans"]

MOST_KEPT_SERIES = 1024
"""Most series of windows whose plan is kept."""


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
        How the windows of each series are found, or all windows at once.
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
        if axis == -2 and axes.step == 1 and in_step and are_short(last.size * itemsize):
            # If the lines are stored with their padding, the windows of all lines together lie a
            # stride apart.
            width = sizes[-1] = last.padded
            inside = slice(last.start_padding, last.start_padding + last.size)
            rest[-1] = SpatialDimension(last.padded, last.window, last.stride, last.dilation)
        comparisons = line_plan(dimension, planes, pitch, itemsize)
        result = (planes, dimension.outputs, width)
        plans.append(SlidePlan(axis, dimension, lines, pitch, result, inside, *comparisons))
    return plans, tuple(sizes)


kept_plans = lru_cache(maxsize=256)(_made_plans)
"""`slide_plans` for series that are few."""
