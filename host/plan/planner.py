"""From an operator on a tensor of any size to jobs of a core of a given size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.host.plan.jobs import GatheredJob, Job, ReductionJob, SlidingJob
from extremum.host.plan.registers import MAX_SLOTS, dimension_registers, schedule
from extremum.host.plan.tiles import Tile, choose_grid, storage_limits
from extremum.model import Pooling, Reduction, SpatialDimension

GATHERED_ELEMENTS = 1 << 20
"""About as many elements as the host gathers for one job."""


@dataclass(frozen=True)
class Plan:
    """The jobs that compute an operator.

    Parameters
    ----------
    problem
        The operator and its tensor.
    config
        The core.
    jobs
        In the order in which they run. None if every window is empty.
    notes
        What exceeds the core, and what was done about it.
    """

    problem: Reduction | Pooling
    config: CoreConfig
    jobs: tuple[Job, ...]
    notes: tuple[str, ...] = ()

    @property
    def cycles(self) -> int:
        """Predicted clocks, from the first beat taken to the last one moved, over all jobs."""
        return sum(job.cycles for job in self.jobs)

    @property
    def beats_in(self) -> int:
        """Input beats of all jobs."""
        return sum(job.beats_in for job in self.jobs)

    @property
    def beats_out(self) -> int:
        """Output beats of all jobs."""
        return sum(job.beats_out for job in self.jobs)


def plan(problem: Reduction | Pooling, config: CoreConfig) -> Plan:
    """Turn an operator into jobs.

    A pooling slides in one job if it fits the core; in tiles if its lines or planes are too long
    for the storage; and where the window itself is too large, the host gathers each window and
    the core reduces it.

    Raises
    ------
    ValueError
        The core was not built for the operator, its type, or positions as large as the tensor's.
    """
    config.data_type_code(problem.data_type)
    if _require_operator(problem, config):
        _require_positions(problem, config)
    if isinstance(problem, Reduction):
        return Plan(problem, config, tuple(_reduction_jobs(problem, config)))
    dimensions = _volume(problem)
    reason = _why_gather(dimensions, config)
    if reason is None:
        grid = choose_grid(dimensions, config)
        if grid is None:
            reason = "no line or plane of windows fits the storage at this dilation"
        else:
            tiles = grid.tiles(dimensions)
            try:
                jobs = tuple(_sliding_jobs(problem, config, tiles))
            except OverflowError as error:
                reason = str(error)
            else:
                return Plan(problem, config, jobs, _tiling_notes(dimensions, tiles, config))
    _require("argmax", config, f"gathers the windows for an argmax: {reason}")
    jobs = tuple(job for job in _gathered_jobs(problem, config) if not job.empty)
    return Plan(problem, config, jobs, (f"gathered by the host: {reason}",))


def _require(operator: str, config: CoreConfig, purpose: str) -> None:
    if operator not in config.operators:
        raise ValueError(
            f"the core was built for {', '.join(config.operators)}, and the host {purpose}: add "
            f"{operator} to operators"
        )


def _require_operator(problem: Reduction | Pooling, config: CoreConfig) -> bool:
    """Refuse what the core was not built for; return whether positions are wanted."""
    if isinstance(problem, Pooling):
        _require("max-pool", config, "wants a max pooling")
        gives_index = problem.return_indices
    else:
        least = problem.function.is_minimum
        _require("argmin" if least else "argmax", config, "wants a reduction")
        gives_index = problem.function.gives_index
        if not gives_index:
            _require("max-pool", config, "wants values, not positions")
    if gives_index and not config.index_width:
        raise ValueError("the core was built without positions: index_width is 0")
    return gives_index


def _require_positions(problem: Reduction | Pooling, config: CoreConfig) -> None:
    """Refuse a tensor whose last position is as large as what marks an empty window."""
    if isinstance(problem, Reduction):
        last = problem.count - 1
    else:
        columns = zip(problem.sizes, problem.index_weights, strict=True)
        last = sum((size - 1) * weight for size, weight in columns)
    if last >= (1 << config.index_width) - 1:
        raise ValueError(
            f"positions to {last} need more than the core's index_width of {config.index_width}"
        )


def _volume(problem: Pooling) -> tuple[SpatialDimension, ...]:
    """Return depth, height and width; a plane has a depth of 1."""
    missing = 3 - len(problem.spatial)
    return (SpatialDimension(1, 1),) * missing + problem.spatial


def _why_gather(dimensions: tuple[SpatialDimension, ...], config: CoreConfig) -> str | None:
    """Return what the core's stages cannot do, or None if they can slide the window."""
    if not config.has_windows:
        return "max_window (1, 1, 1) leaves sliding windows out"
    for name, dimension, window, dilation in zip(
        DIMENSIONS, dimensions, config.max_window, config.max_dilation, strict=True
    ):
        if dimension.window > window:
            return f"{name} of the window {dimension.window} exceeds max_window {window}"
        # Where storage decides, a dilation may exceed what it was meant for, but not if it is none.
        if dilation == 1 < dimension.dilation and dimension.window > 1:
            return f"{name} of the dilation {dimension.dilation} exceeds max_dilation 1"
        # Where the core has no schedule, planes pass one by one.
        passes = dimension.stride == 1 and dimension.padded == dimension.size
        if DIMENSIONS.index(name) not in config.axes and not passes:
            return f"a stride or padding in {name} needs max_window of at least 2 there"
        for what, value in (("stride", dimension.stride), ("window's extent", dimension.extent)):
            if value >= 1 << config.coordinate_width:
                return (
                    f"{name} of the {what} {value} exceeds coordinate_width "
                    f"{config.coordinate_width}"
                )
    width, limit = dimensions[-1], config.max_spacing[-1]
    if width.window > 1 and width.dilation > limit:
        return f"width of the dilation {width.dilation} exceeds max_dilation {limit}"
    return None


