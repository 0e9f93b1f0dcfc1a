"""The driver on memory-mapped registers and DMA channels, which a simulated block stands behind."""

import time
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from driven_block import CONFIG, START, Through, carry_out, drawn

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import INDICES, INPUT, VALUES
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.driver.dma import DmaTransport
from extremum.host.errors import DeviceError, JobFailedError
from extremum.host.simulation.backend import StreamSettings

pytest_plugins = ["driven_block"]


class Channel:
    """A channel as PYNQ has it, of a DMA beside a simulated block."""

    def __init__(self, block, stream):
        self._block, self._stream = block, stream
        self._done, self.transferred, self.waited = True, 0, Counter()

    @property
    def idle(self):
        if not self._done:
            self._block.pass_clocks(50)
        return self._done

    def transfer(self, array):
        assert self._done, "a transfer was begun before the last one had ended"
        if self._stream == INPUT:
            self._block.send([array], len(array))
            self.transferred = len(array)
            return
        self._done, self.transferred = False, 0
        self._block.receive(self._stream, len(array), partial(self._take, array))

    def _take(self, array, part, last):
        array[self.transferred : self.transferred + len(part)] = part
        self.transferred += len(part)
        self._done = last

    def wait(self):
        assert self._done
        self.waited["all"] += 1


@pytest.mark.parametrize("sees_interrupt", [False, True])
def test_memory_mapped_registers_and_dma(block, sees_interrupt):
    """The driver runs on the transport of a board, whose registers and channels are simulated."""
    block.begin(StreamSettings())
    channels = {stream: Channel(block, stream) for stream in (INPUT, VALUES, INDICES)}
    sinks = {stream: channels[stream] for stream in (VALUES, INDICES)}
    interrupt = (lambda: bool(block._outcome.irq)) if sees_interrupt else None
    transport = DmaTransport(block, channels[INPUT], sinks, np.empty, interrupt=interrupt)
    driver = BlockDriver(transport, CONFIG)
    carry_out(driver, drawn(10, 30))
    assert channels[VALUES].waited["all"] == channels[INDICES].waited["all"] == 30
    transport.write(regs.command_address(regs.command_number("tail")), 1 << 20)
    job, x = drawn(10, 30)[-1]
    with pytest.raises(JobFailedError, match="RANGE in register tail"):
        driver.run([Work(job, x, lambda *_: None)])
    with block.resetting():
        driver.reset()


def test_no_job_is_started_whose_results_no_channel_takes(block):
    """The driver asks for the packets before it starts the job."""
    block.begin(StreamSettings())
    registers: Any = Through(block)
    sinks = {VALUES: Channel(block, VALUES)}
    driver = BlockDriver(DmaTransport(registers, Channel(block, INPUT), sinks, np.empty), CONFIG)
    job, x = drawn(10, 1)[0]
    with pytest.raises(DeviceError, match=r"sinks has a channel for m_axis_value$"):
        driver.start(Work(job, x, lambda *_: None))
    assert START not in dict(registers.written)
    with block.resetting():
        driver.reset()


class Outgoing:
    """A channel of a DMA that sends, and has sent all when it has been asked three times."""

    transferred = 0

    def __init__(self):
        self.asked = 3

    @property
    def idle(self):
        self.asked -= 1
        return self.asked <= 0

    def transfer(self, array):
        self.asked = 3

    def wait(self):
        assert self.asked <= 0


@pytest.mark.parametrize("interrupt", [None, lambda: False])
def test_what_is_sent_is_awaited_where_no_packet_is_asked_for(block, interrupt):
    source = Outgoing()
    transport = DmaTransport(block, source, {}, np.empty, interrupt=interrupt)
    transport.send([np.zeros(8, np.uint8)], 8)
    transport.send([np.zeros(8, np.uint8)], 8)
    while transport.wait():
        pass
    assert source.asked <= 0
    assert transport.wait() is False


