"""Bench of the AXI block: every way in which a job can be wrong, and the right job after it."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.host.driver.words import job_words
from extremum.host.plan.jobs import Job
from extremum.tb.axi.environment import OKAY, SLVERR, Environment, misfits, packets
from extremum.tb.bench import core
from extremum.tb.refusal import bad_jobs
from extremum.tb.sequences import jobs

BEAT_BYTES = core().lanes * core().element_width // 8

LATENCY = 100
"""Clocks after which the results of a job of a few beats have come, at most."""


def good_jobs(count: int, least_beats: int = 1) -> list[tuple[Job, np.ndarray]]:
    """Return jobs of at least so many beats that the core takes."""
    drawn = jobs(random.Random(31), core(), 400)
    return [pair for pair in drawn if pair[0].beats_in >= least_beats][:count]


def words_of(registers: dict[str, int]) -> dict[int, int]:
    """Return the words of job registers, by address."""
    return {
        regs.command_address(regs.command_number(name)): regs.word_of(name, bits, registers[name])
        for name, bits in regs.written_bits(core()).items()
        if name in registers
    }


async def check_error(block: Environment, code: BlockError, job: int, register: int = 0) -> None:
    """Check what the registers tell of an error, and clear it. ``register`` is that of `RANGE`."""
    await block.until("IRQ_STATUS", "error", 1)
    assert await block.field("ERROR", "code") == code
    assert await block.field("ERROR", "register") == register
    assert await block.field("ERROR", "job") == job
    assert await block.write(regs.IRQ_STATUS, 0b11) == OKAY
    assert await block.field("IRQ_STATUS", "error") == 0


@cocotb.test()
async def registers_that_the_core_refuses(dut: Any) -> None:
    """The job's packet is dropped, no result comes, and the jobs around it are right."""
    block = await Environment.started(dut)
    good = good_jobs(6)
    started = 0
    for number, (registers, reason) in enumerate(bad_jobs(good[0][0].registers, core())):
        values = registers.values()
        if values["tail"] == 0 and core().lanes == 1:
            continue
        before, after = good[number % 5], good[number % 5 + 1]
        await block.send(packets(*before)[0])
        await block.start(before[0])
        await block.configure(words_of(values))
        await block.command(regs.START_COMMAND, 1)
        # A packet of another length than the registers tell.
        await block.send(bytes(BEAT_BYTES * (number % 3 + 1)))
        await block.expect(packets(*before)[1])
        await check_error(block, BlockError(reason), started + 1)
        await block.carry_out([after])
        started += 3
        assert await block.field("JOBS") == started
    assert started


@cocotb.test()
async def values_that_do_not_fit(dut: Any) -> None:
    """The register is named, keeps its value, and the next job is right."""
    block = await Environment.started(dut)
    good = good_jobs(1)[0]
    await block.carry_out([good])
    started = 1
    for register, value in misfits(core()):
        assert await block.write(regs.IRQ_STATUS, 0b11) == OKAY
        await block.command(register, value)
        await block.command(regs.START_COMMAND, 1)
        await block.send(bytes(2 * BEAT_BYTES))
        await block.until("IRQ_STATUS", "error", 1)
        await block.until("IRQ_STATUS", "done", 1)
        await check_error(block, BlockError.RANGE, started, register)
        await block.carry_out([good])
        started += 2


