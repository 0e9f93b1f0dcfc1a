"""Cores that break the rules of their streams, hang or give up: what every backend says of them."""

import gc
import re

import numpy as np
import pytest
from faults import CONFIG, FAULTS, RESULTS, VERILOG
from simulation import ONE_COCOTB

from extremum.host import Accelerator, SimulationError
from extremum.host.simulation.backend import JobRun
from extremum.host.simulation.cocotb_simulator import CocotbSimulator
from extremum.host.simulation.native import NativeSimulator

BEATS = np.arange(5, 5 + RESULTS, dtype=np.int8).reshape(RESULTS, 1)


def started(backend):
    if backend == "native":
        return NativeSimulator(CONFIG, verilog=VERILOG)
    return CocotbSimulator(CONFIG, backend, verilog=VERILOG)


def carry_out(simulator, fault):
    """Run a job of the faulty core, with stalls; return its results."""
    values, positions = [], []

    def take(some_values, some_positions):
        values.extend(some_values[:, 0].tolist())
        positions.extend(some_positions[:, 0].tolist())

    run = JobRun(
        [FAULTS.index(fault)],
        [BEATS],
        RESULTS,
        [RESULTS],
        BEATS.dtype,
        watchdog=50,
        output_stalls=80,
        seed=1,
    )
    measured = simulator.run(run, take)
    return values, positions, measured


@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_without_a_fault(backend):
    """Without a fault this core gives right results, so the other tests see the fault alone."""
    simulator = started(backend)
    values, positions, measured = carry_out(simulator, "none")
    simulator.close()
    assert (values, positions) == ([5, 6, 7, 8], [0, 1, 2, 3])
    assert (measured.cycles, measured.statuses) == (21, (0,))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("payload", r"clock \d+: the output payload changed"),
        ("valid", r"clock \d+: output valid fell before it was taken"),
        ("many", r"clock \d+: a result too many"),
        ("hang", r"clock 50: nothing moved for 51 clocks; 4 beats and 0 jobs wait, 0 of 4 res"),
    ],
)
@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_a_broken_rule_names_the_clock(backend, fault, message):
    simulator = started(backend)
    with pytest.raises(SimulationError, match=f"^{backend}: {message}"):
        carry_out(simulator, fault)
    with pytest.raises(SimulationError, match=f"^{backend} has been closed$"):
        carry_out(simulator, "none")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("early", "result 2 is marked as its job's last"),
        ("late", "result 3 is not marked as its job's last"),
    ],
)
@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_the_wrong_last_result(backend, fault, message):
    simulator = started(backend)
    clock = r"clock \d+: " if backend == "native" else ""
    with pytest.raises(SimulationError, match=f"^{backend}: {clock}{message}"):
        carry_out(simulator, fault)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("fatal", "the core stopped"),
        ("stop", "the core stopped"),
        ("finish", "the core finished"),
    ],
)
def test_a_model_that_gives_up_names_the_clock(fault, message):
    simulator = started("native")
    with pytest.raises(SimulationError, match=rf"^native: clock \d+: {message}"):
        carry_out(simulator, fault)


@pytest.mark.parametrize("fault", ["fatal", "finish"])
@pytest.mark.parametrize("backend", ONE_COCOTB[1:])
def test_a_simulator_that_gives_up_says_so(backend, fault):
    simulator = started(backend)
    with pytest.raises(SimulationError, match=f"^{backend} ended before its results came"):
        carry_out(simulator, fault)


@pytest.mark.parametrize("backend", ONE_COCOTB[1:])
def test_a_simulation_that_nobody_closes_leaves_no_folder(backend):
    """Its bench writes results when it ends, and would make the folder again."""
    simulator = CocotbSimulator(CONFIG, backend, verilog=VERILOG)
    carry_out(simulator, "none")
    folder, process = simulator._folder, simulator._command.process
    assert folder.exists()
    del simulator
    gc.collect()
    process.wait(60)
    assert not folder.exists()


@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_an_accelerator_starts_afresh_after_a_fault(backend, monkeypatch):
    options = {"backend": backend, "max_window": CONFIG.max_window, "watchdog": 50}
    with Accelerator("int8", **options) as accelerator:
        with monkeypatch.context() as patch:
            patch.setattr("extremum.host.cache.verilog", lambda *_, **__: VERILOG)
            with pytest.raises(SimulationError, match="nothing moved for 51 clocks"):
                accelerator.argmax(BEATS)
        assert accelerator.report is None
        assert accelerator.argmax(BEATS).tolist() == [[3]]


def test_all_backends_give_up_in_the_same_clock():
    """So the clock of a message is the same in the waveforms of another backend."""
    clocks = set()
    for backend in ("native", "verilator"):
        with pytest.raises(SimulationError) as error:
            carry_out(started(backend), "many")
        clocks.add(re.findall(r"clock (\d+)", str(error.value))[0])
    assert len(clocks) == 1
