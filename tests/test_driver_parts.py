"""Parts of the driver on their own: what packets hold, how errors are told, how long is waited."""

import pickle
from typing import Any

import numpy as np
import pytest

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, has_input_buffer, port_widths
from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import latency
from extremum.hdl.ports import EMPTY_INDEX
from extremum.host.driver import dma
from extremum.host.driver.block import END_CLOCKS, BlockDriver, unused_clocks, waiting_clocks
from extremum.host.driver.dma import DmaTransport
from extremum.host.driver.packets import ResultPackets, filled_beats, input_pieces, input_size
from extremum.host.errors import DeviceError, JobFailedError
from extremum.host.plan import dataflow_core, plan
from extremum.model import DataType, Pooling, Reduction

CONFIG = CoreConfig((DataType.INT8,), lanes=3, max_window=(1, 3, 3))


def only_job(problem, config=CONFIG):
    (job,) = plan(problem, config).jobs
    return job


@pytest.mark.parametrize(("slices", "groups", "lanes"), [(2, 0, 2), (6, 2, 3), (7, 2, 1)])
def test_packets_of_a_pooling_have_a_slice_in_each_lane(slices, groups, lanes):
    """Six windows of each slice; the last group may have fewer slices than there are lanes."""
    job = only_job(Pooling.of((1, slices, 3, 4), "int8", 2))
    beats = 12 * -(-slices // 3)
    assert filled_beats(job) == (6 * groups, lanes)
    packets = ResultPackets(job, np.dtype(np.int8), lambda *_: None)
    assert packets.size(VALUES) == 6 * slices
    assert input_size(job) == beats * 3


@pytest.mark.parametrize(("count", "full", "lanes"), [(2, 0, 2), (6, 2, 3), (7, 2, 1)])
def test_packets_of_a_reduction_have_packed_results(count, full, lanes):
    job = only_job(Reduction.of("argmax", (count, 5), "int8", 1))
    assert filled_beats(job) == (full, lanes)
    packets = ResultPackets(job, np.dtype(np.int8), lambda *_: None)
    assert packets.size(VALUES) == count


def test_packets_of_gathered_windows_have_packed_results():
    """However many they are: they come together, but each lane has another window."""
    job = only_job(Pooling.of((1, 1, 30, 40), "int8", 9), CoreConfig((DataType.INT8,), lanes=2))
    assert job.kind == "gathered"
    assert job.beats_out == job.together == 22 * 32 // 2 > 256
    assert filled_beats(job) == (job.beats_out, 2)


@pytest.mark.parametrize(("padding", "size"), [(0, 200), (7, 180)])
def test_clocks_in_which_a_block_is_busy_with_no_element_of_the_core(padding, size):
    """Slots before the first element, and behind a last one that comes long after all results."""
    problem = Pooling.of(
        (1, 1, 1, size), "int8", 1, strides=(1, 150), start_padding=(0, padding)
    )  # fmt: skip
    job = only_job(problem)
    schedule = job.schedule
    behind = schedule.last_window + latency(CONFIG) - schedule.last_element
    assert schedule.first_element == padding
    assert behind < 0
    assert unused_clocks(job) == padding + END_CLOCKS == padding + 9
    dense = only_job(Pooling.of((1, 1, 1, size), "int8", 1, start_padding=(0, padding)))
    assert unused_clocks(dense) == padding + max(0, END_CLOCKS - latency(CONFIG))


@pytest.mark.parametrize("width", [1, 12])
@pytest.mark.parametrize("padding", [0, 1, 2, 6])
@pytest.mark.parametrize(("pipelining", "begins"), [("small", 1), ("balanced", 1), ("fast", 0)])
def test_the_first_beat_of_a_job_may_wait_in_the_buffer_of_a_dataflow_block(
    padding, width, pipelining, begins
):
    """While windows of padding alone pass, and one clock more until a core of one job has begun."""
    problem = Pooling.of((1, 1, 12, width), "int8", (2, 1), start_padding=(padding, 0))
    job = only_job(problem, dataflow_core(problem, pipelining=pipelining))
    slots = max(0, padding - 1) * width
    assert job.schedule.first_element == slots
    assert has_input_buffer(job.config)
    assert waiting_clocks(job) == (slots + begins if slots else 0)


def taken(job, dtype, streams):
    """Give packets to a job, each as a whole; return the values and positions that come of it."""
    given = []
    packets = ResultPackets(job, np.dtype(dtype), lambda *pair: given.append(pair))
    for name, elements in streams.items():
        assert not packets.is_complete
        packets.add(name, elements.view(np.uint8), True)
    assert packets.is_complete
    (pair,) = given
    return pair


@pytest.mark.parametrize("width", [5, 8, 12, 32])
def test_all_ones_of_any_width_mark_an_empty_window(width):
    config = CoreConfig((DataType.INT8,), lanes=2, index_width=width)
    job = only_job(Reduction.of("argmax", (5, 3), "int8", 1), config)
    ones = (1 << width) - 1
    sent = np.array([0, ones, ones >> 1, ones - 1, 1 << (width - 1)], np.uint64)
    index = f"<u{ResultPackets(job, np.dtype('i1'), lambda *_: None).size(INDICES) // 5}"
    _, positions = taken(
        job, "i1", {VALUES: np.arange(5, dtype=np.uint8), INDICES: sent.astype(index)}
    )
    assert positions.dtype == np.uint32
    assert positions.tolist() == [
        [0, EMPTY_INDEX], [ones >> 1, ones - 1], [1 << (width - 1), 0],
    ]  # fmt: skip


def test_a_block_without_positions_gives_zeros_in_their_place():
    config = CoreConfig((DataType.INT16,), lanes=2, index_width=0)
    assert ResultPackets.names(config) == (VALUES,)
    job = only_job(Reduction.of("max", (7, 3), "int16", 1), config)
    sent = np.arange(-3, 4, dtype=np.int16)
    values, positions = taken(job, np.int16, {VALUES: sent})
    assert values.dtype == np.int16
    assert values.tolist() == [[-3, -2], [-1, 0], [1, 2], [3, 0]]
    assert positions.dtype == np.uint32
    assert positions.tolist() == [[0, 0]] * 4


def test_parts_of_results_without_positions():
    """The number of the beats that have come before does not show in the next ones."""
    config = CoreConfig((DataType.INT8,), lanes=2, index_width=0)
    job = only_job(Reduction.of("max", (8, 3), "int8", 1), config)
    given = []
    packets = ResultPackets(job, np.dtype(np.int8), lambda *pair: given.append(pair))
    for place in range(8):
        packets.add(VALUES, np.array([place], np.uint8), place == 7)
    assert [values.tolist() for values, _ in given] == [[[n, n + 1]] for n in (0, 2, 4, 6)]
    assert [positions.tolist() for _, positions in given] == [[[0, 0]]] * 4


def test_results_are_handed_over_when_there_are_more_of_them():
    """Half of a position makes no beat, so it hands over nothing."""
    config = CoreConfig((DataType.INT8,))
    job = only_job(Reduction.of("argmax", (300, 3), "int8", 1), config)
    given = []
    packets = ResultPackets(job, np.dtype(np.int8), lambda *pair: given.append(pair))
    packets.add(VALUES, np.zeros(300, np.uint8), True)
    positions = np.arange(300, dtype="<u4").view(np.uint8)
    for first, stop in ((0, 1120), (1120, 1122), (1122, 1200)):
        packets.add(INDICES, positions[first:stop], stop == 1200)
    assert [len(values) for values, _ in given] == [280, 20]


def test_elements_go_into_the_low_bytes_of_their_lanes():
    config = CoreConfig((DataType.INT8, DataType.INT32), lanes=2)
    for dtype in ("int8", "int32"):
        job = only_job(Reduction.of("max", (2, 3), dtype, 1), config)
        x = np.array([[-1, 2, 3], [4, 5, -6]], dtype)
        sent = np.concatenate(list(input_pieces(job, x)))
        assert len(sent) == input_size(job) == job.beats_in * port_widths(config)[INPUT] // 8
        lanes = sent.view("<u4").reshape(-1, 2)
        assert lanes.tolist() == (x.view(f"u{x.itemsize}").T).tolist()


class Failed:
    """A transport whose block tells of an error."""

    def __init__(self, code, register, job):
        words = {"IRQ_STATUS": 1 << 0, "ERROR": 0}
        self._words = {word.address: word.reset for word in regs.register_map(CONFIG)}
        for word in regs.register_map(CONFIG):
            if word.name == "IRQ_STATUS":
                words[word.name] = word.field("error").mask
            if word.name == "ERROR":
                fields = {"code": code, "register": register, "job": job}
                words[word.name] = sum(
                    value << word.field(name).lowest for name, value in fields.items()
                )
            self._words[word.address] = words.get(word.name, word.reset)

    def read(self, address):
        return self._words[address]

    def write(self, address, word):
        """Take it; nothing changes."""


@pytest.mark.parametrize("code", [code for code in BlockError if code != BlockError.NONE])
def test_only_an_error_of_range_names_a_register(code):
    number = regs.command_number("tail")
    transport: Any = Failed(code, number, 7)
    with pytest.raises(JobFailedError) as error:
        BlockDriver(transport, CONFIG).check()
    named = "tail" if code == BlockError.RANGE else None
    assert (error.value.code, error.value.job, error.value.register) == (code.name, 7, named)


@pytest.mark.parametrize("register", [None, "tail"])
def test_a_failed_job_is_told_in_another_process(register):
    error = JobFailedError("RANGE", 3, register)
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.code, copied.job, copied.register) == ("RANGE", 3, register)
    assert str(copied) == str(error)


