"""What a package is written for: a core, the name of its module, its bus."""

from __future__ import annotations

from dataclasses import dataclass, replace

from extremum.hdl.axi.register_map import configuration_hash
from extremum.hdl.config import BUSES, CoreConfig
from extremum.hdl.register_table import register_names
from extremum.hdl.registers import job_shapes
from extremum.host.package.names import check_name

__all__ = ["Settings"]


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
