"""Bench of the AXI block: after a reset of either kind it works as if it were new."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge
from cocotbext.axi import AxiStreamSink, AxiStreamSource

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.model import Reduction
from extremum.tb.axi.environment import OKAY, Environment, misfits, packets
from extremum.tb.bench import core, examples
from extremum.tb.sequences import jobs, tensor

SOFT_RESET = 1


async def begin(block: Environment, seed: int) -> None:
    """Start jobs, and leave them in the middle."""
    for job, x in jobs(random.Random(seed), core(), 3):
        await block.start(job)
        await block.send(packets(job, x)[0])


def forget(*agents: AxiStreamSource | AxiStreamSink) -> None:
    """Stop agents in the middle of a packet, as the channels of a DMA that are reset."""
    for agent in agents:
        agent.clear()
        agent.assert_reset(True)
        agent.assert_reset(False)


async def silence(block: Environment, clocks: int) -> None:
    """Complain of what the block offers, takes or tells in reset, from its third clock on.

    The block takes a reset into a register first, which resets the others at the next edge.
    """
    names = [*(f"{name}_tvalid" for name in block.sinks), "s_axis_tready", "irq"]
    names += [f"s_axil_{name}" for name in ("awready", "wready", "bvalid", "arready", "rvalid")]
    await ClockCycles(block.dut.aclk, 2)
    for _ in range(2, clocks + 1):
        await FallingEdge(block.dut.aclk)
        for name in names:
            assert getattr(block.dut, name).value == 0, f"{name} is not 0 in reset"


@cocotb.test()
async def aresetn(dut: Any) -> None:
    """All outputs are silent in reset, and no word of the jobs before comes afterwards."""
    block = await Environment.started(dut)
    for clock in range(1, 120, max(1, 400 // (10 * examples(4)))):
        await begin(block, clock)
        await block.clocks(clock)
        block.source.clear()
        clocks = 2 + clock % 3
        watching = cocotb.start_soon(silence(block, clocks))
        await block.reset(clocks)
        await watching
        forget(*block.sinks.values())
        assert await block.field("JOBS") == 0
        assert await block.read(regs.STATUS) & 0b11 == 0b10
        await block.carry_out(list(jobs(random.Random(-clock), core(), 2)))


@cocotb.test()
@cocotb.parametrize(stall=[0, 100])
async def soft_reset(dut: Any, stall: int) -> None:
    """It ends all jobs; a beat that was offered stays until it is taken, and then nothing comes."""
    block = await Environment.started(dut)
    for clock in range(1, 120, max(1, 400 // (10 * examples(4)))):
        block.stall(0, stall)
        await begin(block, 500 + clock)
        await block.clocks(clock)
        forget(block.source)
        offered = await _offered(block)
        assert await block.write(regs.CONTROL, SOFT_RESET) == OKAY
        if stall:
            for name, beat in offered.items():
                now = (await _offered(block)).get(name)
                assert now == beat, f"{name} no longer offers its beat"
        block.stall()
        block.forget()
        left = await _leaving(block, 20)
        if stall:
            assert left == {name: int(name in offered) for name in block.sinks}
        for name in block.sinks:
            assert not int(getattr(dut, f"{name}_tvalid").value), f"{name} goes on"
        forget(*block.sinks.values())
        await block.until("STATUS", "busy", 0)
        await block.carry_out(list(jobs(random.Random(-clock), core(), 2)))
        assert await block.field("ERROR", "code") in (0, BlockError.TLAST_EARLY)
        assert await block.write(regs.IRQ_STATUS, 0b11) == OKAY
    # Jobs are numbered from the last reset on.
    assert await block.write(regs.CONTROL, SOFT_RESET) == OKAY
    block.forget()
    job, x = next(jobs(random.Random(1), core(), 1))
    await block.carry_out([(job, x)])
    await block.start(job)
    await block.send(packets(job, x)[0] * 2)
    await block.until("IRQ_STATUS", "error", 1)
    assert await block.field("ERROR", "job") == 1


@cocotb.test()
@cocotb.parametrize(is_full=[False, True])
async def writes_posted_behind_a_soft_reset(dut: Any, is_full: bool) -> None:
    """Who does not wait for answers has the next job in the queue at once, also if it was full."""
    block = await Environment.started(dut)
    start = regs.command_address(regs.START_COMMAND)
    # A job that gives nothing before its elements come, which they do not.
    (waiting,) = plan(Reduction.of("argmin", (1, 3), core().data_types[0], 1), core()).jobs
    for seed in range(4):
        ((job, x),) = jobs(random.Random(seed), core(), 1)
        await block.start(waiting)
        while is_full and await block.field("STATUS", "queue_free"):
            assert await block.write(start, 1) == OKAY
        # The first command is not a zero, which the reset would have left in its register as well.
        words = sorted(job_words(job).items(), key=lambda item: item[1] == 0)
        writes = {regs.CONTROL: SOFT_RESET, **dict(words), start: 1}
        answers = [
            block.lite.init_write(address, word.to_bytes(4, "little"))
            for address, word in writes.items()
        ]
        for answer in answers:
            await answer.wait()
        told: list[Any] = [answer.data for answer in answers]
        assert {int(answer.resp) for answer in told} == {OKAY}
        given, expected = packets(job, x)
        await block.send(given)
        await block.expect(expected, job)
        await block.until("STATUS", "busy", 0)
        assert await block.field("IRQ_STATUS", "error") == 0
        block.forget()


@cocotb.test()
async def soft_reset_of_one_stream(dut: Any) -> None:
    """Jobs that have left on one output stream alone when they end do not count for later jobs."""
    block = await Environment.started(dut)
    kind = core().data_types[0]
    (job,) = plan(Reduction.of("argmin", (1, 3), kind, 1), core()).jobs
    x = tensor(random.Random(1), kind, (1, 3))
    for held in block.sinks if len(block.sinks) > 1 else ():
        for _ in range(3):
            block.sinks[held].pause = True
            for _ in range(2):
                await block.start(job)
                await block.send(packets(job, x)[0])
            await block.clocks(200)
            assert await block.write(regs.CONTROL, SOFT_RESET) == OKAY
            block.forget()
            block.stall()
            await block.clocks(20)
            forget(block.source, *block.sinks.values())
        assert await block.write(regs.IRQ_STATUS, 0b11) == OKAY
        before = await block.field("JOBS")
        (other,) = set(block.sinks) - {held}
        block.sinks[other].pause = True
        await block.start(job)
        await block.send(packets(job, x)[0])
        await block.clocks(200)
        assert not await block.field("IRQ_STATUS", "done"), f"{other} has not given its beat"
        block.stall()
        await block.expect(packets(job, x)[1])
        await block.until("IRQ_STATUS", "done", 1)
        assert await block.field("JOBS") == before + 1


@cocotb.test()
async def a_packet_right_behind_a_soft_reset(dut: Any) -> None:
    """Whoever waits for the answer may offer beats from the next clock on."""
    block = await Environment.started(dut)
    for clock in range(1, 60, max(1, 200 // (10 * examples(4)))):
        await begin(block, clock)
        await block.clocks(clock)
        forget(block.source)
        block.source.pause = True
        ((job, x),) = jobs(random.Random(-clock), core(), 1)
        given, expected = packets(job, x)
        await block.send(given)
        answer = block.lite.init_write(regs.CONTROL, SOFT_RESET.to_bytes(4, "little"))
        # The source puts a beat on its port at the edge at which it no longer pauses.
        while not (dut.s_axil_bvalid.value and dut.s_axil_bready.value):
            await FallingEdge(dut.aclk)
        block.source.pause = False
        await answer.wait()
        block.forget()
        await block.clocks(20)
        forget(*block.sinks.values())
        assert await block.write(regs.IRQ_STATUS, 0b11) == OKAY
        await block.start(job)
        await block.expect(expected, job)
        await block.until("STATUS", "busy", 0)
        assert await block.field("IRQ_STATUS", "error") == 0
        assert block.source.idle(), "a beat was not taken"


@cocotb.test()
@cocotb.parametrize(code=[BlockError.RANGE, BlockError.TLAST_EARLY, BlockError.TLAST_LATE])
async def errors_of_jobs_that_end(dut: Any, code: BlockError) -> None:
    """A soft reset at any clock of a wrong job: the error is told of this job, or not at all."""
    block = await Environment.started(dut)
    register, word = next(misfits(core()))
    drawn = jobs(random.Random(7), core(), 400)
    good = next(pair for pair in drawn if 3 <= pair[0].beats_in <= 8)
    beat_bytes = core().lanes * core().element_width // 8
    given = packets(*good)[0]
    packet = {
        BlockError.RANGE: b"",
        BlockError.TLAST_EARLY: given[:beat_bytes],
        BlockError.TLAST_LATE: given + given,
    }[code]
    start, told = regs.command_address(regs.START_COMMAND), []
    for clocks in range(32):
        await block.carry_out([good, good])
        if code == BlockError.RANGE:
            await block.command(register, word)
        if packet:
            await block.send(packet)
        block.lite.init_write(start, (1).to_bytes(4, "little"))
        await block.clocks(clocks)
        forget(block.source)
        await block.lite.init_write(regs.CONTROL, SOFT_RESET.to_bytes(4, "little")).wait()
        block.forget()
        told.append(await block.field("IRQ_STATUS", "error"))
        if told[-1]:
            assert await block.field("ERROR", "code") == code
            assert await block.field("ERROR", "job") == 2
            if code == BlockError.RANGE:
                assert await block.field("ERROR", "register") == register
        await block.clocks(20)
        forget(*block.sinks.values())
        assert await block.write(regs.IRQ_STATUS, 0b11) == OKAY
    assert told == sorted(told)
    assert set(told) == {0, 1}


async def _leaving(block: Environment, clocks: int) -> dict[str, int]:
    """Return how many beats leave on each output stream within some clocks."""
    left = dict.fromkeys(block.sinks, 0)
    for _ in range(clocks):
        await FallingEdge(block.dut.aclk)
        for name in left:
            port = (getattr(block.dut, f"{name}_{part}") for part in ("tvalid", "tready"))
            left[name] += all(int(signal.value) for signal in port)
    return left


async def _offered(block: Environment) -> dict[str, int]:
    """Return the data of the output streams that offer a beat."""
    await FallingEdge(block.dut.aclk)
    return {
        name: int(getattr(block.dut, f"{name}_tdata").value)
        for name in block.sinks
        if int(getattr(block.dut, f"{name}_tvalid").value)
    }
