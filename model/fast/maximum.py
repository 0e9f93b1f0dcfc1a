"""Takes the maximum of every window of a block of planes, without positions.

It slides windows as `sliding` does. Making views of a small block takes NumPy as long as comparing
its elements. Which views are needed follows from the sizes alone, so after some blocks of the same
sizes, what is done with them is recorded, and then repeated with each that follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from extremum.model.fast.line_plan import LinePairs
from extremum.model.fast.order import exact_key, from_exact_key, lowest_key
from extremum.model.fast.recording import Recording
from extremum.model.fast.rows import best_of_rows
from extremum.model.fast.slide_plan import SlidePlan, slide_plans
from extremum.model.fast.sliding import are_planes, columns_first, in_large_units, slide
from extremum.model.spatial import SpatialDimension

__all__ = ["SlidingMaximum"]

MOST_RECORDED_STEPS = 64
"""Most comparisons, copies and fills of a maximum that is recorded."""
BLOCKS_BEFORE = 2
"""How many blocks come before what is done is recorded, which takes as long as doing it."""


class SlidingMaximum:
    """The maximum of every window over the last axes, for blocks of one shape and type.

    Parameters
    ----------
    dimensions : tuple of SpatialDimension
        The last axes of a block, in order.
    shape : tuple of int
        Shape of a block.
    dtype : dtype
        Type of its elements.
    is_recorded : bool
        Whether what is done with a block is recorded, to be repeated with others.

    Examples
    --------
    >>> dimension = SpatialDimension(3, window=2, end_padding=1)
    >>> maximum = SlidingMaximum((dimension,), (3,), np.dtype(int))
    >>> best = np.empty(3, int)
    >>> maximum.write(np.array([3, 1, 2]), best)
    >>> best
    array([3, 2, 2])
    """

    def __init__(
        self,
        dimensions: tuple[SpatialDimension, ...],
        shape: tuple[int, ...],
        dtype: np.dtype,
        *,
        is_recorded: bool = False,
    ) -> None:
        self._dimensions, self._shape, self._dtype = dimensions, shape, dtype
        self._least = lowest_key(dtype)
        self._has_keys = self._least.dtype != dtype
        self._row = math.prod(d.size for d in dimensions) if are_planes(dimensions) else 0
        self._is_recorded, self._blocks = is_recorded, 0
        self._unused: list[Recording] = []

    @property
    def needed_bytes(self) -> int | None:
        """Bytes of a block, of its result and of what a recording owns; None if none is worth it.

        None is if nothing is done, or very much.
        """
        series = sum(len(dimension.window_series) for dimension in self._dimensions)
        if self._row or series > MOST_RECORDED_STEPS or not self._plans():
            return None
        recording = self._record()
        if len(recording) > MOST_RECORDED_STEPS:
            return None
        windows = math.prod(dimension.outputs for dimension in self._dimensions)
        planes = math.prod(self._shape[: -len(self._dimensions)])
        elements = math.prod(self._shape) + planes * windows
        return elements * self._dtype.itemsize + recording.nbytes

    def write(self, x: np.ndarray, out: np.ndarray) -> None:
        """Write the maximum of every window; the lowest number if the window is empty.

        Parameters
        ----------
        x : ndarray
            A block, C-contiguous. Half floats must hold no NaN. In a window of a wider float that
            meets NaN, any one of them wins. If zeros of both signs tie, either wins.
        out : ndarray
            One element for each window, C-contiguous.
        """
        if self._row:
            out[...] = best_of_rows(x.reshape(-1, self._row)).reshape(out.shape)
        elif self._has_keys:
            best = out.view(self._least.dtype)
            self._write_keys(exact_key(x), best)
            out[...] = from_exact_key(best, self._dtype)
        else:
            self._write_keys(x, out)

    def _write_keys(self, keys: np.ndarray, best: np.ndarray) -> None:
        """Write the greatest key of every window."""
        if self._repeat(keys, best):
            return
        if plans := self._plans():
            _slide_keys(keys, best.reshape(plans[-1].shape), plans, self._least)
        else:
            best[...] = keys.reshape(best.shape)

    def _plans(self) -> list[SlidePlan]:
        """Return the plans for all dimensions.

        The outermost dimension comes first: it leaves fewer rows for the inner dimensions, along
        which NumPy is slow.
        """
        axes = range(-len(self._dimensions), 0)
        return slide_plans(self._dimensions, self._shape, self._dtype.itemsize, axes)[0]

    def _repeat(self, keys: np.ndarray, best: np.ndarray) -> bool:
        """Do again what is recorded; return False if nothing is."""
        if not self._is_recorded:
            return False
        if self._blocks < BLOCKS_BEFORE:
            self._blocks += 1
            return False
        # Whoever repeats a recording takes it out of the list, so that no other thread does.
        try:
            recording = self._unused.pop()
        except IndexError:
            recording = self._record()
        recording.repeat(keys, best)
        if not self._unused:
            self._unused.append(recording)
        return True

    def _record(self) -> Recording:
        """Record what is done with a block."""
        plans = self._plans()
        shapes = self._shape, plans[-1].shape
        keys, best = (np.empty(shape, self._least.dtype) for shape in shapes)
        recording = Recording(keys, best)
        _slide_keys(keys, best, plans, self._least, recording)
        recording.end()
        return recording


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
            # What is recorded writes nothing here, so the padding is there for good.
            if recording is not None:
                recording.keep(padded)
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
