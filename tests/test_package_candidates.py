"""An example is found for cores with fixed registers, whichever of them are fixed."""

import random
from dataclasses import replace
from itertools import product

import pytest
from amounts import mostly_slow
from packages import icarus, write
from simulation import NEEDS_ICARUS

from extremum.hdl.config import DIMENSIONS, PIPELINING, CoreConfig
from extremum.hdl.register_table import is_position
from extremum.host.package.candidates import candidates
from extremum.host.package.example import MOST_BEATS, example_job
from extremum.host.package.geometries import OWN, geometries
from extremum.host.package.settings import Settings
from extremum.host.plan import plan
from extremum.host.plan.dataflow import dataflow_core, fixed_to
from extremum.host.plan.registers import dimension_registers
from extremum.model import DataType, Pooling, Reduction, SpatialDimension
from extremum.model.pooling import INDEX_LAYOUTS

CORE = CoreConfig(
    (DataType.INT8,), 4, max_window=(3, 3, 3), max_dilation=(2, 2, 2), max_line=64, max_plane=256,
    coordinate_width=8, index_width=16,
)  # fmt: skip


def a_pooling(rng):
    """Draw a small pooling that is one job of the core."""
    axes = rng.choice([2, 3])
    window = [rng.randint(1, 3) for _ in range(axes)]
    return Pooling.of(
        (1, rng.randint(1, 9), *(rng.randint(5, 9) for _ in range(axes))), "int8", window,
        strides=[rng.randint(1, 3) for _ in range(axes)],
        start_padding=[rng.randint(0, taps - 1) for taps in window],
        end_padding=[rng.randint(0, taps - 1) for taps in window],
        dilations=[rng.randint(1, 2) for _ in range(axes)],
        return_indices=rng.random() < 0.5, index_layout=rng.choice(INDEX_LAYOUTS),
    )  # fmt: skip


def a_reduction(rng):
    """Draw a small reduction, with positions in the increasing or the decreasing direction."""
    return Reduction.of(
        rng.choice(["argmin", "argmax"]), (rng.randint(1, 9), rng.randint(1, 30)), "int8", 1,
        axis_direction=rng.choice(["increasing", "decreasing"]),
    )  # fmt: skip


def fixed_of(problem, config):
    """Return the registers of the only job of an operator, with their values."""
    (job,) = plan(problem, config).jobs
    return fixed_to(job).fixed


def telling(problem, config):
    """Return those of them that tell of sizes one by one.

    The parts of positions, and the slots, of a pooling tell of them only all together.
    """
    return [
        (name, value)
        for name, value in fixed_of(problem, config)
        if isinstance(problem, Reduction) or not (is_position(name) or name == "slots")
    ]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("draw", [a_pooling, a_reduction])
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_core_that_has_all_registers_fixed(draw, lanes, seed):
    rng, config = random.Random(seed), replace(CORE, lanes=lanes)
    core = replace(config, fixed=fixed_of(draw(rng), config))
    example = example_job(core)
    assert example is not None
    (job,) = plan(example.problem, core).jobs
    assert example.job == job
    job.registers.to_bits(core)  # which checks all that is fixed


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(
    ("draw", "most"), [(a_pooling, 1), (a_pooling, 4), (a_reduction, 2), (a_reduction, 9)]
)
def test_a_core_that_has_some_registers_fixed(draw, most, seed):
    rng = random.Random(seed)
    every = telling(draw(rng), CORE)
    some = sorted(rng.sample(every, min(most, len(every))), key=every.index)
    assert example_job(replace(CORE, fixed=tuple(some))) is not None


def test_any_registers_are_taken():
    """If there is no small job that they are right for, there is no example, and no error."""
    found = 0
    for seed in range(25):
        rng = random.Random(seed)
        every = fixed_of(rng.choice([a_pooling, a_reduction])(rng), CORE)
        core = replace(CORE, fixed=tuple(each for each in every if rng.random() < 0.5))
        if (example := example_job(core)) is not None:
            (job,) = plan(example.problem, core).jobs
            job.registers.to_bits(core)
            found += 1
    assert 15 <= found < 25


def any_pooling(rng):
    """Draw a pooling, whose windows may be wider than the tensor."""
    axes, most = rng.choice([2, 3]), rng.choice([5, 5, 33])
    window = [rng.randint(1, most) for _ in range(axes)]
    dilations = [rng.choice([1, 1, 2, 3]) for _ in range(axes)]
    reach = [(taps - 1) * dilation for taps, dilation in zip(window, dilations, strict=True)]
    sizes = [rng.randint(1, 30) for _ in range(axes)]
    return Pooling.of(
        (1, rng.randint(1, 4), *sizes), "uint16", window, dilations=dilations,
        strides=[rng.randint(1, 4) for _ in range(axes)],
        start_padding=[rng.randint(0, most) for most in reach],
        end_padding=[rng.randint(0, most) for most in reach],
        return_indices=rng.random() < 0.5,
    )  # fmt: skip


