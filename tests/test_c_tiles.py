"""The C driver cuts lines that the counters just hold, or do not, as the Python package does."""

import random
from typing import Any

import pytest
from c_compiler import compiler, run
from c_operators import POOLING

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import DataType, Pooling
from extremum.tb.c_driver.comparison import Comparison
from extremum.tb.c_driver.structures import FOLDER, load


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    path = tmp_path_factory.mktemp("c_tiles") / "extremum.so"
    run(compiler(), *["-std=c99", "-O1", "-shared", "-fPIC"], FOLDER / "extremum.c", "-o", path)
    return load(path)


@pytest.mark.parametrize("end_padding", [6, 9, 12, 18, 40])
@pytest.mark.parametrize("taps", [9, 5, 3])
def test_a_fixed_window_keeps_the_taps_behind_the_elements(driver, taps, end_padding):
    """As many as it has; so its tiles are shorter than those of a core that leaves all such out."""
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 1, 9), max_dilation=(1, 1, 1), coordinate_width=4,
        fixed=(("width.window", taps),),
    )  # fmt: skip
    line = {"sizes": [1, 1, 1, 3], "window": [1, 9], "strides": [1, 1]}
    operator: dict[str, Any] = POOLING | line | {"end_padding": [0, end_padding]}
    compared = Comparison(driver, random.Random(0))
    compared.compare(operator, config)
    assert compared.seen["OK"] == 1
    for job in plan(Pooling.of(**operator), config).jobs:
        assert job.registers.width.window == taps
        job.registers.to_bits(config)


def test_the_last_tap_of_a_fixed_window_needs_room_in_the_counters(driver):
    """It is kept also where it lies behind the elements in every window."""
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 1, 3), max_dilation=(1, 1, 5), coordinate_width=5,
        fixed=(("width.window", 3),),
    )  # fmt: skip
    line = {"sizes": [1, 1, 1, 7], "window": [1, 3], "strides": [1, 1], "dilations": [1, 5]}
    operator: dict[str, Any] = POOLING | line | {"end_padding": [0, 34131]}
    Comparison(driver, random.Random(0)).compare(operator, config)
    (job,) = plan(Pooling.of(**operator), config).jobs
    assert isinstance(job, SlidingJob)
    assert job.tiles[2].dimension.outputs == 20


@pytest.mark.parametrize("taps", [2, 3, 4])
def test_lines_at_the_limit_of_the_counters(driver, taps):
    """Where a line is cut depends on each of its numbers; so does which taps of a tile are kept."""
    compared = Comparison(driver, random.Random(taps))
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 2, 4), max_dilation=(1, 1, 9), max_line=2,
        coordinate_width=4,
    )  # fmt: skip
    source = random.Random(taps)
    for _ in range(300):
        dilation = source.randint(1, 12 // (taps - 1))
        extent = 1 + (taps - 1) * dilation
        line = {
            "sizes": [1, 1, source.choice((1, 3)), source.randint(1, 24)],
            "window": [source.choice((1, 2)), taps],
            "strides": [1, source.choice((1, 1, 2, 3, 4, 15, 16, 17))],
            "dilations": [1, dilation],
            "start_padding": [1, source.choice((0, source.randint(0, extent)))],
            "end_padding": [0, source.choice((0, source.randint(0, extent)))],
        }
        compared.compare(POOLING | line, config)
    assert compared.seen["OK"] > 50
    assert compared.seen["many jobs"] > 30


def test_taps_that_are_left_out_need_no_room_in_the_counters(driver):
    """Most windows lie in the padding, and of those that do not, most taps do."""
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 1, 3), max_dilation=(1, 1, 4), coordinate_width=4
    )
    line = {"sizes": [1, 1, 1, 2], "window": [1, 3], "strides": [1, 3], "dilations": [1, 4]}
    padding = {"start_padding": [0, 27], "end_padding": [0, 30796]}
    operator: dict[str, Any] = POOLING | line | padding
    Comparison(driver, random.Random(0)).compare(operator, config)
    jobs = plan(Pooling.of(**operator), config).jobs
    assert [job.tiles[2].dimension.outputs for job in jobs if isinstance(job, SlidingJob)] == [5, 5]


