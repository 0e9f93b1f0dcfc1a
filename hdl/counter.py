"""Counters whose end is known a step ahead."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.utils import bits_for

from extremum.hdl.flow import delay, held

LOW_WIDTH = 8
"""Bits that are counted in one clock; those above have as many clocks as these take to wrap."""


class Countdown:
    """A counter from ``steps - 1`` to 0, whose end is a flag in a register.

    Parameters
    ----------
    m
        Module to add the logic to.
    shape
        Of the count.
    name
        Prefix of the signals.

    Attributes
    ----------
    last
        Whether this is the last step.
    """

    def __init__(self, m: Module, shape: int, name: str):
        self._m = m
        self._count = Signal(shape, name=f"{name}_count")
        self.last = Signal(name=f"{name}_last")

    def load(self, steps: Value) -> None:
        """Begin again, with ``steps`` of them (at least 1)."""
        self._m.d.sync += [self._count.eq(steps - 1), self.last.eq(steps == 1)]

    def step(self) -> None:
        """Take a step."""
        self._m.d.sync += [self._count.eq(self._count - 1), self.last.eq(self._count == 1)]


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

    def run(self, load: Value, step: Value, new_steps_less_one: Value) -> None:
        """Count.

        Parameters
        ----------
        load
            Begin again, with a new number of steps, which is held from the next clock on.
        step
            Take a step.
        new_steps_less_one
            The new number.
        """
        if self._once:
            return
        m, name, last = self._m, self._name, self.last
        width = min(len(self._goal), LOW_WIDTH)
        # The number of the step to come, and whether its high bits are those of the last step.
        low = Signal(width, name=f"{name}_low", init=1)
        close: Value = Const(1, 1)
        restart = load | (step & last)
        with m.If(restart):
            m.d.sync += low.eq(1)
        with m.Elif(step):
            m.d.sync += low.eq(low + 1)
        new_high_is_zero: Value = Const(1, 1)
        if len(self._goal) > width:
            full = Signal(name=f"{name}_full")
            with m.If(restart):
                m.d.sync += full.eq(0)
            with m.Elif(step):
                m.d.sync += full.eq(low == (1 << width) - 2)
            new_high_is_zero = new_steps_less_one[width:] == 0
            close = self._high(restart, step & full, width, load, new_high_is_zero)
        new_is_once = new_high_is_zero & (new_steps_less_one[:width] == 0)
        once = held(m, new_is_once, load, f"{name}_once")
        with m.If(load):
            m.d.sync += last.eq(new_is_once)
        with m.Elif(step):
            m.d.sync += last.eq(Mux(last, once, close & (low == self._goal[:width])))

    def _high(
        self, restart: Value, wrap: Value, width: int, load: Value, new_is_zero: Value
    ) -> Signal:
        """Return whether the bits above ``width`` of the next step's number are the last one's."""
        m, name = self._m, self._name
        goal = self._goal[width:]
        ahead = Signal(len(goal), name=f"{name}_ahead", init=1)
        late_wrap, ahead_close, close = (
            Signal(name=f"{name}_{part}") for part in ("wrap", "ahead_close", "close")
        )
        equal = [
            ahead[low : low + LOW_WIDTH] == goal[low : low + LOW_WIDTH]
            for low in range(0, len(goal), LOW_WIDTH)
        ]
        m.d.sync += [
            late_wrap.eq(wrap & ~restart),
            ahead_close.eq(Cat(delay(m, part, 1) for part in equal).all()),
        ]
        with m.If(restart):
            m.d.sync += ahead.eq(1)
        with m.Elif(late_wrap):
            m.d.sync += ahead.eq(ahead + 1)
        is_zero = held(m, new_is_zero, load, f"{name}_short")
        with m.If(load):
            m.d.sync += close.eq(new_is_zero)
        with m.Elif(restart):
            m.d.sync += close.eq(is_zero)
        with m.Elif(wrap):
            m.d.sync += close.eq(ahead_close)
        return close
