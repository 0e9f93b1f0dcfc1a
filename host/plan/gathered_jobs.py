"""Windows that the core cannot slide: the host gathers their elements, the core reduces them.

Windows that meet no element are left out beforehand (:mod:`extremum.host.plan.windows`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.host.errors import SimulationError
from extremum.host.plan.jobs import Job, span
from extremum.host.plan.parts import Steps
from extremum.host.plan.registers import ignore_nan_of
from extremum.host.plan.results import Results
from extremum.host.plan.rows import Rows
from extremum.host.plan.windows import WindowRuns, most_met, most_met_by
from extremum.model import Pooling

GATHERED_ELEMENTS = 1 << 20
"""About as many elements as the host gathers for one job."""


def gathered_axes(problem: Pooling, elements: int) -> tuple[Steps | WindowRuns, ...]:
    """Cut slices and windows into jobs of about so many elements: whole lines, planes, slices."""
    left = max(1, elements // math.prod(map(most_met, problem.spatial)))
    runs = []
    for dimension in reversed(problem.spatial):
        step = max(1, min(left, len(dimension.met_windows)))
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
        For each spatial dimension some of the windows that meet an element
        (``SpatialDimension.met_windows``), by their places among them.
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
        return [most_met_by(dimension, run) for dimension, run in pairs]

    @property
    def _length(self) -> int:
        return math.prod(self._lengths)

    @cached_property
    def _outputs(self) -> list[np.ndarray]:
        """Numbers of the windows along each dimension."""
        return [
            np.asarray(dimension.met_windows[run.start : run.stop])
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
            self.config,
            self.problem.data_type,
            ignore_nan=ignore_nan_of(self.problem, self.config),
        )

    @property
    def summary(self) -> str:
        sizes = " x ".join(str(len(run)) for run in self.runs)
        start = ", ".join(
            str(dimension.met_windows[run.start])
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
