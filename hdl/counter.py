"""Counters whose end is known a step ahead, from registers."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.utils import bits_for

from extremum.hdl.flow import delay, derived, held

SHORT = 12
"""Bits of a count that is made in one piece."""
LOW_WIDTH = 8
"""Of a longer one these are counted in one clock; those above have until these wrap."""


class StepCount:
    """The number of steps since a beginning: 1 in the first clock behind it.

    Whether it has come to a goal is looked at a step ahead, so that a register tells.

    Parameters
    ----------
    m
        Module to add the logic to.
    width
        Of the count, which wraps.
    name
        Prefix of the signals.
    begin
        Begin again.
    enable
        Begin again, or take a step.
    is_loaded
        Whether it is begun before it is used; else the reset begins it.

    Attributes
    ----------
    following
        The number of the step to come.
    """

    def __init__(
        self, m: Module, width: int, name: str, *, begin: Value, enable: Value, is_loaded: bool
    ):
        self._m, self._name, self._enable = m, name, enable
        second = 2 % (1 << width)
        self.following = Signal(width, name=f"{name}_next", init=second, reset_less=is_loaded)
        self._is_first = Signal(name=f"{name}_first", init=1, reset_less=is_loaded)
        with m.If(enable & begin):
            m.d.sync += self.following.eq(second)
        with m.Elif(enable):
            m.d.sync += self.following.eq(self.following + 1)
        with m.If(enable):
            m.d.sync += self._is_first.eq(begin)

    def at(self, goal: Value, goal_is_one: Value) -> Value:
        """Return whether the count is at a goal, which is held from the beginning on."""
        met = Signal(name=f"{self._name}_met", reset_less=True)
        with self._m.If(self._enable):
            self._m.d.sync += met.eq(self.following == goal)
        return Mux(self._is_first, goal_is_one, met)


class Cycle:
    """A counter that begins again behind its last step, of any width at the speed of a short one.

    The low bits of a long one are counted step by step. The bits above are kept one wrap ahead:
    whether they will be those of the last step is known long before the low bits wrap.

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
        # One of constant length may never be loaded: it begins with the reset.
        self._is_loaded = not isinstance(steps_less_one, Const)
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
            The new number. It must have been there for a clock.
        """
        if self._once:
            return
        m, name, last, goal, new = self._m, self._name, self.last, self._goal, new_steps_less_one
        width = len(goal) if len(goal) <= SHORT else LOW_WIDTH
        count = StepCount(
            m, width, name, begin=load | last, enable=enable, is_loaded=self._is_loaded
        )
        close: Value = Const(1, 1)
        new_high_is_zero: Value = Const(1, 1)
        if len(goal) > width:
            new_high_is_zero = derived(m, lambda steps: steps >> width == 0, new)
            close = self._high(load, enable, count.following, new_high_is_zero)
        low_is = [
            derived(m, lambda steps, low=low: steps & ((1 << width) - 1) == low, new)
            for low in (0, 1)
        ]
        new_is_once = new_high_is_zero & low_is[0]
        token = load & enable
        once = held(m, new_is_once, token, f"{name}_once")
        low_is_one = held(m, low_is[1], token, f"{name}_low_is_one")
        with m.If(enable):
            step = Mux(last, once, close & count.at(goal[:width], low_is_one))
            m.d.sync += last.eq(Mux(load, new_is_once, step))

    def _high(self, load: Value, enable: Value, following: Value, new_is_zero: Value) -> Signal:
        """Return whether the bits above the low ones of the next step's number are the last's."""
        m, name, width = self._m, self._name, len(following)
        goal, restart = self._goal[width:], load | self.last
        full, late_wrap, late_restart, ahead_close, close = (
            Signal(name=f"{name}_{part}")
            for part in ("full", "wrap", "restart", "ahead_close", "close")
        )
        ahead = Signal(len(goal), name=f"{name}_ahead", init=1, reset_less=self._is_loaded)
        is_zero = held(m, new_is_zero, load & enable, f"{name}_short")
        with m.If(enable):
            m.d.sync += [
                full.eq(~restart & (following == (1 << width) - 1)),
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


def walk_line(
    m: Module, token: Value, step: Value, *, begin: Value, restart: Value, period: Value
) -> tuple[Signal, Value]:
    """Return the coordinate of the slot at hand, and whether its line ends with it.

    Parameters
    ----------
    m
        Module to add the logic to.
    token
        The next slot is the first of the next job.
    step
        The next clock has the next slot, of whichever job: with a token always.
    begin
        Coordinate of the next job's first slot, not above ``restart``. It, and what follows, must
        have been there for a clock.
    restart
        Coordinate of the first slot of every later line, in the next job.
    period
        Slots of a line less one, in the next job.
    """
    coordinate = Signal(begin.shape(), name="coordinate", reset_less=True)
    if all(isinstance(value, Const) and value.value == 0 for value in (begin, restart)):
        slots = Cycle(m, held(m, period, token, "period"), "slot")
        slots.run(token, token | step, period)
        with m.If(token | (step & slots.last)):
            m.d.sync += coordinate.eq(0)
        with m.Elif(step):
            m.d.sync += coordinate.eq(coordinate + 1)
        return coordinate, slots.last

    # The first line may be longer than the later ones, which begin behind its first slots.
    end = derived(m, lambda restart, period: restart + period, restart, period)
    is_once = derived(m, lambda period: period == 0, period)
    is_twice = derived(m, lambda period: period == 1, period)
    is_level = derived(m, lambda begin, restart: begin == restart, begin, restart)
    is_next = derived(m, lambda begin, restart: begin + 1 == restart, begin, restart)
    again, once, twice = (
        held(m, value, token, name)
        for value, name in ((restart, "restart"), (is_once, "once"), (is_twice, "twice"))
    )
    last_but_two = held(m, (end - 2)[: len(begin)].as_signed(), token, "last_but_two")
    new_first_once = is_once & is_level
    new_first_twice = (is_twice & is_level) | (is_once & is_next)
    last, is_first, met, twice_now = (
        Signal(name=name, reset_less=True) for name in ("last", "is_first", "met", "twice_now")
    )
    with m.If(step):
        m.d.sync += [
            coordinate.eq(Mux(token, begin, Mux(last, again, coordinate + 1))),
            is_first.eq(token | last),
            met.eq(coordinate == last_but_two),
            twice_now.eq(Mux(token, new_first_twice, twice)),
            last.eq(Mux(token, new_first_once, Mux(last, once, Mux(is_first, twice_now, met)))),
        ]
    return coordinate, last
