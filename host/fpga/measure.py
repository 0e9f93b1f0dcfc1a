"""Measures the area and the clock of a core on an FPGA, with Yosys and nextpnr."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from extremum.hdl.axi.latency import latency
from extremum.hdl.config import CoreConfig
from extremum.hdl.harness import netlist
from extremum.hdl.interface import parameters
from extremum.host import cache, tools
from extremum.host.fpga import toolchain
from extremum.host.fpga.critical_path import CriticalPath, SourceNames
from extremum.host.fpga.devices import Device
from extremum.host.fpga.synthesis import count_cells, synthesise
from extremum.host.processes import Processes

__all__ = ["DEFAULT_SEEDS", "Measurement", "Placement", "measure", "netlist_digest", "record"]

DEFAULT_SEEDS = (1, 2, 3)
AT_ONCE = 2
"""Number of placements that run at the same time."""
ALWAYS = ("--timing-allow-fail", "-q")
"""Options of nextpnr for every netlist: do not fail if the clock is missed."""
REROUTE = ("--tmg-ripup",)
"""Option for a netlist of up to :data:`MOST_REROUTED_FF` flip-flops: route late nets again.

On a part that is fuller this does not end.
"""
MOST_REROUTED_FF = 40_000
WEIGHT = ("--placer-heap-timingweight", "30")
"""Option for a netlist of more than :data:`LARGE_FF` flip-flops.

Its ways are long, so their time weighs more in the placement than the 10 of the default.
"""
LARGE_FF = 7_000
ROUTED_FOR = 2
"""How many times the clock that is aimed at nextpnr is told.

