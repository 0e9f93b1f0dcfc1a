"""The trials of the AXI block: the driver's jobs with stalls at every port, accesses and resets."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from extremum.hdl.axi import register_map as regs
from extremum.hdl.config import CoreConfig
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.driver.words import packet_values
from extremum.host.plan import plan
from extremum.host.plan.gathered import GatheredJob
from extremum.host.plan.jobs import Job, ReductionJob, SlidingJob, scattering
from extremum.host.plan.results import Results
from extremum.model import EmptyWindowWarning, Pooling, Reduction
from extremum.tb.mutation.axi_transport import VALIDS, RecordedBlock
from extremum.tb.mutation.core_trials import random_jobs
from extremum.tb.mutation.model import Model, Trial
from extremum.tb.refusal import bad_jobs


def check(driver: BlockDriver, jobs: Sequence[tuple[Job, np.ndarray]]) -> None:
    """Run jobs back to back, and compare what their operators give with the golden model.

    Raises
    ------
    AssertionError
        A result is wrong.
    """
    work, taken = [], []
    for job, x in jobs:
        problem = _problem(job)
        results = Results.blank(problem, job.config)
        taken.append((problem, x, results))
        work.append(Work(job, x, scattering(job, results)))
    driver.run(work)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyWindowWarning)
        for problem, x, results in taken:
            assert np.array_equal(results.finish(), problem.evaluate(x)), problem


def _problem(job: Job) -> Reduction | Pooling:
    """Return the operator that a job belongs to."""
    if isinstance(job, (ReductionJob, SlidingJob, GatheredJob)):
        return job.problem
    raise TypeError(f"a {job.kind} job belongs to no operator here")


def _whole(jobs: Sequence[tuple[Job, np.ndarray]]) -> list[tuple[Job, np.ndarray]]:
    """Return the jobs that are the whole of their operator."""
    return [(job, x) for job, x in jobs if len(plan(_problem(job), job.config).jobs) == 1]


def _registers(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Access every address, in parts of words, while nothing runs and the results are known."""
    for register in regs.register_map(config):
        block.access(register.address)
    for _ in range(80):
        address = 4 * rng.randrange(1 << regs.ADDRESS_BITS - 2)
        if rng.random() < 0.4:
            address = rng.choice((regs.IRQ_ENABLE, regs.IRQ_STATUS, regs.STATUS, regs.ERROR))
        if rng.random() < 0.6:
            block.access(address)
        elif address < regs.COMMAND_BASE:
            word = rng.getrandbits(32)
            if address == regs.CONTROL:
                word &= ~1
            block.access(address, word, rng.choice((0, 1, 2, 4, 8, 15, 15, 7)))


def _errors(
    block: RecordedBlock,
    rng: random.Random,
    config: CoreConfig,
    jobs: Sequence[tuple[Job, np.ndarray]],
) -> None:
    """Make every error: refused jobs, values that do not fit, TLAST early and late."""
    start = regs.command_address(regs.START_COMMAND)
    error = next(r for r in regs.register_map(config) if r.name == "ERROR").address
    bad = [registers for registers, _ in bad_jobs(jobs[0][0].registers, config)]
    for number in range(14):
        job, _ = rng.choice(jobs)
        beats = job.beats_in
        kind = rng.choice(("refused", "range", "early", "late", "fine"))
        registers = rng.choice(bad) if kind == "refused" and bad else job.registers
        values = registers.values() | packet_values(job)
        words = {
            regs.command_address(regs.command_number(name)): regs.word_of(name, bits, values[name])
            for name, bits in regs.written_bits(config).items()
        }
        for address, word in words.items():
            block.access(address, word)
        if kind == "range":
            block.access(rng.choice(list(words)), rng.getrandbits(32) | 1 << 31)
        block.access(start, 1)
        size = {"early": max(1, beats - rng.choice((1, 2))), "late": beats + rng.choice((1, 5))}
        block.send_beats(rng.randbytes(size.get(kind, beats) * block.beat_bytes))
        block.pass_clocks(rng.choice((5, 40, 200)))
        block.access(error)
        block.access(regs.STATUS)
        if rng.random() < 0.7:
            block.access(regs.IRQ_STATUS)
            block.access(regs.IRQ_STATUS, 3)
        if number % 5 == 4:
            block.pass_clocks(400)
    block.pass_clocks(600)


def _one(model: Model, rung: str, seed: int, config: CoreConfig) -> Trial:
    """Record one trial of a kind."""
    rng = random.Random(f"{rung} {seed}")
    mode: int | str = 0 if rung == "jobs" else rng.choice((20, 70, "bursts"))
    block = RecordedBlock(model, rng, mode)
    driver = BlockDriver(block, config)
    jobs = _whole(random_jobs(rng, config, 10))
    if rung == "registers":
        _registers(block, rng, config)
    if rung == "errors":
        _errors(block, rng, config, jobs)
    if rung == "resets":
        for _ in range(3):
            for job, x in jobs[:2]:
                driver.start(Work(job, x, lambda values, positions: None))
            block.pass_clocks(rng.randrange(1, 120))
            if rng.random() < 0.5:
                block.pass_clocks(1, aresetn=0)
                block.pass_clocks(rng.choice((1, 3)), aresetn=0)
            block.forget()
            driver.reset()
            block.pass_clocks(80)
            block.forget()
    if rung in ("errors", "registers", "resets"):
        block.forget()
        driver.reset()
        block.pass_clocks(80)
        block.forget()
        driver = BlockDriver(block, config)
    check(driver, jobs)
    driver.counters()
    if rung != "jobs":
        _registers(block, rng, config)
        driver.clear_counters()
        driver.counters()
    block.pass_clocks(60)
    return block.recorder.trial(rung, VALIDS)


RUNGS = ("jobs", "stalls", "registers", "errors", "resets")
"""The kinds of trials, in the order in which they are tried."""


def trials(
    model: Model, config: CoreConfig, rounds: range, rungs: Sequence[str] = RUNGS
) -> Iterator[Trial]:
    """Yield recorded trials of all kinds, one of each in every round."""
    for seed in rounds:
        for rung in rungs:
            yield _one(model, rung, seed, config)
