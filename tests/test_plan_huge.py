"""Plans of tensors too large for any memory: a plan looks at no data, and not at every tile."""

import math
from dataclasses import replace
from typing import Any

import pytest
from amounts import mostly_slow
from plans import covered

from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import latency
from extremum.host.plan import plan
from extremum.host.plan.gathered_jobs import GATHERED_ELEMENTS, GatheredJob
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.registers import MAX_SLOTS
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.host.plan.tiles import cut
from extremum.model import DataType, Pooling, Reduction


def check_huge(todo):
    """Check some jobs of a plan that has too many to look at all of them."""
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
    # The jobs follow each other without a gap, and cover all results.
    edges = [job.first for job in jobs] + [jobs[-1].stop]
    assert edges[0] == 0
    assert edges[-1] == math.prod(todo.problem.output_sizes)
    assert [job.stop for job in jobs] == edges[1:]


def test_more_slots_than_the_counter_has_are_split():
    """A job has as many slices as fit the slot counter, and not one more."""
    config = CoreConfig((DataType.INT8,), lanes=1)
    # A generous end padding: a job has more slots than elements.
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
        # If a single slice has too many slots, the windows are gathered.
        long = Pooling.of((1, 1, 300, 300), "int8", 3, start_padding=50)
        assert "a schedule of" in plan(long, replace(config, max_window=(1, 3, 3))).notes[0]
    todo = plan(problem, config)
    assert all(job.registers.slots <= MAX_SLOTS for job in todo.jobs)
    assert sum(job.beats_out for job in todo.jobs) == math.prod(problem.output_sizes)


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_a_pooling_has_as_many_slices_as_fit_the_slot_counter(lanes):
    config = CoreConfig((DataType.INT8,), lanes=lanes, max_window=(1, 3, 3))
    problem = Pooling.of((1, 40, 3, 4), "int8", 2)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("planner", "registers"):
            patch.setattr(f"extremum.host.plan.{module}.MAX_SLOTS", 60)
        todo = plan(problem, config)
        jobs: list[Any] = list(todo.jobs)
        assert [job.first for job in jobs] == list(range(0, 40, 5 * lanes))
        assert [job.registers.slots for job in jobs[:-1]] == [60] * (len(jobs) - 1)
        # A slice has 12 elements, and the last tap of the first window is the second in its line.
        assert [job.registers.origin for job in jobs] == [5 + 12 * job.first for job in jobs]
        assert (covered(todo) == 1).all()


@pytest.mark.parametrize(("most", "kind"), [(12, "sliding"), (11, "gathered")])
def test_a_slice_may_take_all_slots_that_are_counted(monkeypatch, most, kind):
    """Here it takes 12, one for each element."""
    for module in ("planner", "registers"):
        monkeypatch.setattr(f"extremum.host.plan.{module}.MAX_SLOTS", most)
    config = CoreConfig((DataType.INT8,), max_window=(1, 3, 3))
    jobs = list(plan(Pooling.of((1, 2, 3, 4), "int8", 2), config).jobs)
    assert {job.kind for job in jobs} == {kind}


@pytest.mark.parametrize(
    ("lanes", "fold", "results"), [(1, None, 10), (3, None, 30), (4, None, 10), (4, 1, 10)]
)
def test_a_reduction_has_as_many_results_as_surely_fit_the_slot_counter(lanes, fold, results):
    """Ten slots of a result in each lane; a core that can fold may need them for each result."""
    fixed = () if fold is None else (("fold", fold),)
    config = CoreConfig((DataType.INT8,), lanes=lanes, fixed=fixed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extremum.host.plan.planner.MAX_SLOTS", 109)
        todo = plan(Reduction.of("max", (95, 10), "int8", 1), config)
    jobs: list[Any] = list(todo.jobs)
    starts = range(0, 95, results)
    assert [(job.first, job.stop) for job in jobs] == [(n, min(95, n + results)) for n in starts]
    assert all(job.registers.slots <= 109 for job in jobs)


HUGE = [
    ((1, 1, 2**16, 2**16 - 1), {"window": 3}),
    ((1, 1, 1, 2**32 - 1), {"window": (1, 3), "strides": 2}),
    ((1, 1, 2**32 - 1, 1), {"window": (3, 1), "dilations": (2, 1)}),
    ((2**32 - 1, 1, 1, 1), {"window": 1}),
    ((1, 1, 2**11, 2**10, 2**10), {"window": (3, 3, 3), "strides": 4}),
    ((1, 2, 1, 2**31 - 10), {"window": (1, 2), "end_padding": (0, 5)}),
    ((1, 1, 1, 1), {"window": 1, "start_padding": (0, 2**31), "end_padding": (0, 2**30)}),
    ((1, 1, 1, 2**31), {"window": 1, "strides": (1, 2**15)}),
]


@pytest.mark.parametrize(("sizes", "arguments"), mostly_slow(HUGE, [*HUGE[:1], *HUGE[3:]]))
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
    # So few looks, however many tiles there are.
    assert len(looked_at) < 10_000
    if todo.jobs:
        check_huge(todo)
    jobs: list[Any] = list(todo.jobs)
    assert all(isinstance(job, SlidingJob) for job in jobs)
    # All windows of the operator are computed, but for tiles of padding alone.
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
        assert "width stride" in todo.notes[0]
        assert todo.beats_out == -(-problem.output_sizes[3] // config.lanes)
    problem = Pooling.of((1, 1, 1, 2**20), "int8", (1, 2), dilations=(1, 2**16))
    assert "extent 65537 exceeds coordinate_width 16" in plan(problem, config).notes[0]


def test_gathered_windows_of_a_huge_tensor():
    """Windows that the core cannot slide, of more elements than one job may gather."""
    config = CoreConfig((DataType.INT8,), lanes=4)
    problem = Pooling.of((1, 1, 4096, 4096), "int8", (9, 9), strides=9)
    todo = plan(problem, config)
    jobs: list[Any] = list(todo.jobs)
    assert all(isinstance(job, GatheredJob) for job in jobs)
    # The jobs are whole lines of windows, without a gap, and cover all of them.
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
