"""Jobs that reduce rows of elements to one result each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.host.plan.jobs import Job, span
from extremum.host.plan.registers import ignore_nan_of
from extremum.host.plan.results import Results
from extremum.host.plan.rows import Rows
from extremum.model import AxisDirection, Reduction


@dataclass(frozen=True)
class ReductionJob(Job):
    """Results ``first`` to ``stop`` of a reduction.

    The elements of a result stream in row-major order over the reduced axes, so the ordinal of the
    winner, which the core counts, is its position.
    """

    problem: Reduction
    config: CoreConfig
    first: int
    stop: int

    kind: ClassVar[str] = "reduction"

    @cached_property
    def rows(self) -> Rows:
        return Rows.best(self.stop - self.first, self.problem.count, self.config)

    @property
    def registers(self) -> JobRegisters:
        problem = self.problem
        return self.rows.reduction(
            self.config,
            problem.data_type,
            minimum=problem.function.is_minimum,
            decreasing=problem.axis_direction == AxisDirection.DECREASING,
            ignore_nan=ignore_nan_of(problem, self.config),
        )

    @property
    def summary(self) -> str:
        way = ", folded" if self.rows.fold else ""
        return (
            f"{span('result', range(self.first, self.stop))}, each of {self.problem.count} "
            f"elements{way}"
        )

    @property
    def beats_out(self) -> int:
        return self.rows.results

    @property
    def together(self) -> int:
        return 1

    def slices(self, x: np.ndarray) -> np.ndarray:
        axes = self.problem.axes
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        rows = x.transpose(*kept, *axes).reshape(-1, self.problem.count)
        return rows[self.first : self.stop]

    def scatter(
        self, values: np.ndarray, positions: np.ndarray, results: Results, start: int = 0
    ) -> None:
        first = self.first + start * self.config.lanes
        count = min(values.size, self.stop - first)
        where = slice(first, first + count)
        for given, array in results.pairs(values, positions):
            array.reshape(-1)[where] = given.reshape(-1)[:count]
