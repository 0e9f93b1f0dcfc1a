"""Counters whose end is known a step ahead."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.utils import bits_for

from extremum.hdl.flow import delay, held

LOW_WIDTH = 8
"""Bits that are counted in one clock; those above have as many clocks as these take to wrap."""


class Cycle:
    """A counter that begins again behind its last step, of any width at the speed of a short one.

    The low bits are counted step by step. The bits above are kept one wrap ahead: whether they
    will be those of the last step is known long before the low bits wrap.

    Parameters
    ----------
    m
        Module to add the logic to.
    steps_less_one
        How many steps, less one: held while the counter runs, or a constant.
    name
        Prefix of the signals.

    Attributes
    ----------
    last
        Whether this is the last step.
    """

    last: Value

    def __init__(self, m: Module, steps_less_one: Value, name: str):
        if isinstance(steps_less_one, Const):
            steps_less_one = Const(steps_less_one.value, bits_for(steps_less_one.value))
        self._m = m
        self._goal = steps_less_one
        self._once = isinstance(steps_less_one, Const) and steps_less_one.value == 0
        self._name = name
        self.last = Const(1, 1) if self._once else Signal(name=f"{name}_last")

    def run(self, load: Value, enable: Value, new_steps_less_one: Value) -> None:
        """Count.

        Parameters
        ----------
        load
            Begin again, with a new number of steps, which is held from the next clock on.
        enable
            Take a step, or begin again.
        new_steps_less_one
            The new number.
        """
        if self._once:
            return
        m, name, last = self._m, self._name, self.last
        width = min(len(self._goal), LOW_WIDTH)
        # The number of the step to come, and whether its high bits are those of the last step.
        low = Signal(width, name=f"{name}_low", init=1)
        with m.If(enable & (load | last)):
            m.d.sync += low.eq(1)
        with m.Elif(enable):
            m.d.sync += low.eq(low + 1)
        close: Value = Const(1, 1)
        new_high_is_zero: Value = Const(1, 1)
        if len(self._goal) > width:
            new_high_is_zero = new_steps_less_one[width:] == 0
            close = self._high(load, enable, low, new_high_is_zero)
        new_is_once = new_high_is_zero & (new_steps_less_one[:width] == 0)
        once = held(m, new_is_once, load & enable, f"{name}_once")
        with m.If(enable):
            step = Mux(last, once, close & (low == self._goal[:width]))
            m.d.sync += last.eq(Mux(load, new_is_once, step))

    def _high(self, load: Value, enable: Value, low: Value, new_is_zero: Value) -> Signal:
        """Return whether the bits above ``low`` of the next step's number are the last one's."""
        m, name, width = self._m, self._name, len(low)
        goal, restart = self._goal[width:], load | self.last
        full, late_wrap, late_restart, ahead_close, close = (
            Signal(name=f"{name}_{part}")
            for part in ("full", "wrap", "restart", "ahead_close", "close")
        )
        ahead = Signal(len(goal), name=f"{name}_ahead", init=1)
        is_zero = held(m, new_is_zero, load & enable, f"{name}_short")
        with m.If(enable):
            m.d.sync += [
                full.eq(~restart & (low == (1 << width) - 2)),
                close.eq(
                    Mux(load, new_is_zero, Mux(self.last, is_zero, Mux(full, ahead_close, close)))
                ),
            ]
        equal = [
            ahead[low : low + LOW_WIDTH] == goal[low : low + LOW_WIDTH]
            for low in range(0, len(goal), LOW_WIDTH)
        ]
        m.d.sync += [
            late_restart.eq(enable & restart),
            late_wrap.eq(enable & full),
            ahead_close.eq(Cat(delay(m, part, 1) for part in equal).all()),
        ]
        with m.If(late_restart):
            m.d.sync += ahead.eq(1)
        with m.Elif(late_wrap):
            m.d.sync += ahead.eq(ahead + 1)
        return close
