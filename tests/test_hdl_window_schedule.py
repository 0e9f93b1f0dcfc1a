"""The control of every slot, against windows laid down one by one in up to three dimensions."""

import itertools
import random
from dataclasses import replace

import pytest
from gateware import advance, unpack, watch
from lines import Line, random_dimensions, small_dimensions
from stimulus import Job, stimulus

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.job_kinds import PlaneJobs, job_kind
from extremum.hdl.register_table import ends_with_plane
from extremum.hdl.registers import is_endless
from extremum.hdl.window_schedule import WindowSchedule, latency
from extremum.hdl.words import control_layout
from extremum.host.plan.registers import schedule
from extremum.model import DataType, SpatialDimension

VOLUMES = CoreConfig(max_window=(2, 3, 3), max_dilation=(4, 4, 4), coordinate_width=6)
PLANES = replace(VOLUMES, max_window=(1, 3, 4))
REDUCTIONS = CoreConfig(max_window=(1, 1, 1))
ONE = SpatialDimension(1, 1)

EARLY = 3
"""Clocks that a job is on the port before its token."""


def job_of(lines, groups, length=1):
    """Return the registers of a job; its lines are those of depth, height and width."""
    dimensions = [line.registers for line in lines]
    slots = schedule(dimensions, groups * length).slots
    return JobRegisters(
        slots=slots, groups=groups, length=length,
        depth=dimensions[0], height=dimensions[1], width=dimensions[2],
    )  # fmt: skip


def expected(config, lines, groups, length):
    """Return, for each slot that gives a window, the control that it must have."""
    given = {}
    outputs = [range(line.dimension.outputs) for line in lines]
    for group, ordinal, *numbers in itertools.product(range(groups), range(length), *outputs):
        slot = group * length + ordinal
        for line, number in zip(lines, numbers, strict=True):
            r = line.registers
            slot = slot * r.period + r.lead + line.places[number]
        finals = [n == line.dimension.outputs - 1 for n, line in zip(numbers, lines, strict=True)]
        met = [line.elements(number) for number, line in zip(numbers, lines, strict=True)]
        control = {
            "first": ordinal == 0,
            "last": ordinal == length - 1,
            "empty": not all(met),
            "last_group": group == groups - 1,
            "done": group == groups - 1 and ordinal == length - 1 and all(finals),
        }
        for axis in config.axes:
            line, number = lines[axis], numbers[axis]
            control[f"final_{DIMENSIONS[axis]}"] = finals[axis]
            control[f"emit_{DIMENSIONS[axis]}"] = True
            control[f"elements_{DIMENSIONS[axis]}"] = (line, line.places[number], met[axis])
        given[slot] = control
    return given


def walk(component, laid, rng, outputs):
    """Note what a schedule tells of clocks with a token or a slot."""
    tells_end = isinstance(job_kind(component.config), PlaneJobs)
    clocks = [
        advance(clock, rng, is_idle=hand is None if tells_end else None)
        for clock, hand in zip(laid.clocks, laid.at_hand, strict=True)
    ]
    return watch(component, clocks, outputs)


NAMES = ("control", "result", "last_group", "done")


def check(config, jobs, rng, gaps):
    """Walk over jobs, each (lines, groups, length), and compare every slot."""
    component = WindowSchedule(config)
    layout = control_layout(config)
    late = latency(config)
    given: list[Job] = []
    for lines, groups, length in jobs:
        registers = job_of(lines, groups, length)
        slots = [{"end": slot == registers.slots - 1} for slot in range(registers.slots)]
        given.append(Job({"job": registers.to_bits(config)}, slots))
    # The registers stay on the port until the token has left the schedule.
    laid = stimulus(
        component, given, rng, early=EARLY, stay=late + 1, gaps=gaps, after=late + 2, valid="slot"
    )
    wanted = {}
    for clocks, (lines, groups, length) in zip(laid.words, jobs, strict=True):
        told = expected(config, lines, groups, length)
        wanted |= {clocks[slot]: control for slot, control in told.items()}
    outputs = {name: getattr(component, name) for name in NAMES}
    seen = walk(component, laid, rng, outputs)
    for clock in range(len(seen) - late - 1):
        if clock not in wanted:
            assert not seen[clock + late + 1]["result"], laid.clocks[clock]
    for clock, control in wanted.items():
        found = unpack(layout, seen[clock + late]["control"])
        found |= {name: seen[clock + late + 1][name] for name in ("last_group", "done")}
        assert seen[clock + late + 1]["result"] == control["last"], control
        for name, value in control.items():
            if name.startswith("elements_"):
                check_taps(found, name.removeprefix("elements_"), *value)
            elif name != "last_group" or control["last"]:
                assert found[name] == value, (name, control)
    return wanted


def check_taps(found, name, line, place, elements):
    """Check which taps of a dimension are present, and the shift if any tap is."""
    r, present = line.registers, found[f"present_{name}"]
    taps = [tap for tap in range(present.bit_length()) if present >> tap & 1]
    assert {place - tap * r.dilation for tap in taps} == elements
    if taps:
        shifted = r.shift if place == r.final else 0
        assert found[f"shift_{name}"] == shifted


def volumes(config, count, seed, padding=True):
    """Yield jobs, each (lines, groups, length), of random windows over small volumes."""
    rng = random.Random(seed)
    sources = [
        [
            d
            for d in [*small_dimensions(4, w + 1, 4, 3, 3 if padding else 1)]
            if d.outputs <= 3 and d.padded <= 5
        ]
        if w > 1 or axis in config.axes
        else [ONE]
        for axis, w in enumerate(config.max_window)
    ]
    for _ in range(count):
        lines = [Line.of(rng.choice(source), fixed_window=rng.random() < 0.2) for source in sources]
        yield lines, rng.randint(1, 3), 1


