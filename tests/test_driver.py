"""The driver of the AXI block, on the native simulation of a block."""

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from accelerators import check, make

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, port_widths
from extremum.host import Accelerator
from extremum.host.driver.block import JOBS_AHEAD, BlockDriver, Work
from extremum.host.driver.packets import ResultPackets
from extremum.host.driver.words import job_words
from extremum.host.errors import DeviceError, JobFailedError, SimulationError
from extremum.host.plan_runner import RunSettings
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.cores import CORES
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import jobs

CORE = "reduction"
CONFIG = CORES[CORE]
START = regs.command_address(regs.START_COMMAND)
DTYPE = np.dtype(f"u{CONFIG.element_width // 8}")


class Through:
    """A transport that goes through to another, and notes what is written."""

    def __init__(self, transport):
        self._transport = transport
        self.written = []

    def __getattr__(self, name):
        return getattr(self._transport, name)

    def write(self, address, word):
        self.written.append((address, word))
        self._transport.write(address, word)


@pytest.fixture(name="block", scope="module")
def native_block():
    block = NativeBlock(CONFIG)
    yield block
    block.close()


@pytest.fixture(name="transport")
def counting_transport(block):
    block.begin(StreamSettings())
    return Through(block)


@pytest.fixture(name="driver")
def driver_of(transport):
    return BlockDriver(transport, CONFIG)


def drawn(seed, count, least_beats=1):
    """Return jobs of at least so many beats, with their tensors."""
    pairs = jobs(random.Random(seed), CONFIG, 100 * count)
    return [(job, x) for job, x in pairs if job.beats_in >= least_beats][:count]


def carry_out(driver, pairs):
    """Run jobs, and compare their results with those of the golden model."""
    board, given = Scoreboard(CONFIG), []
    for job, x in pairs:
        board.add(job, x)

    def take(values, positions):
        wide = values.view(f"u{values.itemsize}").astype(DTYPE)
        for row in range(len(values)):
            given.append(wide[row].tobytes() + positions[row].tobytes())

    driver.run(Work(job, x, take) for job, x in pairs)
    size = CONFIG.lanes * (CONFIG.element_width + CONFIG.index_width) // 8
    expected = [(word & (1 << 8 * size) - 1).to_bytes(size, "little") for word in board.expected]
    assert given == expected


@pytest.mark.parametrize("stalls", [{}, {"input_stalls": 50, "output_stalls": 70, "seed": 1}])
def test_jobs_one_behind_the_other(block, driver, stalls):
    """More jobs than are started ahead, of one beat and of hundreds."""
    block.begin(StreamSettings(**stalls))
    pairs = drawn(1, 5 * JOBS_AHEAD)
    before, finished = driver.counters(), driver.finished
    carry_out(driver, pairs)
    counted = {name: count - before[name] for name, count in driver.counters().items()}
    assert counted["jobs"] == driver.finished - finished == len(pairs)
    assert counted["beats_in"] == sum(job.beats_in for job, _ in pairs)
    assert counted["beats_out"] == sum(job.beats_out for job, _ in pairs)
    assert bool(stalls) == (counted["stalls_in"] > 3 * len(pairs))
    assert bool(stalls) == (counted["stalls_out"] > len(pairs))
    # How many there are depends on the clock of the first job: the counters are visited in turn.
    assert counted["stalls_out"] + counted["beats_out"] < counted["cycles"]
    assert counted["beats_in"] < counted["cycles"] < block.clocks.now


@pytest.mark.parametrize("events", range(1 << len(regs.EVENTS)))
def test_any_event_may_be_enabled(block, driver, transport, events):
    """What a program has enabled besides errors makes no wait endless: `idle` for example lasts."""
    transport.write(regs.IRQ_ENABLE, events)
    carry_out(driver, drawn(6, 2 * JOBS_AHEAD))
    assert not transport.wait()
    ((job, x),) = drawn(7, 1, least_beats=4)
    driver.start(Work(job, x, lambda *_: None))
    with transport.resetting():
        driver.reset()
    assert transport.read(regs.IRQ_ENABLE) == 1 << 1
    carry_out(driver, [(job, x)])


def test_an_interrupt_that_lasts_hides_no_hang():
    """A program has enabled `idle`, and asks for a packet of which no job has been started."""
    block = NativeBlock(CONFIG)
    block.begin(StreamSettings(watchdog=2000))
    driver = BlockDriver(block, CONFIG)
    block.write(regs.IRQ_ENABLE, regs.IDLE)
    block.receive(INDICES, 4, lambda *_: None)

    def wait():
        while block.wait():
            driver.check()

    with pytest.raises(SimulationError, match=r"nothing moved for 2001 clocks"):
        wait()
    block.close()


