"""Names: of the top module, and of the address map of its registers."""

from __future__ import annotations

import re
from keyword import iskeyword

from extremum.hdl.verilog import MEMORY, TOPS
from extremum.host.package.reserved import OF_TOOLS, RESERVED

__all__ = ["check_name", "default_name", "map_name"]

PORTS = ("aclk", "aresetn", "irq", "clk", "rst", "status")
PORT_PREFIXES = ("s_axis_", "m_axis_", "s_axil_", "job__", "i__", "o__")
"""The names of ports, in full and by their beginnings: a module of such a name would hide one."""


def default_name(core: str | None, bus: str) -> str:
    """Return the name of the module: ``extremum_`` and the core's name, if it has one."""
    return f"extremum_{re.sub('[^A-Za-z0-9]+', '_', core)}" if core else TOPS[bus]


def check_name(name: str) -> None:
    """Refuse a name that Verilog, C or Python would not take.

    Raises
    ------
    ValueError
        It is no identifier, too long for some tools, a keyword of the language or of a tool, or the
        name of a port.
    """
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,63}", name):
        raise ValueError(
            "name must be a letter and up to 63 letters, digits and underscores behind it, "
            f"not {name!r}"
        )
    if name in PORTS or name.startswith(PORT_PREFIXES):
        raise ValueError(f"name must not be that of a port, as {name!r} is")
    if name.lower() in RESERVED or iskeyword(name):
        raise ValueError(f"name must not be a keyword of SystemVerilog or Python, as {name!r} is")
    if name == MEMORY:
        raise ValueError(f"name must not be that of the core's memories, {MEMORY}")
    if name in OF_TOOLS:
        raise ValueError(f"name must not be one that a tool has for itself, as {name!r} is")


def map_name(name: str) -> str:
    """Return the name of the address map of a block."""
    return f"{name}_registers"
