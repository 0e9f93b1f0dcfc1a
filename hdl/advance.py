"""The interface by which every part of the control begins a job and goes on from slot to slot.

Every counter and every line of the control shows the slot at hand, and is told at the end of a
clock whether to go on::

    clock     0    1    2    3    4    5
    token     1    .    .    .    1    .     the next slot is the first of the next job
    step      1    1    .    1    1    1     go on to the next slot; always set with a token
    slot      .    1    .    1    1    1     a slot is at hand and passes in this clock
    at hand   -    s0   s1   s1   s2   r0    s0, s1, s2 of one job, then r0 of the next

The token of clock 4 meets the last slot of the job before it; the token of clock 0 comes alone.
Two more signals serve where ``token`` would be too slow:

- ``begin`` is a fan-out copy of ``token``: the same value from a register of its own, for the few
  places where a late signal meets it.
- ``restart`` tells a line to begin anew where it does not end by itself: it is set with a token
  that does not meet a line's end. Its value does not matter in a clock without ``step``. In a core
  whose lines tell the end of a job it is known earlier than the token: there both
  ``step`` and ``restart`` are set in every clock in which no job is under way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from extremum.hdl.timing import delay, fanout_copy


class AdvancePort(Protocol):
    """The signals of an :class:`AdvanceSignature`, as a component sees them on its port."""

    token: Signal
    begin: Signal
    restart: Signal
    step: Signal
    slot: Signal


class AdvanceSignature(wiring.Signature):
    """The signals that begin a job and go on from slot to slot.

    Members
    -------
    token, begin, restart, step, slot : Out(1)
        The module's docstring explains them.
    """

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(("token", "begin", "restart", "step", "slot"), Out(1)))


@dataclass(frozen=True)
class Advance:
    """The signals of an :class:`AdvanceSignature` as plain values, while they are computed."""

    token: Value
    begin: Value
    restart: Value
    step: Value
    slot: Value

    @classmethod
    def of(cls, port: AdvancePort) -> Advance:
        """Return the signals of a port."""
        return cls(port.token, port.begin, port.restart, port.step, port.slot)

    def drive(self, m: Module, port: AdvancePort) -> None:
        """Connect the signals to a port."""
        m.d.comb += [
            port.token.eq(self.token),
            port.begin.eq(self.begin),
            port.restart.eq(self.restart),
            port.step.eq(self.step),
            port.slot.eq(self.slot),
        ]

    def later(self, m: Module, clocks: int) -> Advance:
        """Return the same signals, some clocks later."""
        return Advance(*(delay(m, getattr(self, field.name), clocks) for field in fields(self)))

    def outward(self, m: Module, line_ends: Value) -> Advance:
        """Return what the next dimension outward is told, a clock later.

        A line of this dimension is a slot of the next one. ``line_ends`` is set if the slot at hand
        is the last of its line.
        """
        begin = fanout_copy(m, self.token)
        return Advance(
            token=delay(m, self.token, 1),
            begin=begin,
            restart=begin,
            step=delay(m, self.token | (self.step & line_ends), 1),
            slot=self.slot,
        )

    def outward_at_once(self, line_ends: Value) -> Advance:
        """Return what the next dimension outward is told in the same clock.

        This serves a core whose lines tell the end of a job: there a token comes with the last slot
        of the plane, or without a slot. It also serves small and balanced cores,
        where a token always comes without a slot.
        """
        step = self.step & (~self.slot | line_ends)
        return Advance(self.token, self.begin, self.restart, step, self.slot)
