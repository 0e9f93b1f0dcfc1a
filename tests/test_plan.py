"""Plans: every output once, every slot accounted for, every size accepted."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lines import small_dimensions
from strategies import poolings

from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import latency
from extremum.host.plan import plan
from extremum.host.plan.gathered import GATHERED_ELEMENTS, GatheredJob, met_windows
from extremum.host.plan.jobs import ReductionJob, SlidingJob
from extremum.host.plan.registers import MAX_SLOTS, dimension_registers, schedule
from extremum.host.plan.results import Results
from extremum.host.plan.tiles import cut
from extremum.model import DataType, Pooling, Reduction
from extremum.tb.cores import CORES

SMALL = CoreConfig(
    (DataType.INT8,),
    lanes=3,
    max_window=(2, 3, 3),
    max_dilation=(1, 2, 2),
    max_line=4,
    max_plane=9,
    coordinate_width=5,
)


def covered(todo):
    """How often each output is written, when every job writes once what it has."""
    times = np.zeros(todo.problem.output_sizes, np.int64)
    for job in todo.jobs:
        values = np.zeros((job.beats_out, todo.config.lanes), todo.problem.data_type.dtype)
        results = Results.blank(todo.problem, todo.config)
        marked = np.full(times.shape, -1, np.int64)
        # The position of an output that is not written stays at its mark.
        where = Results(todo.problem, results.values, marked)
        job.scatter(values, np.zeros(values.shape, np.int64), where)
        times += marked != -1
    return times


def empties(problem):
    """Which windows hold no element: the same for every slice."""
    empty = np.zeros(problem.output_sizes, bool)
    for axis, dimension in enumerate(problem.spatial, 2):
        shape = [-1 if a == axis else 1 for a in range(len(problem.sizes))]
        empty |= dimension.empty.reshape(shape)
    return empty


@settings(max_examples=150)
@given(poolings(), st.sampled_from([SMALL, *CORES.values()]))
def test_every_window_is_computed_once(case, config):
    sizes, arguments = case
    problem = Pooling.of(sizes, config.data_types[0], **arguments)
    todo = plan(problem, config)
    times = covered(todo)
    assert times.max(initial=0) <= 1
    # What no job writes is a window of padding alone, which is that before anything runs.
    assert (empties(problem) | (times == 1)).all()
    for job in todo.jobs:
        job.registers.to_bits(config)
        beats = job.gather(np.zeros(sizes, problem.data_type.dtype))
        assert beats.shape == (job.beats_in, config.lanes)
        volumes = job.rows.groups if job.kind == "sliding" else job.beats_in
        assert job.registers.volumes == volumes
        assert job.registers.slots == job.schedule.slots >= job.beats_in


@pytest.mark.parametrize("lanes", [1, 3, 64])
def test_every_result_is_computed_once(lanes):
    config = CoreConfig((DataType.INT8,), lanes=lanes)
    for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        problem = Reduction.of("argmax", (3, 5, 4), "int8", axes)
        todo = plan(problem, config)
        assert (covered(todo) == 1).all()
        (job,) = todo.jobs
        slices = -(-math.prod(problem.output_sizes) // lanes) * problem.count
        folded = math.prod(problem.output_sizes) * -(-problem.count // lanes)
        assert job.beats_in == (min(slices, folded) if config.can_fold else slices)


def walk(dimensions, groups):
    """Walk a schedule slot by slot: the slots of the elements and those of the windows.

    Each dimension has its own line of slots; the lines of an inner one fill one slot of an outer
    one. A window stands ``head`` slots after the line's first element, and strides further; the
    last one of a line may be given early.
    """
    elements, windows = list(range(groups)), list(range(groups))
    for d in dimensions:
        places = sorted({*range(d.head, d.regular + 1, d.stride), d.final})
        elements = [e * d.period + d.lead + i for e in elements for i in range(d.size)]
        windows = [w * d.period + d.lead + place for w in windows for place in places]
    return elements, windows


@settings(max_examples=200)
@given(poolings(max_size=6), st.integers(1, 3))
def test_the_schedule_is_possible_and_as_long_as_said(case, groups):
    """No window is given before its newest element is in, and no two things share a slot."""
    sizes, arguments = case
    problem = Pooling.of(sizes, "int8", **arguments)
    dimensions = dimension_registers(problem.spatial, [1] * len(problem.spatial))
    elements, windows = walk(dimensions, groups)
    assert len(set(elements)) == len(elements)
    assert len(set(windows)) == len(windows) == groups * math.prod(problem.output_sizes[2:])
    # Elements stream, and windows leave, in order.
    assert elements == sorted(elements)
    assert windows == sorted(windows)
    spans = schedule(dimensions, groups)
    assert (spans.last_element, spans.last_window) == (elements[-1], windows[-1])
    assert spans.slots == max(elements[-1], windows[-1]) + 1
    slot_of = dict(
        zip(
            itertools.product(range(groups), *(range(d.size) for d in problem.spatial)),
            elements,
            strict=True,
        )
    )
    outputs = itertools.product(range(groups), *(range(d.outputs) for d in problem.spatial))
    for (group, *place), slot in zip(outputs, windows, strict=True):
        seen = []
        for d, o in zip(problem.spatial, place, strict=True):
            taps = (o * d.stride - d.start_padding + tap * d.dilation for tap in range(d.window))
            seen.append([tap for tap in taps if 0 <= tap < d.size])
        if all(seen):
            newest = slot_of[(group, *(taps[-1] for taps in seen))]
            assert newest <= slot


@pytest.mark.parametrize("name", CORES)
def test_predicted_cycles_are_slots_and_latency(name):
    config = CORES[name]
    kind = config.data_types[0]
    (job,) = plan(Reduction.of("max", (4, 5), kind, 1), config).jobs
    groups = -(-4 // config.lanes)
    assert job.beats_in == 5 * groups
    assert job.beats_out == groups
    assert job.cycles == 5 * groups + latency(config)


@pytest.mark.parametrize(
    ("sizes", "arguments"),
    [
        ((1, 1, 28, 28), {"window": 2, "strides": 2, "start_padding": 1, "end_padding": 1}),
        ((1, 1, 4, 4), {"window": 2, "strides": 2, "start_padding": 1, "end_padding": 1}),
        ((1, 1, 112, 112), {"window": 3, "strides": 2, "start_padding": 1, "end_padding": 1}),
        ((1, 1, 16, 56, 56), {"window": 3, "strides": 2, "end_padding": 1}),
        ((2, 3, 6, 8, 8), {"window": 3, "strides": 2, "end_padding": 1}),
        ((1, 1, 8, 14, 14), {"window": (3, 3, 3), "strides": (2, 2, 2), "end_padding": 1}),
    ],
)
def test_early_last_windows_cost_no_slots(sizes, arguments):
    """As many slots as elements, and a result no later than the core's latency after the last."""
    config = CoreConfig((DataType.INT8,), lanes=2)
    (job,) = plan(Pooling.of(sizes, "int8", **arguments), config).jobs
    groups = -(-math.prod(sizes[:2]) // 2)
    assert job.registers.slots == job.beats_in == groups * math.prod(sizes[2:])
    assert job.cycles <= job.beats_in + latency(config)


def test_cycles_and_beats_are_sums_over_the_jobs():
    problem = Pooling.of((1, 2, 9, 20), "int8", 3)
    todo = plan(problem, SMALL)
    assert len(todo.jobs) > 1
    assert todo.cycles == sum(job.cycles for job in todo.jobs)
    assert todo.beats_in == sum(job.beats_in for job in todo.jobs)
    assert todo.beats_out == sum(job.beats_out for job in todo.jobs) == 7 * 18


def test_what_fits_whole_is_not_cut():
    problem = Pooling.of((2, 2, 5, 9), "int8", (1, 2), start_padding=(0, 7), end_padding=(0, 7))
    todo = plan(problem, replace(SMALL, max_line=64, max_plane=400))
    assert len(todo.jobs) == 1
    assert todo.notes == ()


@pytest.mark.parametrize(
    ("limits", "arguments", "kind", "note"),
    [
        ({}, {"window": (3, 3)}, SlidingJob, "max_line 4"),
        ({"coordinate_width": 4}, {"window": (1, 3)}, SlidingJob, "coordinate_width 4"),
        ({}, {"window": (2, 4)}, GatheredJob, "width of the window 4 exceeds max_window 3"),
        ({}, {"window": (4, 2)}, GatheredJob, "height of the window 4 exceeds max_window 3"),
        ({}, {"window": 2, "dilations": (1, 3)}, GatheredJob, "dilation 3 exceeds max_dilation 2"),
        ({}, {"window": 2, "dilations": (9, 1)}, GatheredJob, "no line or plane"),
    ],
)
def test_what_exceeds_the_core_is_told(limits, arguments, kind, note):
    problem = Pooling.of((1, 2, 12, 20), "int8", **arguments)
    todo = plan(problem, replace(SMALL, **limits))
    assert all(isinstance(job, kind) for job in todo.jobs)
    (told,) = todo.notes
    assert note in told
    assert ("tiles" in told) == (kind is SlidingJob)


@pytest.mark.parametrize(
    "arguments", [{"strides": (2, 1, 1)}, {"start_padding": (1, 0, 0)}, {"end_padding": (1, 0, 0)}]
)
def test_planes_pass_one_by_one_through_a_core_of_planes(arguments):
    config = replace(SMALL, max_window=(1, 3, 3), max_line=64, max_plane=1)
    whole = plan(Pooling.of((1, 2, 3, 4, 5), "int8", (1, 2, 2)), config)
    assert isinstance(whole.jobs[0], SlidingJob)
    todo = plan(Pooling.of((1, 2, 3, 4, 5), "int8", (1, 2, 2), **arguments), config)
    assert all(isinstance(job, GatheredJob) for job in todo.jobs)
    assert "a stride or padding in depth needs max_window of at least 2" in todo.notes[0]


@pytest.mark.parametrize(("max_line", "jobs"), [(64, 4), (2, 8)])
def test_a_volume_passes_in_planes_where_there_is_no_depth_stage(max_line, jobs):
    """A job for each plane, or for each tile of one; the note says what the core lacks."""
    config = replace(SMALL, max_window=(1, 3, 3), max_line=max_line)
    todo = plan(Pooling.of((1, 2, 4, 5, 9), "int8", (1, 2, 2)), config)
    assert len(todo.jobs) == jobs
    assert (covered(todo) == 1).all()
    for job in todo.jobs:
        job.registers.to_bits(config)
    (note,) = todo.notes
    assert f"cut into {jobs} tiles: of 4 x 4 x 8 windows, " in note
    if max_line == 64:
        assert note.endswith(
            "planes pass one by one through a core without a depth stage (max_window 1 there)"
        )
    else:
        assert note.endswith("lines of at most 4 (max_line 2)")


@pytest.mark.parametrize("width", [1, 2, 7, 32])
def test_the_largest_tensor_that_fits_a_narrow_index(width):
    """All ones mark an empty window, so the last position must be smaller."""
    config = CoreConfig((DataType.INT8,), index_width=width, max_window=(1, 1, 3))
    most = (1 << width) - 1
    plan(Reduction.of("argmax", (most,), "int8"), config)
    plan(Pooling.of((1, 1, 1, most), "int8", 1, return_indices=True), config)


@pytest.mark.parametrize("width", [1, 2, 7, 31])
def test_a_tensor_larger_by_one_does_not_fit(width):
    config = CoreConfig((DataType.INT8,), index_width=width, max_window=(1, 1, 3))
    most = (1 << width) - 1
    message = rf"^positions to {most} need more than the core's index_width of {width}$"
    for problem in (
        Reduction.of("argmax", (most + 1,), "int8"),
        Pooling.of((1, 1, 1, most + 1), "int8", 1, return_indices=True),
    ):
        with pytest.raises(ValueError, match=message):
            plan(problem, config)
    # Where no positions are asked for, none need fit.
    plan(Reduction.of("max", (most + 1,), "int8"), config)
    plan(Pooling.of((1, 1, 1, most + 1), "int8", 1), config)


@pytest.mark.parametrize(
    ("max_window", "arguments"),
    [
        ((2, 1, 3), {"strides": (2, 1)}),
        ((2, 3, 1), {"end_padding": (0, 1)}),
        ((1, 1, 2), {"strides": 3}),
    ],
)
def test_single_taps_stride_and_pad_where_there_is_a_schedule(max_window, arguments):
    problem = Pooling.of((1, 2, 12, 20), "int8", 1, **arguments)
    todo = plan(problem, replace(SMALL, max_window=max_window))
    assert all(isinstance(job, SlidingJob) for job in todo.jobs)
    assert (covered(todo) == 1).all()


@pytest.mark.parametrize("axis", range(3))
def test_a_dilation_beyond_the_core_still_gives_jobs_that_fit_it(axis):
    """Also where the taps that are left are single: their dilation means nothing then."""
    dilations = tuple(2 if n == axis else 1 for n in range(3))
    limits = tuple(1 if n == axis else 2 for n in range(3))
    config = replace(SMALL, max_dilation=limits, max_line=64, max_plane=64)
    for size, end in ((4, 0), (4, 2), (1, 4)):
        sizes = (1, 1, *(size if n == axis else 3 for n in range(3)))
        padding = tuple(end if n == axis else 0 for n in range(3))
        problem = Pooling.of(sizes, "int8", 2, dilations=dilations, end_padding=padding)
        todo = plan(problem, config)
        assert (covered(todo) == 1).all() or end
        for job in todo.jobs:
            job.registers.to_bits(config)


def test_deep_windows_are_cut_by_planes():
    problem = Pooling.of((1, 1, 5, 6, 6), "int8", (2, 1, 1))
    todo = plan(problem, SMALL)
    assert "max_plane 9" in todo.notes[0]
    assert (covered(todo) == 1).all()


def test_a_type_that_is_not_built_in_is_refused():
    message = r"^the core was built for INT8, not for FLOAT32: add it to data_types$"
    with pytest.raises(ValueError, match=message):
        plan(Reduction.of("max", (4,), "float32"), SMALL)


# Sizes that no memory holds: nothing of them is stored, and no plan looks at the data.


def check_huge(todo):
    for job in (todo.jobs[0], todo.jobs[len(todo.jobs) // 2], todo.jobs[-1]):
        assert job.registers.slots <= MAX_SLOTS
        assert job.beats_in <= MAX_SLOTS
        job.registers.to_bits(todo.config)


@pytest.mark.parametrize("lanes", [1, 4, 7])
@pytest.mark.parametrize(
    ("sizes", "axes"),
    [
        ((2**32 - 1,), 0),
        ((2**16, 2**16 - 1), 0),
        ((2**16, 2**16 - 1), 1),
        ((2**32 - 1, 1), 1),
        ((3, 2**30), 1),
        ((2,) * 7 + (2**24,), (0, 3, 7)),
    ],
)
def test_huge_reductions(sizes, axes, lanes):
    config = CoreConfig((DataType.INT8,), lanes=lanes)
    todo = plan(Reduction.of("argmin", sizes, "int8", axes), config)
    check_huge(todo)
    jobs: list[Any] = list(todo.jobs)
    assert all(isinstance(job, ReductionJob) for job in jobs)
    # One after the other, and all of them.
    edges = [job.first for job in jobs] + [jobs[-1].stop]
    assert edges[0] == 0
    assert edges[-1] == math.prod(todo.problem.output_sizes)
    assert [job.stop for job in jobs] == edges[1:]


def test_more_slots_than_the_counter_has_are_split():
    """A group that does not divide the lanes costs slots beyond 2**32; a gap, a job more."""
    config = CoreConfig((DataType.INT8,), lanes=1)
    # Strides that skip nothing: one slot per element; padding: more slots than elements.
    problem = Pooling.of((2**16, 4, 1, 4), "int8", (1, 3), end_padding=(0, 8191 * 2 - 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extremum.host.plan.planner.MAX_SLOTS", 100_000)
        patch.setattr("extremum.host.plan.registers.MAX_SLOTS", 100_000)
        small = Pooling.of((50, 40, 4, 5), "int8", 3, start_padding=9, end_padding=9)
        todo = plan(small, replace(config, max_window=(1, 3, 3)))
        assert len(todo.jobs) > 1
        assert (covered(todo) == 1).all()
        assert all(job.registers.slots <= 100_000 for job in todo.jobs)
        first: Any = todo.jobs[0]
        one_more = replace(first, stop=first.stop + 1)
        assert one_more.schedule.slots > 100_000
        reduced = plan(Reduction.of("max", (400, 30, 10), "int8", 1), config)
        assert [job.beats_in for job in reduced.jobs] == [99_990, 20_010]
        assert (covered(reduced) == 1).all()
        # A tile that is too long by itself is gathered.
        long = Pooling.of((1, 1, 300, 300), "int8", 3, start_padding=50)
        assert "a schedule of" in plan(long, replace(config, max_window=(1, 3, 3))).notes[0]
    todo = plan(problem, config)
    assert all(job.registers.slots <= MAX_SLOTS for job in todo.jobs)
    assert sum(job.beats_out for job in todo.jobs) == math.prod(problem.output_sizes)


@pytest.mark.parametrize(
    ("sizes", "arguments"),
    [
        ((1, 1, 2**16, 2**16 - 1), {"window": 3}),
        ((1, 1, 1, 2**32 - 1), {"window": (1, 3), "strides": 2}),
        ((1, 1, 2**32 - 1, 1), {"window": (3, 1), "dilations": (2, 1)}),
        ((2**32 - 1, 1, 1, 1), {"window": 1}),
        ((1, 1, 2**11, 2**10, 2**10), {"window": (3, 3, 3), "strides": 4}),
        ((1, 2, 1, 2**31 - 10), {"window": (1, 2), "end_padding": (0, 5)}),
        ((1, 1, 1, 1), {"window": 1, "start_padding": (0, 2**31), "end_padding": (0, 2**30)}),
        ((1, 1, 1, 2**31), {"window": 1, "strides": (1, 2**15)}),
    ],
)
def test_huge_poolings(sizes, arguments):
    problem = Pooling.of(sizes, "int8", **arguments)
    config = CoreConfig((DataType.INT8,), lanes=4)
    looked_at = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "extremum.host.plan.tiles.cut", lambda *tile: looked_at.append(tile) or cut(*tile)
        )
        todo = plan(problem, config)
        assert todo.cycles >= todo.beats_in
    # However many tiles there are.
    assert len(looked_at) < 10_000
    if todo.jobs:
        check_huge(todo)
    jobs: list[Any] = list(todo.jobs)
    assert all(isinstance(job, SlidingJob) for job in jobs)
    # As many windows as the operator has, but for those of padding alone.
    slices = math.prod(sizes[:2])
    windows = sum(
        math.prod(tile.dimension.outputs for tile in job.tiles) * (job.stop - job.first)
        for job in jobs
    )
    assert windows <= math.prod(problem.output_sizes)
    if not any(problem.start_padding + problem.end_padding):
        assert windows == math.prod(problem.output_sizes)
    assert todo.beats_out >= windows // min(config.lanes, slices)


def test_strides_beyond_the_counters_are_gathered():
    config = CoreConfig((DataType.INT8,), lanes=4)
    for stride in (2**16, 2**20):
        problem = Pooling.of((1, 1, 1, 2**31), "int8", 1, strides=(1, stride))
        todo = plan(problem, config)
        assert "width of the stride" in todo.notes[0]
        assert todo.beats_out == -(-problem.output_sizes[3] // config.lanes)
    problem = Pooling.of((1, 1, 1, 2**20), "int8", (1, 2), dilations=(1, 2**16))
    assert "extent 65537 exceeds coordinate_width 16" in plan(problem, config).notes[0]


def test_gathered_windows_of_a_huge_tensor():
    """Only the plan: windows beyond the core, of more elements than one job may gather."""
    config = CoreConfig((DataType.INT8,), lanes=4)
    problem = Pooling.of((1, 1, 4096, 4096), "int8", (9, 9), strides=9)
    todo = plan(problem, config)
    jobs: list[Any] = list(todo.jobs)
    assert all(isinstance(job, GatheredJob) for job in jobs)
    # Whole lines of windows, one job after the other, and all of them.
    lines = GATHERED_ELEMENTS // 81 // 455
    assert [job.runs[1] for job in jobs] == [range(455)] * len(jobs)
    starts = range(0, 455, lines)
    assert [job.runs[0] for job in jobs] == [range(n, min(455, n + lines)) for n in starts]
    check_huge(todo)


def test_a_plan_of_very_many_jobs_is_not_laid_out():
    """Four thousand million windows of 90000 elements each: the plan looks at a few of them."""
    config = CoreConfig((DataType.INT8,), lanes=1)
    for size, padding in ((65535, 0), (65000, 200)):
        problem = Pooling.of((1, 1, size, size), "int8", 300, start_padding=padding)
        todo = plan(problem, config)
        check_huge(todo)
        outputs = size + padding - 299
        at_once = GATHERED_ELEMENTS // 300**2
        assert len(todo.jobs) == outputs * -(-outputs // at_once)
        assert todo.beats_out == outputs**2
        if not padding:
            assert todo.beats_in == outputs**2 * 300**2
            assert todo.cycles == todo.beats_in + len(todo.jobs) * latency(config)
    assert 0 < todo.beats_in < outputs**2 * 300**2


def met(dimension):
    """The numbers of the windows that meet an element, found tap by tap."""
    return [
        number
        for number in range(dimension.outputs)
        if any(
            0
            <= number * dimension.stride - dimension.start_padding + tap * dimension.dilation
            < dimension.size
            for tap in range(dimension.window)
        )
    ]


def test_windows_that_meet_an_element_are_found_by_arithmetic():
    gaps = 0
    for dimension in small_dimensions(4, 4, 4, 5, 6):
        found = met_windows(dimension)
        assert list(found) == met(dimension), dimension
        gaps += not isinstance(found, range)
    assert gaps


def sums(jobs):
    laid_out = list(jobs)
    return len(laid_out), *(
        sum(getattr(job, figure) for job in laid_out)
        for figure in ("cycles", "beats_in", "beats_out")
    )


@settings(max_examples=300)
@given(
    poolings(max_size=9),
    st.sampled_from([SMALL, *CORES.values()]),
    st.sampled_from([30, 200, 5000]),
    st.sampled_from([300, 2**32 - 1]),
)
def test_sums_over_kinds_of_jobs_are_the_sums_over_all_jobs(case, config, elements, slots):
    sizes, arguments = case
    problem = Pooling.of(sizes, config.data_types[0], **arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extremum.host.plan.planner.GATHERED_ELEMENTS", elements)
        patch.setattr("extremum.host.plan.planner.MAX_SLOTS", slots)
        todo = plan(problem, config)
        assert sums(todo.jobs) == (len(todo.jobs), todo.cycles, todo.beats_in, todo.beats_out)
        assert sum(number for _, number in todo.jobs.kinds()) == len(todo.jobs)
        times = covered(todo)
    # Exactly those windows are computed that hold an element, but for tiles that hold some.
    assert times.max(initial=0) <= 1
    assert (empties(problem) | (times == 1)).all()


@pytest.mark.parametrize("count", [1, 29, 30, 31, 90])
def test_sums_over_reductions_are_the_sums_over_all_jobs(count):
    for config in (SMALL, *CORES.values()):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("extremum.host.plan.planner.MAX_SLOTS", 100)
            todo = plan(Reduction.of("max", (count, 10), config.data_types[0], 1), config)
            assert sums(todo.jobs) == (len(todo.jobs), todo.cycles, todo.beats_in, todo.beats_out)


def test_jobs_are_a_sequence():
    todo = plan(Pooling.of((1, 2, 9, 20), "int8", 3), replace(SMALL, max_line=1))
    jobs = list(todo.jobs)
    assert len(jobs) == len(todo.jobs) > 5
    assert [todo.jobs[number] for number in range(-len(jobs), len(jobs))] == jobs * 2
    assert list(todo.jobs[2:5]) == jobs[2:5]
    assert list(reversed(todo.jobs)) == jobs[::-1]
    for number in (len(jobs), -len(jobs) - 1):
        with pytest.raises(IndexError, match=f"there are {len(jobs)} jobs, and none of number"):
            todo.jobs[number]


def test_a_single_window_over_everything():
    """Wherever windows do not overlap at all, gathering streams every element once."""
    problem = Pooling.of((2, 3, 300, 200), "int8", (300, 200))
    todo = plan(problem, CoreConfig((DataType.INT8,)))
    assert todo.beats_in == 2 * 3 * 300 * 200


def test_a_job_tells_what_it_is():
    config = CoreConfig((DataType.INT8,), lanes=4)
    for problem, summary in (
        (Reduction.of("max", (5, 9), "int8", 1), "results 0 to 4, each of 9 elements, folded"),
        (Reduction.of("max", (4, 9), "int8", 1), "results 0 to 3, each of 9 elements"),
        (Reduction.of("max", (9,), "int8"), "result 0, each of 9 elements, folded"),
        (Pooling.of((1, 3, 9, 8), "int8", 2), "1 x 8 x 7 windows from (0, 0, 0) of slices 0 to 2"),
        (Pooling.of((1, 1, 9, 8), "int8", 8), "2 x 1 windows from (0, 0) of slice 0, as rows"),
    ):
        (job,) = plan(problem, config).jobs
        assert job.summary == summary
