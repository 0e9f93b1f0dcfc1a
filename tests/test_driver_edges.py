"""The driver where random jobs seldom lead: full queues, packets in parts, what it clears."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from driven_block import START, carry_out, drawn
from driver_parts import THREE_LANES, Idle, only_job

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import INDICES, VALUES
from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import latency, pipeline_latency
from extremum.host.driver import block as block_module
from extremum.host.driver.block import BlockDriver, Work, unused_clocks
from extremum.host.driver.dma import DmaTransport
from extremum.host.driver.packets import ResultPackets
from extremum.host.driver.words import job_words
from extremum.host.errors import DeviceError
from extremum.model import DataType, EmptyWindowWarning, Pooling, Reduction

pytest_plugins = ["driven_block"]


class Noted:
    """A transport to a block in which nothing happens: it notes what is written."""

    def __init__(self):
        self.words = {word.address: word.reset for word in regs.register_map(THREE_LANES)}
        self.written = []

    def read(self, address):
        return self.words[address]

    def write(self, address, word):
        self.written.append((address, word))


def test_the_events_are_cleared_when_the_driver_begins_and_resets():
    """What happened before is no error of a job that is started now."""
    transport: Any = Noted()
    driver = BlockDriver(transport, THREE_LANES)
    assert (driver.finished, driver.written) == (0, 0)
    both = {name: 1 << bit for bit, name in enumerate(("done", "error"))}
    cleared = (regs.IRQ_STATUS, both["done"] | both["error"])
    assert transport.written == [cleared, (regs.IRQ_ENABLE, both["error"])]
    transport.written.clear()
    driver.reset()
    # A reset by `aresetn` in front of it has cleared the enabled interrupts too.
    assert transport.written == [(regs.CONTROL, 1), cleared, (regs.IRQ_ENABLE, both["error"])]


def test_the_driver_waits_for_a_packet_while_the_queue_is_full(driver, monkeypatch):
    """A queue that stays full while a job runs is no error, and it is not read all the time."""
    finished = []
    finish = BlockDriver._finish_oldest

    def finishing(self):
        finished.append(self.finished)
        finish(self)

    make_room, within = BlockDriver._make_room, []

    def making(self):
        before = len(finished)
        make_room(self)
        within.append(len(finished) - before)

    monkeypatch.setattr(BlockDriver, "_finish_oldest", finishing)
    monkeypatch.setattr(BlockDriver, "_make_room", making)
    monkeypatch.setattr(block_module, "LOOKS", 1)
    monkeypatch.setattr(block_module, "JOBS_AHEAD", 100)
    carry_out(driver, drawn(3, 40))
    assert sum(within) > 3


def test_registers_that_are_forgotten_are_written_again(driver, transport):
    ((job, x),) = drawn(2, 1, least_beats=300)
    words = list(job_words(job).items())
    assert max(word for _, word in words) > 256, "Python keeps one object of smaller numbers"
    carry_out(driver, [(job, x)])
    for forgotten in ([words[0][0]], [], [address for address, _ in words[:3]], None):
        driver.forget(forgotten)
        transport.written.clear()
        carry_out(driver, [(job, x)])
        again = [each for each in words if forgotten is None or each[0] in forgotten]
        assert transport.written == [*again, (START, 1)]


def test_a_buffer_is_filled_piece_by_piece():
    sent = []

    class Source(Idle):
        def transfer(self, array):
            sent.append(array.copy())

    registers: Any = None
    transport = DmaTransport(registers, Source(), {}, np.empty)
    pieces = [np.arange(first, first + 3, dtype=np.uint8) for first in (0, 3, 6, 9)]
    transport.send(pieces, 12)
    assert [buffer.tolist() for buffer in sent] == [list(range(12))]


def test_a_buffer_that_could_not_be_filled_or_queued_is_freed():
    class Buffer(np.ndarray):
        left = 0

        def freebuffer(self):
            Buffer.left -= 1

    def allocate(sizes, dtype):
        Buffer.left += 1
        return np.empty(sizes, dtype).view(Buffer)

    def interrupted():
        yield np.zeros(3, np.uint8)
        raise KeyboardInterrupt

    registers: Any = None
    transport = DmaTransport(registers, Idle(), {VALUES: Idle()}, allocate)
    with pytest.raises(KeyboardInterrupt):
        transport.send(interrupted(), 6)
    told = "^the block gives results on m_axis_index, and sinks has a channel for m_axis_value$"
    with pytest.raises(DeviceError, match=told):
        transport.receive(INDICES, 6, lambda *_: None)
    assert Buffer.left == 0
    transport.send([np.zeros(6, np.uint8)], 6)
    assert Buffer.left == 1


@pytest.mark.parametrize(("size", "last"), [(4, True), (5, False), (6, True)])
def test_a_packet_ends_with_its_last_byte(size, last):
    """A packet of five bytes that ends early, that goes on, that is too long."""
    job = only_job(Reduction.of("max", (5, 3), "int8", 1))
    packets = ResultPackets(job, np.dtype(np.int8), lambda *_: None)
    assert packets.size(VALUES) == 5
    packets.add(VALUES, np.zeros(3, np.uint8), False)
    ending = "ended" if last else "goes on"
    with pytest.raises(DeviceError, match=f"{ending} after {size} bytes: .* are 5 bytes"):
        packets.add(VALUES, np.zeros(size - 3, np.uint8), last)


def test_parts_of_results_without_values():
    """The number of the beats that have come before does not show in the next ones."""
    config = CoreConfig((DataType.INT8,), lanes=2, operators=("argmax",), max_window=(1, 1, 1))
    assert ResultPackets.names(config) == (INDICES,)
    job = only_job(Reduction.of("argmax", (8, 3), "int8", 1), config)
    given = []
    packets = ResultPackets(job, np.dtype(np.int8), lambda *pair: given.append(pair))
    for place in range(8):
        packets.add(INDICES, np.array([place], "<u4").view(np.uint8), place == 7)
    assert [positions.tolist() for _, positions in given] == [[[n, n + 1]] for n in (0, 2, 4, 6)]
    assert [values.tolist() for values, _ in given] == [[[0, 0]]] * 4


SMALL = replace(THREE_LANES, pipelining="small")


@pytest.mark.parametrize("elements", [latency(SMALL) + 1, 200])
def test_a_core_that_holds_one_job_is_busy_until_its_last_slot_has_left(elements):
    """Also if the last element comes with the only result."""
    problem = Pooling.of((1, 1, 1, elements), "int8", 1, strides=(1, 250))
    job = only_job(problem, SMALL)
    assert job.schedule.last_window == 0
    assert job.schedule.last_element == elements - 1 >= latency(SMALL)
    assert unused_clocks(job) == pipeline_latency(SMALL) + 4
    assert unused_clocks(job) != unused_clocks(only_job(problem))


def test_an_operator_takes_a_tensor_in_any_byte_order(driver):
    problem = Reduction.of("argmax", (3, 4), "int64", 1)
    x = np.array([[3, 256, 1, 9], [4, 0, 512, 7], [-1, -256, 5, 5]], np.int64)
    expected = problem.evaluate(x)
    for tensor in (x, x.astype(">i8"), x.astype("<i8"), np.asfortranarray(x)):
        assert np.array_equal(driver.compute(problem, tensor), expected)


def test_windows_of_padding_alone_are_warned_of(driver):
    """As by the golden model, at the caller's own line."""
    problem = Pooling.of((1, 1, 3, 3), "int64", 2, start_padding=2)
    with pytest.warns(EmptyWindowWarning, match="^7 pooling windows ") as told:
        driver.compute(problem, np.ones(problem.sizes, np.int64))
    assert [warning.filename for warning in told] == [__file__]


