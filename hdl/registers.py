"""The job registers in hardware: the shape of each on the job port, and how a core reads it.

:mod:`extremum.hdl.register_table` has the same table in plain numbers.
"""

from __future__ import annotations

from functools import cache

from amaranth import Shape
from amaranth.hdl import Const, Value
from amaranth.lib import data

from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import all_bits, constant_registers, is_less_one, port_bits


@cache
def job_shapes(config: CoreConfig) -> dict[str, Shape]:
    """Return the shape of every register on the job port, by name, in the order of the port."""
    return {name: Shape(bits.width, bits.signed) for name, bits in port_bits(config).items()}


def is_endless(config: CoreConfig) -> bool:
    """Return whether the core does one reduction again and again: its jobs have no end.

    It has no windows and no job port, and every job would be one row.
    """
    constants = constant_registers(config)
    return (
        not config.has_windows
        and not job_shapes(config)
        and (constants["slots"] == constants["length"])
    )


def register(config: CoreConfig, job: data.View, name: str) -> Value:
    """Return a job register: bits of the job port, or a constant if it is not on the port.

    The registers of :data:`extremum.hdl.register_table.LESS_ONE` come as their value less one.
    """
    constants, bits = constant_registers(config), all_bits(config)[name]
    if name in constants:
        number = int(constants[name]) - is_less_one(name)
        return Const(number, Shape(bits.width, bits.signed))
    return Value.cast(job[name.replace(".", "_")]) if bits.width else Const(0, 0)
