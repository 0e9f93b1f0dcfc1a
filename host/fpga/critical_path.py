"""The critical path of a placed design, in the names of the gateware's sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

__all__ = ["CriticalPath", "Hop", "SourceNames"]

HARNESS_PREFIX = "port_"
"""Prefix of the registers that the harness puts on the core's ports."""

CARRY = "carry chain"
"""Name, in a path, of the cells that nextpnr adds to lead into or out of a carry chain."""

_CELL = re.compile(
    r"_(?:TRELLIS_FF|LUT4|PFUMX|L6MUX21|CCU2C|TRELLIS_DPR16X4|DP16KD|PDPW16KD|MULT18X18D|SB_[A-Z0-9_]+?)_"
    r"(?=[A-Z])"
)
"""Where, in the name of a cell, the signal's name ends and Yosys's names of the cells begin."""

_PACKED = re.compile(r"(?:_LC|_DFFLC|_RAM|(?:\$[A-Z][A-Z0-9_]*)+)$")
"""The ending that nextpnr adds to the name of a cell when it packs the cell."""

_BANK = re.compile(r"(?:\.\d+)+$")
_NUMBER = re.compile(r"^([^.]*)\$\d+$")
"""The number that Amaranth adds to the name of a wire between the harness and the core."""

_LOCATION = re.compile(r"([^|:]+\.py):(\d+)")
_REGISTER = re.compile(r"TRELLIS_FF|SB_DFF")


@dataclass(frozen=True)
class Hop:
    """The part of a path that passes through the logic named after one signal.

    Attributes
    ----------
    name : str
        The signal, by its place in the hierarchy. The name of the register where the path begins or
        ends also has the bit, and the line of the sources that declares or assigns it.
    logic, routing : float
        Nanoseconds spent in the signal's cells, and on the wires that lead to them.
    """

    name: str
    logic: float
    routing: float


@dataclass(frozen=True)
class CriticalPath:
    """The slowest path from a register to a register.

    Attributes
    ----------
    hops : tuple of Hop
        The first is the register where it begins, the last the one where it ends.
    """

    hops: tuple[Hop, ...]

    @classmethod
    def of(cls, report: Mapping[str, Any], names: SourceNames) -> CriticalPath:
        """Return the critical path in a report of nextpnr.

        Raises
        ------
        ValueError
            No path of the report begins and ends in a register.
        """
        paths = [
            path["path"]
            for path in report["critical_paths"]
            if path["from"].startswith("posedge") and path["to"].startswith("posedge")
        ]
        if not paths:
            raise ValueError("the report has no path from a register to a register")
        return cls(_hops(max(paths, key=_length), names))

    @property
    def logic(self) -> float:
        """Nanoseconds in cells."""
        return sum(hop.logic for hop in self.hops)

    @property
    def routing(self) -> float:
        """Nanoseconds on wires."""
        return sum(hop.routing for hop in self.hops)

    def as_dict(self) -> dict[str, Any]:
        """Return the path as plain data for JSON, with delays in nanoseconds."""
        return {
            "from": self.hops[0].name,
            "to": self.hops[-1].name,
            "logic_ns": round(self.logic, 3),
            "routing_ns": round(self.routing, 3),
            "hops": [
                {
                    "name": hop.name,
                    "logic_ns": round(hop.logic, 3),
                    "routing_ns": round(hop.routing, 3),
                }
                for hop in self.hops
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CriticalPath:
        """Return the path that :meth:`as_dict` turned into plain data."""
        return cls(
            tuple(Hop(hop["name"], hop["logic_ns"], hop["routing_ns"]) for hop in data["hops"])
        )


class SourceNames:
    """Finds the signals of the sources that the cells of a netlist belong to.

    Parameters
    ----------
    module
        The top module, as Yosys writes it to JSON.
    """

    def __init__(self, module: Mapping[str, Any]):
        aliases: dict[int, list[tuple[str, int, int]]] = {}
        for name, net in module["netnames"].items():
            if ".py:" in net["attributes"].get("src", ""):
                for place, bit in enumerate(net["bits"]):
                    aliases.setdefault(bit, []).append((name, place, len(net["bits"])))
        driven: dict[int, str] = {}
        self._registers: dict[str, str] = {}
        for cell, found in module["cells"].items():
            if _REGISTER.match(found["type"]):
                ports = found["connections"]
                source = found["attributes"].get("src", "")
                self._registers[cell] = _register_name(cell, aliases.get(ports["Q"][0], []), source)
                driven.update(dict.fromkeys(ports.get("DI", ports.get("D", [])), cell))
        # A look-up table is packed with the register that it drives, under its own name.
        for cell, found in module["cells"].items():
            for bit in found["connections"].get("O", []):
                if found["type"] == "SB_LUT4" and bit in driven:
                    self._registers[cell] = self._registers[driven[bit]]

    def register(self, cell: str) -> str:
        """Return the name of the register in which a path begins or ends.

        The name of any other cell is that of :meth:`nearest`.
        """
        return self._registers.get(_PACKED.sub("", cell)) or self.nearest(cell)

    @staticmethod
    def nearest(cell: str) -> str:
        """Return the name of the signal that Yosys named a cell after."""
        if cell.startswith("$nextpnr"):
            return CARRY
        name = _PACKED.sub("", cell)
        mangled = _CELL.search(name)
        name = name[: mangled.start()] if mangled else name
        return _NUMBER.sub(r"\1", _BANK.sub("", name))


def _register_name(cell: str, aliases: list[tuple[str, int, int]], source: str) -> str:
    """Return the best of the names of a register's output, and the line of the sources for it."""
    if any(name.startswith(HARNESS_PREFIX) for name, _, _ in aliases):
        # The register is at a port of the core. The narrowest name is that of a payload's field.
        name, place, width = min(
            aliases, key=lambda a: (a[2], not a[0].startswith(HARNESS_PREFIX), a[0])
        )
        location = ""
    else:
        own = SourceNames.nearest(cell)
        name, place, width = next((alias for alias in aliases if alias[0] == own), (own, 0, 1))
        lines = (f" ({PurePath(path).name}:{line})" for path, line in _LOCATION.findall(source))
        location = next(lines, "")
    return f"{name}[{place}]{location}" if width > 1 else name + location


def _length(steps: list[dict[str, Any]]) -> float:
    return sum(step["delay"] for step in steps)


def _hops(steps: list[dict[str, Any]], names: SourceNames) -> tuple[Hop, ...]:
    """Return the steps of a path, added up for each signal that their cells are named after."""
    start, *middle, arrival, setup = steps
    hops = [Hop(names.register(start["from"]["cell"]), start["delay"], 0.0)]
    for step in middle:
        name = names.nearest(step["to"]["cell"])
        logic, routing = (0.0, 1.0) if step["type"] == "routing" else (1.0, 0.0)
        hop = Hop(name, logic * step["delay"], routing * step["delay"])
        if len(hops) > 1 and name == hops[-1].name:
            last = hops.pop()
            hop = Hop(name, last.logic + hop.logic, last.routing + hop.routing)
        hops.append(hop)
    return (*hops, Hop(names.register(setup["to"]["cell"]), setup["delay"], arrival["delay"]))
