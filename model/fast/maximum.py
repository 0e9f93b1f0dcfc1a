"""Takes the maximum of every window: the values of a max pooling, without positions.

What is compared with what follows from the sizes alone. So for a small tensor, of which NumPy takes
as long to view the arrays as to compare the elements, it is recorded and done again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from extremum.model.fast.order import comparable, from_key, lowest_key
from extremum.model.fast.recording import Recording
from extremum.model.fast.rows import best_of_rows
from extremum.model.fast.slide_plan import LinePairs, SlidePlan, slide_plans
from extremum.model.fast.sliding import are_planes, columns_first, in_large_units, slide
from extremum.model.spatial import SpatialDimension

__all__ = ["slide_maximum"]

MOST_RECORDED_BYTES, MOST_RECORDED_STEPS = 1 << 19, 64
"""Most bytes of the arrays in between, and most operations, of a maximum that is recorded."""
MOST_RECORDED = 32
"""How many recordings are kept, which take 16 MiB at most."""


def slide_maximum(x: np.ndarray, dimensions: Sequence[SpatialDimension]) -> np.ndarray:
    """Take the maximum of every window over the last axes.

    Parameters
    ----------
    x : ndarray
        Its last axes are the dimensions, in order. It must hold no -0, and half floats no NaN. In a
        window of a wider float that meets NaN, any one of them wins.
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
    keys = comparable(x)
    recorded = _recorded(tuple(dimensions), x.shape, x.dtype)
    if recorded and keys.flags.c_contiguous:
        return from_key(recorded.maximum(keys), x.dtype)
    plans, sizes = _plans(tuple(dimensions), x.shape, x.dtype)
    if not plans:
        return x.copy()
    best = np.empty(plans[-1].shape, keys.dtype)
    _slide_keys(keys, best, plans, lowest_key(x.dtype), _at_once)
    return from_key(best.reshape(sizes), x.dtype)


def _plans(
    dimensions: tuple[SpatialDimension, ...], shape: tuple[int, ...], dtype: np.dtype
) -> tuple[list[SlidePlan], tuple[int, ...]]:
    """Return the plans for all dimensions, and the shape of the result.

    The outermost dimension comes first: it leaves fewer rows for the inner dimensions, along which
    NumPy is slow.
    """
    return slide_plans(dimensions, shape, dtype.itemsize, range(-len(dimensions), 0))


_Doer: TypeAlias = Callable[..., None]
"""What takes an operation and its operands, and does it, or records it."""


def _at_once(operation: Callable[..., object], *operands: object) -> None:
    """Do an operation."""
    operation(*operands)


def _slide_keys(
    keys: np.ndarray,
    best: np.ndarray,
    plans: Sequence[SlidePlan],
    least: np.generic,
    do: _Doer,
) -> None:
    """Slide windows along all axes, and write the greatest key of each, `least` if it is empty."""

    def make(shape: tuple[int, ...]) -> np.ndarray:
        return np.empty(shape, keys.dtype)

    join = partial(_join, do=do)
    for plan in plans:
        padded, inside = best if plan is plans[-1] else make(plan.shape), plan.inside
        result = padded[..., inside] if inside else padded
        slide(keys, result, plan, make, join)
        if len(plan.dimension.empty_windows):
            do(_fill, result, (slice(None), plan.dimension.empty_windows), least)
        if inside:
            # In an array that a recording owns the padding stays, since nothing else writes to it.
            fill = do if padded is best else _at_once
            fill(_fill, padded, (..., slice(inside.start)), least)
            fill(_fill, padded, (..., slice(inside.stop, None)), least)
        keys = padded


class _RecordedMaximum:
    """The maximum of every window of any tensor of one shape and type.

    Parameters
    ----------
    plans : sequence of SlidePlan
        At least one.
    shape, sizes : tuple of int
        Shape of the tensor and of the result.
    least : generic
        The lowest key.
    """

    def __init__(
        self,
        plans: Sequence[SlidePlan],
        shape: tuple[int, ...],
        sizes: tuple[int, ...],
        least: np.generic,
    ) -> None:
        self._plans, self._shape, self._sizes, self._least = plans, shape, sizes, least
        recording = self._record()
        self._unused = [recording]
        self.is_small = (
            recording.nbytes <= MOST_RECORDED_BYTES and len(recording) <= MOST_RECORDED_STEPS
        )

    def maximum(self, keys: np.ndarray) -> np.ndarray:
        """Return the greatest key of every window of a C-contiguous tensor, in a fresh array."""
        best = np.empty(self._plans[-1].shape, self._least.dtype)
        # Whoever repeats a recording takes it out of the list, so that no other thread does.
        try:
            recording = self._unused.pop()
        except IndexError:
            recording = self._record()
        recording.repeat(keys, best)
        if not self._unused:
            self._unused.append(recording)
        return best.reshape(self._sizes)

    def _record(self) -> Recording:
        """Record what is done with a tensor."""
        keys, best = (
            np.empty(shape, self._least.dtype) for shape in (self._shape, self._plans[-1].shape)
        )
        recording = Recording(keys, best)
        _slide_keys(keys, best, self._plans, self._least, recording.add)
        recording.end()
        return recording


@lru_cache(maxsize=MOST_RECORDED)
def _recorded(
    dimensions: tuple[SpatialDimension, ...], shape: tuple[int, ...], dtype: np.dtype
) -> _RecordedMaximum | None:
    """Return what takes the maximum of small tensors, or None if too much would be kept."""
    plans, sizes = _plans(dimensions, shape, dtype)
    if not plans or math.prod(shape) * dtype.itemsize > MOST_RECORDED_BYTES:
        return None
    recorded = _RecordedMaximum(plans, shape, sizes, lowest_key(dtype))
    return recorded if recorded.is_small else None


def _join(
    early: np.ndarray,
    late: np.ndarray,
    target: np.ndarray,
    pairs: LinePairs,
    do: _Doer,
) -> None:
    """Write the better keys of pairs of lines."""
    best = target[pairs.target]
    if pairs.late is None:
        do(_copy, *in_large_units(early, pairs.early, best))
    else:
        do(_maximum, *columns_first(early[pairs.early], late[pairs.late], best))


def _fill(target: np.ndarray, index: Any, value: np.generic) -> None:
    """Write the same value everywhere."""
    target[index] = value


def _copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy elements."""
    target[...] = source


def _maximum(first: np.ndarray, second: np.ndarray, target: np.ndarray) -> None:
    """Write the greater of each pair; the innermost loop is along the last axis."""
    np.maximum(first, second, out=target, order="C")
