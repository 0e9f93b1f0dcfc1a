"""Parts of the driver on their own: what packets hold, and how many clocks a block takes."""

import numpy as np
import pytest
from driver_parts import THREE_LANES, only_job

from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, has_input_buffer, port_widths
from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import latency
from extremum.hdl.ports import EMPTY_INDEX
from extremum.host.driver.block import END_CLOCKS, unused_clocks, waiting_clocks
from extremum.host.driver.packets import ResultPackets, filled_beats, input_pieces, input_size
from extremum.host.plan import dataflow_core
from extremum.model import DataType, Pooling, Reduction


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
    behind = schedule.last_window + latency(THREE_LANES) - schedule.last_element
    assert schedule.first_element == padding
    assert behind < 0
    assert unused_clocks(job) == padding + END_CLOCKS == padding + 9
    dense = only_job(Pooling.of((1, 1, 1, size), "int8", 1, start_padding=(0, padding)))
    assert unused_clocks(dense) == padding + max(0, END_CLOCKS - latency(THREE_LANES))


@pytest.mark.parametrize("width", [1, 12])
@pytest.mark.parametrize("padding", [0, 1, 2, 6])
@pytest.mark.parametrize(("pipelining", "begins"), [("small", 1), ("balanced", 1), ("fast", 0)])
def test_the_first_beat_of_a_job_may_wait_in_the_buffer_of_a_dataflow_block(
    padding, width, pipelining, begins
):
    """While windows of padding alone pass, and one clock more until a small core has begun."""
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
