"""What flows through the pipeline: words of one candidate per lane, and the job's token.

The pipeline never waits. A word that is valid in a clock moves on in that clock; what it needs to
wait for (input, room in the output FIFO) is settled before it enters.

A job walks through the pipeline as a *token*, one clock ahead of its first word. It may meet the
last word of the job before. Each register of a job is copied from the core's job port when the
token passes the clock in which the register is used, so that neighbouring jobs may be in
different parts of the pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from amaranth.hdl import Module, Mux, Shape, Signal, Value, ValueLike, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from extremum.hdl.config import POSITION_WIDTH, CoreConfig


def delay(m: Module, signal: Value, clocks: int) -> Value:
    """Return ``signal``, as it was ``clocks`` clocks ago; 0 returns the signal itself."""
    value = Value.cast(signal)
    for _ in range(clocks):
        register = Signal(value.shape(), reset_less=len(value) > 1)
        m.d.sync += register.eq(value)
        value = register
    return value


def held(m: Module, value: ValueLike, token: Value, name: str) -> Signal:
    """Return a copy of a job register, renewed when the token passes."""
    value = Value.cast(value)
    register = Signal(value.shape(), name=name)
    with m.If(token):
        m.d.sync += register.eq(value)
    return register


def choose(index: Value, values: Sequence[ValueLike]) -> Value:
    """Return ``values[index]``, by a tree of multiplexers; the index must not lie beyond."""
    level = [Value.cast(value) for value in values]
    for bit in index:
        if len(level) == 1:
            break
        if len(level) % 2:
            level.append(level[-1])
        level = [Mux(bit, odd, even) for even, odd in zip(level[::2], level[1::2], strict=True)]
    return level[0]


def element_members(config: CoreConfig) -> dict[str, Shape]:
    """Return the fields that stand for one element: see :mod:`extremum.hdl.key`."""
    members = {"code": unsigned(config.element_width)}
    if config.has_floats:
        members |= {"nan": unsigned(1), "sign": unsigned(1)}
    return members


def candidate_layout(config: CoreConfig, taps: dict[str, int]) -> data.StructLayout:
    """Return the layout of an element and the numbers of the taps that it won at.

    Parameters
    ----------
    config
        Of the core.
    taps
        Bits of the tap's number, by name of the dimension; 0 is the newest tap.
    """
    return data.StructLayout(
        element_members(config) | {f"tap_{name}": unsigned(width) for name, width in taps.items()}
    )


def result_layout(config: CoreConfig, taps: dict[str, int]) -> data.StructLayout:
    """Return the layout of a candidate with its ordinal: which of the reduced windows it is."""
    candidate = candidate_layout(config, taps)
    return data.StructLayout(
        {name: Shape.cast(member.shape) for name, member in candidate}
        | {"ordinal": unsigned(POSITION_WIDTH)}
    )


class Words(Protocol):
    """What a component sees of a :class:`Flow`."""

    token: Signal
    valid: Signal
    empty: Signal
    lanes: data.View


class Flow(wiring.Signature):
    """A stream of words that never waits.

    Parameters
    ----------
    layout
        Of one lane.
    lanes
        How many.

    Members
    -------
    token : Out(1)
        The next job begins with the next word.
    valid : Out(1)
        There is a word in this clock.
    empty : Out(1)
        Every element of the word's window is absent. The lanes then mean nothing.
    lanes : Out(ArrayLayout)
        The word.
    """

    def __init__(self, layout: data.StructLayout, lanes: int):
        super().__init__(
            {
                "token": Out(1),
                "valid": Out(1),
                "empty": Out(1),
                "lanes": Out(data.ArrayLayout(layout, lanes)),
            }
        )
