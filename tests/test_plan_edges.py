"""Plans where random operators seldom lead: tiles far inside, limits of storage, wrong answers."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lines import random_dimensions

from extremum.hdl.config import POSITION_WIDTH, CoreConfig
from extremum.host.errors import SimulationError
from extremum.host.plan import dataflow_core, plan
from extremum.host.plan.registers import MAX_SLOTS, dimension_registers
from extremum.host.plan.results import Results
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.host.plan.tiles import (
    FURTHER_CUTS,
    Cuts,
    Grid,
    TileSizes,
    _counts,
    choose_grid,
    storage_limits,
)
from extremum.host.plan.windows import WindowRuns, most_met_by
from extremum.model import DataType, Pooling, Reduction, SpatialDimension

TILED = CoreConfig(
    (DataType.INT8,), lanes=2, max_window=(2, 3, 3), max_dilation=(1, 2, 2), max_line=5,
    max_plane=20, coordinate_width=8,
)  # fmt: skip


@pytest.mark.parametrize("layout", ["tensor", "plane", "column_major"])
@pytest.mark.parametrize("strides", [(1, 2, 2), (1, 1, 3)])
def test_a_tile_takes_its_part_of_the_tensor(layout, strides):
    """Elements, and positions as the registers count them, of tiles anywhere in the tensor."""
    problem = Pooling.of(
        (1, 5, 9, 23, 29), "int8", (2, 3, 3), strides=strides, start_padding=(1, 1, 2),
        end_padding=(1, 0, 1), dilations=(1, 2, 1), index_layout=layout,
    )  # fmt: skip
    x = np.random.default_rng(0).integers(-128, 128, problem.sizes).astype(np.int8)
    _, slice_weight, *weights = problem.index_weights
    jobs = plan(problem, TILED).jobs
    assert len(jobs) >= 8
    for job in jobs:
        assert isinstance(job, SlidingJob)
        starts, stops, walked = [], [], 0
        origin = job.first * slice_weight
        for tile, whole, weight in zip(job.tiles, problem.spatial, weights, strict=True):
            count = tile.dimension.outputs
            first = tile.first * whole.stride - whole.start_padding
            last = first + (count - 1) * whole.stride + whole.extent - 1
            starts.append(max(0, first))
            stops.append(min(whole.size, last + 1))
            walked += (count - 1) * whole.stride * weight
            origin += (first + whole.extent - 1) * weight  # the last tap of the first window
        box = tuple(slice(*ends) for ends in zip(starts, stops, strict=True))
        cut = x[0][(slice(job.first, job.stop), *box)]
        assert np.array_equal(job.slices(x), cut.reshape(len(cut), -1))
        registers = job.registers
        assert registers.origin == origin % (1 << POSITION_WIDTH)
        step = TILED.lanes * slice_weight - walked
        assert registers.group_step == step % (1 << POSITION_WIDTH)
        assert registers.lane_step == slice_weight


def test_all_slices_of_a_tile_may_take_several_jobs():
    """The positions of a job's first slice, where a fixed number of groups makes jobs of few."""
    config = CoreConfig((DataType.INT8,), lanes=2, fixed=(("groups", 1),))
    problem = Pooling.of((2, 3, 4, 5), "int8", 2)
    jobs = plan(problem, config).jobs
    assert [job.registers.origin for job in jobs] == [6, 46, 86]


