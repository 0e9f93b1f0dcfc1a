"""Takes the maximum of every window: the values of a max pooling, without positions.

It slides windows as `sliding` does. Making views of a small tensor takes NumPy as long as comparing
its elements. Which views are needed follows from the sizes alone, so after some tensors of the same
sizes, what is done with them is recorded, and then repeated with each that follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from extremum.model.fast.line_plan import LinePairs
from extremum.model.fast.order import exact_key, from_exact_key, lowest_key
from extremum.model.fast.recording import Recording
from extremum.model.fast.rows import best_of_rows
from extremum.model.fast.slide_plan import SlidePlan, slide_plans
from extremum.model.fast.sliding import are_planes, columns_first, in_large_units, slide
from extremum.model.spatial import SpatialDimension

__all__ = ["slide_maximum"]

MOST_RECORDED_BYTES, MOST_RECORDED_STEPS = 1 << 19, 64
"""Most bytes of a tensor and of the arrays in between, and most comparisons, copies and fills, of a
maximum that is recorded."""
MOST_RECORDED = 32
"""For how many shapes there are recordings, whose arrays so take 16 MiB at most."""
TENSORS_BEFORE = 2
"""How many tensors of a shape come before what is done is recorded, which takes as long as doing
it."""


def slide_maximum(x: np.ndarray, dimensions: Sequence[SpatialDimension]) -> np.ndarray:
    """Take the maximum of every window over the last axes.

    Parameters
    ----------
    x : ndarray
        Its last axes are the dimensions, in order. Half floats must hold no NaN. In a window of a
        wider float that meets NaN, any one of them wins. If zeros of both signs tie, either wins.
    dimensions : sequence of SpatialDimension

    Returns
    -------
    ndarray
        One element for each window along the last axes; an empty window has the lowest number.
        Always a fresh array, also if every window is one element.

    Examples
    --------
    >>> slide_maximum(np.array([3, 1, 2]), [SpatialDimension(3, window=2, end_padding=1)])
    array([3, 2, 2])
    """
    if dimensions[0].outputs == 1 and are_planes(dimensions):
        lead = x.shape[: x.ndim - len(dimensions)]
        rows = x.reshape(-1, math.prod(d.size for d in dimensions))
        return best_of_rows(rows).reshape(*lead, *(1,) * len(dimensions))
    keys = exact_key(x)
    if keys.nbytes <= MOST_RECORDED_BYTES and keys.flags.c_contiguous:
        best = _repeated(tuple(dimensions), x.shape, x.dtype).maximum(keys)
        if best is not None:
            return from_exact_key(best, x.dtype)
    plans, sizes = _plans(tuple(dimensions), x.shape, x.dtype)
    if not plans:
        return x.copy()
    best = np.empty(plans[-1].shape, keys.dtype)
    _slide_keys(keys, best, plans, lowest_key(x.dtype))
    return from_exact_key(best.reshape(sizes), x.dtype)


def _plans(
    dimensions: tuple[SpatialDimension, ...], shape: tuple[int, ...], dtype: np.dtype
) -> tuple[list[SlidePlan], tuple[int, ...]]:
    """Return the plans for all dimensions, and the shape of the result.

    The outermost dimension comes first: it leaves fewer rows for the inner dimensions, along which
    NumPy is slow.
    """
    return slide_plans(dimensions, shape, dtype.itemsize, range(-len(dimensions), 0))


def _slide_keys(
    keys: np.ndarray,
    best: np.ndarray,
    plans: Sequence[SlidePlan],
    least: np.generic,
    recording: Recording | None = None,
) -> None:
    """Slide windows along all axes, and write the greatest key of each, `least` if it is empty.

    With a recording, nothing is compared or copied, but all of it is recorded.
    """

    def make(shape: tuple[int, ...]) -> np.ndarray:
        return np.empty(shape, keys.dtype)

    def fill(target: np.ndarray, index: Any) -> None:
        if recording is None:
            target[index] = least
        else:
            recording.add(_fill, target, index, least)

    join = _join if recording is None else partial(_record_join, recording)
    for plan in plans:
        padded, inside = best if plan is plans[-1] else make(plan.shape), plan.inside
        result = padded[..., inside] if inside else padded
        slide(keys, result, plan, make, join)
        if len(plan.dimension.empty_windows):
            fill(result, (slice(None), plan.dimension.empty_windows))
        if inside and padded is best:
            fill(padded, (..., slice(inside.start)))
            fill(padded, (..., slice(inside.stop, None)))
        elif inside:
            # A recording owns this array and writes nothing here, so the padding is there for good.
            padded[..., : inside.start] = padded[..., inside.stop :] = least
        keys = padded


def _join(early: np.ndarray, late: np.ndarray, target: np.ndarray, pairs: LinePairs) -> None:
    """Write the better keys of pairs of lines."""
    best = target[pairs.target]
    if pairs.late is None:
        _copy(*in_large_units(early, pairs.early, best))
    else:
        _maximum(*columns_first(early[pairs.early], late[pairs.late], best))


def _record_join(
    recording: Recording,
    early: np.ndarray,
    late: np.ndarray,
    target: np.ndarray,
    pairs: LinePairs,
) -> None:
    """Record what `_join` does."""
    best = target[pairs.target]
    if pairs.late is None:
        recording.add(_copy, *in_large_units(early, pairs.early, best))
    else:
        recording.add(_maximum, *columns_first(early[pairs.early], late[pairs.late], best))


def _fill(target: np.ndarray, index: Any, value: np.generic) -> None:
    """Write the same value everywhere."""
    target[index] = value


def _copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy elements."""
    target[...] = source


