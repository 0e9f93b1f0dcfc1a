"""The schedules of a line: its elements and its windows, against windows laid down one by one."""

import random
from dataclasses import replace

import pytest
from amounts import mostly_slow
from gateware import advance, bits, watch
from lines import Line, random_dimensions, small_dimensions
from stimulus import Job, stimulus

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.input_schedule import InputSchedule
from extremum.hdl.job import JobRegisters
from extremum.hdl.output_schedule import OutputSchedule, latency
from extremum.model import DataType, SpatialDimension

CONFIG = CoreConfig(max_window=(3, 4, 5), max_dilation=(4, 4, 62), coordinate_width=6)
NEAR = replace(CONFIG, max_dilation=(1, 1, 1))
"""A core without dilation, which finds out in another way which taps are elements."""

INSIDE = CoreConfig(
    (DataType.INT8,), max_window=(1, 4, 5), max_dilation=(1, 4, 4), coordinate_width=6,
    operators=("max-pool",), padding=False,
)  # fmt: skip
"""A core without padding, whose windows all lie inside of the tensor."""

EARLY = 3
"""Clocks that a job is on the port before its token."""

MOST_SLOTS = 90
"""Slots after which a job ends, even in the middle of a line."""


def job_of(line, config, axis=2):
    return JobRegisters(**{DIMENSIONS[axis]: line.registers}).to_bits(config)  # pyright: ignore


def walk(schedule, lines, rng, gaps, outputs):
    """Give a schedule a job for each line, of about three passes over the line.

    Returns for each clock the line with the number of the slot at hand, and the noted outputs.
    """
    config, axis = schedule.config, schedule.axis
    jobs = [
        Job(
            {"job": job_of(line, config, axis)},
            [{}] * min(line.begin + 3 * line.registers.period, MOST_SLOTS),
        )
        for line in lines
    ]
    late = latency(config)
    # The registers stay on the port until the token has left the schedule.
    laid = stimulus(
        schedule, jobs, rng, early=EARLY, stay=late, gaps=gaps, after=late + 2, valid="slot"
    )
    clocks = [advance(clock, rng) for clock in laid.clocks]
    at_hand = [hand and (lines[hand[0]], hand[1]) for hand in laid.at_hand]
    return at_hand, watch(schedule, clocks, outputs)


def check_output(lines, config, rng, gaps, axis=2):
    """Compare in which slots windows are given, which taps are elements, and where lines end."""
    schedule = OutputSchedule(config, axis)
    late = latency(config)
    names = ("emit", "final", "present", "shift")
    outputs = {name: bits(getattr(schedule, name)) for name in names}
    slots, seen = walk(schedule, lines, rng, gaps, outputs | {"last": schedule.last})
    given = 0
    for clock, place in enumerate(slots):
        if place is None:
            continue
        line, slot = place
        number, last = line.window_in(slot)
        assert seen[clock]["last"] == last, place
        found = seen[clock + late]
        found |= {name: seen[clock + late + 1][name] for name in ("present", "shift")}
        assert found["emit"] == (number is not None), place
        if number is None:
            continue
        given += 1
        assert found["final"] == (number == line.dimension.outputs - 1), place
        check_taps(line, slot, number, found, config)
    assert given


def check_taps(line, slot, number, found, config):
    """Each tap that is present is the right element, and no element of the window is missing."""
    r, coordinate = line.registers, line.coordinate(slot)
    present = [tap for tap in range(found["present"].bit_length()) if found["present"] >> tap & 1]
    elements = {coordinate - tap * r.dilation for tap in present}
    assert elements == line.elements(number), (line, slot)
    assert found["shift"] in (0, r.shift)
    last_tap = r.head + number * r.stride
    if present and config.padding:
        assert found["shift"] * r.dilation == last_tap - coordinate, (line, slot)


def check_input(lines, config, rng, gaps, axis=2):
    """Compare which slots hold an element, and where lines end."""
    schedule = InputSchedule(config, axis)
    outputs = {"present": schedule.present, "last": schedule.last}
    slots, seen = walk(schedule, lines, rng, gaps, outputs)
    for place, clock in zip(slots, seen, strict=True):
        if place is not None:
            line, slot = place
            element, last = line.element_in(slot)
            assert (clock["present"], clock["last"]) == (element is not None, last), place


CHECKS = [check_output, check_input]


