"""Tiles: the few kinds that are counted stand for all of them, and none exceeds the storage."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
from lines import small_dimensions

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.host.plan.registers import dimension_registers
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.host.plan.tiles import FURTHER_CUTS, Cuts, Tile, TileSizes, cut
from extremum.model import DataType, Pooling, SpatialDimension

SMALL = CoreConfig(
    (DataType.INT8,),
    lanes=3,
    max_window=(2, 3, 3),
    max_dilation=(1, 2, 2),
    max_line=4,
    max_plane=9,
    coordinate_width=5,
)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_kinds_of_tiles_stand_for_all_of_them(count):
    rng = random.Random(count)
    for _ in range(300):
        size, window, dilation = rng.randint(1, 30), rng.randint(1, 4), rng.randint(1, 4)
        start, end = rng.choice((0, 1, 5, 20)), rng.choice((0, 1, 5, 20))
        if 1 + (window - 1) * dilation > start + size + end:
            continue
        dimension = SpatialDimension(size, window, rng.randint(1, 5), dilation, start, end)
        cuts = Cuts(dimension, count)
        every = [cuts[number] for number in range(len(cuts))]
        few: Counter = Counter()
        for tile, number in cuts.kinds():
            few[tile.dimension] += number
        assert few == Counter(tile.dimension for tile in every), dimension
        check_tiles(dimension, count, every)


def check_tiles(dimension, count, tiles):
    """Check that the tiles have all windows that meet an element, in order, each of them once."""
    windows = [tile.first + number for tile in tiles for number in range(tile.dimension.outputs)]
    assert len(tiles) == 1 or all(tile.dimension.outputs <= count for tile in tiles)
    assert windows == sorted(set(windows))
    met = set(range(dimension.outputs)) - set(dimension.empty_windows.tolist())
    assert met <= set(windows), dimension
    for tile in tiles:
        start = tile.first * dimension.stride - dimension.start_padding
        assert tile.offset - tile.dimension.start_padding == start
        assert tile.offset + tile.dimension.size <= dimension.size


def test_a_tile_of_all_windows_has_the_elements_that_none_sees():
    """Otherwise a tensor that is not cut would not stream as it lies in memory."""
    dimension = SpatialDimension(1203, 2, 3)  # 401 windows, and an element behind the last
    assert dimension.outputs == 401
    equal = int("401")  # another object than that number of windows
    assert cut(dimension, 0, equal) == Tile(0, 0, dimension)


@pytest.mark.parametrize("fixed_window", [None, 1, 2, 3])
def test_tiles_of_windows_that_reach_no_padding_have_none(fixed_window):
    """So a core without padding takes them all, if it takes the uncut windows."""

    def has_padding(dimension):
        (registers,) = dimension_registers([dimension], [0], [fixed_window])
        return registers.has_padding

    left_out = 0
    for dimension in small_dimensions(7, 5, 4, 4, 7):
        if has_padding(dimension):
            continue
        for count in range(1, dimension.outputs):
            for tile, _ in Cuts(dimension, count).kinds():
                assert not has_padding(tile.dimension), (dimension, count)
                left_out += tile.dimension.end_padding > 0
    assert left_out


def pooling_of(spatial):
    return Pooling.of(
        (1, 2, *(d.size for d in spatial)),
        "int8",
        [d.window for d in spatial],
        strides=[d.stride for d in spatial],
        dilations=[d.dilation for d in spatial],
        start_padding=[d.start_padding for d in spatial],
        end_padding=[d.end_padding for d in spatial],
    )


def test_tiles_never_exceed_the_storage():
    rng = random.Random(5)
    for _ in range(200):
        spatial = [
            SpatialDimension(
                rng.randint(1, 60), rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 2),
                rng.randint(0, 9) + 4, rng.randint(0, 9),
            )
            for _ in range(2)
        ]  # fmt: skip
        problem = pooling_of(spatial)
        for job in plan(problem, SMALL).jobs:
            assert isinstance(job, SlidingJob)
            for axis, registers in zip((0, 1, 2), job.registers.dimensions, strict=True):
                if registers.window > 1:
                    assert registers.spacing <= SMALL.max_spacing[axis]


def largest(dimension, config, most=None, fixed_window=None):
    sizes = TileSizes(dimension, config, fixed_window)
    return sizes.largest(dimension.outputs if most is None else most)


def test_windows_and_strides_that_the_counters_do_not_hold():
    """A window that reaches beyond them is refused, also if most of its taps see no element."""
    config = replace(SMALL, coordinate_width=4)
    for window, dilation, stride, size in ((3, 7, 1, 1), (1, 1, 15, 30)):
        assert largest(SpatialDimension(size, window, stride, dilation, 16, 16), config)
    for window, dilation, stride, size in (
        (2, 15, 1, 1),
        (9, 2, 1, 1),
        (1, 1, 16, 30),
        (1, 1, 17, 30),
    ):
        assert largest(SpatialDimension(size, window, stride, dilation, 16, 16), config) == 0


def counted(dimension, fixed_window=None):
    """Return how far a line is counted, as the core does."""
    (r,) = dimension_registers([dimension], [0], [fixed_window])
    return max(r.lead, r.size, max(0, r.head) + r.period)


def are_countable(dimension, count, limit, fixed_window=None):
    """Look at every tile of a cut."""
    cuts = Cuts(dimension, count)
    tiles = (cuts[number].dimension for number in range(len(cuts)))
    return max(dimension.stride, dimension.extent) < limit and all(
        counted(tile, fixed_window) < limit for tile in tiles
    )


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("width", [4, 5, 6])
def test_tiles_are_as_large_as_the_coordinate_counters_allow(width, fixed):
    """Coordinates to the end of a line must be counted, and no coarser cut can be."""
    config = replace(SMALL, coordinate_width=width)
    limit = 1 << width
    rng = random.Random(2 * width + fixed)
    met: Counter = Counter()
    for _ in range(400):
        window, stride = rng.randint(1, 5), rng.randint(1, limit // 2)
        dilation = rng.randint(1, limit // 4)
        extent = 1 + (window - 1) * dilation
        # As `same` padding has it, or up to a window.
        padding = [rng.choice([extent // 2, rng.randint(0, extent - 1)]) for _ in range(2)]
        size = rng.randint(1, rng.choice([limit, 3 * limit]))
        if size + sum(padding) < extent:
            continue
        dimension = SpatialDimension(size, window, stride, dilation, *padding)
        taps = rng.randint(1, window) if fixed else None
        every = range(1, dimension.outputs + 1)
        fitting = [count for count in every if are_countable(dimension, count, limit, taps)]
        sizes = TileSizes(dimension, config, taps)
        assert [count for count in every if sizes.fits(count)] == fitting
        most = rng.choice([dimension.outputs, rng.randint(1, dimension.outputs)])
        found = sizes.largest(most)
        best = max((count for count in fitting if count <= most), default=0)
        assert found <= best
        assert bool(found) == bool(best)
        assert not found or len(Cuts(dimension, found)) == len(Cuts(dimension, best))
        met["whole" if found == dimension.outputs else "cut" if found else "none"] += 1
        met["whole, and some cut is not"] += found == len(every) > len(fitting)
    assert met["whole"]
    assert met["cut"]
    assert met["whole, and some cut is not"]


@pytest.mark.parametrize("fixed", [False, True])
def test_the_bound_for_any_tile_holds_and_is_exact_within_the_tensor(fixed):
    """It counts where the coarsest cuts were tried in vain, as those of very long lines are.

    A line is counted from its head through its slots, which are its elements or its windows.
    """
    rng = random.Random(fixed)
    exact = 0
    for _ in range(600):
        width = rng.choice([4, 5])
        limit = 1 << width
        window, dilation, stride = rng.randint(1, 5), rng.randint(1, 6), rng.randint(1, 9)
        extent = 1 + (window - 1) * dilation
        size, *padding = (
            rng.randint(1, rng.choice([4, 40])),
            rng.randint(0, extent),
            rng.randint(0, extent),
        )
        if size + sum(padding) < extent or extent >= limit:
            continue
        dimension = SpatialDimension(size, window, stride, dilation, *padding)
        taps = rng.randint(1, window) if fixed else None
        sizes = TileSizes(dimension, replace(SMALL, coordinate_width=width), taps)
        sure = sizes._surely_countable()
        lengths = [0] * (dimension.outputs + 1)
        for first, stop in itertools.combinations(range(dimension.outputs + 1), 2):
            tile = cut(dimension, first, stop - first)
            if tile is not None and stop - first < dimension.outputs:
                lengths[stop - first] = max(
                    lengths[stop - first], counted(tile.dimension, taps)
                )  # fmt: skip
        assert max(lengths[: sure + 1]) < limit, dimension
        last_tap = min(extent, max(size, 1 + ((taps or 1) - 1) * dilation)) - 1

        def slots(count, own=dimension):
            seen = min(own.size, (count - 1) * own.stride + own.extent)
            return max(seen, (count - 1) * own.stride + 1)

        every = range(1, dimension.outputs)
        assert sure == max((n for n in every if last_tap + slots(n) < limit), default=0)
        exact += sure < dimension.outputs - 1 and lengths[sure + 1] >= limit
    assert exact > 100


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_a_line_of_as_many_slots_as_are_counted_is_not_cut(stride):
    """Its first window ends at the first element, and its last two behind the last one."""
    config = replace(SMALL, coordinate_width=4)
    outputs = (15 - 2) // stride + 2
    for more, whole in ((0, True), (1, False)):
        size = (outputs + more - 2) * stride + 1
        dimension = SpatialDimension(size, 2, stride, 1, 1, stride)
        assert dimension.outputs == outputs + more
        assert (largest(dimension, config) == dimension.outputs) is whole


def test_very_long_lines_are_cut_by_the_bound(monkeypatch):
    """Far more cuts than are tried one by one are not countable."""
    config = replace(SMALL, coordinate_width=16)
    dimension = SpatialDimension(2**31, 200, 1, 150, 99, 99)
    monkeypatch.setattr(TileSizes, "fits", lambda self, count: tried.append(count))
    tried = []
    found = largest(dimension, config)
    assert found == 2**16 - 2 * dimension.extent + 1
    assert len(tried) == FURTHER_CUTS
    assert tried == sorted(tried, reverse=True)
    assert tried[0] <= 2**16 - 1


def test_cuts_that_are_far_too_coarse_are_not_among_those_that_are_tried():
    """Else only such cuts would be tried, and the bound for any tile be left: a tile more."""
    dimension = SpatialDimension(26376, 5, 2, 3, 21, 64)
    config = CoreConfig((DataType.INT8,), max_window=(1, 5, 5), coordinate_width=8)
    assert largest(dimension, config) == 117
    assert are_countable(dimension, 117, 256)
    assert not are_countable(dimension, 118, 256)


def test_taps_that_are_left_out_need_no_room_in_the_counters():
    """Most windows lie in the padding, and of those that do not, most taps do."""
    config = replace(SMALL, coordinate_width=4)
    dimension = SpatialDimension(2, 3, 3, 4, 27, 30796)
    assert largest(dimension, config) == 5
    assert are_countable(dimension, 5, 16)
    assert not are_countable(dimension, 6, 16)


@pytest.mark.parametrize("width", [4, 6])
def test_wide_paddings_are_counted(width):
    """Where windows lie wholly in padding, what is found is countable, if anything is."""
    config = replace(SMALL, coordinate_width=width)
    limit = 1 << width
    rng = random.Random(width)
    for _ in range(300):
        window, dilation, stride = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, limit)
        size, *padding = rng.randint(1, 3 * limit), rng.randint(0, limit), rng.randint(0, limit)
        if size + sum(padding) < 1 + (window - 1) * dilation:
            continue
        dimension = SpatialDimension(size, window, stride, dilation, *padding)
        found = largest(dimension, config)
        if found:
            assert are_countable(dimension, found, limit), dimension
        else:
            tried = range(1, dimension.outputs + 1)
            assert not any(are_countable(dimension, count, limit) for count in tried), dimension


def test_every_line_of_a_plan_is_counted():
    """A line that is not cut may be counted although its tiles are not: each cut is looked at."""
    rng = random.Random(0)
    kinds: Counter = Counter()
    for _ in range(300):
        config = replace(
            SMALL, coordinate_width=rng.randint(4, 5), max_line=rng.randint(1, 12),
            max_plane=rng.randint(1, 60), max_window=(2, 4, 4), max_dilation=(1, 4, 4),
        )  # fmt: skip
        spatial = [
            SpatialDimension(
                rng.randint(3, 20), 1 + taps, rng.randint(1, 2), dilation,
                *(taps * dilation // 2 + rng.randint(0, 1) for _ in range(2)),
            )
            for taps, dilation in ((rng.randint(0, 3), rng.randint(1, 4)) for _ in range(2))
        ]  # fmt: skip
        problem = pooling_of(spatial)
        jobs = plan(problem, config).jobs
        kinds[jobs[0].kind, len(jobs) > 1] += 1
        for job in jobs:
            for r in job.registers.dimensions:
                assert max(0, r.head) + r.period < 1 << config.coordinate_width
    assert len(kinds) >= 3
