"""A layer from memory to memory, with the DMA and the memory of cocotbext-axi around the block.

Usage: ``python examples/memory_to_memory/run.py [--simulator icarus]``. It needs the Python
packages of the extra ``test``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from extremum.host import cache
from extremum.host.simulation.cocotb_simulator import compile_core
from extremum.tb.cores import CORE, CORES

HERE = Path(__file__).parent

CONFIG = "image"
"""Name of the core: bytes in four lanes."""

LONGEST = 1200
"""Seconds after which a simulation is given up."""


def run(simulator: str, folder: Path) -> str:
    """Run the layer in a simulator; return the report.

    Raises
    ------
    RuntimeError
        A result is wrong, or there is none.
    """
    block = cache.verilog(CORES[CONFIG], bus="axi")
    place = compile_core(
        CORES[CONFIG],
        simulator,
        verilog=f"{(HERE / 'system.v').read_text()}\n{block}",
        top="system",
        settings=[HERE / "ports.vlt"],
        tell=lambda stage: print(f"The system: {stage}", file=sys.stderr),
    )
    request = {
        "simulator": simulator,
        "build_dir": str(place),
        "test_dir": str(folder),
        "module": "bench",
        "top": "system",
        "environment": {CORE: CONFIG, "COCOTB_ANSI_OUTPUT": "0"},
    }
    path = os.pathsep.join([str(HERE.resolve()), os.environ.get("PYTHONPATH", "")])
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
    report = folder / "report.txt"
    if ran.returncode or not report.exists():
        raise RuntimeError(f"the layer failed:\n{ran.stdout}")
    return report.read_text()


def main() -> int:
    """Run the layer in the simulator that the command line names."""
    parser = argparse.ArgumentParser(description="Pool a layer from memory to memory.")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="verilator")
    simulator = parser.parse_args().simulator
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(run(simulator, Path(folder)), end="")
        except RuntimeError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
