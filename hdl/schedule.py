"""The slot schedule: when input is taken, when a window is given, and what lies in its padding.

One dimension of a job is a line of ``period`` slots, and the next line follows without a gap. A
slot has a coordinate: that of the element that it takes, if there is one. The first coordinates
are negative where the first windows lie wholly in the start padding. A window is given in the
slot of its last tap, so the line of windows begins in the slot of coordinate ``head`` and is a
line of ``period`` slots too. Its last coordinates are beyond the elements: windows that reach into
the end padding are given in the first slots of the next line, and no slot is spent on them. In a
core without padding there are none, and a line of windows is the line of its elements.

The last window of a line may be given earlier than in the slot of its last tap, if that tap and
those up to the slot lie in the end padding: in the slot of its coordinate ``final``, with ``shift``
taps less. Where windows stand more than one slot apart this saves slots.

Of the data the schedule knows nothing.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.counter import Line, StepCount
from extremum.hdl.flow import delay, derived, held
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import ends_tell_final, ends_with_plane, fixed_registers, register


def inside(coordinate: Value, size_less_one: Value) -> Value:
    """Return whether a coordinate is in the tensor: what is not is padding, and absent.

    The coordinate is signed and one bit wider than the size: a negative one, read as unsigned,
    is beyond every size. A line with its padding, and the extent of a window, are shorter than
    ``2**coordinate_width``, so a coordinate that wraps does not come back to the tensor.
    """
    return coordinate.as_unsigned() <= size_less_one


def latency(config: CoreConfig) -> int:
    """Return the clocks from a slot to what an :class:`OutputSchedule` tells of it."""
    return 4 if config.padding and config.has_windows else 2


class InputSchedule(wiring.Component):
    """Walks over the slots of one line and tells which of them are elements of the tensor.

    ``present`` and ``last`` speak of the present slot.

    Parameters
    ----------
    config
        Of the core.
    axis
        Which dimension, as a number into ``DIMENSIONS``.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    token : In(1)
        The next slot is the first of the next job.
    begin : In(1)
        The same, told apart for what is quick.
    step : In(1)
        Go to the next slot, with a token always.
    present : Out(1)
        The slot holds an element.
    last : Out(1)
        The slot is the line's last.
    """

    job: data.View
    token: Signal
    begin: Signal
    step: Signal
    present: Signal
    last: Signal

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        self.axis = axis
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(1),
                "begin": In(1),
                "step": In(1),
                "present": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        head, size, period = (
            register(self.config, self.job, f"{DIMENSIONS[self.axis]}.{name}")
            for name in ("head", "size", "period")
        )
        line = Line(
            m, "slot", token=self.token, begin=self.begin, step=self.step, slots_less_one=period
        )
        # The elements begin behind the line's leading slots, and end a size later.
        lead = derived(m, slots_below_zero, head)
        stop = derived(m, lambda lead, size_less_one: lead + size_less_one + 1, lead, size)
        begins, ends = line.at(lead, "begins"), line.at(stop, "ends")
        was_present = Signal()
        with m.If(self.step):
            m.d.sync += was_present.eq(self.present & ~self.begin & ~line.last)
        m.d.comb += [
            self.last.eq(line.last),
            self.present.eq(begins | (was_present & ~ends)),
        ]
        return m


class OutputSchedule(wiring.Component):
    """Walks over the slots of one line of windows and tells which are given, and of what taps.

    Latency: :func:`latency` clocks from a slot to ``emit`` and ``final``, one more to ``present``
    and ``shift``; ``last`` speaks of the present slot.

    Parameters
    ----------
    config
        Of the core.
    axis
        Which dimension, as a number into ``DIMENSIONS``.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    token : In(1)
        The next job's first slot comes next.
    begin : In(1)
        The same, told apart for what is quick.
    slot : In(1)
        A slot is here. Looked at where a job ends with its plane.
    step : In(1)
        Go to the next slot, with a token always.
    last : Out(1)
        The slot is the last of the line of windows.
    emit : Out(1)
        A window is given in this slot.
    final : Out(1)
        It is the line's last.
    present : Out(max_window)
        Which of its taps are elements of the tensor. Tap 0 is that of the slot's coordinate.
    shift : Out
        Number of tap 0 in the window, counted from its last tap.
    """

    job: data.View
    token: Signal
    begin: Signal
    slot: Signal
    step: Signal
    last: Signal
    emit: Signal
    final: Signal
    present: Signal
    shift: Signal

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        self.axis = axis
        self.taps = config.max_window[axis]
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(1),
                "begin": In(1),
                "slot": In(1),
                "step": In(1),
                "last": Out(1),
                "emit": Out(1),
                "final": Out(1),
                "present": Out(self.taps),
                "shift": Out(bits_for(self.taps - 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.config.padding:
            self._across_lines(m)
        else:
            self._within_lines(m)
        return m

    def _register(self, name: str) -> Value:
        return register(self.config, self.job, f"{DIMENSIONS[self.axis]}.{name}")

    def _held(self, m: Module, name: str) -> Value:
        return held(m, self._register(name), self.token, name)

    def _within_lines(self, m: Module) -> None:
        """Give windows that end within the line of their elements, the last one on the grid.

        The next window on the grid would not be inside: it ends with the line.
        """
        ends_tell = ends_tell_final(self.config, self.axis)
        ahead = 0
        if ends_tell:
            ahead = fixed_registers(self.config)[f"{DIMENSIONS[self.axis]}.stride"] - 1
        line = Line(
            m, "slot",
            token=self.token, begin=self.begin, step=self.step,
            slots_less_one=self._register("period"),
            ahead=ahead,
            slot=self.slot if ends_with_plane(self.config) else None,
        )  # fmt: skip
        is_final = line.is_near_end if ends_tell else line.at(self._register("final"), "is_final")
        due = self._due(m, line.last)
        late = latency(self.config)
        window = delay(m, self._held(m, "window"), late + 1)
        m.d.comb += [
            self.last.eq(line.last),
            self.emit.eq(delay(m, due, late - 1)),
            self.final.eq(delay(m, is_final, late)),
            self.present.eq(self._first_taps(window)),
        ]

    def _across_lines(self, m: Module) -> None:
        """Give windows that reach into padding, some of them in the next line."""
        # The line of windows begins with the first of them; in front of it are absent slots.
        head, period = self._register("head"), self._register("period")
        more = derived(m, slots_above_zero, head)
        first = derived(m, lambda period, more: period + more, period, more)[: len(period)]
        line = Line(
            m, "slot", token=self.token, begin=self.begin, step=self.step,
            slots_less_one=period, first_slots_less_one=first,
        )  # fmt: skip
        due = self._due(m, line.last)
        # One more clock from the carry chain of the sum to those of the comparisons.
        coordinate, token = delay(m, self._coordinate(m, line), 1), delay(m, self.token, 2)
        # A comparison of coordinates takes two clocks: one for its parts.
        is_final = _is_equal(m, coordinate, held(m, self._register("final"), token, "final"))
        fits = _is_at_most(m, coordinate, held(m, self._register("regular"), token, "regular"))
        m.d.comb += self.last.eq(line.last)
        m.d.sync += [
            self.final.eq(is_final),
            self.emit.eq((delay(m, due, 2) & fits) | is_final),
        ]
        self._look_at_taps(m, coordinate, token, is_final)

    def _coordinate(self, m: Module, line: Line) -> Signal:
        """Return, a clock late, the coordinate of the slot: the first line begins at 0 or below."""
        head = self._register("head")
        again = held(m, head, self.token, "restart")
        base, coordinate = (
            Signal(head.shape(), name=name, reset_less=True) for name in ("base", "coordinate")
        )
        with m.If(self.step & (self.begin | line.last)):
            m.d.sync += base.eq(Mux(self.begin, Mux(head < 0, head, 0), again))
        m.d.sync += coordinate.eq(base + line.place)
        return coordinate

    def _due(self, m: Module, last: Value) -> Signal:
        """Return, a clock late, whether the slot is on the grid of strides.

        ``last``: the slot is its line's last.
        """
        # Slots since the line began, or since a window was due, up to the next one: from the
        # first slot the head, from a window a stride. The register of that is one less.
        step, token, last, begins = (
            delay(m, flag, 1) for flag in (self.step, self.token, last, self.token | last)
        )
        due, from_first = Signal(name="due"), Signal()
        new_head, new_stride = self._register("head"), self._register("stride")
        width = phase_width(new_head, new_stride)
        slots = StepCount(m, width, "phase", begin=begins | due, enable=step, is_loaded=True)
        with m.If(step):
            m.d.sync += from_first.eq(begins | (from_first & ~due))
        new_begins_due = derived(m, lambda head: (head == 0) | (head < 0), new_head)
        head, stride, begins_due, head_is_one, is_dense, stride_is_two = (
            held(m, value, token, name)
            for value, name in (
                (new_head, "head"),
                (new_stride, "stride"),
                (new_begins_due, "begins_due"),
                (derived(m, lambda head: head == 1, new_head), "head_is_one"),
                (derived(m, lambda stride: stride == 0, new_stride), "is_dense"),
                (derived(m, lambda stride: stride == 1, new_stride), "stride_is_two"),
            )
        )
        if self.config.padding:
            # The line of windows begins with the first of them.
            begins_due = Const(1, 1)
        head = head.as_unsigned()[:width]
        goal = slots.at(Mux(from_first, head, stride), Mux(from_first, head_is_one, stride_is_two))
        later = Mux(last, begins_due, Mux(due, is_dense, goal))
        with m.If(step):
            m.d.sync += due.eq(Mux(token, new_begins_due, later))
        return due

    def _look_at_taps(self, m: Module, coordinate: Value, token: Value, is_final: Value) -> None:
        """Tell which taps are present: those of the window that are in the tensor."""
        late = delay(m, token, 1)
        new_size, window, new_shift = map(self._register, ("size", "window", "shift"))
        shift = held(m, new_shift, late, "shift")
        m.d.sync += self.shift.eq(delay(m, Mux(is_final, shift, 0), 1))
        # The taps of a window, and of one that is given early.
        usual = held(m, self._first_taps(window), late, "usual_taps")
        mask = (1 << bits_for(self.taps)) - 1
        left = derived(m, lambda window, shift: (window - shift) & mask, window, new_shift)
        early = held(m, self._first_taps(left), late, "early_taps")
        taps = delay(m, Mux(is_final, early, usual), 1)
        if self.config.max_dilation[self.axis] == 1:
            # One subtraction serves all taps.
            place, beyond = Signal.like(coordinate), Signal(signed(len(coordinate) + 1))
            last_element = held(m, new_size, token, "last_element")
            m.d.sync += [place.eq(coordinate), beyond.eq(coordinate - last_element)]
            place, beyond = self._near(m, place), self._near(m, beyond)
            insides = [(place >= tap) & (beyond <= tap) for tap in range(self.taps)]
        else:
            dilation = held(m, self._register("dilation"), token, "dilation")
            size = held(m, new_size, late, "size")
            insides = []
            for tap in range(self.taps):
                place = Signal.like(coordinate, name=f"coordinate{tap}")
                m.d.sync += place.eq(coordinate - dilation * tap)
                insides.append(delay(m, inside(place, size), 1))
        for tap, is_inside in enumerate(insides):
            m.d.sync += self.present[tap].eq(taps[tap] & is_inside)

    def _near(self, m: Module, coordinate: Value) -> Value:
        """Return, a clock late, a coordinate if it is a tap's number, else one below or above."""
        bits = bits_for(self.taps)
        far = coordinate[bits:-1].any()
        return delay(m, Cat(coordinate[:bits] | far.replicate(bits), coordinate[-1]), 1).as_signed()

    def _first_taps(self, count: Value) -> Value:
        """Return a bit for each tap: whether it is one of the first so many."""
        return Cat(count[: bits_for(self.taps)] > tap for tap in range(self.taps))


