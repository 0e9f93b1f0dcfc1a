"""Plans compute every output once, account for every slot, and accept every size."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amounts import some
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import SMALL, covered, empties
from strategies import poolings

from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import latency
from extremum.host.plan import plan
from extremum.host.plan.gathered_jobs import GatheredJob
from extremum.host.plan.registers import dimension_registers, schedule
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import DataType, Pooling, Reduction
from extremum.tb.cores import CORES


@settings(max_examples=some(150))
@given(poolings(), st.sampled_from([SMALL, *CORES.values()]))
def test_every_window_is_computed_once(case, config):
    sizes, arguments = case
    problem = Pooling.of(sizes, config.data_types[0], **arguments)
    todo = plan(problem, config)
    times = covered(todo)
    assert times.max(initial=0) <= 1
    # A window of padding alone need not be computed, since the results are blank as it would be.
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
    """Return the slots of all elements and those of all windows, in the order of the schedule.

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


@settings(max_examples=some(200))
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
        ({}, {"window": (2, 4)}, GatheredJob, "window width 4 exceeds max_window 3"),
        ({}, {"window": (4, 2)}, GatheredJob, "window height 4 exceeds max_window 3"),
        ({}, {"window": 2, "dilations": (1, 3)}, GatheredJob, "dilation 3 exceeds max_dilation 2"),
        ({}, {"window": 2, "dilations": (9, 1)}, GatheredJob, "no line or plane"),
    ],
)
def test_what_exceeds_the_core_is_told(limits, arguments, kind, note):
    """A pooling beyond a limit is cut into tiles or gathered, and the note names the limit."""
    problem = Pooling.of((1, 2, 12, 20), "int8", **arguments)
    todo = plan(problem, replace(SMALL, **limits))
    assert all(isinstance(job, kind) for job in todo.jobs)
    (told,) = todo.notes
    assert note in told
    assert ("tiles" in told) == (kind is SlidingJob)


@pytest.mark.parametrize("size", [7, 257, 5000])
def test_planes_of_a_long_tensor_pass_where_there_is_no_depth_stage(size):
    config = CoreConfig((DataType.INT8,), max_window=(1, 3, 3))
    todo = plan(Pooling.of((1, 1, size, 4, 5), "int8", (1, 2, 2)), config)
    assert len(todo.jobs) == size
    assert isinstance(todo.jobs[-1], SlidingJob)


def test_a_single_tile_is_told_as_one():
    """All others are left out, since their windows lie in the padding."""
    problem = Pooling.of((1, 1, 1, 4), "int8", (1, 1), start_padding=(0, 40))
    (note,) = plan(problem, replace(SMALL, coordinate_width=4)).notes
    assert note.startswith("cut into 1 tile: of 1 x 1 x 44 windows, ")


@pytest.mark.parametrize(
    "arguments", [{"strides": (2, 1, 1)}, {"start_padding": (1, 0, 0)}, {"end_padding": (1, 0, 0)}]
)
def test_a_stride_or_padding_in_depth_is_gathered_in_a_core_of_planes(arguments):
    """Such a core pools plane by plane, so it has no schedule for strides or padding in depth."""
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
        assert note.endswith("lines of at most 4 (max_line 2, with room for a dilation of 2)")


@pytest.mark.parametrize("padding", ["start_padding", "end_padding"])
@pytest.mark.parametrize("axis", [0, 1], ids=["height", "width"])
def test_a_core_without_padding_has_padded_windows_gathered(padding, axis):
    config = replace(SMALL, padding=False)
    beside = tuple(int(n == axis) for n in range(2))
    paddings: dict[str, Any] = {padding: beside}
    problem = Pooling.of((1, 2, 5, 5), "int8", 3, **paddings)
    todo = plan(problem, config)
    assert all(isinstance(job, GatheredJob) for job in todo.jobs)
    name = ("height", "width")[axis]
    assert todo.notes[0] == (
        f"gathered by the host: padding in {name} needs a core that was built with padding"
    )
    for job in todo.jobs:
        job.registers.to_bits(config)
    with pytest.raises(ValueError, match=f"for an argmax: padding in {name} needs a core"):
        plan(problem, replace(config, operators=("max-pool",)))


