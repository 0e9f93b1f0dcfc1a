"""Makes the counters of an AXI block count all that they can, and clears them meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.counters import VISIT_CLOCKS
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job
from extremum.model import Reduction
from extremum.tb.mutation.axi_transport import SINKS, RecordedBlock

START = regs.command_address(regs.START_COMMAND)
CLEAR = 2
NAMES = [name for name, _ in regs.COUNTERS]
JOB_CLOCKS = 30
"""Clocks in which a job of one beat follows another."""
CARRY = 1 << 8
"""The count at which a counter's lowest byte goes over."""


def empty_results(config: CoreConfig, count: int) -> Job:
    """Return a job that gives results one by one, of which :func:`write` makes empty windows."""
    kind = config.data_types[0]
    return plan(Reduction.of("argmax", (count, 1), kind, 1), config).jobs[0]


def write(block: RecordedBlock, job: Job, config: CoreConfig) -> None:
    """Write a job; all of its results have the position that tells that a window is empty."""
    for address, word in job_words(job).items():
        block.access(address, word)
    empty = (1 << config.index_width) - 1
    block.access(regs.command_address(regs.command_number("origin")), empty)


def packet(block: RecordedBlock, rng: random.Random, job: Job) -> bytes:
    """Return a packet for a job: any bytes, or bytes that often tie."""
    size = job.beats_in * block.beat_bytes
    return rng.choice((rng.randbytes(size), bytes(rng.choices(b"\0\1\xff", k=size))))


def start(block: RecordedBlock, rng: random.Random, job: Job) -> None:
    """Start the job that is written, and send its packet."""
    block.access(START, 1)
    block.send_beats(packet(block, rng, job))


def read(block: RecordedBlock, *names: str) -> None:
    """Read some counters, or all."""
    for name in names or NAMES:
        block.access(regs.COUNTER_BASE + regs.WORD_BYTES * NAMES.index(name))


def settle(block: RecordedBlock) -> None:
    """Wait until all jobs have ended."""
    for _ in range(400):
        if not block.access(regs.STATUS)[0] & 1:
            break
    block.access(regs.IRQ_STATUS, 3)


def clears(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Clear the counters at each phase of their visits, while all of them count."""
    job = empty_results(config, rng.randint(150, 300))
    write(block, job, config)
    for phase in rng.sample(range(VISIT_CLOCKS), VISIT_CLOCKS):
        block.rest(0)
        start(block, rng, job)
        block.rest(rng.choice((0, 0, 40, 70)), *SINKS)
        block.rest(rng.choice((0, 40)), "source")
        block.pass_clocks(rng.randint(60, 90))
        block.pass_clocks((phase - block.recorder.clocks) % VISIT_CLOCKS)
        for _ in range(rng.choice((1, 1, 2))):
            block.access(regs.CONTROL, CLEAR)
            block.pass_clocks(rng.randrange(VISIT_CLOCKS))
        read(block, *rng.sample(NAMES, len(NAMES)))
        block.rest(0)
        block.pass_clocks(job.beats_in)
        settle(block)
    read(block)


def carries(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Clear the counters in each of the clocks in which the carry of a lowest byte is under way."""
    job = empty_results(config, 1)
    write(block, job, config)
    block.rest(0)
    block.access(START, 1)
    first = rng.randrange(VISIT_CLOCKS)
    for gap in range(CARRY - 12, CARRY + VISIT_CLOCKS + 4):
        block.pass_clocks((first - block.recorder.clocks) % VISIT_CLOCKS)
        block.access(regs.CONTROL, CLEAR)
        block.pass_clocks(gap)
        block.access(regs.CONTROL, CLEAR)
        block.pass_clocks(VISIT_CLOCKS)
        read(block, "CYCLES", "STALLS_IN")
    block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
    settle(block)


def waits(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Wait so long for a beat, and then for a sink, that counters have three bytes."""
    job = empty_results(config, 1)
    write(block, job, config)
    block.access(START, 1)
    block.pass_clocks(40)
    block.stand_still((1 << 16) + rng.randrange(400))
    read(block)
    block.rest(100, rng.choice(SINKS))
    block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
    for _ in range(5):
        start(block, rng, job)
    block.pass_clocks(100)
    block.stand_still((1 << 16) + rng.randrange(400))
    block.rest(0)
    settle(block)
    read(block)
    block.access(regs.CONTROL, CLEAR)
    block.pass_clocks(2 * VISIT_CLOCKS)
    read(block)


def empties(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Give empty windows in both lanes in every clock, and in none; positions like them too."""
    for _ in range(4):
        job = empty_results(config, rng.randint(150, 300))
        write(block, job, config)
        block.rest(0)
        start(block, rng, job)
        for _ in range(6):
            read(block, "EMPTY_WINDOWS", "BEATS_OUT")
        settle(block)
    origin = regs.command_address(regs.command_number("origin"))
    job = empty_results(config, 2)
    write(block, job, config)
    for position in _nearly_empty(config):
        block.access(origin, position)
        start(block, rng, job)
        settle(block)
        read(block, "EMPTY_WINDOWS")


def forgotten(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Reset for a clock in each of those in which empty windows are given: they count no longer."""
    job = empty_results(config, 6)
    for delay in range(30, 75):
        write(block, job, config)
        block.rest(0)
        start(block, rng, job)
        block.pass_clocks(delay)
        block.forget()
        block.pass_clocks(1, aresetn=0)
        block.pass_clocks(2 * VISIT_CLOCKS)
        read(block, "EMPTY_WINDOWS", "BEATS_OUT")


def _nearly_empty(config: CoreConfig) -> Iterator[int]:
    """Yield positions that differ from that of an empty window in some bits."""
    empty = (1 << config.index_width) - 1
    for low in range(0, config.index_width, 2):
        yield empty ^ (3 << low & empty)
        yield empty ^ 1 << low


def bursts(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Let many jobs end together: their results were stalled, and refused ones wait behind them."""
    job = empty_results(config, 1)
    write(block, job, config)
    tail = regs.command_address(regs.command_number("tail"))
    for _ in range(40):
        block.rest(0)
        stalled = rng.choice((SINKS, SINKS[:1], SINKS[1:]))
        block.rest(100, *stalled)
        jobs = rng.choice((3, 7, 8, VISIT_CLOCKS + 8))
        for _ in range(jobs):
            start(block, rng, job)
        refused = rng.choice((0, 8, 10))
        for _ in range(refused):
            block.access(tail, 1 << 31)
            block.access(START, 1)
        block.pass_clocks(JOB_CLOCKS * jobs + rng.randrange(VISIT_CLOCKS))
        for _ in range(refused):
            block.send_beats(rng.randbytes(block.beat_bytes))
        block.pass_clocks(rng.randrange(12))
        block.rest(rng.choice((0, 0, 20)), *stalled)
        block.pass_clocks(rng.randint(10, 70))
        read(block, "JOBS", "STALLS_OUT")
        block.rest(0)
        settle(block)
    read(block)
