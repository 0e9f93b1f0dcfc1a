"""What a job is, and two kinds of it: a reduction, and windows that slide over a tile.

A job knows its registers, which elements make its beats, and where its results go. The third
kind, windows gathered by the host, is in :mod:`extremum.host.plan.gathered`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import DimensionRegisters, JobRegisters
from extremum.hdl.latency import latency
from extremum.host.plan.registers import (
    Schedule,
    dimension_registers,
    fixed_windows_of,
    modulo,
    schedule,
    way_within,
)
from extremum.host.plan.results import Results
from extremum.host.plan.rows import Rows, from_lanes
from extremum.host.plan.tiles import Tile
from extremum.model import (
    AxisDirection,
    Pooling,
    Reduction,
    SpatialDimension,
)


def span(what: str, numbers: range) -> str:
    """Name a range of numbered things: "slice 3", "slices 3 to 5"."""
    if len(numbers) == 1:
        return f"{what} {numbers[0]}"
    return f"{what}s {numbers[0]} to {numbers[-1]}"


class Job(ABC):
    """One run of the core: what it is told, what it is fed, and what its results mean."""

    kind: ClassVar[str]
    config: CoreConfig

    @property
    @abstractmethod
    def registers(self) -> JobRegisters:
        """The registers that stand on the core's job port."""

    @property
    def schedule(self) -> Schedule:
        """The slots that decide how long the job takes. A reduction has one for each beat."""
        last = self.beats_in - 1
        return Schedule(0, last, last)

    @property
    @abstractmethod
    def summary(self) -> str:
        """The job in a few words, for a list of jobs."""

    @cached_property
    @abstractmethod
    def rows(self) -> Rows:
        """How the elements of the slices lie in beats."""

    @property
    def beats_in(self) -> int:
        """Input beats."""
        return self.rows.beats

    @property
    @abstractmethod
    def beats_out(self) -> int:
        """Output beats."""

    @property
    def cycles(self) -> int:
        """Predicted clocks, without stalls, from the first beat taken to the last one moved."""
        return self.schedule.cycles(latency(self.config))

    @property
    @abstractmethod
    def together(self) -> int:
        """Output beats that belong together: :meth:`scatter` takes multiples of so many."""

    @abstractmethod
    def slices(self, x: np.ndarray) -> np.ndarray:
        """Return the elements of each slice, of shape (slices, elements); a view if possible."""

    def gather(self, x: np.ndarray) -> np.ndarray:
        """Return the input beats, of shape (beats_in, lanes), taken from the tensor."""
        return self.rows.into_beats(self.slices(x))

    def pieces(self, x: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the input beats piece by piece, so that few of them are in memory at a time."""
        return self.rows.pieces(self.slices(x))

    @abstractmethod
    def scatter(
        self, values: np.ndarray, positions: np.ndarray, results: Results, start: int = 0
    ) -> None:
        """Put output beats, two arrays of shape (beats, lanes), into the results.

        ``start`` is the number of the first of these beats in the job. Both ``start`` and the
        number of beats are multiples of :attr:`together`.
        """


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
            ignore_nan=problem.nan == "ignore",
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


def sliding_registers(
    dimensions: Sequence[SpatialDimension], weights: Sequence[int], config: CoreConfig
) -> list[DimensionRegisters]:
    """Return the registers of a tile's dimensions, as a core of this configuration has them."""
    return dimension_registers(dimensions, weights, fixed_windows_of(config))


@dataclass(frozen=True)
class SlidingJob(Job):
    """Slices ``first`` to ``stop`` of one tile of a pooling: in each lane a slice."""

    problem: Pooling
    config: CoreConfig
    tiles: tuple[Tile, Tile, Tile]
    first: int
    stop: int

    kind: ClassVar[str] = "sliding"

    @cached_property
    def _weights(self) -> list[int]:
        weights = self.problem.index_weights[2:]
        return [0] * (3 - len(weights)) + list(weights)

    @cached_property
    def _dimensions(self) -> list[DimensionRegisters]:
        dimensions = [tile.dimension for tile in self.tiles]
        return sliding_registers(dimensions, self._weights, self.config)

    @cached_property
    def rows(self) -> Rows:
        elements = math.prod(tile.dimension.size for tile in self.tiles)
        return Rows(self.stop - self.first, elements, self.config.lanes)

    @property
    def schedule(self) -> Schedule:
        return schedule(self._dimensions, self.rows.groups)

    @property
    def registers(self) -> JobRegisters:
        slice_weight = self.problem.index_weights[1]
        weights, dimensions = self._weights, self._dimensions
        heads = [
            (tile.offset + dimension.head) * weight
            for tile, dimension, weight in zip(self.tiles, dimensions, weights, strict=True)
        ]
        depth, height, width = dimensions
        within = way_within([tile.dimension for tile in self.tiles], weights)
        return JobRegisters(
            data_type=self.config.data_type_code(self.problem.data_type),
            ignore_nan=self.problem.nan == "ignore",
            slots=self.schedule.slots,
            volumes=self.rows.groups,
            groups=self.rows.groups,
            tail=self.rows.tail,
            origin=modulo(sum(heads) + self.first * slice_weight),
            group_step=modulo(self.config.lanes * slice_weight - within),
            lane_step=modulo(slice_weight),
            depth=depth,
            height=height,
            width=width,
        )

    @property
    def summary(self) -> str:
        sizes = " x ".join(str(tile.dimension.outputs) for tile in self.tiles)
        start = ", ".join(str(tile.first) for tile in self.tiles)
        return f"{sizes} windows from ({start}) of {span('slice', range(self.first, self.stop))}"

    @property
    def _outputs(self) -> int:
        return math.prod(tile.dimension.outputs for tile in self.tiles)

    @property
    def beats_out(self) -> int:
        return self.rows.groups * self._outputs

    @property
    def together(self) -> int:
        return self._outputs

    def slices(self, x: np.ndarray) -> np.ndarray:
        volume = x.reshape(-1, *(1,) * (5 - x.ndim), *x.shape[2:])
        inputs = tuple(slice(tile.offset, tile.offset + tile.dimension.size) for tile in self.tiles)
        cut = volume[(slice(self.first, self.stop), *inputs)]
        return cut.reshape(len(cut), -1)

    def scatter(
        self, values: np.ndarray, positions: np.ndarray, results: Results, start: int = 0
    ) -> None:
        first = self.first + start // self._outputs * self.config.lanes
        count = min(values.size // self._outputs, self.stop - first)
        outputs = tuple(
            slice(tile.first, tile.first + tile.dimension.outputs) for tile in self.tiles
        )
        shape = (count, *(tile.dimension.outputs for tile in self.tiles))
        for beats, array in results.pairs(values, positions):
            volume = array.reshape(-1, *(1,) * (5 - array.ndim), *array.shape[2:])
            part = from_lanes(beats, count, self._outputs).reshape(shape)
            volume[(slice(first, first + count), *outputs)] = part


def scattering(job: Job, results: Results) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return a function that puts a job's results where they belong, as they come.

    It takes values and positions, (beats, lanes), in multiples of ``job.together`` beats.
    """
    given = 0

    def take(values: np.ndarray, positions: np.ndarray) -> None:
        nonlocal given
        job.scatter(values, positions, results, given)
        given += len(values)

    return take
