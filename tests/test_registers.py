"""The registers that the host computes, compared with windows that are laid down one by one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lines import Line, random_dimensions, small_dimensions

from extremum.host.plan.registers import Schedule, dimension_registers, schedule, way_within
from extremum.model import SpatialDimension


def given_by(line):
    """Yield for each window the elements that it meets in its slot, by the number of the tap."""
    r = line.registers
    for place in line.places:
        shift = r.shift if place == r.final else 0
        yield {
            tap + shift: place - tap * r.dilation
            for tap in range(r.window - shift)
            if 0 <= place - tap * r.dilation < r.size
        }


def check(dimension, fixed_window=None):
    """Check the registers of a dimension; return the line that they describe."""
    line = Line.of(dimension, fixed_window=fixed_window)
    r, places = line.registers, line.places
    # The windows of a line come in order, each in a slot of its own within the line.
    assert all(a < b for a, b in itertools.pairwise(places)), dimension
    assert r.head <= places[0]
    assert places[-1] < r.head + r.period
    assert r.lead + r.size <= r.period
    # The core gives windows on the grid of strides up to `regular`, and one in `final`.
    coordinates = range(r.head, r.head + r.period)
    on_grid = [c for c in coordinates if (c - r.head) % r.stride == 0 and c <= r.regular]
    assert sorted({*on_grid, r.final}) == places, dimension
    # A tap of a window meets an element if and only if the element is in the window.
    last_tap = [r.head + number * r.stride for number in range(dimension.outputs)]
    for number, seen in enumerate(given_by(line)):
        assert set(seen.values()) == line.elements(number), dimension
        # The coordinate of the element follows from the number of the tap.
        assert all(last_tap[number] - tap * r.dilation == element for tap, element in seen.items())
    # A dilated window comes early by whole taps only, which may cost less than one dilation.
    least = least_period(line)
    assert least <= r.period < least + r.dilation, dimension
    return line


def least_period(line):
    """Return the length of the shortest possible line: try every slot for the last window."""
    r, outputs = line.registers, line.dimension.outputs
    last_tap = r.head + (outputs - 1) * r.stride
    periods = []
    for shift in range(r.window):
        final = last_tap - shift * r.dilation
        if shift and (outputs == 1 or final <= last_tap - r.stride or final + r.dilation < r.size):
            break  # the last window would not follow the one before it, or would lose an element
        periods.append(max(r.lead + r.size, final - r.head + 1))
    return min(periods)


@pytest.mark.parametrize("keeps_taps", [False, True])
def test_small_dimensions_exhaustively(keeps_taps):
    lines = [
        check(dimension, dimension.window if keeps_taps else None)
        for dimension in small_dimensions(6, 5, 5, 4, 5)
    ]
    assert len(lines) > 4000
    assert {line.registers.shift for line in lines} == {0, 1, 2, 3}
    smaller = [line for line in lines if line.registers.window < line.dimension.window]
    assert bool(smaller) != keeps_taps
    # A window whose number of taps is kept may be given behind the whole line of elements.
    assert any(line.begin >= line.registers.period for line in lines) == keeps_taps
    assert any(line.registers.head < 0 for line in lines)


def test_a_fixed_window_keeps_its_taps_and_no_more():
    """Also where more taps could be left out; it never leaves out what a window may need."""
    kept = 0
    for dimension in small_dimensions(4, 5, 4, 4, 9):
        least = check(dimension).registers.window
        for fixed in range(1, 6):
            window = check(dimension, fixed).registers.window
            assert window == min(max(fixed, least), dimension.window)
            kept += least < window < dimension.window
    assert kept


@pytest.mark.parametrize("keeps_taps", [False, True])
def test_a_core_without_padding_gives_every_window_that_fits(keeps_taps):
    """So a line has no padding if these are its windows, and none of them is given early."""
    last_alone = 0
    for dimension in small_dimensions(7, 4, 4, 4, 4):
        line = Line.of(dimension, fixed_window=dimension.window if keeps_taps else None)
        r = line.registers
        fit = list(range((r.window - 1) * r.dilation, r.size, r.stride))
        assert r.has_padding == (line.places != fit or r.shift > 0), dimension
        last_alone += line.places == fit[: len(line.places)] != fit
    assert bool(last_alone) != keeps_taps


@pytest.mark.parametrize("padding", [False, True])
def test_random_dimensions(padding):
    for dimension in random_dimensions(1000, 7, seed=1, padding=padding):
        line = check(dimension)
        assert padding or line.registers.period == dimension.size


@pytest.mark.parametrize(
    ("dimension", "period"),
    [
        # PyTorch's kernel 2, stride 2, padding 1: the last tap of every window meets an element.
        (SpatialDimension(28, 2, 2, start_padding=1, end_padding=1), 28),
        (SpatialDimension(4, 2, 2, start_padding=1, end_padding=1), 4),
        (SpatialDimension(3, 2, 2, start_padding=1, end_padding=1), 3),
        # I3D: 3 taps, stride 2, one element of padding at the end.
        (SpatialDimension(14, 3, 2, end_padding=1), 14),
        (SpatialDimension(4, 3, 2, end_padding=1), 4),
        (SpatialDimension(112, 3, 2, start_padding=1, end_padding=1), 112),
        (SpatialDimension(15, 3, 3, end_padding=2), 15),
        # With a stride of 1 and this padding, the windows need more slots than the elements.
        (SpatialDimension(28, 3, 1, start_padding=1, end_padding=1), 28),
        (SpatialDimension(28, 3, 1, start_padding=2, end_padding=2), 30),
    ],
)
def test_generous_padding_costs_no_slots(dimension, period):
    """Paddings of well-known layers need as many slots as the line has elements."""
    assert Line.of(dimension).registers.period == period


volumes = st.tuples(*[st.sampled_from(list(small_dimensions(4, 3, 4, 3, 3)))] * 3)


@given(volumes, st.tuples(*[st.integers(-9, 9)] * 3))
def test_steps_add_up_to_positions(dimensions, weights):
    """A running sum gives every position: the innermost dimension not at its end adds its step."""
    registers = dimension_registers(dimensions, weights)
    position, steps = 0, [r.position_step for r in registers]
    outputs = [dimension.outputs for dimension in dimensions]
    places = list(itertools.product(*map(range, outputs)))
    for place in places:
        want = sum(
            number * d.stride * weight
            for number, d, weight in zip(place, dimensions, weights, strict=True)
        )
        assert (position - want) % 2**32 == 0
        ends = [number == count - 1 for number, count in zip(place, outputs, strict=True)]
        if not all(ends):
            position += steps[max(axis for axis, end in enumerate(ends) if not end)]
    assert (position - way_within(dimensions, weights)) % 2**32 == 0
    for r, d, weight in zip(registers, dimensions, weights, strict=True):
        assert r.tap_step == -r.dilation * weight % 2**32
        assert r.dilation == (d.dilation if d.window > 1 else 1)


@given(volumes)
def test_spacing_is_the_way_back_to_a_tap_in_words(dimensions):
    """A stage stores what the stages within give: for each of its slots a line, or a plane."""
    registers = dimension_registers(dimensions, [1, 1, 1])
    words = 1
    for r, d in zip(registers[::-1], dimensions[::-1], strict=True):
        assert r.spacing == (r.dilation * words if r.window > 1 else 1)
        words *= d.outputs


@given(volumes, st.integers(1, 3))
def test_the_schedule_is_the_last_of_what_happens(dimensions, groups):
    """Compare with a walk over the slots of all elements and of all windows."""
    lines = [Line.of(dimension) for dimension in dimensions]
    elements, windows = list(range(groups)), list(range(groups))
    for line in lines:
        r = line.registers
        elements = [e * r.period + r.lead + i for e in elements for i in range(r.size)]
        windows = [w * r.period + r.lead + place for w in windows for place in line.places]
    assert elements == sorted(set(elements))
    assert windows == sorted(set(windows))
    spans = schedule([line.registers for line in lines], groups)
    assert spans == Schedule(elements[0], elements[-1], windows[-1])
    assert spans.slots == max(elements[-1], windows[-1]) + 1
    for latency in (0, 1, 30):
        first_beat, last_beat, last_result = elements[0], elements[-1], windows[-1] + latency
        assert spans.cycles(latency) == max(last_beat, last_result) - first_beat + 1
