"""The slot schedules, against the formula of each slot on its own."""

import itertools
import random
from typing import Any

import pytest
from gateware import bits, pack, watch

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import AXES, DimensionRegisters, dimension_layout
from extremum.hdl.schedule import InputSchedule, OutputSchedule
from extremum.host.registers import dimension_registers
from extremum.model import SpatialDimension

CONFIG = CoreConfig(max_window=(3, 4, 5), coordinate_width=6)


def small_dimensions(most=4):
    """Every dimension of a few elements whose windows fit."""
    for size, window, stride, dilation, start, end in itertools.product(
        range(1, most), range(1, 4), range(1, 4), range(1, 3), range(4), range(4)
    ):
        if 1 + (window - 1) * dilation <= start + size + end:
            yield SpatialDimension(size, window, stride, dilation, start, end)


def random_dimensions(count, most_window, seed):
    rng = random.Random(seed)
    while count:
        size, window = rng.randint(1, 20), rng.randint(1, most_window)
        dilation = rng.randint(1, 4)
        start, end = rng.choice((0, 1, 3, 9)), rng.choice((0, 1, 3, 9))
        if 1 + (window - 1) * dilation <= start + size + end:
            yield SpatialDimension(size, window, rng.randint(1, 6), dilation, start, end)
            count -= 1


def registers_of(dimension):
    return dimension_registers([dimension], [1])[0]


def longer_than_needed(registers, rng):
    """A line may have more slots than its elements and outputs need."""
    extra = rng.choice((0, 0, 0, 1, 3))
    return DimensionRegisters(**{**vars(registers), "period": registers.period + extra})


def output_slot(registers, slot):
    """Whether a window is given in a slot, and the coordinate of its last tap."""
    since = slot - registers.lag
    if since < 0:
        return False, 0
    place = since % registers.period
    number, rest = divmod(place, registers.stride)
    return rest == 0 and number < registers.outputs, registers.head + place


def input_slot(registers, slot):
    """Whether a slot holds an element, and whether it is its line's last."""
    place = slot % registers.period
    return registers.lead <= place < registers.lead + registers.size, (
        place == registers.period - 1
    )


def stimulus(lines, rng, gaps, most_slots=90):
    """Clocks that walk over the slots of several jobs, and the slot that each clock is in."""
    layout = dimension_layout(CONFIG, 2)
    clocks: list[dict[str, int]] = [{"step": 0, "token": 0}]
    slots: list[Any] = [None]
    for number, registers in enumerate(lines):
        token = {"token": 1, "registers": pack(layout, vars(registers))}
        # The token may meet the last slot of the job before, or come on its own.
        if number and rng.random() < 0.5:
            clocks[-1] |= token
        else:
            clocks.append(token | {"step": 0})
            slots.append(None)
        garbage = {"registers": rng.getrandbits(layout.size)}
        total = min(registers.lag + 3 * registers.period, most_slots)
        slot = 0
        while slot < total:
            step = rng.random() >= gaps
            clocks.append({"token": 0, "step": step})
            slots.append((registers, slot))
            slot += step
        # The registers stay on the port until the token has left the schedule.
        at = len(clocks) - 1
        if at + 1 < len(clocks):
            clocks[at + 1] |= garbage
    return clocks, slots


def check_output(lines, rng, gaps):
    axis = 2
    schedule = OutputSchedule(CONFIG, axis)
    clocks, slots = stimulus(lines, rng, gaps)
    late = OutputSchedule.LATENCY
    seen = watch(
        schedule, clocks, {"emit": schedule.emit, "present": bits(schedule.present)}, settle=late
    )
    emitted = 0
    for place, clock in zip(slots, seen[late:], strict=True):
        if place is None:
            continue
        registers, slot = place
        emit, head = output_slot(registers, slot)
        assert clock["emit"] == emit, (registers, slot)
        if emit:
            emitted += 1
            expected = sum(
                (0 <= head - tap * registers.dilation < registers.size) << tap
                for tap in range(registers.window)
            )
            assert clock["present"] == expected, (registers, slot)
    assert emitted


def check_input(lines, rng, gaps):
    schedule = InputSchedule(CONFIG, 2)
    clocks, slots = stimulus(lines, rng, gaps)
    seen = watch(schedule, clocks, {"present": schedule.present, "last": schedule.last})
    for place, clock in zip(slots, seen, strict=True):
        if place is not None:
            assert (clock["present"], clock["last"]) == input_slot(*place), place


@pytest.mark.parametrize("check", [check_output, check_input])
def test_small_lines_exhaustively(check):
    rng = random.Random(1)
    lines = [registers_of(dimension) for dimension in small_dimensions()]
    assert any(line.lag >= line.period for line in lines)
    assert any(line.lead for line in lines)
    rng.shuffle(lines)
    check(lines, rng, 0)


@pytest.mark.parametrize("check", [check_output, check_input])
@pytest.mark.parametrize("gaps", [0, 0.3, 0.8])
def test_random_lines(check, gaps):
    rng = random.Random(2)
    lines = [
        longer_than_needed(registers_of(dimension), rng)
        for dimension in random_dimensions(60, CONFIG.max_window[2], seed=int(10 * gaps))
    ]
    check(lines, rng, gaps)


@pytest.mark.parametrize("check", [check_output, check_input])
def test_longest_lines(check):
    """Counters at the ends of their ranges."""
    most = (1 << CONFIG.coordinate_width) - 1
    lines = [
        SpatialDimension(most, 5),
        SpatialDimension(most, 1, stride=most),
        SpatialDimension(1, 2, dilation=most - 1, start_padding=most - 1),
        SpatialDimension(1, 2, dilation=most - 1, end_padding=most - 1),
        SpatialDimension(1, 1, start_padding=most - 1),
        SpatialDimension(1, 1, end_padding=most - 1),
    ]
    registers = [registers_of(dimension) for dimension in lines]
    rng = random.Random(3)
    layout = dimension_layout(CONFIG, 2)
    for line in registers:
        pack(layout, vars(line))
    check([line for line in registers for _ in range(2)], rng, 0)


def test_formulas_find_what_the_windows_see():
    """The formulas above are themselves held against windows laid down one by one."""
    for dimension in small_dimensions():
        registers = registers_of(dimension)
        heads = []
        for slot in range(registers.lag, registers.lag + registers.period):
            emit, head = output_slot(registers, slot)
            if emit:
                heads.append(head)
        assert heads == [
            number * dimension.stride - dimension.start_padding + dimension.extent - 1
            for number in range(dimension.outputs)
        ]


def test_axes_have_their_own_window():
    for axis, name in enumerate(AXES):
        schedule = OutputSchedule(CONFIG, axis)
        assert len(bits(schedule.present)) == CONFIG.max_window[axis], name
        watch(schedule, [{"step": 0}], {"emit": schedule.emit})
