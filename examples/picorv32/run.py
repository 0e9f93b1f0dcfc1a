"""A PicoRV32 that pools tensors with the block: builds the system and its program, and runs them.

Usage: ``python examples/picorv32/run.py [--simulator icarus] [--program FILE.c ...]``. It needs
Debian's package ``gcc-riscv64-unknown-elf``, and the Python packages of the extras ``sim`` and
``test``; ``make picorv32`` installs them and runs it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "common"))
sys.path.insert(0, str(Path(__file__).parent.parent / "firmware"))

from cases import CONFIG
from firmware_build import MAIN, build
from simulate import simulate

from extremum.host import cache
from extremum.host.simulation.cocotb_simulator import compile_core

HERE = Path(__file__).parent


def verilog() -> str:
    """Return the Verilog of the system: its own files, the processor and the block."""
    processor = Path(str(files("pythondata_cpu_picorv32"))) / "verilog" / "picorv32.v"
    texts = [path.read_text() for path in (*sorted(HERE.glob("*.v")), processor)]
    return "\n".join([*texts, cache.verilog(CONFIG, bus="axi")])


def run(simulator: str, folder: Path, program: Sequence[Path] = (MAIN,)) -> str:
    """Build the program, run it in a simulator, and return what it printed.

    Raises
    ------
    RuntimeError
        The program, or the simulation, does not say that all went well.
    """
    build(folder, HERE, march="rv32im", optimisation="-O2", program=program)
    place = compile_core(
        CONFIG,
        simulator,
        verilog=verilog(),
        top="system",
        settings=[HERE / "ports.vlt"],
        tell=lambda stage: print(f"The system: {stage}", file=sys.stderr),
    )
    said = simulate(simulator, place, HERE / "bench.py", folder, report="console.txt")
    if not said.endswith("PASS\n"):
        raise RuntimeError(f"the program did not say that all is right:\n{said}")
    return said


def main() -> int:
    """Run the system in the simulator that the command line names."""
    parser = argparse.ArgumentParser(description="Run the C driver on a PicoRV32 with the block.")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="verilator")
    parser.add_argument(
        "--program", nargs="+", type=Path, default=[MAIN], metavar="FILE.c",
        help="sources to run instead of the example's main.c; the last line they print is PASS",
    )  # fmt: skip
    given = parser.parse_args()
    for path in given.program:
        if not path.is_file() or path.suffix not in (".c", ".S"):
            parser.error(f"--program wants files of C or assembly, .c or .S, not: {path}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(run(given.simulator, Path(folder), given.program), end="")
        except (RuntimeError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
