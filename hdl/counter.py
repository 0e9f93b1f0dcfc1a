"""Counters that know their end a step ahead, so that their flags come from registers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.utils import bits_for

from extremum.hdl.shadow import precomputed, shadow
from extremum.hdl.timing import SegmentedAccumulator, TimingParameters, late_equal


class StepCount:
    """Counts steps from 1 on, and tells a step ahead whether the count comes to a goal.

    In the first clock after the count has begun, :attr:`number` is 1, or more if numbers are
    skipped. Whether the count is at a goal is computed a step ahead, so the answer comes from a
    register.

    Parameters
    ----------
    m
        Module to add the logic to.
    parameters
        The timing parameters.
    width
        Bits of the count; it wraps.
    name
        Prefix of the signals.
    begin
        The count begins again.
    enable
        The count begins again, or takes a step.
    is_loaded
        Whether the count is begun before it is used; otherwise the reset begins it.
    skipped
        Numbers that are left out at the beginning: the count begins at ``skipped + 1``.

    Attributes
    ----------
    number
        The number of the present step.
    following
        The number of the step to come.
    """

    def __init__(
        self,
        m: Module,
        parameters: TimingParameters,
        width: int,
        name: str,
        *,
        begin: Value,
        enable: Value,
        is_loaded: bool,
        skipped: int = 0,
    ):
        self._m, self._parameters, self._name, self._enable = m, parameters, name, enable
        first, second = ((skipped + n) % (1 << width) for n in (1, 2))
        self.following = Signal(width, name=f"{name}_next", init=second, reset_less=is_loaded)
        self._is_first = Signal(name=f"{name}_first", init=1, reset_less=is_loaded)
        self.number = Signal(width, name=f"{name}_number", init=first, reset_less=is_loaded)
        if width > parameters.low_count:
            with m.If(enable):
                m.d.sync += self.following.eq(Mux(begin, second, self.following + 1))
        else:
            # A few bits are counted by gates, which are faster than a carry chain or the reset
            # input of the flip-flops.
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
        """Return whether the count is at a goal.

        Parameters
        ----------
        goal
            A number that stays from the beginning of the count on. For a goal of one bit only
            ``goal_is_one`` is used.
        goal_is_one
            Whether the goal is the first number, ``skipped + 1``. The first step has none before it
            in which to compare.
        further
            A condition that must hold as well, unless the goal is 1.
        """
        if len(goal) == 1:
            return self._is_first & goal_is_one
        met = late_equal(
            self._m, self.following, goal, self._parameters,
            enable=self._enable, name=f"{self._name}_met",
        )  # fmt: skip
        if further is not None:
            met = met & further
        return Mux(self._is_first, goal_is_one, met)


class ModuloCounter:
    """Counts modulo a number of steps, of any width at the speed of a short counter.

    It begins again after its last step, which :attr:`last` marks.

    The low bits of a wide counter are counted step by step. The bits above them are kept one wrap
    of the low bits ahead, so whether they will be those of the last step is known long before the
    low bits wrap. Without ``counts_ahead`` it is a plain counter that is compared.

    Latency: 0 clocks; :attr:`last` belongs to the present step.

    Parameters
    ----------
    m
        Module to add the logic to.
    parameters
        The timing parameters.
    steps_less_one
        Number of steps, less one: a shadow register, or a constant.
    name
        Prefix of the signals.

    Attributes
    ----------
    last
        Whether the present step is the last.
    number
        The number of the present step, from 0 on. Only a plain counter tells it; others give 0.
    """

    last: Value
    number: Value

    def __init__(self, m: Module, parameters: TimingParameters, steps_less_one: Value, name: str):
        if isinstance(steps_less_one, Const):
            steps_less_one = Const(steps_less_one.value, bits_for(steps_less_one.value))
        self._m, self._parameters = m, parameters
        self._goal = steps_less_one
        self._has_one_step = isinstance(steps_less_one, Const) and steps_less_one.value == 0
        self._name = name
        # A counter of constant length begins with the reset, since it may never be loaded.
        self._is_loaded = not isinstance(steps_less_one, Const)
        self.number = Const(0, 1)
        self.last = Const(1, 1) if self._has_one_step else Signal(name=f"{name}_last")

    def run(self, load: Value, enable: Value, new_steps_less_one: Value) -> None:
        """Add the logic that counts.

        Parameters
        ----------
        load
            The count begins again with a new number of steps, which is in the shadow register from
            the next clock on.
        enable
            The count takes a step, or begins again.
        new_steps_less_one
            The new number, less one. It must have been stable for two clocks when it is loaded.
        """
        if self._has_one_step:
            return
        m, name, last, goal, new = self._m, self._name, self.last, self._goal, new_steps_less_one
        if not self._parameters.counts_ahead:
            self.number = number = Signal(len(goal), name=f"{name}_number")
            m.d.comb += last.eq(number == goal)
            with m.If(enable):
                m.d.sync += number.eq(Mux(load | last, 0, number + 1))
            return
        low_count = self._parameters.low_count
        width = len(goal) if len(goal) <= self._parameters.whole_count else low_count
        count = StepCount(
            m, self._parameters, width, name,
            begin=load | last, enable=enable, is_loaded=self._is_loaded,
        )  # fmt: skip
        high_is_last: Value | None = None
        new_high_is_zero: Value = Const(1, 1)
        if len(goal) > width:
            segment = self._parameters.count_segment
            parts = [
                precomputed(
                    m,
                    self._parameters,
                    lambda steps, low=low: steps >> low & ((1 << segment) - 1) == 0,
                    new,
                )
                for low in range(width, len(goal), segment)
            ]
            new_high_is_zero = precomputed(m, self._parameters, lambda *parts: _all(parts), *parts)
            high_is_last = self._high_is_last(load, enable, count.following, new_high_is_zero)
        low_is = [
            precomputed(
                m, self._parameters, lambda steps, low=low: steps & ((1 << width) - 1) == low, new
            )
            for low in (0, 1)
        ]
        new_has_one, new_has_two = (_both(new_high_is_zero, is_low) for is_low in low_is)
        token = load & enable
        has_one = shadow(m, self._parameters, new_has_one, token, f"{name}_once")
        has_two = shadow(m, self._parameters, new_has_two, token, f"{name}_twice")
        with m.If(enable):
            step = Mux(last, has_one, count.at(goal[:width], has_two, high_is_last))
            m.d.sync += last.eq(Mux(load, new_has_one, step))

    def _high_is_last(
        self, load: Value, enable: Value, following: Value, new_is_zero: Value
    ) -> Signal:
        """Return whether the high bits of the next step's number are those of the last step.

        For the step after the first this is known only when it is at hand itself.
        """
        m, name, width = self._m, self._name, len(following)
        goal, restart = self._goal[width:], load | self.last
        full, late_wrap, late_restart, close = (
            Signal(name=f"{name}_{part}") for part in ("full", "wrap", "restart", "close")
        )
        is_zero = shadow(m, self._parameters, new_is_zero, load & enable, f"{name}_short")
        parameters = self._parameters
        segment = parameters.count_segment if self._is_loaded else parameters.fixed_count_segment
        ahead = SegmentedAccumulator(
            m, parameters, len(goal), segment, f"{name}_ahead",
            load=late_restart, start=Const(1, len(goal)), enable=late_wrap, addend=Const(1, 1),
            init=1, reset_less=self._is_loaded,
        )  # fmt: skip
        if ahead.latency + 4 > 1 << width:
            raise ValueError(
                f"low_count must leave the carries of {len(goal)} bits more than {ahead.latency} "
                f"clocks, and {width} bits wrap after {1 << width}"
            )
        # The comparison and the register of its answer take two more clocks. The low bits need more
        # clocks than that until they wrap.
        ahead_is_last = Signal(name=f"{name}_ahead_close")
        m.d.sync += [
            late_restart.eq(enable & restart),
            late_wrap.eq(enable & full),
            ahead_is_last.eq(late_equal(m, ahead.unaligned, goal, parameters)),
        ]
        with m.If(enable):
            m.d.sync += full.eq(~restart & (following == (1 << width) - 1))
        with m.If(late_restart):
            m.d.sync += close.eq(is_zero)
        with m.Elif(enable & full):
            m.d.sync += close.eq(ahead_is_last)
        return close


def _all(flags: Sequence[Any]) -> Any:
    return reduce(and_, flags)


def _both(one: Value, other: Value) -> Value:
    """Return ``one & other``, as a constant if both are constants."""
    if isinstance(one, Const) and isinstance(other, Const):
        return Const(one.value & other.value)
    return one & other
