"""What tests of the Python driver share: a block that it drives, and jobs with their results."""

import random

import numpy as np
import pytest

from extremum.hdl.axi import register_map as regs
from extremum.host.driver.block import BlockDriver, Work
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
