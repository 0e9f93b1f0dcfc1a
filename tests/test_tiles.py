"""Tiles: the few kinds that are counted stand for all of them, and none exceeds the storage."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from lines import small_dimensions

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.host.plan.registers import dimension_registers
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.host.plan.tiles import Cuts, Tile, cut, largest_count
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
        problem = Pooling.of(
            (1, 2, *(d.size for d in spatial)),
            "int8",
            [d.window for d in spatial],
            strides=[d.stride for d in spatial],
            dilations=[d.dilation for d in spatial],
            start_padding=[d.start_padding for d in spatial],
            end_padding=[d.end_padding for d in spatial],
        )
        for job in plan(problem, SMALL).jobs:
            assert isinstance(job, SlidingJob)
            for axis, registers in zip((0, 1, 2), job.registers.dimensions, strict=True):
                if registers.window > 1:
                    assert registers.spacing <= SMALL.max_spacing[axis]


def test_windows_and_strides_that_the_counters_do_not_hold():
    """A window that reaches beyond them is refused, also if most of its taps see no element."""
    config = replace(SMALL, coordinate_width=4)
    for window, dilation, stride, size in ((3, 7, 1, 1), (1, 1, 15, 30)):
        dimension = SpatialDimension(size, window, stride, dilation, 16, 16)
        assert largest_count(dimension, config)
    for window, dilation, stride, size in (
        (2, 15, 1, 1),
        (9, 2, 1, 1),
        (1, 1, 16, 30),
        (1, 1, 17, 30),
    ):
        dimension = SpatialDimension(size, window, stride, dilation, 16, 16)
        assert largest_count(dimension, config) == 0


@pytest.mark.parametrize("width", [4, 5, 6])
def test_tiles_are_as_large_as_the_coordinate_counters_allow(width):
    """Coordinates to the end of a line must be counted; one more window would be too many."""
    config = replace(SMALL, coordinate_width=width)
    limit = 1 << width
    rng = random.Random(width)

    def fits(dimension, count):
        cuts = Cuts(dimension, count)
        for tile in (cuts[number] for number in range(len(cuts))):
            (r,) = dimension_registers([tile.dimension], [0])
            if max(r.lead, r.size, max(0, r.head) + r.period) >= limit:
                return False
        return True

    bounded = 0
    for _ in range(200):
        window, dilation, stride = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, limit)
        padding = rng.randint(0, limit), rng.randint(0, limit)
        size = rng.randint((window - 1) * dilation + 1, 3 * limit)
        dimension = SpatialDimension(size, window, stride, dilation, *padding)
        most = largest_count(dimension, config)
        if not most:
            assert max(dimension.stride, dimension.extent) >= limit or not fits(dimension, 1)
            continue
        assert fits(dimension, most), dimension
        if most < min(dimension.outputs, limit - 1):
            assert not fits(dimension, most + 1), dimension
            bounded += 1
    assert bounded
