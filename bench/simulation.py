"""Measures the simulations: first use, elements per second beside a bare loop, memory, workloads.

Usage: ``python bench/simulation.py [--only WORKLOAD ...] [--first-use] [--skip-rates]
[--skip-memory]``. The time to compile a core counts only in the figures of the first use; with
``--first-use`` only those are measured. Writes ``bench/results/simulation.json``; what is left out
keeps its last results. The exit status is 1 if a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from results_files import kept_results, write_results
from rich.console import Console
from rich.table import Table
from workloads import WORKLOADS, arrays, problem_of, tensor

from extremum.hdl.config import FASTEST_TO_SIMULATE, CoreConfig
from extremum.host import Accelerator
from extremum.host.plan import plan
from extremum.host.simulation.backend import JobRun
from extremum.host.simulation.cocotb_simulator import CocotbSimulator
from extremum.host.simulation.native import NativeSimulator
from extremum.model import DataType, EmptyWindowWarning, Pooling, Reduction
from extremum.tb.command import end, refuse_unwritable
from extremum.tb.source_digest import digests_of

RESULTS = Path(__file__).parent / "results" / "simulation.json"
ROUNDS = 3
BEATS = {"icarus": 2_000, "verilator": 5_000, "native": 400_000, "native_fast": 400_000}
"""Beats that are simulated by each backend; ``native_fast`` is the core with the highest clock."""
SETTINGS = (FASTEST_TO_SIMULATE, "fast")
FIRST_USE_LANES = (1, 16)
RATE_LANES = (1, 4, 16)
WORKLOAD_LANES = 16
MEMORY = ("argmax of 100 million", "pooling of 1x64x1024x1024")
SOURCES = ("hdl", "host/simulation")
"""What the times belong to."""


def rates(lanes: int) -> dict[str, float]:
    """Return medians of elements per second by backend, and cycles per second of the bare loop."""
    core, fast = (
        CoreConfig((DataType.FLOAT32,), lanes, max_window=(1, 1, 1), pipelining=setting)
        for setting in SETTINGS
    )
    native = NativeSimulator(core)
    simulators = {
        "icarus": CocotbSimulator(core, "icarus"),
        "verilator": CocotbSimulator(core, "verilator"),
        "native": native,
        "native_fast": NativeSimulator(fast),
    }
    seconds: dict[str, list[float]] = {name: [] for name in (*BEATS, "bare")}
    try:
        for number in range(ROUNDS + 1):  # the first round only warms up
            for name, beats in BEATS.items():
                config = fast if name == "native_fast" else core
                x = tensor("float32", (lanes, beats), number)
                (job,) = plan(Reduction.of("argmax", x.shape, x.dtype, 1), config).jobs
                run = JobRun(
                    [job.registers.to_bits(config)], list(job.pieces(x)), job.beats_in,
                    [job.beats_out], x.dtype, watchdog=2 * beats,
                )  # fmt: skip
                start = time.perf_counter()
                simulators[name].run(run, lambda values, positions: None)
                seconds[name].append(time.perf_counter() - start)
            start = time.perf_counter()
            native.idle(BEATS["native"])
            seconds["bare"].append(time.perf_counter() - start)
    finally:
        for simulator in simulators.values():
            simulator.close()
    middle = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    figures = {name: lanes * beats / middle[name] for name, beats in BEATS.items()}
    bare = BEATS["native"] / middle["bare"]
    return figures | {
        "bare_cycles": bare,
        "native_cycles": figures["native"] / lanes,
        "native_to_bare": figures["native"] / lanes / bare,
        "native_to_fast": figures["native"] / figures["native_fast"],
        "native_to_verilator": figures["native"] / figures["verilator"],
    }


FIRST_USE = """
import resource, sys, time
start = time.perf_counter()
from extremum.host import Accelerator
with Accelerator(lanes=int(sys.argv[1]), pipelining=sys.argv[2]) as accelerator:
    accelerator.prepare()
    seconds = time.perf_counter() - start
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(seconds, sum(each.ru_utime + each.ru_stime for each in used))
"""
"""A program that compiles the default core, and prints the seconds and processor seconds taken."""


def first_use(lanes: int, setting: str) -> dict[str, float]:
    """Return the seconds until a core is compiled, for the first time on a machine.

    ``again_processor_seconds`` is for a second core, when Verilator's runtime is already compiled.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"EXTREMUM_CACHE": folder}

        def measure() -> tuple[float, float]:
            command = [sys.executable, "-c", FIRST_USE, str(lanes), setting]
            told = subprocess.check_output(command, text=True, env=environment).split()
            return float(told[0]), float(told[1])

        seconds, used = measure()
        for entry in Path(folder).iterdir():
            if not entry.name.startswith("runtime-"):
                shutil.rmtree(entry)
        _, again = measure()
    return {"seconds": seconds, "processor_seconds": used, "again_processor_seconds": again}


