"""Jobs in which the core slides windows over a tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import DimensionRegisters, JobRegisters
from extremum.host.plan.jobs import Job, span
from extremum.host.plan.registers import (
    Schedule,
    dimension_registers,
    fixed_windows_of,
    ignore_nan_of,
    modulo,
    schedule,
    way_within,
)
from extremum.host.plan.results import Results
from extremum.host.plan.rows import Rows, from_lanes
from extremum.host.plan.tiles import Tile
from extremum.model import Pooling, SpatialDimension


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
            ignore_nan=ignore_nan_of(self.problem, self.config),
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
