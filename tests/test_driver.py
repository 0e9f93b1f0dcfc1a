"""The driver of the AXI block, on the native simulation of a block: jobs, registers, errors."""

import random
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from driven_block import CONFIG, START, carry_out, drawn

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import INDICES
from extremum.host.driver.block import JOBS_AHEAD, BlockDriver, Work
from extremum.host.driver.words import job_words
from extremum.host.errors import DeviceError, JobFailedError, SimulationError
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.cores import CORES
from extremum.tb.sequences import jobs

pytest_plugins = ["driven_block"]


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


def test_accesses_that_are_refused(transport):
    reserved = 0x1FC
    with pytest.raises(DeviceError, match=r"^the block refused the read of address 0x1fc$"):
        transport.read(reserved)
    transport.write(reserved, 1)  # answered a clock later
    with pytest.raises(DeviceError, match=r"^the block refused the write of address 0x1fc$"):
        transport.read(0)
    assert transport.read(0) == regs.ID


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


def test_no_watchdog_while_clocks_are_passed(block):
    block.begin(StreamSettings(watchdog=10))
    block.pass_clocks(1000)
    assert block.clocks.now == 1000
