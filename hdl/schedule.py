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

from extremum.hdl.config import CoreConfig
from extremum.hdl.counter import StepCount, walk_line
from extremum.hdl.flow import delay, derived, held
from extremum.hdl.job import AXES, job_layout, register


def inside(coordinate: Value, size_less_one: Value) -> Value:
    """Return whether a coordinate is in the tensor: what is not is padding, and absent.

    The coordinate is signed and one bit wider than the size: a negative one, read as unsigned,
    is beyond every size. A line with its padding, and the extent of a window, are shorter than
    ``2**coordinate_width``, so a coordinate that wraps does not come back to the tensor.
    """
    return coordinate.as_unsigned() <= size_less_one


class InputSchedule(wiring.Component):
    """Walks over the slots of one line and tells which of them are elements of the tensor.

    ``present`` and ``last`` are registers and speak of the present slot.

    Parameters
    ----------
    config
        Of the core.
    axis
        Which dimension, as in ``AXES``.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    step : In(1)
        Go to the next slot.
    load : In(1)
        That is the first one of the next job.
    present : Out(1)
        The slot holds an element.
    last : Out(1)
        The slot is the line's last.
    """

    job: data.View
    step: Signal
    load: Signal
    present: Signal
    last: Signal

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        self.axis = axis
        super().__init__(
            {
                "job": In(job_layout(config)),
                "step": In(1),
                "load": In(1),
                "present": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        token = self.step & self.load
        head, size, period = (
            register(self.config, self.job, f"{AXES[self.axis]}.{name}")
            for name in ("head", "size", "period")
        )
        # Slots of the line before the one to come: the elements begin behind its lead, and end a
        # size later. The registers of size and period are one less.
        slots = StepCount(
            m, self.config.coordinate_width, "slot",
            begin=self.load | self.last, enable=self.step, is_loaded=True,
        )  # fmt: skip
        begins = derived(m, lambda head: head >= 0, head)
        is_one = derived(m, lambda period: period == 0, period)
        lead = derived(m, leading_slots, head)
        elements = derived(m, lambda size: size + 1, size)
        goals = {
            "first": (lead, derived(m, lambda head: head == -1, head)),
            "stop": (
                lead + elements,
                derived(m, lambda head, size: (size == 0) & (head >= 0), head, size),
            ),
            "last": (period, derived(m, lambda period: period == 1, period)),
        }
        at_first, at_stop, at_last = (
            slots.at(
                held(m, goal, token, name)[: self.config.coordinate_width],
                held(m, goal_is_one, token, f"{name}_is_one"),
            )
            for name, (goal, goal_is_one) in goals.items()
        )
        begins_inside, once = (
            held(m, begins, token, "begins_inside"),
            held(m, is_one, token, "once"),
        )
        goes_on = (self.present & ~at_stop) | (at_first & ~begins_inside)
        with m.If(self.step):
            m.d.sync += [
                self.present.eq(Mux(self.load, begins, Mux(self.last, begins_inside, goes_on))),
                self.last.eq(Mux(self.load, is_one, Mux(self.last, once, at_last))),
            ]
        return m


class OutputSchedule(wiring.Component):
    """Walks over the slots of one line of windows and tells which are given, and of what taps.

    Latency: :attr:`LATENCY` clocks from a slot to ``emit`` and ``final``, one more to ``present``
    and ``shift``; ``last`` speaks of the present slot.

    Parameters
    ----------
    config
        Of the core.
    axis
        Which dimension, as in ``AXES``.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    token : In(1)
        The next job's first slot comes next.
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
    step: Signal
    last: Signal
    emit: Signal
    final: Signal
    present: Signal
    shift: Signal

    LATENCY = 2

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        self.axis = axis
        self.taps = config.max_window[axis]
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(1),
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
        coordinate, due = self._walk(m)
        # A comparison of coordinates takes two clocks: one for its parts.
        is_due, is_final = delay(m, due, 1), self._is_equal(m, coordinate, "final")
        fits: Value = Const(1, 1)
        if self.config.padding:
            fits = self._is_at_most(m, coordinate, "regular")
            self._look_at_taps(m, coordinate, is_final)
        else:
            # The grid ends with the line: the next window on it would not be inside.
            window = delay(m, self._held(m, "window"), self.LATENCY + 1)
            m.d.comb += self.present.eq(self._first_taps(window))
        m.d.sync += [self.final.eq(is_final), self.emit.eq((is_due & fits) | is_final)]
        return m

    def _is_equal(self, m: Module, coordinate: Value, name: str) -> Value:
        """Return, a clock late, whether the coordinate is that of a job register."""
        other = self._held(m, name)
        parts = (slice(low, low + 4) for low in range(0, len(coordinate), 4))
        return Cat(delay(m, coordinate[part] == other[part], 1) for part in parts).all()

    def _is_at_most(self, m: Module, coordinate: Value, name: str) -> Value:
        """Return, a clock late, whether the coordinate is not above that of a job register."""
        other = self._held(m, name)
        middle = len(coordinate) // 2
        low, high = (
            (coordinate[:middle], other[:middle]),
            (coordinate[middle:].as_signed(), other[middle:].as_signed()),
        )
        is_low, is_below, is_level = (
            delay(m, flag, 1) for flag in (low[0] <= low[1], high[0] < high[1], high[0] == high[1])
        )
        return is_below | (is_level & is_low)

    def _look_at_taps(self, m: Module, coordinate: Value, is_final: Value) -> None:
        """Tell which taps are present: those of the window that are in the tensor."""
        late = delay(m, self.token, 1)
        new_size, window, new_shift = (
            register(self.config, self.job, f"{AXES[self.axis]}.{name}")
            for name in ("size", "window", "shift")
        )
        shift = held(m, new_shift, late, "shift")
        m.d.sync += self.shift.eq(delay(m, Mux(is_final, shift, 0), 1))
        # The taps of a window, and of one that is given early.
        usual = held(m, self._first_taps(window), late, "usual_taps")
        left = derived(m, lambda window, shift: window - shift, window, new_shift)
        early = held(m, self._first_taps(left), late, "early_taps")
        taps = delay(m, Mux(is_final, early, usual), 1)
        if self.config.max_dilation[self.axis] == 1:
            # One subtraction serves all taps.
            place, beyond = Signal.like(coordinate), Signal(signed(len(coordinate) + 1))
            last_element = self._held(m, "size")
            m.d.sync += [place.eq(coordinate), beyond.eq(coordinate - last_element)]
            place, beyond = self._near(m, place), self._near(m, beyond)
            insides = [(place >= tap) & (beyond <= tap) for tap in range(self.taps)]
        else:
            dilation = self._held(m, "dilation")
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

    def _held(self, m: Module, name: str) -> Value:
        value = register(self.config, self.job, f"{AXES[self.axis]}.{name}")
        return held(m, value, self.token, name)

    def _walk(self, m: Module) -> tuple[Value, Value]:
        """Return the slot's coordinate, and whether it is on the grid of strides."""
        config, axis = self.config, AXES[self.axis]
        new_head, new_stride, period = (
            register(config, self.job, f"{axis}.{name}") for name in ("head", "stride", "period")
        )
        # Without padding every window ends within its line, and the line of windows is that of
        # the elements; else it begins with the first window, and runs on into the next line.
        within_line = not config.padding
        coordinate, last = walk_line(
            m,
            self.token,
            self.step,
            begin=at_most_zero(new_head),
            restart=at_most_zero(new_head) if within_line else new_head,
            period=period,
        )
        m.d.comb += self.last.eq(last)

        # Slots since the line began, or since a window was due, up to the next one: from the
        # first slot the head, from a window a stride. The register of that is one less.
        begins = self.token | last
        due, from_first = Signal(), Signal()
        width = phase_width(new_head, new_stride)
        head, stride = self._held(m, "head").as_unsigned()[:width], self._held(m, "stride")
        slots = StepCount(
            m,
            width,
            "phase",
            begin=begins | due,
            enable=self.step,
            is_loaded=True,
        )
        with m.If(self.step & (begins | due)):
            m.d.sync += from_first.eq(begins)
        new_begins_due = derived(m, lambda head: head <= 0, new_head)
        head_is_one, is_dense, stride_is_two = (
            held(m, derived(m, lambda value, n=n: value == n, value), self.token, name)
            for value, n, name in (
                (new_head, 1, "head_is_one"),
                (new_stride, 0, "is_dense"),
                (new_stride, 1, "stride_is_two"),
            )
        )
        begins_due = held(m, new_begins_due, self.token, "begins_due")
        goal = Mux(from_first, slots.at(head, head_is_one), slots.at(stride, stride_is_two))
        next_due = Mux(last, begins_due if within_line else Const(1, 1), Mux(due, is_dense, goal))
        with m.If(self.step):
            m.d.sync += due.eq(Mux(self.token, new_begins_due, next_due))
        return coordinate, due


def phase_width(head: Value, stride: Value) -> int:
    """Return the bits of a count up to the first window, and from one to the next."""
    widths = [
        bits_for(max(0, value.value)) if isinstance(value, Const) else len(value)
        for value in (head, stride)
    ]
    return max(widths)


def at_most_zero(head: Value) -> Value:
    """Return the coordinate of a line's first slot: negative in front of it are absent slots."""
    if isinstance(head, Const):
        return Const(min(head.value, 0), head.shape())
    return Mux(head < 0, head, 0)


def leading_slots(head: Any) -> Any:
    """Return how many slots of a line have no element: those in front of the first one."""
    return max(-head, 0) if isinstance(head, int) else Mux(head < 0, -head, 0)
