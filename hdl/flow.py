"""What flows through the pipeline: words of one candidate per lane, and the job's token.

The pipeline never waits. A word that is valid in a clock moves on in that clock; what it needs to
wait for (input, room in the result queue) is settled before it enters.

A job walks through the pipeline as a *token*, one clock ahead of its first word. It may meet the
last word of the job before. Each register of a job is copied from the core's job port when the
token passes the clock in which the register is used, so that neighbouring jobs may be in
different parts of the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, ValueLike, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out
from amaranth.utils import bits_for

from extremum.hdl.config import DIMENSIONS, CoreConfig

WORD = 64
"""Bits that a simulator shifts at once."""


def delay(m: Module, signal: Value, clocks: int) -> Value:
    """Return ``signal``, as it was ``clocks`` clocks ago; 0 returns the signal itself."""
    value = Value.cast(signal)
    width, is_signed = len(value), value.shape().signed
    if isinstance(value, Const) or not width:
        return value
    # A few clocks share a register as long as a word of a simulator: it has less to do.
    share = max(1, WORD // width)
    for done in range(0, clocks, share):
        count = min(share, clocks - done)
        line = Signal(width * count, reset_less=width > 1)
        m.d.sync += line.eq(Cat(value, line)[: len(line)])
        value = line[-width:]
    return value.as_signed() if is_signed else value


def twin(m: Module, flag: Value) -> Value:
    """Return a flag, a clock late, from a register beside that of :func:`delay`.

    A flag that enables much is slow to get anywhere. As it is kept inverted, no tool takes the two
    registers for one.
    """
    return ~delay(m, ~flag, 1)


def held(m: Module, value: ValueLike, token: Value, name: str) -> Value:
    """Return a copy of a job register, renewed when the token passes; a constant as it is."""
    value = Value.cast(value)
    if isinstance(value, Const):
        return value
    register = Signal(value.shape(), name=name)
    with m.If(token):
        m.d.sync += register.eq(value)
    return register


def derived(m: Module, function: Callable[..., Any], *values: Value) -> Value:
    """Return what follows from job registers, a clock after they came; of constants at once.

    ``function`` is given the registers, or integers if all of them are constants.
    """
    if all(isinstance(value, Const) for value in values):
        return Const(int(function(*(value.value for value in values if isinstance(value, Const)))))
    return delay(m, function(*values), 1)


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


def control_layout(config: CoreConfig) -> data.StructLayout:
    """Return the layout of what is known of a slot before its data is looked at.

    For each axis: ``emit``, a window is given; ``present``, which of its taps are elements, tap 0
    the newest; ``shift``, the number of tap 0 in the window; ``final``, the window is the line's
    last. ``empty``: the window has no element. Of the windows reduced to one result: ``first`` and
    ``last``.
    """
    members: dict[str, int] = {}
    for axis in config.axes:
        taps, name = config.max_window[axis], DIMENSIONS[axis]
        members |= {
            f"emit_{name}": 1,
            f"final_{name}": 1,
            f"present_{name}": taps,
            f"shift_{name}": bits_for(taps - 1),
        }
    return data.StructLayout(members | {"empty": 1, "first": 1, "last": 1})


def element_members(config: CoreConfig) -> dict[str, Shape]:
    """Return the fields that stand for one element: see :mod:`extremum.hdl.key`."""
    members = {"code": unsigned(config.element_width)}
    if config.has_floats and config.has_values:
        members |= {"nan": unsigned(1), "sign": unsigned(1)}
    return members


def candidate_layout(config: CoreConfig, taps: dict[str, int]) -> data.StructLayout:
    """Return the layout of an element and the numbers of the taps that it won at.

    Parameters
    ----------
    config
        Of the core.
    taps
        Bits of the tap's number, by name: of a dimension, 0 is the newest tap; ``"lane"``.
    """
    return data.StructLayout(
        element_members(config) | {f"tap_{name}": unsigned(width) for name, width in taps.items()}
    )


def result_layout(config: CoreConfig, taps: dict[str, int]) -> data.StructLayout:
    """Return the layout of a candidate with its ordinal: which of the reduced windows it is."""
    members = {
        str(name): Shape.cast(member.shape) for name, member in candidate_layout(config, taps)
    }
    if not config.has_values:
        members = {name: shape for name, shape in members.items() if name.startswith("tap_")}
    if config.has_reduction and config.index_width:
        members["ordinal"] = unsigned(config.index_width)
    return data.StructLayout(members)


class Words(Protocol):
    """What a component sees of a :class:`Flow`."""

    token: Signal
    valid: Signal
    step: Signal
    control: data.View
    lanes: data.View


class Flow(wiring.Signature):
    """A stream of words that never waits.

    Parameters
    ----------
    config
        Of the core.
    layout
        Of one lane.

    Members
    -------
    token : Out(1)
        The next job begins with the next word.
    valid : Out(1)
        There is a word in this clock.
    step : Out(1)
        One of both: told apart where much is enabled by it, in front of the windows.
    control : Out(control_layout(config))
        Of the word's slot.
    lanes : Out(ArrayLayout)
        The word.
    """

    def __init__(self, config: CoreConfig, layout: data.StructLayout):
        super().__init__(
            {
                "token": Out(1),
                "valid": Out(1),
                "step": Out(1),
                "control": Out(control_layout(config)),
                "lanes": Out(data.ArrayLayout(layout, config.lanes)),
            }
        )
