"""Counts the clocks of every workload at full size on 1, 4 and 16 lanes, beside the bound.

The cores are those of two settings of their pipelining, ``"fast"`` and ``"small"``. Each result is
checked bit for bit on the backend `native`. A sample is also run under cocotb on Verilator, where
the clocks must be the same. The first run takes longest, because it compiles the cores.

Usage: ``python bench/cycles.py [--only WORKLOAD ...] [--lanes N ...] [--pipelining SETTING ...]``.
Writes ``bench/results/cycles.json``; what is left out keeps its last results. The exit status is 1
if a result or a number of clocks is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bound import Bound, bound
from clock_counts import ClockBench, Run, agrees, main

from extremum.host import Accelerator
from extremum.host.report import Report
from extremum.tb.command import end

RESULTS = Path(__file__).parent / "results" / "cycles.json"

SAMPLE = ("k2s2p1", "yolo_sppf", "alternating_axes")
SAMPLE_LANES = 16
"""The workloads that are also run under cocotb, and on how many lanes."""


def measure(run: Run) -> dict[str, Any]:
    """Run a workload, and compare its clocks with the bound, the prediction and cocotb."""
    x, least = run.tensor(), bound(run.problem, run.lanes)
    report, agreement = ran(run, x, "native")
    cocotb = None
    if run.workload["name"] in SAMPLE and run.lanes == SAMPLE_LANES:
        on_verilator, agrees_too = ran(run, x, "verilator")
        cocotb, agreement = on_verilator.cycles, agreement and agrees_too
    return {
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


def ran(run: Run, x: np.ndarray, backend: str) -> tuple[Report, bool]:
    """Run a workload on a backend; return its report, and whether the golden model agrees."""
    with Accelerator(run.config, backend=backend) as accelerator:
        found = accelerator.run(run.problem, x)
        report = accelerator.report
    assert report is not None
    return report, agrees(run.problem, x, found)


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


COLUMNS = (
    "beats_in", "beats_out", "bound", "cycles", "allowed", "predicted", "cocotb", "utilization",
)  # fmt: skip

if __name__ == "__main__":
    end(partial(main, ClockBench(__doc__, RESULTS, "none", measure, COLUMNS)))
