"""Synthesis of a core by Yosys, and what is read from its netlist."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from extremum.hdl.harness import TOP
from extremum.host.fpga import toolchain
from extremum.host.fpga.devices import Device

_CARRY = "CCU2C"
_REGISTER = re.compile(r"TRELLIS_FF|SB_DFF")
_HARNESS = re.compile(r"harness\.py:")


def synthesise(build: Path, device: Device, frequency: int) -> dict[str, Any]:
    """Synthesise the core in ``core.il`` of a folder into ``core.json``; return its top module."""
    # Told in picoseconds: what is fast enough is made small. Half of the clock is for wires.
    clock = f"scratchpad -set abc9.D {0.5e6 / frequency:.0f}"
    script = f"{clock}; read_rtlil core.il; {device.synthesis} -top {TOP} -json core.json"
    toolchain.call(toolchain.YOSYS, ["-q", "-p", script], build)
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
