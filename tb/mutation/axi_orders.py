"""Writes to an AXI block at any address and in any order, and resets in any clock of a job."""

from __future__ import annotations

import itertools
import random

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.commands import LOW_NUMBER_BITS
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan.jobs import Job
from extremum.tb.mutation.axi_counting import packet, read, settle, start
from extremum.tb.mutation.axi_results import poolings, reductions
from extremum.tb.mutation.axi_transport import SINKS, RecordedBlock

WINDOW = regs.command_address(regs.command_number("width.window"))


def shuffled(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Write jobs back to back, their registers in any order, but first one that changes.

    It stands in front of the starter while the job before is still offered. Those with its half of
    the number are written next.
    """
    jobs = list(poolings(rng, config, 30))
    before: dict[int, int] = {}
    for job in jobs:
        words = job_words(job)
        changed = [address for address, word in words.items() if before.get(address) != word]
        first = rng.choice(changed or list(words))
        order = rng.sample(list(words.items()), len(words))
        order.sort(key=lambda each: (each[0] != first, _half(each[0]) != _half(first)))
        block.overlap([(address, word, 15) for address, word in order])
        start(block, rng, job)
        before = words
    block.rest(0)
    block.pass_clocks(sum(job.beats_in for job in jobs))
    settle(block)


def _half(address: int) -> int:
    """Return the upper half of the number of a job register."""
    return address >> LOW_NUMBER_BITS + 2 & 7


def unwritten(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Leave each register of a job in turn as a soft reset has left it.

    The job is a pooling and then a reduction, since some registers matter to one of them alone.
    """
    block.rest(0)
    count = len(regs.written_bits(config))
    pairs = zip(poolings(rng, config, count), reductions(rng, config, count), strict=True)
    for number, job in enumerate(itertools.chain(*pairs)):
        # Before the reset, the registers have anything.
        for name, bits in regs.written_bits(config).items():
            place = regs.command_address(regs.command_number(name))
            block.access(place, rng.getrandbits(bits.width - bits.signed))
        block.access(regs.CONTROL, 1)
        words = [(place, word, 15) for place, word in job_words(job).items()]
        del words[number // 2]
        block.overlap(words)
        start(block, rng, job)
        block.pass_clocks(job.beats_in + 60)
        block.forget()
    block.access(regs.CONTROL, 1)
    block.pass_clocks(5)


def flips(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Start a pooling in which one bit of a register is another, each of them in turn.

    Many are refused, and some wait for beats until they are ended.
    """
    block.rest(0)
    for name, bits in regs.written_bits(config).items():
        address = regs.command_address(regs.command_number(name))
        for bit in range(bits.width):
            job = max(poolings(rng, config, 4), key=lambda job: job_words(job)[WINDOW])
            words = job_words(job)
            words[address] ^= 1 << bit
            block.overlap([(place, word, 15) for place, word in words.items()])
            start(block, rng, job)
            block.pass_clocks(job.beats_in + 30)
            block.access(regs.ERROR)
            block.access(regs.IRQ_STATUS, rng.randrange(4))
            block.access(regs.IRQ_STATUS)
            block.access(regs.CONTROL, 1)
            block.forget()


def soft(block: RecordedBlock, rng: random.Random, job: Job, *, hard: bool = False) -> None:
    """Reset in each of the clocks around the start of a job; the job behind it is whole.

    Behind a hard reset its packet may wait on the port from the first clock on.
    """
    words = [(address, word, 15) for address, word in job_words(job).items()]
    for delay in range(40):
        waits = False
        block.rest(0)
        block.overlap(words)
        block.access(regs.command_address(regs.START_COMMAND), 1)
        if rng.random() < 0.5:
            block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
        block.rest(rng.choice((0, 100)), *SINKS)
        block.pass_clocks(delay + rng.choice((0, job.beats_in)))
        if hard:
            block.forget()
            block.pass_clocks(1, aresetn=0)
            waits = rng.random() < 0.5
            if waits:
                block.send_beats(packet(block, rng, job))
            block.pass_clocks(1)
            read(block, *rng.sample(("STALLS_IN", "STALLS_OUT", "CYCLES", "BEATS_OUT"), 4))
        else:
            block.access(regs.CONTROL, 1)
            block.forget()
        block.rest(0)
        block.pass_clocks(20)
        if not waits:
            block.forget()
        block.overlap(words)
        block.access(regs.command_address(regs.START_COMMAND), 1)
        if not waits:
            block.send_beats(packet(block, rng, job))
        start(block, rng, job)
        block.pass_clocks(2 * job.beats_in)
        settle(block)


def numbered(block: RecordedBlock, job: Job, misfit: tuple[int, int]) -> None:
    """Reset in each of the clocks around the start of a job; the next one is refused, by number.

    ``misfit`` is an address, and a word that does not fit the register there.
    """
    words = [(address, word, 15) for address, word in job_words(job).items()]
    start_address = regs.command_address(regs.START_COMMAND)
    for delay in range(40):
        block.overlap([*words, (start_address, 1, 15)])
        block.pass_clocks(delay)
        block.access(regs.CONTROL, 1)
        block.forget()
        block.pass_clocks(40)
        block.access(regs.IRQ_STATUS, 3)
        block.access(*misfit)
        block.access(start_address, 1)
        block.pass_clocks(10)
        block.access(regs.ERROR)
        block.access(regs.CONTROL, 1)
        block.forget()
        block.pass_clocks(20)
        block.access(regs.IRQ_STATUS, 3)


def finishes(block: RecordedBlock, rng: random.Random, job: Job, misfit: tuple[int, int]) -> None:
    """Reset in each of the clocks around the end of a job, or around its refusal.

    A job that ends before the reset is told and counted, and one that ends by it is neither.
    ``misfit`` is an address, and a word that does not fit the register there.
    """
    words = [(address, word, 15) for address, word in job_words(job).items()]
    for wrong in ([], [(*misfit, 15)]):
        for delay in range(40 if wrong else job.beats_in + 60):
            block.rest(0)
            block.overlap([*words, *wrong])
            start(block, rng, job)
            block.pass_clocks(delay)
            reset = rng.choice((1, 1, 3, None))
            if reset:
                block.access(regs.CONTROL, reset)
                block.forget()
            else:
                block.forget()
                block.pass_clocks(1, aresetn=0)
            block.pass_clocks(20)
            block.access(regs.IRQ_STATUS)
            block.access(regs.ERROR)
            read(block, "JOBS")
            block.access(regs.IRQ_STATUS, 3)


def fills(block: RecordedBlock, rng: random.Random, job: Job) -> None:
    """Reset in each of the clocks in which beats are made up for a packet that ended early.

    The job behind the reset has a right packet, and nothing is told of it.
    """
    words = [(address, word, 15) for address, word in job_words(job).items()]
    for delay in range(min(job.beats_in + 20, 80)):
        block.rest(0)
        block.overlap([*words, (regs.command_address(regs.START_COMMAND), 1, 15)])
        block.send_beats(rng.randbytes(block.beat_bytes))
        block.pass_clocks(delay)
        block.access(regs.CONTROL, 1)
        block.forget()
        block.pass_clocks(20)
        block.access(regs.IRQ_STATUS, 3)
        block.overlap(words)
        start(block, rng, job)
        block.pass_clocks(2 * job.beats_in + 60)
        block.access(regs.IRQ_STATUS)
        block.access(regs.ERROR)
        block.access(regs.IRQ_STATUS, 3)


def ends(block: RecordedBlock, rng: random.Random, job: Job) -> None:
    """Reset while the last beat of a job waits on one stream or on both, and hold streams back.

    The reset forgets the end of the job. If it did not, that end would be taken on one stream for
    that of the job behind it, which would then end before its own last beat has left.
    """
    words = [(address, word, 15) for address, word in job_words(job).items()]
    block.access(regs.IRQ_ENABLE, 1)

    def start_and_wait() -> None:
        block.overlap(words)
        start(block, rng, job)
        block.pass_clocks(job.beats_in + 60)
        look()

    def look() -> None:
        for address in (regs.STATUS, regs.IRQ_STATUS):
            block.access(address)
        read(block, "JOBS")

    def let_go(clocks: int) -> None:
        """Let all waiting beats leave, one soon after the other or one by one."""
        block.rest(rng.choice((0, 0, 50, 90)), *SINKS)
        block.pass_clocks(clocks)

    for _ in range(12):
        block.rest(0)
        block.rest(100, *rng.choice((SINKS, SINKS[:1], SINKS[1:])))
        start_and_wait()
        block.access(regs.CONTROL, 1)
        block.forget()
        if rng.random() < 0.3:
            let_go(rng.choice((1, 40)))
        # The streams that wait already go on waiting. If both do, the end of the job behind the
        # reset is taken on one stream in the clock in which the other gives the end before it.
        if rng.random() < 0.6:
            block.rest(100, *SINKS)
        start_and_wait()
        for waiting in rng.sample(SINKS, 2):
            let_go(60)
            block.access(regs.IRQ_STATUS, 1)
            block.rest(0)
            settle(block)
            block.rest(100, waiting)
            start_and_wait()
        let_go(60)
        block.rest(0)
        settle(block)


def sweep(block: RecordedBlock, rng: random.Random) -> None:
    """Write to every address while events stand, interrupts are enabled, and counters count."""
    block.rest(0)
    for word in rng.sample(range(1 << regs.ADDRESS_BITS - 2), 1 << regs.ADDRESS_BITS - 2):
        address = regs.WORD_BYTES * word
        if address in (regs.CONTROL, regs.command_address(regs.START_COMMAND)):
            continue
        if not block.access(regs.IRQ_STATUS)[0] & ~regs.IDLE:
            # A word that does not fit and the start behind it make an error.
            block.access(regs.command_address(regs.command_number("tail")), 1 << 31)
            block.access(regs.command_address(regs.START_COMMAND), 1)
            block.send_beats(rng.randbytes(block.beat_bytes))
            block.pass_clocks(10)
            block.access(regs.IRQ_STATUS)
        block.access(regs.IRQ_ENABLE, rng.randrange(8))
        block.access(address, 7, 15 if address < regs.COMMAND_BASE else 7)
        block.access(regs.IRQ_STATUS)
        block.access(regs.IRQ_STATUS, rng.randrange(8))
        block.access(regs.IRQ_STATUS)
        block.access(regs.IRQ_ENABLE)
        read(block, "JOBS")


def idles(block: RecordedBlock, rng: random.Random, job: Job, misfit: tuple[int, int]) -> None:
    """Give the block something to do, and let it end in every way; the interrupt tells when.

    The event is cleared right behind each start, and while the block has nothing to do.
    """
    block.access(regs.IRQ_ENABLE, regs.IDLE)
    words = [(address, word, 15) for address, word in job_words(job).items()]
    for _ in range(60):
        block.rest(0)
        wrong = [(*misfit, 15)] if rng.random() < 0.2 else []
        starts = [(regs.command_address(regs.START_COMMAND), 1, 15)] * rng.choice((1, 1, 2))
        clears = [(regs.IRQ_STATUS, rng.choice((regs.IDLE, regs.IDLE, 3, 7)), 15)]
        block.overlap([*words, *wrong, *starts, *clears])
        block.rest(rng.choice((0, 100)), rng.choice(SINKS))
        for _ in starts:
            block.pass_clocks(rng.choice((0, 2, 20)))
            beats = max(1, job.beats_in + rng.choice((0, 0, 0, -1, 1, 5)))
            block.send_beats(rng.randbytes(beats * block.beat_bytes))
        block.pass_clocks(rng.randint(20, 40) + len(starts) * job.beats_in)
        block.rest(0)
        block.pass_clocks(40)
        block.access(*rng.choice(clears)[:2])
        block.access(regs.IRQ_STATUS)
