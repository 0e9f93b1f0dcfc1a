"""What a batch gives the simulation to do, and what must come of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from extremum.host.plan.expected import winners
from extremum.host.plan.jobs import Job
from extremum.host.plan.results import EMPTY
from extremum.tb.refusal import bad_payloads
from extremum.tb.regression.case import Batch, Item, Rests
from extremum.tb.regression.observe import Offered
from extremum.tb.regression.operators import jobs_of
from extremum.tb.regression.target import Target
from extremum.tb.regression.tensors import tensor
from extremum.tb.scoreboard import Won, expected_beats

WATCHDOG = 4000
"""Clocks without a transfer, in addition to slots and rests, before a batch is given up."""


class Difference(Exception):
    """A case did not come out as it must."""


@dataclass
class Figures:
    """What was run: cases, clocks simulated, input beats taken, and jobs of which one was."""

    cases: int = 0
    jobs: int = 0
    clocks: int = 0
    beats: int = 0

    def add(self, other: Figures) -> None:
        """Add other figures to these."""
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)


@dataclass(frozen=True)
class Todo(Offered):
    """A job that is offered, with what it must give.

    Parameters
    ----------
    payload
        The bits of the job port.
    won
        What the golden model gives for the operator.
    """

    payload: int = 0
    won: Won | None = None

    def expected(self) -> Won:
        """Return values and positions as the backends hand them out, (beats, lanes)."""
        config = self.job.config
        values, positions = expected_beats(self.job, self.x, self.won)
        if not config.has_values:
            values = np.zeros_like(values)
        mask = (1 << config.index_width) - 1
        if 0 < config.index_width < EMPTY.itemsize * 8:
            positions[positions == mask] = EMPTY
        return values, positions


def todo_of(target: Target, batch: Batch) -> list[Todo]:
    """Return all jobs of a batch, in the order in which they are offered."""
    return [each for item in batch.items for each in _todo_of_item(target, item)]


def _todo_of_item(target: Target, item: Item) -> list[Todo]:
    problem, config = item.problem, target.config
    x = tensor(item.fill, item.fill_seed, problem.data_type, problem.sizes)
    jobs = jobs_of(item, config)
    won = winners(problem, x) if jobs else None
    todo = [Todo(item, job, x, payload=job.registers.to_bits(config), won=won) for job in jobs]
    bad = list(bad_payloads(jobs[0].registers, config)) if item.refused is not None and jobs else []
    if item.refused is not None and bad:
        payload, reason = bad[item.refused % len(bad)]
        # Some are offered twice, one behind the other.
        todo[:0] = [replace(todo[0], refused=reason, payload=payload)] * (1 + item.refused % 3 // 2)
    return todo


def begun(todo: Sequence[Todo], taken: int) -> int:
    """Return how many of some jobs a core has begun that has taken so many beats of theirs."""
    firsts = itertools.accumulate((each.job.beats_in for each in todo), initial=0)
    return sum(first < taken for first, _ in zip(firsts, todo, strict=False))


def watchdog(todo: Sequence[Todo], batch: Batch) -> int:
    """Return clocks that no batch like this can stand still."""
    slots = max((each.job.registers.slots for each in todo), default=0)
    rests = (batch.input_stalls, batch.output_stalls, batch.job_stalls)
    return slots + WATCHDOG + sum(map(_longest, rests))


def _longest(rests: Rests) -> int:
    return 0 if isinstance(rests, int) else sum(clocks for clocks, rate in rests if rate)


def compare(given: np.ndarray, expected: np.ndarray, what: str, name: str) -> None:
    """Compare results of a job, (beats, lanes); those that have come must be right.

    Raises
    ------
    Difference
        One of them is not.
    """
    wrong = np.argwhere(given != expected[: len(given)])
    if len(wrong):
        beat, lane = map(int, wrong[0])
        raise Difference(
            f"{what} {beat} of lane {lane} is {int(given[beat, lane]):#x}, expected "
            f"{int(expected[beat, lane]):#x}; {len(wrong)} of {given.size} differ, of {name}"
        )


def name_of(job: Job) -> str:
    """Name a job in a message."""
    return f"a {job.kind} job: {job.summary}"
