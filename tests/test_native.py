"""The native backend: it counts the same clocks as cocotb, and tells what went wrong."""

import os
import random
import re
import signal
from threading import Thread
from typing import Any

import numpy as np
import pytest
from accelerators import check, make
from amounts import mostly_slow
from dataflow_cores import CORES as DATAFLOW_CORES
from native_runs import carry_out, runs
from simulation import NEEDS_ICARUS

from extremum.hdl.axi.streams import INPUT, port_widths
from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.host import Accelerator, SimulationError, cache
from extremum.host.plan import plan
from extremum.host.plan_runner import RunSettings
from extremum.host.processes import Processes
from extremum.host.progress import Progress
from extremum.host.simulation import native_build
from extremum.host.simulation.backend import JobRun
from extremum.host.simulation.cocotb_simulator import CocotbSimulator
from extremum.host.simulation.native import NativeSimulator, PhasesStruct, load
from extremum.host.simulation.native_block import NativeBlock
from extremum.host.simulation.native_build import compile_native
from extremum.host.simulation.stalls import Stalls
from extremum.host.simulation.verilated import compiler_version
from extremum.model import DataType
from extremum.tb.cores import CORES
from extremum.tb.sequences import jobs

SMALL: dict[str, Any] = {"data_types": ("int8",), "max_window": (1, 1, 1)}


@pytest.mark.parametrize("core", mostly_slow(CORES, ["image", "reduction"]))
def test_the_same_as_under_cocotb(core, monkeypatch):
    """Results, cycles and statuses of a few hundred jobs, on a core that keeps its state.

    The pieces of beats and of results are so small that most jobs have many. Under cocotb NumPy
    packs the beats, and in the native backend the pump does.
    """
    monkeypatch.setattr("extremum.host.plan.rows.PIECE_ELEMENTS", 16)
    monkeypatch.setattr("extremum.host.simulation.native.BUFFER_ELEMENTS", 16)
    config = CORES[core]
    native, cocotb = NativeSimulator(config), CocotbSimulator(config, "verilator")
    try:
        for batch, options in runs(random.Random(core), config):
            one, two = (carry_out(s, config, batch, options) for s in (native, cocotb))
            assert one == two, (batch, options)
    finally:
        native.close()
        cocotb.close()


def test_a_core_without_a_job_port_is_the_same_as_under_cocotb():
    """It tells of no refusal, whatever stands for its missing status."""
    config, problem = DATAFLOW_CORES["row"]
    (job,) = plan(problem, config).jobs
    batch = [(job, np.arange(30, dtype=np.int8).reshape(problem.sizes))]
    native, cocotb = NativeSimulator(config), CocotbSimulator(config, "verilator")
    try:
        (given, measured), other = (carry_out(s, config, batch, {}) for s in (native, cocotb))
        assert (given, measured) == other
        assert measured.statuses == (0,)
    finally:
        native.close()
        cocotb.close()


@pytest.mark.parametrize("core", ["reduction", pytest.param("volume", marks=pytest.mark.slow)])
def test_a_reset_in_any_clock_is_the_same_as_under_cocotb(core):
    """What came before the reset is right, and so are jobs that begin in the clock behind it."""
    config, source = CORES[core], random.Random(core)
    native, cocotb = NativeSimulator(config), CocotbSimulator(config, "verilator")
    changing = [(20, 0), (9, 100), (30, 50)]
    batch = list(jobs(source, config, 3))
    whole, _ = carry_out(native, config, batch, {})
    try:
        for clock in (*range(0, 60, 3), 90, 200, 100_000):
            stalls = {"input_stalls": source.choice((0, changing)), "job_stalls": changing}
            stopped = stalls | {"output_stalls": source.choice((0, 60)), "stop_after": clock}
            came = [carry_out(each, config, batch, stopped) for each in (native, cocotb)]
            (given, measured), (others, other) = came
            assert (given, measured.taken) == (others, other.taken), clock
            assert given == whole[: len(given)]
            for each in (native, cocotb):
                each.reset(1 + clock % 2)
        assert carry_out(native, config, batch, {})[0] == whole
    finally:
        native.close()
        cocotb.close()


