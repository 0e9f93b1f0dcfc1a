"""Which bins of :mod:`extremum.tb.coverage` the jobs that have run belong to.

The first elements of a tensor are looked at, and of its rows and windows some.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.latency import holds_one_job, latency, queue_depth
from extremum.hdl.ports import JobError
from extremum.host.plan.gathered_jobs import GatheredJob
from extremum.host.plan.jobs import Job
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import AxisDirection, Pooling, Reduction, SpatialDimension
from extremum.tb.coverage import DIMENSIONS, Tally
from extremum.tb.regression.case import Batch, Item, Rests
from extremum.tb.regression.target import Target
from extremum.tb.regression.tensors import classes
from extremum.tb.regression.ties import observe_ties

ELEMENTS = 2048
"""Elements of a tensor whose values are looked at."""

LONG = 100
"""Beats from which on a job is long."""

LONG_REST = 500
"""Clocks from which on a rest is long: all queues fill or drain in it."""

BETWEEN = 256
"""Clocks from a job's end to the first beat of the next one, at the most, if no source rests."""

SOON = 32
"""Clocks within which a core whose sources do not rest takes its first beat, and passes results."""


@dataclass(frozen=True)
class Offered:
    """A job that was offered: one that has run, or one that was refused.

    Parameters
    ----------
    item
        The operator that it belongs to.
    job
        The job; of a refused one, that which it was made of.
    x
        The operator's tensor.
    refused
        The reason why it must be refused; NONE if it must run.
    """

    item: Item
    job: Job
    x: np.ndarray
    refused: JobError = JobError.NONE

    @property
    def kind(self) -> str:
        """The kind of job, as the points name it."""
        if self.refused:
            return "refused"
        if isinstance(self.job, ReductionJob):
            return "fold" if self.job.registers.fold else "slices"
        return self.job.kind


def observe(
    tally: Tally,
    target: Target,
    batch: Batch,
    offered: list[Offered],
    *,
    clocks: int,
    started: int = 0,
) -> None:
    """Count the bins of a batch that has run to its end, in so many clocks.

    ``started`` is the clock of the first beat taken, or one shortly before.
    """
    tally.count("cores", target.name)
    bus = "core" if target.bus == "none" else "block"
    jobs = [each.job for each in offered if not each.refused]
    phases = {
        "input": source_phase(batch.input_stalls, sum(job.beats_in for job in jobs)),
        "output": sink_phase(batch, offered, clocks, started),
    }
    if bus == "core" and target.has_jobs:
        phases["job"] = source_phase(batch.job_stalls, len(offered))
    for port, phase in phases.items():
        if phase:
            tally.count("stalls", bus, port, phase)
    seen: set[int] = set()
    for each in offered:
        if each.refused:
            tally.count("refused jobs", each.refused.name)
            continue
        _observe_job(tally, each)
        if id(each.x) not in seen:
            seen.add(id(each.x))
            _observe_operator(tally, each)
    without_pause = bus == "block" or not batch.job_stalls
    for first, second in itertools.pairwise(offered) if without_pause else ():
        tally.count("neighbours", first.kind, second.kind)
        if not first.refused and not second.refused:
            _observe_change(tally, first, second)


def source_phase(rests: Rests, items: int) -> str | None:
    """Return when a source of so many beats or jobs rests, as the points name it.

    Its phases go on with each item that it may offer. None means that a rest did not come before
    the last item.
    """
    if isinstance(rests, int):
        return _rate(rests)
    if len(rests) == 2:
        return "begin"
    if len(rests) > 3:
        return _turns(rests, items)
    (first, _), (rest, _), _ = rests
    if first >= items:
        return None
    return "drained" if rest > LONG_REST else _half(first, items)


