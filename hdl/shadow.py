"""Shadow registers: each part of the core keeps its own copy of the job registers that it uses.

A job's *token* walks through the pipeline one clock ahead of the job's first word, and may meet the
last word of the job before. Each part copies a register from the job port when the token passes
the clock in which the register is used, so neighbouring jobs may be in different parts of the
pipeline. The registers stay on the port until the token has left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Const, Module, Signal, Value, ValueLike

from extremum.hdl.timing.alignment import delay


def shadow(m: Module, value: ValueLike, token: Value, name: str) -> Value:
    """Return a copy of a job register, renewed when the token passes; a constant as it is."""
    value = Value.cast(value)
    if isinstance(value, Const):
        return value
    register = Signal(value.shape(), name=name)
    with m.If(token):
        m.d.sync += register.eq(value)
    return register


def precomputed(m: Module, function: Callable[..., Any], *values: Value) -> Value:
    """Return what follows from job registers alone, a clock after they came to the port.

    ``function`` is given the registers; or integers, if all of them are constants, and then the
    result is a constant.
    """
    if all(isinstance(value, Const) for value in values):
        return Const(int(function(*(value.value for value in values if isinstance(value, Const)))))
    return delay(m, function(*values), 1)