@pytest.mark.parametrize(
    ("window", "stride", "end", "size"), [(2, 2, 1, 5), (3, 4, 2, 5), (3, 4, 1, 6)]
)
def test_a_core_without_padding_has_early_windows_gathered(window, stride, end, size):
    """A window that is given early has taps in the padding, although its slot has an element."""
    config = replace(SMALL, padding=False)
    problem = Pooling.of(
        (1, 2, 1, size), "int8", (1, window), strides=(1, stride), end_padding=(0, end)
    )
    (job,) = plan(problem, SMALL).jobs
    assert job.registers.width.shift > 0
    assert job.registers.width.final < job.registers.width.size
    assert all(isinstance(job, GatheredJob) for job in plan(problem, config).jobs)
    with pytest.raises(ValueError, match="built without padding, and the job's width has it"):
        job.registers.to_bits(config)


def test_a_core_without_padding_has_windows_gathered_behind_which_others_would_fit():
    """Without the tap in the padding there is room for a second window, which it would give too."""
    config = replace(SMALL, padding=False, max_dilation=(1, 2, 2))
    problem = Pooling.of((1, 2, 2, 2), "int8", (2, 1), end_padding=(1, 0), dilations=(2, 1))
    (job,) = plan(problem, replace(config, padding=True)).jobs
    assert (job.registers.height.window, problem.output_sizes[2]) == (1, 1)
    assert all(isinstance(job, GatheredJob) for job in plan(problem, config).jobs)
    with pytest.raises(ValueError, match="built without padding, and the job's height has it"):
        job.registers.to_bits(config)


@pytest.mark.parametrize(("window", "stride", "end"), [(3, 1, 0), (2, 2, 0), (3, 3, 2), (3, 2, 1)])
def test_windows_that_stay_inside_slide_in_a_core_without_padding(window, stride, end):
    """End padding counts for nothing if no window reaches it, or if it is all that one lacks."""
    config = replace(SMALL, padding=False)
    size = window if stride == 1 else 2
    problem = Pooling.of((1, 2, size, size), "int8", window, strides=stride, end_padding=end)
    (job,) = plan(problem, config).jobs
    assert isinstance(job, SlidingJob)
    job.registers.to_bits(config)


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
    need = f"need more than the core's index_width of {width}: build one of {width + 1}"
    message = rf"^positions to {most} {need}$"
    for problem in (
        Reduction.of("argmax", (most + 1,), "int8"),
        Pooling.of((1, 1, 1, most + 1), "int8", 1, return_indices=True),
    ):
        with pytest.raises(ValueError, match=message):
            plan(problem, config)
    # An operator that gives no positions does not need a wide index.
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
    """A dimension whose max_window is 1 has a schedule too, if one beside it has windows."""
    problem = Pooling.of((1, 2, 12, 20), "int8", 1, **arguments)
    todo = plan(problem, replace(SMALL, max_window=max_window))
    assert all(isinstance(job, SlidingJob) for job in todo.jobs)
    assert (covered(todo) == 1).all()


@pytest.mark.parametrize("axis", range(3))
def test_a_dilation_beyond_the_core_still_gives_jobs_that_fit_it(axis):
    """It does so too if only one tap of a window meets elements, which leaves no dilation."""
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


def test_a_single_window_over_everything():
    """Gathering windows that do not overlap streams every element once."""
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


def test_jobs_of_a_fixed_window_are_split_by_the_slots_that_they_take(monkeypatch):
    """Such a core keeps all taps of a window, so its lines may be longer than in another core."""
    most = 60
    for module in ("planner", "registers"):
        monkeypatch.setattr(f"extremum.host.plan.{module}.MAX_SLOTS", most)
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 3, 3), max_dilation=(1, 1, 1), operators=("max-pool",),
        fixed=(("height.window", 3), ("width.window", 3)),
    )  # fmt: skip
    problem = Pooling.of((40, 1, 1, 6), "int8", 3, start_padding=1, end_padding=1)
    todo = plan(problem, config)
    assert len(todo.jobs) > 1
    assert all(job.registers.slots <= most for job in todo.jobs)
    assert (covered(todo) == 1).all()
