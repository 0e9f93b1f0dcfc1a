"""What the C driver learns of a running block: ends of jobs, errors, events, counters."""

import pytest
from c_block import CONFIG, Counters, Events, built_block_driver, opened, some_job

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.tb.c_driver.structures import ERRORS, HEADER


@pytest.fixture(name="driver", scope="module")
def sanitised_driver(tmp_path_factory):
    return built_block_driver(tmp_path_factory.mktemp("c_block"))


@pytest.mark.parametrize("code", [*(error for error in BlockError if error), 6, 12, 129, 255])
def test_each_way_a_job_fails_has_its_code(driver, code):
    """After any of them all registers are written again, since some may not have been taken."""
    fake, block = opened(driver)
    job = some_job(driver, block.core)
    assert ERRORS[driver.extremum_start(block, job)] == "OK"
    fake.carry_out()
    fake.fail(code, register=209, job=201)
    events = Events()
    driver.extremum_take_events(block, events)
    known = code in list(BlockError)
    assert ERRORS[events.error] == (f"JOB_{BlockError(code).name}" if known else "JOB_FAILED")
    assert (events.events, events.command, events.job) == (0b11, 209, 201)
    assert fake.words[regs.IRQ_STATUS] == 0
    fake.registers.clear()
    assert ERRORS[driver.extremum_start(block, job)] == "OK"
    fake.carry_out()
    assert fake.started[0] == fake.started[1]
    assert len(fake.started[1]) == len(regs.written_bits(CONFIG))


def test_what_an_earlier_program_left_is_not_taken_for_the_next_job(driver):
    fake, block = opened(driver)
    fake.fail(int(BlockError.TLAST_EARLY), register=17, job=201)
    assert ERRORS[driver.extremum_open(block, fake.bus)] == "OK"
    assert [access for access in fake.accesses if access[0] == "w"] == [
        ("w", regs.IRQ_STATUS, 0b111)
    ] * 2
    assert ERRORS[driver.extremum_start(block, some_job(driver, block.core))] == "OK"
    fake.carry_out()
    assert ERRORS[driver.extremum_wait(block, 10)] == "OK"


def test_events_are_taken_once(driver):
    fake, block = opened(driver)
    events = Events(9, 9, 9, 9)
    fake.set_field("IRQ_STATUS", done=1)
    fake.set_field("ERROR", code=BlockError.TAIL)  # of an error that was taken before
    for wanted in (1, 0):
        driver.extremum_take_events(block, events)
        assert (events.events, events.error, events.job, events.command) == (wanted, 0, 0, 0)
    assert ("r", regs.ERROR) not in fake.accesses


def test_an_event_between_reading_and_clearing_is_not_lost(driver):
    fake, block = opened(driver)
    fake.set_field("IRQ_STATUS", done=1)
    read = fake.read

    def read_and_fail(address):
        word = read(address)
        if address == regs.IRQ_STATUS:
            fake.fail(BlockError.TAIL)
        return word

    fake.read = read_and_fail
    events = Events()
    driver.extremum_take_events(block, events)
    assert (events.events, events.error) == (1, 0)
    assert fake.words[regs.IRQ_STATUS] == 0b10
    driver.extremum_take_events(block, events)
    assert (events.events, ERRORS[events.error]) == (0b10, "JOB_TAIL")


def test_the_wait_ends_when_the_block_is_idle_or_the_polls_are_over(driver):
    fake, block = opened(driver)
    for busy, polls, wanted in (
        (0, 1, "OK"),
        (4, 5, "OK"),
        (5, 5, "TIMED_OUT"),
        (0, 0, "TIMED_OUT"),
    ):
        fake.busy_reads = busy
        fake.set_field("IRQ_STATUS", done=1)
        fake.accesses.clear()
        assert ERRORS[driver.extremum_wait(block, polls)] == wanted
        assert fake.accesses.count(("r", regs.STATUS)) == min(busy + 1, polls)
        assert fake.words[regs.IRQ_STATUS] == (wanted != "OK")
    fake.busy_reads = 2
    fake.fail(BlockError.TLAST_EARLY)
    assert ERRORS[driver.extremum_wait(block, 10)] == "JOB_TLAST_EARLY"
    assert ERRORS[driver.extremum_wait(block, 10)] == "OK"


def test_whether_it_is_busy(driver):
    fake, block = opened(driver)
    fake.busy_reads = 1
    assert driver.extremum_is_busy(block)
    assert not driver.extremum_is_busy(block)


@pytest.mark.parametrize("mask", [0, 1, 2, 3, 4, 7, 15])
def test_interrupts_are_enabled_event_by_event(driver, mask):
    """That the block was idle before is cleared first, and nothing else."""
    fake, block = opened(driver)
    fake.accesses.clear()
    driver.extremum_enable_interrupts(block, mask)
    assert fake.accesses == [("w", regs.IRQ_STATUS, 0b100), ("w", regs.IRQ_ENABLE, mask & 0b111)]
    assert [f"EXTREMUM_EVENT_{name.upper()} = {1 << bit}" in HEADER
            for bit, (name, _) in enumerate(regs.EVENTS)] == [True] * 3  # fmt: skip


def test_counters(driver):
    fake, block = opened(driver)
    for number, (name, _) in enumerate(regs.COUNTERS):
        fake.set_field(name, value=1000 + number)
    counters = Counters()
    driver.extremum_read_counters(block, counters)
    given = [getattr(counters, member[0]) for member in Counters._fields_]
    assert given == [1000 + number for number in range(len(regs.COUNTERS))]
    fake.accesses.clear()
    driver.extremum_clear_counters(block)
    field = fake.map[regs.CONTROL].field("clear_counters")
    assert fake.accesses == [("w", regs.CONTROL, field.mask)]
