"""The schedule of slots: where lines end, which slots hold elements, which windows are given."""

from __future__ import annotations

from functools import partial
from typing import Any

from amaranth.hdl import Cat, Mux, Signal, Value, signed

from extremum.hdl.config import CoreConfig
from extremum.hdl.input_schedule import InputSchedule
from extremum.hdl.output_schedule import OutputSchedule, latency
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.line import WIDTH, LineJob, help_line, lead
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property


def elements(config: CoreConfig, p: Property) -> None:
    """State which slots of a line hold elements, and which is its last."""
    block = InputSchedule(config, WIDTH)
    inside = p.add("line", block)
    own = LineJob(p, config, block, 1)
    begun, advance = own.job.begun, block.advance
    place = Signal(config.coordinate_width, name="place")
    is_last = place + 1 == own.period
    with p.m.If(advance.token):
        p.m.d.sync += place.eq(0)
    with p.m.Elif(advance.step):
        p.m.d.sync += place.eq(Mux(is_last, 0, place + 1))
    before = lead(own.head)
    present = (place >= before) & (place < before + own.size)
    p.claim("the last slot of a line is told", ~begun | (block.last == is_last))
    p.claim("the slots of the elements are told", ~begun | (block.present == present))
    p.reached("the last element of a line with padding on both sides",
              begun & present & (place == before + own.size - 1) & (before == 2)
              & (own.size == 2) & (own.period == 6))  # fmt: skip
    p.reached("the second line of a job", begun & p.before(block.last & advance.step
                                                           & ~advance.token))  # fmt: skip
    p.invariant("the place is in the line", ~begun | (place < own.period))
    help_line(p, inside, begun=begun, place=place, goals={
        "slot_end": own.period - 1, "begins": before, "ends": before + own.size,
    })  # fmt: skip
    (was_present,) = (s for s in inside.named("was_present"))
    earlier = (place > before) & (place <= before + own.size)
    p.invariant("an element was in the slot before", ~begun | (was_present == earlier))


