"""Windows that the core cannot slide: the host gathers their elements, the core reduces them.

Windows that meet no element are left out beforehand, by arithmetic: a plan looks at no window one
by one, however many there are.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.host.errors import SimulationError
from extremum.host.plan.jobs import Job, span
from extremum.host.plan.results import Results
from extremum.host.plan.rows import Rows
from extremum.host.plan.sequence import Steps
from extremum.model import Pooling, SpatialDimension

GATHERED_ELEMENTS = 1 << 20
"""About as many elements as the host gathers for one job."""


@lru_cache(maxsize=8)
def met_windows(dimension: SpatialDimension) -> range | np.ndarray:
    """Return the numbers of the windows that meet an element, in order.

    They follow each other, so a ``range`` tells them. There may be gaps only where the dilation is
    greater than the size: then a window can hold all elements between two of its taps, and an array
    lists the windows.
    """
    size, stride, dilation = dimension.size, dimension.stride, dimension.dilation
    # The first window whose last tap is at the first element or later, and so at the other end.
    first = max(0, -((dimension.extent - 1 - dimension.start_padding) // stride))
    stop = min(dimension.outputs, (size - 1 + dimension.start_padding) // stride + 1)
    reach = range(first, max(first, stop))
    if dimension.window == 1 or dilation <= size:
        return reach
    starts = np.asarray(reach, np.int64) * stride - dimension.start_padding
    # Where a window begins in the padding, this is the first coordinate of a tap behind it.
    return np.asarray(reach)[np.where(starts < 0, starts % dilation, starts) < size]


def most_met(dimension: SpatialDimension) -> int:
    """Return a number of elements that no window exceeds along a dimension."""
    return min(dimension.window, -(-dimension.size // dimension.dilation))


@dataclass(frozen=True)
class WindowRuns:
    """The windows along one dimension that meet an element, cut into runs of equal length.

    Parameters
    ----------
    dimension
        The dimension.
    step
        Windows of a run, at least 1; the last run may have fewer.
    """

    dimension: SpatialDimension
    step: int

    @property
    def _steps(self) -> Steps:
        return Steps(len(met_windows(self.dimension)), self.step)

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, number: int) -> range:
        return self._steps[number]

    def kinds(self) -> Iterator[tuple[range, int]]:
        """Return a run of every kind, and how many are like it but for where they begin.

        Away from the borders, all runs have windows of equally many elements.
        """
        runs, most = range(len(self)), most_met(self.dimension)
        within = bisect.bisect_left(
            runs, True, key=lambda number: _entered(self.dimension, self[number]) >= most
        )
        beyond = bisect.bisect_left(
            runs, True, key=lambda number: _left(self.dimension, self[number]) < most
        )
        whole = len(met_windows(self.dimension)) // self.step
        beyond = max(within, min(beyond, whole))
        if within < beyond:
            yield self[within], beyond - within
        for number in (*range(within), *range(beyond, len(runs))):
            yield self[number], 1


def _start(dimension: SpatialDimension, number: int) -> int:
    """Return the coordinate of the first tap of a window, by its number among those met."""
    return int(met_windows(dimension)[number]) * dimension.stride - dimension.start_padding


def _entered(dimension: SpatialDimension, run: range) -> int:
    """Return how many taps of a run's last window are not in the padding before the tensor."""
    return dimension.window - max(0, -(_start(dimension, run[-1]) // dimension.dilation))


def _left(dimension: SpatialDimension, run: range) -> int:
    """Return how many taps of a run's first window may not be in the padding behind the tensor."""
    return (dimension.size - 1 - _start(dimension, run[0])) // dimension.dilation + 1


def _most_met_by(dimension: SpatialDimension, run: range) -> int:
    """Return a number of elements that no window of a run exceeds.

    The last window of a run has entered the tensor furthest, and the first one has left it least.
    """
    return min(most_met(dimension), _entered(dimension, run), _left(dimension, run))


def gathered_axes(problem: Pooling, elements: int) -> tuple[Steps | WindowRuns, ...]:
    """Cut slices and windows into jobs of about so many elements: whole lines, planes, slices."""
    left = max(1, elements // math.prod(map(most_met, problem.spatial)))
    runs = []
    for dimension in reversed(problem.spatial):
        step = max(1, min(left, len(met_windows(dimension))))
        runs.append(WindowRuns(dimension, step))
        left = max(1, left // step)
    slices = math.prod(problem.sizes[:2])
    return (Steps(slices, min(left, slices)), *reversed(runs))


@dataclass(frozen=True)
class GatheredJob(Job):
    """A box of windows of some slices, each window streamed as a row and reduced.

    All rows have the length of the longest. A shorter one is filled up with copies of its first
    element: they come behind the original, so a tie cannot choose them. The ordinal of the winner
    in its row tells its position.

    Parameters
    ----------
    problem, config
        The operator and the core.
    slice_range
        Numbers of the slices.
    runs
        For each spatial dimension some of its :func:`met_windows`, by their places among them.
    """

    problem: Pooling
    config: CoreConfig
    slice_range: range
    runs: tuple[range, ...]

    kind: ClassVar[str] = "gathered"

    @cached_property
    def rows(self) -> Rows:
        return Rows.best(len(self.slice_range) * self._windows, self._length, self.config)

    @property
    def _windows(self) -> int:
        return math.prod(map(len, self.runs))

    @property
    def _lengths(self) -> list[int]:
        """Elements that a window of this job may meet along each dimension, at the most."""
        pairs = zip(self.problem.spatial, self.runs, strict=True)
        return [_most_met_by(dimension, run) for dimension, run in pairs]

    @property
    def _length(self) -> int:
        return math.prod(self._lengths)

    @cached_property
    def _outputs(self) -> list[np.ndarray]:
        """Numbers of the windows along each dimension."""
        return [
            np.asarray(met_windows(dimension)[run.start : run.stop])
            for dimension, run in zip(self.problem.spatial, self.runs, strict=True)
        ]

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the elements of each window: their places in the slice, and their positions."""
        inside, element = np.ones((1, 1), bool), np.zeros((1, 1), np.int64)
        position = element
        for dimension, outputs, length, weight in zip(
            self.problem.spatial,
            self._outputs,
            self._lengths,
            self.problem.index_weights[2:],
            strict=True,
        ):
            start = outputs * dimension.stride - dimension.start_padding
            first = np.maximum(0, -(start // dimension.dilation))
            tap = first[:, None] + np.arange(length)
            coordinate = start[:, None] + tap * dimension.dilation
            met = (tap < dimension.window) & (coordinate < dimension.size)
            inside = _combine(inside, met, np.logical_and)
            element = _combine(element * dimension.size, coordinate, np.add)
            position = _combine(position, coordinate * weight, np.add)
        # The elements to the front, in their order; behind them copies of the first.
        order = np.argsort(~inside, axis=1, kind="stable")
        own = np.arange(self._length) < np.count_nonzero(inside, axis=1)[:, None]
        order = np.where(own, order, order[:, :1])
        return (
            np.take_along_axis(element, order, axis=1),
            np.take_along_axis(position, order, axis=1),
        )

    @property
    def registers(self) -> JobRegisters:
        return self.rows.reduction(
            self.config, self.problem.data_type, ignore_nan=self.problem.nan == "ignore"
        )

    @property
    def summary(self) -> str:
        sizes = " x ".join(str(len(run)) for run in self.runs)
        start = ", ".join(
            str(met_windows(dimension)[run.start])
            for dimension, run in zip(self.problem.spatial, self.runs, strict=True)
        )
        return f"{sizes} windows from ({start}) of {span('slice', self.slice_range)}, as rows"

    @property
    def beats_out(self) -> int:
        return self.rows.results

    @property
    def together(self) -> int:
        return self.beats_out

    def slices(self, x: np.ndarray) -> np.ndarray:
        elements, _ = self._table
        planes = x.reshape(-1, math.prod(self.problem.sizes[2:]))
        return planes[self.slice_range.start : self.slice_range.stop, elements].reshape(
            -1, self._length
        )

    def scatter(
        self, values: np.ndarray, positions: np.ndarray, results: Results, start: int = 0
    ) -> None:
        slices = len(self.slice_range)
        if results.positions is not None:
            # What the core gives is an ordinal in a row.
            ordinals = positions.reshape(-1)[: self.rows.count].reshape(slices, -1)
            if ordinals.max() >= self._length:
                raise SimulationError(
                    f"the core must give positions below {self._length}, the length of a row, not "
                    f"{ordinals.max()}"
                )
            _, table = self._table
            base = np.asarray(self.slice_range) * self.problem.index_weights[1]
            positions = base[:, None] + table[np.arange(len(table)), ordinals]
        where: list[Any] = [self.slice_range, *self._outputs]
        for given, array in results.pairs(values, positions):
            volume = array.reshape(-1, *array.shape[2:])
            box = given.reshape(-1)[: self.rows.count].reshape(slices, *map(len, self.runs))
            volume[np.ix_(*where)] = box


def _combine(outer: np.ndarray, inner: np.ndarray, combine: np.ufunc) -> np.ndarray:
    """Combine (windows, taps) of the dimensions so far with those of the next one within."""
    table = combine(outer[:, None, :, None], inner[None, :, None, :])
    return table.reshape(len(outer) * len(inner), -1)