def test_a_dataflow_core_of_any_pooling_has_an_example():
    """Also if the last taps of all windows lie behind the tensor, and are left out."""
    rng, found = random.Random(1), 0
    while found < 80:
        try:
            problem = any_pooling(rng)
            core = dataflow_core(problem)
        except ValueError:  # no window fits, or no core carries it out in one job
            continue
        (job,) = plan(problem, core).jobs
        if job.beats_in <= MOST_BEATS:
            example = example_job(core)
            assert example is not None
            assert example.job.registers == job.registers
            found += 1


@NEEDS_ICARUS
@pytest.mark.parametrize("bus", mostly_slow(["none", "axi"], ["none"]))
@pytest.mark.parametrize(
    ("seed", "part"), mostly_slow([*product(range(4), (1.0, 0.6, 0.3))], [(3, 1.0)])
)
def test_the_testbench_of_a_core_with_fixed_registers_passes(tmp_path, seed, part, bus):
    """Some of these cores have no job port, and most have a small one."""
    rng = random.Random(seed)
    config = replace(CORE, lanes=rng.choice([1, 2, 4]), pipelining=rng.choice(PIPELINING))
    problem = rng.choice([a_pooling, a_reduction])(rng)
    every = fixed_of(problem, config) if part == 1 else telling(problem, config)
    core = replace(config, fixed=tuple(each for each in every if rng.random() < part))
    write(Settings(core, "own", bus), tmp_path)
    status, told = icarus(tmp_path, "own_tb", "own_tb.v", "own.v")
    assert (status, "PASS: " in told) == (0, True), told


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("axis", range(3))
def test_a_line_gives_what_its_registers_are_fixed_to(axis, seed):
    rng = random.Random(seed)
    window, dilation = rng.randint(1, 3), rng.randint(1, 2)
    extent = (window - 1) * dilation + 1
    geometry = SpatialDimension(
        rng.randint(extent, 12), window, rng.randint(1, 3), dilation,
        rng.randint(0, extent - 1), rng.randint(0, extent - 1),
    )  # fmt: skip
    (registers,) = dimension_registers((geometry,), (0,))
    told = {name: getattr(registers, name) for name in OWN if rng.random() < 0.6}
    fixed = {f"{DIMENSIONS[axis]}.{name}": value for name, value in told.items()}
    found = geometries(CORE, fixed, axis)
    assert found
    for each in found:
        (got,) = dimension_registers((each,), (0,), (told.get("window"),))
        assert {name: getattr(got, name) for name in told} == told


@pytest.mark.parametrize("free", [None, *(name for name in OWN if name != "size")])
def test_every_small_line_is_found_by_its_registers(free):
    """Also if one of them is free, as long as it is not the size."""
    for size, window, stride, dilation in product((1, 2, 3, 4, 9), (1, 2, 3), (1, 2, 3), (1, 2)):
        reach = (window - 1) * dilation
        for start, end in product(range(reach + 1), repeat=2):
            if size + start + end > reach:
                line = SpatialDimension(size, window, stride, dilation, start, end)
                (registers,) = dimension_registers((line,), (0,))
                told = {f"width.{name}": getattr(registers, name) for name in OWN if name != free}
                assert geometries(CORE, told, 2), line


@pytest.mark.parametrize("name", ["period", "regular", "final"])
def test_a_line_whose_end_is_fixed_is_as_long(name):
    (found, *_) = geometries(CORE, {f"width.{name}": 200}, 2)
    assert 190 < found.size < 210