class Waiting(Failed):
    """Such a transport in which the interrupt is raised until the error is cleared."""

    def __init__(self):
        super().__init__(BlockError.TLAST_LATE, 0, 3)
        self._waits = 0

    def wait(self):
        self._waits += 1
        assert self._waits < 3, "nobody has looked at what the interrupt tells"
        return bool(self._words[regs.IRQ_STATUS])

    def write(self, address, word):
        if address == regs.IRQ_STATUS:
            self._words[address] &= ~word


def test_an_error_behind_the_last_result_is_told():
    transport: Any = Waiting()
    driver = BlockDriver(transport, CONFIG)
    transport._words[regs.IRQ_STATUS] = 1 << 1
    with pytest.raises(JobFailedError) as error:
        driver.finish()
    assert (error.value.code, error.value.job) == ("TLAST_LATE", 3)
    driver.finish()


class Streams:
    """The transport of a dataflow block, which has no registers; something moves for a while."""

    def __init__(self):
        self.moves = 2

    def wait(self):
        self.moves -= 1
        return self.moves > 0


def test_a_dataflow_block_is_not_asked_for_errors():
    transport: Any = Streams()
    config = dataflow_core(Reduction.of("argmax", (3, 5), "int8", 1))
    driver = BlockDriver(transport, config)
    driver.finish()
    assert transport.moves == 0