@cocotb.test()
@cocotb.parametrize(stall=[0, 60])
async def tlast_too_early(dut: Any, stall: int) -> None:
    """The job ends with packets of the right length, and the next job is right."""
    block = await Environment.started(dut)
    block.stall(stall, stall, 5)
    (job, x), after = good_jobs(2, least_beats=5)
    given, expected = packets(job, x)
    for number, beats in enumerate((1, 2, 1, job.beats_in // 2, job.beats_in - 1)):
        await block.send(given[: beats * BEAT_BYTES])
        await block.start(job)
        for name, packet in expected.items():
            frame = await block.sinks[name].recv()
            assert len(frame.tdata) == len(packet)
        await check_error(block, BlockError.TLAST_EARLY, 2 * number)
        await block.carry_out([after])


@cocotb.test()
@cocotb.parametrize(stall=[0, 60])
async def tlast_too_late(dut: Any, stall: int) -> None:
    """What comes behind the job's last beat is dropped; this job and the next one are right."""
    block = await Environment.started(dut)
    block.stall(stall, stall, 6)
    (job, x), after = good_jobs(2, least_beats=5)
    given, expected = packets(job, x)
    for number, more in enumerate((1, 2, 9, 200)):
        await block.send(given + random.Random(more).randbytes(more * BEAT_BYTES))
        await block.start(job)
        # The next job is started, and its packet sent, while the rest is being dropped.
        await block.start(after[0])
        following, wanted = packets(*after)
        await block.send(following)
        await block.expect(expected, job)
        await block.expect(wanted, after[0])
        await check_error(block, BlockError.TLAST_LATE, 2 * number)


@cocotb.test()
async def busy_until_all_is_dropped(dut: Any) -> None:
    """The results of a job whose packet is too long have left long before the packet's end."""
    block = await Environment.started(dut)
    (job, x) = good_jobs(1)[0]
    given, expected = packets(job, x)
    await block.send(given + bytes(1000 * BEAT_BYTES))
    await block.start(job)
    await block.expect(expected, job)
    assert await block.field("STATUS", "busy") == 1
    await block.until("STATUS", "busy", 0)
    assert block.source.empty()
    assert block.source.idle()


@cocotb.test()
async def a_packet_is_dropped_while_results_leave(dut: Any) -> None:
    """Two jobs may end in the same clock, and both are counted."""
    block = await Environment.started(dut)
    (job, x) = next(pair for pair in good_jobs(400) if pair[0].beats_out == 1)
    given, expected = packets(job, x)
    name, bits = next(
        (name, bits)
        for name, bits in regs.written_bits(core()).items()
        if bits.width < regs.WORD_BITS and not regs.is_position(name)
    )
    *others, last = block.sinks.values()
    # The block is busy until the result has left on every stream.
    last.pause = True
    await block.start(job)
    await block.send(given)
    await block.clocks(2 * LATENCY)
    assert await block.field("STATUS", "busy") == 1
    last.pause = False
    await block.expect(expected, job)
    await block.until("STATUS", "busy", 0)
    started = 1
    for wait in range(-4, 5):
        block.source.pause = False
        for sink in block.sinks.values():
            sink.pause = True
        await block.start(job)
        await block.command(regs.command_number(name), 1 << bits.width)
        await block.command(regs.START_COMMAND, 1)
        await block.send(given)
        await block.clocks(2 * LATENCY)
        for sink in others:
            sink.pause = False
        await block.clocks(4)
        # The result waits on one stream, and the next packet does not come.
        block.source.pause = True
        await block.send(bytes(BEAT_BYTES))
        assert await block.field("STATUS", "busy") == 1
        for agent in (last, block.source)[:: 1 if wait > 0 else -1]:
            agent.pause = False
            await block.clocks(abs(wait))
        await block.expect(expected, job)
        await check_error(block, BlockError.RANGE, started + 1, regs.command_number(name))
        await block.until("STATUS", "busy", 0)
        started += 2
        assert await block.field("JOBS") == started


@cocotb.test()
async def a_full_queue(dut: Any) -> None:
    """What does not fit is answered with SLVERR and told; what did fit is carried out."""
    block = await Environment.started(dut)
    (job, x), _ = good_jobs(2)
    depth = regs.command_queue_depth(core())
    # A job whose packet does not come holds the commands behind it.
    await block.start(job)
    await block.start(job)
    await block.clocks(100)
    words = list(job_words(job).items())
    for number in range(await block.field("STATUS", "queue_free")):
        address, word = words[number % len(words)]
        assert await block.write(address, word) == OKAY
    assert await block.field("STATUS", "queue_free") == 0
    assert await block.field("STATUS", "can_start") == 0
    assert await block.write(words[0][0], 12345) == SLVERR
    assert await block.write(regs.command_address(regs.START_COMMAND), 1) == SLVERR
    await block.until("IRQ_STATUS", "error", 1)
    assert await block.field("ERROR", "code") == BlockError.QUEUE_FULL
    assert await block.write(regs.IRQ_STATUS, 0b11) == OKAY
    given, expected = packets(job, x)
    for _ in range(2):
        await block.send(given)
        await block.expect(expected)
    await block.until("STATUS", "busy", 0)
    assert await block.field("STATUS", "queue_free") == depth
    assert await block.field("JOBS") == 2
    await block.carry_out(good_jobs(3))