It stops to improve a route once the clock is met that it is told. So it is told one that no core
reaches, for Fmax to be what a core can do. Of a core that misses either clock, it makes the same.
"""
FLOW = 6
"""Version of the steps of a measurement; changing it makes the entries of the cache stale."""
MEASUREMENT = "measurement.json"

_SOURCE = re.compile(r'^ *attribute \\src "[^"]*"\n', re.MULTILINE)


@dataclass(frozen=True)
class Placement:
    """The result of one placement.

    Attributes
    ----------
    seed : int
        Seed of the placement.
    comb, block_ram : int
        Logic cells and memories, as nextpnr counts them.
    fmax : float
        Fastest clock, in MHz.
    critical_path : CriticalPath
        The path that limits the clock.
    """

    seed: int
    comb: int
    block_ram: int
    fmax: float
    critical_path: CriticalPath

    @classmethod
    def of(cls, report: dict[str, Any], seed: int, device: Device, names: SourceNames) -> Placement:
        """Return the placement that a report of nextpnr describes."""
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
    """The area and the clock of a core on a device.

    Attributes
    ----------
    lut4, ff : int
        Look-up tables and flip-flops in Yosys's netlist. The flip-flops of the harness are not
        counted.
    runs : tuple of Placement
        The placements, one for each seed.
    """

    lut4: int
    ff: int
    runs: tuple[Placement, ...]

    @property
    def comb(self) -> int:
        """Logic cells: look-up tables and carry cells, with those that only pass a signal on."""
        return statistics.median_low(run.comb for run in self.runs)

    @property
    def block_ram(self) -> int:
        """Block memories."""
        return statistics.median_low(run.block_ram for run in self.runs)

    @property
    def fmax(self) -> float:
        """The median of the runs' Fmax, in MHz; of an even number of runs, the lower median."""
        return self.median.fmax

    @property
    def median(self) -> Placement:
        """The placement whose Fmax is the median."""
        ordered = sorted(self.runs, key=lambda run: run.fmax)
        return ordered[(len(ordered) - 1) // 2]

    def elements_per_second(self, lanes: int, cycles_per_beat: float = 1.0) -> float:
        """Return the input elements that a core takes each second at its Fmax."""
        return self.fmax * 1e6 * lanes / cycles_per_beat

    def as_dict(self) -> dict[str, Any]:
        """Return the measurement as plain data for JSON."""
        return {
            "lut4": self.lut4,
            "ff": self.ff,
            "runs": [
                vars(run) | {"critical_path": run.critical_path.as_dict()} for run in self.runs
            ],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Measurement:
        """Return the measurement that :meth:`as_dict` turned into plain data."""
        runs = (
            Placement(**(run | {"critical_path": CriticalPath.from_dict(run["critical_path"])}))
            for run in data["runs"]
        )
        return cls(data["lut4"], data["ff"], tuple(runs))


def tool_versions(device: Device) -> dict[str, str]:
    """Return the versions of what synthesises, and of what places and routes, by their names."""
    return {tool: version(tool) for tool in (toolchain.YOSYS, device.tool)}


def record(
    name: str,
    config: CoreConfig,
    device: Device,
    measured: Measurement,
    cycles_per_beat: float = 1.0,
    *,
    bus: str = "none",
) -> dict[str, Any]:
    """Return a measurement as plain data, in the form of ``extremum fpga --json``.

    Parameters
    ----------
    name
        Name of the core.
    config
        Configuration of the core that was measured.
    device
        The device that it was measured on.
    measured
        The result of the measurement.
    cycles_per_beat
        Clocks that the core takes for one input beat: 1, unless a workload was measured.
    bus
        What was measured: see :func:`measure`.
    """
    return {
        "name": name,
        "bus": bus,
        "comb": measured.comb,
        "lut4": measured.lut4,
        "ff": measured.ff,
        "block_ram": measured.block_ram,
        "latency": latency(config, bus),
        "fmax_mhz": round(measured.fmax, 2),
        "seeds": [{"seed": run.seed, "fmax_mhz": round(run.fmax, 2)} for run in measured.runs],
        "lanes": config.lanes,
        "cycles_per_beat": cycles_per_beat,
        "elements_per_second": round(measured.elements_per_second(config.lanes, cycles_per_beat)),
        "critical_path": measured.median.critical_path.as_dict(),
        "tools": tool_versions(device),
        "parameters": parameters(config),
    }


def measure(
    config: CoreConfig,
    device: Device,
    seeds: Sequence[int] = DEFAULT_SEEDS,
    frequency: int | None = None,
    say: Callable[[str], None] = lambda _: None,
    *,
    bus: str = "none",
) -> Measurement:
    """Synthesise a core, and place and route it once for each seed, or reuse an earlier result.

    Parameters
    ----------
    config
        Configuration of the core.
    device
        The device, one of :data:`DEVICES`.
    seeds
        Seeds of the placements.
    frequency
        The clock to aim at, in MHz; None for that of the device and the setting of ``pipelining``.
    say
        Called with lines that tell the progress.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.

    Raises
    ------
    ToolError
        A tool is missing or too old.
    SynthesisError
        A tool refused the core: it does not fit, for example.
    """
    tools.require("amaranth", toolchain.YOSYS, device.tool)
    say("generating")
    rtlil = _rtlil(config, device, bus)
    aim = device.aim(config.pipelining) if frequency is None else frequency
    versions = tool_versions(device).values()
    told = [str(FLOW), device.synthesis, *device.options, str(aim), *map(str, seeds)]
    parts = [_without_places(rtlil), *told, *versions]

    def make(folder: Path) -> None:
        with TemporaryDirectory(dir=folder) as build:
            (Path(build) / "core.il").write_text(rtlil)
            measured = _measure(Path(build), device, seeds, aim, say)
        (folder / MEASUREMENT).write_text(json.dumps(measured.as_dict()))

    folder = cache.kept("fpga", "\0".join(parts), make)
    return Measurement.from_dict(json.loads((folder / MEASUREMENT).read_text()))


def netlist_digest(config: CoreConfig, device: Device, bus: str = "none") -> str:
    """Return twelve hexadecimal digits of the netlist that :func:`measure` synthesises.

    The netlist has the harness and the part's own memories. The places in the sources, of which it
    tells, do not count.
    """
    rtlil = _without_places(_rtlil(config, device, bus))
    return hashlib.sha256(rtlil.encode()).hexdigest()[:12]


def _rtlil(config: CoreConfig, device: Device, bus: str) -> str:
    """Return the netlist of a core in its harness, for a device."""
    return netlist(config, bus=bus, pins=device.pins, platform=device.platform)


def _without_places(rtlil: str) -> str:
    """Return a netlist without the places in the sources: no figure depends on these."""
    return _SOURCE.sub("", rtlil)


def _measure(
    build: Path, device: Device, seeds: Sequence[int], frequency: int, say: Callable[[str], None]
) -> Measurement:
    """Measure the core in ``core.il`` of a folder."""
    say("synthesis")
    module = synthesise(build, device, frequency)
    names = SourceNames(module)
    lut4, ff = count_cells(module, device)
    options = _options(ff)
    done = 0

    def run(seed: int) -> Placement:
        nonlocal done
        report = f"report-{seed}.json"
        command = [
            *device.options, *options, "--json", "core.json",
            "--freq", str(ROUTED_FOR * frequency), "--seed", str(seed), "--report", report,
        ]  # fmt: skip
        toolchain.call(device.tool, command, build, processes=processes)
        done += 1
        say(f"placement and routing: {done} of {len(seeds)}")
        return Placement.of(json.loads((build / report).read_text()), seed, device, names)

    say(f"placement and routing: 0 of {len(seeds)}")
    with Processes() as processes, ThreadPoolExecutor(AT_ONCE) as executor:
        try:
            runs = tuple(executor.map(run, seeds))
        except BaseException:
            processes.end()  # the executor waits for its threads, and these for their tools
            raise
    return Measurement(lut4, ff, runs)


def _options(ff: int) -> tuple[str, ...]:
    """Return the options of nextpnr for a netlist of so many flip-flops."""
    weight = WEIGHT if ff > LARGE_FF else ()
    return (*ALWAYS, *weight, *(REROUTE if ff <= MOST_REROUTED_FF else ()))