@pytest.mark.parametrize("config", [VOLUMES, PLANES], ids=["volumes", "planes"])
@pytest.mark.parametrize("gaps", [0, 0.3])
def test_windows_in_all_dimensions(config, gaps):
    jobs = list(volumes(config, 60, seed=f"{gaps}"))
    assert any(lines[2].registers.shift for lines, *_ in jobs)
    wanted = check(config, jobs, random.Random(1), gaps)
    assert any(control["empty"] for control in wanted.values())


def test_early_last_windows_in_three_dimensions():
    rng = random.Random(2)
    early = [d for d in small_dimensions(4, 4, 4, 3, 4) if Line.of(d).registers.shift]
    deep = [d for d in early if d.window <= 2]
    jobs = [
        ([Line.of(rng.choice(deep)), Line.of(rng.choice(early)), Line.of(rng.choice(early))], 2, 1)
        for _ in range(25)
    ]
    check(VOLUMES, jobs, rng, 0.1)


def test_lines_longer_than_needed():
    rng = random.Random(3)
    dimensions = iter(random_dimensions(60, 2, seed=3))
    jobs = [
        ([Line.of(ONE), Line.of(next(dimensions)).longer(1), Line.of(ONE).longer(2)], 2, 1)
        for _ in range(20)
    ]
    check(VOLUMES, jobs, rng, 0.1)


@pytest.mark.parametrize("config", [VOLUMES, REDUCTIONS], ids=["volumes", "reductions"])
@pytest.mark.parametrize("gaps", [0, 0.3])
def test_windows_reduced_to_one_result(config, gaps):
    """Jobs of reductions: in each group, `length` windows of one element make a result."""
    rng = random.Random(4)
    shapes = [(rng.randint(1, 4), rng.choice((1, 1, 2, 3, 9, 40))) for _ in range(40)]
    shapes += [(1, 255), (2, 256), (1, 257), (300, 1), (256, 2), (1, 1)]
    jobs = [([Line.of(ONE)] * 3, groups, length) for groups, length in shapes]
    if config is VOLUMES:
        jobs += list(volumes(config, 30, seed=4))
        rng.shuffle(jobs)
    check(config, jobs, rng, gaps)


@pytest.mark.parametrize("fixed", [(), (("groups", 1),)], ids=["groups", "one group"])
@pytest.mark.parametrize("core", [PLANES, VOLUMES], ids=["planes", "volumes"])
def test_jobs_without_padding(core, fixed):
    config = replace(
        core, data_types=(DataType.INT8,), operators=("max-pool",), padding=False, fixed=fixed
    )
    assert ends_with_plane(config) == bool(fixed)
    rng = random.Random(5)
    jobs = [
        (lines, 1 if fixed else groups, length)
        for lines, groups, length in volumes(config, 60, seed=5, padding=False)
    ]
    check(config, jobs, rng, 0.2)


def test_the_end_of_a_plane():
    """A core whose jobs end with their plane is told of the end in the plane's last slot itself."""
    fixed = tuple(
        (f"{axis}.{name}", value)
        for axis in ("height", "width")
        for name, value in {"window": 2, "stride": 2, "dilation": 1, "head": 1}.items()
    )
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 2, 2), max_dilation=(1, 1, 1), operators=("max-pool",),
        index_width=0, padding=False, fixed=(*fixed, ("groups", 1)),
    )  # fmt: skip
    component, rng = WindowSchedule(config), random.Random(6)
    given = []
    for height, width in ((2, 2), (4, 6), (6, 4), (2, 8), (8, 4), (2, 10)):
        lines = [Line.of(ONE), *(Line.of(SpatialDimension(n, 2, 2)) for n in (height, width))]
        registers = {"job": job_of(lines, 1).to_bits(config)}
        given.append(Job(registers, [{}] * (height * width)))
    for gaps in (0, 0.3):
        laid = stimulus(
            component, given, rng,
            early=EARLY, stay=latency(config), gaps=gaps, meets=0.8, valid="slot",
        )  # fmt: skip
        assert set(laid.tokens) & {words[-1] for words in laid.words}
        seen = walk(component, laid, rng, {"end": component.plane_end})
        for job in laid.words:
            ends = [seen[clock]["end"] for clock in job]
            assert ends == [*[0] * (len(job) - 1), 1]


@pytest.mark.parametrize("length", [1, 2, 3, 300])
def test_without_an_end(length):
    """A core without a job port gives one row after the other, from reset on, without a token."""
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",),
        fixed=(("length", length), ("slots", length), ("decreasing", 0)),
    )  # fmt: skip
    assert is_endless(config)
    assert not is_endless(replace(config, fixed=config.fixed[1:]))
    component = WindowSchedule(config)
    rng = random.Random(length)
    slots = [rng.random() < 0.8 for _ in range(4 * length + 20)]
    late = latency(config)
    clocks = [{"token": 0, "slot": int(slot)} for slot in [*slots, *[False] * (late + 1)]]
    outputs = {name: getattr(component, name) for name in NAMES}
    seen = watch(component, [advance(clock, rng) for clock in clocks], outputs)
    number = 0
    for slot, (clock, after) in zip(slots, itertools.pairwise(seen[late:]), strict=True):
        found = unpack(control_layout(config), clock["control"])
        found |= {name: after[name] for name in ("done", "last_group")}
        first, last = number % length == 0, number % length == length - 1
        assert after["result"] == (slot and last)
        if slot:
            assert [found[n] for n in ("first", "last", "done", "last_group")] == [
                first, last, last, last
            ]  # fmt: skip
            number += 1