def test_only_the_same_major_version_is_taken_and_no_older_minor_one(monkeypatch):
    """A driver of version 1.3 refuses blocks with an older map, and those with another one."""
    transport: Any = Failed(BlockError.NONE, 0, 0)
    read = transport.read
    (version,) = (word.address for word in regs.register_map(CONFIG) if word.name == "VERSION")
    # The map is remembered, and other tests need it as it is: so only from here on.
    monkeypatch.setattr(regs, "VERSION", (1, 3))
    words = {}
    transport.read = lambda address: words.get(address, read(address))
    for major, minor in ((0, 7), (2, 7), (2, 0), (0xFFFF, 3), (1, 0), (1, 2)):
        words[version] = major << 16 | minor
        with pytest.raises(DeviceError, match=rf"1\.3, or .* has version {major}\.{minor}$"):
            BlockDriver(transport, CONFIG)
    for minor in (3, 4, 0xFFFF):
        words[version] = 1 << 16 | minor
        BlockDriver(transport, CONFIG)


class Clock:
    """Stands for the module ``time``: each look at it takes some seconds."""

    def __init__(self, step):
        self.now, self._step = 0.0, step

    def monotonic(self):
        self.now += self._step
        return self.now


class Idle:
    """A channel whose transfer ends when it is told to."""

    def __init__(self):
        self.idle, self.transferred = False, 0

    def transfer(self, array):
        self.idle, self.transferred = False, len(array)

    def wait(self):
        assert self.idle


def waiting(monkeypatch, step, **options):
    """Return a clock, a channel on which a packet is awaited, the transport, and what has come."""
    clock, sink, come = Clock(step), Idle(), []
    monkeypatch.setattr(dma, "time", clock)
    registers: Any = None
    transport = DmaTransport(registers, Idle(), {VALUES: sink}, np.empty, **options)
    transport.receive(VALUES, 8, lambda part, last: come.append((len(part), last)))
    return clock, sink, transport, come


def wait_on(transport):
    for _ in range(1000):
        transport.wait()


def test_without_an_interrupt_a_wait_ends_after_a_short_time(monkeypatch):
    clock, _, transport, _ = waiting(monkeypatch, dma.LOOK_SECONDS / 8)
    before = clock.now
    assert transport.wait() is True
    assert dma.LOOK_SECONDS <= clock.now - before < 2 * dma.LOOK_SECONDS


