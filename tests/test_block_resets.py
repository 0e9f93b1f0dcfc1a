"""What a soft reset leaves of the jobs before it, at every clock of their start."""

from contextlib import closing

import numpy as np
import pytest

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import DataType, Reduction

SOFT_RESET = 1
START = regs.command_address(regs.START_COMMAND)
CORE = CoreConfig((DataType.INT8,), max_window=(1, 1, 1), coordinate_width=8)


@pytest.mark.parametrize("pipelining", ["small", "fast"])
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