def test_grids_at_the_limit_of_the_counters(driver):
    """A finer cut of the lines leaves planes that may be higher, if it can be counted."""
    compared, source = Comparison(driver, random.Random(0)), random.Random(0)
    config = CoreConfig(
        (DataType.INT8,), max_window=(2, 3, 4), max_dilation=(1, 4, 4), max_line=9, max_plane=24,
        coordinate_width=4,
    )  # fmt: skip
    for _ in range(400):
        windows = [2, source.randint(1, 3), source.randint(2, 4)]
        dilations = [1, *(source.randint(1, 7 // max(1, taps - 1)) for taps in windows[1:])]
        extents = [1 + (w - 1) * d for w, d in zip(windows, dilations, strict=True)]
        volume = {
            "sizes": [1, 1, 2, source.randint(4, 20), source.randint(6, 24)],
            "window": windows,
            "strides": [1, source.randint(1, 2), source.randint(1, 2)],
            "dilations": dilations,
            "start_padding": [0, *(source.randint(0, extent - 1) for extent in extents[1:])],
            "end_padding": [0, *(source.randint(0, extent - 1) for extent in extents[1:])],
        }
        compared.compare(POOLING | volume, config)
    assert compared.seen["OK"] > 100
    assert compared.seen["many jobs"] > 100


@pytest.mark.parametrize(
    ("line", "plane", "bits", "dimensions"),
    [
        (20, 60, 4, [(2, 2, 1, 1, 0, 0), (11, 3, 1, 3, 5, 6), (14, 4, 1, 4, 12, 0)]),
        (20, 12, 4, [(2, 2, 1, 1, 0, 0), (37, 3, 2, 2, 0, 3), (12, 4, 1, 2, 2, 6)]),
        (20, 24, 5, [(3, 2, 1, 1, 0, 0), (9, 3, 2, 2, 2, 0), (29, 4, 2, 4, 12, 3)]),
    ],
)
def test_a_finer_cut_that_would_stream_less_and_cannot_be_counted(
    driver, line, plane, bits, dimensions
):
    config = CoreConfig(
        (DataType.INT8,), max_window=(2, 3, 4), max_dilation=(1, 4, 9), max_line=line,
        max_plane=plane, coordinate_width=bits,
    )  # fmt: skip
    sizes, windows, strides, dilations, starts, ends = map(list, zip(*dimensions, strict=True))
    volume = {
        "sizes": [1, 1, *sizes], "window": windows, "strides": strides, "dilations": dilations,
        "start_padding": starts, "end_padding": ends,
    }  # fmt: skip
    compared = Comparison(driver, random.Random(0))
    compared.compare(POOLING | volume, config)
    assert compared.seen["many jobs"] == 1


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", range(14, 23))
def test_elements_that_no_window_sees_are_counted_too(driver, size, axis):
    """They are streamed unless the line is cut."""
    config = CoreConfig((DataType.INT8,), max_window=(1, 2, 2), coordinate_width=4)
    sizes, strides = [1, 1, 1, 1], [1, 1]
    sizes[2 + axis], strides[axis] = size, 7
    line = {"sizes": sizes, "window": [1, 1], "strides": strides}
    compared = Comparison(driver, random.Random(0))
    compared.compare(POOLING | line, config)
    assert compared.seen["many jobs"] == (size > 15)


def test_a_line_of_more_tiles_than_cuts_that_are_tried(driver):
    config = CoreConfig((DataType.INT8,), max_window=(1, 1, 40), coordinate_width=8)
    line = {"sizes": [1, 1, 1, 1 << 16], "window": [1, 40], "strides": [1, 1]}
    operator: dict[str, Any] = POOLING | line
    Comparison(driver, random.Random(0)).compare(operator, config)
    assert len(plan(Pooling.of(**operator), config).jobs) == -(-65497 // (256 - 79))