def test_only_changed_registers_are_written(driver, transport):
    (first, x), (second, y) = drawn(2, 2)
    known = {}
    for job, tensor in ((first, x), (first, x), (second, y)):
        transport.written.clear()
        carry_out(driver, [(job, tensor)])
        changed = [each for each in job_words(job).items() if known.get(each[0]) != each[1]]
        assert transport.written == [*changed, (START, 1)]
        known = job_words(job)
    with transport.resetting():
        driver.reset()
    transport.written.clear()
    carry_out(driver, [(second, y)])
    assert transport.written == [*job_words(second).items(), (START, 1)]


def test_the_queue_is_never_overrun(driver, transport, monkeypatch):
    """Jobs of a beat, whose commands come faster than they are carried out."""
    depth, free = regs.command_queue_depth(CONFIG), []
    monkeypatch.setattr("extremum.host.driver.block.JOBS_AHEAD", 100)
    status = next(word for word in regs.register_map(CONFIG) if word.name == "STATUS")
    field = status.field("queue_free")
    read = transport._transport.read

    def seen(address):
        word = read(address)
        if address == status.address:
            free.append(field.of(word))
        return word

    transport.read = seen
    short = [pair for pair in drawn(3, 60) if pair[0].beats_in < 3]
    carry_out(driver, (short * 20)[:200])
    assert min(free) < depth // 2
    # Without a look at the space, a write would be refused.
    with monkeypatch.context() as patched:
        patched.setattr(BlockDriver, "_make_room", lambda self: None)
        with pytest.raises(DeviceError, match=r"refused the write of address 0x|QUEUE_FULL"):
            carry_out(driver, (drawn(4, 30) * 10)[:300])
    with transport.resetting():
        driver.reset()
    carry_out(driver, (short * 20)[:200])


def test_a_value_that_does_not_fit(driver, transport):
    """The error names the register and the job; after a reset the next job is right."""
    pairs = drawn(5, 3)
    carry_out(driver, pairs[:1])
    number = regs.command_number("tail")
    job, x = pairs[1]
    # The driver takes this for the register's value, since the job needs the same as before.
    transport.write(regs.command_address(number), 1 << 20)
    with pytest.raises(
        JobFailedError, match=r"^the block reported RANGE in register tail for job "
    ) as error:
        driver.run([Work(pairs[0][0], pairs[0][1], lambda *_: None)])
    assert (error.value.code, error.value.register) == ("RANGE", "tail")
    driver.check()  # an error is told once
    with transport.resetting():
        driver.reset()
    carry_out(driver, [(job, x), pairs[2]])


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


def test_accesses_that_are_refused(transport):
    reserved = 0x1FC
    with pytest.raises(DeviceError, match=r"^the block refused the read of address 0x1fc$"):
        transport.read(reserved)
    transport.write(reserved, 1)  # answered a clock later
    with pytest.raises(DeviceError, match=r"^the block refused the write of address 0x1fc$"):
        transport.read(0)
    assert transport.read(0) == regs.ID


