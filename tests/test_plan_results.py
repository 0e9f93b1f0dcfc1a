"""The arrays that results of jobs are put into: what they hold before a job, and their marks."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from extremum.hdl.config import CoreConfig
from extremum.host.errors import SimulationError
from extremum.host.plan import plan
from extremum.host.plan.expected import in_result_beats, numbers_of_results
from extremum.host.plan.jobs import scattering
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.results import EMPTY, Results, last_position, positions_fit
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import DataType, Pooling, Reduction

CONFIG = CoreConfig((DataType.INT8,))
PADDED = Pooling.of((1, 2, 3, 4), "int8", 2, start_padding=2, end_padding=2)


def test_before_the_first_job_every_window_is_empty():
    blank = Results.blank(PADDED, CONFIG)
    assert blank.values.dtype == np.int8
    assert (blank.values == -128).all()
    assert blank.positions is not None
    assert (blank.positions == 2**32 - 1).all()
    assert blank.values.shape == blank.positions.shape == PADDED.output_sizes


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("wrong", [-1, 0, 1])
def test_as_many_windows_are_marked_as_are_empty(monkeypatch, piece, wrong):
    """However many positions are looked at together, the last ones included."""
    monkeypatch.setattr("extremum.host.plan.results.PIECE", piece)
    count = PADDED.empty_windows + wrong
    results = Results.blank(PADDED, CONFIG)
    assert results.positions is not None
    results.positions.reshape(-1)[: results.positions.size - count] = 0
    if not wrong:
        assert results.count_empty_windows() == PADDED.empty_windows > 7
        return
    with pytest.raises(SimulationError, match=f"mark {count - wrong} .* and marked {count}: "):
        results.count_empty_windows()


def test_more_windows_than_python_keeps_numbers_for():
    """Equal numbers are equal, whether or not they are one object."""
    problem = Pooling.of((1, 1, 40, 40), "int8", 1, start_padding=30)
    results = Results.blank(problem, CONFIG)
    assert results.positions is not None
    results.positions.reshape(-1)[problem.empty_windows :] = 0
    assert results.count_empty_windows() == problem.empty_windows == 70 * 70 - 1600


def test_results_of_other_jobs_have_no_number():
    """Each result of a plan of two jobs is of one of them, and minus one in the other."""
    config = replace(CONFIG, max_window=(2, 2, 2), max_line=16, max_plane=64)
    problem = Pooling.of((1, 1, 4, 11, 11), "int8", 2)
    todo = plan(problem, config)
    jobs: list[Any] = list(todo.jobs)
    numbers = [numbers_of_results(job) for job in jobs]
    assert todo.notes == (
        "cut into 2 tiles: of 3 x 10 x 10 windows, the storage holds planes of at most 64 "
        "(max_plane 64)",
    )
    assert ((numbers[0] == -1) ^ (numbers[1] == -1)).all()
    for found in numbers:
        mine = np.sort(found[found != -1])
        assert mine.tolist() == list(range(mine.size))


@pytest.mark.parametrize(
    ("problem", "lanes"),
    [
        (Pooling.of((1, 7, 9, 11), "int8", 2, strides=3, start_padding=1), 4),
        (Pooling.of((1, 1, 4, 11, 11), "int8", 2), 1),
        (Reduction.of("argmax", (7, 5), "int8", 1), 4),
        (Reduction.of("argmax", (3, 10), "int8", 1), 4),  # folded: results leave packed
    ],
)
def test_results_in_beats_are_those_that_a_job_gives(problem, lanes):
    """All jobs together give each output once; lanes without a result are 0."""
    todo = plan(problem, CoreConfig((DataType.INT8,), lanes, max_line=16, max_plane=64))
    outputs = np.arange(1, math.prod(problem.output_sizes) + 1).reshape(problem.output_sizes)
    seen, is_one = [], np.ones(problem.output_sizes, bool)
    for job in todo.jobs:
        assert isinstance(job, ReductionJob | SlidingJob)
        beats, marks = in_result_beats(job, outputs, is_one)
        assert beats.shape == marks.shape == (job.beats_out, lanes)
        assert (beats.dtype, marks.dtype) == (outputs.dtype, np.bool_)
        assert (marks == (beats != 0)).all()
        mine = beats[marks].tolist()
        given = np.zeros(problem.output_sizes, np.int64)
        job.scatter(beats, beats, Results(problem, given, None))
        assert sorted(mine) == given[given != 0].tolist()
        assert (given[given != 0] == outputs[given != 0]).all()
        seen += mine
    assert sorted(seen) == outputs.reshape(-1).tolist()


def test_pieces_are_large_and_their_number_does_not_show():
    """More positions than are looked at together by default."""
    problem = Reduction.of("argmax", (2**20 + 3, 1), "int8", 1)
    results = Results.blank(problem, CONFIG)
    assert results.positions is not None
    results.positions[:] = 0
    assert results.count_empty_windows() == 0
    results.positions[-1] = EMPTY
    with pytest.raises(SimulationError, match="must mark 0 windows as empty, and marked 1"):
        results.count_empty_windows()


def test_positions_that_do_not_fit_are_left_out():
    narrow = CoreConfig((DataType.INT8,), index_width=3)
    for size, fits in ((7, True), (8, False)):
        problem = Reduction.of("max", (size,), "int8")
        assert last_position(problem) == size - 1
        assert positions_fit(problem, narrow) == fits
        blank = Results.blank(problem, narrow)
        assert (blank.positions is not None) == fits
        assert len(list(blank.pairs(blank.values, blank.values))) == 1 + fits
    pooling = Pooling.of((2, 1, 2, 2), "int8", 1)
    assert last_position(pooling) == 7
    assert not positions_fit(pooling, narrow)
    assert Results.blank(pooling, narrow).count_empty_windows() == 0


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize("index_type", ["uint32", "uint64"])
def test_an_empty_window_has_all_ones_in_every_type(wanted, index_type):
    problem = Pooling.of(
        PADDED.sizes, "int8", 2, start_padding=2, end_padding=2, return_indices=wanted,
        index_type=index_type,
    )  # fmt: skip
    results = Results.blank(problem, CONFIG)
    assert results.positions is not None
    results.positions[0, 1, 2] = 5
    done = results.finish()
    if not wanted:
        assert done is results.values
        return
    values, indices = done
    assert values is results.values
    assert indices.dtype == index_type
    assert (indices[0, 1, 2] == 5).all()
    ones = np.array(-1).astype(index_type)
    assert (indices[0, 0] == ones).all()
    assert np.count_nonzero(indices == ones) == indices.size - indices.shape[-1]


def test_positions_of_a_reduction():
    problem = Reduction.of("argmin", (3, 4), "int8", 1)
    results = Results.blank(problem, CONFIG)
    assert results.positions is not None
    results.positions[:] = [[3], [0], [1]]
    done = results.finish()
    assert isinstance(done, np.ndarray)
    assert done.dtype == problem.index_type
    assert done.tolist() == [[3], [0], [1]]
    values = Results.blank(Reduction.of("min", (3,), "int8"), CONFIG).finish()
    assert isinstance(values, np.ndarray)
    assert values.tolist() == [-128]


def test_parts_of_a_reduction_that_begins_anywhere_are_put_where_they_belong():
    """Its first result need not be a multiple of the lanes."""
    problem = Reduction.of("argmax", (11, 9), "int8", 1)
    config = CoreConfig((DataType.INT8,), lanes=2, operators=("argmax",))
    results = Results.blank(problem, config)
    job = ReductionJob(problem, config, 3, 8)
    positions = np.array([[3, 4], [5, 6], [7, 0]], np.uint32)
    for start in range(3):
        part = positions[start : start + 1]
        job.scatter(np.zeros(part.shape, np.int8), part, results, start)
    assert results.positions is not None
    assert results.positions.reshape(-1)[3:8].tolist() == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("at_once", [1, 2, 100])
@pytest.mark.parametrize(
    ("problem", "lanes", "fixed"),
    [
        (Reduction.of("argmax", (4, 2, 19), "int8", 1), 5, ()),
        (Pooling.of((3, 4, 3, 5), "int8", 2, return_indices=True), 5, ()),
        (Pooling.of((3, 4, 3, 5), "int8", 2, return_indices=True), 2, (("groups", 3),)),
        (Pooling.of((3, 4, 3, 5), "int8", (3, 4), return_indices=True), 5, ()),
    ],
    ids=["reduction", "sliding", "in two jobs", "gathered"],
)
def test_results_that_come_in_parts_are_put_where_they_belong(problem, lanes, fixed, at_once):
    """As many beats at a time as belong together, or twice as many, or all."""
    config = CoreConfig((DataType.INT8,), lanes=lanes, max_window=(1, 3, 3), fixed=fixed)
    whole, parts = (Results.blank(problem, config) for _ in range(2))
    for number, job in enumerate(plan(problem, config).jobs):
        shape = job.beats_out, config.lanes
        values = np.arange(100 * number, 100 * number + np.prod(shape)).reshape(shape)
        positions = values % min(job.rows.length, 90)
        job.scatter(values, positions, whole)
        take, step = scattering(job, parts), at_once * job.together
        for start in range(0, job.beats_out, step):
            take(values[start : start + step], positions[start : start + step])
    assert whole.positions is not None
    assert parts.positions is not None
    assert (parts.values == whole.values).all()
    assert (parts.positions == whole.positions).all()
    # Nothing is left as it was before, and neighbours have other values.
    assert (whole.positions != EMPTY).all()
    assert len(np.unique(whole.values)) > 20 or whole.values.size < 20
