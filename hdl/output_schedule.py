"""The output side of a line of slots: in which a window is given, and which taps are padding.

A window is given in the slot of its last tap, so the line of windows begins in the slot of
coordinate ``head`` and is a line of ``period`` slots too (:mod:`extremum.hdl.line`). Its last
coordinates are beyond the elements: windows that reach into the end padding are given in the first
slots of the next line, and no slot is spent on them. In a core without padding there are none, and
a line of windows is the line of its elements.

The last window of a line may be given earlier than in the slot of its last tap, if that tap and
those up to the slot lie in the end padding. It is then given in the slot of coordinate ``final``,
without its last ``shift`` taps. This saves slots if windows are more than one slot apart.

Padding is decided here: a tap is an element if its coordinate lies in the tensor. The schedule
does not need the elements themselves.
"""

from __future__ import annotations

from operator import add

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.advance import Advance, AdvancePort, AdvanceSignature
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.coordinates import inside, least_coordinate, slots_from_zero
from extremum.hdl.line import Line, PlainLine
from extremum.hdl.ports import job_layout
from extremum.hdl.register_table import constant_registers, ends_tell_final
from extremum.hdl.registers import register
from extremum.hdl.shadow import precomputed, shadow
from extremum.hdl.stride_grid import is_due
from extremum.hdl.timing import (
    Timed,
    delay,
    domain,
    late_equal,
    late_exceeds,
    timing_parameters,
    wired,
)

COORDINATE_STEPS = 2
"""Steps from a slot to its coordinate: one for the sum, and one to shorten the path behind it."""


def latency(config: CoreConfig) -> int:
    """Return the clocks from a slot to the outputs of :class:`OutputSchedule` that belong to it.

    With padding these are the clocks of the coordinate, of a late comparison, and of a register for
    the answer.
    """
    steps = COORDINATE_STEPS + 2 if config.padding and config.has_windows else 2
    return steps * timing_parameters(config).control_clocks