def test_the_most_telling_line_comes_first():
    """It has a window of several taps that overlap in strides, and padding on both sides."""
    assert [geometries(CORE, {}, axis)[0] for axis in range(3)] == [
        SpatialDimension(3, 2, 2, 1, 1, 1),
        SpatialDimension(4, 3, 2, 1, 1, 1),
        SpatialDimension(6, 3, 2, 1, 1, 1),
    ]
    two = replace(CORE, max_window=(1, 2, 2))
    assert geometries(two, {}, 2)[0] == SpatialDimension(6, 2, 2, 1, 1, 1)
    unpadded = replace(CORE, padding=False, max_window=(1, 2, 1))
    assert [geometries(unpadded, {}, axis)[0] for axis in range(3)] == [
        SpatialDimension(1, 1), SpatialDimension(4, 2, 2), SpatialDimension(6, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fixed", "outputs"),
    [
        ({"height.window": 3, "height.spacing": 8}, (None, 8)),
        ({"height.window": 3, "height.spacing": 8, "height.dilation": 2}, (None, 4)),
        ({"height.spacing": 8, "width.stride": 2}, (None, 8)),
        ({"height.spacing": 9, "width.stride": 3, "width.window": 1}, (None, 9)),
        ({"height.spacing": 4, "depth.spacing": 12}, (3, 4)),
        ({"height.spacing": 4, "depth.spacing": 24, "depth.dilation": 2}, (3, 4)),
    ],
)  # fmt: skip
def test_the_distance_of_taps_tells_how_many_windows_there_are(fixed, outputs):
    for axis, expected in enumerate(outputs, 1):
        counts = {each.outputs for each in geometries(CORE, fixed, axis)}
        assert counts == {expected} if expected else len(counts) > 1


def test_a_distance_of_one_may_be_that_of_windows_with_one_tap():
    """Or of lines, or planes, with a single window, which are tried first."""
    fixed = {"height.spacing": 1, "depth.spacing": 3}
    width = [each.outputs for each in geometries(CORE, fixed | {"width.stride": 1}, 2)]
    assert width[0] == 1
    assert len(set(width)) > 1
    height = [each.outputs for each in geometries(CORE, fixed | {"height.stride": 1}, 1)]
    assert height[0] == 3
    assert len(set(height)) > 1


@pytest.mark.parametrize("window", [(1, 2, 2), (1, 3, 3), (1, 5, 5), (2, 3, 3)])
@pytest.mark.parametrize("padding", [True, False])
@pytest.mark.parametrize("part", [{}, {"stride": 1}, {"head": 0}, {"stride": 1, "head": 0}])
@pytest.mark.parametrize("storage", [{}, {"max_line": 2, "max_plane": 4}, {"max_plane": 1}])
def test_the_windows_of_an_example_have_several_taps(window, padding, part, storage):
    """With a single tap a wire would pass the testbench."""
    if not padding:
        part = {name: value for name, value in part.items() if name != "head"}
    fixed = tuple(
        (f"{name}.{register}", value)
        for name in ("height", "width") for register, value in part.items()
    )  # fmt: skip
    core = replace(
        CORE, lanes=2, max_window=window, max_dilation=(1, 1, 1), fixed=fixed, padding=padding,
        **storage,
    )  # fmt: skip
    example = example_job(core)
    assert example is not None
    assert isinstance(example.problem, Pooling)
    taps = (1, 1, *example.problem.window)[-3:]
    assert taps == tuple(min(most, usual) for most, usual in zip(window, (2, 3, 3), strict=True))


@pytest.mark.parametrize(("dilation", "most"), [(2, 2), (3, 4)])
def test_the_distance_of_taps_of_the_width_is_their_dilation(dilation, most):
    core = replace(
        CORE, max_window=(1, 1, 5), max_dilation=(1, 1, most), operators=("max-pool",),
        fixed=(("width.window", 5), ("width.spacing", dilation)),
    )  # fmt: skip
    example = example_job(core)
    assert example is not None
    assert isinstance(example.problem, Pooling)
    assert example.problem.dilations == (1, dilation)


def test_a_core_with_few_bits_for_positions_has_an_example_with_some():
    example = example_job(replace(CORE, lanes=1, max_window=(1, 3, 3), index_width=4))
    assert example is not None
    assert isinstance(example.problem, Pooling)
    assert (example.problem.return_indices, example.problem.window) == (True, (3, 3))


def test_a_core_that_has_too_few_bits_for_any_position_has_an_example_without():
    core = replace(CORE, max_window=(1, 3, 3), index_width=1, operators=("max-pool",))
    example = example_job(core)
    assert example is not None
    assert isinstance(example.problem, Pooling)
    assert not example.problem.return_indices


def sizes_of_reductions(config):
    """Return the sizes of the reductions that a core is tried with."""
    return [problem.sizes for problem in candidates(config) if isinstance(problem, Reduction)]


@pytest.mark.parametrize(
    ("fixed", "sizes"),
    [
        ((), [(7, 7), (4, 7), (1, 28)]),
        ((("fold", 0),), [(7, 7), (4, 7)]),
        ((("fold", 1),), [(1, 28)]),
        ((("fold", 1), ("groups", 3), ("tail", 2)), [(3, 26)]),
        ((("fold", 0), ("groups", 3), ("tail", 2)), [(10, 7)]),
        ((("fold", 0), ("tail", 1)), [(5, 7), (1, 7)]),
        ((("fold", 0), ("length", 5), ("groups", 1)), [(4, 5)]),
        ((("fold", 0), ("volumes", 14), ("length", 7)), [(8, 7)]),
        ((("fold", 0), ("volumes", 10)), [(8, 5), (4, 10), (20, 2), (40, 1)]),
        ((("fold", 1), ("volumes", 130), ("length", 65)), [(2, 260)]),
        ((("fold", 0), ("volumes", 131)), [(524, 1), (4, 131)]),
    ],
)  # fmt: skip
def test_the_rows_that_a_core_is_tried_with(fixed, sizes):
    assert sizes_of_reductions(replace(CORE, fixed=fixed)) == sizes