@pytest.mark.parametrize(("size", "told"), [(7, "more"), (9, "fewer")])
def test_pieces_that_are_not_as_long_as_was_said(block, size, told):
    transport = DmaTransport(block, Outgoing(), {}, np.empty)
    with pytest.raises(ValueError, match=f"^the pieces of a packet hold {told} bytes than its si"):
        transport.send([np.zeros(8, np.uint8)], size)
    assert transport.wait() is False  # nothing is sent


class Dead(Outgoing):
    """A channel that never ends a transfer."""

    @property
    def idle(self):
        return False


class Halted(Dead):
    """A channel whose DMA has stopped, as it does where a packet is longer than its buffer."""

    error = True


@pytest.mark.parametrize("interrupt", [None, lambda: False])
def test_a_transfer_that_the_dma_has_given_up(block, interrupt):
    """That is told at once, and not that no packet has come for ten seconds."""
    for source, sink, stream in ((Halted(), Dead(), INPUT), (Dead(), Halted(), VALUES)):
        transport = DmaTransport(block, source, {VALUES: sink}, np.empty, interrupt=interrupt)
        transport.send([np.zeros(8, np.uint8)], 8)
        transport.receive(VALUES, 8, lambda *_: None)
        with pytest.raises(DeviceError, match=f"^the DMA has given up a transfer on {stream}: "):
            transport.wait()
        transport.stop()
        assert transport.wait() is False


def test_an_interrupt_that_nobody_clears_hides_nothing(block):
    """As one does that also tells of ended jobs: the driver clears errors alone."""
    sinks = {VALUES: Dead()}
    transport = DmaTransport(block, Dead(), sinks, np.empty, interrupt=lambda: True, seconds=0.01)
    assert transport.wait() is False
    transport.receive(VALUES, 8, lambda *_: None)
    with pytest.raises(DeviceError, match=r"^no packet has come for 0\.01 s$"):
        for _ in iter(transport.wait, False):
            pass


def test_an_interrupt_that_comes_at_the_last_moment_is_looked_at(block):
    """The process may have been stopped meanwhile, and the block has told what is wrong."""
    transport = DmaTransport(
        block, Dead(), {VALUES: Dead()}, np.empty, interrupt=late, seconds=0.01
    )
    transport.receive(VALUES, 8, lambda *_: None)
    assert transport.wait() is True


def late():
    time.sleep(0.02)
    return True


def test_errors_are_named_behind_aresetn(block):
    """It clears the registers of the block, and also which events raise the interrupt."""
    driver = BlockDriver(block, CONFIG)
    work = drawn(10, 3)
    carry_out(driver, work)
    block.reset()
    with block.resetting():
        driver.reset()
    carry_out(driver, work)
    block.write(regs.command_address(regs.command_number("tail")), 1 << 20)
    with pytest.raises(JobFailedError, match="RANGE in register tail"):
        carry_out(driver, work)
    with block.resetting():
        driver.reset()


def test_results_that_nobody_awaits_any_more(block):
    """A packet is given up, and the transport stopped; but nobody resets the driver."""
    sinks = {stream: Dead() for stream in (VALUES, INDICES)}
    transport = DmaTransport(block, Dead(), sinks, np.empty, seconds=0)
    driver = BlockDriver(transport, CONFIG)
    with pytest.raises(DeviceError, match=r"^no packet has come for 0 s$"):
        carry_out(driver, drawn(11, 1))
    transport.stop()
    with pytest.raises(DeviceError, match=r"^results are missing, and no packet is awaited any mo"):
        driver.finish()
    with block.resetting():
        driver.reset()
    driver.finish()


def test_a_packet_that_never_comes(block):
    block.begin(StreamSettings())
    channels = [Channel(block, stream) for stream in (INPUT, VALUES)]
    transport = DmaTransport(block, channels[0], {VALUES: channels[1]}, np.empty, seconds=0)
    transport.receive(VALUES, 8, lambda *_: None)
    with pytest.raises(DeviceError, match=r"^no packet has come for 0 s$"):
        for _ in iter(transport.wait, False):
            pass
    with block.resetting():
        pass
