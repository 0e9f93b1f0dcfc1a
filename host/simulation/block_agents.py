"""Agents of cocotbext-axi on all ports of an AXI block, and a watch over its streams."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.task import Task
from cocotb.triggers import ClockCycles, Event, FallingEdge
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

from extremum.hdl.axi.register_map import WORD_BYTES
from extremum.host.simulation.agents import Pace
from extremum.host.simulation.backend import RESET_CLOCKS
from extremum.host.simulation.stalls import Phases, Stalls
from extremum.host.simulation.stream_rules import watched

OUTPUTS = ("m_axis_value", "m_axis_index")
PERIOD = 2
"""Length of a clock, in nanoseconds."""


def connected(
    dut: Any, outputs: Sequence[str], *, is_programmable: bool
) -> tuple[Any, Any, dict[str, Any]]:
    """Connect agents to the ports of a block, which say no more than errors.

    Parameters
    ----------
    dut
        The block.
    outputs
        The names of its output streams.
    is_programmable
        Whether it has an AXI4-Lite port.

    Returns
    -------
    lite, source, sinks
        The master of that port, or None; the source of ``s_axis``; the sinks by stream.
    """
    reset = {"reset": dut.aresetn, "reset_active_level": False}
    logging.disable(logging.WARNING)  # the agents list their signals
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, **reset)
    sinks = {
        name: AxiStreamSink(AxiStreamBus.from_prefix(dut, name), dut.aclk, **reset)
        for name in outputs
    }
    lite, agents = None, [source, *sinks.values()]
    if is_programmable:
        lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, **reset)
        agents += [lite.write_if, lite.read_if]
    logging.disable(logging.NOTSET)
    for agent in agents:
        agent.log.setLevel(logging.ERROR)
    return lite, source, sinks


async def read_word(lite: Any, address: int) -> tuple[int, int]:
    """Read a word by the master of an AXI4-Lite port; return it and the response."""
    answer = await lite.read(address, WORD_BYTES)
    return int.from_bytes(answer.data, "little"), int(answer.resp)


async def write_word(lite: Any, address: int, word: int) -> int:
    """Write a word by the master of an AXI4-Lite port; return the response."""
    answer = await lite.write(address, word.to_bytes(WORD_BYTES, "little"))
    return int(answer.resp)


@dataclass
class Seen:
    """What has moved on the streams: see :class:`extremum.host.simulation.backend.StreamClocks`.

    ``failure`` tells why the simulation is given up.
    """

    now: int = 0
    first: int | None = None
    last: int = 0
    taken: int = 0
    idle: int = 0
    failure: str = ""
    come: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def clocks(self) -> tuple[int, int | None, int, int]:
        """The fields of ``StreamClocks``."""
        return self.now, self.first, self.last, self.taken


class BlockAgents:
    """Drives the ports of an AXI block.

    Parameters
    ----------
    dut
        The block's module.
    progress
        Called now and then.

    Attributes
    ----------
    waits : bool
        Whether something must move before the watchdog gives the simulation up.
    """

    def __init__(self, dut: Any, progress: Callable[[Seen], None]) -> None:
        self.dut = dut
        self.seen = Seen()
        self.news = Event()
        self._progress = progress
        self._watchdog = 1 << 20
        self.waits = True
        self._is_accessed = False
        self._asked: dict[str, int] = dict.fromkeys(OUTPUTS, 0)
        self._receiving: dict[str, Task[None]] = {}
        self._outputs = [name for name in OUTPUTS if hasattr(dut, f"{name}_tvalid")]
        self.is_programmable = hasattr(dut, "s_axil_awvalid")

    async def start(self) -> None:
        """Start the clock, reset the block, and connect the agents."""
        dut = self.dut
        inputs = ["s_axis_tvalid", *(f"{name}_tready" for name in self._outputs)]
        if self.is_programmable:
            channels = ("awvalid", "wvalid", "bready", "arvalid", "rready")
            inputs += [f"s_axil_{name}" for name in channels]
        dut.aresetn.value = 0
        for name in inputs:
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.aclk, PERIOD, "ns", impl="gpi").start())
        await ClockCycles(dut.aclk, 3)
        self.lite, self.source, self.sinks = connected(
            dut, self._outputs, is_programmable=self.is_programmable
        )
        dut.aresetn.value = 1
        await ClockCycles(dut.aclk, RESET_CLOCKS)
        cocotb.start_soon(self._watch())

    def begin(
        self, *, watchdog: int, input_stalls: int | Phases, output_stalls: int | Phases, seed: int
    ) -> None:
        """Set the streams, and count anew."""
        self.seen = Seen()
        self._watchdog = watchdog
        rates: list[tuple[Any, int | Phases, int]] = [(self.source, input_stalls, 0)]
        rates += [
            (sink, output_stalls, 1 + 2 * number) for number, sink in enumerate(self.sinks.values())
        ]
        for agent, rate, more in rates:
            agent.clear_pause_generator()
            agent.pause = False
            if rate:
                agent.set_pause_generator(_rests(Stalls(rate, seed + more)))

    async def read(self, address: int) -> tuple[int, int]:
        """Read a word; return it and the response."""
        with self._accessing():
            return await read_word(self.lite, address)

    async def write(self, address: int, word: int) -> int:
        """Write a word; return the response."""
        with self._accessing():
            return await write_word(self.lite, address, word)

    @contextmanager
    def _accessing(self) -> Iterator[None]:
        """Let a hang meanwhile be told as that of an access."""
        self._is_accessed = True
        try:
            yield
        finally:
            self._is_accessed = False

    def send(self, packet: bytes) -> None:
        """Begin to send a packet."""
        self.source.send_nowait(AxiStreamFrame(packet))

    def receive(self, stream: str) -> None:
        """Ask for a packet."""
        self._asked[stream] += 1
        if self._asked[stream] == 1:
            self._receiving[stream] = cocotb.start_soon(self._receive(stream))

    async def reset(self, clocks: int) -> None:
        """Reset the block, and forget all packets. The agents are reset with it."""
        self.waits = False
        for task in self._receiving.values():
            task.cancel()
        self._receiving.clear()
        self._asked = dict.fromkeys(OUTPUTS, 0)
        self.source.clear()
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, clocks)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, RESET_CLOCKS)
        for sink in self.sinks.values():
            # What has come of a packet before the reset is no part of the next one.
            sink.clear()
            sink.assert_reset(True)
            sink.assert_reset(False)
        self.seen.come.clear()
        self.waits = True

    async def _receive(self, stream: str) -> None:
        """Receive packets as long as there are some asked for."""
        while self._asked[stream]:
            frame: Any = await self.sinks[stream].recv(compact=False)
            keep = np.array(frame.tkeep, bool)
            self.seen.come.append((stream, np.frombuffer(frame.tdata, np.uint8)[keep].tobytes()))
            self._asked[stream] -= 1
            self.news.set()

    async def wait(self) -> bool:
        """Wait until a packet has come or the interrupt is raised; return whether it is.

        If no packet is asked for, wait until all has been sent; then the interrupt does not count.
        """
        if not any(self._asked.values()) and not self.seen.come:
            await self.source.wait()
        while not (self._is_idle or self.seen.come or self.has_interrupt or self.seen.failure):
            self.news.clear()
            await self.news.wait()
        return self.has_interrupt and not self._is_idle

    @property
    def _is_idle(self) -> bool:
        """Whether no packet is asked for, and all that was to be sent has been taken."""
        return not any(self._asked.values()) and self.source.idle()

    @property
    def has_interrupt(self) -> bool:
        """Whether the interrupt is raised."""
        return self.is_programmable and bool(self.dut.irq.value)

    def _missing(self) -> str:
        """Return what does not come, in a hang."""
        packets = ", ".join(
            f"{self._asked[name]} on {name}" for name in self._outputs if self._asked[name]
        )
        missing = ["the access of a register has no answer"] if self._is_accessed else []
        missing += [f"packets are missing: {packets}"] if packets else []
        return ", and ".join(missing) or "no packet is awaited"

    async def _watch(self) -> None:
        """Look at the streams in the middle of every clock."""
        dut = self.dut
        edge = FallingEdge(dut.aclk)
        pace = Pace()
        taken = (dut.s_axis_tvalid, dut.s_axis_tready)
        channels = watched(dut)
        writes = (dut.s_axil_wvalid, dut.s_axil_wready) if self.is_programmable else None
        while True:
            await edge
            seen = self.seen
            took = _moves(taken)
            gave, complaint = False, ""
            for channel in channels:
                moves, wrong = channel.look()
                gave = gave or (moves and channel.name in self._outputs)
                complaint = complaint or wrong
            if took:
                seen.taken += 1
                seen.first = seen.now if seen.first is None else seen.first
            if took or gave:
                seen.last = seen.now
            if took or gave or not self.waits or (writes is not None and _moves(writes)):
                seen.idle = 0
            elif (idle := seen.idle + 1) > self._watchdog:
                seen.failure = (
                    f"clock {seen.now}: nothing moved for {idle} clocks; {self._missing()}"
                )
            else:
                seen.idle = idle
            if complaint and not seen.failure:
                seen.failure = f"clock {seen.now}: {complaint}"
            seen.now += 1
            if seen.failure or self.has_interrupt:
                self.news.set()
            if pace.is_due(seen.now):
                self._progress(seen)


def _moves(stream: tuple[Any, Any]) -> bool:
    """Return whether the coming edge takes a beat."""
    return stream[0].value == 1 and stream[1].value == 1


def _rests(stalls: Stalls) -> Iterator[bool]:
    while True:
        yield stalls()
