"""Short windows, by shifts of flat arrays: the fast way to the winners of every window.

Elements that lie a stride apart are gathered, padding and all, into one array for each phase of
the stride. In it a tap is a shift, the same for all rows, planes and channels, so that every step
is one pass over contiguous memory. What the shifts carry from one row into the next lands behind
the last window of a row, and is cut off at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from .spatial import SpatialDimension

__all__ = ["slide_flat", "suits"]

MOST_PHASES = 16
"""Arrays that elements are gathered into; with more of them they get small."""
MOST_SURPLUS = 4
"""Places per window that are worth it, where some of them lie behind the last window."""


def suits(dimensions: Sequence[SpatialDimension]) -> bool:
    """Tell whether windows are short and dense enough for this way."""
    phases = math.prod(len(_phases(d)) for d in dimensions)
    places = math.prod(d.outputs + _reach(d) for d in dimensions)
    return phases <= MOST_PHASES and places <= MOST_SURPLUS * math.prod(
        d.outputs for d in dimensions
    )


def slide_flat(
    x: np.ndarray,
    dimensions: Sequence[SpatialDimension],
    lowest: np.generic | int,
    steps: Sequence[int] | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Take the maximum of every window over the last axes, and where it is in the window.

    Parameters
    ----------
    x : ndarray
        Its last axes are the dimensions, in order. NumPy's maximum must be the order wanted.
    dimensions : sequence of SpatialDimension
    lowest : scalar
        The value of padding; no element is below it.
    steps : sequence of int, optional
        What a tap adds to the offset of the winner, for each dimension.

    Returns
    -------
    values : ndarray
        Windows in place of elements along the last axes.
    offsets : ndarray of unsigned integers, or None
        If there are `steps`: the sum of tap times step of the first of the greatest elements in
        row-major order. Where that is the lowest it may be one in the padding.

    Examples
    --------
    >>> slide_flat(np.array([1, 3, 3]), [SpatialDimension(3, window=2)], 0, [10])
    (array([3, 3]), array([10,  0], dtype=uint8))
    """
    lead = x.shape[: x.ndim - len(dimensions)]
    reaches = [_reach(d) for d in dimensions]
    lengths = [d.outputs + reach for d, reach in zip(dimensions, reaches, strict=True)]
    pitches = [math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))]
    places = math.prod(lead) * math.prod(lengths)
    room = places + sum(r * p for r, p in zip(reaches, pitches, strict=True))
    found: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray | None]] = {}
    for phase in product(*(_phases(d) for d in dimensions)):
        columns = zip(dimensions, lengths, phase, strict=True)
        met = [_met(dimension, length, p) for dimension, length, p in columns]
        gathered = np.empty(room, x.dtype)
        grid = gathered[:places].reshape(*lead, *lengths)
        if any(m != slice(0, n) for (m, _), n in zip(met, lengths, strict=True)):
            gathered.fill(lowest)
        else:
            gathered[places:] = lowest
        grid[(..., *(m for m, _ in met))] = x[(..., *(e for _, e in met))]
        found[phase] = gathered, None
    most = 0
    if steps is not None:
        most = sum((d.window - 1) * step for d, step in zip(dimensions, steps, strict=True))
    kind = np.min_scalar_type(most)
    # Innermost first, taps in order, strictly greater: so the earlier row wins among equals, and
    # in it the earlier column.
    for axis in reversed(range(len(dimensions))):
        dimension, pitch = dimensions[axis], pitches[axis]
        room -= reaches[axis] * pitch
        # With one tap there is no step, and it might be too large for the type.
        step = None if steps is None else kind.type(steps[axis] if dimension.window > 1 else 0)
        found = {
            outer: _combine(found, outer, dimension, pitch=pitch, room=room, step=step)
            for outer in dict.fromkeys(phase[:axis] for phase in found)
        }
    values, offsets = found[()]
    windows = (..., *(slice(0, d.outputs) for d in dimensions))
    values = values.reshape(*lead, *lengths)[windows]
    if steps is None:
        return values, None
    if offsets is None:
        return values, np.zeros(values.shape, kind)
    return values, offsets.reshape(*lead, *lengths)[windows]


def _combine(
    found: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray | None]],
    outer: tuple[int, ...],
    dimension: SpatialDimension,
    *,
    pitch: int,
    room: int,
    step: np.unsignedinteger | None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Combine the taps of one dimension, for one phase of those that are left."""

    def tap(number: int) -> tuple[np.ndarray, np.ndarray | None]:
        shift, phase = divmod(number * dimension.dilation, dimension.stride)
        part = slice(shift * pitch, shift * pitch + room)
        values, offsets = found[(*outer, phase)]
        return values[part], None if offsets is None else offsets[part]

    best, offset = tap(0)
    if dimension.window == 1:
        return best, offset
    best = best.copy()
    if step is not None:
        offset = np.zeros(room, step.dtype) if offset is None else offset.copy()
    for number in range(1, dimension.window):
        candidate, inner = tap(number)
        if step is None or offset is None:
            np.maximum(best, candidate, out=best)
            continue
        wins = np.greater(candidate, best).view(np.uint8)
        np.maximum(best, candidate, out=best)
        added = step.dtype.type(number * int(step))
        # NumPy is slow at choosing by a mask, and fast at arithmetic, which may wrap around.
        if inner is None:
            np.maximum(offset, wins * added, out=offset)
        else:
            change = inner - offset
            change += added
            change *= wins
            offset += change
    return best, offset


def _phases(dimension: SpatialDimension) -> set[int]:
    """Remainders of the taps' distances from the first one."""
    taps = range(min(dimension.window, dimension.stride))
    return {tap * dimension.dilation % dimension.stride for tap in taps}


def _reach(dimension: SpatialDimension) -> int:
    """Places from the first to the last tap."""
    return (dimension.window - 1) * dimension.dilation // dimension.stride


def _met(dimension: SpatialDimension, length: int, phase: int) -> tuple[slice, slice]:
    """Places of one phase that hold an element, and those elements."""
    shift, stride = phase - dimension.start_padding, dimension.stride
    first = min(length, max(0, -(shift // stride)))
    stop = max(first, min(length, (dimension.size - 1 - shift) // stride + 1))
    elements = slice(first * stride + shift, max(0, (stop - 1) * stride + shift + 1), stride)
    return slice(first, stop), elements if stop > first else slice(0, 0)
