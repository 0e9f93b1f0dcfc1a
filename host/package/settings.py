"""What a package is written for: a core, the name of its module, its bus."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib.metadata import version
from keyword import iskeyword

from extremum.hdl.axi.register_map import configuration_hash
from extremum.hdl.config import BUSES, CoreConfig
from extremum.hdl.register_table import register_names
from extremum.hdl.registers import job_shapes
from extremum.hdl.verilog import MEMORY, TOPS
from extremum.host.package.reserved import OF_TOOLS, RESERVED

__all__ = ["LICENCE", "Settings", "check_name", "default_name", "ip_version", "version_text"]


LICENCE = "Apache-2.0"
"""The licence of what is written, which is that of the project."""


def version_text() -> str:
    """Return the version of this package."""
    return version("extremum")


def ip_version() -> str:
    """Return the first two numbers of that version: Vivado knows no others of an IP."""
    return ".".join(version_text().split(".")[:2])


def default_name(core: str | None, bus: str) -> str:
    """Return the name of the module: ``extremum_`` and the core's name, if it has one."""
    return f"extremum_{re.sub('[^A-Za-z0-9]+', '_', core)}" if core else TOPS[bus]


PORTS = ("aclk", "aresetn", "irq", "clk", "rst", "status")
PORT_PREFIXES = ("s_axis_", "m_axis_", "s_axil_", "job__", "i__", "o__")
"""The names of ports, in full and by their beginnings: a module of such a name would hide one."""


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


@dataclass(frozen=True)
class Settings:
    """What decides every byte of a package.

    Parameters
    ----------
    config
        Configuration of the core. Its fixed registers are put in the order of the job port.
    name
        Name of the top module, which is also the prefix of all other modules and files.
    bus
        One of :data:`extremum.hdl.config.BUSES`.
    source
        Keep attributes that tell which line of the generator each signal comes from.
    device
        Name of the part whose block memories are instantiated; None to let tools infer them.

    Raises
    ------
    ValueError
        The name or the bus is none.
    """

    config: CoreConfig
    name: str
    bus: str = "axi"
    source: bool = False
    device: str | None = None

    def __post_init__(self) -> None:
        # Fixed registers mean the same in every order, and so must make the same package.
        order = register_names()
        fixed = sorted(self.config.fixed, key=lambda pair: order.index(pair[0]))
        object.__setattr__(self, "config", replace(self.config, fixed=tuple(fixed)))
        check_name(self.name)
        if self.bus not in BUSES:
            raise ValueError(f"bus must be {' or '.join(BUSES)}, not {self.bus!r}")

    @property
    def is_programmable(self) -> bool:
        """Whether a job has registers to write."""
        return bool(job_shapes(self.config))

    @property
    def has_registers(self) -> bool:
        """Whether the block has a register map on AXI4-Lite."""
        return self.bus == "axi" and self.is_programmable

    @property
    def form(self) -> str:
        """What the block is, in a few words."""
        if self.bus == "none":
            return "bare core" if self.is_programmable else "bare core without a job port"
        return "programmable AXI block" if self.is_programmable else "dataflow AXI block"

    @property
    def hash(self) -> str:
        """Eight hexadecimal digits that tell the configuration, as register CONFIG_HASH does."""
        return f"{configuration_hash(self.config):08x}"