def test_a_job_takes_a_tensor_in_any_byte_order(driver):
    ((job, x),) = drawn(2, 1, least_beats=8)
    carry_out(driver, [(job, x)])  # as the golden model
    seen = []
    for order in ("<", ">"):
        given = []
        tensor = x.astype(x.dtype.newbyteorder(order))
        driver.run([Work(job, tensor, lambda *pair, to=given: to.extend(pair))])
        seen.append([(array.dtype, array.tobytes()) for array in given])
    assert seen[0] == seen[1] != []


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.zeros((3, 4), np.int8), TypeError, "x must have type int64, not int8"),
        (np.zeros((4, 3), np.int64), ValueError, "x must have sizes (3, 4), not (4, 3)"),
        (np.zeros((6, 4), np.int64), ValueError, "x must have sizes (3, 4), not (6, 4)"),
        (np.zeros((3, 4), bool), TypeError, "data type must be one of"),
        (np.ma.zeros((3, 4), np.int64), TypeError, "x must be a plain array, not a masked one"),
    ],
)
def test_an_operator_refuses_another_tensor_before_anything_is_started(driver, x, error, message):
    problem = Reduction.of("argmax", (3, 4), "int64", 1)
    with pytest.raises(error, match=re.escape(message)):
        driver.compute(problem, x)
    assert (driver.finished, driver.written) == (0, 0)
