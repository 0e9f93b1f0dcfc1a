"""What a core costs on an FPGA: area and clock, as Yosys and nextpnr find them."""

from __future__ import annotations

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

from extremum.hdl.config import CoreConfig
from extremum.hdl.harness import netlist
from extremum.hdl.interface import parameters
from extremum.hdl.latency import latency
from extremum.host import cache, tools
from extremum.host.fpga import toolchain
from extremum.host.fpga.critical_path import CriticalPath, SourceNames
from extremum.host.fpga.devices import Device
from extremum.host.fpga.synthesis import count_cells, synthesise

__all__ = ["DEFAULT_SEEDS", "Measurement", "Placement", "measure", "record"]

DEFAULT_SEEDS = (1, 2, 3)
AT_ONCE = 2
"""How many placements run side by side."""
ALWAYS = ("--timing-allow-fail", "--tmg-ripup", "-q")
"""Options of nextpnr: go on if the clock is missed, and route again what misses it."""
FLOW = 4
"""Version of what is done between the tools; a new one makes the entries of the cache stale."""
MEASUREMENT = "measurement.json"

_SOURCE = re.compile(r'^ *attribute \\src "[^"]*"\n', re.MULTILINE)


@dataclass(frozen=True)
class Placement:
    """One placement.

    Attributes
    ----------
    seed : int
    comb, block_ram : int
        Logic cells and memories, as nextpnr counts them.
    fmax : float
        Fastest clock, in MHz.
    critical_path : CriticalPath
    """

    seed: int
    comb: int
    block_ram: int
    fmax: float
    critical_path: CriticalPath

    @classmethod
    def of(cls, report: dict[str, Any], seed: int, device: Device, names: SourceNames) -> Placement:
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
    runs : tuple of Placement
        One for each seed.
    """

    lut4: int
    ff: int
    runs: tuple[Placement, ...]

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
    def median(self) -> Placement:
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
            Placement(**(run | {"critical_path": CriticalPath.from_dict(run["critical_path"])}))
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
        "latency": latency(config),
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
    tools.require("amaranth", toolchain.YOSYS, device.tool)
    say("generating")
    rtlil = netlist(config, pins=device.pins, platform=device.platform)
    aim = device.frequency if frequency is None else frequency
    versions = [version(tool) for tool in (toolchain.YOSYS, device.tool)]
    told = [str(FLOW), device.synthesis, *device.options, *ALWAYS, str(aim), *map(str, seeds)]
    parts = [_SOURCE.sub("", rtlil), *told, *versions]

    def make(folder: Path) -> None:
        with TemporaryDirectory(dir=folder) as build:
            (Path(build) / "core.il").write_text(rtlil)
            measured = _measure(Path(build), device, seeds, aim, say)
        (folder / MEASUREMENT).write_text(json.dumps(measured.as_dict()))

    folder = cache.kept("fpga", "\0".join(parts), make)
    return Measurement.from_dict(json.loads((folder / MEASUREMENT).read_text()))


def _measure(
    build: Path, device: Device, seeds: Sequence[int], frequency: int, say: Callable[[str], None]
) -> Measurement:
    """Measure the core in ``core.il`` of a folder."""
    say("synthesis")
    module = synthesise(build, device, frequency)
    names = SourceNames(module)
    done = 0

    def run(seed: int) -> Placement:
        nonlocal done
        report = f"report-{seed}.json"
        command = [
            *device.options, *ALWAYS, "--json", "core.json", "--freq", str(frequency),
            "--seed", str(seed), "--report", report,
        ]  # fmt: skip
        toolchain.call(device.tool, command, build)
        done += 1
        say(f"placement and routing: {done} of {len(seeds)}")
        return Placement.of(json.loads((build / report).read_text()), seed, device, names)

    say(f"placement and routing: 0 of {len(seeds)}")
    with ThreadPoolExecutor(AT_ONCE) as executor:
        runs = tuple(executor.map(run, seeds))
    return Measurement(*count_cells(module, device), runs)
