"""Runs the jobs of a plan on a simulation, of the bare core or of the AXI block around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extremum.host.driver.block import (
    START_CLOCKS,
    BlockDriver,
    Work,
    dataflow_clocks,
    unused_clocks,
    waiting_clocks,
)
from extremum.host.errors import SimulationError
from extremum.host.plan import Plan
from extremum.host.plan.jobs import Job, scattering
from extremum.host.plan.results import Results
from extremum.host.progress import Progress, TellProgress
from extremum.host.report import BlockReport, Report
from extremum.host.simulation.backend import (
    BlockSimulation,
    JobRun,
    Simulator,
    StreamClocks,
    StreamSettings,
)

WATCHDOG_CLOCKS = 10_000
"""Clocks without a transfer, in addition to the slots of a job, before the job is given up."""


@dataclass(frozen=True)
class RunSettings:
    """How a simulation runs the jobs of plans.

    Parameters
    ----------
    watchdog
        Clocks without any transfer after which a job is given up. If it is None, the limit is
        larger than any job of its size can need.
    input_stalls, output_stalls, seed
        See :class:`extremum.host.simulation.backend.JobRun`.
    """

    watchdog: int | None = None
    input_stalls: int = 0
    output_stalls: int = 0
    seed: int = 0

    def watchdog_for(self, slots: int) -> int:
        """Return after how many clocks without a transfer a job of so many slots is given up."""
        return self.watchdog or slots + WATCHDOG_CLOCKS


def run_plan(
    simulator: Simulator,
    plan: Plan,
    tensor: NDArray[Any],
    tell: TellProgress,
    *,
    settings: RunSettings,
) -> tuple[Results, int]:
    """Carry out an operator on a simulation; return the results, and the clocks that it took.

    Parameters
    ----------
    simulator
        A simulation of the plan's core.
    plan
        The operator's jobs.
    tensor
        The operator's input.
    tell
        Called now and then with how far the operator has come.
    settings
        Its watchdog and stalls.
    """
    results = Results.blank(plan.problem, plan.config)
    done = _begun(plan)

    def watch(clocks: int, beats: int) -> None:
        tell(replace(done, clocks=done.clocks + clocks, beats=done.beats + beats))

    tell(done)
    for job in plan.jobs:
        run = run_of(job, tensor, settings)
        clocks = simulator.run(run, scattering(job, results), watch).cycles
        beats = done.beats + job.beats_in
        done = replace(done, clocks=done.clocks + clocks, beats=beats, job=done.job + 1)
        tell(done)
    return results, done.clocks


def run_of(job: Job, tensor: NDArray[Any], settings: RunSettings) -> JobRun:
    """Return a job as a simulation of its core takes it."""
    registers = job.registers
    return JobRun(
        jobs=[registers.to_bits(job.config)],
        beats=job.pieces(tensor),
        beats_in=job.beats_in,
        beats_out=[job.beats_out],
        dtype=tensor.dtype,
        together=job.together,
        watchdog=settings.watchdog_for(registers.slots),
        input_stalls=settings.input_stalls,
        output_stalls=settings.output_stalls,
        seed=settings.seed,
    )


@dataclass(frozen=True)
class JobResults:
    """What one job of a plan gave.

    Parameters
    ----------
    number
        Its place among the plan's jobs.
    values, positions
        All its results, (beats, lanes); positions are uint32.
    cycles
        The clocks that it took.
    """

    number: int
    values: NDArray[Any]
    positions: NDArray[Any]
    cycles: int


def run_jobs(
    simulator: Simulator, plan: Plan, tensor: NDArray[Any], numbers: Iterable[int]
) -> list[JobResults]:
    """Carry out some jobs of a plan on a simulation of a core, each by itself, without stalls."""
    found = []
    for number in numbers:
        job = plan.jobs[number]
        pieces: list[tuple[NDArray[Any], NDArray[Any]]] = []

        def take(values: NDArray[Any], positions: NDArray[Any], pieces: list[Any] = pieces) -> None:
            pieces.append((values.copy(), positions.copy()))

        cycles = simulator.run(run_of(job, tensor, RunSettings()), take).cycles
        values, positions = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        found.append(JobResults(number, values, positions, cycles))
    return found


def joined_results(plan: Plan, jobs: Iterable[JobResults]) -> tuple[Results, int]:
    """Return the results of an operator all of whose jobs have run, and the sum of their clocks."""
    results, cycles = Results.blank(plan.problem, plan.config), 0
    for each in jobs:
        scattering(plan.jobs[each.number], results)(each.values, each.positions)
        cycles += each.cycles
    return results, cycles


@dataclass(frozen=True)
class BlockFigures:
    """What an operator took on an AXI block: see :class:`extremum.host.report.BlockReport`."""

    cycles: int
    predicted_cycles: int
    counters: Mapping[str, int]


def run_plan_on_block(
    driver: BlockDriver,
    simulation: BlockSimulation,
    plan: Plan,
    tensor: NDArray[Any],
    tell: TellProgress,
    *,
    settings: RunSettings,
) -> tuple[Results, BlockFigures]:
    """Carry out an operator on the simulation of a block; return the results, and what it took.

    Parameters
    ----------
    driver
        The driver of the block.
    simulation
        The simulation of the block, which is also the driver's transport.
    plan, tensor, tell, settings
        See :func:`run_plan`.

    Raises
    ------
    SimulationError
        The block's counters are not those of the plan.
    """
    results = Results.blank(plan.problem, plan.config)
    done, finished, written = _begun(plan), driver.finished, driver.written
    slots = max((job.registers.slots for job, _ in plan.jobs.kinds()), default=0)

    def watch(clocks: StreamClocks) -> None:
        number = driver.finished - finished
        tell(replace(done, clocks=clocks.cycles, beats=clocks.taken, job=number))

    def work() -> Iterator[Work]:
        for job in plan.jobs:
            yield Work(job, tensor, scattering(job, results))

    tell(done)
    before = driver.counters()
    simulation.begin(
        StreamSettings(
            watchdog=settings.watchdog_for(slots),
            input_stalls=settings.input_stalls,
            output_stalls=settings.output_stalls,
            seed=settings.seed,
            watch=watch,
        )
    )
    driver.run(work())
    cycles = simulation.clocks.cycles
    simulation.begin(StreamSettings())
    jobs = len(plan.jobs)
    counters = {
        name: (count - before[name]) % (1 << 32) for name, count in driver.counters().items()
    }
    if counters:
        expected = {"jobs": jobs, "beats_in": plan.beats_in, "beats_out": plan.beats_out}
        for name, count in expected.items():
            if counters[name] != count % (1 << 32):
                raise SimulationError(
                    f"the block counted {counters[name]} {name}, and the plan has {count}"
                )
        cycles = counters["cycles"]
        unused = sum(unused_clocks(job) * count for job, count in plan.jobs.kinds())
        predicted = plan.cycles + START_CLOCKS * jobs + unused + driver.written - written
    else:
        kinds = plan.jobs.kinds()
        predicted = sum((dataflow_clocks(job) + waiting_clocks(job)) * n for job, n in kinds)
    if jobs:
        tell(replace(done, clocks=cycles, beats=plan.beats_in, job=jobs))
    return results, BlockFigures(cycles, predicted, counters)


def _begun(plan: Plan) -> Progress:
    """Return the progress of a plan none of whose jobs has run."""
    return Progress(
        "simulating",
        predicted_clocks=plan.cycles,
        predicted_beats=plan.beats_in,
        jobs=len(plan.jobs),
    )


def report_of(plan: Plan, took: int | BlockFigures | None, empty_windows: int) -> Report:
    """Return the report of a plan that was carried out.

    Parameters
    ----------
    plan
        The plan.
    took
        The clocks, or what a block has counted; None without a simulation.
    empty_windows
        Windows that hold no element.
    """
    figures: dict[str, Any] = {
        "jobs": len(plan.jobs),
        "beats_in": plan.beats_in,
        "beats_out": plan.beats_out,
        "empty_windows": empty_windows,
        "notes": plan.notes,
    }
    if isinstance(took, BlockFigures):
        return BlockReport(**figures, **vars(took))
    return Report(**figures, cycles=took, predicted_cycles=plan.cycles)
