"""Alignment by declaration: a value knows the clock in which it is valid.

A pipeline stage counts clocks from the one in which its input is valid. It declares each of its
values with that clock, and asks for a value in the clock in which it needs it::

    word = Timed(m, self.i.word, 0)
    won = tree(m, word)                     # valid some clocks later, as it declares
    chosen = Mux(fold.at(won.clock), won.value, word.at(won.clock))

``at`` puts in the registers. A value that is asked for before it is valid is an
:class:`AlignmentError` when the core is elaborated, so a stage whose latency changes either still
fits, or does not elaborate. What a :class:`Timed` value declares is believed: its clock is right if
the latency is that of the part that computes it, which a test of each part measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value, ValueCastable, ValueLike
from amaranth.lib import data

SIMULATOR_WORD = 64
"""Bits that a simulator shifts in one operation."""


class AlignmentError(ValueError):
    """A value was asked for in a clock before the one in which it is valid."""


def delay(m: Module, signal: ValueLike, clocks: int) -> Value:
    """Return ``signal`` as it was ``clocks`` clocks ago; 0 returns the signal itself.

    A constant is the same in every clock and needs no registers. The registers of a flag are reset
    to 0, those of a wider value are not: a flag says whether anything looks at it.
    """
    value = Value.cast(signal)
    width, is_signed = len(value), value.shape().signed
    if isinstance(value, Const) or not width:
        return value
    # Several clocks share one register, up to a simulator's word, because that simulates faster.
    share = max(1, SIMULATOR_WORD // width)
    for done in range(0, clocks, share):
        count = min(share, clocks - done)
        line = Signal(width * count, reset_less=width > 1)
        m.d.sync += line.eq(Cat(value, line)[: len(line)])
        value = line[-width:]
    return value.as_signed() if is_signed else value


def wired(m: Module, value: ValueLike, clocks: int, name: str) -> Value:
    """Give the result of gates a name, so that the gates appear once in the Verilog.

    Amaranth copies an expression without a name to each place that uses it. With ``clocks`` above 0
    the value comes out of a register and is returned as it is.
    """
    value = Value.cast(value)
    if clocks or isinstance(value, (Const, Signal)):
        return value
    signal = Signal(value.shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal


def domain(clocks: int) -> str:
    """Return where a value is assigned that is valid ``clocks`` clocks later, 0 or 1.

    ``m.d[domain(1)]`` makes a register, ``m.d[domain(0)]`` makes gates.
    """
    return "sync" if clocks else "comb"


@dataclass(frozen=True, eq=False)
class Timed:
    """A value of a pipeline stage, and the clock in which it is valid.

    Parameters
    ----------
    m
        Module to which registers are added.
    value
        A value, or a view of one.
    clock
        The clock in which it is valid, counted from the one in which the stage's input is valid.
    is_steady
        Whether the value stays from then on, so that it needs no registers to be valid later.
    """

    m: Module
    value: Any
    clock: int = 0
    is_steady: bool = False

    def at(self, clock: int) -> Any:
        """Return the value in a later clock, or in its own.

        Each call adds registers of its own; synthesis merges those that are equal.

        Raises
        ------
        AlignmentError
            The value is not valid yet in that clock.
        """
        if clock < self.clock:
            raise AlignmentError(
                f"{self.value!r} is valid in clock {self.clock} of its stage, and is needed in "
                f"clock {clock}"
            )
        if clock == self.clock or self.is_steady:
            return self.value
        late = delay(self.m, Value.cast(self.value), clock - self.clock)
        if isinstance(self.value, data.View):
            return data.View(self.value.shape(), late)
        return late

    def moved_to(self, clock: int) -> Timed:
        """Return the same value, delayed until a later clock."""
        return Timed(self.m, self.at(clock), clock, self.is_steady)


def registered(
    m: Module,
    value: ValueLike | ValueCastable,
    clock: int,
    *,
    name: str,
    clocks: int = 1,
) -> Timed:
    """Return a register that takes a value in ``clock``, so it is valid in the next clock.

    If ``clocks`` is 0, there is no register but a wire, and the value is valid in ``clock``.
    Without the wire, whoever uses the value twice would have its gates written out twice.
    """
    taken = Value.cast(value)
    signal = Signal(taken.shape(), name=name, reset_less=True)
    m.d[domain(clocks)] += signal.eq(taken)
    return Timed(m, signal, clock + clocks)
