"""The driver of a block whose registers tell of something: another block, an error, an event."""

import pickle
from typing import Any

import numpy as np
import pytest

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError, written_bits
from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import register_names
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.driver.words import register_of
from extremum.host.errors import DeviceError, JobFailedError
from extremum.host.plan import dataflow_core, plan
from extremum.model import DataType, Reduction

CONFIG = CoreConfig((DataType.INT8,), lanes=3, max_window=(1, 3, 3))
ERROR = 1 << 1
"""The flag of `IRQ_STATUS` that tells of an error."""


class Liar:
    """A transport whose block has other words in some registers."""

    def __init__(self, **words):
        self._words = {word.address: word.reset for word in regs.register_map(CONFIG)}
        for word in regs.register_map(CONFIG):
            if word.name in words:
                self._words[word.address] = words[word.name]

    def read(self, address):
        return self._words[address]

    def write(self, address, word):
        """Take it; nothing changes."""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"ID": 0xFFFFFFFF}, "there is no extremum block at this address: ID is 0xffffffff, not"),
        (
            {"VERSION": 99 << 16 | 3},
            "this driver needs a register map of version .*has version 99.3",
        ),
        ({"ID": 0}, "there is no extremum block at this address: ID is 0x00000000, not"),
        (
            {"CONFIG_HASH": 0xFFFFFFFF},
            "the block was made for another configuration: its hash is 0xffffffff",
        ),
        (
            {"CONFIG_HASH": 5},
            "the block was made for another configuration: its hash is 0x00000005",
        ),
    ],
)
def test_another_block_is_refused(words, message):
    liar: Any = Liar(**words)
    with pytest.raises(DeviceError, match=f"^{message}"):
        BlockDriver(liar, CONFIG)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (0xFF, "the block reported an error of the unknown code 255"),
        (BlockError.RANGE | 55 << 8, "the block reported RANGE in register 55 for job 0"),
    ],
)
def test_an_error_that_the_register_map_does_not_have(error, message):
    """A block whose registers are damaged: the driver says what it was told."""
    liar: Any = Liar(IRQ_STATUS=ERROR | 1, ERROR=error)
    with pytest.raises(DeviceError, match=f"^{message}"):
        BlockDriver(liar, CONFIG).check()


@pytest.mark.parametrize("code", [code for code in BlockError if code != BlockError.NONE])
def test_only_an_error_of_range_names_a_register(code):
    number = regs.command_number("tail")
    transport: Any = Liar(IRQ_STATUS=ERROR, ERROR=code | number << 8 | 7 << 16)
    with pytest.raises(JobFailedError) as error:
        BlockDriver(transport, CONFIG).check()
    named = "tail" if code == BlockError.RANGE else None
    job = None if code == BlockError.QUEUE_FULL else 7
    assert (error.value.code, error.value.job, error.value.register) == (code.name, job, named)
    assert ("for job 7 since" in str(error.value)) == (job is not None)


@pytest.mark.parametrize("register", [None, "tail"])
def test_a_failed_job_is_told_in_another_process(register):
    error = JobFailedError("RANGE", 3, register)
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.code, copied.job, copied.register) == ("RANGE", 3, register)
    assert str(copied) == str(error)


class Waiting(Liar):
    """A transport in which the interrupt is raised until the error is cleared."""

    def __init__(self):
        super().__init__(ERROR=BlockError.TLAST_LATE | 3 << 16)
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
    transport._words[regs.IRQ_STATUS] = ERROR
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


class Slow(Streams):
    """One whose results come only when somebody has waited twice."""

    def __init__(self):
        super().__init__()
        self._asked = []

    def send(self, parts, size):
        """Take all of it."""
        for _ in parts:
            pass

    def receive(self, stream, size, take):
        self._asked.append((size, take))

    def wait(self):
        if not super().wait():
            for size, take in self._asked:
                take(np.zeros(size, np.uint8), True)
        return True


def test_a_dataflow_block_is_not_asked_for_errors_while_results_are_awaited():
    transport: Any = Slow()
    problem = Reduction.of("argmax", (3, 5), "int8", 1)
    config = dataflow_core(problem)
    driver = BlockDriver(transport, config)
    (job,) = plan(problem, config).jobs
    found = []
    driver.start(Work(job, np.zeros((3, 5), np.int8), lambda _, positions: found.append(positions)))
    while not found:
        driver._finish_oldest()
    assert np.concatenate(found).tolist() == [[0], [0], [0]]
    assert transport.moves == 0


def test_the_register_of_an_error_is_named_or_else_numbered():
    for name in written_bits(CONFIG):
        assert register_of(regs.command_number(name), CONFIG) == name
    absent = next(n for n, name in enumerate(register_names()) if name not in written_bits(CONFIG))
    assert register_of(absent, CONFIG) == str(absent)


def test_only_the_same_major_version_is_taken_and_no_older_minor_one(monkeypatch):
    """A driver of version 1.3 refuses blocks with an older map, and those with another one."""
    transport: Any = Liar()
    (version,) = (word.address for word in regs.register_map(CONFIG) if word.name == "VERSION")
    # The map is remembered, and other tests need it as it is: so only from here on.
    monkeypatch.setattr(regs, "VERSION", (1, 3))
    for major, minor in ((0, 7), (2, 7), (2, 0), (0xFFFF, 3), (1, 0), (1, 2)):
        transport._words[version] = major << 16 | minor
        with pytest.raises(DeviceError, match=rf"1\.3, or .* has version {major}\.{minor}$"):
            BlockDriver(transport, CONFIG)
    for minor in (3, 4, 0xFFFF):
        transport._words[version] = 1 << 16 | minor
        BlockDriver(transport, CONFIG)