def phase_width(head: Value, stride: Value) -> int:
    """Return the bits of a count up to the first window, and from one to the next."""
    widths = [
        bits_for(max(0, value.value))
        if isinstance(value, Const)
        else len(value) - value.shape().signed
        for value in (head, stride)
    ]
    return max(widths)


def slots_above_zero(head: Any) -> Any:
    """Return how many slots there are from coordinate 0 to the head."""
    return max(head, 0) if isinstance(head, int) else Mux(head < 0, 0, head)


def slots_below_zero(head: Any) -> Any:
    """Return how many slots there are from the head to coordinate 0: those have no element."""
    return max(-head, 0) if isinstance(head, int) else Mux(head < 0, -head, 0)


def _is_equal(m: Module, coordinate: Value, other: Value) -> Value:
    """Return, a clock late, whether two coordinates are equal."""
    parts = (slice(low, low + 4) for low in range(0, len(coordinate), 4))
    return Cat(delay(m, coordinate[part] == other[part], 1) for part in parts).all()


def _is_at_most(m: Module, coordinate: Value, other: Value) -> Value:
    """Return, a clock late, whether a coordinate is not above another."""
    middle = len(coordinate) // 2
    low, high = (
        (coordinate[:middle], other[:middle]),
        (coordinate[middle:].as_signed(), other[middle:].as_signed()),
    )
    is_low, is_below, is_level = (
        delay(m, flag, 1) for flag in (low[0] <= low[1], high[0] < high[1], high[0] == high[1])
    )
    return is_below | (is_level & is_low)