@pytest.mark.parametrize(("held", "told"), [(3, "more"), (1, "fewer")])
def test_packets_that_are_not_of_the_size_that_was_told(held, told):
    """They would be the first bytes of the next packet, or be taken from it."""
    block, beat = NativeBlock(CONFIG), np.zeros(port_widths(CONFIG)[INPUT] // 8, np.uint8)
    block.send([beat] * held, 2 * len(beat))
    block.send([beat], len(beat))

    def start_and_wait():
        while True:
            block.pass_clocks(50)
            block.write(regs.command_address(regs.START_COMMAND), 1)

    with pytest.raises(ValueError, match=f"^the pieces of a packet hold {told} bytes than its si"):
        start_and_wait()


def test_a_job_that_the_core_was_not_built_for(driver):
    job, x = next(jobs(random.Random(1), CORES["image"], 1))
    with pytest.raises(ValueError, match=r"^the job is planned for another core: plan it for the"):
        driver.run([Work(job, x, lambda *_: None)])
    with pytest.raises((ValueError, OverflowError), match=r"job register|was built"):
        driver.run([Work(replace(cast(Any, job), config=CONFIG), x, lambda *_: None)])


def test_a_tensor_that_is_not_the_operators(driver, block):
    """It is refused before anything is written, so the next job needs no reset."""
    pairs = drawn(7, 2)
    job, x = pairs[0]
    wrong = (
        (x.astype(np.float64), TypeError, "^data type must be one of"),
        (
            x.view(f"u{x.itemsize}" if x.dtype.kind != "u" else f"i{x.itemsize}"),
            TypeError,
            "^x must",
        ),
        (np.repeat(x, 2, -1), ValueError, "^x must have sizes"),
        (x[np.newaxis], ValueError, "^x must have sizes"),
    )
    before = driver.written, block.clocks
    for tensor, error, told in wrong:
        with pytest.raises(error, match=told):
            driver.run([Work(job, tensor, lambda *_: None)])
    assert (driver.written, block.clocks) == before
    carry_out(driver, pairs)


def test_a_job_of_an_equal_configuration_is_one_of_the_core(driver):
    """As when job and driver were given configurations that two files held."""
    carry_out(
        driver,
        [(replace(cast(Any, job), config=replace(CONFIG)), x) for job, x in drawn(4, 2)],
    )


def test_registers_have_the_values_after_reset_that_the_map_tells(block, transport):
    block.reset()
    for register in regs.register_map(CONFIG):
        if register.is_readable:
            assert transport.read(register.address) == register.reset, register.name


def test_counters_are_cleared(driver, transport):
    carry_out(driver, drawn(9, 3))
    assert driver.counters()["jobs"] >= 3
    driver.clear_counters()
    transport.pass_clocks(20)
    assert set(driver.counters().values()) == {0}
    carry_out(driver, drawn(9, 3))
    assert driver.counters()["jobs"] == 3


def test_an_accelerator_on_the_block():
    """Operators of every kind, with and without stalls, as on the core."""
    x = np.random.default_rng(1).integers(-9, 9, (3, 40)).astype(np.float32)
    for stalls in ({}, {"input_stalls": 60, "output_stalls": 60}):
        with make(CORE, "native axi", **stalls) as accelerator:
            for function in ("argmin", "argmax", "reduce_min", "reduce_max"):
                check(accelerator, function, x, 1)
                check(accelerator, function, x)
            planes = x[None, None, :, :6]
            check(accelerator, "max_pooling", planes, 2, start_padding=1, return_indices=True)


def test_elements_behind_the_last_window():
    """The last result does not end an operator: the block takes the rest, however much it is."""
    x = np.random.default_rng(1).integers(-9, 9, (1, 1, 500, 500)).astype(np.float32)
    with make(CORE, "native axi") as accelerator:
        check(accelerator, "max_pooling", x, 1, strides=500)
        check(accelerator, "argmax", x[0, 0, :3], 1)


@pytest.mark.parametrize("before", [1, 10, 60])
def test_counters_that_wrap_during_an_operator(monkeypatch, before):
    """A block counts modulo 2^32, and a report has what one operator added."""
    x = np.zeros((3, 40), np.float32)
    counted = BlockDriver.counters
    reports = []
    for offset in (0, 2**32 - before):

        def shifted(driver, offset=offset):
            told = counted(driver).items()
            return {name: (count + offset) % 2**32 for name, count in told}

        monkeypatch.setattr(BlockDriver, "counters", shifted)
        with make(CORE, "native axi") as accelerator:
            check(accelerator, "argmax", x, 1)
            reports.append(accelerator.report)
    assert reports[0] == reports[1]


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


def test_a_bus_that_there_is_not():
    with pytest.raises(ValueError, match=r"^bus must be one of none, axi, not 'pci'$"):
        Accelerator(bus="pci")
    with pytest.raises(ValueError, match=r"^bus 'axi' needs a simulator: the backend must not be"):
        Accelerator(bus="axi", backend="model")


def test_a_hang_names_the_clock():
    """With so short a watchdog a stall is a hang; the next operator starts afresh."""
    x = np.zeros(50, np.float32)
    with make(CORE, "native axi", input_stalls=99, watchdog=30, seed=3) as accelerator:
        message = r"^native: clock \d+.*nothing moved for 31 clocks; \d+ beats wait, and packets"
        with pytest.raises(SimulationError, match=message):
            accelerator.argmax(x)
        assert accelerator.report is None
        accelerator._settings = RunSettings()
        assert accelerator.argmax(x) == 0


def test_no_watchdog_while_clocks_are_passed(block):
    block.begin(StreamSettings(watchdog=10))
    block.pass_clocks(1000)
    assert block.clocks.now == 1000


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