def _maximum(first: np.ndarray, second: np.ndarray, target: np.ndarray) -> None:
    """Write the greater of each pair; the innermost loop is along the last axis."""
    np.maximum(first, second, out=target, order="C")


class _Repeated:
    """The maximum of every window, for tensors of one shape and type that come again and again."""

    def __init__(
        self, dimensions: tuple[SpatialDimension, ...], shape: tuple[int, ...], dtype: np.dtype
    ) -> None:
        self._dimensions, self._shape, self._dtype = dimensions, shape, dtype
        self._tensors, self._is_recorded = 0, True
        # Shapes of the result: as it is written, and as it is wanted.
        self._written = self._wanted = shape
        self._unused: list[Recording] = []

    def maximum(self, keys: np.ndarray) -> np.ndarray | None:
        """Return the greatest key of every window, in a fresh array, or None if it is not recorded.

        Parameters
        ----------
        keys : ndarray
            Keys of a tensor, C-contiguous.
        """
        if self._tensors < TENSORS_BEFORE or not self._is_recorded:
            self._tensors += 1
            return None
        # Whoever repeats a recording takes it out of the list, so that no other thread does.
        try:
            recording = self._unused.pop()
        except IndexError:
            recording = self._record()
            if not self._is_recorded:
                return None
        best = np.empty(self._written, keys.dtype)
        recording.repeat(keys, best)
        if not self._unused:
            self._unused.append(recording)
        return best.reshape(self._wanted)

    def _record(self) -> Recording:
        """Record what is done with a tensor, and decide whether the recording is worth keeping."""
        plans, self._wanted = _plans(self._dimensions, self._shape, self._dtype)
        if plans:
            self._written = plans[-1].shape
        least = lowest_key(self._dtype)
        keys, best = (np.empty(shape, least.dtype) for shape in (self._shape, self._written))
        recording = Recording(keys, best)
        _slide_keys(keys, best, plans, least, recording)
        recording.end()
        self._is_recorded = (
            0 < len(recording) <= MOST_RECORDED_STEPS and recording.nbytes <= MOST_RECORDED_BYTES
        )
        return recording


_repeated = lru_cache(maxsize=MOST_RECORDED)(_Repeated)
"""The last ones that were used. With more of them in turn, none is used often enough to record."""
