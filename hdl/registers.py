"""The job registers in hardware: the shape of each on the job port, and how a core reads it.

:mod:`extremum.hdl.register_table` has the same table in plain numbers.
"""

from __future__ import annotations

from functools import cache

from amaranth import Shape
from amaranth.hdl import Const, Value
from amaranth.lib import data

from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import Bits, all_bits, constant_registers, is_less_one
from extremum.hdl.register_table import value_range as range_of_bits


def encode(name: str, value: int) -> int:
    """Return the number that the job port carries for a register's value."""
    return value - is_less_one(name)


def value_range(name: str, shape: Shape) -> tuple[int, int]:
    """Return the least and the greatest value that a register of this shape holds."""
    return range_of_bits(name, Bits(shape.width, shape.signed))


@cache
def all_shapes(config: CoreConfig) -> dict[str, Shape]:
    """Return the shape of every register, by name."""
    return {name: Shape(bits.width, bits.signed) for name, bits in all_bits(config).items()}


@cache
def job_shapes(config: CoreConfig) -> dict[str, Shape]:
    """Return the shape of every register on the job port, by name: ``"length"``, ``"width.size"``.

    A register that the core does not need, that is fixed, or that has no bits is not on the port.
    """
    constants = constant_registers(config)
    shapes = all_shapes(config)
    return {name: shape for name, shape in shapes.items() if name not in constants and shape.width}


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
    constants = constant_registers(config)
    shape = all_shapes(config)[name]
    if name in constants:
        return Const(encode(name, int(constants[name])), shape)
    return Value.cast(job[name.replace(".", "_")]) if shape.width else Const(0, 0)
