"""Results of an AXI block: streams of which one is stalled, and any positions."""

from __future__ import annotations

import random
from collections.abc import Iterator

from extremum.hdl.axi import register_map as regs
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job
from extremum.model import Pooling, Reduction
from extremum.tb.mutation.axi_counting import empty_results, read, settle, start, write
from extremum.tb.mutation.axi_transport import SINKS, RecordedBlock


def halves(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Stall one stream while the other runs ahead; a soft reset comes in between.

    Then what is offered is taken, and other jobs end in any order on the two streams.
    """
    job = empty_results(config, 1)
    for _ in range(8):
        stalled, other = rng.sample(SINKS, 2)
        for _ in range(rng.randint(1, 5)):
            write(block, job, config)
            block.access(regs.IRQ_ENABLE, 3)
            block.rest(100, stalled)
            block.rest(rng.choice((0, 0, 100)), other)
            for _ in range(rng.randint(1, 6)):
                start(block, rng, job)
            block.pass_clocks(rng.randint(30, 80))
            block.rest(0, other)
            block.pass_clocks(rng.choice((0, 1, 3, 20)))
            block.forget()
            block.access(regs.CONTROL, 1)
            block.pass_clocks(3)
            block.forget()
            block.rest(0, *SINKS)
            block.pass_clocks(20)
        write(block, job, config)
        for _ in range(12):
            block.rest(rng.choice((30, 80)), *SINKS)
            if rng.random() < 0.7:
                block.rest(100, rng.choice(SINKS))
            start(block, rng, job)
            block.pass_clocks(rng.choice((0, 30, 60)))
            block.access(regs.IRQ_STATUS, 3)
            block.rest(0, *SINKS)
            block.pass_clocks(rng.choice((0, 30)))
        settle(block)
        read(block, "JOBS")


def one_behind(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Hold one stream back while the other gives the ends of jobs: these have not ended yet.

    There are more jobs than the core's queue has places, so that each place has held an end.
    """
    job = empty_results(config, 1)
    write(block, job, config)
    block.access(regs.IRQ_ENABLE, 1)
    for _ in range(90):
        block.rest(0)
        block.pass_clocks(rng.randrange(6))
        waiting = rng.choice(SINKS)
        block.rest(100, waiting)
        for _ in range(rng.randint(1, 2)):
            start(block, rng, job)
        block.pass_clocks(40)
        block.access(regs.IRQ_STATUS)
        block.rest(0)
        block.pass_clocks(10)
        block.access(regs.IRQ_STATUS, 3)
    read(block, "JOBS")


def poolings(rng: random.Random, config: CoreConfig, count: int) -> Iterator[Job]:
    """Yield poolings of one job each, with several windows in both dimensions."""
    while count:
        sizes = 1, rng.randint(1, 4), 1, rng.randint(2, 5), rng.randint(3, 9)
        window, stride = (1, 1, rng.randint(1, 2)), (1, 1, rng.randint(1, 2))
        problem = Pooling.of(sizes, rng.choice(config.data_types), window, strides=stride)
        jobs = plan(problem, config).jobs
        if len(jobs) == 1:
            yield jobs[0]
            count -= 1


def reductions(rng: random.Random, config: CoreConfig, count: int) -> Iterator[Job]:
    """Yield reductions of several rows, in which the first of equals wins."""
    for _ in range(count):
        sizes = rng.randint(1, 4), rng.randint(2, 9)
        problem = Reduction.of("argmax", sizes, rng.choice(config.data_types), 1)
        yield plan(problem, config).jobs[0]


def strides(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Pool lines and planes as large as the core counts, with strides of any length."""
    most = (1 << config.coordinate_width) - 1
    for _ in range(40):
        sizes = 1, 1, 1, rng.randint(1, most), rng.randint(most // 2, most)
        stride = 1, rng.randint(1, most), rng.randint(1, most)
        window = 1, 1, rng.randint(1, 2)
        problem = Pooling.of(sizes, rng.choice(config.data_types), window, strides=stride)
        jobs = plan(problem, config).jobs
        if len(jobs) == 1:
            for address, word in job_words(jobs[0]).items():
                block.access(address, word)
            start(block, rng, jobs[0])
            block.pass_clocks(jobs[0].beats_in)
            settle(block)


def positions(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Give jobs any words in the registers that hold positions."""
    written = regs.written_bits(config)
    for job in poolings(rng, config, 25):
        for address, word in job_words(job).items():
            block.access(address, word)
        for name, bits in written.items():
            if regs.is_position(name) and rng.random() < 0.7:
                word = rng.choice((rng.getrandbits(bits.width), 1 << rng.randrange(bits.width)))
                block.access(regs.command_address(regs.command_number(name)), word)
        block.pass_clocks(rng.randrange(4))
        start(block, rng, job)
        block.pass_clocks(job.beats_in)
        settle(block)


def ahead(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Write each register of positions right behind a start: the job keeps the word before."""
    job = next(job for job in poolings(rng, config, 99) if job.registers.width.window > 1)
    words = job_words(job)
    for address, word in words.items():
        block.access(address, word)
    names = [name for name in regs.written_bits(config) if regs.is_position(name)]
    block.rest(0)
    for name in names * 4:
        for _ in range(3):
            start(block, rng, job)
            address = regs.command_address(regs.command_number(name))
            block.access(address, rng.getrandbits(config.index_width))
        settle(block)