@pytest.mark.parametrize(
    ("check", "config"), [(check_output, CONFIG), (check_output, NEAR), (check_input, CONFIG)]
)
def test_small_lines_exhaustively(check, config):
    rng = random.Random(1)
    dilations = 2 if config is NEAR else 3
    lines = [
        Line.of(dimension, fixed_window=fixed_window)
        for dimension in small_dimensions(4, 4, 4, dilations, 4)
        for fixed_window in (None, dimension.window)
        if not fixed_window or dimension.end_padding >= dimension.size
    ]
    assert any(line.begin >= line.registers.period for line in lines)
    assert any(line.registers.lead for line in lines)
    assert any(line.registers.shift for line in lines)
    rng.shuffle(lines)
    check(lines, config, rng, 0)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("gaps", mostly_slow([0, 0.3, 0.8], [0.3]))
def test_random_lines(check, gaps):
    """Some of the lines have more slots than they need, which a job may ask for."""
    rng = random.Random(2)
    lines = [
        Line.of(dimension).longer(rng.choice((0, 0, 0, 1, 3)))
        for dimension in random_dimensions(60, CONFIG.max_window[2], seed=int(10 * gaps))
    ]
    check(lines, CONFIG, rng, gaps)
    if check is check_output:
        near = [line for line in lines if line.dimension.dilation == 1]
        check(near, NEAR, rng, gaps)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("axis", range(3))
def test_every_axis(check, axis):
    rng = random.Random(axis)
    lines = [Line.of(d) for d in random_dimensions(40, CONFIG.max_window[axis], seed=axis)]
    check(lines, CONFIG, rng, 0.2, axis)
    schedule = OutputSchedule(CONFIG, axis)
    assert len(bits(schedule.present)) == CONFIG.max_window[axis]
    watch(schedule, [{"advance.step": 0}], {"emit": schedule.emit})


@pytest.mark.parametrize("check", CHECKS)
def test_longest_lines(check):
    """The counters reach the ends of their ranges."""
    most = (1 << CONFIG.coordinate_width) - 1
    dimensions = [
        SpatialDimension(most - 4, 5),
        SpatialDimension(most, 1, stride=most),
        SpatialDimension(most - 1, 2, stride=2, end_padding=1),
        SpatialDimension(1, 2, dilation=most - 1, start_padding=most - 1),
        SpatialDimension(1, 2, dilation=most - 1, end_padding=most - 1),
        SpatialDimension(1, 1, start_padding=most - 1),
        SpatialDimension(1, 1, end_padding=most - 1),
    ]
    rng = random.Random(3)
    check([Line.of(d) for d in dimensions for _ in range(2)], CONFIG, rng, 0)


@pytest.mark.parametrize("gaps", [0, 0.3])
def test_lines_without_padding(gaps):
    """In such a core every window on the grid of strides is given, up to the end of the line."""
    rng = random.Random(4)
    small = [d for d in small_dimensions(8, 5, 5, 4, 1) if d.window * d.dilation < 20]
    dimensions = [*small, *random_dimensions(60, 5, seed=5, padding=False)]
    lines = [Line.of(d, within=True) for d in dimensions]
    rng.shuffle(lines)
    check_output(lines, INSIDE, rng, gaps)


def fixed(axis, **registers):
    return tuple((f"{axis}.{name}", value) for name, value in registers.items())


@pytest.mark.parametrize("padding", [False, True])
@pytest.mark.parametrize(
    ("taps", "stride"), mostly_slow([(2, 2), (2, 1), (3, 1), (3, 2), (1, 2)], [(3, 2)])
)
def test_a_fixed_window(taps, stride, padding):
    """Window, stride, dilation and head are constants; sizes and end paddings vary."""
    config = replace(
        INSIDE,
        padding=padding,
        fixed=fixed("width", window=taps, stride=stride, dilation=1, head=taps - 1),
    )
    rng = random.Random(f"{taps} {stride}")
    lines = [
        Line.of(SpatialDimension(size, taps, stride, 1, 0, end), within=not padding)
        for size in range(taps, 24)
        for end in (range(3) if padding else (0,))
    ]
    lines = [line for line in lines if line.registers.head == taps - 1]
    rng.shuffle(lines)
    check_output(lines, config, rng, 0)
    check_output(lines, config, rng, 0.4)
    check_input(lines, config, rng, 0.4)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    ("taps", "padding"), mostly_slow([(3, 1), (2, 1), (2, 3), (1, 2)], [(2, 1), (2, 3)])
)
def test_a_fixed_head(check, taps, padding):
    """The head is a constant of 1, of 0, or a negative one."""
    head = taps - 1 - padding
    config = replace(CONFIG, fixed=fixed("width", window=taps, dilation=1, head=head))
    rng = random.Random(padding)
    lines = [
        Line.of(SpatialDimension(size, taps, stride, 1, padding, end))
        for size in range(1, 12)
        for end in range(3)
        for stride in (1, 2, 3)
        if taps <= size + padding + end
    ]
    rng.shuffle(lines)
    check([line for line in lines if line.registers.head == head], config, rng, 0.2)