@pytest.mark.parametrize("core", ["every_type", "reduction"])
def test_large_operators_go_in_pieces(core, monkeypatch):
    """With tiny pieces, small operators go through the backend piece by piece, as large ones do."""
    monkeypatch.setattr("extremum.host.plan.rows.PIECE_ELEMENTS", 20)
    monkeypatch.setattr("extremum.host.simulation.native.BUFFER_ELEMENTS", 20)
    rng = np.random.default_rng(7)
    x = rng.integers(0, 5, (5, 3, 7, 20)).astype(np.float32)
    with make(core, "native") as accelerator:
        check(accelerator, "argmax", x, (1, 3))
        check(accelerator, "reduce_min", x, (0, 2))
        check(accelerator, "argmin", x)
        check(accelerator, "max_pooling", x, 2, strides=2, return_indices=True)
        check(accelerator, "max_pooling", x, 3, start_padding=1, return_indices=True)


PHASES = [(7, 0), (0, 90), (100, 100), (1, 50), (333, 30), (5, 0), (1, 80)]


@pytest.mark.parametrize("rate", [0, 1, 30, 50, 99, PHASES, []])
@pytest.mark.parametrize("seed", [0, 1, 12345, 2**31 + 7, 2**32 - 1])
def test_the_stalls_of_both_languages_agree(rate, seed):
    library = load(compile_native(CORES["reduction"]))
    stalls = np.empty(10_000, np.uint8)
    library.pump_stalls(PhasesStruct.of(rate), seed, len(stalls), stalls.ctypes.data)
    python = Stalls(rate, seed)
    assert stalls.tolist() == [python() for _ in stalls]


def test_a_hang_names_the_clock():
    """With so short a watchdog a stall is a hang; both backends give up in the same clock."""
    x = np.zeros(50, np.int8)
    told = []
    for backend in ("native", "verilator"):
        stalled: dict[str, Any] = {"input_stalls": 99, "watchdog": 9, "seed": 3}
        with Accelerator(**SMALL, backend=backend, **stalled) as accelerator:
            with pytest.raises(SimulationError) as error:
                accelerator.argmax(x)
            told_now = rf"{backend}: clock (\d+): nothing moved for 10 clocks; \d+ beats"
            found = re.match(told_now, str(error.value))
            assert found, error.value
            told.append(int(found[1]))
    assert told[0] == told[1]


def test_the_clock_of_a_later_run_is_told_twice():
    """The error names the clock of the run, and that since the start of the simulation."""
    with Accelerator(**SMALL) as accelerator:
        accelerator.argmax(np.zeros(50, np.int8))
        accelerator._settings = RunSettings(watchdog=300, input_stalls=99)
        message = r"clock (\d+) \((\d+) since the start\): nothing moved for 301 clocks"
        with pytest.raises(SimulationError, match=message) as told:
            accelerator.argmax(np.zeros(5000, np.int8))
        (found,) = re.findall(message, str(told.value))
        clock, since_start = map(int, found)
        assert clock > 300
        assert 50 < since_start - clock < 100  # the clocks of the first run
        accelerator._settings = RunSettings()
        assert accelerator.argmax(np.arange(5, dtype=np.int8)) == 4


@pytest.mark.parametrize("bus", ["none", "axi"])
def test_the_watchdog_counts_clocks_in_a_row(bus):
    """There are some thousand clocks without a beat in all."""
    with Accelerator(**SMALL, bus=bus, watchdog=60, input_stalls=70, seed=1) as accelerator:
        assert accelerator.argmax(np.arange(100, dtype=np.int8).repeat(9)) == 99 * 9
        report = accelerator.report
        assert report is not None
        assert report.cycles is not None
        assert report.cycles > 2000


def test_beats_that_do_not_fit():
    config = CORES["reduction"]
    job = JobRegisters(slots=2, length=2).to_bits(config)
    for pieces, message in (
        ([np.zeros((2, 3), np.int8)], "beats must be 2 lanes of at most 8 bytes, not int8 of siz"),
        ([np.zeros((1, 2), np.int8)], "the pieces hold fewer beats than beats_in says"),
        ([np.zeros((3, 2), np.int8)], "the pieces hold more beats than beats_in says"),
        ([np.zeros((1, 2), np.int8)] * 3, "the pieces hold more beats than beats_in says"),
    ):
        native = NativeSimulator(config)
        with pytest.raises(ValueError, match=message):
            native.run(JobRun([job], pieces, 2, [1], np.dtype("i1"), watchdog=99), lambda *_: None)