def whole(workload: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run a workload at full size on the native backend, and check every bit."""
    problem, limits = problem_of(workload)
    x = tensor(workload["type"], tuple(workload["sizes"]), seed)
    with Accelerator(workload["type"], lanes=WORKLOAD_LANES, **limits) as accelerator:
        start = time.perf_counter()
        accelerator.prepare()
        compiled = time.perf_counter()
        result = accelerator.run(problem, x)
        simulated = time.perf_counter()
        golden = problem.evaluate(x)
        pairs = zip(*map(arrays, (result, golden)), strict=True)
        agrees = all(np.array_equal(_bits(a), _bits(b)) for a, b in pairs)
        checked = time.perf_counter()
        report = accelerator.report
    assert report is not None
    return {
        "workload": workload["name"],
        "elements": x.size,
        "cycles": report.cycles,
        "prepare_seconds": compiled - start,
        "simulation_seconds": simulated - compiled,
        "check_seconds": checked - simulated,
        "agreement": agrees,
    }


def _bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(np.uint8)


def occupy(case: str, backend: str) -> dict[str, Any]:
    """Run a large operator; return its time, and its memory with and without the input, in MB."""
    x: np.ndarray
    if case == MEMORY[0]:
        x = np.random.default_rng(1).integers(-128, 128, (16, 6_250_000), np.int8)
        problem: Reduction | Pooling = Reduction.of("argmax", x.shape, x.dtype, 1)
    else:
        x = np.random.default_rng(1).integers(-128, 128, (1, 64, 1024, 1024), np.int8)
        problem = Pooling.of(x.shape, x.dtype, 2, strides=2, return_indices=True)
    with Accelerator("int8", lanes=16, backend=backend, max_window=(1, 2, 2)) as accelerator:
        accelerator.prepare()
        before = fresh_peak()
        start = time.perf_counter()
        result = accelerator.run(problem, x)
        seconds = time.perf_counter() - start
    after = peak()
    name = "golden" if backend == "model" else backend
    return {
        "case": case, "on": name, "input_mb": x.nbytes / 1e6,
        "output_mb": sum(part.nbytes for part in arrays(result)) / 1e6,
        "peak_mb": after / 1e6, "beyond_input_mb": (after - before) / 1e6, "seconds": seconds,
    }  # fmt: skip


def fresh_peak() -> int:
    """Forget the peak memory of this process so far; return what it occupies now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Return the peak memory of this process, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s*(\d+)", status)[1])  # pyright: ignore[reportOptionalSubscript]


def table_of(title: str, rows: list[dict[str, Any]]) -> Table:
    """Return a table of figures that share their names."""
    table = Table(title=title, box=None)
    names = [name for name in rows[0] if name != "sources"]
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        figures = (row.get(name) for name in names)
        table.add_row(*(f"{v:,.2f}" if isinstance(v, float) else str(v) for v in figures))
    return table


def parts(found: Any) -> dict[str, Any]:
    """Return what ``simulation.json`` has: the machine's name, and lists of rows by name."""
    kept = dict(found)
    for name, rows in kept.items():
        if name != "machine" and rows:
            table_of(name, rows)
    for row in kept.get("workloads", ()):
        row["workload"]
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    workloads = tomllib.loads(WORKLOADS.read_text())["workload"]
    names = [workload["name"] for workload in workloads]
    parser.add_argument("--only", nargs="+", choices=names, metavar="WORKLOAD")
    parser.add_argument("--first-use", action="store_true", help="measure the first use alone")
    parser.add_argument("--skip-rates", action="store_true", help="no elements per second")
    parser.add_argument("--skip-memory", action="store_true", help="no peak memory")
    parser.add_argument("--occupy", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.occupy:
        print(json.dumps(occupy(*arguments.occupy)))
        return 0
    console = Console(width=140)
    # Measurements that are skipped keep their last results.
    refuse_unwritable(parser, RESULTS)
    found = kept_results(RESULTS, parts)
    found["machine"] = platform.processor() or platform.machine()
    warnings.simplefilter("ignore", EmptyWindowWarning)

    sources = {"sources": digests_of(SOURCES)}

    def show(name: str, title: str, rows: list[dict[str, Any]]) -> None:
        if rows:
            found[name] = rows
        write_results(RESULTS, found)
        if rows:
            console.print(table_of(title, rows))

    uses = [
        {"lanes": lanes, "pipelining": setting, **first_use(lanes, setting), **sources}
        for lanes, setting in product(FIRST_USE_LANES, SETTINGS)
    ]
    show("first_use", "first use", uses)
    if arguments.first_use:
        return 0
    if not arguments.skip_rates:
        title = "simulated elements per second, float32 reduction core"
        show("rates", title, [{"lanes": n, **rates(n), **sources} for n in RATE_LANES])
    rows = [
        whole(workload, seed) | sources
        for seed, workload in enumerate(workloads)
        if arguments.only is None or workload["name"] in arguments.only
    ]
    by_name = {row["workload"]: row for row in (*found.get("workloads", ()), *rows)}
    kept = [by_name[name] for name in names if name in by_name]
    show("workloads", f"workloads at full size, native, {WORKLOAD_LANES} lanes", kept)
    if not arguments.skip_memory:
        command = [sys.executable, __file__, "--occupy"]
        cases = [[case, backend] for case in MEMORY for backend in ("model", "native")]
        told = [subprocess.check_output([*command, *case], text=True) for case in cases]
        show("memory", "peak memory", [json.loads(line) | sources for line in told])
    return 0 if all(row["agreement"] for row in rows) else 1


if __name__ == "__main__":
    end(main)
