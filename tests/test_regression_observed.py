"""The bins that a job belongs to by what it is: its rows, windows, values and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from regression_jobs import offered

from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.ports import JobError
from extremum.tb.coverage import Tally
from extremum.tb.regression.case import Batch
from extremum.tb.regression.observe import (
    Offered,
    observe,
    observe_error_reset,
    observe_fault,
    observe_reset,
)
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.target import Target

ONES = np.ones((3, 8), np.float32)


def counts(target: str, *jobs: Offered, **stalls: Any) -> dict[str, int]:
    """Return how often each bin is counted for jobs that follow each other."""
    tally = Tally()
    batch = Batch([each.item for each in jobs], **stalls)
    observe(tally, target_named(target), batch, list(jobs), clocks=9)
    return dict(tally.counts)


def bins(point: str, target: str, *jobs: Offered, **stalls: Any) -> set[str]:
    """Return the bins of a point that such jobs belong to."""
    found = counts(target, *jobs, **stalls)
    return {name.partition(": ")[2] for name in found if name.startswith(f"{point}: ")}


def test_a_reduction_on_one_lane():
    lowest = np.iinfo(np.int32).min
    x = np.array([[7, lowest, 7]], np.int32)
    job = offered("deep", x, function="argmin", axis_direction="decreasing")
    assert counts("deep", job) == {
        "cores: deep": 1,
        "stalls: core, input, none": 1,
        "stalls: core, output, none": 1,
        "stalls: core, job, none": 1,
        "lanes: 1, slices, all": 1,
        "operator: argmin, int32, decreasing, propagate": 1,
        "values: int32, lowest, met": 1,
        "values: int32, other, met": 1,
        "values: int32, lowest, won": 1,
        "ties: slices, decreasing, none": 1,
    }


def test_a_pooling_that_slides():
    x = np.zeros((1, 1, 6, 7, 9), np.float16)
    job = offered(
        "cubes", x, window=[2, 3, 1], dilations=[1, 2, 1], strides=[1, 2, 3],
        start_padding=[1, 0, 0], end_padding=[0, 2, 0], nan="ignore",
    )  # fmt: skip
    assert counts("cubes", job) == {
        "cores: cubes": 1,
        "stalls: core, input, none": 1,
        "stalls: core, output, none": 1,
        "stalls: core, job, none": 1,
        "lanes: 4, slices, one": 1,
        "operator: max-pool, float16, increasing, ignore": 1,
        "window: depth, 2, 1, start": 1,
        "window: height, 3, 2, end": 1,
        "window: width, 1, 3 or more, none": 1,
        "dilation: depth, 2, 1, sliding": 1,
        "dilation: height, 3, 2, sliding": 1,
        "taps: sliding, 2 to 8": 1,
        "plan: whole, one": 1,
        "empty windows: sliding, none": 1,
        "values: float16, +zero, met": 1,
        "values: float16, +zero, won": 1,
        "ties: sliding, increasing, neighbours": 16,
        "ties: sliding, increasing, first and last": 16,
        "ties: sliding, increasing, all": 16,
    }


@pytest.mark.parametrize(
    ("target", "shape", "way", "tail"),
    [
        ("floats4", (1, 8), "fold", "all"), ("floats4", (1, 7), "fold", "some"),
        ("floats4", (1, 6), "fold", "some"), ("floats4", (1, 5), "fold", "one"),
        ("floats4", (8, 2), "slices", "all"), ("floats4", (7, 2), "slices", "some"),
        ("floats4", (5, 2), "slices", "one"), ("lanes5", (7, 8), "slices", "some"),
    ],
)  # fmt: skip
def test_rows_in_lanes(target, shape, way, tail):
    lanes = target_named(target).config.lanes
    x = np.ones(shape, np.uint32 if target == "lanes5" else np.float32)
    assert bins("lanes", target, offered(target, x)) == {f"{lanes}, {way}, {tail}"}


@pytest.mark.parametrize(
    ("target", "window", "taps"),
    [
        ("row130", [1, 1], "1"), ("row130", [1, 2], "2 to 8"), ("row130", [1, 8], "2 to 8"),
        ("row130", [1, 9], "9 to 64"), ("row130", [1, 64], "9 to 64"),
        ("row130", [1, 65], "65 or more"), ("cubes", [3, 3, 1], "9 to 64"),
        ("cubes", [2, 2, 2], "2 to 8"), ("cubes", [3, 3, 3], "9 to 64"),
    ],
)  # fmt: skip
def test_taps_of_all_dimensions_count_together(target, window, taps):
    kind = target_named(target).config.data_types[0].dtype
    job = offered(target, np.zeros((1, 1, *window[:-1], 70), kind), window=window)
    assert bins("taps", target, job) == {f"sliding, {taps}"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"window": [30, 2], "strides": [2, 2], "dilations": [1, 3]},
         {"plan: gathered as slices, more", "empty windows: gathered, none",
          "dilation: height, 4 or more, 1, gathered",
          "dilation: width, 2, 3 or more, gathered"}),
        ({"window": [3, 4], "strides": [1, 60], "dilations": [20, 2], "start_padding": [50, 0]},
         {"plan: gathered as slices, more", "empty windows: gathered, some",
          "dilation: height, 3, 3 or more, gathered", "dilation: width, 4 or more, 2, gathered"}),
        ({"window": [4, 3], "strides": [60, 1], "dilations": [2, 20], "start_padding": [0, 50]},
         {"plan: gathered as slices, more", "empty windows: gathered, some",
          "dilation: height, 4 or more, 2, gathered", "dilation: width, 3, 3 or more, gathered"}),
        ({"window": [60, 60]},
         {"plan: gathered and folded, one", "empty windows: gathered, none",
          "dilation: height, 4 or more, 1, gathered",
          "dilation: width, 4 or more, 1, gathered"}),
        ({"window": [30, 60], "strides": [30, 1]},
         {"plan: gathered and folded, two", "empty windows: gathered, none",
          "dilation: height, 4 or more, 1, gathered",
          "dilation: width, 4 or more, 1, gathered"}),
    ],
)  # fmt: skip
def test_poolings_whose_windows_are_gathered(arguments, expected):
    job = offered("cubes", np.zeros((1, 1, 60, 60), np.float16), **arguments)
    points = ("plan", "empty windows", "dilation", "window")
    assert {name for name in counts("cubes", job) if name.startswith(points)} == expected


@pytest.mark.parametrize(
    ("shape", "way"),
    [
        ((1, 1, 4, 4, 24), "whole, one"), ((1, 8, 4, 4, 24), "whole, two"),
        ((3, 3, 4, 4, 24), "whole, more"), ((1, 1, 2, 2, 200), "tiles in width, one"),
        ((1, 1, 40, 200, 200), "tiles in several dimensions, one"),
    ],
)  # fmt: skip
def test_how_a_pooling_is_cut(shape, way):
    job = offered("cubes", np.zeros(shape, np.uint8), window=[2, 2, 2])
    assert bins("plan", "cubes", job) == {way}


@pytest.mark.parametrize(
    ("window", "start", "end", "stride", "expected"),
    [
        (3, 0, 0, 1, "3, 1, none"), (3, 1, 0, 2, "3, 2, start"), (3, 0, 1, 3, "3, 3 or more, end"),
        (2, 1, 1, 1, "2, 1, both"), (3, 2, 2, 1, "3, 1, both"),
        (3, 3, 0, 1, "3, 1, beyond the window"), (3, 0, 3, 1, "3, 1, beyond the window"),
        (1, 1, 0, 1, "1, 1, beyond the window"),
    ],
)  # fmt: skip
def test_padding_of_a_window(window, start, end, stride, expected):
    sizes: dict[str, Any] = {
        "window": [2, 1, window],
        "strides": [1, 1, stride],
        "start_padding": [0, 0, start],
        "end_padding": [0, 0, end],
    }
    job = offered("cubes", np.zeros((1, 1, 4, 4, 9), np.uint8), **sizes)
    found = bins("window", "cubes", job)
    assert {name for name in found if name.startswith("width")} == {f"width, {expected}"}


def test_padding_counts_for_the_tile_that_has_it():
    """The first tile of a line has it at its start, the last at its end, others have none."""
    x = np.zeros((1, 1, 1, 2, 5 * target_named("image").config.max_line), np.int8)
    line: dict[str, Any] = {"window": [1, 2, 3], "end_padding": [0, 0, 1]}
    padded: dict[str, Any] = line | {"start_padding": [0, 0, 1]}
    for number, padding in ((0, "start"), (1, "none"), (-1, "end")):
        job = offered("image", x, number, **padded)
        assert f"width, 3, 1, {padding}" in bins("window", "image", job)
    beyond: dict[str, Any] = line | {"start_padding": [0, 0, 4]}
    first, last = (offered("image", x, number, **beyond) for number in (0, -1))
    assert "width, 3, 1, beyond the window" in bins("window", "image", first)
    assert bins("empty windows", "image", first) == {"sliding, some"}
    assert bins("empty windows", "image", last) == {"sliding, none"}


def test_values_count_if_their_job_ran():
    """Here the only NaN lies in the first tile of a line, and the last tile runs."""
    x = np.ones((1, 1, 1, 2, 200), np.float16)
    x[..., 0] = np.nan
    first, last = (offered("cubes", x, number, window=[1, 2, 2]) for number in (0, -1))
    others = {"float16, +other, met", "float16, +other, won"}
    nan = {"float16, +quiet NaN, met", "float16, +quiet NaN, won"}
    assert bins("values", "cubes", first) == others | nan
    assert bins("values", "cubes", last) == others


@pytest.mark.parametrize(("place", "is_met"), [(0, True), (2047, True), (2048, False)])
def test_values_of_the_first_elements_are_looked_at(place, is_met):
    x = np.zeros((900, 3), np.int32)
    x.reshape(-1)[place] = np.iinfo(np.int32).max
    met = bins("values", "deep", offered("deep", x, function="argmin"))
    assert ("int32, highest, met" in met) == is_met
    assert "int32, highest, won" not in met


def test_values_of_a_row_that_is_longer_than_what_is_looked_at():
    job = offered("deep", np.zeros((2, 2049), np.int32), function="argmin")
    assert "int32, zero, met" in bins("values", "deep", job)


@pytest.mark.parametrize("shape", [(1, 7), (5, 7)])
def test_lanes_without_an_element_are_no_values(shape):
    job = offered("reduction", np.full(shape, 3, np.float32))
    assert bins("values", "reduction", job) == {"float32, +other, met", "float32, +other, won"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (ONES, ONES, {"the very same job"}),
        (ONES, ONES.astype(np.int32), {"another type of that width", "float to integer"}),
        (ONES.astype(np.int32), ONES, {"another type of that width", "integer to float"}),
        (ONES, ONES.astype(np.int64), {"a wider type", "float to integer"}),
        (ONES.astype(np.uint64), ONES, {"a narrower type", "integer to float"}),
        (ONES, ONES[:, :7], set()),
        (ONES[:1, :1], ONES[:1, :1], {"one beat after one beat", "the very same job"}),
        (ONES[:1, :1], np.ones((1, 100), np.float32), {"a long job after one beat"}),
        (ONES[:1, :1], np.ones((1, 99), np.float32), set()),
        (np.ones((1, 100), np.float32), ONES[:1, :1], {"one beat after a long job"}),
        (np.ones((1, 99), np.float32), ONES[:1, :1], set()),
        (np.ones((1, 100), np.float32), np.ones((1, 101), np.float32), set()),
        (ONES[:1, :2], ONES[:1, :3], set()),
    ],
)
def test_changes_of_type_and_length(first, second, expected):
    jobs = [offered("every_type", x) for x in (first, second)]
    assert bins("changes", "every_type", *jobs) == expected
    assert bins("neighbours", "every_type", *jobs) == {"slices, slices"}


@pytest.mark.parametrize(
    ("name", "values", "there", "back"),
    [
        ("function", ("argmax", "argmin"), "maximum to minimum", "minimum to maximum"),
        ("nan", ("propagate", "ignore"), "another NaN mode", "another NaN mode"),
        ("axis_direction", ("increasing", "decreasing"), "another direction",
         "another direction"),
    ],
)  # fmt: skip
def test_changes_of_the_operator(name, values, there, back):
    one, two = (offered("every_type", ONES, **{name: value}) for value in values)
    assert bins("changes", "every_type", one, two) == {there}
    assert bins("changes", "every_type", two, one) == {back}


def test_neighbours_are_jobs_without_a_pause():
    x = np.zeros((1, 1, 4, 9), np.float32)
    pairs = np.ones((8, 2), np.float32)
    rows, fold = offered("floats4", pairs), offered("floats4", ONES)
    slides = offered("floats4", x, window=[2, 2])
    gathers = offered("floats4", x, window=[4, 9])
    refused = offered("floats4", pairs, refused=JobError.DATA_TYPE)
    jobs = (rows, fold, slides, gathers, refused, rows)
    assert bins("neighbours", "floats4", *jobs) == {
        "slices, fold", "fold, sliding", "sliding, gathered", "gathered, refused",
        "refused, slices",
    }  # fmt: skip
    assert bins("refused jobs", "floats4", *jobs) == {"DATA_TYPE"}
    assert not bins("neighbours", "floats4", *jobs, job_stalls=1)
    assert not bins("changes", "floats4", refused, rows)
    assert not bins("changes", "floats4", rows, refused)
    assert "operator" not in str(counts("floats4", refused))
    assert "operator" in str(counts("floats4", refused, rows))


def test_an_operator_counts_once_for_all_of_its_jobs():
    x = np.zeros((1, 1, 2, 200), np.uint8)
    jobs = [offered("cubes", x, number, window=[2, 2]) for number in range(3)]
    found = counts("cubes", *jobs)
    assert found["operator: max-pool, uint8, increasing, propagate"] == 1
    assert found["plan: tiles in width, one"] == 3
    assert found["neighbours: sliding, sliding"] == 2


@pytest.mark.parametrize(
    ("percent", "phase"), [(0, "none"), (1, "seldom"), (9, "seldom"), (10, "often"),
                           (59, "often"), (60, "mostly"), (100, "mostly")],
)  # fmt: skip
def test_rates_of_rests(percent, phase):
    job = offered("floats4", ONES)
    for port in ("input", "output", "job"):
        found = bins("stalls", "floats4", job, **{f"{port}_stalls": percent})
        assert f"core, {port}, {phase}" in found


@pytest.mark.parametrize(
    ("bus", "clocks", "taken", "given", "phase"),
    [
        ("none", 1, (0, 9), (0, 3), "core reset: before the first beat, 1"),
        ("none", 2, (1, 9), (0, 3), "core reset: before the first result, 2 or more"),
        ("none", 1, (8, 9), (1, 3), "core reset: while results come, 1"),
        ("none", 1, (9, 9), (2, 3), "core reset: after the last beat, 1"),
        ("none", 3, (9, 9), (3, 3), "core reset: when all is over, 2 or more"),
        ("axi", 0, (0, 9), (0, 3), "block reset: before the first beat, soft"),
        ("axi", 1, (8, 9), (0, 3), "block reset: between beats, aresetn"),
        ("axi", 0, (9, 9), (0, 3), "block reset: after the last beat, soft"),
    ],
)
def test_phases_of_a_reset(bus, clocks, taken, given, phase):
    name = "axi-reduction" if bus == "axi" else "reduction"
    target, tally = target_named(name), Tally()
    assert isinstance(target, Target)
    batch = Batch([], reset_after=5, reset_clocks=clocks)
    observe_reset(tally, target, batch, taken=taken, given=given)
    assert dict(tally.counts) == {f"cores: {name}": 1, phase: 1}


@pytest.mark.parametrize(("stalls", "some"), [({}, "none"), ({"input_stalls": 1}, "some")])
def test_errors_of_a_block(stalls, some):
    tally = Tally()
    observe_fault(tally, BlockError.TLAST_LATE, "alone", Batch([], **stalls))
    observe_error_reset(tally, BlockError.TLAST_LATE, is_soft=not stalls)
    assert dict(tally.counts) == {
        "block errors: TLAST_LATE, alone": 1,
        f"block errors and stalls: TLAST_LATE, {some}": 1,
        f"errors ended by a reset: TLAST_LATE, {'aresetn' if stalls else 'soft'}": 1,
    }
