"""Counts the clocks of every workload at full size on 1, 4 and 16 lanes, beside the bound.

The cores are those of two settings of their pipelining, ``"fast"`` and ``"small"``. Each result is
checked bit for bit on the backend `native`. A sample is also run under cocotb on Verilator, where
the clocks must be the same. The first run takes longest, because it compiles the cores.

Usage: ``python bench/cycles.py [--only WORKLOAD ...] [--lanes N ...] [--pipelining SETTING ...]``.
Writes ``bench/results/cycles.json``; what is left out keeps its last results. The exit status is 1
if a result or a number of clocks is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bound import Bound, bound
from results_files import kept_results, write_results
from rich.console import Console
from rich.table import Table
from workloads import WORKLOADS, arrays, problem_of, tensor

from extremum.host import Accelerator
from extremum.host.report import Report
from extremum.model import EmptyWindowWarning, Pooling, Reduction

RESULTS = Path(__file__).parent / "results" / "cycles.json"
LANES = (1, 4, 16)
SETTINGS = ("fast", "small")

SAMPLE = ("k2s2p1", "yolo_sppf", "alternating_axes")
SAMPLE_LANES = 16
"""The workloads that are also run under cocotb, and on how many lanes."""


def measure(workload: dict[str, Any], lanes: int, setting: str, seed: int) -> dict[str, Any]:
    """Run a workload, and compare its clocks with the bound, the prediction and cocotb."""
    problem, limits = problem_of(workload)
    x = tensor(workload["type"], tuple(workload["sizes"]), seed)
    least = bound(problem, lanes)
    core = {"lanes": lanes, "pipelining": setting, **limits}
    report, agreement = run(problem, x, "native", core)
    sampled = workload["name"] in SAMPLE and lanes == SAMPLE_LANES
    cocotb = None
    if sampled:
        on_verilator, agrees = run(problem, x, "verilator", core)
        cocotb, agreement = on_verilator.cycles, agreement and agrees
    return {
        "workload": workload["name"],
        "lanes": lanes,
        "pipelining": setting,
        "beats_in": report.beats_in,
        "beats_out": report.beats_out,
        "cycles": report.cycles,
        "bound": least.clocks,
        "allowed": least.allowed,
        "utilization": report.utilization,
        "predicted": report.predicted_cycles,
        "jobs": report.jobs,
        "cocotb": cocotb,
        "agreement": agreement,
        "faults": list(faults(report, least, cocotb, agreement=agreement)),
    }


def run(
    problem: Reduction | Pooling, x: np.ndarray, backend: str, core: dict[str, Any]
) -> tuple[Report, bool]:
    """Run an operator on a backend; return its report, and whether the golden model agrees."""
    with Accelerator(problem.data_type, backend=backend, **core) as accelerator:
        found = accelerator.run(problem, x)
        report = accelerator.report
    assert report is not None
    pairs = zip(*map(arrays, (found, problem.evaluate(x))), strict=True)
    return report, all(ours.tobytes() == golden.tobytes() for ours, golden in pairs)


def faults(report: Report, least: Bound, cocotb: int | None, *, agreement: bool) -> Iterator[str]:
    """Yield a description of each requirement that a run did not meet."""
    cycles = report.cycles or 0
    if not agreement:
        yield "a wrong result"
    if cycles > least.allowed:
        yield f"{cycles - least.allowed} clocks too many"
    if cycles != report.predicted_cycles:
        yield "a wrong prediction"
    if cocotb not in (None, cycles):
        yield f"cocotb counts {cocotb}"


def show(records: list[dict[str, Any]]) -> Table:
    """Return the records as a table."""
    columns = ("beats_in", "beats_out", "bound", "cycles", "allowed", "predicted", "cocotb")
    table = Table("workload", "lanes", "pipelining", *columns, "utilization", "faults", box=None)
    for record in records:
        table.add_row(
            record["workload"],
            str(record["lanes"]),
            record["pipelining"],
            *("" if record[name] is None else str(record[name]) for name in columns),
            f"{record['utilization']:.3f}",
            ", ".join(record["faults"]),
        )
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    workloads = tomllib.loads(WORKLOADS.read_text())["workload"]
    names = [workload["name"] for workload in workloads]
    parser.add_argument("--only", nargs="+", choices=names, metavar="WORKLOAD")
    parser.add_argument("--lanes", nargs="+", type=int, choices=LANES, default=LANES)
    parser.add_argument("--pipelining", nargs="+", choices=SETTINGS, default=SETTINGS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", EmptyWindowWarning)
    order = [
        (workload["name"], lanes, setting)
        for setting in SETTINGS
        for workload in workloads
        for lanes in sorted(LANES)
    ]
    found = {
        (record["workload"], record["lanes"], record["pipelining"]): record
        for record in kept_results(parser, RESULTS)
    }
    failed = False
    for seed, workload in enumerate(workloads):
        if arguments.only is not None and workload["name"] not in arguments.only:
            continue
        for lanes, setting in product(arguments.lanes, arguments.pipelining):
            record = measure(workload, lanes, setting, seed)
            found[workload["name"], lanes, setting] = record
            failed |= bool(record["faults"])
            core = f"{lanes} lanes, {setting}"
            print(f"{workload['name']}, {core}: {record['cycles']}", file=sys.stderr)
            records = [found[key] for key in order if key in found]
            write_results(RESULTS, records)
    records = [found[key] for key in order if key in found]
    Console(width=140).print(show(records))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
