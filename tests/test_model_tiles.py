"""Large problems are computed in pieces, with the same results and bounded memory."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from pooling_checks import check_against_reference
from strategies import DIRECTIONS, NAN_MODES, TYPES, poolings, tensors

import extremum.model.fast.pooling as pooling_module
import extremum.model.fast.reduction as reduction_module
from extremum.model import Pooling, Reduction, SpatialDimension, argmax, max_pooling
from extremum.model.fast.memory import keep_freed_memory
from extremum.model.fast.tiles import tile_sizes, tiles
from extremum.model.fast.values import _prepared

pytestmark = pytest.mark.usefixtures("as_if_large")


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(60))
@given(data=st.data())
def test_tiles_do_not_show(name, data):
    """With tiles of a few elements, planes are cut between windows, and windows between taps."""
    sizes, geometry = data.draw(poolings())
    x = data.draw(tensors(sizes, name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling_module, "CHUNK_ELEMENTS", data.draw(st.integers(1, 12)))
        nan = data.draw(st.sampled_from(NAN_MODES))
        check_against_reference(x, geometry, "tensor", nan, "uint32")


@settings(max_examples=some(200))
@given(data=st.data())
def test_tiles_cover_the_windows_within_the_limit(data):
    sizes, geometry = data.draw(poolings())
    dimensions = Pooling.of(sizes, "int8", **geometry).spatial
    limit = data.draw(st.integers(1, 50))
    windows, taps = tile_sizes(dimensions, limit)
    assert all(1 <= n <= d.outputs for n, d in zip(windows, dimensions, strict=True))
    assert all(1 <= n <= d.window for n, d in zip(taps, dimensions, strict=True))
    covered = np.zeros([d.outputs for d in dimensions], int)
    for window, parts in tiles(dimensions, limit):
        covered[window] += 1
        for part in parts:
            assert np.prod([d.size for d in part.dimensions]) <= limit
    assert (covered == 1).all()


def test_real_tiles():
    """A plane that is cut into several tiles of the real size, against the plane in one tile."""
    x = np.random.default_rng(3).integers(-9, 9, (1, 2, 900, 700)).astype(np.float32)
    geometries: list[dict[str, Any]] = [
        {"window": 3, "strides": 2, "start_padding": 1},
        {"window": (2, 700)},
        {"window": (900, 3), "strides": (1, 7)},
        {"window": (899, 699), "end_padding": 1},
    ]
    for arguments in geometries:
        whole = max_pooling(x, **arguments, return_indices=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pooling_module, "CHUNK_ELEMENTS", 1 << 30)
            assert len(tiles_of(x, arguments)) == 1
            expected = max_pooling(x, **arguments, return_indices=True)
        assert len(tiles_of(x, arguments)) > 1 or arguments["window"] == (899, 699)
        for actual, wanted in zip(whole, expected, strict=True):
            assert_equal_bits(actual, wanted)


def tiles_of(x, arguments):
    problem = Pooling.of(x.shape, x.dtype, **arguments)
    return list(tiles(problem.spatial, pooling_module.CHUNK_ELEMENTS))


def test_a_plane_has_several_tiles_of_taps():
    dimension = SpatialDimension(100, window=100)
    [(windows, parts)] = tiles([dimension], 10)
    assert windows == (slice(0, 1),)
    assert [part.elements for part in parts[:2]] == [(slice(0, 7),), (slice(7, 14),)]


@settings(max_examples=some(60))
@given(data=st.data())
def test_parts_of_a_reduction_do_not_show(data):
    """Reduced axes are cut into parts, whether or not they are adjacent."""
    x = data.draw(tensors((3, 4, 2, 5), data.draw(st.sampled_from(TYPES))))
    axes = data.draw(st.sampled_from([(0,), (3,), (1, 3), (2, 3), (0, 2), (0, 1, 2, 3), (0, 3)]))
    for function in ("argmin", "argmax", "min", "max"):
        nan = data.draw(st.sampled_from(NAN_MODES))
        options: dict[str, Any] = {"nan": nan}
        if function.startswith("arg"):
            options["axis_direction"] = data.draw(st.sampled_from(DIRECTIONS))
        problem = Reduction.of(function, x.shape, x.dtype, axes, **options)
        whole = problem.evaluate(x)
        with pytest.MonkeyPatch.context() as patch:
            for size in ("CHUNK_ELEMENTS", "LARGE_CHUNK_ELEMENTS"):
                patch.setattr(reduction_module, size, data.draw(st.integers(1, 7)))
            patch.setattr(reduction_module, "CHUNK_COLUMNS", 1)
            patch.setattr(reduction_module, "CHUNK_ROWS", 1)
            assert_equal_bits(problem.evaluate(x), whole)


POOLINGS = {
    "one huge plane": ((1, 1, 4000, 4000), {"window": 3, "start_padding": 1, "end_padding": 1}),
    "a plane of one row": ((1, 1, 1, 16_000_000), {"window": (1, 3), "strides": (1, 2)}),
    "one window": ((1, 1, 4000, 4000), {"window": 4000}),
    "long windows": ((1, 1, 4000, 4000), {"window": (2000, 2000), "strides": (1000, 1000)}),
    "many small planes": ((200, 200, 20, 20), {"window": 2, "strides": 2}),
    "a volume": ((1, 1, 250, 250, 250), {"window": 2, "strides": 2}),
}
REDUCTIONS = {
    "one row": ((16_000_000,), (0,)),
    "short rows": ((4_000_000, 4), (1,)),
    "the outer axis": ((4000, 4000), (0,)),
    "a short outer axis": ((16, 1_000_000), (0,)),
    "axes that are not adjacent": ((400, 40, 1000), (0, 2)),
    "outer axes that are not adjacent": ((40, 100, 40, 100), (0, 2)),
}


def beyond(problem, x):
    """Return the peak of memory in bytes, without the input and the outputs."""
    # The first problem of a process also frees one large array, of which no page is used.
    keep_freed_memory()
    tracemalloc.start()
    try:
        result = problem.evaluate(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak - sum(y.nbytes for y in (result if isinstance(result, tuple) else (result,)))


@pytest.mark.parametrize(
    ("sizes", "stride", "calls"),
    [
        ((1, 64, 128, 128), 2, 1),
        ((1, 65, 128, 128), 2, 2),
        ((2, 32, 128, 128), 2, 1),
        ((1, 64, 128, 128), 1, 4),
        ((1, 16, 128, 128), 1, 1),
        ((1, 4, 512, 512), 2, 1),
        ((1, 4, 513, 512), 2, 8),  # planes of two tiles each
    ],
)
def test_how_many_planes_are_pooled_at_once(monkeypatch, sizes, stride, calls):
    """Whole planes of 2^20 elements, or of 2^18 windows; planes in tiles one by one."""
    found = []
    winners = pooling_module.window_winners

    def count(*arguments):
        found.append(arguments)
        return winners(*arguments)

    monkeypatch.setattr(pooling_module, "window_winners", count)
    x = np.zeros(sizes, np.int8)
    max_pooling(x, 3, strides=stride, start_padding=1, end_padding=1)
    assert len(found) == calls


@pytest.mark.parametrize("case", POOLINGS)
@pytest.mark.parametrize("name", ["int8", "float32"])
def test_memory_for_poolings(case, name):
    sizes, geometry = POOLINGS[case]
    x = np.zeros(sizes, name)
    x[..., ::7] = -1
    for indices in (False, True):
        problem = Pooling.of(sizes, name, **geometry, return_indices=indices)
        assert beyond(problem, x) <= x.nbytes


@pytest.mark.parametrize(
    ("plane", "window"),
    [((1, 1 << 18), (1, 1 << 17)), ((512, 512), (256, 256)), ((1, 1 << 17), (1, 1 << 16))],
)
def test_the_first_call_takes_about_as_much_memory_as_the_others(plane, window):
    """A recording of long windows has many arrays, and is made at the first call to be measured.

    What it reserves without writing is not seen here.
    """
    problem = Pooling.of((1, 1, *plane), "float32", window)
    x = np.zeros(problem.sizes, np.float32)
    _prepared.cache_clear()
    first, second = beyond(problem, x), beyond(problem, x)
    assert first <= second + (1 << 17)


@pytest.mark.parametrize("case", REDUCTIONS)
@pytest.mark.parametrize("name", ["int8", "float16"])
def test_memory_for_reductions(case, name):
    sizes, axes = REDUCTIONS[case]
    x = np.zeros(sizes, name)
    x[..., ::7] = -1
    for direction in DIRECTIONS:
        problem = Reduction.of("argmax", sizes, name, axes, axis_direction=direction)
        assert beyond(problem, x) <= x.nbytes
    assert beyond(Reduction.of("min", sizes, name, axes), x) <= x.nbytes


def test_a_view_is_not_copied():
    """Only pieces of a reversed view with gaps are copied at a time, never all of it."""
    x = np.zeros((8000, 4000), np.int8)
    x[3999, 2001] = 1
    view = x[::-2, ::-2]
    problem = Reduction.of("argmax", view.shape, "int8")
    assert beyond(problem, view) <= view.nbytes
    assert argmax(view).item() == 2000 * 2000 + 999


@pytest.mark.parametrize("name", ["float16", "float32", "int8"])
def test_a_tile_without_elements_loses(name, monkeypatch):
    """Windows that meet no element with some taps, and only negative ones with the others."""
    monkeypatch.setattr(pooling_module, "CHUNK_ELEMENTS", 7)
    x = -np.random.default_rng(0).integers(1, 9, (1, 1, 7, 4)).astype(name)
    geometry = {"window": (9, 2), "strides": (2, 3), "dilations": (1, 4)}
    geometry |= {"start_padding": (0, 1), "end_padding": (4, 1)}
    check_against_reference(x, geometry, "tensor", "propagate", "uint32")