def _tiling_notes(
    dimensions: tuple[SpatialDimension, ...],
    tiles: list[tuple[Tile, Tile, Tile]],
    config: CoreConfig,
) -> tuple[str, ...]:
    whole = tuple(dimension.outputs for dimension in dimensions)
    if all(tuple(part.dimension.outputs for part in tile) == whole for tile in tiles):
        return ()
    line, plane = storage_limits(dimensions, config)
    depth, height, width = (dimension.outputs for dimension in dimensions)
    counts = f"{depth} x {height} x {width} windows"
    if width > line:
        reason = f"the storage holds lines of at most {line} (max_line {config.max_line})"
    elif width * height > plane:
        reason = f"the storage holds planes of at most {plane} (max_plane {config.max_plane})"
    else:
        reason = f"their coordinates exceed coordinate_width {config.coordinate_width}"
    return (f"cut into {len(tiles)} tile{'s'[: len(tiles) > 1]}: of {counts}, {reason}",)


def _reduction_jobs(problem: Reduction, config: CoreConfig) -> Iterator[Job]:
    """Give every result a lane of its own, in as many jobs as the slot counter makes necessary."""
    results = math.prod(problem.output_sizes)
    at_once = MAX_SLOTS // problem.count * (1 if config.can_fold else config.lanes)
    for first in range(0, results, at_once):
        yield ReductionJob(problem, config, first, min(first + at_once, results))


def _sliding_jobs(
    problem: Pooling, config: CoreConfig, tiles: list[tuple[Tile, Tile, Tile]]
) -> Iterator[Job]:
    """Give every slice of a tile a lane, in as many jobs as the slot counter makes necessary."""
    slices = math.prod(problem.sizes[:2])
    for tile in tiles:
        registers = dimension_registers([part.dimension for part in tile], (0, 0, 0))
        one, two = (schedule(registers, groups).slots for groups in (1, 2))
        if one > MAX_SLOTS:
            raise OverflowError(f"a schedule of {one} slots exceeds {MAX_SLOTS}")
        groups = min(
            1 + (MAX_SLOTS - one) // (two - one), dict(config.fixed).get("groups", MAX_SLOTS)
        )
        at_once = groups * config.lanes
        for first in range(0, slices, at_once):
            yield SlidingJob(problem, config, tile, first, min(first + at_once, slices))


def _gathered_jobs(problem: Pooling, config: CoreConfig) -> Iterator[GatheredJob]:
    """Cut the windows into runs whose elements the host can hold."""
    windows = math.prod(dimension.outputs for dimension in problem.spatial)
    elements = math.prod(problem.window) * math.prod(problem.sizes[:2])
    at_once = max(1, GATHERED_ELEMENTS // elements)
    for first in range(0, windows, at_once):
        yield GatheredJob(problem, config, first, min(first + at_once, windows))