def windows(config: CoreConfig, p: Property) -> None:
    """State in which slots windows are given, and which of their taps are elements."""
    block, clocks = OutputSchedule(config, WIDTH), latency(config)
    inside = p.add("line", block)
    own = LineJob(p, config, block, clocks + 2)
    begun, advance, head = own.job.begun, block.advance, own.head
    # With padding, a line of windows begins in the slot of its first window.
    begins: Any = head if config.padding else 0
    # The plain model: the coordinate of the slot at hand, that of the next window on the grid, and
    # whether the line is the job's first, which begins in the slot of coordinate 0.
    number = signed(config.coordinate_width + 3)
    coordinate, due = Signal(number, name="here"), Signal(number, name="due")
    is_last = coordinate + 1 == begins + own.period
    new_head = own.on_port["head"]
    with p.m.If(advance.token):
        p.m.d.sync += [coordinate.eq(Mux(new_head < 0, new_head, 0)), due.eq(new_head)]
    with p.m.Elif(advance.step):
        p.m.d.sync += [
            coordinate.eq(Mux(is_last, begins, coordinate + 1)),
            due.eq(Mux(is_last, head, Mux(coordinate == due, due + own.stride, due))),
        ]
    is_final = coordinate == own.final
    given, shift = coordinate == due, Value.cast(0)
    if config.padding:
        given = is_final | (given & (coordinate <= own.regular))
        shift = Mux(is_final, own.shift, 0)
    taps = []
    for tap in range(block.taps):
        place = coordinate - tap * own.dilation
        taps.append((tap < own.window - shift) & (place >= 0) & (place < own.size))

    def later(value: Value, more: int) -> Value:
        return p.late(value, clocks + more)

    p.claim("the last slot of a line is told", ~begun | (block.last == is_last))
    p.claim("windows are given where they are due",
            ~later(begun, 0) | (block.emit == later(given, 0)))  # fmt: skip
    p.claim("the last window of a line is told",
            ~later(begun, 0) | (block.final == later(is_final, 0)))  # fmt: skip
    p.claim("taps are present where there are elements",
            ~later(begun & given, 1) | (block.present == later(Cat(taps), 1)))  # fmt: skip
    p.claim("the taps that an early window lacks",
            ~later(begun & given, 1) | (block.shift == later(shift, 1)))  # fmt: skip
    if config.padding:
        p.reached("an early window of a line with padding on both sides",
                  later(begun & is_final & (shift == 1) & (head == 1) & (own.size == 4)
                        & (own.window == 3), 1))  # fmt: skip
    second = p.before(is_last & advance.step & ~advance.token & begun)
    p.reached("the second line of a job, of two taps or more",
              later(second & (own.window > 1) & (own.stride == 2), 1))  # fmt: skip
    place, is_first = Signal(config.coordinate_width, name="place"), Signal(name="in_first")
    with p.m.If(advance.token):
        p.m.d.sync += [place.eq(0), is_first.eq(1)]
    with p.m.Elif(advance.step):
        p.m.d.sync += [place.eq(Mux(is_last, 0, place + 1)), is_first.eq(is_first & ~is_last)]
    start = Mux(is_first & (head >= 0), 0, begins)
    p.invariant("the place is the way from the line's start",
                ~begun | (coordinate == start + place))  # fmt: skip
    p.invariant("the slot is in the line", ~begun | (coordinate < begins + own.period))
    p.invariant("the slot is not in front of the line", ~begun | (coordinate >= start))
    p.invariant("no window is missed", ~begun | (due >= coordinate))
    p.invariant("a window is due soon",
                ~begun | Mux(coordinate > head, due < coordinate + own.stride,
                             due == head))  # fmt: skip
    p.invariant("the slots of the line", ~begun | (inside.signal("slot_place") == place))
    if config.padding:
        help_line(p, inside, begun=begun, place=place, goals={"slot_end": own.period - 1},
                  in_first=is_first, head=head)  # fmt: skip
        p.invariant("the start", ~begun | (inside.signal("base") == start))
        p.invariant("the restart", ~begun | (inside.signal("restart") == head))
    else:
        goals = {"slot_end": own.period - 1, "is_final": own.final}
        help_line(p, inside, begun=begun, place=place, goals=goals)
        p.invariant("the window", ~begun | (inside.signal("window") == own.window))
        begins_due = p.late(head == 0, 1)
        p.invariant("a line begins with a window",
                    ~p.late(begun, 1) | (inside.signal("begins_due") == begins_due))  # fmt: skip
    _help_due(p, inside, own, place=place, coordinate=coordinate, due=due)
    if config.padding:
        _help_registers(p, inside, own, {"final": block.final, "shift": block.shift})


def _help_due(
    p: Property, inside: Inside, own: LineJob, *, place: Value, coordinate: Value, due: Value
) -> None:
    """State what the counter from window to window holds, a clock later."""
    begun = p.late(own.job.begun, 1)
    is_from_first = coordinate <= own.head
    way = Mux(is_from_first, place + 1, coordinate - due + own.stride)
    number, following, is_first = (
        inside.signal(f"phase_{name}") for name in ("number", "next", "first")
    )
    bits = len(number)
    goal = Mux(is_from_first, own.head, own.stride - 1)
    for label, register, value in (
        ("a window is due", inside.signal("due"), coordinate == due),
        ("the way is from the line's start", inside.signal("from_first"), is_from_first),
        ("the way", number, way[:bits]),
        ("the way to come", following, (way + 1)[:bits]),
        ("the way is one slot", is_first, way == 1),
        ("the stride", inside.signal("stride"), own.stride - 1),
        ("the head", inside.signal("head"), own.head),
        ("the head is 1", inside.signal("head_is_one"), own.head == 1),
        ("windows in all slots", inside.signal("is_dense"), own.stride == 1),
        ("windows in every other slot", inside.signal("stride_is_two"), own.stride == 2),
    ):
        p.invariant(label, ~begun | (register == p.late(value, 1)))
    (met,) = inside.named("phase_met")
    p.invariant("the way is met",
                ~begun | is_first | (met.all() == p.late(way == goal, 1)))  # fmt: skip


