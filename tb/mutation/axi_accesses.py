"""What the driver never does to an AXI block: odd accesses, words that do not fit, wrong packets.

Each of these functions leaves the block with jobs that may never end, so a soft reset must follow.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from extremum.hdl.axi import register_map as regs
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan.jobs import Job
from extremum.tb.mutation.axi_transport import SINKS, RecordedBlock
from extremum.tb.refusal import bad_jobs

START = regs.command_address(regs.START_COMMAND)
EVENT_REGISTERS = (regs.IRQ_ENABLE, regs.IRQ_STATUS, regs.STATUS, regs.ERROR)


def look(block: RecordedBlock, rng: random.Random) -> None:
    """Read what became of a job; clear its events, mostly one after the other."""
    block.access(regs.ERROR)
    block.access(regs.STATUS)
    if rng.random() < 0.7:
        block.access(regs.IRQ_STATUS)
        block.access(regs.IRQ_STATUS, rng.choice((1, 2, 3, 3, 3)), rng.choice((15, 1, 14)))
        block.access(regs.IRQ_STATUS)


def registers(block: RecordedBlock, rng: random.Random, config: CoreConfig) -> None:
    """Access every address, in parts of words, while no job is under way; no job is started."""
    for register in regs.register_map(config):
        block.access(register.address)
    for _ in range(80):
        address, word, strobes = _odd_access(rng)
        block.access(address, word, strobes)


def overlapped(block: RecordedBlock, rng: random.Random) -> None:
    """Access registers without waiting for the answer of the access before."""
    block.overlap([_odd_access(rng) for _ in range(150)])


def unfinished(block: RecordedBlock, rng: random.Random) -> None:
    """Stop in the middle of accesses, and reset the block; many times."""
    for _ in range(12):
        block.overlap([_odd_access(rng) for _ in range(10)], stop=rng.randrange(2, 25))
        block.pass_clocks(rng.choice((1, 1, 2, 5)), aresetn=0)
        block.pass_clocks(1)  # no master asks for anything before it has seen the reset's end
        block.access(regs.STATUS)
        block.access(regs.IRQ_ENABLE)


def _odd_access(rng: random.Random) -> tuple[int, int | None, int]:
    """Return address, word and strobes of an access that starts no job and resets nothing."""
    address = 4 * rng.randrange(1 << regs.ADDRESS_BITS - 2)
    if rng.random() < 0.4:
        address = rng.choice(EVENT_REGISTERS)
    if rng.random() < 0.5:
        return address, None, 15
    word = rng.choice((rng.getrandbits(32), 1 << rng.randrange(32)))
    if address == regs.CONTROL:
        word &= ~1
    strobes = rng.randrange(16)
    if address >= regs.COMMAND_BASE and strobes == 15:
        strobes = rng.choice((0, 7, 11, 13, 14))
    return address, word, strobes


def words(
    block: RecordedBlock, rng: random.Random, config: CoreConfig, jobs: Sequence[Job]
) -> None:
    """Write the registers of jobs in any order, one of them with a word at the limits of it."""
    written = regs.written_bits(config)
    block.access(regs.IRQ_ENABLE, 2)
    for name in rng.sample(sorted(written), len(written)) * 3:
        job, width = rng.choice(jobs), written[name].width
        values = list(job_words(job).items())
        rng.shuffle(values)
        low = -1 << width - 1
        odd = rng.choice((1 << rng.randrange(32), (1 << width) - 1, low, low - 1))
        address = regs.command_address(regs.command_number(name))
        for place, word in values:
            block.access(place, odd % (1 << 32) if place == address else word)
        block.access(START, 1)
        block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
        block.pass_clocks(job.beats_in + rng.choice((40, 60)))
        block.access(regs.ERROR)
        block.access(regs.IRQ_STATUS, 3)
        if block.access(regs.STATUS)[0] & 1:
            block.forget()
            block.access(regs.CONTROL, 1)


def bits(block: RecordedBlock, rng: random.Random, config: CoreConfig, jobs: Sequence[Job]) -> None:
    """Write words with one bit too many, wrong commands, and too few registers behind a reset."""
    written = regs.written_bits(config)
    # A reduction looks at none of the registers of windows.
    sliding = [job for job in jobs if job.kind == "sliding"] or jobs
    job = min(sliding, key=lambda job: job.beats_in)
    good = job_words(job)

    def start() -> None:
        block.access(START, 1)
        block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
        block.pass_clocks(job.beats_in + 30)
        block.access(regs.ERROR)
        block.access(regs.IRQ_STATUS, 3)

    for address, word in good.items():
        block.access(address, word)
    for name, each in written.items():
        address = regs.command_address(regs.command_number(name))
        for bit in rng.sample(range(each.width, 32), min(8, 32 - each.width)):
            # A bit too many of a number that is not negative, and one missing in a negative one.
            for word in (1 << bit, (1 << 32) - 1 ^ 1 << bit)[: 1 + each.signed]:
                block.access(address, word)
                start()
    start()
    there = {register.address for register in regs.register_map(config)}
    for number in range(regs.COMMANDS):
        if regs.command_address(number) not in there:
            block.access(regs.command_address(number), rng.getrandbits(32))
    start()
    for address in rng.sample(sorted(good), min(12, len(good))):
        job = rng.choice(jobs)
        good = job_words(job)
        block.access(regs.CONTROL, 1)
        for place, word in good.items():
            if place != address:
                block.access(place, word)
        start()
        block.forget()
    block.access(regs.CONTROL, 1)


def races(block: RecordedBlock, rng: random.Random, job: Job) -> None:
    """Clear an error, or the other event alone, in any of the clocks around the next error.

    The first error is a register that does not fit. The next one is, too, or it is a packet that
    ends too late; either is told once a job has its beats, which are sent at a known time.
    """
    good, beats = job_words(job), job.beats_in * block.beat_bytes
    block.rest(0)
    for address, word in good.items():
        block.access(address, word)
    for is_late, delay, clears in itertools.product((False, True), range(10), (1, 2, 3)):
        address = rng.choice(list(good))
        for word in (1 << 31, good[address]):
            block.access(address, word)
            block.access(START, 1)
        block.send_beats(rng.randbytes(beats))
        if not is_late:
            block.access(address, 1 << 31)
            block.access(START, 1)
        block.pass_clocks(60)
        block.send_beats(rng.randbytes(beats + is_late * block.beat_bytes))
        block.pass_clocks(delay)
        block.access(regs.IRQ_STATUS, clears)
        block.pass_clocks(60)
        if not is_late:
            block.send_beats(rng.randbytes(beats))
        look(block, rng)
        block.access(regs.IRQ_STATUS, 3)
        block.access(address, good[address])


def posted(block: RecordedBlock, rng: random.Random, config: CoreConfig, job: Job) -> None:
    """Write a job right behind a reset without waiting for answers; the queue may be full then.

    Among the words of the job the counters are cleared, so a write follows that one, too.
    """
    for _ in range(12):
        block.rest(rng.choice((0, 0, 20)))
        writes = [(address, word, 15) for address, word in job_words(job).items()]
        writes.append((regs.CONTROL, 2, 15))
        rng.shuffle(writes)
        if rng.random() < 0.5:
            for _ in range(regs.command_queue_depth(config) + 4):
                block.access(START, 1)
        block.forget()
        if rng.random() < 0.3:
            block.pass_clocks(rng.choice((1, 2)), aresetn=0)
            block.pass_clocks(1)
        else:
            writes.insert(0, (regs.CONTROL, rng.choice((1, 3)), 15))
        block.overlap([*writes, (START, 1, 15)])
        block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
        block.pass_clocks(job.beats_in + 60)
        look(block, rng)


def numbers(block: RecordedBlock, rng: random.Random, job: Job) -> None:
    """Start a short job many times, at times with a packet that is too long or too short.

    Meanwhile events are enabled and cleared, at times in the very clock of an error.
    """
    for address, word in job_words(job).items():
        block.access(address, word)
    for _ in range(280):
        if rng.random() < 0.1:
            block.access(rng.choice(list(job_words(job))), 1 << 31)
        block.access(START, 1)
        beats = job.beats_in + rng.choice((0,) * 12 + (1, -1, 5))
        block.send_beats(rng.randbytes(max(1, beats) * block.beat_bytes))
        if rng.random() < 0.1:
            block.pass_clocks(60)
            look(block, rng)
        if rng.random() < 0.2:
            clears = [(regs.IRQ_STATUS, rng.choice((1, 2, 2, 3)), 15)] * rng.choice((1, 3, 6))
            block.overlap([*clears, (regs.IRQ_ENABLE, rng.randrange(4), 15)])
            block.access(regs.ERROR)
    block.pass_clocks(200)
    look(block, rng)


def everywhere(block: RecordedBlock, rng: random.Random, job: Job, misfit: tuple[int, int]) -> None:
    """Read every address, of a register or not, while nothing that changes is zero.

    ``misfit`` is an address, and a word that does not fit the register there.
    """
    block.access(regs.IRQ_ENABLE, 7)
    for address, word in job_words(job).items():
        block.access(address, word)
    for wrong in (False, True):
        if wrong:
            block.access(*misfit)
        block.access(START, 1)
        block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
    block.pass_clocks(2 * job.beats_in + 100)
    # The second time jobs wait for their packets, and others for them in the queue.
    for waiting in (0, 6):
        for _ in range(waiting):
            block.access(START, 1)
        for address in range(0, 1 << regs.ADDRESS_BITS, regs.WORD_BYTES):
            block.access(address)
        for _ in range(waiting):
            block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
    block.pass_clocks(waiting * job.beats_in + 100)


def packets(block: RecordedBlock, rng: random.Random, jobs: Sequence[Job]) -> None:
    """Send packets that end too early while results wait, or too late by any number of beats.

    Jobs are started ahead, so a packet follows right behind the one before it.
    """
    for _ in range(40):
        job = rng.choice(jobs)
        for address, word in job_words(job).items():
            block.access(address, word)
        block.rest(0)
        block.rest(rng.choice((0, 0, 100)), *SINKS)
        sent = 0
        for _ in range(rng.choice((1, 2, 4))):
            block.access(START, 1)
            beats = max(1, job.beats_in + rng.choice((0, -1, -2, -3, rng.randint(1, 50))))
            block.send_beats(rng.randbytes(beats * block.beat_bytes))
            sent += beats
        for _ in range(2):
            block.pass_clocks(rng.choice((2, 20, sent + 40)))
            look(block, rng)
        block.rest(0)
        block.pass_clocks(2 * sent + 4 * job.beats_in + 100)
        look(block, rng)


def errors(
    block: RecordedBlock, rng: random.Random, config: CoreConfig, jobs: Sequence[Job]
) -> None:
    """Make every error: refused jobs, values that do not fit, TLAST early and late."""
    bad = [each for each, _ in bad_jobs(jobs[0].registers, config)]
    for number in range(14):
        job = rng.choice(jobs)
        beats = job.beats_in
        kind = rng.choice(("refused", "range", "early", "late", "fine"))
        spoiled = rng.choice(bad) if kind == "refused" and bad else job.registers
        values = spoiled.values()
        written = {
            regs.command_address(regs.command_number(name)): regs.word_of(name, bits, values[name])
            for name, bits in regs.written_bits(config).items()
        }
        for address, word in written.items():
            block.access(address, word)
        if kind == "range":
            for _ in range(rng.randint(1, 3)):
                block.access(rng.choice(list(written)), rng.getrandbits(32) | 1 << 31)
        block.access(START, 1)
        size = {"early": max(1, beats - rng.choice((1, 2))), "late": beats + rng.choice((1, 5))}
        block.send_beats(rng.randbytes(size.get(kind, beats) * block.beat_bytes))
        block.pass_clocks(rng.choice((5, 40, 200)))
        look(block, rng)
        if number % 5 == 4:
            block.pass_clocks(400)
    block.pass_clocks(600)


def overflow(
    block: RecordedBlock,
    rng: random.Random,
    config: CoreConfig,
    job: Job,
    misfit: tuple[int, int],
) -> None:
    """Fill the command queue behind jobs that get no beat, more than fill it, and let it drain.

    Before, a job fails for ``misfit``, an address and a word that does not fit the register there:
    of that nothing shows in the next error, and the next jobs have the register's former value.
    """
    good = job_words(job)
    for address, word in good.items():
        block.access(address, word)
    for _ in range(3):
        block.access(*misfit)
        block.access(START, 1)
        block.send_beats(rng.randbytes(block.beat_bytes))
        block.pass_clocks(100)
        block.access(regs.ERROR)
        block.access(regs.IRQ_STATUS, 7)
        if rng.random() < 0.5:  # the first job that waits for its packet is refused
            block.access(*misfit)
        started = 0
        for number in range(regs.command_queue_depth(config) + rng.choice((2, 6))):
            starts = number < 2 or rng.random() < 0.3
            address, word = rng.choice(list(good.items()))
            if rng.random() < 0.1:
                word = 1 << 31
            _, refused = block.access(*((START, 1) if starts else (address, word)))
            started += starts and not refused
            if rng.random() < 0.2:
                block.access(regs.STATUS)
        look(block, rng)
        for _ in range(started):
            block.send_beats(rng.randbytes(job.beats_in * block.beat_bytes))
            if rng.random() < 0.3:
                block.access(regs.STATUS)
        while block.access(regs.STATUS)[0] & 1:
            pass
