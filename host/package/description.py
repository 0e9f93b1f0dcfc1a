"""A description of the block for programs, as JSON: parameters, latency, ports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extremum.hdl.axi.latency import latency
from extremum.hdl.interface import interface, parameters
from extremum.host.package.identity import version_text
from extremum.host.package.ports import Port
from extremum.host.package.settings import Settings

__all__ = ["describe"]


def describe(settings: Settings, ports: Sequence[Port]) -> dict[str, Any]:
    """Return what a program may want to know of a block.

    That of a bare core has, for each port, the bits of its fields
    (:func:`extremum.hdl.interface.interface`).
    """
    config = settings.config
    common = {
        "module": settings.name,
        "form": settings.form,
        "version": version_text(),
        "hash": settings.hash,
        "parameters": parameters(config),
    }
    if settings.bus == "none":
        return common | {
            name: value for name, value in interface(config).items() if name not in common
        }
    listed = [
        {"name": port.name, "direction": port.direction, "width": port.width} for port in ports
    ]
    return common | {
        "clock": "aclk, rising edge",
        "reset": "aresetn, synchronous, active low",
        "streams": "AXI4-Stream: a beat moves in each clock in which TVALID and TREADY are high",
        "latency": latency(config, settings.bus),
        "ports": listed,
    }
