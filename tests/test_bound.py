"""The bound of `bench/bound.py`, against a simulation of each beat and on shapes done by hand."""

import itertools
import math
import time
import tomllib

import numpy as np
import pytest
from bench_files import BENCH, bench_modules
from hypothesis import given
from hypothesis import strategies as st

from extremum.model import Pooling, Reduction, SpatialDimension

(bounds,) = bench_modules("bound")


def last_clock(needs: list[set[int]], beats_in: int) -> int:
    """Take a beat and give a beat in each clock, as soon as that can be; count the clocks."""
    clock = given = 0
    while clock < beats_in or given < len(needs):
        # In this clock, beat `clock` is taken.
        if given < len(needs) and all(beat <= clock for beat in needs[given]):
            given += 1
        clock += 1
    return clock


def elements(dimension: SpatialDimension, window: int) -> list[int]:
    """Return the elements that a window meets, tap by tap."""
    start = window * dimension.stride - dimension.start_padding
    places = (start + tap * dimension.dilation for tap in range(dimension.window))
    return [place for place in places if 0 <= place < dimension.size]


def naive_pooling(problem: Pooling, lanes: int) -> int:
    """Simulate a pooling, slices in the lanes, from the elements of each window."""
    sizes = [dimension.size for dimension in problem.spatial]
    groups = -(-math.prod(problem.sizes[:2]) // lanes)
    needs = []
    for group in range(groups):
        for window in np.ndindex(*(dimension.outputs for dimension in problem.spatial)):
            met = itertools.product(*map(elements, problem.spatial, window))
            plane = group * math.prod(sizes)
            needs.append({plane + int(np.ravel_multi_index(place, sizes)) for place in met})
    return last_clock(needs, groups * math.prod(sizes))


def naive_reduction(problem: Reduction, lanes: int) -> int:
    """Simulate a reduction with slices in the lanes, and as a fold; take the faster."""
    results, count = math.prod(problem.output_sizes), problem.count
    groups = -(-results // lanes)
    sliced = [set(range(group * count, (group + 1) * count)) for group in range(groups)]
    row = -(-count // lanes)
    rows = [set(range(result * row, (result + 1) * row)) for result in range(results)]
    folded = [set().union(*rows[first : first + lanes]) for first in range(0, results, lanes)]
    return min(last_clock(sliced, groups * count), last_clock(folded, results * row))


@st.composite
def dimensions(draw, rank):
    """Draw pooled dimensions; padding may hold whole windows."""
    drawn = []
    while len(drawn) < rank:
        window, stride, dilation = (draw(st.integers(1, 4)) for _ in range(3))
        extent = 1 + (window - 1) * dilation
        size = draw(st.integers(1, 5))
        start, end = (draw(st.integers(0, 6)) for _ in range(2))
        end += max(0, extent - size - start - end)
        drawn.append(SpatialDimension(size, window, stride, dilation, start, end))
    return drawn


@given(data=st.data(), rank=st.integers(2, 3), slices=st.integers(1, 5), lanes=st.integers(1, 4))
def test_pooling_against_the_simulation(data, rank, slices, lanes):
    drawn = data.draw(dimensions(rank))
    problem = Pooling.of(
        (1, slices, *(d.size for d in drawn)),
        "int8",
        [d.window for d in drawn],
        strides=[d.stride for d in drawn],
        start_padding=[d.start_padding for d in drawn],
        end_padding=[d.end_padding for d in drawn],
        dilations=[d.dilation for d in drawn],
    )
    found = bounds.bound(problem, lanes)
    assert found.clocks == naive_pooling(problem, lanes)
    groups = -(-slices // lanes)
    assert found.beats_in == groups * math.prod(problem.sizes[2:])
    assert found.beats_out == groups * math.prod(problem.output_sizes[2:])


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    lanes=st.integers(1, 5),
    data=st.data(),
)
def test_reduction_against_the_simulation(sizes, lanes, data):
    axes = data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))
    problem = Reduction.of("argmax", sizes, "int8", sorted(axes))
    assert bounds.bound(problem, lanes).clocks == naive_reduction(problem, lanes)


@pytest.mark.parametrize(
    ("dimension", "last"),
    [
        (SpatialDimension(5, 3), [2, 3, 4]),
        (SpatialDimension(4, 3, start_padding=1, end_padding=1), [1, 2, 3, 3]),
        (SpatialDimension(3, 2, dilation=2, end_padding=2), [2, 1, 2]),
        # Windows of padding alone, before and after the elements, and one between its taps.
        (SpatialDimension(1, 1, start_padding=1, end_padding=1), [None, 0, None]),
        (SpatialDimension(1, 2, dilation=2, start_padding=1, end_padding=1), [None]),
    ],
)
def test_last_element(dimension, last):
    wanted = [bounds.NOTHING if place is None else place for place in last]
    assert bounds.last_element(dimension).tolist() == wanted


def test_outputs_that_reach_into_end_padding_follow_the_last_input():
    same = Pooling.of((1, 2, 4, 4), "int8", 3, start_padding=1, end_padding=1)
    # The first output of the last slice leaves with beat 5 of that slice, the other 15 behind it.
    assert bounds.bound(same, 1) == (32, 32, 32 + 5)
    assert bounds.bound(same, 2) == (16, 16, 16 + 5)


def test_more_outputs_than_inputs():
    generous = Pooling.of((1, 1, 1, 2), "int8", 1, start_padding=(0, 3), end_padding=(0, 3))
    assert bounds.bound(generous, 1) == (2, 8, 8)


def test_few_long_rows_are_folded():
    """The bound takes the better of both layouts: a lane for each row, or all lanes for one row."""
    greedy = Reduction.of("argmax", (8, 128256), "float32", 1)
    assert bounds.bound(greedy, 1) == (8 * 128256, 8, 8 * 128256)
    assert bounds.bound(greedy, 16) == (64128, 1, 64128)
    assert bounds.bound(greedy, 16).allowed == 65474
    many = Reduction.of("argmin", (512, 1024), "int32", 1)
    assert bounds.bound(many, 16).clocks == 32768


def test_a_full_size_layer_takes_no_time():
    """The bound is found by arithmetic, without a walk over the elements of the layer."""
    stem = next(
        workload
        for workload in tomllib.loads((BENCH / "workloads.toml").read_text())["workload"]
        if workload["name"] == "resnet50_maxpool"
    )
    geometry = {name: stem[name] for name in ("strides", "start_padding", "end_padding")}
    problem = Pooling.of(stem["sizes"], stem["type"], stem["window"], **geometry)
    started = time.perf_counter()
    found = bounds.bound(problem, 4)
    assert time.perf_counter() - started < 0.5
    assert found.beats_in == 16 * 112 * 112
