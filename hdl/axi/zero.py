"""Whether a number that stays for some clocks is zero."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value

from extremum.hdl.timing import delay

SEGMENT = 12
"""Bits that are compared with zero in a clock."""


def late_is_zero(m: Module, value: Value) -> Value:
    """Return whether a number was zero in the clock before; it has any number of bits."""
    parts = (value[low : low + SEGMENT] for low in range(0, len(value), SEGMENT))
    return Cat(*(delay(m, part == 0, 1) for part in parts)).all()
