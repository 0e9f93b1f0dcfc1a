"""A layer from memory to memory, with the DMA and the memory of cocotbext-axi around the block.

Usage: ``python examples/memory_to_memory/run.py [--simulator icarus]``. It needs the Python
packages of the extras ``sim`` and ``test``; ``make memory-to-memory`` installs them and runs it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "common"))

from simulate import simulate

from extremum.host import cache
from extremum.host.simulation.cocotb_simulator import compile_core
from extremum.tb.cores import CORE, CORES

HERE = Path(__file__).parent
CONFIG = "image"
"""Name of the core: bytes in four lanes."""


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
    bench = HERE / "bench.py"
    core = {CORE: CONFIG}
    return simulate(simulator, place, bench, folder, report="report.txt", variables=core)


def main() -> int:
    """Run the layer in the simulator that the command line names."""
    parser = argparse.ArgumentParser(description="Pool a layer from memory to memory.")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="verilator")
    simulator = parser.parse_args().simulator
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(run(simulator, Path(folder)), end="")
        except (RuntimeError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
