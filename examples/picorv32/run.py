"""A PicoRV32 that pools tensors with the block: builds the system and its program, and runs them.

Usage: ``python examples/picorv32/run.py [--simulator icarus]``. It needs Debian's package
``gcc-riscv64-unknown-elf``, and the Python packages of the extra ``test``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "firmware"))

import build  # noqa: E402 - from the folder above
from cases import CONFIG  # noqa: E402

from extremum.host import cache, tools  # noqa: E402
from extremum.host.simulation.verilated import verilator_variables  # noqa: E402

LONGEST = 1200
"""Seconds after which a simulation is given up."""

MAKEFLAGS = (
    "CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD=-std=gnu++20 "
    "CFG_CXXFLAGS_STD_NEWEST=-std=gnu++20 CFG_CXXFLAGS_COROUTINES=-fcoroutines "
    "OPT_FAST=-O1 OPT_SLOW=-O0"
)
"""What the makefile of Verilator's Python package lacks, and how well its code is optimised."""

VERILATE = ("--output-split", "0", "-Wno-fatal", "-Wno-WIDTH")


def sources() -> list[Path]:
    """Return the Verilog of the system, but for the block."""
    processor = Path(str(files("pythondata_cpu_picorv32"))) / "verilog" / "picorv32.v"
    return [*sorted(HERE.glob("*.v")), processor]


def compiled(simulator: str) -> Path:
    """Return the folder of the compiled simulation, made unless the cache holds it."""
    block = cache.verilog(CONFIG, bus="axi")
    parts = [block, version("cocotb"), version("verilator"), MAKEFLAGS, *VERILATE]
    texts = [path.read_text() for path in (*sources(), HERE / "ports.vlt")]

    def make(folder: Path) -> None:
        print(f"Compiling the system for {simulator}.", flush=True)
        place = folder / "build"
        place.mkdir()
        (place / "block.v").write_text(block)
        request = {
            "simulator": simulator,
            "build_dir": str(place),
            "sources": [str(path) for path in (*sources(), place / "block.v")],
            "top": "system",
        }
        if simulator == "verilator":
            request["sources"] += [str(HERE / "ports.vlt"), str(files("extremum.hdl") / "lint.vlt")]
            request["arguments"] = list(VERILATE)
        _cocotb("build", request, place)
        for header in place.glob("*.gch"):
            header.unlink()

    maker = tools.TOOLS["icarus"].find() if simulator == "icarus" else ""
    return cache.kept(f"picorv32-{simulator}", "\0".join([*parts, *texts]), make, maker=maker)


def run(simulator: str, folder: Path) -> str:
    """Build the program, run it in a simulator, and return what it printed.

    Raises
    ------
    RuntimeError
        The program, or the simulation, does not say that all went well.
    """
    build.build(folder, HERE, march="rv32im", optimisation="-O2")
    request = {
        "simulator": simulator,
        "build_dir": str(compiled(simulator) / "build"),
        "test_dir": str(folder),
        "module": "bench",
        "top": "system",
    }
    log = _cocotb("simulate", request, folder)
    console = folder / "console.txt"
    said = console.read_text() if console.exists() else ""
    if not said.endswith("PASS\n"):
        raise RuntimeError(f"the program did not say that all is right:\n{log}\n{said}")
    return said


def _cocotb(command: str, request: dict[str, object], folder: Path) -> str:
    """Run cocotb's runner in a process of its own; return what it says."""
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "COCOTB_ANSI_OUTPUT": "0"}
    environment.pop("PYTEST_CURRENT_TEST", None)
    if request["simulator"] == "verilator":
        environment |= verilator_variables() | {
            "MAKEFLAGS": f"{MAKEFLAGS} PYTHON3={sys.executable}"
        }
    process = [sys.executable, "-m", "extremum.host.simulation.cocotb_process", command]
    ran = subprocess.run(
        [*process, json.dumps(request)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=folder,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(f"{request['simulator']}: {ran.stdout}")
    return ran.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the C driver on a PicoRV32 with the block.")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="verilator")
    simulator = parser.parse_args().simulator
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(run(simulator, Path(folder)), end="")
        except (RuntimeError, FileNotFoundError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
