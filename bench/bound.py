"""The lower bound of an operator's clocks: no core that is given these beats could finish earlier.

The bound depends on the operator and the width of a beat alone. One input beat is taken in each
clock, from clock 0 on. An output beat leaves in the clock of the last input beat that it needs or
later, at most one in each clock, in order. The bound B is the number of clocks until the last beat
has moved.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from extremum.model import Pooling, Reduction, SpatialDimension

NOTHING = -(1 << 60)
"""Number of the last element of an empty window, which needs none: long before the first element.
"""

FIXED_CLOCKS = 64
"""Clocks beyond the bound that any operator may take, for the latency of the core."""

SLACK = 0.02
"""Share of the bound that an operator may take beyond it and beyond :data:`FIXED_CLOCKS`."""


class Bound(NamedTuple):
    """The beats of an operator, and the least clocks in which a core could take and give them."""

    beats_in: int
    beats_out: int
    clocks: int

    @property
    def allowed(self) -> int:
        """Clocks that a core of this project may take."""
        return math.floor((1 + SLACK) * self.clocks) + FIXED_CLOCKS


def bound(problem: Reduction | Pooling, lanes: int) -> Bound:
    """Return the bound of an operator on beats of ``lanes`` elements.

    The lanes carry slices, or consecutive elements of one row of a reduction if that is faster.
    """
    if isinstance(problem, Pooling):
        return _pooling(problem, lanes)
    return min(_slices(problem, lanes), _fold(problem, lanes), key=lambda found: found.clocks)


def last_element(dimension: SpatialDimension) -> np.ndarray:
    """Return each window's last element along a dimension, or :data:`NOTHING` if it has none."""
    start = np.arange(dimension.outputs) * dimension.stride - dimension.start_padding
    tap = np.minimum(dimension.window - 1, (dimension.size - 1 - start) // dimension.dilation)
    last = start + tap * dimension.dilation
    return np.where((tap >= 0) & (last >= 0), last, NOTHING)


def _pooling(problem: Pooling, lanes: int) -> Bound:
    groups = -(-math.prod(problem.sizes[:2]) // lanes)
    plane = math.prod(dimension.size for dimension in problem.spatial)
    needed = np.zeros(1, np.int64)
    for dimension in problem.spatial:
        last = last_element(dimension)
        beats = needed[..., None] * dimension.size + last
        needed = np.where((needed[..., None] < 0) | (last < 0), NOTHING, beats).reshape(-1)
    # Output o of group g leaves no sooner than in clock g * plane + needed[o], and all outputs
    # behind it follow one by one. So only the outputs of the first and of the last group can
    # decide the end.
    windows = len(needed)
    after = (groups - 1 - np.array([0, groups - 1]))[:, None] * windows + windows
    ready = np.array([0, groups - 1])[:, None] * plane + needed
    ends = np.where(needed < 0, 0, ready + after - np.arange(windows))
    beats_in, beats_out = groups * plane, groups * windows
    return Bound(beats_in, beats_out, max(beats_in, beats_out, int(ends.max())))


def _slices(problem: Reduction, lanes: int) -> Bound:
    """Return the bound if every result has a lane: the last result beat needs the last element."""
    results = -(-math.prod(problem.output_sizes) // lanes)
    beats = results * problem.count
    return Bound(beats, results, beats)


def _fold(problem: Reduction, lanes: int) -> Bound:
    """Return the bound if each row uses all lanes, row after row, and the results leave packed."""
    results = math.prod(problem.output_sizes)
    beats = results * -(-problem.count // lanes)
    return Bound(beats, -(-results // lanes), beats)