@pytest.mark.parametrize("interrupt", [None, lambda: False])
@pytest.mark.parametrize("seconds", [2.0, 20.0])
def test_a_packet_is_given_up_after_some_time(monkeypatch, interrupt, seconds):
    clock, sink, transport, come = waiting(
        monkeypatch, seconds / 16, interrupt=interrupt, seconds=seconds
    )
    before = clock.now
    with pytest.raises(DeviceError, match=rf"^no packet has come for {seconds} s$"):
        wait_on(transport)
    # This clock also goes on between two waits, which is not counted: without an interrupt it does
    # so as often as within one.
    assert seconds < clock.now - before < (1.5 if interrupt else 2.2) * seconds
    # The time begins anew with each packet that comes.
    sink.idle = True
    transport.wait()
    assert come == [(8, True)]
    transport.receive(VALUES, 8, lambda *_: None)
    sink.idle = False
    before = clock.now
    with pytest.raises(DeviceError, match="no packet has come"):
        wait_on(transport)
    assert clock.now - before > 0.9 * seconds


def test_a_packet_ends_a_wait_for_several(monkeypatch):
    """The time in which the next one must come begins with it, and not with its request."""
    clock, sink, transport, come = waiting(
        monkeypatch, 1 / 64, interrupt=lambda: False, seconds=1.0
    )
    transport.receive(VALUES, 8, lambda part, last: come.append("second"))
    sink.idle = True
    before = clock.now
    assert transport.wait() is False
    assert come == [(8, True)]
    assert clock.now - before < 0.1
    # It has begun to wait for the second packet.
    before = clock.now
    with pytest.raises(DeviceError, match="no packet has come"):
        transport.wait()
    assert 1.0 < clock.now - before < 1.1
    sink.idle = True
    transport.wait()
    assert come == [(8, True), "second"]


def test_a_packet_that_is_not_sent_is_given_up_after_some_time(monkeypatch):
    clock = Clock(1 / 64)
    monkeypatch.setattr(dma, "time", clock)
    registers: Any = None
    transport = DmaTransport(registers, Idle(), {}, np.empty, interrupt=lambda: False, seconds=2.0)
    transport.send([np.zeros(8, np.uint8)], 8)
    before = clock.now
    with pytest.raises(DeviceError, match=r"^no packet has come for 2\.0 s$"):
        transport.wait()
    assert 2.0 < clock.now - before < 2.1


def test_an_interrupt_ends_a_wait(monkeypatch):
    _, sink, transport, _ = waiting(monkeypatch, 0.0, interrupt=lambda: True)
    assert transport.wait() is True
    sink.idle = True
    _, sink, transport, come = waiting(monkeypatch, 0.0, interrupt=lambda: False)
    sink.idle = True
    assert transport.wait() is False
    assert come == [(8, True)]


def test_behind_stopped_channels_transfers_are_forgotten(monkeypatch):
    """So the first packet behind a soft reset is not given to a job in front of it."""
    freed = []

    class Buffer(np.ndarray):
        def freebuffer(self):
            freed.append(len(self))

    _, sink, transport, come = waiting(monkeypatch, 0.0, interrupt=lambda: True)
    monkeypatch.setattr(transport, "_allocate", lambda *given: np.empty(*given).view(Buffer))
    transport.receive(VALUES, 5, lambda *_: come.append("old"))
    sink.idle = True  # it was stopped
    transport.stop()
    assert freed == [5]
    transport.receive(VALUES, 3, lambda part, last: come.append((len(part), last)))
    assert not sink.idle
    sink.idle = True
    transport.wait()
    assert come == [(3, True)]
    assert freed == [5, 3]


def test_the_buffer_of_a_packet_that_is_refused_is_freed(monkeypatch):
    freed = []

    class Buffer(np.ndarray):
        def freebuffer(self):
            freed.append(len(self))

    def refuse(part, last):
        raise DeviceError("it is too short")

    _, sink, transport, _ = waiting(monkeypatch, 0.0, interrupt=lambda: True)
    sink.idle = True
    transport.wait()
    monkeypatch.setattr(transport, "_allocate", lambda *given: np.empty(*given).view(Buffer))
    transport.receive(VALUES, 5, refuse)
    sink.idle = True
    with pytest.raises(DeviceError, match=r"^it is too short$"):
        transport.wait()
    assert freed == [5]


def test_the_time_that_the_host_needs_is_no_waiting(monkeypatch):
    """The input is gathered after the packet of results was asked for, and may take long."""
    clock, sink, transport, come = waiting(monkeypatch, 0.001, seconds=1.0)
    for _ in range(3):
        clock.now += 100
        transport.wait()
    sink.idle = True
    transport.wait()
    assert come == [(8, True)]
