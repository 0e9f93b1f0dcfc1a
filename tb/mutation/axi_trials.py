"""The trials of the AXI block: the driver's jobs with stalls at every port, accesses and resets."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
        gathered = Results.blank(problem, job.config)
        taken.append((problem, x, gathered))
        work.append(Work(job, x, scattering(job, gathered)))
    driver.run(work)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyWindowWarning)
        for problem, x, gathered in taken:
            assert np.array_equal(gathered.finish(), problem.evaluate(x)), problem


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


@dataclass(frozen=True)
class Scene:
    """A block that is recorded, and the jobs that a trial has for it.

    Parameters
    ----------
    block
        The block.
    rng
        Source of all that is drawn.
    config
        Its configuration.
    jobs
        The jobs, each the whole of an operator.
    """

    block: RecordedBlock
    rng: random.Random
    config: CoreConfig
    jobs: Sequence[Job]

    @property
    def shortest(self) -> Job:
        """The job of the fewest beats in."""
        return min(self.jobs, key=lambda job: job.beats_in)

    @property
    def longest(self) -> Job:
        """The job of the most beats in."""
        return max(self.jobs, key=lambda job: job.beats_in)

    @property
    def fewest(self) -> Job:
        """The job of the fewest beats out."""
        return min(self.jobs, key=lambda job: job.beats_out)

    @property
    def fullest(self) -> Job:
        """The job of the most beats out."""
        return max(self.jobs, key=lambda job: job.beats_out)

    @property
    def telling(self) -> Job:
        """A short job whose results tell which end it looks for: its elements differ."""
        long_enough = [job for job in self.jobs if job.beats_in > 8]
        return min(long_enough, default=self.longest, key=lambda job: job.beats_in)

    @property
    def misfit(self) -> tuple[int, int]:
        """An address and a word that is too wide for its register.

        Its low bit is not that of the register, so that a block which takes the word shows it.
        """
        minimum = regs.command_address(regs.command_number("minimum"))
        return minimum, job_words(self.telling).get(minimum, 0) ^ (1 << 31 | 1)


ACCESSES: dict[str, Callable[[Scene], None]] = {
    "registers": lambda s: accesses.registers(s.block, s.rng, s.config),
    "overlapped": lambda s: accesses.overlapped(s.block, s.rng),
    "unfinished": lambda s: accesses.unfinished(s.block, s.rng),
    "words": lambda s: accesses.words(s.block, s.rng, s.config, s.jobs),
    "bits": lambda s: accesses.bits(s.block, s.rng, s.config, s.jobs),
    "races": lambda s: accesses.races(s.block, s.rng, s.shortest),
    "posted": lambda s: accesses.posted(s.block, s.rng, s.config, s.shortest),
    "numbers": lambda s: accesses.numbers(s.block, s.rng, s.shortest),
    "errors": lambda s: accesses.errors(s.block, s.rng, s.config, s.jobs),
    "overflow": lambda s: accesses.overflow(s.block, s.rng, s.config, s.telling, s.misfit),
    "everywhere": lambda s: accesses.everywhere(s.block, s.rng, s.telling, s.misfit),
    "packets": lambda s: accesses.packets(s.block, s.rng, (s.shortest, s.fullest)),
    "clears": lambda s: counting.clears(s.block, s.rng, s.config),
    "carries": lambda s: counting.carries(s.block, s.rng, s.config),
    "waits": lambda s: counting.waits(s.block, s.rng, s.config),
    "empties": lambda s: counting.empties(s.block, s.rng, s.config),
    "forgotten": lambda s: counting.forgotten(s.block, s.rng, s.config),
    "bursts": lambda s: counting.bursts(s.block, s.rng, s.config),
    "halves": lambda s: results.halves(s.block, s.rng, s.config),
    "one behind": lambda s: results.one_behind(s.block, s.rng, s.config),
    "ahead": lambda s: results.ahead(s.block, s.rng, s.config),
    "strides": lambda s: results.strides(s.block, s.rng, s.config),
    "positions": lambda s: results.positions(s.block, s.rng, s.config),
    "shuffled": lambda s: orders.shuffled(s.block, s.rng, s.config),
    "unwritten": lambda s: orders.unwritten(s.block, s.rng, s.config),
    "flips": lambda s: orders.flips(s.block, s.rng, s.config),
    "soft": lambda s: orders.soft(s.block, s.rng, s.shortest),
    "flows": lambda s: orders.soft(s.block, s.rng, s.fullest),
    "numbered": lambda s: orders.numbered(s.block, s.shortest, s.misfit),
    "finishes": lambda s: orders.finishes(s.block, s.rng, s.shortest, s.misfit),
    "fills": lambda s: orders.fills(s.block, s.rng, s.longest),
    "hard": lambda s: orders.soft(s.block, s.rng, s.rng.choice((s.shortest, s.fullest)), hard=True),
    "ends": lambda s: orders.ends(s.block, s.rng, s.rng.choice((s.shortest, s.fullest, s.fewest))),
    "sweep": lambda s: orders.sweep(s.block, s.rng),
    "idles": lambda s: orders.idles(s.block, s.rng, s.shortest, s.misfit),
}
"""What comes before the jobs in trials of these kinds; behind it the block is reset."""


def _resets(
    scene: Scene, driver: BlockDriver, mode: int | str, jobs: Sequence[tuple[Job, np.ndarray]]
) -> None:
    """Reset the block in the midst of jobs, by software alone or by its port before."""
    block, rng = scene.block, scene.rng
    for _ in range(3):
        for job, x in jobs:
            driver.start(Work(job, x, lambda values, positions: None))
        block.pass_clocks(rng.randrange(1, 120))
        if rng.random() < 0.5:
            block.pass_clocks(1, aresetn=0)
            block.pass_clocks(rng.choice((1, 3)), aresetn=0)
        _begin_anew(block, driver, mode)


def _recorded(model: CompiledDesign, kind: str, seed: int, config: CoreConfig) -> Trial:
    """Record one trial of a kind."""
    rng = random.Random(f"{kind} {seed}")
    mode: int | str = 0 if kind == "jobs" else rng.choice((20, 70, "bursts"))
    block = RecordedBlock(model, rng, mode)
    driver = BlockDriver(block, config)
    jobs = _whole(random_jobs(rng, config, 10))
    scene = Scene(block, rng, config, [job for job, _ in jobs])
    if kind in ACCESSES:
        ACCESSES[kind](scene)
        block.rest(mode)
    if kind == "long":
        check(driver, [_long(rng, config) for _ in range(3)])
    if kind == "resets":
        _resets(scene, driver, mode, jobs[:2])
    if kind in ACCESSES or kind == "resets":
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
            yield _recorded(model, kind, seed, config)
