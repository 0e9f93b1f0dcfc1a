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
from extremum.model.fast.recording import AtOnce, Operations, Recording
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

    def needed_bytes(self) -> int | None:
        """Find the bytes of a block, of its result and of what a recording owns.

        Returns
        -------
        int or None
            None if no recording is worth it, because nothing is done, or very much.
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
        return elements * self._dtype.itemsize + recording.needed_bytes()

    def write(self, x: np.ndarray, out: np.ndarray) -> None:
        """Write the maximum of every window; the lowest number if the window is empty.

        Parameters
        ----------
        x : ndarray
            A block, C-contiguous. Half floats must hold no NaN with a sign. In a window that meets
            NaN, any one of them wins. If zeros of both signs tie, either wins.
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
            _slide_keys(keys, best.reshape(plans[-1].shape), plans, self._least, AtOnce())
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
            recording.end()
        recording.repeat(keys, best)
        if not self._unused:
            self._unused.append(recording)
        return True

    def _record(self) -> Recording:
        """Record what is done with a block, up to the end of the recording."""
        plans, recording, dtype = self._plans(), Recording(), self._least.dtype
        keys = recording.stand_in(self._shape, dtype)
        best = recording.stand_in(plans[-1].shape, dtype)
        _slide_keys(keys, best, plans, self._least, recording)
        return recording


def _slide_keys(
    keys: np.ndarray,
    best: np.ndarray,
    plans: Sequence[SlidePlan],
    least: np.generic,
    operations: Operations,
) -> None:
    """Slide windows along all axes, and write the greatest key of each, `least` if it is empty.

    All that is compared, copied or filled is added to `operations`.
    """

    def join(early: np.ndarray, late: np.ndarray, target: np.ndarray, pairs: LinePairs) -> None:
        best = target[pairs.target]
        if pairs.late is None:
            operations.add(_copy, *in_large_units(early, pairs.early, best))
        else:
            operations.add(_maximum, *columns_first(early[pairs.early], late[pairs.late], best))

    make = partial(operations.array, dtype=keys.dtype)
    for plan in plans:
        is_last, inside = plan is plans[-1], plan.inside
        padded = best if is_last else make(plan.shape)
        result = padded[..., inside] if inside else padded
        slide(keys, result, plan, make, join)
        if len(plan.dimension.empty_windows):
            operations.add(_fill, result, (slice(None), plan.dimension.empty_windows), least)
        if inside:
            # Nothing else writes padding, unless it is part of a result.
            fill = operations.add if is_last else operations.add_once
            fill(_fill, padded, (..., slice(inside.start)), least)
            fill(_fill, padded, (..., slice(inside.stop, None)), least)
        keys = padded


def _copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy elements."""
    target[...] = source


def _fill(target: np.ndarray, index: Any, value: np.generic) -> None:
    """Write the same value everywhere."""
    target[index] = value


def _maximum(first: np.ndarray, second: np.ndarray, target: np.ndarray) -> None:
    """Write the greater of each pair; the innermost loop is along the last axis."""
    np.maximum(first, second, out=target, order="C")