def refused_in_another_thread(calls):
    """Try calls in another thread; they must be refused."""
    refused = []

    def meddle():
        for call in calls:
            with pytest.raises(RuntimeError, match="is in the middle of a call of another"):
                call()
            refused.append(call)

    thread = Thread(target=meddle)
    thread.start()
    thread.join()
    assert refused == calls


def test_a_call_while_another_thread_is_in_one():
    """It is refused, where two would destroy the pump's memory; the other goes on."""
    config = CORES["reduction"]
    simulator = NativeSimulator(config)
    batch = list(jobs(random.Random(3), config, 2))
    given, measured = carry_out(simulator, config, batch, {})

    class Meddling:
        """A job whose beats are asked for while the simulation runs."""

        def __init__(self, job):
            self.registers, self.beats_in, self.beats_out = (
                job.registers,
                job.beats_in,
                job.beats_out,
            )
            self._job = job

        def pieces(self, x):
            refused_in_another_thread([simulator.reset, simulator.close])
            yield from self._job.pieces(x)

    again = [(Meddling(job), x) for job, x in batch]
    assert carry_out(simulator, config, again, {}) == (given, measured)
    simulator.close()


def test_an_access_to_a_block_while_another_thread_is_in_one():
    block = NativeBlock(CORES["reduction"])
    beat = np.zeros(port_widths(CORES["reduction"])[INPUT] // 8, np.uint8)

    def pieces():
        refused_in_another_thread(
            [lambda: block.read(0), lambda: block.write(8, 0), block.wait, block.reset, block.close]
        )
        yield beat

    block.send(pieces(), len(beat))
    block.pass_clocks(9)
    assert block.clocks.taken == 1
    block.close()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_clean():
    """An interrupt stops a long run at once, and the next operator gives the right result."""

    def interrupt(progress: Progress) -> None:
        if progress.clocks:
            calls.append(progress.clocks)
            signal.raise_signal(signal.SIGINT)

    calls: list[int] = []
    with Accelerator(**SMALL, progress=interrupt, watchdog=1 << 40) as accelerator:
        with pytest.raises(KeyboardInterrupt):
            accelerator.argmax(np.zeros(20_000_000, np.int8))
        assert len(calls) == 1
        assert calls[0] < 10_000_000
        accelerator._progress = None
        assert accelerator.argmax(np.arange(5, dtype=np.int8)) == 4


@pytest.mark.slow
@pytest.mark.skipif(
    "clang" in (compiler_version() or ""), reason="Clang compares the header with what was made"
)
def test_a_large_core_is_compiled_with_a_precompiled_header(tmp_path, monkeypatch):
    """The header itself is not read any more: it has become an error."""

    def spoiled(processes, name, flags, folder):
        with Processes() as own:
            own.wait(precompile(own, name, flags, folder))
        (folder / name).write_text("#error the header was read\n")
        return processes.start(["true"])

    precompile = native_build.precompile
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(native_build, "LARGE_VERILOG", 0)
    monkeypatch.setattr(native_build, "precompile", spoiled)
    assert compile_native(CORES["reduction"]).exists()


@pytest.mark.parametrize("simulator", ["native", pytest.param("icarus", marks=NEEDS_ICARUS)])
def test_a_flag_behind_a_comparison_of_64_bits(simulator):
    """Verilator left out the mask of bit 64, and the lane behind the end of the row won."""
    fixed = (("decreasing", 0), ("tail", 1))
    config = CoreConfig(
        (DataType.INT64,), 2, max_window=(1, 1, 1), operators=("argmax",), pipelining="small",
        fixed=fixed,
    )  # fmt: skip
    with Accelerator(config, backend=simulator) as accelerator:
        x = -np.array([5, 3, 2, 4, 2], np.int64)
        assert accelerator.argmax(x).tolist() == [2]
        assert accelerator.argmax(-x).tolist() == [0]


def test_a_header_that_cannot_be_precompiled_is_read(tmp_path, monkeypatch):
    def failing(processes, name, flags, folder):
        (folder / name).write_text('#include "verilated.h"\n')
        return processes.start(["false"])

    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(native_build, "LARGE_VERILOG", 0)
    monkeypatch.setattr(native_build, "precompile", failing)
    assert compile_native(CORES["reduction"]).exists()