def sink_phase(batch: Batch, offered: Sequence[Offered], end: int, started: int) -> str | None:
    """Return when the sinks of results rest, as the points name it.

    Their phases go on with the clocks, of which the batch took ``end``, including those of the
    rest; the first beat was taken in the clock ``started``, or shortly behind it. None means that a
    rest did not come before the last result, or that it is not sure what it held.
    """
    rests, is_sure = batch.output_stalls, not (batch.input_stalls or batch.job_stalls)
    jobs = [each.job for each in offered]
    config = jobs[0].config
    if isinstance(rests, int):
        return _rate(rests)
    if len(rests) > 3:
        return _turns(rests, end)
    is_sure &= not any(each.refused for each in offered)
    if len(rests) == 2:
        ready = started + SOON + jobs[0].schedule.last_window + latency(config)
        return "begin" if is_sure and rests[0][0] > ready else None
    (before, _), (rest, _), _ = rests
    if before >= end:
        return None
    if rest <= LONG_REST:
        return _half(before, max(1, end - rest))
    space = 0 if holds_one_job(config) else queue_depth(config)
    # In each clock before the rest a beat of results may have left.
    held = _results_within(jobs, before + rest - started - SOON) - before
    return "full" if is_sure and held > space else None


def _results_within(jobs: Sequence[Job], clocks: int) -> int:
    """Return how many beats of results surely have come in so many clocks from the first beat on.

    Those of a job's windows may come as late as with its last beats, those of rows come evenly.
    """
    results = 0
    for job in jobs:
        if job.cycles > clocks:
            if isinstance(job, ReductionJob):
                results += max(0, job.beats_out * (clocks - latency(job.config)) // job.cycles - 1)
            break
        results += job.beats_out
        clocks -= job.cycles + BETWEEN
    return results


def _rate(percent: int) -> str:
    return "none" if percent == 0 else ("seldom", "often", "mostly")[(percent > 9) + (percent > 59)]


def _turns(rests: list[list[int]], last: int) -> str | None:
    begins = itertools.accumulate((count for count, _ in rests), initial=0)
    comes = any(rate and begin < last for begin, (_, rate) in zip(begins, rests, strict=False))
    return "turns" if comes else None


def _half(first: int, last: int) -> str:
    return "middle" if 4 * first < 3 * last else "end"


def _observe_operator(tally: Tally, each: Offered) -> None:
    """Count what holds for the operator, whatever its jobs are."""
    problem, x = each.job.problem, each.x  # pyright: ignore[reportAttributeAccessIssue]
    name = x.dtype.name
    if isinstance(problem, Reduction):
        function = problem.function.name.lower()
        tally.count("operator", function, name, _direction(problem), problem.nan)
    else:
        tally.count("operator", "max-pool", name, "increasing", problem.nan)


def _direction(problem: Reduction | Pooling) -> str:
    last = isinstance(problem, Reduction) and problem.axis_direction is AxisDirection.DECREASING
    return "decreasing" if last else "increasing"


def _observe_job(tally: Tally, each: Offered) -> None:
    job = each.job
    rows, lanes = job.rows, job.config.lanes
    tail = "all" if rows.tail == lanes else "one" if rows.tail == 1 else "some"
    tally.count("lanes", str(lanes), "fold" if rows.fold else "slices", tail)
    if isinstance(job, (SlidingJob, GatheredJob)):
        _observe_windows(tally, job)
    slices = job.slices(each.x)
    elements = slices[: 1 + ELEMENTS // slices.shape[1]].reshape(-1)[:ELEMENTS]
    for kind, mask in classes(elements).items():
        if mask.any():
            tally.count("values", each.x.dtype.name, kind, "met")
    problem: Any = job.problem  # pyright: ignore[reportAttributeAccessIssue]
    observe_ties(tally, job, each.x, each.kind, _direction(problem))


def _observe_windows(tally: Tally, job: SlidingJob | GatheredJob) -> None:
    groups = ("one", "two", "more")[min(job.rows.groups, 3) - 1]
    spatial = job.problem.spatial
    names = DIMENSIONS[3 - len(spatial) :]
    tally.count("taps", job.kind, _all_taps(spatial))
    for name, line in zip(names, spatial, strict=True):
        if line.window > 1:
            tally.count("dilation", name, _taps(line), _up_to_3(line.dilation), job.kind)
    if isinstance(job, GatheredJob):
        tally.count("plan", f"gathered {'and folded' if job.rows.fold else 'as slices'}", groups)
        # They are left out of the jobs of their operator.
        has_empty = any(line.empty.any() for line in spatial)
    else:
        tiles = list(zip(names, spatial, job.tiles[-len(spatial) :], strict=True))
        cut = [name for name, line, tile in tiles if tile.dimension.outputs < line.outputs]
        several = "tiles in several dimensions"
        way = "whole" if not cut else f"tiles in {cut[0]}" if len(cut) == 1 else several
        tally.count("plan", way, groups)
        has_empty = any(tile.dimension.empty.any() for _, _, tile in tiles)
        for name, _, tile in tiles:
            line = tile.dimension
            tally.count("window", name, _taps(line), _up_to_3(line.stride), _padding(line))
    tally.count("empty windows", job.kind, "some" if has_empty else "none")


def _all_taps(spatial: Sequence[SpatialDimension]) -> str:
    """Return how many taps a window has, in steps as a fast core numbers them: 3 bits a digit."""
    taps = math.prod(line.window for line in spatial)
    return (
        "1" if taps == 1 else "2 to 8" if taps <= 8 else "9 to 64" if taps <= 64 else "65 or more"
    )


def _taps(line: SpatialDimension) -> str:
    return str(line.window) if line.window < 4 else "4 or more"


def _padding(line: SpatialDimension) -> str:
    pads = (line.start_padding, line.end_padding)
    if max(pads) >= line.extent:
        return "beyond the window"
    return (("none", "end"), ("start", "both"))[pads[0] > 0][pads[1] > 0]


def _up_to_3(count: int) -> str:
    return str(count) if count < 3 else "3 or more"


def _observe_change(tally: Tally, first: Offered, second: Offered) -> None:
    for what in _changes(first, second):
        tally.count("changes", what)


def _changes(first: Offered, second: Offered) -> list[str]:
    one, two = first.job.registers, second.job.registers
    types = (first.x.dtype, second.x.dtype)
    widths, floats = [t.itemsize for t in types], [t.kind == "f" for t in types]
    beats = (first.job.beats_in, second.job.beats_in)
    told = {
        "another type of that width": types[0] != types[1] and widths[0] == widths[1],
        "a wider type": widths[0] < widths[1],
        "a narrower type": widths[0] > widths[1],
        "float to integer": floats[0] and not floats[1],
        "integer to float": floats[1] and not floats[0],
        "maximum to minimum": two.minimum and not one.minimum,
        "minimum to maximum": one.minimum and not two.minimum,
        "another NaN mode": one.ignore_nan != two.ignore_nan,
        "another direction": one.decreasing != two.decreasing,
        "one beat after a long job": beats[0] >= LONG and beats[1] == 1,
        "a long job after one beat": beats[0] == 1 and beats[1] >= LONG,
        "one beat after one beat": beats == (1, 1),
        "the very same job": one == two,
    }
    return [what for what, holds in told.items() if holds]


def observe_fault(tally: Tally, code: BlockError, where: str, batch: Batch) -> None:
    """Count a job of a block that fails: its error, what is around it, and whether ports rest."""
    tally.count("block errors", code.name, where)
    tally.count("block errors and stalls", code.name, "some" if batch.has_stalls else "none")


def observe_error_reset(tally: Tally, code: BlockError, *, is_soft: bool) -> None:
    """Count a reset that ended a job of a block which fails, before its packet was over."""
    tally.count("errors ended by a reset", code.name, "soft" if is_soft else "aresetn")


def observe_reset(
    tally: Tally, target: Target, batch: Batch, *, taken: tuple[int, int], given: tuple[int, int]
) -> None:
    """Count the phase in which a batch was ended by a reset.

    Parameters
    ----------
    tally
        The counts to add to.
    target, batch
        The core or block, and the batch that it ran.
    taken, given
        Input beats that were taken, output beats that were given, each of how many.
    """
    tally.count("cores", target.name)
    before, over = "before the first beat", "after the last beat"
    if target.bus == "axi":
        phase = before if not taken[0] else over if taken[0] == taken[1] else "between beats"
        tally.count("block reset", phase, "aresetn" if batch.reset_clocks else "soft")
        return
    if not taken[0]:
        phase = before
    elif taken[0] < taken[1]:
        phase = "while results come" if given[0] else "before the first result"
    else:
        phase = "when all is over" if given[0] == given[1] else over
    tally.count("core reset", phase, "1" if batch.reset_clocks == 1 else "2 or more")
