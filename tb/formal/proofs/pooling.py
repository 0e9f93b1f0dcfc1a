"""Whole cores with windows: of any small geometry, every result is what its window defines."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value, signed

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.hdl.register_table import is_less_one
from extremum.hdl.registers import job_shapes
from extremum.model import DataType, SpatialDimension
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.geometry import Line, Range, kept, pooling_registers
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property

BITS = 2
"""Bits of an element that are not 0: enough for elements to be better, equal and worse."""

NUMBER = signed(9)
"""The shape of positions and coordinates in the model."""


@dataclass(frozen=True)
class Jobs:
    """The jobs that are looked at.

    Parameters
    ----------
    config
        The core.
    heights, widths
        The geometries of the two dimensions.
    planes
        The largest number of planes.
    stalls
        Whether either stream may stall.
    two
        Whether another job comes before or behind the one that is looked at: one of any of these
        geometries, with one plane.
    """

    config: CoreConfig
    heights: list[SpatialDimension]
    widths: list[SpatialDimension]
    planes: int
    stalls: bool
    two: bool = False


class _Window:
    """The window of any one result of a job, and any one of its taps.

    Attributes
    ----------
    plane, number
        The result's plane, and its number among all results of the job.
    results_of_plane, results, elements
        How many results a plane has, and how many results and elements the job has.
    is_element, position
        Whether the tap meets an element, and the position of that.
    taps
        For each tap of the widest window that there is: whether this window has it and it meets an
        element, and the position of that.
    """

    def __init__(self, p: Property, jobs: Jobs, height: Line, width: Line, planes: Signal):
        m = p.m
        plane_size = kept(m, "plane_size", height.size * width.size, 5)
        self.results_of_plane = kept(m, "plane_outputs", height.outputs * width.outputs, 5)
        self.results = kept(m, "results", planes * self.results_of_plane, 9)
        self.elements = planes * plane_size
        plane, row, column, tap_row, tap_column = (
            p.constant(name, 3) for name in ("plane", "row", "column", "tap_row", "tap_column")
        )
        for place, most in (
            (plane, planes), (row, height.outputs), (column, width.outputs),
            (tap_row, height.window), (tap_column, width.window),
        ):  # fmt: skip
            p.assume(place < most)
        self.plane = plane
        number = plane * self.results_of_plane + row * width.outputs + column
        self.number = kept(m, "number", number, 9)

        def position(y: Value, x: Value) -> Value:
            return plane * plane_size + y * width.size + x

        y = kept(m, "y", height.coordinate(row, tap_row), NUMBER)
        x = kept(m, "x", width.coordinate(column, tap_column), NUMBER)
        self.is_element = kept(m, "is_element", height.has(y) & width.has(x), 1)
        self.position = kept(m, "position", position(y, x), NUMBER)
        self.taps: list[tuple[Value, Value]] = []
        most_rows, most_columns = (
            max(size.window for size in sizes) for sizes in (jobs.heights, jobs.widths)
        )
        for at_row, at_column in itertools.product(range(most_rows), range(most_columns)):
            name = f"{at_row}_{at_column}"
            y, x = height.coordinate(row, at_row), width.coordinate(column, at_column)
            at = kept(m, f"at_{name}", position(y, x), NUMBER)
            is_tap = (at_row < height.window) & (at_column < width.window)
            has = kept(m, f"has_{name}", is_tap & height.has(y) & width.has(x), 1)
            self.taps.append((has, at))


def pooling(jobs: Jobs, clocks: int, p: Property) -> None:
    """State what the results of a job are, by any one of them and any one tap of its window.

    The proof looks at so many clocks. Without stalls, all results have come before the last one.
    """
    block, m = Core(jobs.config), p.m
    p.add("core", block, driven=("job", "i"))
    p.never_reset()
    height, width = _any_lines(p, jobs, "")
    planes = p.constant("planes", range(jobs.planes + 1))
    p.assume((planes >= 1) & (planes <= jobs.planes))
    window = _Window(p, jobs, height, width, planes)
    order = [pooling_registers(height, width, planes)]
    other = _Other(Const(0), Const(0), Const(0), Const(0))
    if jobs.two:
        order, other = _two(p, jobs, order[0])
    _drive_jobs(p, block, jobs.config, order)
    element = p.input("element", BITS)
    m.d.comb += [
        Value.cast(block.i.payload).eq(element),
        block.i.valid.eq(p.input("element_here") if jobs.stalls else 1),
    ]
    if not jobs.stalls:
        p.assume(block.o.ready)
    taken = _counter(p, "taken", block.i.valid & block.i.ready)
    given = _counter(p, "given", block.o.valid & block.o.ready)

    # The element that the tap meets is the rival of all that may be the result.
    seen, rival = Signal(name="seen"), Signal(BITS, name="rival")
    place = window.position.as_unsigned() + other.elements_before
    comes = block.i.valid & block.i.ready & (taken == place)
    with m.If(comes & window.is_element):
        m.d.sync += [seen.eq(1), rival.eq(element)]

    out = block.o.payload
    value, index = Value.cast(out.value[0]), Value.cast(out.index[0])
    here = block.o.valid & (given == window.number + other.results_before)
    rivals = here & window.is_element

    def is_named(position: Value) -> Value:
        return index == position.as_unsigned()[: len(index)]

    own = rivals & is_named(window.position)
    p.claim("no element of the window is better", ~rivals | (value >= rival))
    p.claim("it is the first of equals", ~rivals | (value != rival) | (index <= window.position))
    p.claim("the value is the element at its position", ~own | (value == rival))
    is_empty = ~Cat(has for has, _ in window.taps).any()
    named = Cat(has & is_named(at) for has, at in window.taps).any()
    p.claim("the position is one of the window's", ~here | is_empty | named)
    lowest = (value == 0) & index.all()
    p.claim("an empty window has the lowest value and all ones", ~here | ~is_empty | lowest)
    p.claim("its elements have been taken", ~rivals | seen)
    is_last = window.number + 1 == window.results
    p.claim("last marks the last result", ~here | (out.last == is_last))
    results, elements = window.results + other.results, window.elements + other.elements
    p.claim("there is no result beyond the last", ~block.o.valid | (given < results))
    p.claim("no element is taken beyond the last", ~block.i.ready | (taken < elements))
    if not jobs.stalls:
        is_last_clock = p.age(clocks - 1) == clocks - 1
        p.claim("all results have been given", ~is_last_clock | (given == results))
        p.claim("all elements have been taken", ~is_last_clock | (taken == elements))

    tie = rivals & (value == rival) & (value == 3) & (index < window.position)
    p.reached("the first of equal elements wins", tie)
    ends = here & out.last
    later = ends & (window.number > 0)
    p.reached("the last of several results", later)
    if len(jobs.widths) > 1 and jobs.config.padding:
        p.reached("an empty window", here & is_empty)
        p.reached("the last window, given early", later & (width.registers["shift"] > 0))
    if jobs.planes > 1:
        second = (window.plane == 1) & (window.number == window.results_of_plane)
        p.reached("the first result of the second plane", here & second)
    if jobs.two:
        differs = window.results != other.results
        p.reached("the first result of the first job, of another geometry",
                  here & differs & (window.number == 0) & (other.results_before == 0))  # fmt: skip
        p.reached("the last result of the second job, of another geometry",
                  later & differs & (other.results_before > 0))  # fmt: skip
    if jobs.stalls:
        p.reached("the last result waits", ends & p.late(ends, 3))


def _counter(p: Property, name: str, step: Value) -> Signal:
    count = Signal(9, name=name)
    p.m.d.sync += count.eq(count + step)
    p.shown.append(name)
    return count


@dataclass(frozen=True)
class _Other:
    """Elements and results of the other job, and those of them that come before."""

    elements: Value
    results: Value
    elements_before: Value
    results_before: Value


def _two(p: Property, jobs: Jobs, own: dict[str, Value]) -> tuple[list[dict[str, Value]], _Other]:
    """Return the registers of two jobs in any order, and what the other one has.

    ``own`` are the registers of the job that is looked at.
    """
    height, width = _any_lines(p, jobs, "other_")
    others = pooling_registers(height, width, Const(1))
    is_second = p.constant("is_second")
    order = [{name: Mux(is_second == n, own[name], others[name]) for name in own} for n in range(2)]
    elements = kept(p.m, "other_elements", height.size * width.size, 5)
    results = kept(p.m, "other_results", height.outputs * width.outputs, 5)
    before = (Mux(is_second, count, 0) for count in (elements, results))
    return order, _Other(elements, results, *before)


def _any_lines(p: Property, jobs: Jobs, prefix: str) -> tuple[Line, Line]:
    """Return the two dimensions of any job."""
    height = Line.any(p, f"{prefix}height", jobs.heights)
    return height, Line.any(p, f"{prefix}width", jobs.widths)


def _drive_jobs(
    p: Property, block: Core, config: CoreConfig, order: list[dict[str, Value]]
) -> None:
    """Offer some jobs one after the other, from the first clock on."""
    job, number = block.job, Signal(range(len(order) + 1), name="jobs_given")
    p.m.d.sync += number.eq(number + (job.valid & job.ready))
    p.m.d.comb += job.valid.eq(number != len(order))
    for name in job_shapes(config):
        values = Array(registers[name] - int(is_less_one(name)) for registers in order)
        p.m.d.comb += job.payload[name.replace(".", "_")].eq(values[number])


def _core(window: tuple[int, int, int], dilation: int) -> CoreConfig:
    return CoreConfig(
        (DataType.UINT8,), max_window=window, max_dilation=(1, 1, dilation), max_line=4,
        coordinate_width=4, index_width=8, operators=("max-pool",),
    )  # fmt: skip


def _short(size: Range, slots: int) -> list[SpatialDimension]:
    """Return the geometries whose lines take few slots."""
    dimensions = size.dimensions()
    return [one for one in dimensions if Line.of(one).registers["period"] <= slots]


ALONE = [SpatialDimension(1, 1)]
TIGHT, SHORT = (
    _short(Range(size=2, window=2, stride=2, dilation=1, padding=1), slots) for slots in (2, 3)
)
DILATED = _short(Range(size=3, window=3, stride=2, dilation=2, padding=1), 4)
BEFORE = [SpatialDimension(2, 2, start_padding=1)]
BARE_SHORT, BARE = (
    Range(size, window=2, stride=2, dilation=1, padding=0).dimensions() for size in (2, 3)
)

CORE, LONG = _core((1, 2, 2), 1), _core((1, 1, 3), 2)
SMALL, SMALL_LONG = (replace(core, pipelining="small") for core in (CORE, LONG))
PLANE_JOBS = replace(CORE, padding=False, fixed=(("groups", 1),))
"""A core whose jobs are one plane without padding, and end with it."""
BALANCED, BALANCED_LONG = (replace(core, pipelining="balanced") for core in (CORE, LONG))

BACK = Fault("the next line is reached by the step to the next window", "extremum.hdl.position",
             "[Mux(final, outer, step) for",
             "[step for")  # fmt: skip
SHIFT = Fault("the taps that an early window lacks are not counted", "extremum.hdl.sliding_window",
              "shifted = number + self.o.control[f\"shift_{self.name}\"]",
              "shifted = number")  # fmt: skip
DONE = Fault("the last result of each plane is marked as the job's last",
             "extremum.hdl.window_schedule",
             "self.done.eq(groups.last & closing.at(clock))",
             "self.done.eq(closing.at(clock))")  # fmt: skip
DEEP = Fault("the queue's output goes on while the sink waits", "extremum.hdl.queue",
             "output_free = ~self.valid | self.ready",
             "output_free = ~self.valid | self.ready | both")  # fmt: skip

NO_STOP = Fault("the pipeline moves on while a beat waits to leave", "extremum.hdl.core",
                "go.eq(~self.o.valid | self.o.ready)", "go.eq(1)")  # fmt: skip
FLUSH = Fault("the slots behind the last plane need beats", "extremum.hdl.slots",
              "Cat(present).all() & ~flushing)", "Cat(present).all())")  # fmt: skip
AGAIN = Fault("every line of windows begins as the first", "extremum.hdl.output_schedule",
              "again=head,",
              "again=precomputed(m, parameters, least_coordinate, head),")  # fmt: skip

LOST = Fault("the job's last result is lost if its window is empty", "extremum.hdl.packer",
             "given = valid & Timed(m, full, early).at(0)",
             "given = valid & Timed(m, full, early).at(0) & ~(done & self.results[0].index.all())",
             )  # fmt: skip
LAST_SLOT = Fault("the job's last slot never enters the pipeline", "extremum.hdl.slots",
                  "waiting.write.eq(Timed(m, slot).at(wanted.clock))",
                  "waiting.write.eq(Timed(m, slot & ~counted).at(wanted.clock))")  # fmt: skip
UNUSED = Fault("elements behind the last window are left on the stream",
               "extremum.hdl.input_schedule",
               "self.present.eq(inside(walk.coordinate, size_less_one)),",
               "self.present.eq(inside(walk.coordinate, size_less_one) & (walk.coordinate <= "
               "register(self.config, self.job, f'{DIMENSIONS[self.axis]}.final'))),")  # fmt: skip

KEEPS = Fault("a job keeps the shift of the job before it", "extremum.hdl.shadow",
              "with m.If(enable):",
              "with m.If(enable & ((name != 'shift') | (register == 0))):")  # fmt: skip
GOES_ON = Fault("the first line of a job goes on where the job before has ended",
                "extremum.hdl.line",
                "with m.If(advance.token):",
                "with m.If(advance.token & (self.coordinate == 0)):")  # fmt: skip

BEGINS = Fault("the lines do not begin anew while no job is under way", "extremum.hdl.job_kinds",
               "restart=~late_slot", "restart=Const(0, 1)")  # fmt: skip
ENDS = Fault("a slot enters behind the last one of a plane", "extremum.hdl.job_kinds",
             "valid = port.offered | (active & ~final)",
             "valid = port.offered | active")  # fmt: skip

RESULTS = (
    "no element of a window is better than its result, which is the first of equals; the value is "
    "that of the element at the position given; an empty window has the lowest value and all ones; "
    "no more elements are taken and no more results given than there are; last marks the last."
)


def _proof(
    name: str, what: str, jobs: Jobs, depth: int, *faults: Fault, quick: bool = False
) -> Proof:
    come = f" All elements are taken and all results given within {depth - 1} clocks."
    return Proof(
        f"pooling-{name}", "hdl/core.py",
        f"In a whole core, with the registers that the host computes, for {what}, of elements of "
        f"{BITS} bits: {RESULTS}{'' if jobs.stalls else come}",
        partial(pooling, jobs, depth), depth=depth, search=depth, faults=faults, bounded=True,
        quick=quick,
    )  # fmt: skip


PROOFS = (
    _proof("planes", "a plane of any geometry of up to 2 by 2 elements, windows of 2 by 2, strides "
           "of 2 and paddings of 1 whose lines take up to 3 slots, without stalls",
           Jobs(CORE, SHORT, SHORT, planes=1, stalls=False), 38, BACK),
    _proof("groups", "one or two planes of one line each, of up to 2 elements, windows of 2, "
           "strides of 2 and paddings of 1 in up to 3 slots, without stalls",
           Jobs(CORE, ALONE, SHORT, planes=2, stalls=False), 36, DONE, LAST_SLOT),
    _proof("lines", "a line of up to 3 elements, windows of 3, strides and dilations of 2 and "
           "paddings of 1 in up to 4 slots, without stalls",
           Jobs(LONG, ALONE, DILATED, planes=1, stalls=False), 34, SHIFT, LOST),
    _proof("stalls", "a plane of 2 by 2 elements with windows of 2 by 2 and a padding of 1 before "
           "them, whenever either stream stalls",
           Jobs(CORE, BEFORE, BEFORE, planes=1, stalls=True), 36, DEEP),
    _proof("planes-small", "the geometries of `pooling-planes`, in a small core",
           Jobs(SMALL, SHORT, SHORT, planes=1, stalls=False), 24, FLUSH, AGAIN),
    _proof("groups-small", "the geometries of `pooling-groups`, in a small core",
           Jobs(SMALL, ALONE, SHORT, planes=2, stalls=False), 22, DONE, LOST, quick=True),
    _proof("lines-small", "the geometries of `pooling-lines`, in a small core",
           Jobs(SMALL_LONG, ALONE, DILATED, planes=1, stalls=False), 20, SHIFT, UNUSED),
    _proof("stalls-small", "the geometries of `pooling-stalls`, in a small core, whenever either "
           "stream stalls", Jobs(SMALL, BEFORE, BEFORE, planes=1, stalls=True), 18, NO_STOP),
    _proof("planes-balanced", "the geometries of `pooling-planes`, in a balanced core",
           Jobs(BALANCED, SHORT, SHORT, planes=1, stalls=False), 26, FLUSH, AGAIN),
    _proof("groups-balanced", "the geometries of `pooling-groups`, in a balanced core",
           Jobs(BALANCED, ALONE, SHORT, planes=2, stalls=False), 24, DONE, LOST, quick=True),
    _proof("lines-balanced", "the geometries of `pooling-lines`, in a balanced core",
           Jobs(BALANCED_LONG, ALONE, DILATED, planes=1, stalls=False), 23, SHIFT, UNUSED),
    _proof("stalls-balanced", "the geometries of `pooling-stalls`, in a balanced core, whenever "
           "either stream stalls",
           Jobs(BALANCED, BEFORE, BEFORE, planes=1, stalls=True), 20, NO_STOP),
    _proof("two-jobs", "two jobs of one plane, one behind the other, each of any line of up to 2 "
           "elements with windows of 2, strides of 2 and paddings of 1 in up to 2 slots, without "
           "stalls", Jobs(CORE, ALONE, TIGHT, planes=1, stalls=False, two=True), 54, KEEPS),
    _proof("two-jobs-small", "two jobs of one plane, one behind the other, each of any geometry of "
           "`pooling-groups`, in a small core",
           Jobs(SMALL, ALONE, SHORT, planes=1, stalls=False, two=True), 22, GOES_ON),
    _proof("plane-jobs", "a plane without padding, of any geometry of up to 3 by 3 elements, "
           "windows of 2 by 2 and strides of 2, in a core whose jobs are one such plane, without "
           "stalls",
           Jobs(PLANE_JOBS, BARE, BARE, planes=1, stalls=False), 36, BEGINS),
    _proof("two-plane-jobs", "two planes without padding, one behind the other, each of any "
           "geometry of up to 2 by 2 elements, windows of 2 by 2 and strides of 2, in a core whose "
           "jobs are one such plane, without stalls",
           Jobs(PLANE_JOBS, BARE_SHORT, BARE_SHORT, planes=1, stalls=False, two=True), 40, ENDS),
)  # fmt: skip
