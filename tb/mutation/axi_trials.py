"""The trials of the AXI block: the driver's jobs with stalls at every port, accesses and resets."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from extremum.hdl.axi import register_map as regs
from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import all_bits
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.host.plan.gathered_jobs import GatheredJob
from extremum.host.plan.jobs import Job, scattering
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.results import Results
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import EmptyWindowWarning, Pooling, Reduction
from extremum.tb.mutation import axi_accesses as accesses
from extremum.tb.mutation import axi_counting as counting
from extremum.tb.mutation import axi_orders as orders
from extremum.tb.mutation import axi_results as results
from extremum.tb.mutation.axi_transport import SINKS, VALIDS, RecordedBlock
from extremum.tb.mutation.compiled_design import CompiledDesign, Trial
from extremum.tb.mutation.core_jobs import long_reduction, random_jobs


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


def _long(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a reduction of many beats or of many results, but no more than the core counts."""
    if rng.random() < 0.5:
        return long_reduction(rng, config)
    kind = rng.choice(config.data_types)
    most = all_bits(config)["slots"]
    rows = rng.choice((32, 64, 96, 256, 512, 1000)) + rng.randint(-3, 3)
    sizes = rows, rng.randint(1, 3 if 3 * rows >> most.width == 0 else 1)
    problem = Reduction.of(rng.choice(("argmin", "argmax")), sizes, kind, 1)
    x = np.array([rng.randint(-2, 2) for _ in range(sizes[0] * sizes[1])])
    return plan(problem, config).jobs[0], x.astype(kind.dtype).reshape(sizes)


def _whole(jobs: Sequence[tuple[Job, np.ndarray]]) -> list[tuple[Job, np.ndarray]]:
    """Return the jobs that are the whole of their operator."""
    return [(job, x) for job, x in jobs if len(plan(_problem(job), job.config).jobs) == 1]


def _begin_anew(block: RecordedBlock, driver: BlockDriver, mode: int | str) -> None:
    """Reset the block by software, and take what its outputs still offer."""
    block.forget()
    driver.reset()
    block.rest(0, *SINKS)
    block.pass_clocks(80)
    block.rest(mode)
    block.forget()


def _one(model: CompiledDesign, kind: str, seed: int, config: CoreConfig) -> Trial:
    """Record one trial of a kind."""
    rng = random.Random(f"{kind} {seed}")
    mode: int | str = 0 if kind == "jobs" else rng.choice((20, 70, "bursts"))
    block = RecordedBlock(model, rng, mode)
    driver = BlockDriver(block, config)
    jobs = _whole(random_jobs(rng, config, 10))
    plain = [job for job, _ in jobs]
    short = min(plain, key=lambda job: job.beats_in)
    few = min(plain, key=lambda job: job.beats_out)
    full = max(plain, key=lambda job: job.beats_out)
    longest = max(plain, key=lambda job: job.beats_in)
    # The least and the greatest of its elements differ.
    telling = min(
        (job for job in plain if job.beats_in > 8), default=longest, key=lambda job: job.beats_in
    )
    # Its low bit is not that of the register, so that a block which takes the word shows it.
    minimum = regs.command_address(regs.command_number("minimum"))
    misfit = minimum, job_words(telling).get(minimum, 0) ^ (1 << 31 | 1)
    odd = {
        "registers": lambda: accesses.registers(block, rng, config),
        "overlapped": lambda: accesses.overlapped(block, rng),
        "unfinished": lambda: accesses.unfinished(block, rng),
        "words": lambda: accesses.words(block, rng, config, plain),
        "bits": lambda: accesses.bits(block, rng, config, plain),
        "races": lambda: accesses.races(block, rng, short),
        "posted": lambda: accesses.posted(block, rng, config, short),
        "numbers": lambda: accesses.numbers(block, rng, short),
        "errors": lambda: accesses.errors(block, rng, config, plain),
        "overflow": lambda: accesses.overflow(block, rng, config, telling, misfit),
        "everywhere": lambda: accesses.everywhere(block, rng, telling, misfit),
        "packets": lambda: accesses.packets(block, rng, (short, full)),
        "clears": lambda: counting.clears(block, rng, config),
        "carries": lambda: counting.carries(block, rng, config),
        "waits": lambda: counting.waits(block, rng, config),
        "empties": lambda: counting.empties(block, rng, config),
        "forgotten": lambda: counting.forgotten(block, rng, config),
        "bursts": lambda: counting.bursts(block, rng, config),
        "halves": lambda: results.halves(block, rng, config),
        "one behind": lambda: results.one_behind(block, rng, config),
        "ahead": lambda: results.ahead(block, rng, config),
        "strides": lambda: results.strides(block, rng, config),
        "positions": lambda: results.positions(block, rng, config),
        "shuffled": lambda: orders.shuffled(block, rng, config),
        "unwritten": lambda: orders.unwritten(block, rng, config),
        "flips": lambda: orders.flips(block, rng, config),
        "soft": lambda: orders.soft(block, rng, short),
        "flows": lambda: orders.soft(block, rng, full),
        "numbered": lambda: orders.numbered(block, short, misfit),
        "finishes": lambda: orders.finishes(block, rng, short, misfit),
        "fills": lambda: orders.fills(block, rng, longest),
        "hard": lambda: orders.soft(block, rng, rng.choice((short, full)), hard=True),
        "ends": lambda: orders.ends(block, rng, rng.choice((short, full, few))),
        "sweep": lambda: orders.sweep(block, rng),
        "idles": lambda: orders.idles(block, rng, short, misfit),
    }
    if kind in odd:
        odd[kind]()
        block.rest(mode)
    if kind == "long":
        check(driver, [_long(rng, config) for _ in range(3)])
    if kind == "resets":
        for _ in range(3):
            for job, x in jobs[:2]:
                driver.start(Work(job, x, lambda values, positions: None))
            block.pass_clocks(rng.randrange(1, 120))
            if rng.random() < 0.5:
                block.pass_clocks(1, aresetn=0)
                block.pass_clocks(rng.choice((1, 3)), aresetn=0)
            _begin_anew(block, driver, mode)
    if kind in odd or kind == "resets":
        _begin_anew(block, driver, mode)
        driver = BlockDriver(block, config)
    check(driver, jobs)
    driver.counters()
    if kind != "jobs":
        accesses.registers(block, rng, config)
        driver.clear_counters()
        driver.counters()
    block.pass_clocks(60)
    return block.recorder.trial(kind, VALIDS)


KINDS = (
    "jobs", "stalls", "registers", "overlapped", "unfinished", "words", "bits", "races",
    "posted", "long", "numbers", "errors", "overflow", "resets",
    "clears", "carries", "waits", "empties", "bursts", "halves", "positions", "shuffled",
    "unwritten", "soft", "hard", "ends", "sweep",
    "flows", "numbered", "one behind", "forgotten", "ahead", "packets", "finishes", "strides",
    "fills", "flips", "idles", "everywhere",
)  # fmt: skip
"""The kinds of trials, in the order in which they are tried."""


def trials(
    model: CompiledDesign, config: CoreConfig, rounds: range, kinds: Sequence[str] = KINDS
) -> Iterator[Trial]:
    """Yield recorded trials of all kinds, one of each in every round."""
    for seed in rounds:
        for kind in kinds:
            yield _one(model, kind, seed, config)
