"""Counters whose end is known a step ahead, from registers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.utils import bits_for

from extremum.hdl.flow import delay, derived, held

SHORT = 12
"""Bits of a count that is made in one piece."""
LOW_WIDTH = 4
"""Of a longer one these are counted in one clock, without a carry chain; those above have until
these wrap."""
PART = 14
"""Bits of those above that are counted in one clock."""
FAST_PART = 11
"""The same where the number of steps never changes: in a block that is made for its clock."""
COMPARED = 6
"""Bits that are compared in one clock: two levels of look-up tables of four inputs."""


def equality(m: Module, enable: Value, one: Value, other: Value, name: str) -> Value:
    """Return whether two numbers of the same kind were equal in the last clock that was enabled."""
    parts = -(-max(len(one), len(other)) // COMPARED)
    equal = Signal(parts, name=name, reset_less=True)
    with m.If(enable):
        for part in range(parts):
            # Every so many bits, so that the parts are of one size.
            m.d.sync += equal[part].eq(one[part::parts] == other[part::parts])
    return equal.all()


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
    skipped
        Numbers that are left out at the beginning: it begins at one more.

    Attributes
    ----------
    following
        The number of the step to come.
    number
        The number itself.
    """

    def __init__(
        self,
        m: Module,
        width: int,
        name: str,
        *,
        begin: Value,
        enable: Value,
        is_loaded: bool,
        skipped: int = 0,
    ):
        self._m, self._name, self._enable = m, name, enable
        first, second = ((skipped + n) % (1 << width) for n in (1, 2))
        self.following = Signal(width, name=f"{name}_next", init=second, reset_less=is_loaded)
        self._is_first = Signal(name=f"{name}_first", init=1, reset_less=is_loaded)
        self.number = Signal(width, name=f"{name}_number", init=first, reset_less=is_loaded)
        if width > LOW_WIDTH:
            with m.If(enable):
                m.d.sync += self.following.eq(Mux(begin, second, self.following + 1))
        else:
            # By gates: neither a carry chain nor the reset of the flip-flops is as fast.
            bits, begins = self.following, begin.replicate(width)
            added = Cat(bits[place] ^ bits[:place].all() for place in range(width))
            with m.If(enable):
                m.d.sync += self.following.eq((added & ~begins) | (begins & second))
        with m.If(enable):
            m.d.sync += [
                self.number.eq(Mux(begin, first, self.following)),
                self._is_first.eq(begin),
            ]

    def at(self, goal: Value, goal_is_one: Value, further: Value | None = None) -> Value:
        """Return whether the count is at a goal, which is held from the beginning on.

        ``further``: what must be so as well, unless the goal is 1. A goal of one bit is 1, or
        never looked at.
        """
        if len(goal) == 1:
            return self._is_first & goal_is_one
        met = equality(self._m, self._enable, self.following, goal, f"{self._name}_met")
        if further is not None:
            met = met & further
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
            The new number. It must have been there for two clocks.
        """
        if self._once:
            return
        m, name, last, goal, new = self._m, self._name, self.last, self._goal, new_steps_less_one
        width = len(goal) if len(goal) <= SHORT else LOW_WIDTH
        count = StepCount(
            m, width, name, begin=load | last, enable=enable, is_loaded=self._is_loaded
        )
        close: Value | None = None
        new_high_is_zero: Value = Const(1, 1)
        if len(goal) > width:
            parts = [
                derived(m, lambda steps, low=low: steps >> low & ((1 << PART) - 1) == 0, new)
                for low in range(width, len(goal), PART)
            ]
            new_high_is_zero = derived(m, lambda *parts: _all(parts), *parts)
            close = self._high(load, enable, count.following, new_high_is_zero)
        low_is = [
            derived(m, lambda steps, low=low: steps & ((1 << width) - 1) == low, new)
            for low in (0, 1)
        ]
        new_is_once, new_is_twice = (_both(new_high_is_zero, is_low) for is_low in low_is)
        token = load & enable
        once = held(m, new_is_once, token, f"{name}_once")
        twice = held(m, new_is_twice, token, f"{name}_twice")
        with m.If(enable):
            step = Mux(last, once, count.at(goal[:width], twice, close))
            m.d.sync += last.eq(Mux(load, new_is_once, step))

    def _high(self, load: Value, enable: Value, following: Value, new_is_zero: Value) -> Signal:
        """Return whether the bits above the low ones of the next step's number are the last's.

        Behind the first step this is known only when the second one is at hand.
        """
        m, name, width = self._m, self._name, len(following)
        goal, restart = self._goal[width:], load | self.last
        full, late_wrap, late_restart, ahead_close, close = (
            Signal(name=f"{name}_{part}")
            for part in ("full", "wrap", "restart", "ahead_close", "close")
        )
        is_zero = held(m, new_is_zero, load & enable, f"{name}_short")
        with m.If(enable):
            m.d.sync += full.eq(~restart & (following == (1 << width) - 1))
        with m.If(late_restart):
            m.d.sync += close.eq(is_zero)
        with m.Elif(enable & full):
            m.d.sync += close.eq(ahead_close)
        ahead = self._ahead(late_restart, late_wrap)
        equal = [
            ahead[low : low + COMPARED] == goal[low : low + COMPARED]
            for low in range(0, len(goal), COMPARED)
        ]
        m.d.sync += [
            late_restart.eq(enable & restart),
            late_wrap.eq(enable & full),
            ahead_close.eq(Cat(delay(m, part, 1) for part in equal).all()),
        ]
        return close

    def _ahead(self, restart: Value, wrap: Value) -> Value:
        """Return the number of the low bits' next wrap, from 1 on.

        It may take some clocks: a carry goes on to the next part in the next one.
        """
        m, width, parts = self._m, len(self._goal) - LOW_WIDTH, []
        carry = wrap
        part_width = PART if self._is_loaded else FAST_PART
        for low in range(0, width, part_width):
            name, count = f"{self._name}_ahead{low}", min(part_width, width - low)
            part = Signal(count, name=name, init=int(low == 0), reset_less=self._is_loaded)
            with m.If(restart):
                m.d.sync += part.eq(part.init)
            with m.Elif(carry):
                m.d.sync += part.eq(part + 1)
            # Long before the next carry it is known whether that goes on.
            is_full = Cat(delay(m, part[n : n + 4].all(), 1) for n in range(0, count, 4)).all()
            carry = delay(m, carry & is_full & ~restart, 1)
            parts.append(part)
        return Cat(parts)


def _all(flags: Sequence[Any]) -> Any:
    return reduce(and_, flags)


def _both(one: Value, other: Value) -> Value:
    """Return ``one & other``: a constant if both are."""
    if isinstance(one, Const) and isinstance(other, Const):
        return Const(one.value & other.value)
    return one & other


class Line:
    """Walks over the slots of a line, and of the next line of the same job, without a gap.

    Every number must have been there for a clock when the job begins.

    Parameters
    ----------
    m
        Module to add the logic to.
    name
        Prefix of the signals.
    token
        The next slot is the first of the next job: new numbers are taken.
    begin
        The same, for what is quick.
    step
        The next clock has the next slot, of whichever job: with a token always.
    slots_less_one
        Of a line, in the next job.
    first_slots_less_one
        Of its first line, if that is another.
    ahead
        How many slots ahead the end is told. No line is shorter than that and one more.
    slot
        There is a slot: known earlier than the token, where that comes with no slot but a line's
        last.

    Attributes
    ----------
    last
        The slot at hand is the line's last.
    is_near_end
        It is the last, or no more than ``ahead`` slots ahead of it.
    is_first
        The line is the job's first.
    number, place
        Which slot of its line it is, counted from 1, and from 0; of no meaning if the end is told
        ahead.
    """

    def __init__(
        self,
        m: Module,
        name: str,
        *,
        token: Value,
        begin: Value,
        step: Value,
        slots_less_one: Value,
        first_slots_less_one: Value | None = None,
        ahead: int = 0,
        slot: Value | None = None,
    ):
        self._m, self._token, self._begin, self._step = m, token, begin, step
        self._ahead = ahead
        self.last, self.is_first = Signal(name=f"{name}_last"), Signal(name=f"{name}_line_first")
        restart = (begin if slot is None else ~slot) | self.last
        self._count = StepCount(
            m, len(slots_less_one), name,
            begin=restart, enable=step, is_loaded=True, skipped=ahead,
        )  # fmt: skip
        self.number = self._count.number
        self.place = Signal.like(self.number, name=f"{name}_place", init=0)
        with m.If(step):
            m.d.sync += [
                self.is_first.eq(begin | (self.is_first & ~self.last)),
                self.place.eq(Mux(begin | self.last, 0, self.number)),
            ]
        # A count that begins later is at its goal earlier.
        ends = [self.at(slots_less_one, f"{name}_end", first_slots_less_one)]
        for number in range(ahead):
            late = Signal(name=f"{name}_end{number}", reset_less=True)
            with m.If(step):
                m.d.sync += late.eq(ends[-1] & ~begin)
            ends.append(late)
        self.is_near_end = Cat(*ends).any()
        m.d.comb += self.last.eq(ends[-1])

    def at(self, number: Value, name: str, in_first: Value | None = None) -> Signal:
        """Return whether the slot at hand is the one of a number, counted from 0.

        ``in_first``: in the job's first line it is the one of this number. All this if the end is
        not told ahead; else the flag is as early as that.
        """
        m, token, step = self._m, self._token, self._step
        flag = Signal(name=name)

        def near(number: Value) -> list[Value]:
            return [
                derived(m, lambda number, n=n: number == n + self._ahead, number) for n in (0, 1)
            ]

        is_once, is_twice = near(number)
        again, second, goal = (
            held(m, value, token, f"{name}_{part}")
            for value, part in ((is_once, "at_once"), (is_twice, "at_second"), (number, "number"))
        )
        if in_first is not None:
            is_once, is_twice = near(in_first)
            first_second = held(m, is_twice, token, f"{name}_at_first_second")
            first_goal = held(m, in_first, token, f"{name}_first_number")
            second = Mux(self.is_first, first_second, second)
            goal = Mux(self.is_first, first_goal, goal)
        later = self._count.at(goal, second)
        with m.If(step):
            m.d.sync += flag.eq(Mux(self._begin, is_once, Mux(self.last, again, later)))
        return flag
