"""The slot schedule: when input is taken, when a window is given, and what lies in its padding.

One dimension of a job is a line of ``period`` slots, and the next line follows without a gap.
The elements stand in the first slots, after ``lead`` slots of padding. The window whose last tap
has coordinate ``head`` is given in the slot of that coordinate: the first one ``lag`` slots after
the line's first element, each next one ``stride`` slots later. So the outputs of a line are a
line of ``period`` slots too, ``lag`` slots behind the input. Windows that reach into the end
padding are given in the first slots of the next line: no slot is spent on them.

Of the data the schedule knows nothing.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import CoreConfig
from extremum.hdl.flow import held
from extremum.hdl.job import dimension_layout


def inside(coordinate: Value, size: Value) -> Value:
    """Return whether a coordinate is in the tensor: what is not is padding, and absent.

    The coordinate is signed and one bit wider than the size: a negative one, read as unsigned,
    is beyond every size. A line with its padding, and the extent of a window, are shorter than
    ``2**coordinate_width``, so a coordinate that wraps does not come back to the tensor.
    """
    return coordinate.as_unsigned() < size


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
    registers : In(dimension_layout(config, axis))
        The next job's registers of this dimension.
    token : In(1)
        The next job begins.
    step : In(1)
        Go to the next slot.
    present : Out(1)
        The slot holds an element.
    last : Out(1)
        The slot is the line's last.
    """

    registers: data.View
    token: Signal
    step: Signal
    present: Signal
    last: Signal

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        super().__init__(
            {
                "registers": In(dimension_layout(config, axis)),
                "token": In(1),
                "step": In(1),
                "present": Out(1),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers, token = self.registers, self.token
        period = held(m, registers.period, token, "period")
        size = held(m, registers.size, token, "size")
        first = held(m, _at_most_zero(registers.head), token, "first")
        slots = Countdown(m, self.config.coordinate_width, "slot")
        coordinate = Signal(signed(self.config.coordinate_width + 1))
        m.d.comb += self.last.eq(slots.last)

        with m.If(token):
            begin = _at_most_zero(registers.head)
            m.d.sync += [coordinate.eq(begin), self.present.eq(inside(begin, registers.size))]
            slots.load(registers.period)
        with m.Elif(self.step):
            following = Signal(coordinate.shape())
            m.d.comb += following.eq(Mux(slots.last, first, coordinate + 1))
            m.d.sync += [coordinate.eq(following), self.present.eq(inside(following, size))]
            with m.If(slots.last):
                slots.load(period)
            with m.Else():
                slots.step()
        return m


class OutputSchedule(wiring.Component):
    """Walks over the slots of one line of outputs and tells which windows are given, and whole.

    Latency: :attr:`LATENCY` clocks from a step to the outputs that belong to the slot that it
    leaves: a step says that the last word of a slot is here in this clock. Words of a slot may
    come at any time; the outputs of all of them are the same.

    Parameters
    ----------
    config
        Of the core.
    axis
        Which dimension, as in ``AXES``.

    Members
    -------
    registers : In(dimension_layout(config, axis))
        The next job's registers of this dimension.
    token : In(1)
        The next job begins in the next clock.
    step : In(1)
        Go to the next slot.
    emit : Out(1)
        A window is given in this slot.
    present : Out(max_window)
        Which of its taps are elements of the tensor. Tap 0 is the newest, the one with the
        highest coordinate.
    """

    registers: data.View
    token: Signal
    step: Signal
    emit: Signal
    present: Signal

    LATENCY = 2

    def __init__(self, config: CoreConfig, axis: int):
        self.config = config
        self.taps = config.max_window[axis]
        super().__init__(
            {
                "registers": In(dimension_layout(config, axis)),
                "token": In(1),
                "step": In(1),
                "emit": Out(1),
                "present": Out(self.taps),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        emit, head, late_token = self._walk(m)
        # The coordinate of every tap, then whether it is in the tensor.
        dilation = held(m, self.registers.dilation, self.token, "dilation")
        size = held(m, self.registers.size, late_token, "size")
        window = held(m, self.registers.window, late_token, "window")
        coordinates = [Signal(head.shape(), name=f"coordinate{tap}") for tap in range(self.taps)]
        given = Signal()
        m.d.sync += [given.eq(emit), self.emit.eq(given)]
        for tap, coordinate in enumerate(coordinates):
            m.d.sync += [
                coordinate.eq(head - dilation * tap),
                self.present[tap].eq((window > tap) & inside(coordinate, size)),
            ]
        return m

    def _walk(self, m: Module) -> tuple[Value, Signal, Signal]:
        """Return whether a window is given in this slot, its last coordinate, and a late token."""
        width = self.config.coordinate_width
        registers, token = self.registers, self.token
        period = held(m, registers.period, token, "period")
        stride = held(m, registers.stride, token, "stride")
        outputs = held(m, registers.outputs, token, "outputs")
        first_head = held(m, registers.head, token, "first_head")

        waiting = Signal()
        lag = Countdown(m, width, "lag")
        slot = Countdown(m, width, "slot")
        phase = Countdown(m, width, "phase")
        output = Countdown(m, width, "output")
        due, more = Signal(), Signal()
        head = Signal(signed(width + 1))

        def begin(period: Value, outputs: Value, first_head: Value) -> None:
            slot.load(period)
            output.load(outputs)
            m.d.sync += [due.eq(1), more.eq(1), head.eq(first_head)]

        with m.If(token):
            begin(registers.period, registers.outputs, registers.head)
            lag.load(registers.head.as_unsigned()[:width])
            m.d.sync += waiting.eq(registers.head > 0)
        with m.Elif(self.step & waiting):
            lag.step()
            with m.If(lag.last):
                m.d.sync += waiting.eq(0)
        with m.Elif(self.step & slot.last):
            begin(period, outputs, first_head)
        with m.Elif(self.step):
            slot.step()
            with m.If(due):
                output.step()
                phase.load(stride - 1)
                m.d.sync += [
                    head.eq(head + stride),
                    due.eq(stride == 1),
                    more.eq(more & ~output.last),
                ]
            with m.Else():
                phase.step()
                m.d.sync += due.eq(phase.last)

        late_token = Signal()
        m.d.sync += late_token.eq(token)
        return ~waiting & due & more, head, late_token


def _at_most_zero(head: Value) -> Value:
    """Return the coordinate of a line's first slot: negative in front of it are absent slots."""
    return Mux(head < 0, head, 0)
