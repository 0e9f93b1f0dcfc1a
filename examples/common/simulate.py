"""Runs a cocotb bench on a compiled simulation, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from cocotb_tools.check_results import get_results

from extremum.host.processes import Processes

LONGEST = 1200
"""Seconds after which a simulation is given up."""


def simulate(
    simulator: str,
    compiled: Path,
    bench: Path,
    folder: Path,
    *,
    report: str,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run a bench, and return what it has written.

    Parameters
    ----------
    simulator
        ``"verilator"`` or ``"icarus"``.
    compiled
        Folder of the compiled simulation, whose top module is called ``system``.
    bench
        The bench's file.
    folder
        Where the simulation runs.
    report
        Name of a file that the bench writes there.
    variables
        Environment variables for the bench.

    Raises
    ------
    RuntimeError
        A test of the bench failed, or it has written nothing, or it does not end.
    """
    request = {
        "simulator": simulator,
        "build_dir": str(compiled),
        "test_dir": str(folder),
        "module": bench.stem,
        "top": "system",
        "environment": {"COCOTB_ANSI_OUTPUT": "0", **(variables or {})},
    }
    others = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(bench.resolve().parent), *([others] if others else [])])
    process = [sys.executable, "-m", "extremum.host.simulation.cocotb_process", "simulate"]
    with Processes() as processes:
        ran = processes.start([*process, json.dumps(request)], variables={"PYTHONPATH": path})
        try:
            status = ran.wait(LONGEST)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"no end after {LONGEST} s:\n{ran.text}") from None
    written = folder / report
    text = written.read_text() if written.exists() else ""
    # The process ends with 0 whether a test of the bench has failed or not: this file tells.
    results = folder / "results.xml"
    tests, failures = get_results(results) if results.exists() else (0, 0)
    if status or failures or not tests or not text:
        raise RuntimeError(f"the bench failed:\n{ran.text}\n{text}")
    return text
