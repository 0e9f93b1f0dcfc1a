"""One dimension of a job as a line of slots, which the parts of the control walk over.

The line has ``period`` slots, and the next line follows without a gap.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value

from extremum.hdl.advance import Advance
from extremum.hdl.counter import StepCount
from extremum.hdl.shadow import precomputed, shadow
from extremum.hdl.timing import TimingParameters


class Line:
    """Walks over the slots of a line, and of the next line of the same job, without a gap.

    Every number must have been on the job port for at least one clock when the job begins.

    Parameters
    ----------
    m
        Module to add the logic to.
    parameters
        The timing parameters.
    name
        Prefix of the signals.
    advance
        The signals that begin a job and go on from slot to slot.
    slots_less_one
        Slots of a line of the next job, less one.
    first_slots_less_one
        Slots of the job's first line, less one, if that line has another length.
    ahead
        How many slots before the line's last :attr:`is_near_end` begins, and by how many slots the
        flags of :meth:`at` are early; :attr:`last` is on time. Every line must have more slots than
        that.

    Attributes
    ----------
    last
        The slot at hand is the line's last.
    is_near_end
        The slot at hand is the line's last, or at most ``ahead`` slots in front of it.
    number, place
        The number of the slot at hand within its line: ``number`` counts from 1, ``place`` from 0.
        They have no meaning if the end is told ahead.
    """

    def __init__(
        self,
        m: Module,
        parameters: TimingParameters,
        name: str,
        advance: Advance,
        *,
        slots_less_one: Value,
        first_slots_less_one: Value | None = None,
        ahead: int = 0,
    ):
        self._m, self._parameters, self._advance, self._ahead = m, parameters, advance, ahead
        begin, step = advance.begin, advance.step
        self.last, self._is_first = Signal(name=f"{name}_last"), Signal(name=f"{name}_line_first")
        self._count = StepCount(
            m, parameters, len(slots_less_one), name,
            begin=advance.restart | self.last, enable=step, is_loaded=True, skipped=ahead,
        )  # fmt: skip
        self.number = self._count.number
        self.place = Signal.like(self.number, name=f"{name}_place", init=0)
        with m.If(step):
            m.d.sync += [
                self._is_first.eq(begin | (self._is_first & ~self.last)),
                self.place.eq(Mux(begin | self.last, 0, self.number)),
            ]
        # To tell the end ahead, the count skips its first numbers, so it reaches its goal earlier.
        ends = [self.at(slots_less_one, f"{name}_end", first_slots_less_one)]
        for number in range(ahead):
            late = Signal(name=f"{name}_end{number}", reset_less=True)
            with m.If(step):
                m.d.sync += late.eq(ends[-1] & ~begin)
            ends.append(late)
        self.is_near_end = Cat(*ends).any()
        m.d.comb += self.last.eq(ends[-1])

    def at(self, number: Value, name: str, in_first: Value | None = None) -> Signal:
        """Return whether the slot at hand has a certain number, counted from 0.

        Parameters
        ----------
        number
            The number to look for, from the job port: that of the next job.
        name
            Prefix of the signals.
        in_first
            The number to look for in the job's first line, if it is another one there.

        Returns
        -------
        Signal
            The flag. If the end is told ahead, the flag is ahead by as many slots.
        """
        m, token, step = self._m, self._advance.token, self._advance.step
        flag = Signal(name=name)

        def near(number: Value) -> list[Value]:
            return [
                precomputed(
                    m, self._parameters, lambda number, n=n: number == n + self._ahead, number
                )
                for n in (0, 1)
            ]

        is_once, is_twice = near(number)
        again, second, goal = (
            shadow(m, self._parameters, value, token, f"{name}_{part}")
            for value, part in ((is_once, "at_once"), (is_twice, "at_second"), (number, "number"))
        )
        if in_first is not None:
            is_once, is_twice = near(in_first)
            first_second = shadow(m, self._parameters, is_twice, token, f"{name}_at_first_second")
            first_goal = shadow(m, self._parameters, in_first, token, f"{name}_first_number")
            second = Mux(self._is_first, first_second, second)
            goal = Mux(self._is_first, first_goal, goal)
        later = self._count.at(goal, second)
        with m.If(step):
            m.d.sync += flag.eq(Mux(self._advance.begin, is_once, Mux(self.last, again, later)))
        return flag


class PlainLine:
    """Walks over the slots of a line as :class:`Line` does, by a plain counter that is compared.

    Parameters
    ----------
    m
        Module to add the logic to.
    name
        Prefix of the signals.
    advance
        The signals that begin a job and go on from slot to slot.
    shape
        Shape of a coordinate.
    first
        Coordinate of the job's first slot.
    again
        Coordinate of the first slot of every other line.
    last
        Coordinate of a line's last slot. It stays from the job's beginning on, as ``again`` does.

    Attributes
    ----------
    coordinate
        Coordinate of the slot at hand; it wraps.
    last
        The slot at hand is the line's last.
    """

    def __init__(
        self,
        m: Module,
        name: str,
        advance: Advance,
        *,
        shape: Shape,
        first: Value | int,
        again: Value | int,
        last: Value,
    ):
        self.coordinate = Signal(shape, name=f"{name}_coordinate")
        self.last = Signal(name=f"{name}_last")
        m.d.comb += self.last.eq(self.coordinate == last)
        with m.If(advance.step):
            m.d.sync += self.coordinate.eq(self.coordinate + 1)
            with m.If(self.last):
                m.d.sync += self.coordinate.eq(again)
            with m.If(advance.token):
                m.d.sync += self.coordinate.eq(first)
