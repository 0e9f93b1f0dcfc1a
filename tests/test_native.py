"""The native backend: the same clocks as under cocotb, and what it says when things go wrong."""

import json
import random
import re
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from command_line import run

from extremum.host import Accelerator, SimulationError, cache
from extremum.host.driver import pack_beats
from extremum.host.native import NativeSimulator, compile_native, load
from extremum.host.simulators import Measured, Simulator
from extremum.tb.cores import CORES
from extremum.tb.sequences import jobs
from extremum.tb.stalls import Stalls

JOBS_PER_CORE = 75
WATCHDOG = 5_000
SMALL: dict[str, Any] = {"data_types": ("int8",), "max_window": (1, 1, 1)}


def runs(source, config):
    """Random jobs, one to four in a run, with stalls."""
    left = JOBS_PER_CORE
    while left > 0:
        batch = list(jobs(source, config, source.randint(1, 4)))
        left -= len(batch)
        options: dict[str, Any] = {
            "input_stalls": source.choice((0, 0, 30, 80)),
            "output_stalls": source.choice((0, 0, 30, 80)),
            "seed": source.randrange(1 << 31),
        }
        yield batch, options


@pytest.mark.parametrize("core", CORES)
def test_the_same_as_under_cocotb(core):
    """Results, cycles and statuses of a few hundred jobs, on a core that keeps its state."""
    config = CORES[core]
    native, cocotb = NativeSimulator(config), Simulator(config, "verilator")
    try:
        for batch, options in runs(random.Random(core), config):
            payloads = [job.registers.to_bits(config) for job, _ in batch]
            beats = np.concatenate([pack_beats(job.gather(x), config) for job, x in batch])
            results = sum(job.beats_out for job, _ in batch)
            ran: list[Measured] = [
                simulator.run(payloads, beats, results, watchdog=WATCHDOG, **options)
                for simulator in (native, cocotb)
            ]
            assert np.array_equal(ran[0].results, ran[1].results), (batch, options)
            assert ran[0].cycles == ran[1].cycles, (batch, options)
            assert ran[0].statuses == ran[1].statuses, (batch, options)
    finally:
        native.close()
        cocotb.close()


@pytest.mark.parametrize("rate", [0, 1, 30, 50, 99])
@pytest.mark.parametrize("seed", [0, 1, 12345, 2**31 + 7, 2**32 - 1])
def test_the_stalls_of_both_languages_agree(rate, seed):
    library = load(compile_native(CORES["reduction"]))
    stalls = np.empty(10_000, np.uint8)
    library.pump_stalls(rate, seed, len(stalls), stalls.ctypes.data)
    python = Stalls(rate, seed)
    assert stalls.tolist() == [python() for _ in stalls]


def test_a_hang_names_the_clock():
    """With a watchdog this short a rest of the source is a hang; cocotb gives up there too."""
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
    with Accelerator(**SMALL) as accelerator:
        accelerator.argmax(np.zeros(50, np.int8))
        accelerator._watchdog = 1
        accelerator._stalls["input_stalls"] = 99
        with pytest.raises(SimulationError, match=r"clock \d+ \(\d+ since the start\): nothing"):
            accelerator.argmax(np.zeros(50, np.int8))
        accelerator._watchdog = None
        assert accelerator.argmax(np.arange(5, dtype=np.int8)) == 4


def test_a_result_that_never_comes():
    config = CORES["reduction"]
    (job, x), *_ = jobs(random.Random(1), config, 1)
    beats = pack_beats(job.gather(x), config)
    native = NativeSimulator(config)
    message = "nothing moved for 101 clocks; 0 beats and 0 jobs wait"
    with pytest.raises(SimulationError, match=message):
        native.run([job.registers.to_bits(config)], beats, job.beats_out + 1, watchdog=100)
    native.close()


def test_waves_of_a_window(tmp_path):
    """Only the clocks of the window are written."""
    path = tmp_path / "wave.vcd"
    with Accelerator(**SMALL, waves=path, wave_window=(20, 29)) as accelerator:
        accelerator.argmax(np.arange(100, dtype=np.int8))
    times = [int(t) for t in re.findall(r"^#(\d+)$", path.read_text(), re.MULTILINE)]
    assert (times[0], times[-1], len(times)) == (40, 59, 20)


def test_waves_that_cannot_be_written(tmp_path):
    with (
        Accelerator(**SMALL, waves=tmp_path / "no" / "wave.vcd") as accelerator,
        pytest.raises(SimulationError, match="cannot write waveforms to"),
    ):
        accelerator.argmax(np.zeros(3, np.int8))


def test_an_interrupt_is_clean():
    """It stops a long run at once, and the next operator is right."""

    def interrupt(done: int, total: int) -> None:
        calls.append(done)
        signal.raise_signal(signal.SIGINT)

    calls: list[int] = []
    with Accelerator(**SMALL, progress=interrupt, watchdog=1 << 40) as accelerator:
        with pytest.raises(KeyboardInterrupt):
            accelerator.argmax(np.zeros(20_000_000, np.int8))
        assert len(calls) == 1
        accelerator._progress = None
        assert accelerator.argmax(np.arange(5, dtype=np.int8)) == 4


HOLD = """
import sys, time
from pathlib import Path
from extremum.host import cache
with cache.entry("native", "a key") as folder:
    made = folder / "made"
    if not made.exists():
        time.sleep(0.5)
        made.write_text("x" * 1000)
        print("built")
"""


def test_two_processes_build_once(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    both = [
        subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert sorted(process.communicate(timeout=60)[0] for process in both) == ["", "built\n"]
    (entry,) = cache.entries()
    assert entry.name.startswith("native-")
    assert entry.size >= 1000


COMPILE = """
from extremum.host.native import compile_native
from extremum.tb.cores import CORES
print(compile_native(CORES["reduction"]))
"""


def test_two_processes_compile_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    both = [
        subprocess.Popen([sys.executable, "-c", COMPILE], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    one, two = (process.communicate(timeout=300)[0] for process in both)
    assert one == two
    assert one.startswith(str(tmp_path))
    assert sorted(entry.name.split("-")[0] for entry in cache.entries()) == ["native", "verilog"]


def test_clearing_the_cache_spares_what_is_being_built(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    (tmp_path / "other").mkdir()
    for key in "ab":
        with cache.entry("thing", key) as folder:
            (folder / "file").write_text("x")
    with cache.entry("thing", "c") as held:
        removed, kept = cache.clear()
        assert [entry.name for entry in kept] == [held.name]
    assert len(removed) == 2
    assert [entry.name for entry in cache.entries()] == [held.name]
    assert (tmp_path / "other").exists()
    with cache.entry("thing", "a") as folder:
        assert not (folder / "file").exists()


def test_the_command_shows_and_clears(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    with cache.entry("thing", "a") as folder:
        (folder / "file").write_text("x" * 1000)
    status, out, err = run("cache")
    assert (status, err, out[0]) == (0, [], str(tmp_path))
    assert out[2].split() == [folder.name, "0.0"]
    told = json.loads(run("cache --json")[1][0])
    assert told["entries"] == [{"name": folder.name, "size": 1000}]
    told = json.loads(run("cache --clear --json")[1][0])
    assert (told["entries"], told["bytes"], len(told["removed"])) == ([], 0, 1)
    assert not folder.exists()
