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

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.config import CoreConfig
from extremum.hdl.flow import delay, held
from extremum.hdl.job import AXES, job_layout, register


def inside(coordinate: Value, size_less_one: Value) -> Value:
    """Return whether a coordinate is in the tensor: what is not is padding, and absent.

    The coordinate is signed and one bit wider than the size: a negative one, read as unsigned,
    is beyond every size. A line with its padding, and the extent of a window, are shorter than
    ``2**coordinate_width``, so a coordinate that wraps does not come back to the tensor.
    """
    return coordinate.as_unsigned() <= size_less_one


def below(coordinate: Value, limit: int) -> Value:
    """Return whether a coordinate is below a small number: few bits are compared, not all."""
    low = bits_for(limit)
    near = ~coordinate[low:-1].any() & (coordinate[:low] < limit)
    return coordinate[-1] | near


def walk_line(
    m: Module,
    load: Value,
    enable: Value,
    *,
    begin: Value,
    restart: Value,
    period: Value,
    shortest: int = 1,
) -> tuple[Signal, Signal]:
    """Return the coordinate of the slot at hand, and whether its line ends with it.

    Parameters
    ----------
    m
        Module to add the logic to.
    load
        The next slot is the first of the next job.
    enable
        The next clock has the next slot, of whichever job.
    begin
        Coordinate of the next job's first slot, not above ``restart``.
    restart
        Coordinate of the first slot of every later line, in the next job.
    period
        Slots of a line less one, in the next job.
    shortest
        Slots that every line has at least.
    """
    coordinate, last, token = Signal(begin.shape()), Signal(), load & enable
    again = held(m, restart, token, "restart")
    is_once = Const(0, 1) if shortest > 1 else (period == 0)
    once = held(m, is_once, token, "once")
    if all(isinstance(value, Const) and value.value == 0 for value in (begin, restart)):
        # A counter that is one slot ahead can be compared with the register as it is.
        following = Signal.like(coordinate, init=1)
        end = held(m, period, token, "end")
        with m.If(enable & (load | last)):
            m.d.sync += [following.eq(1), coordinate.eq(0)]
        with m.Elif(enable):
            m.d.sync += [following.eq(following + 1), coordinate.eq(following)]
        with m.If(enable):
            m.d.sync += last.eq(Mux(load, is_once, Mux(last, once, following == end)))
        return coordinate, last
    last_but_one = held(m, (restart + period - 1)[: len(begin)].as_signed(), token, "last_but_one")
    with m.If(enable):
        with m.If(load):
            m.d.sync += [coordinate.eq(begin), last.eq((begin == restart) & is_once)]
        with m.Elif(last):
            m.d.sync += [coordinate.eq(again), last.eq(once)]
        with m.Else():
            m.d.sync += [coordinate.eq(coordinate + 1), last.eq(coordinate == last_but_one)]
    return coordinate, last


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
        first = at_most_zero(head)
        coordinate, last = walk_line(
            m, self.load, self.step, begin=first, restart=first, period=period
        )
        m.d.comb += self.last.eq(last)
        # A line comes to the tensor with coordinate 0, and leaves it behind the last element.
        new_inside = Value.cast(first == 0)
        begins_inside = held(m, new_inside, token, "begins_inside")
        last_element = held(m, size, token, "last_element")
        following = Mux(
            last, begins_inside, (self.present & (coordinate != last_element)) | (coordinate == -1)
        )
        with m.If(self.step):
            m.d.sync += self.present.eq(Mux(self.load, new_inside, following))
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
        Go to the next slot.
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
        is_due, is_final, fits = Signal(), Signal(), Signal(init=1)
        m.d.sync += [
            is_due.eq(due),
            is_final.eq(coordinate == self._held(m, "final")),
            self.final.eq(is_final),
            self.emit.eq((is_due & fits) | is_final),
        ]
        if self.config.padding:
            m.d.sync += fits.eq(coordinate <= self._held(m, "regular"))
            self._look_at_taps(m, coordinate)
        else:
            # The grid ends with the line: the next window on it would not be inside.
            window = delay(m, self._held(m, "window"), self.LATENCY + 1)
            m.d.comb += self.present.eq(self._first_taps(window))
        return m

    def _look_at_taps(self, m: Module, coordinate: Value) -> None:
        """Tell which taps are present: those of the window that are in the tensor."""
        late = delay(m, self.token, 2)
        new_size, window, new_shift = (
            register(self.config, self.job, f"{AXES[self.axis]}.{name}")
            for name in ("size", "window", "shift")
        )
        shift = held(m, new_shift, late, "shift")
        m.d.sync += self.shift.eq(Mux(self.final, shift, 0))
        # The taps of a window, and of one that is given early.
        usual = held(m, self._first_taps(window), late, "usual_taps")
        left = delay(m, window - new_shift, 1)
        early = held(m, self._first_taps(left), late, "early_taps")
        taps = Mux(self.final, early, usual)
        if self.config.max_dilation[self.axis] == 1:
            # One subtraction serves all taps.
            place, beyond = Signal.like(coordinate), Signal(signed(len(coordinate) + 1))
            last_element = self._held(m, "size")
            m.d.sync += [place.eq(coordinate), beyond.eq(coordinate - last_element)]
            insides = [
                Cat(*(delay(m, side, 1) for side in (~below(place, tap), below(beyond, tap + 1))))
                for tap in range(self.taps)
            ]
        else:
            dilation = self._held(m, "dilation")
            size = held(m, new_size, delay(m, self.token, 1), "size")
            insides = []
            for tap in range(self.taps):
                place = Signal.like(coordinate, name=f"coordinate{tap}")
                m.d.sync += place.eq(coordinate - dilation * tap)
                insides.append(delay(m, inside(place, size), 1))
        for tap, is_inside in enumerate(insides):
            m.d.sync += self.present[tap].eq(taps[tap] & is_inside.all())

    def _first_taps(self, count: Value) -> Value:
        """Return a bit for each tap: whether it is one of the first so many."""
        return Cat(count > tap for tap in range(self.taps))

    def _held(self, m: Module, name: str) -> Value:
        value = register(self.config, self.job, f"{AXES[self.axis]}.{name}")
        return held(m, value, self.token, name)

    def _walk(self, m: Module) -> tuple[Value, Value]:
        """Return the slot's coordinate, and whether it is on the grid of strides."""
        config, axis = self.config, AXES[self.axis]
        new_head, period = (register(config, self.job, f"{axis}.{n}") for n in ("head", "period"))
        stride = self._held(m, "stride")
        # Without padding every window ends within its line, and the line of windows is that of
        # the elements; else it begins with the first window, and runs on into the next line.
        within_line = not config.padding
        window = register(config, self.job, f"{axis}.window")
        coordinate, last = walk_line(
            m,
            self.token,
            self.token | self.step,
            begin=at_most_zero(new_head),
            restart=at_most_zero(new_head) if within_line else new_head,
            period=period,
            shortest=window.value if within_line and isinstance(window, Const) else 1,
        )
        m.d.comb += self.last.eq(last)

        # Slots since the line began, or since a window was due, up to the next one: from the
        # first slot the head, from a window a stride. The register of that is one less.
        head, enable, begins = self._held(m, "head"), self.token | self.step, self.token | last
        due, from_first = Signal(), Signal()
        count = Signal(phase_width(new_head, stride), name="phase", reset_less=True)
        with m.If(enable & (begins | due)):
            m.d.sync += [count.eq(1), from_first.eq(begins)]
        with m.Elif(enable):
            m.d.sync += count.eq(count + 1)
        at_goal = Mux(from_first, count == head.as_unsigned()[: len(count)], count == stride)
        new_begins_due = Value.cast(new_head <= 0)
        begins_due = Value.cast(head <= 0) if within_line else Const(1, 1)
        with m.If(enable):
            next_due = Mux(last, begins_due, Mux(due, stride == 0, at_goal))
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
