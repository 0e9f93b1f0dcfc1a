"""One dimension of a job as a line of slots, and which of these slots hold an element.

One dimension of a job is a line of ``period`` slots, and the next line follows without a gap. A
slot has a coordinate: that of the element that it takes, if there is one. The first coordinates
are negative where the first windows lie wholly in the start padding.
"""

from __future__ import annotations

from operator import add
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.advance import Advance, AdvancePort, AdvanceSignature
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.counter import StepCount
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.shadow import precomputed, shadow
from extremum.hdl.timing import TimingParameters, timing_parameters


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


class InputSchedule(wiring.Component):
    """Walks over the slots of one line and tells which of them hold elements of the tensor.

    Latency: 0 clocks; ``present`` and ``last`` belong to the slot at hand.

    Parameters
    ----------
    config
        Configuration of the core.
    axis
        The dimension, as an index into ``DIMENSIONS``.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    advance : In(AdvanceSignature())
        The signals that go on from slot to slot. ``slot`` is ignored.
    present : Out(1)
        The slot holds an element.
    last : Out(1)
        The slot is the line's last.
    """

    job: data.View
    advance: AdvancePort
    present: Signal
    last: Signal

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        self.axis = axis
        super().__init__(
            {
                "job": In(job_layout(config)),
                "advance": In(AdvanceSignature()),
                "present": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = Advance.of(self.advance)
        head, size_less_one, period_less_one = (
            register(self.config, self.job, f"{DIMENSIONS[self.axis]}.{name}")
            for name in ("head", "size", "period")
        )
        parameters = timing_parameters(self.config)
        if not parameters.counts_ahead:
            first = precomputed(m, parameters, least_coordinate, head)
            last = precomputed(m, parameters, add, first, period_less_one)
            walk = PlainLine(
                m, "slot", advance, shape=head.shape(), first=first, again=first, last=last
            )
            m.d.comb += [
                self.last.eq(walk.last),
                self.present.eq(inside(walk.coordinate, size_less_one)),
            ]
            return m
        line = Line(m, parameters, "slot", advance, slots_less_one=period_less_one)
        # The first element is in the slot of coordinate 0, and ``size`` slots hold elements.
        lead = precomputed(m, parameters, slots_before_zero, head)
        stop = precomputed(m, parameters, lambda lead, size: lead + size + 1, lead, size_less_one)
        begins, ends = line.at(lead, "begins"), line.at(stop, "ends")
        was_present = Signal()
        with m.If(advance.step):
            m.d.sync += was_present.eq(self.present & ~advance.begin & ~line.last)
        m.d.comb += [
            self.last.eq(line.last),
            self.present.eq(begins | (was_present & ~ends)),
        ]
        return m


def inside(coordinate: Value, size_less_one: Value) -> Value:
    """Return whether a coordinate is in the tensor; all others are padding, where taps are absent.

    The coordinate is signed and one bit wider than the size: a negative one, read as unsigned,
    is beyond every size. A line of slots, those in front of element 0 included, and the extent of a
    window are shorter than ``2**coordinate_width``, so a coordinate that wraps does not come back
    to the tensor.
    """
    return coordinate.as_unsigned() <= size_less_one


def least_coordinate(head: Any) -> Any:
    """Return the coordinate of a job's first slot: 0, or that of a window in the start padding."""
    return min(head, 0) if isinstance(head, int) else Mux(head < 0, head, 0)


def slots_from_zero(head: Any) -> Any:
    """Return how many slots there are from coordinate 0 to that of the first window's last tap."""
    return max(head, 0) if isinstance(head, int) else Mux(head < 0, 0, head)


def slots_before_zero(head: Any) -> Any:
    """Return how many slots of a line lie in front of coordinate 0: these hold no element."""
    return max(-head, 0) if isinstance(head, int) else Mux(head < 0, -head, 0)
