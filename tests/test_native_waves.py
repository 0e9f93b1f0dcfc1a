"""Waveforms of the native backend: the clocks that are shown, and what cannot be written."""

import os
import re
import resource
from typing import Any

import numpy as np
import pytest
from amounts import mostly_slow

from extremum.host import Accelerator, SimulationError
from extremum.host.errors import WaveformError

SMALL: dict[str, Any] = {"data_types": ("int8",), "max_window": (1, 1, 1)}


def test_waves_of_a_window(tmp_path):
    """Only the clocks of the window are written."""
    path = tmp_path / "wave.vcd"
    with Accelerator(**SMALL, waves=path, wave_window=(20, 29)) as accelerator:
        accelerator.argmax(np.arange(100, dtype=np.int8))
    times = [int(t) for t in re.findall(r"^#(\d+)$", path.read_text(), re.MULTILINE)]
    assert (times[0], times[-1], len(times)) == (40, 59, 20)


@pytest.mark.parametrize("bus", mostly_slow(["none", "axi"], ["none"]))
def test_a_window_of_waves_that_never_comes(bus, tmp_path):
    """That a file holds no waveforms is told, unless another error says more."""
    path = tmp_path / "wave.vcd"
    begins = "has no waveforms: wave_window begins at clock 100000"
    told = rf"^native: {re.escape(str(path))} {begins}, and the simulation had \d\d+ clocks$"
    accelerator = Accelerator(**SMALL, bus=bus, waves=path, wave_window=(100_000, 100_001))

    def run(*tensors):
        with accelerator:
            for tensor in tensors:
                accelerator.argmax(tensor)

    with pytest.raises(WaveformError, match=told):
        run(np.arange(100, dtype=np.int8))
    with pytest.raises(ValueError, match="rank must be 1 to 8"):
        run(np.zeros(3, np.int8), np.int8(3))


def test_a_window_of_waves_at_the_end(tmp_path):
    """The last clock of a simulation can be shown; there is none behind it."""
    path = tmp_path / "wave.vcd"

    def show(clock):
        with Accelerator(**SMALL, waves=path, wave_window=(clock, clock)) as accelerator:
            accelerator.argmax(np.arange(100, dtype=np.int8))

    with pytest.raises(WaveformError) as caught:
        show(100_000)
    (clocks,) = map(int, re.findall(r"had (\d+) clocks", str(caught.value)))
    show(clocks - 1)
    assert f"#{2 * clocks - 1}\n" in path.read_text()
    with pytest.raises(
        WaveformError, match=f"begins at clock {clocks}, and .* had {clocks} clocks"
    ):
        show(clocks)


def test_waves_that_cannot_be_written(tmp_path):
    with (
        Accelerator(**SMALL, waves=tmp_path / "no" / "wave.vcd") as accelerator,
        pytest.raises(WaveformError, match="cannot write waveforms to"),
    ):
        accelerator.argmax(np.zeros(3, np.int8))


@pytest.fixture(name="full")
def full_disk(tmp_path):
    """A file of waveforms that cannot be written, since its disk is full."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no device that is always full")
    path = tmp_path / "full.vcd"
    path.symlink_to("/dev/full")
    return path


@pytest.mark.parametrize("bus", mostly_slow(["none", "axi"], ["none"]))
def test_a_full_disk_under_waves(bus, full):
    """It is told in the clock in which it is met, and the process goes on."""
    accelerator = Accelerator(**SMALL, bus=bus, waves=full)
    for _ in range(2):
        with pytest.raises(WaveformError, match=r"clock \d+: cannot write waveforms: No space"):
            accelerator.argmax(np.zeros(20_000, np.int8))
    accelerator.close()


def test_a_hang_under_a_full_disk_is_a_hang(full):
    """So few clocks pass that nothing of the waveforms has been written yet."""
    accelerator = Accelerator(**SMALL, waves=full, watchdog=5, input_stalls=95)
    with pytest.raises(SimulationError, match="nothing moved for 6 clocks") as caught:
        accelerator.argmax(np.zeros(3, np.int8))
    assert caught.type is SimulationError
    accelerator.close()


@pytest.mark.parametrize("bus", ["none", "axi"])
def test_a_disk_that_fills_up_while_the_waves_end(bus, tmp_path):
    path = tmp_path / "wave.vcd"
    accelerator = Accelerator(**SMALL, bus=bus, waves=path)
    accelerator.argmax(np.zeros(3, np.int8))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, limits[1]))
    try:
        told = f"^native: cannot write all waveforms to {path}: File too large$"
        with pytest.raises(WaveformError, match=told):
            accelerator.close()
        accelerator.close()  # it has ended all the same
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
