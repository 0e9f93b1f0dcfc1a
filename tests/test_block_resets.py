"""What resets leave of the jobs before them, at every clock of a job."""

from contextlib import closing

import numpy as np
import pytest
from amounts import mostly_slow

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import DataType, Pooling, Reduction

SOFT_RESET, CLEAR = 1, 2
START = regs.command_address(regs.START_COMMAND)
DONE = 1
"""The mask of the event `done`."""
COUNTERS = range(regs.COUNTER_BASE, regs.COUNTER_BASE + 4 * len(regs.COUNTERS), 4)
JOBS = COUNTERS[[name for name, _ in regs.COUNTERS].index("JOBS")]
CORE = CoreConfig((DataType.INT8,), max_window=(1, 1, 1), coordinate_width=8)


@pytest.mark.parametrize("pipelining", mostly_slow(["small", "fast"], ["small"]))
def test_jobs_are_numbered_from_the_last_reset_on(pipelining):
    """A job that the reset ends does not count, whether or not its packet was expected already.

    Neither does one that was refused in the clocks of the reset.
    """
    config = CoreConfig(**vars(CORE) | {"pipelining": pipelining})
    (job,) = plan(Reduction.of("argmax", (1, 3), np.int8, 1), config).jobs
    misfit = {regs.command_address(regs.command_number("decreasing")): 0x7FFFFFFF}
    with closing(NativeBlock(config)) as block:
        for words in (job_words(job), job_words(job) | misfit):
            for clocks in range(30):
                for address, word in words.items():
                    block.write(address, word)
                block.write(START, 1)
                block.pass_clocks(clocks)
                block.write(regs.CONTROL, SOFT_RESET)
                block.pass_clocks(50)
                block.write(regs.IRQ_STATUS, 3)
                for address, word in misfit.items():
                    block.write(address, word)
                block.write(START, 1)
                block.pass_clocks(60)
                error = block.read(regs.ERROR)
                assert error & 0xFF == BlockError.RANGE
                assert error >> 16 == 0, clocks
                block.write(regs.CONTROL, SOFT_RESET)
                block.pass_clocks(50)
                block.write(regs.IRQ_STATUS, 3)


@pytest.mark.parametrize("pipelining", mostly_slow(["small", "fast"], ["fast"]))
def test_done_is_told_of_the_jobs_that_count(pipelining):
    """At whatever clock a soft reset ends a job of one result: both are told of it, or neither."""
    config = CoreConfig(**vars(CORE) | {"pipelining": pipelining})
    (job,) = plan(Reduction.of("argmax", (1, 3), np.int8, 1), config).jobs
    counted = []
    with closing(NativeBlock(config)) as block:
        for clocks in range(60):
            start(block, job)
            block.pass_clocks(clocks)
            block.write(regs.CONTROL, SOFT_RESET)
            block.pass_clocks(60)
            counted.append(block.read(JOBS))
            assert block.read(regs.IRQ_STATUS) & DONE == counted[-1], clocks
            block.reset(2)
    assert counted == sorted(counted)
    assert set(counted) == {0, 1}


@pytest.mark.parametrize("stalls", [{"output_stalls": 99}, {"input_stalls": 99}, {}], ids=str)
@pytest.mark.parametrize("pipelining", ["small", "fast"])
def test_a_reset_of_one_clock_leaves_nothing(pipelining, stalls):
    """All counters are zero behind it, and so are the error and all events but `idle`."""
    config = CoreConfig(**vars(CORE) | {"pipelining": pipelining})
    (job,) = plan(Reduction.of("argmax", (4, 6), np.int8, 1), config).jobs
    left = [regs.STATUS, regs.IRQ_STATUS, regs.ERROR, *COUNTERS]
    with closing(NativeBlock(config)) as block:
        block.begin(StreamSettings(**stalls))
        idle = [block.read(address) for address in left]
        assert idle[1:] == [regs.IDLE, *[0] * (len(left) - 2)]
        for clocks in range(60):
            start(block, job)
            block.pass_clocks(clocks)
            block.reset(1)
            assert [block.read(address) for address in left] == idle, clocks


@pytest.mark.parametrize("stalls", [{"output_stalls": 99}, {"input_stalls": 99}, {}], ids=str)
@pytest.mark.parametrize("pipelining", mostly_slow(["small", "fast"], ["small"]))
def test_counters_that_are_cleared_with_the_jobs_stay_zero(pipelining, stalls):
    """Nothing that the ending jobs still do is counted, also if most of their windows are empty.

    Only the cycles go on, while a beat that was offered waits to be taken.
    """
    config = CoreConfig((DataType.INT8,), pipelining=pipelining)
    problem = Pooling.of((1, 1, 1, 1), "int8", 1, start_padding=(0, 20), return_indices=True)
    (job,) = plan(problem, config).jobs
    counters = COUNTERS[1:] if "output_stalls" in stalls else COUNTERS
    with closing(NativeBlock(config)) as block:
        block.begin(StreamSettings(**stalls))
        for clocks in range(80):
            start(block, job)
            start(block, job)
            block.pass_clocks(clocks)
            block.write(regs.CONTROL, SOFT_RESET | CLEAR)
            assert not any(block.read(address) for address in counters), clocks
            block.pass_clocks(50)
            assert not any(block.read(address) for address in counters), clocks
            block.reset(2)


def start(block, job):
    """Give a job its packet and its registers, and start it; its results go nowhere."""
    beats = np.arange(job.beats_in, dtype=np.uint8)
    block.send([beats], len(beats))
    for stream in ("m_axis_value", "m_axis_index"):
        block.receive(stream, 1 << 20, lambda part, last: None)
    for address, word in job_words(job).items():
        block.write(address, word)
    block.write(START, 1)