class OutputSchedule(wiring.Component):
    """Walks over the slots of one line of windows and tells which are given, and of what taps.

    Latency: :func:`latency` clocks from a slot to ``emit`` and ``final``, and ``control_clocks``
    more to ``present`` and ``shift``; ``last`` belongs to the slot at hand.

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
        The signals that begin a job and go on from slot to slot.
    last : Out(1)
        The slot is the last of the line of windows.
    emit : Out(1)
        A window is given in this slot.
    final : Out(1)
        The window is the line's last.
    present : Out(max_window)
        A bit for each tap of the window: whether it is an element of the tensor. Tap 0 has the
        slot's coordinate.
    shift : Out
        By how many taps the window is given early: tap 0 is that many taps before the window's last
        one. It is 0 for a usual window.
    """

    job: data.View
    advance: AdvancePort
    last: Signal
    emit: Signal
    final: Signal
    present: Signal
    shift: Signal

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        self.axis = axis
        self.parameters = timing_parameters(config)
        self.taps = config.max_window[axis]
        super().__init__(
            {
                "job": In(job_layout(config)),
                "advance": In(AdvanceSignature()),
                "last": Out(1),
                "emit": Out(1),
                "final": Out(1),
                "present": Out(self.taps),
                "shift": Out(bits_for(self.taps - 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = Advance.of(self.advance)
        if self.config.padding:
            self._across_lines(m, advance)
        else:
            self._within_lines(m, advance)
        return m

    def _register(self, name: str) -> Value:
        return register(self.config, self.job, f"{DIMENSIONS[self.axis]}.{name}")

    def _is_due(self, m: Module, advance: Advance, last: Value) -> Timed:
        """Return whether the slot is on the grid of strides. ``last`` is set for a line's last."""
        return is_due(
            m, self.parameters, advance, last, head=self._register("head"),
            stride_less_one=self._register("stride"), begins_on_grid=self.config.padding,
        )  # fmt: skip

    def _within_lines(self, m: Module, advance: Advance) -> None:
        """Give windows that end within the line of their elements, the last one on the grid.

        The last window on the grid is the line's last, since the next would reach beyond the line.
        """
        ends_tell = ends_tell_final(self.config, self.axis)
        ahead = 0
        if ends_tell:
            ahead = constant_registers(self.config)[f"{DIMENSIONS[self.axis]}.stride"] - 1
        period_less_one, final = self._register("period"), self._register("final")
        parameters = self.parameters
        if parameters.counts_ahead:
            line = Line(m, parameters, "slot", advance, slots_less_one=period_less_one, ahead=ahead)
            is_final = line.is_near_end if ends_tell else line.at(final, "is_final")
        else:
            line = PlainLine(
                m,
                "slot",
                advance,
                shape=period_less_one.shape(),
                first=0,
                again=0,
                last=period_less_one,
            )
            is_final = line.coordinate == final
            if ends_tell:
                is_final = line.coordinate + ahead >= period_less_one
        told = latency(self.config)
        window = shadow(m, parameters, self._register("window"), advance.token, "window")
        window = Timed(m, window, is_steady=parameters.holds_one_job)
        m.d.comb += [
            self.last.eq(line.last),
            self.emit.eq(self._is_due(m, advance, line.last).at(told)),
            self.final.eq(Timed(m, is_final).at(told)),
            self.present.eq(self._first_taps(window.at(told + parameters.control_clocks))),
        ]

    def _across_lines(self, m: Module, advance: Advance) -> None:
        """Give windows that reach into padding, some of them in the next line."""
        parameters, clocks = self.parameters, self.parameters.control_clocks
        # The line of windows begins with its first window. In front of the job's first line are
        # slots without a window.
        head, period_less_one = self._register("head"), self._register("period")
        if parameters.counts_ahead:
            more = precomputed(m, parameters, slots_from_zero, head)
            first_less_one = precomputed(
                m, parameters, lambda period, more: period + more, period_less_one, more
            )
            line = Line(
                m, parameters, "slot", advance,
                slots_less_one=period_less_one,
                first_slots_less_one=first_less_one[: len(period_less_one)],
            )  # fmt: skip
        else:
            line = PlainLine(
                m, "slot", advance, shape=head.shape(),
                first=precomputed(m, parameters, least_coordinate, head),
                again=head,
                last=precomputed(m, parameters, add, head, period_less_one),
            )  # fmt: skip
        due = self._is_due(m, advance, line.last)
        if isinstance(line, Line):
            coordinate = self._coordinate(m, advance, line)
        else:
            coordinate = Timed(m, line.coordinate)
        coordinate = coordinate.moved_to(COORDINATE_STEPS * clocks)
        token, here = Timed(m, advance.token).at(coordinate.clock), coordinate.value
        final, regular = (
            shadow(m, self.parameters, self._register(name), token, name)
            for name in ("final", "regular")
        )
        compared = coordinate.clock + clocks
        is_final = late_equal(m, here, final, parameters)
        fits = late_exceeds(m, regular, here, parameters, Const(1, 1), clocks=clocks)
        m.d.comb += self.last.eq(line.last)
        m.d[domain(clocks)] += [
            self.final.eq(is_final),
            self.emit.eq((due.at(compared) & fits) | is_final),
        ]
        self._look_at_taps(m, coordinate, token, Timed(m, is_final, compared))

    def _coordinate(self, m: Module, advance: Advance, line: Line) -> Timed:
        """Return the coordinate of the slot; that of the job's first slot is 0 or negative."""
        head = self._register("head")
        again = shadow(m, self.parameters, head, advance.token, "restart")
        base, coordinate = (
            Signal(head.shape(), name=name, reset_less=True) for name in ("base", "coordinate")
        )
        with m.If(advance.step & (advance.begin | line.last)):
            m.d.sync += base.eq(Mux(advance.begin, Mux(head < 0, head, 0), again))
        m.d.sync += coordinate.eq(base + line.place)
        return Timed(m, coordinate, 1)

    def _look_at_taps(self, m: Module, coordinate: Timed, token: Value, is_final: Timed) -> None:
        """Tell which taps are present: those of the window that are in the tensor.

        ``token`` is that of the coordinate's clock.
        """
        late_token = Timed(m, token, coordinate.clock).at(is_final.clock)
        new_size_less_one, window, new_shift = map(self._register, ("size", "window", "shift"))
        shift = shadow(m, self.parameters, new_shift, late_token, "shift")
        clocks = self.parameters.control_clocks
        told = is_final.clock + clocks
        shift_here = Timed(m, Mux(is_final.value, shift, 0), is_final.clock)
        m.d[domain(clocks)] += self.shift.eq(shift_here.at(told))
        # The taps of a usual window, and of one that is given early, which has fewer.
        usual = shadow(m, self.parameters, self._first_taps(window), late_token, "usual_taps")
        mask = (1 << bits_for(self.taps)) - 1
        left = precomputed(
            m, self.parameters, lambda window, shift: (window - shift) & mask, window, new_shift
        )
        left = wired(m, left, self.parameters.precomputed_clocks, "taps_left")
        early = shadow(m, self.parameters, self._first_taps(left), late_token, "early_taps")
        taps = Timed(m, Mux(is_final.value, early, usual), is_final.clock).at(told)
        taps = wired(m, taps, clocks, "taps")
        here = coordinate.value
        if self.config.max_dilation[self.axis] == 1:
            # The rule is that of ``inside``. Without dilation, one subtraction serves all taps.
            place, beyond = Signal.like(here), Signal(signed(len(here) + 1))
            last_element = shadow(m, self.parameters, new_size_less_one, token, "last_element")
            m.d[domain(clocks)] += [place.eq(here), beyond.eq(here - last_element)]
            place, beyond = self._near(m, place), self._near(m, beyond)
            insides = [(place >= tap) & (beyond <= tap) for tap in range(self.taps)]
        else:
            dilation = shadow(m, self.parameters, self._register("dilation"), token, "dilation")
            size_less_one = shadow(m, self.parameters, new_size_less_one, late_token, "size")
            insides = []
            for tap in range(self.taps):
                place = Signal.like(here, name=f"coordinate{tap}")
                m.d[domain(clocks)] += place.eq(here - dilation * tap)
                insides.append(delay(m, inside(place, size_less_one), clocks))
        for tap, is_inside in enumerate(insides):
            m.d[domain(clocks)] += self.present[tap].eq(taps[tap] & is_inside)

    def _near(self, m: Module, coordinate: Value) -> Value:
        """Return, ``control_clocks`` later, a coordinate cut off beyond the taps' numbers.

        What is below 0 stays below 0, and what is above all taps' numbers stays above them.
        """
        # A core may have more taps than its coordinates count.
        bits = min(bits_for(self.taps), len(coordinate) - 1)
        far = coordinate[bits:-1].any()
        near = Cat(coordinate[:bits] | far.replicate(bits), coordinate[-1])
        return delay(m, near, self.parameters.control_clocks).as_signed()

    def _first_taps(self, count: Value) -> Value:
        """Return a bit for each tap: whether it is one of the first ``count`` taps."""
        return Cat(count[: bits_for(self.taps)] > tap for tap in range(self.taps))