def test_limits_of_the_storage():
    """Words that lie a dilation apart share the storage of a line, and of a plane."""
    depth, height, width = (
        SpatialDimension(99, 2, 1, 3), SpatialDimension(99, 3, 1, 2), SpatialDimension(99, 3),
    )  # fmt: skip
    config = CoreConfig(max_line=41, max_plane=103, max_dilation=(1, 1, 1))
    plane_words, line_words, _ = config.max_spacing
    assert storage_limits((depth, height, width), config) == (line_words // 2, plane_words // 3)
    small = tuple(SpatialDimension(3, 1) for _ in range(3))
    assert storage_limits(small, config) == (27, 27)


def test_the_best_grid_of_tiles_is_chosen():
    """Of all grids that are worth trying none streams fewer elements; of equals it is the first."""
    rng = random.Random(5)
    for _ in range(60):
        dimensions = tuple(
            SpatialDimension(
                rng.randint(8, 40), rng.randint(1, 3), rng.randint(1, 2), 1, rng.randint(0, 2)
            )
            for _ in range(3)
        )
        grid = choose_grid(dimensions, TILED)
        assert grid is not None
        _, rows, columns = grid.counts
        height, width = (TileSizes(dimension, TILED) for dimension in dimensions[1:])
        line, plane = storage_limits(dimensions, TILED)
        found = []
        for tried in _counts(dimensions[2].outputs, width.largest(min(line, plane))):
            high = height.largest(plane // tried)
            if (tried, high) == (dimensions[2].outputs, dimensions[1].outputs):
                found = [(0, high, tried)]
                break
            found.append((width.streamed(tried) * height.streamed(high), high, tried))
        least = min(streamed for streamed, _, _ in found)
        best = next(each for each in found if each[0] == least)
        assert (rows, columns) == best[1:]


def test_a_narrower_tile_may_be_possible_where_the_widest_is_not():
    """Three columns leave space for one row, which is not counted through; two, for two rows."""
    config = CoreConfig(
        (DataType.INT8,), max_window=(2, 4, 4), max_dilation=(2, 3, 3), max_line=3, max_plane=2,
        coordinate_width=4,
    )  # fmt: skip
    dimensions = (
        SpatialDimension(2, 2),
        SpatialDimension(11, 4, 3, 3, 4, 5),
        SpatialDimension(13, 3, 1, 1, 1),
    )
    height, width = (TileSizes(dimension, config) for dimension in dimensions[1:])
    line, plane = storage_limits(dimensions, config)
    assert (plane, width.largest(min(line, plane))) == (4, 3)
    assert (height.largest(1), height.largest(2)) == (0, 2)
    assert choose_grid(dimensions, config) == Grid((1, 2, 2))


@pytest.mark.parametrize(("outputs", "most"), [(5, 5), (1000, 20), (10**6, 10**4), (40, 1)])
def test_the_coarsest_cuts_are_tried(outputs, most):
    """The coarsest one, and 64 more if there are as many; cuts into equal sizes count once."""
    fewest = next(tiles for tiles in range(1, outputs + 1) if -(-outputs // tiles) <= most)
    tried = [-(-outputs // tiles) for tiles in range(fewest, outputs + 1)][: 1 + FURTHER_CUTS]
    assert list(_counts(outputs, most)) == list(dict.fromkeys(tried))


@pytest.mark.parametrize("fixed_window", [None, 1, 3])
def test_what_the_tiles_of_a_dimension_stream_is_the_sum_of_all(fixed_window):
    rng = random.Random(fixed_window)
    for _ in range(50):
        paddings = rng.randint(0, 2), rng.randint(0, 2)
        dimension = SpatialDimension(rng.randint(20, 90), 3, rng.randint(1, 2), 1, *paddings)
        cuts = Cuts(dimension, rng.randint(1, 9))
        tiles = [cuts[number].dimension for number in range(len(cuts))]
        registers = [dimension_registers([tile], [0], [fixed_window])[0] for tile in tiles]
        streamed = TileSizes(dimension, TILED, fixed_window).streamed(cuts.count)
        assert streamed == sum(each.period for each in registers)


def test_the_grid_is_chosen_for_the_windows_that_are_fixed(monkeypatch):
    """In padding, windows that are fixed stream more, so another grid may be the best."""
    height, width = SpatialDimension(33, 3, 1, 2, 3, 8), SpatialDimension(28, 3, 2, 1, 5, 6)
    config = replace(TILED, max_line=4)
    fixed = replace(config, fixed=(("width.window", 3),))
    for given, counts in ((config, (1, 40, 2)), (fixed, (1, 40, 3))):
        assert choose_grid((SpatialDimension(1, 1), height, width), given) == Grid(counts)
    asked = set()

    def streamed(sizes, _):
        asked.add((sizes.dimension, sizes.fixed_window))
        return 1

    monkeypatch.setattr(TileSizes, "streamed", streamed)
    fixed = replace(config, fixed=(("height.window", 3), ("width.window", 2)))
    width = replace(width, window=2)
    choose_grid((SpatialDimension(1, 1), height, width), fixed)
    assert asked == {(height, 3), (width, 2)}


def test_a_window_of_one_tap_has_no_dilation():
    """It slides also in a core without dilations, whatever the dilation of its only tap is."""
    config = CoreConfig((DataType.INT8,), max_window=(1, 3, 3), max_dilation=(1, 1, 1))
    problem = Pooling.of((1, 1, 6, 6), "int8", (1, 3), dilations=(2, 1))
    (job,) = plan(problem, config).jobs
    assert job.kind == "sliding"
    (job,) = plan(Pooling.of((1, 1, 6, 6), "int8", (2, 3), dilations=(2, 1)), config).jobs
    assert job.kind == "gathered"


@pytest.mark.parametrize(
    ("deepest", "sizes", "window", "why"),
    [
        (1, (1, 1, 9, 3, 3), (1, 2, 2), "planes pass one by one"),
        (1, (1, 1, 9, 40, 3), (1, 2, 2), "coordinates exceed"),
        (2, (1, 1, 40, 3, 3), (2, 2, 2), "coordinates exceed"),
    ],
)
def test_why_a_pooling_is_cut(deepest, sizes, window, why):
    config = CoreConfig(
        (DataType.INT8,), max_window=(deepest, 2, 2), max_dilation=(1, 1, 1), coordinate_width=4
    )
    (note,) = plan(Pooling.of(sizes, "int8", window), config).notes
    assert why in note


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ((1, 1, 3, 3, 14), "lines of at most 12 (max_line 6, with room for a dilation of 2)"),
        ((1, 1, 3, 5, 13), "planes of at most 36 (max_plane 12, with room for a dilation of 3)"),
    ],
    ids=["a line too long", "lines as long as they may be"],
)  # fmt: skip
def test_which_storage_is_too_small(sizes, why):
    """And for which dilation it has space: each dimension has one of its own."""
    config = CoreConfig(
        (DataType.INT8,), max_window=(2, 2, 2), max_dilation=(3, 2, 4), max_line=6, max_plane=12
    )
    (note,) = plan(Pooling.of(sizes, "int8", 2), config).notes
    assert why in note


@pytest.mark.parametrize(
    ("sizes", "options", "why"),
    [
        ((10, 10), {"window": (2, 4), "dilations": (2, 3), "end_padding": (0, 2),
                    "strides": (1, 2)},
         "width window extent 10 leaves no tile that coordinate_width 4 counts through"),
        ((11, 6), {"window": (4, 3), "dilations": (3, 1), "start_padding": (0, 4),
                   "end_padding": (5, 1), "strides": (1, 4)},
         "height window extent 10 leaves no tile that coordinate_width 4 counts through"),
        ((10, 9), {"window": (4, 4), "dilations": (1, 3), "start_padding": (1, 3),
                   "end_padding": (3, 2), "strides": (4, 1)},
         "no tile fits the storage that coordinate_width 4 counts through"),
    ],
    ids=["width", "height", "storage"],
)  # fmt: skip
def test_why_no_tile_fits(sizes, options, why):
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 4, 4), max_dilation=(1, 3, 3), max_line=1,
        coordinate_width=4,
    )  # fmt: skip
    (note,) = plan(Pooling.of((1, 1, *sizes), "int8", **options), config).notes
    assert why in note


def test_a_position_behind_the_end_of_a_row_is_refused():
    """A core that gives one is wrong, and is told so instead of a crash or a wrong index."""
    config = CoreConfig((DataType.INT8,), max_window=(1, 2, 2))
    problem = Pooling.of((1, 1, 5, 5), "int8", 3, return_indices=True)
    (job,) = plan(problem, config).jobs
    assert job.kind == "gathered"
    values = np.zeros((job.beats_out, 1), np.int8)
    length = 9
    results = Results.blank(problem, config)
    for position in (length, length + 1, 1 << 20):
        positions = np.full(values.shape, position, np.uint32)
        with pytest.raises(SimulationError, match=f"positions below {length}, .* not {position}$"):
            job.scatter(values, positions, results)
    job.scatter(values, np.full(values.shape, length - 1, np.uint32), results)


def test_there_is_no_job_behind_the_last():
    jobs = plan(Pooling.of((1, 3, 30, 30), "int8", 2), TILED).jobs
    count = len(jobs)
    assert count > 2
    assert [job.summary for job in jobs] == [jobs[n - count].summary for n in range(count)]
    for number in (count, count + 1, 3 * count, -count - 1):
        with pytest.raises(IndexError, match=f"there are {count} jobs"):
            jobs[number]


def test_slots_are_counted_in_a_register():
    assert sum(1 << bit for bit in range(POSITION_WIDTH)) == MAX_SLOTS


def test_a_plan_tells_that_a_register_is_fixed_to_another_value():
    """Before any job runs; a plan for the value that is fixed, or without such, is not refused."""
    config = CoreConfig((DataType.INT8,), max_window=(1, 2, 2), fixed=(("width.stride", 2),))
    problem = Pooling.of((1, 1, 8, 8), "int8", (2, 2), strides=(1, 1))
    with pytest.raises(ValueError, match=r"width\.stride"):
        plan(problem, config).check_fixed()
    plan(problem, CoreConfig((DataType.INT8,), max_window=(1, 2, 2))).check_fixed()
    plan(Pooling.of((1, 1, 8, 8), "int8", (2, 2), strides=(1, 2)), config).check_fixed()


def test_what_is_no_operator_and_no_core():
    problem, config = Reduction.of("argmax", (3,), "int8"), CoreConfig((DataType.INT8,))
    wrong: Any = "argmax"
    told = "^problem must be a Reduction or a Pooling, not 'argmax'$"
    with pytest.raises(TypeError, match=told):
        plan(wrong, config)
    with pytest.raises(TypeError, match=told):
        dataflow_core(wrong)
    with pytest.raises(TypeError, match=r"^config must be a CoreConfig, not 'argmax'$"):
        plan(problem, wrong)


def met_by(dimension, number):
    """The coordinates of the elements that a window meets."""
    first = number * dimension.stride - dimension.start_padding
    taps = range(first, first + dimension.window * dimension.dilation, dimension.dilation)
    return [tap for tap in taps if 0 <= tap < dimension.size]


def most_in_line(dimension):
    """How many elements lie a dilation apart in a line, at most: no window meets more."""
    return min(dimension.window, len(range(0, dimension.size, dimension.dilation)))


def test_kinds_of_runs_of_windows_stand_for_all_of_them():
    """As to how many windows they have, and how many elements these meet at the most."""
    rng = random.Random(8)
    for dimension in random_dimensions(500, most_window=5, seed=8):
        runs = WindowRuns(dimension, rng.randint(1, 6))
        few: Counter = Counter()
        for run, number in runs.kinds():
            few[len(run), most_met_by(dimension, run)] += number
        every = [runs[number] for number in range(len(runs))]
        for run in every:
            met = [len(met_by(dimension, dimension.met_windows[number])) for number in run]
            assert max(met) <= most_met_by(dimension, run) <= most_in_line(dimension), run
        assert few == Counter((len(run), most_met_by(dimension, run)) for run in every), runs
