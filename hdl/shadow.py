"""Shadow registers: each part of the core keeps its own copy of the job registers that it uses.

A job's *token* walks through the pipeline one clock ahead of the job's first word, and may meet the
last word of the job before. Each part copies a register from the job port when the token passes
the clock in which the register is used, so neighbouring jobs may be in different parts of the
pipeline. The registers stay on the port until the token has left.

A small or balanced core needs no copies: one job at a time is in its pipeline, the registers stay
on the port until the last slot has left, and every part reads them from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Const, Module, Signal, Value, ValueLike

from extremum.hdl.timing.alignment import delay
from extremum.hdl.timing.parameters import TimingParameters


def shadow(
    m: Module, parameters: TimingParameters, value: ValueLike, token: Value, name: str
) -> Value:
    """Return a copy of a job register, taken when the token passes.

    A constant needs no copy, nor does a job that stays on its port until it has left the core.
    """
    value = Value.cast(value)
    return value if parameters.holds_one_job else kept(m, value, token, name)


def kept(m: Module, value: ValueLike, enable: Value, name: str) -> Value:
    """Return the value of the last clock in which ``enable`` was set; a constant is its own."""
    value = Value.cast(value)
    if isinstance(value, Const):
        return value
    register = Signal(value.shape(), name=name)
    with m.If(enable):
        m.d.sync += register.eq(value)
    return register


def precomputed(
    m: Module, parameters: TimingParameters, function: Callable[..., Any], *values: Value
) -> Value:
    """Return a function of job registers, computed within a clock of their coming to the port.

    ``function`` is called with the registers. If all of them are constants it is called with
    integers, and the result is a constant.
    """
    if all(isinstance(value, Const) for value in values):
        return Const(int(function(*(value.value for value in values if isinstance(value, Const)))))
    return delay(m, function(*values), parameters.precomputed_clocks)
