"""An accelerator whose operators go through the AXI block and the driver."""

import numpy as np
import pytest
from accelerators import check, make

from extremum.host import Accelerator
from extremum.host.driver.block import BlockDriver
from extremum.host.errors import SimulationError
from extremum.host.plan_runner import RunSettings

CORE = "reduction"


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
