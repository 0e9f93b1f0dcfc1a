"""The jobs of a plan as a sequence, and what is known of all of them without laying them out."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amounts import some
from hypothesis import given, settings
from hypothesis import strategies as st
from lines import small_dimensions
from plans import SMALL, covered, empties
from strategies import poolings

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.host.plan.results import Results
from extremum.host.plan.windows import most_met_by
from extremum.model import DataType, EmptyWindowWarning, Pooling, Reduction
from extremum.tb.cores import CORES


def met(dimension):
    """Return the numbers of the windows that meet an element, found tap by tap."""
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
        found = dimension.met_windows
        assert list(found) == met(dimension), dimension
        gaps += not isinstance(found, range)
    assert gaps


@given(poolings(max_size=9))
def test_empty_windows_are_counted_as_the_golden_model_does(case):
    sizes, arguments = case
    problem = Pooling.of(sizes, "int8", **arguments)
    assert problem.empty_windows == np.sum(empties(problem))


def test_empty_windows_of_a_padding_that_no_memory_holds():
    padding: Any = {"start_padding": (0, 2**31), "end_padding": (0, 2**30)}
    problem = Pooling.of((1, 1, 1, 1), "int8", 1, **padding)
    assert plan(problem, CoreConfig((DataType.INT8,))).empty_windows == 2**31 + 2**30
    problem = Pooling.of((1, 1, 1, 7), "int8", (1, 3), strides=2, **padding)
    assert problem.empty_windows == problem.output_sizes[3] - 5


def sums(jobs):
    """Return the number of jobs, and the sums of their cycles and beats, job by job."""
    laid_out = list(jobs)
    return len(laid_out), *(
        sum(getattr(job, figure) for job in laid_out)
        for figure in ("cycles", "beats_in", "beats_out")
    )


@settings(max_examples=some(300))
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
        assert all(job.beats_out % job.together == 0 for job, _ in todo.jobs.kinds())
        assert sum(number for _, number in todo.jobs.kinds()) == len(todo.jobs)
        times = covered(todo)
    # All windows that hold an element are computed; a tile may hold others beside them.
    assert times.max(initial=0) <= 1
    assert (empties(problem) | (times == 1)).all()


@pytest.mark.parametrize("count", [1, 29, 30, 31, 90])
def test_sums_over_reductions_are_the_sums_over_all_jobs(count):
    for config in (SMALL, *CORES.values()):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("extremum.host.plan.planner.MAX_SLOTS", 100)
            todo = plan(Reduction.of("max", (count, 10), config.data_types[0], 1), config)
            assert sums(todo.jobs) == (len(todo.jobs), todo.cycles, todo.beats_in, todo.beats_out)
            assert all(job.beats_out % job.together == 0 for job, _ in todo.jobs.kinds())


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


@pytest.mark.parametrize(
    ("function", "direction"),
    [
        ("min", "increasing"),
        ("max", "increasing"),
        *((arg, way) for arg in ("argmin", "argmax") for way in ("increasing", "decreasing")),
    ],
)
@pytest.mark.parametrize("nan", ["propagate", "ignore"])
def test_registers_of_a_reduction_say_what_wins(function, nan, direction):
    config = CoreConfig((DataType.INT8, DataType.FLOAT16), lanes=2)
    problem = Reduction.of(function, (3, 5), "float16", 1, axis_direction=direction, nan=nan)
    (job,) = plan(problem, config).jobs
    registers = job.registers
    assert registers.minimum == function.endswith("min")
    assert registers.decreasing == (direction == "decreasing")
    assert registers.ignore_nan == (nan == "ignore")
    assert registers.data_type == config.data_type_code(DataType.FLOAT16) == 1


@pytest.mark.parametrize("window", [2, 9])
@pytest.mark.parametrize("nan", ["propagate", "ignore"])
def test_registers_of_a_pooling_say_whether_nans_count(window, nan):
    """Windows that slide, and windows that are gathered."""
    config = CoreConfig((DataType.INT8, DataType.FLOAT16), lanes=2)
    todo = plan(Pooling.of((1, 1, 9, 9), "float16", window, nan=nan), config)
    assert [job.kind for job in todo.jobs] == ["sliding" if window == 2 else "gathered"]
    for job in todo.jobs:
        assert job.registers.ignore_nan == (nan == "ignore")
        assert not job.registers.minimum
        assert not job.registers.decreasing
        assert job.registers.data_type == 1


@pytest.mark.parametrize("fixed", [(), (("ignore_nan", 0),), (("ignore_nan", 1),)])
@pytest.mark.parametrize("nan", ["propagate", "ignore"])
def test_integers_take_any_nan_mode(fixed, nan):
    """They have no NaN. A float needs the mode that the core has fixed."""
    config = CoreConfig((DataType.INT8, DataType.FLOAT16), lanes=2, fixed=fixed)
    wanted = fixed == (("ignore_nan", 1),)
    for name in ("int8", "float16"):
        for problem in (
            Reduction.of("argmax", (3, 5), name, 1, nan=nan),
            Pooling.of((1, 1, 9, 9), name, 2, nan=nan),
            Pooling.of((1, 1, 9, 9), name, 9, nan=nan),
        ):
            if name == "float16" and fixed and wanted != (nan == "ignore"):
                with pytest.raises(ValueError, match=r"ignore_nan fixed to [01], .* needs [01]$"):
                    plan(problem, config).check_fixed()
            else:
                todo = plan(problem, config)
                todo.check_fixed()
                (job,) = todo.jobs
                expected = nan == "ignore" if name == "float16" else wanted
                assert job.registers.ignore_nan == expected


def test_the_most_elements_of_a_run_of_windows():
    """No window of a run meets more; one that reaches into one padding at most, as many."""
    exact = 0
    for dimension in small_dimensions(4, 4, 4, 5, 6):
        numbers = met(dimension)
        counts = []
        for place, number in enumerate(numbers):
            start = number * dimension.stride - dimension.start_padding
            taps = [start + tap * dimension.dilation for tap in range(dimension.window)]
            counts.append(sum(0 <= tap < dimension.size for tap in taps))
            bound = most_met_by(dimension, range(place, place + 1))
            assert bound >= counts[-1], dimension
            if taps[0] >= 0 or taps[-1] < dimension.size:
                assert bound == counts[-1], dimension
                exact += 1
        for first in range(len(numbers)):
            assert most_met_by(dimension, range(first, len(numbers))) >= max(counts[first:])
    assert exact > 1000


def carried_out(todo, x):
    """Carry out a plan of rows by NumPy; return what its results are, and those of the model."""
    problem, lanes = todo.problem, todo.config.lanes
    results = Results.blank(problem, todo.config)
    for job in todo.jobs:
        rows = job.slices(x)
        assert rows.shape == (job.rows.count, job.rows.length)
        beats = np.zeros((2, job.beats_out * lanes), np.int64)
        ordinals = rows.argmax(axis=1)
        beats[:, : len(rows)] = rows[np.arange(len(rows)), ordinals], ordinals
        values, positions = beats.reshape(2, -1, lanes)
        job.scatter(values, positions, results)
    assert results.count_empty_windows() == todo.empty_windows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyWindowWarning)
        return results.finish(), problem.evaluate(x)


@settings(max_examples=100)
@given(poolings(max_size=9), st.sampled_from([1, 30, 5000]), st.integers(0, 9))
def test_gathered_windows_have_their_elements_and_no_others(case, elements, seed):
    """The first of equal elements wins, as long as they come in order."""
    sizes, arguments = case
    x = np.random.default_rng(seed).integers(-4, 3, sizes).astype(np.int8)
    config = CoreConfig((DataType.INT8,), lanes=3, max_window=(1, 1, 1))
    problem = Pooling.of(sizes, "int8", **arguments, return_indices=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extremum.host.plan.planner.GATHERED_ELEMENTS", elements)
        (values, indices), (true_values, true_indices) = carried_out(plan(problem, config), x)
    assert (values == true_values).all()
    assert (indices == true_indices).all()


@pytest.mark.parametrize("axes", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("slots", [60, 2**32 - 1])
def test_rows_of_a_reduction_have_their_elements_in_order(axes, slots):
    x = np.random.default_rng(1).integers(-4, 3, (3, 4, 5)).astype(np.int8)
    config = CoreConfig((DataType.INT8,), lanes=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extremum.host.plan.planner.MAX_SLOTS", slots)
        todo = plan(Reduction.of("argmax", x.shape, "int8", axes), config)
    found, true = carried_out(todo, x)
    assert np.array_equal(found, true)
