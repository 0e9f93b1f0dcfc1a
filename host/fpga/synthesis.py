"""Synthesises a core with Yosys, and counts the cells of its netlist."""

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
    # abc9 takes the delay that logic may have, in picoseconds, and makes faster logic smaller. It
    # gets half of the clock; the other half is for wires.
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

    Otherwise nextpnr would add a carry cell for each of them, to lead it out of its chain.
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
    """Return the look-up tables of a netlist, and the flip-flops without those of the harness."""
    cells = module["cells"].values()
    ff = sum(
        bool(
            _REGISTER.match(cell["type"]) and not _HARNESS.search(cell["attributes"].get("src", ""))
        )
        for cell in cells
    )
    return Counter(cell["type"] for cell in cells)[device.lut], ff
