"""The ports of a block's module, and the bus interfaces that they form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from extremum.hdl.axi.streams import INDICES, INPUT, VALUES

__all__ = ["ORDER", "Port", "interfaces", "ports_of"]

STREAMS = (INPUT, VALUES, INDICES)
LITE = "s_axil"
ORDER = ("aclk", "aresetn", *STREAMS, LITE, "irq", "clk", "rst", "job", "i", "o", "status")
"""The order in which ports are listed, by their names or the names of their interfaces."""


@dataclass(frozen=True)
class Port:
    """A port of the top module.

    Parameters
    ----------
    name
        Name of the port.
    direction
        ``"input"`` or ``"output"``.
    width
        Its bits.
    """

    name: str
    direction: str
    width: int

    @property
    def interface(self) -> str:
        """The interface that it belongs to; its own name if it is alone."""
        for name in sorted((*STREAMS, LITE), key=len, reverse=True):
            if self.name.startswith(f"{name}_"):
                return name
        return self.name.partition("__")[0]

    @property
    def logical(self) -> str:
        """Its name within the interface, in upper case as the standards write it."""
        return self.name[len(self.interface) :].lstrip("_").upper()

    @property
    def range(self) -> str:
        """Its range in Verilog, with a space behind it; empty if it is one bit."""
        return f"[{self.width - 1}:0] " if self.width > 1 else ""


def ports_of(verilog: str, module: str) -> tuple[Port, ...]:
    """Return the ports that a module declares, ordered by interface."""
    start = re.search(rf"^module {re.escape(module)}\(", verilog, re.MULTILINE)
    if start is None:
        raise ValueError(f"there is no module {module}")
    body = verilog[start.start() : verilog.index("endmodule", start.start())]
    declared = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", body, re.MULTILINE)
    ports = [Port(name, way, int(high or 0) + 1) for way, high, name in declared]
    return tuple(sorted(ports, key=lambda port: ORDER.index(port.interface)))


def interfaces(ports: Sequence[Port]) -> dict[str, tuple[Port, ...]]:
    """Return the ports of each AXI interface, by its name."""
    found: dict[str, tuple[Port, ...]] = {}
    for port in ports:
        if port.interface in (*STREAMS, LITE):
            found[port.interface] = (*found.get(port.interface, ()), port)
    return found
