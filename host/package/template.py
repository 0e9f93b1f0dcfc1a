"""How a block is instantiated."""

from __future__ import annotations

from collections.abc import Sequence

from extremum.host.package.ports import Port
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import header

__all__ = ["instance", "template"]


def instance(settings: Settings, ports: Sequence[Port], label: str) -> str:
    """Return an instance whose ports are connected to signals of the same names."""
    connections = ",\n".join(f"    .{port.name}({port.name})" for port in ports)
    return f"{settings.name} {label} (\n{connections}\n);"


def template(settings: Settings, ports: Sequence[Port]) -> str:
    """Return a text to copy into a design: a wire for each port, and the instance."""
    declared = [f"wire {port.range}{port.name};  // {port.direction}" for port in ports]
    lines = [
        header(settings),
        "// Copy this into a module of yours and connect the wires.",
        *declared,
        "",
        instance(settings, ports, f"{settings.name}_instance"),
    ]
    return "\n".join(lines) + "\n"
