"""Which bins of :mod:`extremum.tb.coverage` the jobs that have run belong to.

The first elements of a tensor are looked at, and of its rows and windows some.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.ports import JobError
from extremum.host.plan.gathered_jobs import GatheredJob
from extremum.host.plan.jobs import Job
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import AxisDirection, Pooling, Reduction
from extremum.tb.coverage import DIMENSIONS, Tally
from extremum.tb.regression.case import Batch, Item, Rests
from extremum.tb.regression.target import Target
from extremum.tb.regression.tensors import classes
from extremum.tb.regression.ties import observe_ties

ELEMENTS = 2048
"""Elements of a tensor whose values are looked at."""

LONG = 100
"""Beats from which on a job is long."""


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
    tally: Tally, target: Target, batch: Batch, offered: list[Offered], *, clocks: int
) -> None:
    """Count the bins of a batch that has run to its end, in so many clocks."""
    tally.count("cores", target.name)
    bus = "core" if target.bus == "none" else "block"
    beats = sum(each.job.beats_in for each in offered if not each.refused)
    ports = {"input": beats, "output": clocks}
    if bus == "core" and target.has_jobs:
        ports["job"] = len(offered)
    for port, last in ports.items():
        if phase := _phase(getattr(batch, f"{port}_stalls"), last):
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


def _phase(rests: Rests, last: int) -> str | None:
    """Return the place on the axis of phases; None of a rest that did not come before the end.

    ``last`` is the number of the last item of a source, beats or jobs: its phases go on with each
    item that it may offer. Those of results go on with the clocks, and ``last`` is that of the end.
    """
    if isinstance(rests, int):
        return "none" if rests == 0 else ("seldom", "often", "mostly")[(rests > 9) + (rests > 59)]
    if len(rests) > 3:
        begins = itertools.accumulate((count for count, _ in rests), initial=0)
        comes = any(rate and begin < last for begin, (_, rate) in zip(begins, rests, strict=False))
        return "turns" if comes else None
    if len(rests) == 2:
        return "begin"
    (first, _), (rest, _), _ = rests
    if first >= last:
        return None
    return "full" if rest > 500 else "middle" if 4 * first < 3 * last else "end"


def _observe_operator(tally: Tally, each: Offered) -> None:
    """Count what holds for the operator, whatever its jobs are."""
    problem, x = each.job.problem, each.x  # pyright: ignore[reportAttributeAccessIssue]
    name = x.dtype.name
    if isinstance(problem, Reduction):
        function = problem.function.name.lower()
        tally.count("operator", function, name, _direction(problem), problem.nan)
    else:
        tally.count("operator", "max-pool", name, "increasing", problem.nan)
    for kind, mask in classes(x.reshape(-1)[:ELEMENTS]).items():
        if mask.any():
            tally.count("values", name, kind, "met")


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
    problem: Any = job.problem  # pyright: ignore[reportAttributeAccessIssue]
    observe_ties(tally, job, each.x, each.kind, _direction(problem))


def _observe_windows(tally: Tally, job: SlidingJob | GatheredJob) -> None:
    groups = ("one", "two", "more")[min(job.rows.groups, 3) - 1]
    spatial = job.problem.spatial
    names = DIMENSIONS[3 - len(spatial) :]
    if isinstance(job, GatheredJob):
        tally.count("plan", f"gathered {'and folded' if job.rows.fold else 'as slices'}", groups)
    else:
        cut = [
            name
            for name, dimension, tile in zip(
                names, spatial, job.tiles[-len(spatial) :], strict=True
            )
            if tile.dimension.outputs < dimension.outputs
        ]
        several = "tiles in several dimensions"
        way = "whole" if not cut else f"tiles in {cut[0]}" if len(cut) == 1 else several
        tally.count("plan", way, groups)
    empty = any(dimension.empty.any() for dimension in spatial)
    tally.count("empty windows", job.kind, "some" if empty else "none")
    for name, line in zip(names, spatial, strict=True):
        taps = str(line.window) if line.window < 4 else "4 or more"
        if line.window > 1:
            tally.count("dilation", name, taps, _up_to_3(line.dilation), job.kind)
        if isinstance(job, SlidingJob):
            pads = (line.start_padding, line.end_padding)
            where = "beyond the window" if max(pads) >= line.extent else None
            where = (
                where
                or {(0, 0): "none", (1, 0): "start", (0, 1): "end", (1, 1): "both"}[
                    (int(pads[0] > 0), int(pads[1] > 0))
                ]
            )
            tally.count("window", name, taps, _up_to_3(line.stride), where)


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
