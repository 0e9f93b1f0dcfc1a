"""Which cells of a design belong to which block of the gateware."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from extremum.tb.mutation.designs import DESIGNS, Design

SHARED_FILES = {"hdl/winner.py": "winner", "hdl/timing/": "timing", "hdl/counter.py": "counter"}
"""Files whose code is used by many parts; their cells are blocks of their own.

Flip-flops of plain delays (``hdl/timing/alignment.py``) belong to the part that delays.
"""

CORE_PARTS = (
    ("admission.slots", "slots"),
    ("admission", "admission"),
    ("encoder", "key"),
    ("decoder", "key"),
    ("fold", "fold"),
    ("reducer", "reduction"),
    ("position", "position"),
    ("packer", "results"),
    ("queue", "queue"),
    ("windows", "schedule"),
    ("depth_window", "windows"),
    ("height_window", "windows"),
    ("width_window", "windows"),
)
"""Parts of a core by the beginning of their hierarchical names; the first that fits counts."""

BLOCK_PARTS = (
    ("core", ""),
    ("lite", "axi.lite"),
    ("control", "axi.control"),
    ("counters", "axi.counters"),
    ("commands", "axi.commands"),
    ("starter", "axi.commands"),
    ("packets", "axi.packets"),
    ("source", "axi.buffers"),
    ("m_axis_value", "axi.buffers"),
    ("m_axis_index", "axi.buffers"),
)
"""Parts of an AXI block; its core is mutated on its own."""

WHOLE_CORES = tuple(name for name, design in DESIGNS.items() if design.block)
"""Cores of the other settings of ``pipelining``, each of which is a block as a whole."""

BUILDS = (
    ("rows", ("key", "fold", "reduction")),
    ("windows", ("winner", "position", "results")),
    ("windows", ("queue", "windows", "timing")),
    ("windows", ("slots", "admission")),
    ("windows", ("schedule", "counter")),
    ("planes", ("planes.admission", "planes.schedule", "planes.counter")),
    ("block", ("axi.lite", "axi.control", "axi.commands", "axi.packets")),
    ("block", ("axi.counters", "axi.buffers", "axi.block")),
    (
        "small.block",
        ("small.axi.commands", "small.axi.packets", "small.axi.buffers", "small.axi.block"),
    ),
    *((core, (core,)) for core in WHOLE_CORES),
)
"""The designs whose cells are mutated, and the blocks whose mutants are compiled together."""

BLOCKS = tuple(block for _, blocks in BUILDS for block in blocks)
"""The names of the blocks."""

DESIGN_OF = {block: design for design, blocks in BUILDS for block in blocks}
"""The design that each block is a part of."""


def is_of_axi_block(name: str) -> bool:
    """Return whether a block of this name is a part of an AXI block, or else of a bare core."""
    return DESIGNS[DESIGN_OF[name]].bus == "axi"


NOT_MUTATED = frozenset({"CLK", "RD_CLK", "WR_CLK", "Q", "ARST", "SRST"})
"""Ports of cells that are left alone.

A clock that stands still is no fault of the gateware. A fault at the output of a flip-flop would
take its initial value away; the faults at its inputs, and at all that reads it, are the same ones.
The read ports of memories have resets that are not used, which Yosys wants to be constant.
"""

NO_LOGIC = frozenset({"$scopeinfo", "$meminit", "$meminit_v2"})
"""Types of cells that are no logic: names of parts, and what a memory holds at first."""


@dataclass(frozen=True)
class Cell:
    """A cell of a flattened design: its name, and the file and line that it was made from."""

    name: str
    source: str

    @property
    def path(self) -> str:
        """The hierarchical name of the part that it is in; empty for the top."""
        return path_of(self.name)


def path_of(cell: str) -> str:
    """Return the hierarchical name of the part that a cell is in; empty for the top."""
    return re.sub(r"\.?\$.*", "", cell.removeprefix("$flatten").replace("\\", ""))


def cells(flat: str) -> Iterator[Cell]:
    """Yield the cells of a flattened design, given as RTLIL."""
    source = ""
    for line in flat.splitlines():
        words = line.split()
        if words[:2] == ["attribute", "\\src"]:
            source = re.sub(r".*/(?=hdl/)", "", words[2].strip('"'))
        elif words[:1] == ["cell"]:
            if words[1] not in NO_LOGIC:
                yield Cell(words[2], source)
            source = ""
        elif words[:1] in (["wire"], ["memory"]):
            source = ""


def unclocked_reads(flat: str) -> frozenset[str]:
    """Return the names of the memories' ports that give the word of an address at once.

    They have no enable: Yosys wants a constant in its place.
    """
    begin, parameters = r"^ *cell \$memrd_v2 (\S+)\n", r"(?: *parameter .*\n)*?"
    found = re.findall(rf"{begin}{parameters} *parameter \\CLK_ENABLE 0$", flat, re.MULTILINE)
    return frozenset(found)


def block_of(cell: Cell, design: Design) -> str:
    """Return the block that a cell of a design belongs to; none if no block has such a name."""
    if design.block:
        return design.block
    is_bare = design.bus == "none"
    if is_bare and "alignment" not in cell.source:
        for file, block in SHARED_FILES.items():
            if cell.source.startswith(file):
                return design.prefix + block
    parts, other = (CORE_PARTS, "admission") if is_bare else (BLOCK_PARTS, "axi.block")
    for part, block in parts:
        if cell.path == part or cell.path.startswith(f"{part}."):
            return design.prefix + block
    return design.prefix + other
