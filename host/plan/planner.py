"""From an operator on a tensor of any size to the jobs of a core of a given size.

Read :func:`plan` first: it decides whether a pooling slides, is cut into tiles, or is gathered.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from extremum.hdl.config import DIMENSIONS, CoreConfig, check_is_config
from extremum.host.plan.gathered_jobs import GATHERED_ELEMENTS, GatheredJob, gathered_axes
from extremum.host.plan.jobs import Job
from extremum.host.plan.parts import Steps
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.registers import MAX_SLOTS, fixed_windows_of, schedule
from extremum.host.plan.results import last_position, positions_fit
from extremum.host.plan.sequence import Jobs
from extremum.host.plan.sliding_jobs import SlidingJob, sliding_registers
from extremum.host.plan.tiles import Cuts, TileSizes, choose_grid, storage_limits
from extremum.model import Pooling, Reduction, SpatialDimension


@dataclass(frozen=True)
class Plan:
    """The jobs that compute an operator.

    Parameters
    ----------
    problem
        The operator, and the sizes and the type of its tensor.
    config
        The core that the jobs are for.
    jobs
        The jobs in the order in which they run; there are none if every window is empty. The
        sequence makes each job when it is asked for, so that a plan of any length fits the memory.
    notes
        Sentences for the user: what exceeds the core, and what is done about it.
    """

    problem: Reduction | Pooling
    config: CoreConfig
    jobs: Jobs
    notes: tuple[str, ...] = ()

    @cached_property
    def cycles(self) -> int:
        """Predicted clocks of all jobs, each from its first beat taken to its last one moved."""
        return self._total(lambda job: job.cycles)

    @cached_property
    def beats_in(self) -> int:
        """Input beats of all jobs."""
        return self._total(lambda job: job.beats_in)

    @cached_property
    def beats_out(self) -> int:
        """Output beats of all jobs."""
        return self._total(lambda job: job.beats_out)

    @property
    def empty_windows(self) -> int:
        """Windows that lie wholly in padding: no job need compute them."""
        return self.problem.empty_windows if isinstance(self.problem, Pooling) else 0

    def check_fixed(self) -> None:
        """Refuse jobs that need another value of a register that is fixed.

        Raises
        ------
        ValueError
            A job needs another value of a fixed register. The message names the first such register
            and both values.
        """
        if self.config.fixed:
            for job, _ in self.jobs.kinds():
                job.registers.to_bits(self.config)

    def _total(self, figure: Callable[[Job], int]) -> int:
        """Return the sum of a figure over all jobs, computed from one job of every kind."""
        return sum(figure(job) * number for job, number in self.jobs.kinds())


def plan(problem: Reduction | Pooling, config: CoreConfig) -> Plan:
    """Turn an operator into jobs.

    A pooling that fits the core is one job: its windows slide. If its lines or planes are too long
    for the core's storage or counters, it is cut into tiles that slide one after the other. If the
    core cannot slide the window, since it is too large, for example, the host gathers the elements
    of every window and the core reduces them.

    Raises
    ------
    TypeError
        ``problem`` is no operator, or ``config`` no configuration.
    ValueError
        The core was not built for the operator, for its type, or for positions as large as those
        of the tensor; or windows must be gathered, and it has no argmax. Registers that are fixed
        are left to :meth:`Plan.check_fixed`.
    """
    check_is_operator(problem)
    check_is_config(config)
    config.data_type_code(problem.data_type)
    if _require_operator(problem, config):
        _require_positions(problem, config)
    if isinstance(problem, Reduction):
        return Plan(problem, config, _reduction_jobs(problem, config))
    dimensions = volume_of(problem)
    reason = _why_gather(dimensions, config)
    if reason is None:
        grid = choose_grid(dimensions, config)
        if grid is None:
            reason = _why_no_tile(dimensions, config)
        else:
            cuts = grid.cuts(dimensions)
            try:
                jobs = _sliding_jobs(problem, config, cuts)
            except OverflowError as error:
                reason = str(error)
            else:
                return Plan(problem, config, jobs, _tiling_notes(cuts, config))
    _require("argmax", config, f"gathers the windows for an argmax: {reason}", "change that, or ")
    jobs = Jobs(gathered_axes(problem, GATHERED_ELEMENTS), partial(_gathered_job, problem, config))
    return Plan(problem, config, jobs, (f"gathered by the host: {reason}",))


def check_is_operator(problem: object) -> None:
    """Refuse what is no operator.

    Raises
    ------
    TypeError
        ``problem`` is neither a ``Reduction`` nor a ``Pooling``.
    """
    if not isinstance(problem, (Reduction, Pooling)):
        raise TypeError(f"problem must be a Reduction or a Pooling, not {problem!r}")


def _require(operator: str, config: CoreConfig, purpose: str, remedy: str = "") -> None:
    """Refuse a core that was not built for an operator that the host needs for some purpose.

    ``remedy`` begins the advice, if there is another one than to add the operator.
    """
    if operator not in config.operators:
        raise ValueError(
            f"the core was built for {', '.join(config.operators)}, and the host {purpose}: "
            f"{remedy}add {operator} to operators"
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
    """Refuse a tensor whose last position is so large that it would mark an empty window."""
    if not positions_fit(problem, config):
        last = last_position(problem)
        raise ValueError(
            f"positions to {last} need more than the core's index_width of {config.index_width}: "
            f"build one of {(last + 1).bit_length()}"
        )


def volume_of(problem: Pooling) -> tuple[SpatialDimension, ...]:
    """Return the dimensions depth, height and width. A plane has a depth of one element."""
    missing = 3 - len(problem.spatial)
    return (SpatialDimension(1, 1),) * missing + problem.spatial


def _why_gather(dimensions: tuple[SpatialDimension, ...], config: CoreConfig) -> str | None:
    """Return what keeps the core from sliding the window, or None if nothing does."""
    if not config.has_windows:
        return "max_window (1, 1, 1) leaves sliding windows out"
    lines = sliding_registers(dimensions, (0, 0, 0), config)
    for name, dimension, line, window, dilation in zip(
        DIMENSIONS, dimensions, lines, config.max_window, config.max_dilation, strict=True
    ):
        if dimension.window > window:
            return f"window {name} {dimension.window} exceeds max_window {window}"
        # A dilation may exceed max_dilation if the storage suffices, which is seen later. But a
        # core whose max_dilation is 1 has no dilation logic.
        if dilation == 1 < dimension.dilation and dimension.window > 1:
            return f"{name} dilation {dimension.dilation} exceeds max_dilation 1"
        # A dimension without a stage has no schedule: its planes pass one by one, unpadded.
        passes = dimension.stride == 1 and dimension.padded == dimension.size
        if DIMENSIONS.index(name) not in config.axes and not passes:
            return f"a stride or padding in {name} needs max_window of at least 2 there"
        if line.has_padding and not config.padding:
            return f"padding in {name} needs a core that was built with padding"
        for what, value in (("stride", dimension.stride), ("window extent", dimension.extent)):
            if value >= 1 << config.coordinate_width:
                return f"{name} {what} {value} exceeds coordinate_width {config.coordinate_width}"
    width, limit = dimensions[-1], config.max_spacing[-1]
    if width.window > 1 and width.dilation > limit:
        return f"width dilation {width.dilation} exceeds max_dilation {limit}"
    return None


def _why_no_tile(dimensions: tuple[SpatialDimension, ...], config: CoreConfig) -> str:
    """Return why no grid of tiles fits the core."""
    if not min(storage_limits(dimensions, config)):
        return "no line or plane of windows fits the storage at this dilation"
    width = config.coordinate_width
    for name, dimension, window in zip(
        DIMENSIONS, dimensions, fixed_windows_of(config), strict=True
    ):
        if not TileSizes(dimension, config, window).largest(dimension.outputs):
            return (
                f"{name} window extent {dimension.extent} leaves no tile that coordinate_width "
                f"{width} counts through"
            )
    return f"no tile fits the storage that coordinate_width {width} counts through"


def _storage(name: str, most: int, dilation: int) -> str:
    """Name the parameters that decide how much the storage holds."""
    return f"({name} {most}{f', with room for a dilation of {dilation}' if dilation > 1 else ''})"


def _tiling_notes(cuts: tuple[Cuts, ...], config: CoreConfig) -> tuple[str, ...]:
    """Return why a pooling is cut into tiles, or nothing if it is not."""
    if not any(cut.is_cut for cut in cuts):
        return ()
    dimensions = tuple(cut.dimension for cut in cuts)
    line, plane = storage_limits(dimensions, config)
    depth, height, width = (dimension.outputs for dimension in dimensions)
    counts = f"{depth} x {height} x {width} windows"
    if width > line:
        words = _storage("max_line", config.max_line, config.max_dilation[1])
        reason = f"the storage holds lines of at most {line} {words}"
    elif width * height > plane:
        words = _storage("max_plane", config.max_plane, config.max_dilation[0])
        reason = f"the storage holds planes of at most {plane} {words}"
    elif 0 not in config.axes and not any(cut.is_cut for cut in cuts[1:]):
        reason = "planes pass one by one through a core without a depth stage (max_window 1 there)"
    else:
        reason = f"their coordinates exceed coordinate_width {config.coordinate_width}"
    tiles = math.prod(map(len, cuts))
    return (f"cut into {tiles} tile{'s'[: tiles != 1]}: of {counts}, {reason}",)


def _reduction_jobs(problem: Reduction, config: CoreConfig) -> Jobs:
    """Return jobs of as many results as the slot counter allows in one job."""
    results = math.prod(problem.output_sizes)
    at_once = MAX_SLOTS // problem.count * (1 if config.can_fold else config.lanes)
    return Jobs((Steps(results, at_once),), partial(_reduction_job, problem, config))


def _reduction_job(problem: Reduction, config: CoreConfig, results: range) -> Job:
    return ReductionJob(problem, config, results.start, results.stop)


def _sliding_jobs(problem: Pooling, config: CoreConfig, cuts: tuple[Cuts, ...]) -> Jobs:
    """Return jobs of one tile each, and of as many of its slices as the slot counter allows.

    Raises
    ------
    OverflowError
        A single slice of a tile needs more slots than the core counts.
    """
    most = dict(config.fixed).get("groups", MAX_SLOTS)
    for kinds in itertools.product(*(cut.kinds() for cut in cuts)):
        dimensions = [tile.dimension for tile, _ in kinds]
        registers = sliding_registers(dimensions, (0, 0, 0), config)
        one, two = (schedule(registers, groups).slots for groups in (1, 2))
        if one > MAX_SLOTS:
            raise OverflowError(f"a schedule of {one} slots exceeds {MAX_SLOTS}")
        most = min(most, 1 + (MAX_SLOTS - one) // (two - one))
    slices = Steps(math.prod(problem.sizes[:2]), most * config.lanes)
    return Jobs((*cuts, slices), partial(_sliding_job, problem, config))


def _sliding_job(problem: Pooling, config: CoreConfig, *parts: Any) -> Job:
    depth, height, width, slices = parts
    return SlidingJob(problem, config, (depth, height, width), slices.start, slices.stop)


def _gathered_job(problem: Pooling, config: CoreConfig, slices: range, *windows: range) -> Job:
    return GatheredJob(problem, config, slices, windows)
