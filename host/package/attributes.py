"""Attributes by which Vivado recognises clock, reset, interrupt and AXI interfaces in Verilog."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from extremum.host.package.ports import LITE, STREAMS, Port

__all__ = ["interface_attributes"]


def interface_attributes(names: Collection[str]) -> Mapping[str, Mapping[str, str]]:
    """Return the attributes of each port of an AXI block, by the port's name.

    Parameters
    ----------
    names
        Names of all ports.
    """
    ports = [Port(name, "", 1) for name in names]
    busses = [name for name in (*STREAMS, LITE) if any(port.interface == name for port in ports)]
    return {port.name: _attributes(port, busses) for port in ports}


def _attributes(port: Port, busses: Collection[str]) -> Mapping[str, str]:
    if port.interface in STREAMS:
        return {
            "X_INTERFACE_INFO": f"xilinx.com:interface:axis:1.0 {port.interface} {port.logical}"
        }
    if port.interface == LITE:
        info = f"xilinx.com:interface:aximm:1.0 {LITE} {port.logical}"
        first = {"X_INTERFACE_PARAMETER": "PROTOCOL AXI4LITE"} if port.logical == "AWADDR" else {}
        return {"X_INTERFACE_INFO": info} | first
    alone = {
        "aclk": (
            "clock:1.0 aclk CLK",
            f"ASSOCIATED_BUSIF {':'.join(busses)}, ASSOCIATED_RESET aresetn",
        ),
        "aresetn": ("reset:1.0 aresetn RST", "POLARITY ACTIVE_LOW"),
        "irq": ("interrupt:1.0 irq INTERRUPT", "SENSITIVITY LEVEL_HIGH"),
    }
    signal, parameter = alone[port.name]
    return {
        "X_INTERFACE_INFO": f"xilinx.com:signal:{signal}",
        "X_INTERFACE_PARAMETER": parameter,
    }
