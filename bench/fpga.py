"""Measures area and clock on FPGAs: of cores with a target, of cores that grow, and of AXI blocks.

Usage: ``python bench/fpga.py [--only NAME ...]``. The first measurement of a core of four lanes
takes minutes; its result is then kept in the user's cache. Writes ``bench/results/fpga.json``;
blocks that are left out keep their last results. Each result has the digest of the netlist that was
measured: of the core within the harness, with the memories of the part.
"""

from __future__ import annotations

import argparse
import math
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from results_files import kept_results, write_results
from workloads import WORKLOADS, problem_of

from extremum.hdl.axi.block import block_members
from extremum.hdl.axi.streams import is_programmable
from extremum.hdl.config import CoreConfig
from extremum.hdl.interface import interface
from extremum.host.errors import SynthesisError
from extremum.host.fpga.devices import DEVICES
from extremum.host.fpga.measure import measure, netlist_digest, record
from extremum.host.fpga.presets import PRESETS
from extremum.host.package.configuration import parse
from extremum.host.plan import plan
from extremum.model import DataType
from extremum.tb.command import end, refuse_unwritable

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results" / "fpga.json"
TARGETS = FOLDER / "targets.toml"
PACKAGES = FOLDER.parent / "examples" / "packages"

ECP5 = "ecp5-85k"
BASE = "programmable-int8x4"
GROWTH = {
    "lanes": [({"lanes": lanes}, lanes) for lanes in (1, 4, 16, 64)],
    "small lanes": [({"lanes": lanes, "pipelining": "small"}, lanes) for lanes in (1, 4, 16)],
    "window": [({"max_window": (1, taps, taps)}, taps) for taps in (2, 3, 5, 7)],
    "line": [({"max_line": line}, line) for line in (64, 256, 1024, 2048)],
}
"""For each series of growing cores: what is other than in the base, and its place in a plot."""

PROGRAMMABLE = CoreConfig(
    (DataType.INT8,), max_window=(1, 3, 3), max_dilation=(1, 1, 1), max_line=256, max_plane=1,
    coordinate_width=10,
)  # fmt: skip
"""All operators on one lane of bytes."""

SMALL_PARTS = ("argmax-int8", "argmax-float32", "pool2x2-int8")

SETTINGS = (
    ("programmable-int8", "small", "ice40-up5k"),
    *product(SMALL_PARTS, ("small", "balanced"), ("ice40-hx8k",)),
    *product(PRESETS, ("small", "balanced"), (ECP5,)),
)
"""Cores with another setting of ``pipelining``: the core, the setting, the part."""


BLOCKS = (
    *((name, "small", ECP5) for name in ("pool2x2-int8", "programmable-int8x4")),
    ("pool2x2-int8", "fast", "ice40-up5k"),
    ("pool2x2-int8", "small", "ice40-hx8k"),
)
"""Cores that are measured within the AXI block beside the presets: setting of pipelining, part."""


@dataclass(frozen=True)
class Core:
    """A core to measure, by itself or within the AXI block.

    Parameters
    ----------
    name
        Name of the record.
    preset
        Name of the preset that the core is derived from.
    config
        Configuration of the core.
    device
        Device to measure the core on.
    series
        Name of the series, and the number of the core in its plot; None for a core that is in no
        series.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.
    """

    name: str
    preset: str
    config: CoreConfig
    device: str = ECP5
    series: tuple[str, int] | None = None
    bus: str = "none"

    @property
    def ports(self) -> int:
        """How many ports the module has."""
        if self.bus == "axi":
            return len(block_members(self.config))
        return len(interface(self.config)["ports"])


def cores() -> Iterator[Core]:
    """Yield all that is measured."""
    for name, config in PRESETS.items():
        yield Core(name, name, config)
    for name in SMALL_PARTS:
        for device in DEVICES:
            if device != ECP5:
                yield Core(_place(name, "fast", device), name, PRESETS[name], device)
    for series, values in GROWTH.items():
        for change, number in values:
            config = replace(PRESETS[BASE], **change)
            yield Core(f"{BASE}, {series} {number}", BASE, config, series=(series, number))

    for name, setting, device in SETTINGS:
        config = replace((PRESETS | {"programmable-int8": PROGRAMMABLE})[name], pipelining=setting)
        yield Core(_place(name, setting, device), name, config, device)

    for name, config in (PRESETS | dataflow()).items():
        if name not in PRESETS:
            yield Core(name, name, config)
        yield Core(f"{name}, AXI", name, config, bus="axi")

    for name, setting, device in BLOCKS:
        config = replace(PRESETS[name], pipelining=setting)
        yield Core(f"{_place(name, setting, device)}, AXI", name, config, device, bus="axi")


def _place(name: str, setting: str, device: str) -> str:
    """Return the name of a core's record, with the setting and the part if these are not usual."""
    told = "" if setting == "fast" else f", {setting}"
    return f"{name}{told}" + ("" if device == ECP5 else f" on {device}")


def dataflow() -> dict[str, CoreConfig]:
    """Return the configurations of `examples/packages` whose registers are all fixed, by name."""
    found = {path.stem: parse(path.read_text()).config for path in sorted(PACKAGES.glob("*.toml"))}
    return {name: config for name, config in found.items() if not is_programmable(config)}


def cycles_per_beat(core: Core) -> float:
    """Return the clocks for each beat of elements of the preset's workload, on this very core.

    They are those of the plan, which `make bench-cycles` holds against the clocks that cores take;
    the workload's elements are of the core's type. A core without a workload, and one that cannot
    take the elements as they come, counts one beat per clock.
    """
    targets = tomllib.loads(TARGETS.read_text())["block"]
    name = {target["name"]: target.get("workload") for target in targets}.get(core.preset)
    if name is None:
        return 1.0
    workloads = tomllib.loads(WORKLOADS.read_text())["workload"]
    workload = next(each for each in workloads if each["name"] == name)
    config = core.config
    problem, _ = problem_of(workload | {"type": config.data_types[0].name.lower()})
    planned = plan(problem, config)
    if any(job.kind == "gathered" for job, _ in planned.jobs.kinds()):
        return 1.0
    return planned.cycles * config.lanes / math.prod(workload["sizes"])


def by_name(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the records of ``fpga.json`` by their names."""
    return {record["name"]: record for record in records}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", help="names of cores")
    arguments = parser.parse_args()
    listed = list(cores())
    if unknown := set(arguments.only or ()) - {core.name for core in listed}:
        parser.error(f"there is no core {min(unknown)!r}")
    chosen = [core for core in listed if arguments.only is None or core.name in arguments.only]
    refuse_unwritable(parser, RESULTS)
    found = kept_results(RESULTS, by_name)
    failed = False
    for core in chosen:
        device = DEVICES[core.device]
        try:
            measured = measure(core.config, device, bus=core.bus)
        except SynthesisError as error:
            print(f"{core.name}: {error}", file=sys.stderr)
            found.pop(core.name, None)
            failed = True
        else:
            entry = record(
                core.name, core.config, device, measured, cycles_per_beat(core), bus=core.bus
            )  # fmt: skip
            found[core.name] = entry | {
                "device": core.device,
                "series": core.series,
                "ports": core.ports,
                "netlist": netlist_digest(core.config, device, core.bus),
            }
            print(f"{core.name}: {entry['comb']} COMB, {entry['fmax_mhz']} MHz", file=sys.stderr)
        write_results(RESULTS, [found[core.name] for core in listed if core.name in found])
    return int(failed)


if __name__ == "__main__":
    end(main)
