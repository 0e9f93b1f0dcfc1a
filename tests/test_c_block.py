"""How the C driver opens a block and starts jobs: what it reads and writes, and when."""

import ctypes
import random
from dataclasses import replace
from itertools import islice

import pytest
from c_block import (
    CONFIG,
    Block,
    Events,
    FakeBlock,
    built_block_driver,
    opened,
    operators,
    planned_in_c,
    some_job,
)

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import register_names
from extremum.hdl.registers import job_shapes
from extremum.host.driver.words import job_words
from extremum.model import DataType
from extremum.tb.c_driver.operators import random_configs
from extremum.tb.c_driver.structures import ERRORS, Core, JobStruct

FEW_REGISTERS = CoreConfig((DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",))
"""A core whose queue holds several jobs with all their registers."""

LARGEST = CoreConfig(
    tuple(DataType), lanes=64, max_window=(255, 255, 255), max_dilation=(255, 255, 255),
    max_line=1 << 16, max_plane=1 << 24, coordinate_width=24, index_width=32,
)  # fmt: skip
"""The greatest number in each field."""

START = regs.command_address(regs.START_COMMAND)


@pytest.fixture(name="driver", scope="module")
def sanitised_driver(tmp_path_factory):
    return built_block_driver(tmp_path_factory.mktemp("c_block"))


def test_the_driver_configures_itself(driver):
    """What it reads from a block is what the configuration says."""
    source = random.Random(1)
    fixed = 0
    for config in [*random_configs(source), LARGEST]:
        if not job_shapes(config):
            continue
        _, block = opened(driver, config)
        expected = Core.of(config)
        for name in (member[0] for member in Core._fields_):
            given, wanted = getattr(block.core, name), getattr(expected, name)
            if name == "data_types":
                given, wanted = (list(types)[: expected.data_type_count] for types in
                                 (given, wanted))  # fmt: skip
            elif isinstance(wanted, ctypes.Array):
                given, wanted = list(given), list(wanted)
            assert given == wanted, f"{name} of {config}"
        fixed += expected.fixed != 0
        on_port = [name for name in register_names() if name in regs.written_bits(config)]
        numbers = [register_names().index(name) for name in on_port]
        assert block.numbers[: block.commands] == numbers
    assert fixed > 10


@pytest.mark.parametrize(
    "pairs",
    [
        (("groups", 2**32),),
        (("width.head", -3), ("width.window", 3)),
        (("width.head", -4), ("height.head", 1), ("height.window", 3)),
        (("width.regular", -2),),
        (("height.final", -2),),
        (("lane_step", 2**32 - 2),),
        (("width.stride", 2), ("minimum", 1)),
    ],
)
def test_fixed_registers_are_read_with_their_values(driver, pairs):
    config = CoreConfig((DataType.INT8,), lanes=2, fixed=pairs)
    _, block = opened(driver, config)
    expected = Core.of(config)
    assert block.core.fixed == expected.fixed
    assert list(block.core.fixed_values) == list(expected.fixed_values)


@pytest.mark.parametrize(
    ("register", "values", "error"),
    [
        ("ID", {"value": 0}, "NO_BLOCK"),
        ("VERSION", {"major": regs.VERSION[0] + 1}, "WRONG_VERSION"),
        ("VERSION", {"minor": regs.VERSION[1] - 1}, "WRONG_VERSION"),
        ("VERSION", {"minor": regs.VERSION[1] + 1}, "OK"),
        ("CORE", {"lanes": 0}, "BAD_CORE"),
        ("CORE", {"lanes": 65}, "BAD_CORE"),
        ("CAPACITY", {"coordinate_bits": 2}, "BAD_CORE"),
        ("DATA_TYPES_LOW", {"value": 0}, "BAD_CORE"),
        ("DATA_TYPES_LOW", {"value": 0x11}, "BAD_CORE"),  # two types of the first code
        ("DATA_TYPES_LOW", {"value": 0x30}, "BAD_CORE"),  # no type of the first code
        ("DATA_TYPES_LOW", {"value": 0xF1}, "BAD_CORE"),  # one beyond the last code that there is
    ],
)
def test_what_is_no_block_of_ours_is_refused(driver, register, values, error):
    fake = FakeBlock(CONFIG)
    fake.set_field(register, **values)
    assert ERRORS[driver.extremum_open(Block(), fake.bus)] == error
    assert all(kind == "r" for kind, *_ in fake.accesses) == (error != "OK")


def test_jobs_reach_the_registers_and_only_changes_are_written(driver):
    source = random.Random(2)
    kinds = [config for config in random_configs(source, 20) if job_shapes(config)]
    saved = 0
    for config in kinds:
        fake, block = opened(driver, config)
        for arguments, expected in operators(source, config, 20):
            jobs = planned_in_c(driver, block.core, arguments)
            for number, job in enumerate(islice(jobs, 4)):
                before = dict(fake.registers)
                fake.accesses.clear()
                error = ERRORS[driver.extremum_start(block, job)]
                if error == "REGISTER_FIXED":
                    assert not fake.accesses
                    continue
                assert error == "OK"
                written = [access[1:] for access in fake.accesses if access[0] == "w"]
                fake.carry_out()
                wanted = job_words(expected.jobs[number])
                assert fake.started[-1] == wanted
                assert written[-1][0] == START
                assert dict(written[:-1]) == {
                    address: word for address, word in wanted.items() if before.get(address) != word
                }
                assert len(written) == len(dict(written))
                saved += len(wanted) - len(written) + 1
    assert saved > 1000


def test_a_job_is_written_whole_or_not_at_all(driver):
    """It needs space for what has changed and for the start."""
    fake, block = opened(driver)
    job = some_job(driver, block.core)
    commands = len(regs.written_bits(CONFIG)) + 1
    for free in range(commands):
        fake.queue.extend([(START, 1)] * (fake.depth - free))
        fake.accesses.clear()
        assert ERRORS[driver.extremum_start(block, job)] == "QUEUE_FULL"
        assert fake.accesses == [("r", regs.STATUS)]
        fake.queue.clear()
    fake.queue.extend([(START, 1)] * (fake.depth - commands))
    assert ERRORS[driver.extremum_start(block, job)] == "OK"
    assert len(fake.queue) == fake.depth
    assert ERRORS[driver.extremum_start(block, job)] == "QUEUE_FULL"
    # The same job again is a start alone.
    fake.queue.popleft()
    assert ERRORS[driver.extremum_start(block, job)] == "OK"
    assert fake.queue[-1] == (START, 1)
    assert len(fake.queue) == fake.depth


def test_a_job_needs_space_for_what_has_changed_and_no_more(driver):
    fake, block = opened(driver)
    first, second = (
        JobStruct.from_buffer_copy(some_job(driver, block.core, seed)) for seed in (1, 2)
    )
    assert ERRORS[driver.extremum_start(block, first)] == "OK"
    fake.carry_out()
    pairs = zip(
        job_words_of(driver, block, first), job_words_of(driver, block, second), strict=True
    )
    changed = sum(before != after for before, after in pairs)
    assert 1 < changed < block.commands
    block.queue_free = 0
    for free, error in ((changed, "QUEUE_FULL"), (changed + 1, "OK")):
        fake.queue.clear()
        fake.queue.extend([(START, 1)] * (fake.depth - free))
        assert ERRORS[driver.extremum_start(block, second)] == error
    assert len(fake.queue) == fake.depth


def job_words_of(driver, block, job):
    """The word of each register that the block has."""
    names = block.numbers[: block.commands]
    return [driver.extremum_register_word(block.core, job, name) for name in names]


@pytest.mark.parametrize("config", [CONFIG, FEW_REGISTERS])
def test_jobs_are_started_until_the_queue_is_full(driver, config):
    """Nothing leaves the queue here, and the fake block refuses a command that finds no space."""
    fake, block = opened(driver, config)
    seeds = (1, 2) if config is CONFIG else (1,)
    jobs = [
        JobStruct.from_buffer_copy(some_job(driver, block.core, seed, config)) for seed in seeds
    ]
    for number in range(fake.depth):
        written = len(fake.queue)
        if ERRORS[driver.extremum_start(block, jobs[number // 2 % len(jobs)])] == "QUEUE_FULL":
            assert len(fake.queue) == written
            break
    else:
        pytest.fail("the queue is never full")
    # A single job is a start alone, once it is written.
    assert len(fake.queue) > (fake.depth // 2 if len(jobs) > 1 else fake.depth - 1)
    fake.carry_out()
    assert ERRORS[driver.extremum_start(block, jobs[0])] == "OK"


def test_the_space_of_the_queue_is_read_only_when_it_is_needed(driver):
    fake, block = opened(driver)
    job = some_job(driver, block.core)
    assert ERRORS[driver.extremum_start(block, job)] == "OK"
    fake.carry_out()
    fake.accesses.clear()
    for _ in range(100):
        assert ERRORS[driver.extremum_start(block, job)] == "OK"
        fake.carry_out()
    reads = fake.accesses.count(("r", regs.STATUS))
    assert len(fake.started) == 101
    assert 0 < reads < 100


def test_a_fixed_register_is_checked_before_anything_is_written(driver):
    config = CoreConfig((DataType.INT8,), lanes=4, fixed=(("minimum", 1),))
    fake, block = opened(driver, config)
    arguments = next(
        arguments
        for arguments, _ in operators(random.Random(3), CoreConfig((DataType.INT8,), lanes=4), 50)
        if arguments.get("function") == "argmax"
    )
    fake.accesses.clear()
    job = next(planned_in_c(driver, block.core, arguments))
    assert ERRORS[driver.extremum_start(block, job)] == "REGISTER_FIXED"
    assert not fake.accesses


@pytest.mark.parametrize("lanes", [1, 3, 5, 8])
def test_a_job_for_other_lanes_is_refused_before_anything_is_written(driver, lanes):
    """Its beats carry other elements, so every result would be wrong, and no error told."""
    fake, block = opened(driver)
    job = some_job(driver, Core.of(replace(CONFIG, lanes=lanes)))
    fake.accesses.clear()
    assert ERRORS[driver.extremum_start(block, job)] == "OTHER_LANES"
    assert not fake.accesses
    assert ERRORS[driver.extremum_start(block, some_job(driver, block.core))] == "OK"


def test_the_space_of_the_queue_is_read_anew_behind_a_reset_or_an_error(driver):
    """So a number that was read wrong, as by an error on the bus, does not stay."""
    fake, block = opened(driver)
    block.queue_free = 255
    driver.extremum_reset(block)
    assert block.queue_free == 0
    block.queue_free = 255
    fake.fail(BlockError.QUEUE_FULL)
    driver.extremum_take_events(block, Events())
    assert block.queue_free == 0


def test_the_space_of_the_queue_is_never_less_than_none(driver):
    """Not even if an interrupt handler takes an error in the middle, which the header forbids."""
    fake, block = opened(driver)
    write = fake.write

    def write_and_fail(address, word):
        write(address, word)
        block.queue_free = 0

    fake.write = write_and_fail
    assert ERRORS[driver.extremum_start(block, some_job(driver, block.core))] == "OK"
    assert block.queue_free == 0


@pytest.mark.parametrize(("position", "error"), [(-1, "OK"), (511, "OK"), (255, "REGISTER_FIXED")])
def test_a_fixed_position_is_compared_as_the_core_holds_it(driver, position, error):
    config = CoreConfig((DataType.INT8,), index_width=9, fixed=(("width.tap_step", 511),))
    _, block = opened(driver, config)
    job = JobStruct()
    job.input.lanes = config.lanes
    job.registers[register_names().index("width.tap_step")] = position % 2**32
    assert ERRORS[driver.extremum_check_job(block.core, job)] == error


def test_after_a_soft_reset_all_registers_are_written(driver):
    fake, block = opened(driver)
    job = some_job(driver, block.core)
    assert ERRORS[driver.extremum_start(block, job)] == "OK"
    fake.fail(BlockError.RANGE)
    fake.accesses.clear()
    driver.extremum_reset(block)
    field = fake.map[regs.CONTROL].field("soft_reset")
    assert fake.accesses == [("w", regs.CONTROL, field.mask), ("w", regs.IRQ_STATUS, 0b111)]
    assert ERRORS[driver.extremum_wait(block, 1)] == "OK"
    assert ERRORS[driver.extremum_start(block, job)] == "OK"
    fake.carry_out()
    assert len(fake.started) == 1
    assert len(fake.started[0]) == len(regs.written_bits(CONFIG))


def test_without_functions_the_registers_are_memory(driver):
    fake, block = FakeBlock(CONFIG), Block()
    memory = (ctypes.c_uint32 * ((1 << regs.ADDRESS_BITS) // regs.WORD_BYTES))()
    for address, word in fake.words.items():
        memory[address // regs.WORD_BYTES] = word
    memory[regs.STATUS // regs.WORD_BYTES] = fake.depth << 8
    bus = type(fake.bus)(base=ctypes.addressof(memory))
    assert ERRORS[driver.extremum_open(block, bus)] == "OK"
    arguments, expected = next(operators(random.Random(1), CONFIG, 100))
    job = next(planned_in_c(driver, block.core, arguments))
    assert ERRORS[driver.extremum_start(block, job)] == "OK"
    written = {address: memory[address // 4] for address in job_words(expected.jobs[0])}
    assert written == job_words(expected.jobs[0])
    assert memory[START // regs.WORD_BYTES] == 1