def _help_registers(p: Property, inside: Inside, own: LineJob, outputs: dict[str, Signal]) -> None:
    """State that the registers that are copied later are those of the job.

    ``outputs`` are ports that are called as a register.
    """
    taps = range(len(inside.signal("usual_taps")))
    usual, early = (
        Cat(count > tap for tap in taps) for count in (own.window, own.window - own.shift)
    )
    for name, clocks, value in (
        ("final", 2, own.final), ("regular", 2, own.regular), ("shift", 3, own.shift),
        ("usual_taps", 3, usual), ("early_taps", 3, early),
        ("last_element", 2, own.size - 1), ("size", 3, own.size - 1),
        ("dilation", 2, own.dilation),
    ):  # fmt: skip
        for register in inside.named(name):
            if register is not outputs.get(name):
                is_own = register == p.late(value, clocks)
                p.invariant(f"the register {name}", ~p.late(own.job.begun, clocks) | is_own)


INPUTS, SCHEDULE = "extremum.hdl.input_schedule", "extremum.hdl.output_schedule"
GRID = "extremum.hdl.stride_grid"
EARLY_END = Fault("the elements end a slot early", INPUTS, "lead + size + 1", "lead + size")
LINE_END = Fault("an element is carried over to the next line", INPUTS,
                 "~advance.begin & ~line.last", "~advance.begin")  # fmt: skip
TWO = Fault("windows in every other slot are given in every third", GRID,
            "lambda less_one: less_one == 1", "lambda less_one: less_one == 2")  # fmt: skip
BEYOND = Fault("windows are given beyond the last one on the grid", SCHEDULE,
               "due.at(compared) & fits", "due.at(compared)")  # fmt: skip
FIRST_LINE = Fault("the job's first line is as long as the others", SCHEDULE,
                   "lambda period, more: period + more", "lambda period, more: period")  # fmt: skip
LAST_TAP = Fault("the last element of a line is taken for padding", SCHEDULE,
                 "(beyond <= tap)", "(beyond < tap)")  # fmt: skip
EARLY = Fault("an early window has all of its taps", SCHEDULE,
              "Mux(is_final.value, early, usual)", "usual")  # fmt: skip
DILATION = Fault("neighbouring taps are one element apart", SCHEDULE,
                 "here - dilation * tap", "here - tap")  # fmt: skip


def _config(bits: int, dilation: int = 1, *, padding: bool = True) -> CoreConfig:
    return CoreConfig(
        (DataType.UINT8,), max_window=(1, 1, 3), max_dilation=(1, 1, dilation),
        coordinate_width=bits, index_width=8, operators=("max-pool",), padding=padding,
    )  # fmt: skip


def _elements(bits: int, *faults: Fault, quick: bool = False) -> Proof:
    return Proof(
        f"schedule-elements-{bits}", "hdl/input_schedule.py",
        f"For all sizes, paddings and periods of {bits} bits that follow the rules of a job, for "
        "any number of lines and jobs, with pauses: the slots that hold an element, and the last "
        "slot of each line, are those of a plain count.",
        partial(elements, _config(bits)), depth=5, search=20, faults=faults, quick=quick,
    )  # fmt: skip


def _windows(
    name: str, bits: int, *faults: Fault, dilation: int = 1, padding: bool = True
) -> Proof:
    kind = "with any dilation" if dilation > 1 else "without dilation"
    kind += " and with padding" if padding else ", without padding"
    return Proof(
        f"schedule-windows-{name}", "hdl/output_schedule.py",
        f"For windows of up to 3 taps {kind}, and all registers of {bits} bits that follow the "
        "rules of a job, for any number of lines and jobs, with pauses: a window is given in each "
        "slot on the grid of strides, and in that of the last window; its taps are those that lie "
        "on elements; the last window of a line and the last slot of a line are told.",
        partial(windows, _config(bits, dilation, padding=padding)), depth=5, search=16,
        faults=faults,
    )  # fmt: skip


PROOFS = (
    _elements(4, EARLY_END, LINE_END, quick=True),
    _elements(16, EARLY_END),
    _windows("4", 4, TWO, BEYOND, FIRST_LINE, LAST_TAP, EARLY),
    _windows("16", 16, LAST_TAP),
    _windows("dilation", 8, DILATION, dilation=4),
    _windows("unpadded", 8, TWO, dilation=4, padding=False),
)
