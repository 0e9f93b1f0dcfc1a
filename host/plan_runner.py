"""Runs the jobs of a plan on a simulation, one after another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.host.plan import Plan
from extremum.host.plan.jobs import Job
from extremum.host.plan.results import Results
from extremum.host.progress import Progress, Tell
from extremum.host.simulation.backend import JobRun, Simulator

WATCHDOG_CLOCKS = 10_000
"""Clocks without a transfer, in addition to the slots of a job, before the job is given up."""


def run_plan(
    simulator: Simulator,
    plan: Plan,
    tensor: np.ndarray,
    config: CoreConfig,
    tell: Tell,
    *,
    watchdog: int | None,
    input_stalls: int,
    output_stalls: int,
    seed: int,
) -> tuple[Results, int]:
    """Carry out an operator on a simulation; return the results, and the clocks that it took.

    Parameters
    ----------
    simulator
        A simulation of a core with this configuration.
    plan
        The operator's jobs.
    tensor
        The operator's input.
    config
        Configuration of the core.
    tell
        Called now and then with how far the operator has come.
    watchdog
        Clocks without any transfer after which a job is given up. If it is None, the limit is
        larger than any job of its size can need.
    input_stalls, output_stalls, seed
        See :class:`extremum.host.simulation.backend.JobRun`.
    """
    results = Results.blank(plan.problem, config)
    done = Progress(
        "simulating",
        predicted_clocks=plan.cycles,
        predicted_beats=plan.beats_in,
        jobs=len(plan.jobs),
    )

    def run_job(job: Job) -> int:
        """Put a job's results where they belong; return the clocks that it took."""
        registers = job.registers
        run = JobRun(
            jobs=[registers.to_bits(config)],
            beats=job.pieces(tensor),
            beats_in=job.beats_in,
            beats_out=[job.beats_out],
            dtype=tensor.dtype,
            together=job.together,
            watchdog=watchdog or registers.slots + WATCHDOG_CLOCKS,
            seed=seed,
            input_stalls=input_stalls,
            output_stalls=output_stalls,
        )
        given = 0

        def take(values: np.ndarray, positions: np.ndarray) -> None:
            nonlocal given
            job.scatter(values, positions, results, given)
            given += len(values)

        def watch(clocks: int, beats: int) -> None:
            tell(replace(done, clocks=done.clocks + clocks, beats=done.beats + beats))

        return simulator.run(run, take, watch).cycles

    tell(done)
    for job in plan.jobs:
        clocks = run_job(job)
        beats = done.beats + job.beats_in
        done = replace(done, clocks=done.clocks + clocks, beats=beats, job=done.job + 1)
        tell(done)
    return results, done.clocks
