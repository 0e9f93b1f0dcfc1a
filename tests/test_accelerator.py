"""The accelerator in operation: its report, its progress, and what can go wrong."""

import os
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from accelerators import check, make, spared_clocks
from simulation import BLOCKS, ONE_COCOTB, chosen

from extremum.host.accelerator import Accelerator
from extremum.host.errors import SimulationError, ToolError
from extremum.host.progress import Progress

pytestmark = pytest.mark.parametrize("simulator", [*ONE_COCOTB, *BLOCKS])


def test_report(hardware, simulator):
    with make("reduction", simulator) as accelerator:
        assert accelerator.report is None
        x = np.arange(4000, dtype=np.int64).reshape(4, 1000)
        accelerator.argmax(x, 1)
        report: Any = accelerator.report
        assert (report.jobs, report.beats_in, report.beats_out) == (1, 2000, 2)
        spared = report.predicted_cycles - report.cycles
        assert 0 <= spared <= (spared_clocks(accelerator.config) if "axi" in simulator else 0)
        assert report.utilization == 2000 / report.cycles
        assert 0.96 < report.utilization < 1
        assert (report.empty_windows, report.notes) == (0, ())
    # A closed accelerator starts again with the next operator.
    assert accelerator.argmax(x, 1).tolist() == [[999]] * 4
    accelerator.close()
    accelerator.close()


def test_stalls_cost_cycles_alone(hardware, simulator):
    """Stalls change neither results nor beats, nor the prediction, which is made without them."""
    x = np.arange(600, dtype=np.int64).reshape(2, 300)
    free = hardware("reduction", simulator)
    slow = hardware("reduction", simulator, input_stalls=80, output_stalls=30)
    check(free, "argmin", x, 1)
    check(slow, "argmin", x, 1)
    if "axi" not in simulator:
        assert slow.report.predicted_cycles == free.report.predicted_cycles == free.report.cycles
    assert slow.report.cycles > 3 * free.report.cycles
    assert slow.report.beats_in == free.report.beats_in


def test_progress_is_told(simulator, monkeypatch):
    monkeypatch.setattr("extremum.host.simulation.native.SLICE_SECONDS", 0.0)
    told: list[Progress] = []
    with make("reduction", simulator, progress=told.append) as accelerator:
        x = np.zeros((2, 40_000), np.float32)
        accelerator.argmax(x, 1)
    report: Any = accelerator.report
    phases = [now.phase for now in told if now.phase != "simulating"]
    assert phases == ["planning"] + ["compiling"] * (len(phases) - 1)
    assert all(bool(now.stage) == (now.phase == "compiling") for now in told)
    simulated = told[len(phases) :]
    (predicted,) = {now.predicted_clocks for now in simulated}
    assert predicted <= report.predicted_cycles
    assert {now.predicted_beats for now in simulated} == {report.beats_in}
    for name in ("clocks", "beats", "job"):
        figures = [getattr(now, name) for now in simulated]
        assert len(figures) > 3
        assert figures == sorted(figures)
    assert simulated[-1] == Progress("simulating", report.cycles, predicted, 40_000, 40_000, 1, 1)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_a_usable_accelerator(simulator, monkeypatch):
    def interrupt(progress):
        if progress.clocks:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("extremum.host.simulation.native.SLICE_SECONDS", 0.0)
    with make("reduction", simulator, progress=interrupt) as accelerator:
        with pytest.raises(KeyboardInterrupt):
            accelerator.argmax(np.zeros((2, 40_000), np.float32), 1)
        assert accelerator.report is None
        accelerator._progress = None
        assert accelerator.argmax(np.eye(2, dtype=np.float32), 1).tolist() == [[0], [1]]


def test_a_type_that_is_not_built_in(hardware, simulator):
    accelerator = hardware("image", simulator)
    message = r"^the core was built for INT8, not for FLOAT32: add it to data_types$"
    with pytest.raises(ValueError, match=message):
        accelerator.argmax(np.zeros(3, np.float32))


def test_a_simulator_that_dies(simulator):
    """The error tells what ended the simulator, and the next operator starts a new one."""
    if simulator.startswith("native"):
        pytest.skip("it has no process of its own")
    died = []

    def kill(progress):
        if progress.clocks and not died:
            simulation: Any = accelerator._session.simulation
            died.append(simulation._command.process.pid)
            os.killpg(died[0], signal.SIGKILL)

    with make("reduction", simulator, progress=kill) as accelerator:
        x = np.zeros((2, 50_000), np.float32)
        message = f"{simulator.split()[0]} ended before its results came: SIGKILL ended it"
        with pytest.raises(SimulationError, match=f"^{message}$"):
            accelerator.argmax(x, 1)
        assert accelerator.report is None
        assert accelerator.argmax(x[:, :5], 1).tolist() == [[0], [0]]


ENDLESS = """
import sys
import numpy as np
from extremum.host import Accelerator

def tell(progress):
    if progress.clocks:
        print(accelerator._session.simulation._command.process.pid, flush=True)

backend, _, bus = sys.argv[1].partition(" ")
options = {"backend": backend, "bus": bus or "none", "max_window": (1, 1, 1), "progress": tell}
with Accelerator("int8", **options) as accelerator:
    accelerator.argmax(np.zeros(2_000_000, np.int8))
"""


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL],
    ids=["terminated", "killed"],
)  # fmt: skip
def test_a_simulator_ends_with_its_program(simulator, how):
    """A simulator that outlived a killed program would occupy a processor for ever."""
    if simulator.startswith("native"):
        pytest.skip("it has no process of its own")
    command = [sys.executable, "-c", ENDLESS, simulator]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        group = int(program.stdout.readline())
        os.killpg(group, 0)
        program.send_signal(how)
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the simulator goes on")


def test_a_missing_tool(simulator, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("EXTREMUM_CACHE", str(tmp_path))
    with make("volume", simulator) as accelerator:
        named = "icarus" if "icarus" in simulator else r"c\+\+|make|perl"
        with pytest.raises(ToolError, match=rf"({named}) is missing: .*install: "):
            accelerator.argmax(np.zeros(3, np.float16))
        assert accelerator.report is None


def test_waves(simulator, tmp_path):
    path = tmp_path / "wave.vcd"
    options = chosen(simulator) | {"max_window": (1, 1, 1), "waves": path}
    with Accelerator("int8", **options) as accelerator:
        accelerator.argmax(np.arange(5, dtype=np.int8))
    assert "$enddefinitions" in path.read_text()
