"""Counters whose end is known a step ahead."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal, Value


class Countdown:
    """A counter from ``steps - 1`` to 0, whose end is a flag in a register.

    Parameters
    ----------
    m
        Module to add the logic to.
    steps
        How many, at least 1: a job register, or a constant.
    name
        Prefix of the signals.

    Attributes
    ----------
    last
        Whether this is the last step.
    """

    def __init__(self, m: Module, steps: Value, name: str):
        self._m = m
        self._once = isinstance(steps, Const) and steps.value == 1
        self._count = Signal(len(steps), name=f"{name}_count")
        self.last: Value = Const(1) if self._once else Signal(name=f"{name}_last")

    def load(self, steps: Value) -> None:
        """Begin again, with ``steps`` of them."""
        if not self._once:
            self._m.d.sync += [self._count.eq(steps - 1), self.last.eq(steps == 1)]

    def step(self) -> None:
        """Take a step."""
        if not self._once:
            self._m.d.sync += [self._count.eq(self._count - 1), self.last.eq(self._count == 1)]
