"""What every bench of the AXI block starts with: agents on all ports, jobs, and their packets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, with_timeout
from cocotbext.axi import AxiStreamFrame

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import index_bytes, port_widths
from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import output_layout
from extremum.host.driver.packets import filled_beats
from extremum.host.driver.words import job_words
from extremum.host.plan.jobs import Job
from extremum.host.simulation.block_agents import PERIOD, connected, read_word, write_word
from extremum.host.simulation.stream_rules import watched
from extremum.tb.bench import core
from extremum.tb.scoreboard import Scoreboard

OKAY, SLVERR = 0, 2

LONGEST = 20_000
"""Clocks after which a bench no longer waits for a packet or a status."""

Packets = dict[str, bytes]
"""The bytes of a packet on each output stream, by the stream's name."""


def rests(seed: int, percent: int) -> Iterator[bool]:
    """Yield, clock by clock, whether an agent rests."""
    source = random.Random(seed)
    return (source.random() * 100 < percent for _ in itertools.count())


def packets(job: Job, x: np.ndarray) -> tuple[bytes, Packets]:
    """Return the input packet of a job, and the packets that it must give.

    The results come from the golden model (:class:`extremum.tb.scoreboard.Scoreboard`); those in
    lanes that TKEEP leaves out are not among them.
    """
    config = job.config
    board = Scoreboard(config)
    board.add(job, x)
    (full, tail), layout = filled_beats(job), output_layout(config)
    beat_bytes = config.lanes * config.element_width // 8
    given = b"".join(beat.to_bytes(beat_bytes, "little") for beat in board.beats)
    streams = {
        "m_axis_value": ("value", config.element_width, config.element_width // 8),
        "m_axis_index": ("index", config.index_width, index_bytes(config)),
    }
    expected = {}
    for name, (field, bits, size) in streams.items():
        if not port_widths(config)[name]:
            continue
        offset, packet = layout[field].offset, bytearray()
        for number, beat in enumerate(board.expected):
            for lane in range(config.lanes if number < full else tail):
                element = beat >> offset + lane * bits & (1 << bits) - 1
                packet += element.to_bytes(size, "little")
        expected[name] = bytes(packet)
    return given, expected


def misfits(config: CoreConfig) -> Iterator[tuple[int, int]]:
    """Yield words that do not fit their job register, each behind the register's number."""
    for name, bits in regs.written_bits(config).items():
        beyond = [] if bits.width == regs.WORD_BITS else [1 << bits.width]
        if bits.signed:
            beyond = [1 << bits.width - 1, (1 << regs.WORD_BITS) - (1 << bits.width - 1) - 1]
        if not regs.is_position(name):
            yield from ((regs.command_number(name), word) for word in beyond)


class Environment:
    """Agents on all ports of a block, and what is known of its registers.

    Parameters
    ----------
    dut
        The block's module.
    config
        Configuration of the core within.

    Attributes
    ----------
    complaints : list of str or None
        Takes what the block does against the rule that an offer stays. It is None at first: then
        the test fails at once.
    """

    def __init__(self, dut: Any, config: CoreConfig) -> None:
        self.dut = dut
        self.config = config
        self.complaints: list[str] | None = None
        self._words: dict[int, int] = {}

    @classmethod
    async def started(cls, dut: Any) -> Environment:
        """Return an environment whose block has been reset."""
        made = cls(dut, core())
        made._drive_low()
        cocotb.start_soon(Clock(dut.aclk, PERIOD, "ns", impl="gpi").start())
        await ClockCycles(dut.aclk, 3)
        made._connect()
        await made.reset()
        cocotb.start_soon(made._watch())
        return made

    async def _watch(self) -> None:
        """Complain if the block takes back or changes what it offers."""
        channels, edge = watched(self.dut), FallingEdge(self.dut.aclk)
        while True:
            await edge
            await ReadOnly()  # a bench may drive its inputs at this edge
            for channel in channels:
                _, complaint = channel.look()
                if complaint:
                    assert self.complaints is not None, complaint
                    self.complaints.append(complaint)

    def _drive_low(self) -> None:
        """Give all inputs a value before the agents look at their answers."""
        self.dut.aresetn.value = 0
        inputs = ["awvalid", "wvalid", "bready", "arvalid", "rready"]
        names = [*(f"s_axil_{name}" for name in inputs), "s_axis_tvalid"]
        sinks = (f"{name}_tready" for name in self._output_names())
        for name in (*names, *sinks):
            getattr(self.dut, name).value = 0

    def _output_names(self) -> list[str]:
        widths = port_widths(self.config)
        return [name for name, width in widths.items() if width and name != "s_axis"]

    def _connect(self) -> None:
        self.lite, self.source, self.sinks = connected(
            self.dut, self._output_names(), is_programmable=True
        )

    async def clocks(self, count: int) -> None:
        """Wait for so many clocks."""
        await ClockCycles(self.dut.aclk, count)

    async def reset(self, clocks: int = 2) -> None:
        """Reset the block by ``aresetn``."""
        self.dut.aresetn.value = 0
        await self.clocks(clocks)
        self.dut.aresetn.value = 1
        await self.clocks(1)
        self._words.clear()

    def stall(self, source: int = 0, sinks: int = 0, seed: int = 0) -> None:
        """Let the source and each sink rest at random, in so many percent of the clocks."""
        rates = [(self.source, source), *((sink, sinks) for sink in self.sinks.values())]
        for number, (agent, percent) in enumerate(rates):
            agent.clear_pause_generator()
            agent.pause = False
            if percent:
                agent.set_pause_generator(rests(seed + number, percent))

    async def write(self, address: int, word: int) -> int:
        """Write a word; return the response."""
        return await write_word(self.lite, address, word)

    async def read(self, address: int) -> int:
        """Read a word, which must be answered with OKAY."""
        word, response = await self.read_any(address)
        assert response == OKAY, f"reading {address:#x} was answered with {response}"
        return word

    async def read_any(self, address: int) -> tuple[int, int]:
        """Read a word; return it and the response."""
        return await read_word(self.lite, address)

    async def field(self, register: str, name: str = "value") -> int:
        """Read a field of a register."""
        found = next(r for r in regs.register_map(self.config) if r.name == register)
        wanted = found.field(name)
        return wanted.of(await self.read(found.address))

    async def until(self, register: str, name: str, value: int) -> None:
        """Read a field until it has a value."""
        for _ in range(LONGEST // 10):
            if await self.field(register, name) == value:
                return
        raise AssertionError(f"{register}.{name} does not become {value}")

    async def command(self, number: int, word: int) -> None:
        """Write a command as soon as the queue has space for it."""
        while not await self.field("STATUS", "queue_free"):
            pass
        assert await self.write(regs.command_address(number), word) == OKAY

    async def configure(self, words: dict[int, int]) -> None:
        """Write the registers of a job that have changed since the last one."""
        for address, word in words.items():
            if self._words.get(address) != word:
                await self.command((address - regs.COMMAND_BASE) // regs.WORD_BYTES, word)
                self._words[address] = word

    def forget(self) -> None:
        """Write all registers for the next job, as after a soft reset."""
        self._words.clear()

    async def start(self, job: Job) -> None:
        """Write what has changed, and start the job."""
        await self.configure(job_words(job))
        await self.command(regs.START_COMMAND, 1)

    async def send(self, packet: bytes) -> None:
        """Send an input packet as soon as the source is free."""
        await self.source.send(AxiStreamFrame(packet))

    async def expect(self, expected: Packets, what: object = "") -> None:
        """Compare the next packet of each output stream with what it must be."""
        for name, packet in expected.items():
            frame = await with_timeout(self.sinks[name].recv(), LONGEST * PERIOD, "ns")
            given = bytes(frame.tdata)
            assert given == packet, f"{name} of {what}: {given.hex()}, expected {packet.hex()}"

    async def carry_out(self, pairs: list[tuple[Job, np.ndarray]]) -> None:
        """Run jobs one behind the other, and compare their packets; none may be left over."""
        wanted = []
        for job, x in pairs:
            given, expected = packets(job, x)
            await self.send(given)
            wanted.append(expected)

        async def drive() -> None:
            for job, _ in pairs:
                await self.start(job)

        driver = cocotb.start_soon(drive())
        for (job, _), expected in zip(pairs, wanted, strict=True):
            await self.expect(expected, job)
        await driver
        await self.until("STATUS", "busy", 0)
        await self.clocks(20)
        assert all(sink.empty() for sink in self.sinks.values()), "a packet too many came"
        assert all(sink.idle() for sink in self.sinks.values()), "beats came behind the last packet"
        assert self.source.empty(), "a packet was not taken"
        assert self.source.idle(), "a packet was not taken whole"
