"""Runs a cocotb bench on a compiled simulation, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from cocotb_tools.check_results import get_results

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
        A test of the bench failed, or it has written nothing.
    """
    request = {
        "simulator": simulator,
        "build_dir": str(compiled),
        "test_dir": str(folder),
        "module": bench.stem,
        "top": "system",
        "environment": {"COCOTB_ANSI_OUTPUT": "0", **(variables or {})},
    }
    path = os.pathsep.join([str(bench.resolve().parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    environment.pop("PYTEST_CURRENT_TEST", None)
    process = [sys.executable, "-m", "extremum.host.simulation.cocotb_process", "simulate"]
    ran = subprocess.run(
        [*process, json.dumps(request)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        timeout=LONGEST,
        check=False,
    )
    written = folder / report
    text = written.read_text() if written.exists() else ""
    # The process ends with 0 whether a test of the bench has failed or not: this file tells.
    results = folder / "results.xml"
    tests, failures = get_results(results) if results.exists() else (0, 0)
    if ran.returncode or failures or not tests or not text:
        raise RuntimeError(f"the bench failed:\n{ran.stdout}\n{text}")
    return text
