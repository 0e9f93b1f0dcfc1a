"""Bench of the AXI block: masters that send nonsense, stop in the middle, or write at any time."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.host.driver.words import job_words
from extremum.tb.axi.environment import OKAY, Environment, packets
from extremum.tb.axi.errors import BEAT_BYTES, check_error, good_jobs
from extremum.tb.axi.resets import SOFT_RESET, forget
from extremum.tb.bench import core, examples
from extremum.tb.sequences import jobs

STOP = 300
"""Clocks for which a master stops."""


@cocotb.test()
async def any_tkeep(dut: Any) -> None:
    """TKEEP of the input is not looked at: whatever it is, also zero, all beats count."""
    block = await Environment.started(dut)
    source = random.Random(61)
    pairs = list(jobs(source, core(), 8))
    for job, x in pairs:
        given, expected = packets(job, x)
        for marks in (lambda: source.getrandbits(1), lambda: 0):
            await block.source.send(AxiStreamFrame(given, tkeep=[marks() for _ in given]))
            await block.start(job)
            await block.expect(expected, job)
    await block.until("STATUS", "busy", 0)
    assert await block.field("JOBS") == 2 * len(pairs)
    assert await block.field("ERROR", "code") == 0


@cocotb.test()
async def tlast_missing(dut: Any) -> None:
    """If TLAST never comes, the results are right, the error is told, and a soft reset ends it."""
    block = await Environment.started(dut)
    (job, x), after = good_jobs(2, least_beats=5)
    given, expected = packets(job, x)
    for wait in (0, 1, 40, 700):
        await block.send(given + bytes(5_000 * BEAT_BYTES))
        await block.start(job)
        await block.expect(expected, job)
        await check_error(block, BlockError.TLAST_LATE, 0)
        await block.clocks(wait)
        assert await block.field("STATUS", "busy") == 1
        forget(block.source)
        assert await block.write(regs.CONTROL, SOFT_RESET) == OKAY
        block.forget()
        await block.until("STATUS", "busy", 0)
        await block.carry_out([after])
        assert await block.write(regs.CONTROL, SOFT_RESET) == OKAY
        block.forget()


@cocotb.test()
async def writes_in_every_phase(dut: Any) -> None:
    """The registers of the next job, first wrong and then right, are written while one runs."""
    block = await Environment.started(dut)
    source = random.Random(62)
    first, second = good_jobs(2, least_beats=8)
    for clock in range(0, 120, max(1, 400 // (10 * examples(4)))):
        for job, x in (first, second):
            await block.send(packets(job, x)[0])
        await block.start(first[0])
        await block.clocks(clock)
        wrong = {
            address: source.getrandbits(1) for address in job_words(second[0])
        }  # a word that fits every register
        await block.configure(wrong)
        await block.start(second[0])
        for job, x in (first, second):
            await block.expect(packets(job, x)[1], job)
        assert await block.field("IRQ_STATUS", "error") == 0
        await block.until("STATUS", "busy", 0)


@cocotb.test()
async def streams_that_stop(dut: Any) -> None:
    """A source or a sink that stops after any beat and comes back later loses nothing."""
    block = await Environment.started(dut)
    (job, x), *_ = good_jobs(1, least_beats=8)
    given, expected = packets(job, x)
    for agent in (block.source, *block.sinks.values()):
        for clock in range(0, 60, 7):
            await block.start(job)
            await block.send(given)
            await block.clocks(clock)
            agent.pause = True
            await block.clocks(STOP)
            agent.pause = False
            await block.expect(expected, job)
            await block.until("STATUS", "busy", 0)


@cocotb.test()
async def a_register_master_that_stops(dut: Any) -> None:
    """It stops between address, data and answer, and is reset; jobs are right before and after.

    The bench of the registers lets it come back.
    """
    block = await Environment.started(dut)
    hand = Hand(dut)
    await FallingEdge(dut.aclk)
    offering = cocotb.start_soon(hand.go_on())
    (job, x), *_ = good_jobs(1, least_beats=8)
    given, expected = packets(job, x)
    master: Any = block.lite
    answers = master.write_if.b_channel, master.read_if.r_channel
    for channels in (["aw"], ["w"], ["aw", "w"], ["ar"]):
        await block.start(job)
        await block.clocks(5)
        for sink in answers:
            sink.pause = True
        hand.offer(*channels)
        await block.send(given)
        await block.expect(expected, job)
        await block.clocks(STOP)
        hand.forget()
        await block.reset()
        for sink in answers:
            sink.clear()
            sink.pause = False
        assert await block.field("ID") == regs.ID
        await block.until("STATUS", "busy", 0)
        block.forget()
        await block.carry_out([(job, x)])
    offering.cancel()


class Hand:
    """Drives the AXI4-Lite port by hand, while the master of the environment rests.

    Parameters
    ----------
    dut
        The block.
    """

    def __init__(self, dut: Any) -> None:
        self._dut = dut
        self._asked: list[str] = []
        self._taken: set[str] = set()
        self._offered: set[str] = set()

    def _port(self, name: str) -> Any:
        return getattr(self._dut, f"s_axil_{name}")

    def offer(self, *channels: str) -> None:
        """Offer an address, or the word 0, on some channels from the next clock on."""
        self._asked += channels

    async def go_on(self) -> None:
        """Offer what is asked for until it is taken, clock by clock, until cancelled."""
        while True:
            await FallingEdge(self._dut.aclk)
            for channel in self._asked:
                if channel == "w":
                    self._port("wdata").value, self._port("wstrb").value = 0, 0b1111
                else:
                    self._port(f"{channel}addr").value = regs.IRQ_ENABLE
                self._port(f"{channel}valid").value = 1
            # What is ready in the middle of a clock is taken at its end.
            for channel in self._taken:
                self._port(f"{channel}valid").value = 0
            self._offered = (self._offered | {*self._asked}) - self._taken
            self._asked = []
            self._taken = {name for name in self._offered if int(self._port(f"{name}ready").value)}

    def forget(self) -> None:
        """Offer nothing any more."""
        for channel in self._offered:
            self._port(f"{channel}valid").value = 0
        self._offered.clear()
        self._taken.clear()
