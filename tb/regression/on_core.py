"""Runs a batch on a bare core."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from extremum.hdl.latency import job_clocks, latency
from extremum.hdl.ports import status_layout
from extremum.host.simulation.backend import JobRun, Measured, Simulator
from extremum.tb.coverage import Tally
from extremum.tb.regression.case import Batch
from extremum.tb.regression.observe import observe, observe_reset
from extremum.tb.regression.target import Target
from extremum.tb.regression.work import (
    Difference,
    Figures,
    Todo,
    begun,
    compare,
    name_of,
    todo_of,
    watchdog,
)
from extremum.tb.scoreboard import noisy_beats


def run_on_core(simulator: Simulator, target: Target, batch: Batch, tally: Tally) -> Figures:
    """Run a batch on a core, compare what comes, count its bins, and return its figures.

    Raises
    ------
    Difference, SimulationError
        The core did something else than it must.
    """
    config = target.config
    offered = todo_of(target, batch)
    todo = [each for each in offered if not each.refused]
    beats_out = [0 if each.refused else each.job.beats_out for each in offered]
    beats_in, total = sum(each.job.beats_in for each in todo), sum(beats_out)
    lane = f"u{config.element_width // 8}"
    values = np.empty((total, config.lanes), lane)
    positions = np.empty((total, config.lanes), np.uint32)
    came = 0

    def take(some: np.ndarray, where: np.ndarray) -> None:
        nonlocal came
        values[came : came + len(some)] = some
        positions[came : came + len(some)] = where
        came += len(some)

    def beats() -> Iterator[np.ndarray]:
        noise = random.Random(batch.seed)
        for each in todo:
            yield noisy_beats(each.job, each.x, noise)

    measured = simulator.run(
        JobRun(
            [each.payload for each in offered],
            beats(),
            beats_in,
            beats_out,
            np.dtype(lane),
            watchdog=watchdog(offered, batch),
            input_stalls=batch.input_stalls,
            output_stalls=batch.output_stalls,
            # A run lasts until all jobs are taken, also at a port that the core does not have; and
            # until then such a core may give windows of padding alone that are the next tensor's.
            job_stalls=batch.job_stalls if target.has_jobs else 0,
            seed=batch.seed,
            stop_after=batch.reset_after,
        ),
        take,
    )
    _compare(todo, values[:came], positions[:came])
    if batch.reset_after is not None:
        simulator.reset(batch.reset_clocks)
        taken, given = (measured.taken, beats_in), (came, total)
        observe_reset(tally, target, batch, taken=taken, given=given)
    else:
        if came != total or measured.taken != beats_in:
            raise Difference(
                f"{came} of {total} results came, and {measured.taken} of {beats_in} beats were "
                "taken"
            )
        if target.has_jobs:
            _check_statuses(measured, offered)
        if not batch.has_stalls and len(todo) == len(offered):
            _check_clocks(measured, todo, target, tally)
        observe(tally, target, batch, list(offered), clocks=measured.cycles)
    return Figures(jobs=begun(todo, measured.taken), clocks=measured.cycles, beats=measured.taken)


def _compare(todo: Sequence[Todo], values: np.ndarray, positions: np.ndarray) -> None:
    """Compare the results that have come, in the order of the jobs."""
    start = 0
    for each in todo:
        if start >= len(values):
            return
        stop = start + each.job.beats_out
        best, where = each.expected()
        bits = best.view(f"u{best.itemsize}")
        compare(values[start:stop], bits, "value", name_of(each.job))
        compare(positions[start:stop], where, "position", name_of(each.job))
        start = stop


def _check_statuses(measured: Measured, offered: Sequence[Todo]) -> None:
    """Compare what the status told after each job was taken off the port."""
    layout = status_layout()
    if len(measured.statuses) != len(offered):
        raise Difference(f"{len(measured.statuses)} jobs were taken, of {len(offered)}")
    refused, error = layout["refused"], layout["error"]
    for number, (word, each) in enumerate(zip(measured.statuses, offered, strict=True)):
        told = (word >> refused.offset & 1, word >> error.offset & (1 << error.width) - 1)
        if told != (int(bool(each.refused)), each.refused):
            raise Difference(
                f"the status after job {number} tells of refused, error = {told}, and must of "
                f"{(int(bool(each.refused)), int(each.refused))}"
            )


def _check_clocks(measured: Measured, todo: Sequence[Todo], target: Target, tally: Tally) -> None:
    """Compare the clocks with the prediction: exactly for one job, within bounds for several.

    A job waits for the slots of the one before it, or if that is short, for its own token.
    """
    config, jobs = target.config, [each.job for each in todo]
    if not jobs:
        return
    end = max(jobs[-1].schedule.last_window + latency(config), jobs[-1].schedule.last_element)
    spent = measured.cycles - (end - jobs[0].schedule.first_element + 1)
    slots = [job.schedule.slots for job in jobs[:-1]]
    apart = [job_clocks(config, count) for count in slots]
    fewest, most = (sum(clocks[bound] for clocks in apart) for bound in (0, 1))
    if not fewest <= spent <= most:
        extra = measured.cycles - spent
        raise Difference(
            f"{len(jobs)} jobs took {measured.cycles} clocks without stalls, predicted are "
            f"{fewest + extra} to {most + extra}"
        )
    tally.count("clocks", "core", "one" if len(jobs) == 1 else "several")
