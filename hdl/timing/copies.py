"""Copies of a flag that reaches so many flip-flops that one register would be slow to reach them.

Synthesis would merge registers that take the same value, and so undo the copies. A second register
beside the one of a delay (:func:`fanout_copy`) holds the flag inverted, which costs nothing. Where
more are needed, one for the few lanes that lie near each other, each takes the flag only when it
differs from what it holds already (:func:`own_copy`). No tool finds two of them alike, since each
looks at itself; and registers that are enabled by different copies are not alike either.
"""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal, Value

from extremum.hdl.timing.alignment import Timed
from extremum.hdl.timing.parameters import TimingParameters


def fanout_copy(m: Module, flag: Value) -> Value:
    """Return a flag one clock later, from a register beside the usual one.

    A flag that enables many flip-flops is slow to reach all of them. The copy serves some of them,
    so that the others have a short path. Its register holds the flag inverted, so that no tool
    merges the two.
    """
    inverted = Signal(init=1)
    m.d.sync += inverted.eq(~flag)
    return ~inverted


def copy_count(parameters: TimingParameters, lanes: int) -> int:
    """Return how many copies of a flag so many lanes have; 1 if they share a register.

    Lane ``n`` uses the copy of number ``n // parameters.lanes_of_copy``.
    """
    return -(-lanes // parameters.lanes_of_copy)


def own_copy(m: Module, flag: Value, name: str) -> Signal:
    """Return a flag one clock later, from a register that no tool merges with another."""
    copy = Signal(name=name)
    with m.If(flag ^ copy):
        m.d.sync += copy.eq(flag)
    return copy


def copied(m: Module, flag: Timed, clock: int, count: int, name: str) -> list[Value]:
    """Return so many copies of a flag, all valid in a later clock than its own.

    A single one needs no register of its own, and may also be valid in the flag's own clock.
    """
    if count == 1:
        return [flag.at(clock)]
    early = flag.at(clock - 1)
    if isinstance(Value.cast(early), Const):
        return [early] * count
    return [own_copy(m, early, f"{name}{number}") for number in range(count)]
