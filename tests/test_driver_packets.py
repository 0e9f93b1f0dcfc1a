"""The packets of the driver: of the wrong length, in parts of any size, one behind the other."""

import random
from itertools import pairwise

import numpy as np
import pytest
from driven_block import CONFIG, START, carry_out, drawn

from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, port_widths
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.driver.packets import ResultPackets
from extremum.host.errors import DeviceError, JobFailedError
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.cores import CORES
from extremum.tb.sequences import jobs

pytest_plugins = ["driven_block"]


@pytest.mark.parametrize(("change", "code"), [(-1, "TLAST_EARLY"), (3, "TLAST_LATE")])
def test_packets_of_the_wrong_length(driver, transport, change, code):
    (job, x), after = drawn(6, 2, least_beats=5)
    beat = CONFIG.lanes * CONFIG.element_width // 8

    def wrong(pieces, size):
        whole = np.concatenate([*pieces, np.zeros(3 * beat, np.uint8)])[: size + change * beat]
        transport._transport.send([whole], len(whole))

    transport.send = wrong
    with pytest.raises(JobFailedError) as error:
        driver.run([Work(job, x, lambda *_: None)])
    assert error.value.code == code
    del transport.send
    with transport.resetting():
        driver.reset()
    carry_out(driver, [after])


def test_the_wrong_packet_of_results(driver, transport, monkeypatch):
    """A job that gives more or fewer results than the driver thinks."""
    for change in (1, -1):
        (job, x) = next(pair for pair in drawn(7, 20) if pair[0].beats_out > 2)
        size = type(job).beats_out.__get__(job)
        monkeypatch.setattr(type(job), "beats_out", property(lambda self, n=size + change: n))
        with pytest.raises(DeviceError, match=r"^the packet on m_axis_\w+ (ended|goes on) after"):
            driver.run([Work(job, x, lambda *_: None)])
        monkeypatch.undo()
        with transport.resetting():
            driver.reset()
        carry_out(driver, drawn(8, 2))


def test_a_packet_that_goes_on():
    """It is an error as soon as there is a byte too many."""
    (job, x), *_ = drawn(12, 1)
    packets = ResultPackets(job, x.dtype, lambda *_: None)
    for name in (VALUES, INDICES):
        with pytest.raises(
            DeviceError, match=rf"^the packet on {name} goes on after \d+ bytes: the"
        ):
            packets.add(name, np.zeros(packets.size(name) + 1, np.uint8), False)


@pytest.mark.parametrize(("held", "told"), [(3, "more"), (1, "fewer")])
def test_packets_that_are_not_of_the_size_that_was_told(held, told):
    """They would be the first bytes of the next packet, or be taken from it."""
    block, beat = NativeBlock(CONFIG), np.zeros(port_widths(CONFIG)[INPUT] // 8, np.uint8)
    block.send([beat] * held, 2 * len(beat))
    block.send([beat], len(beat))

    def start_and_wait():
        while True:
            block.pass_clocks(50)
            block.write(START, 1)

    with pytest.raises(ValueError, match=f"^the pieces of a packet hold {told} bytes than its si"):
        start_and_wait()


def test_jobs_of_a_plan_overlap(block):
    """The packets of jobs that were started ahead follow each other."""
    driver = BlockDriver(block, CONFIG)
    (job, x) = drawn(11, 1, least_beats=60)[0]
    driver.run([Work(job, x, lambda *_: None)])
    block.begin(StreamSettings())
    driver.run([Work(job, x, lambda *_: None)] * 10)
    clocks = block.packets(INPUT).tolist()
    assert [last - first + 1 for first, last in clocks[1:]] == [job.beats_in] * 9
    assert all(after[0] == before[1] + 1 for before, after in pairwise(clocks))


@pytest.mark.parametrize("parts", [1, 7, 64, 10_000])
@pytest.mark.parametrize("core", CORES)
def test_packets_come_in_parts_of_any_size(core, parts):
    """Values and positions are put together as they come, whichever stream is ahead."""
    config = CORES[core]
    for job, x in jobs(random.Random(parts), config, 25):
        given = []
        packets = ResultPackets(job, x.dtype, lambda *pair, to=given: to.append(pair))
        beats = [packets._offset(beat + 1) - packets._offset(beat) for beat in range(job.beats_out)]
        numbers = np.arange(sum(beats)).astype(np.uint8) % 100
        elements = dict.fromkeys((VALUES, INDICES), numbers)
        sent = {}
        for name in elements:
            width = packets.size(name) // sum(beats)
            sent[name] = numbers.astype(f"<u{width}").view(np.uint8)
        places, source = {VALUES: 0, INDICES: 0}, random.Random(1)
        while not packets.is_complete:
            name = source.choice([name for name in places if places[name] < len(sent[name])])
            stop = min(places[name] + source.randint(1, parts), len(sent[name]))
            packets.add(name, sent[name][places[name] : stop], stop == len(sent[name]))
            places[name] = stop
        assert all(len(values) % job.together == 0 for values, _ in given)
        values, positions = (np.concatenate(arrays) for arrays in zip(*given, strict=True))
        assert len(values) == len(positions) == job.beats_out
        start = 0
        for row, count in enumerate(beats):
            expected = elements[VALUES][start : start + count]
            assert values.view(f"u{x.itemsize}")[row].tolist() == [
                *expected, *[0] * (config.lanes - count)
            ]  # fmt: skip
            assert positions[row].tolist() == values.view(f"u{x.itemsize}")[row].tolist()
            start += count
