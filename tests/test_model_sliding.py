"""Sliding windows, found by doubling their parts, and what is remembered between calls."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import NAN_MODES, TYPES, poolings, tensors
from test_model_pooling import check_against_reference

import extremum.model.fast.maximum as maximum_module
import extremum.model.fast.sliding as sliding_module
from extremum.model import AxisDirection, Pooling, SpatialDimension, argmax, max_pooling
from extremum.model.fast import slide_plan
from extremum.model.fast.maximum import slide_maximum
from extremum.model.fast.order import lowest
from extremum.model.fast.sliding import slide_winners

pytestmark = pytest.mark.usefixtures("as_if_large")


@st.composite
def long_windows(draw):
    """A dimension with windows of up to its whole size, and often a stride that divides it."""
    stride = draw(st.integers(1, 5))
    size = stride * draw(st.integers(1, 12)) + draw(st.sampled_from([0, 0, 1]))
    start, end = draw(st.integers(0, size)), draw(st.integers(0, size))
    padded = size + start + end
    window = draw(st.integers(1, padded))
    dilation = draw(st.integers(1, (padded - 1) // (window - 1))) if window > 1 else 1
    dimension = SpatialDimension(size, window, stride, dilation, start, end)
    return dimension, draw(st.booleans())


def geometry_of(dimension, first):
    """Return the arguments that pool the rows, or the columns, of a plane like the dimension."""
    columns = {
        "window": dimension.window,
        "strides": dimension.stride,
        "start_padding": dimension.start_padding,
        "end_padding": dimension.end_padding,
        "dilations": dimension.dilation,
    }
    other = {name: 0 if "padding" in name else 1 for name in columns}
    return {n: (v, other[n]) if first else (other[n], v) for n, v in columns.items()}


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(60))
@given(data=st.data())
def test_long_windows(name, data):
    dimension, first = data.draw(long_windows())
    across = data.draw(st.integers(1, 3))
    plane = (dimension.size, across) if first else (across, dimension.size)
    x = data.draw(tensors((data.draw(st.integers(1, 2)), 2, *plane), name))
    nan = data.draw(st.sampled_from(NAN_MODES))
    check_against_reference(x, geometry_of(dimension, first), "tensor", nan, "uint32")


@pytest.mark.parametrize("name", ["int8", "float32"])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_plane_whose_columns_follow_each_other_in_memory(name, stride, window):
    """The elements of a line lie further apart than the lines, which are not copied as wholes."""
    x = np.random.default_rng(window).integers(-2, 2, (1, 1, 7, 8)).astype(name).swapaxes(2, 3)
    geometry = {"window": window, "strides": stride, "dilations": 1}
    geometry |= {"start_padding": window - 1, "end_padding": 1}
    spatial = {key: (value, value) for key, value in geometry.items()}
    check_against_reference(x, spatial, "tensor", "propagate", "uint32")


@pytest.mark.parametrize(
    ("window", "padding"),
    [(2, (0, 0)), (3, (0, 0)), (3, (1, 0)), (3, (0, 1)), (4, (1, 0)), (5, (1, 1))],
)
def test_the_only_window_of_a_plane(window, padding):
    """The stride is so long that there is one window, which meets the plane in part or wholly."""
    dimension = SpatialDimension(3, window, 9, 1, *padding)
    x = np.random.default_rng(1).permutation(4 * 9).reshape(4, 3, 3).astype(np.int8)
    met = max(0, window - padding[0])
    part = x[:, :met, :met].reshape(4, -1)
    best, first = part.max(axis=1), part.argmax(axis=1)
    places = first // min(met, 3) * 3 + first % min(met, 3)
    assert np.array_equal(slide_maximum(x, [dimension] * 2).ravel(), best)
    keys, positions = slide_winners(x, [dimension] * 2, [3, 1])
    assert np.array_equal(keys.ravel(), best)
    assert np.array_equal(positions.ravel(), places)


def test_dilated_windows_behind_each_other_end_with_the_last_plane():
    """All planes are one line here; the windows of the last reach to its end, and not beyond."""
    x = np.random.default_rng(3).integers(-99, 99, (2, 3, 16, 5)).astype(np.float32)
    geometry = {"window": (2, 5), "strides": (1, 1), "dilations": (4, 1)}
    geometry |= {"start_padding": (1, 2), "end_padding": (3, 3)}
    check_against_reference(x, geometry, "tensor", "propagate", "uint32")


def test_symmetric_padding_pairs_windows():
    """Windows at both ends that meet equally many elements form one series; others stay alone."""
    dimension = SpatialDimension(9, window=5, start_padding=2, end_padding=3)
    assert [(series.window, series.windows, series.taps) for series in dimension.window_series] == [
        (2, 5, 5),
        (0, 2, 3),
        (1, 2, 4),
        (9, 1, 2),
    ]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("more", [0, 1])
def test_columns_in_wide_padding(name, more):
    """Columns with a padding of their own size and more, so that some windows are empty."""
    size = 6
    rows = SpatialDimension(5, window=2, stride=2, start_padding=1)
    columns = SpatialDimension(size, 2, 1, 1, size // 2, size // 2 + more)
    x = np.random.default_rng(0).integers(0, 9, (3, 2, 5, size)).astype(name)
    if not name.startswith("u"):
        x = (x - np.array(9, name)).astype(name)
    found = slide_maximum(x, [rows, columns])
    for row, elements in enumerate([[0], [1, 2], [3, 4]]):
        best = x[:, :, elements].max(axis=2)
        for column in range(columns.outputs):
            start = column - columns.start_padding
            met = best[..., max(0, start) : max(0, start + 2)]
            if met.shape[-1]:
                assert_equal_bits(found[:, :, row, column], met.max(axis=-1))
            else:
                assert column in columns.empty_windows
                assert (found[:, :, row, column] == lowest(x.dtype)).all()


@pytest.mark.parametrize("name", TYPES)
def test_lines_are_copied_in_every_unit(name):
    """Lines are copied whole, as halves of words, or element by element, from every offset."""
    rng = np.random.default_rng(1)
    bits = f"u{np.dtype(name).itemsize}"
    for planes, size, pitch in product((1, 2, 3), (5, 6, 8), (1, 2, 5)):
        raw = rng.integers(0, 256, (planes, 2 * size, 2 * pitch, np.dtype(name).itemsize), np.uint8)
        wide = raw.view(name)[..., 0]
        packed = np.ascontiguousarray(wide[:, :size, :pitch])
        views = (packed, wide[:, :size, :pitch], wide[:, ::2, :pitch], wide[:, :size, ::2])
        for source, step, start in product(views, (1, 2, 3), (0, 1)):
            count = (size - start - 1) // step + 1
            target = np.zeros((planes, count + 1, pitch + 2), name)
            inside = target[:, 1:, 1:-1]
            sliding_module._copy_lines(source, slide_plan.line_index(start, count, step), inside)
            expected = np.zeros_like(target)
            expected[:, 1:, 1:-1].view(bits)[...] = source[:, start::step].view(bits)
            assert_equal_bits(target, expected)


@settings(max_examples=some(300))
@given(data=st.data())
def test_series_are_the_windows(data):
    """The series hold every window once, with the elements that its taps meet."""
    dimension, _ = data.draw(long_windows())
    found = {}
    for series in dimension.window_series:
        for number in range(series.windows):
            start = series.element + number * series.element_step
            elements = [start + t * dimension.dilation for t in range(series.taps)]
            assert (
                found.setdefault(series.window + number * series.window_step, elements) is elements
            )
        # Two groups of taps of this level cover a window, and two of the level below would not.
        assert series.taps <= 2 << series.level
        assert not series.level or series.taps > 1 << series.level
    for window in range(dimension.outputs):
        start = window * dimension.stride - dimension.start_padding
        places = [start + tap * dimension.dilation for tap in range(dimension.window)]
        met = [place for place in places if 0 <= place < dimension.size]
        assert found.pop(window, []) == met
        assert (window in dimension.empty_windows) == (not met)
        assert not met or dimension.first_elements()[window] == met[0]
    assert not found


@pytest.mark.parametrize(
    ("name", "least"),
    [("int8", -128), ("uint16", 0), ("float32", -np.inf), ("float16", -np.inf)],
)
def test_empty_windows_have_the_lowest_key(name, least):
    """An empty part of a window must lose against the other parts of the window."""
    dimension = SpatialDimension(2, window=1, start_padding=2, end_padding=1)
    x = np.array([3, 4], name)
    expected = [least, least, 3, 4, least]
    assert slide_maximum(x, [dimension]).tolist() == expected
    assert slide_winners(x, [dimension], [1])[0].tolist() == expected


@pytest.mark.parametrize("name", TYPES)
def test_windows_of_one_element_are_fresh(name):
    """Results may be changed by the caller, so they share no memory with the input."""
    x = np.arange(6).astype(name).reshape(2, 3)
    dimensions = [SpatialDimension(2, window=1), SpatialDimension(3, window=1)]
    keys, positions = slide_winners(x, dimensions, [3, 1], 4)
    assert positions.tolist() == [[4, 5, 6], [7, 8, 9]]
    for found in (slide_maximum(x, dimensions), keys):
        assert_equal_bits(found, x)
        assert not np.may_share_memory(found, x)
    assert keys.flags.writeable
    assert positions.flags.writeable


@pytest.mark.parametrize("name", ["float32", "float16", "int8", "uint64"])
@pytest.mark.parametrize("plane", [(7, 7), (5, 51), (16, 16), (1, 257), (3, 1, 3), (4, 8, 8)])
@settings(max_examples=20)
@given(data=st.data())
def test_windows_as_large_as_their_planes(name, plane, data):
    """Planes on both sides of the size from which each is reduced on its own."""
    x = data.draw(tensors((2, 2, *plane), name))
    arguments = {"window": plane, "nan": data.draw(st.sampled_from(NAN_MODES))}
    values = max_pooling(x, **arguments)
    rows = x.reshape(4, -1)
    found, positions = max_pooling(x, **arguments, return_indices=True, index_layout="plane")
    expected = argmax(rows, 1, nan=arguments["nan"])
    assert np.array_equal(positions.reshape(4, 1), expected)
    assert_equal_bits(
        values, np.take_along_axis(rows, expected.astype(int), 1).reshape(found.shape)
    )
    assert_equal_bits(found, values)


NEVER = 1 << 40
"""A stretch that no tensor has."""


def forget_plans():
    slide_plan.kept_plans.cache_clear()
    maximum_module._repeated.cache_clear()


@pytest.fixture
def fresh_plans():
    forget_plans()
    yield
    forget_plans()


@pytest.mark.usefixtures("fresh_plans")
@pytest.mark.parametrize(("short", "one_by_one"), [(0, 0), (0, NEVER), (NEVER, NEVER)])
@settings(max_examples=some(200))
@given(data=st.data())
def test_all_ways_to_join_short_stretches(short, one_by_one, data):
    """Comparing tap after tap, the pairs that are wanted, or all pairs, gives the same windows."""
    sizes, geometry = data.draw(poolings())
    x = data.draw(tensors(sizes, data.draw(st.sampled_from(TYPES))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slide_plan, "SHORT_STRETCH", short)
        patch.setattr(slide_plan, "LEAST_ONE_BY_ONE", one_by_one)
        patch.setattr(maximum_module, "TENSORS_BEFORE", data.draw(st.sampled_from([0, NEVER])))
        forget_plans()
        nan = data.draw(st.sampled_from(NAN_MODES))
        check_against_reference(x, geometry, "tensor", nan, "uint32")


@pytest.mark.parametrize("name", ["float32", "int8"])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_lines_around_a_short_stretch(name, padding, stride):
    """Lines around the length that decides the method, even and odd, in both dimensions."""
    size = np.dtype(name).itemsize
    rng = np.random.default_rng(stride)
    widths = {
        steps * bound // size + more
        for steps in {1, stride}
        for bound in (slide_plan.SHORT_STRETCH, slide_plan.LEAST_ONE_BY_ONE)
        for more in range(-2, 5)
    }
    for width in sorted(widths):
        for plane in ((7, width), (width, 3)):
            x = rng.integers(-9, 9, (2, 2, *plane)).astype(name)
            arguments = {"strides": stride, "start_padding": padding, "end_padding": padding}
            values, indices = max_pooling(
                x, 3, **arguments, return_indices=True, index_layout="plane"
            )
            assert_equal_bits(max_pooling(x, 3, **arguments), values)
            padded = np.pad(x, [(0, 0)] * 2 + [(padding, padding)] * 2, constant_values=-99)
            windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
            windows = windows[:, :, ::stride, ::stride].reshape(*values.shape, 9)
            assert np.array_equal(values, windows.max(axis=-1))
            row, column = np.divmod(windows.argmax(axis=-1), 3)
            row += stride * np.arange(values.shape[2])[:, None] - padding
            column += stride * np.arange(values.shape[3]) - padding
            assert np.array_equal(indices, row * plane[1] + column)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("rank", [2, 3])
@settings(max_examples=some(60))
@given(data=st.data())
def test_columns_in_step_with_their_padding(name, rank, data):
    """If the stride divides the padded lines, all of them are pooled as one row.

    Here the stride divides them, or just does not.
    """
    stride = data.draw(st.integers(1, 4))
    window = data.draw(st.integers(1, stride))
    start, end = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    padded = stride * data.draw(st.integers(-(-(start + end + 1) // stride), 12))
    rows = data.draw(st.sampled_from([(1, 1, 0), (2, 1, 0), (2, 2, 1), (3, 1, 1)]))
    across = (data.draw(st.integers(3, 5)),) * (rank - 1)
    columns = (window, stride, start)
    names = ("window", "strides", "start_padding")
    geometry = {
        key: (*(row,) * (rank - 1), column)
        for key, row, column in zip(names, rows, columns, strict=True)
    }
    geometry["end_padding"] = (
        *(rows[2],) * (rank - 1),
        end + data.draw(st.sampled_from([0, 0, 1])),
    )
    geometry["dilations"] = (1,) * rank
    x = data.draw(tensors((2, 2, *across, padded - start - end), name))
    nan = data.draw(st.sampled_from(NAN_MODES))
    check_against_reference(x, geometry, "tensor", nan, "uint32")


def test_lines_in_step_hold_their_padding():
    """Short lines are stored with the padding of the next dimension, wide ones without."""
    rows, columns = (SpatialDimension(size, 2, 2, 1, 1, 1) for size in (4, 6))
    axes = range(-2, 0)

    def shapes(dimensions, axes):
        sizes = (3, *(d.size for d in dimensions))
        plans, shape = slide_plan.slide_plans(dimensions, sizes, 4, axes)
        return [(plan.shape, plan.inside, plan.dimension.padded) for plan in plans], shape

    assert shapes((rows, columns), axes) == (
        [((3, 3, 8), slice(1, 7), 6), ((9, 4, 1), None, 8)],
        (3, 3, 4),
    )
    assert shapes((rows, columns), axes[::-1])[0][0] == ((12, 4, 1), None, 8)
    wide = SpatialDimension(slide_plan.SHORT_STRETCH // 4, 2, 2, 1, 1, 1)
    assert shapes((rows, wide), axes)[0][0] == ((3, 3, wide.size), None, 6)


@pytest.mark.usefixtures("fresh_plans")
@pytest.mark.parametrize("size", [700, 3000])
def test_a_running_maximum(size):
    """Each window meets another number of elements; the plan of very many of them is not kept."""
    x = np.random.default_rng(size).integers(-999, 999, (1, 1, 1, size)).astype(np.int16)
    values, indices = max_pooling(x, (1, size), start_padding=(0, size - 1), return_indices=True)
    expected = np.maximum.accumulate(x, axis=3)
    assert np.array_equal(values, expected)
    assert np.array_equal(
        indices, np.argmax(x[0, 0, 0] == expected[0, 0, 0, :, None], axis=1)[None, None, None]
    )
    assert (slide_plan.kept_plans.cache_info().currsize > 0) == (size < slide_plan.MOST_KEPT_SERIES)


@pytest.mark.parametrize("shape", [(1, 1, 1, 5000), (1, 1, 5000, 1)])
def test_doubling_takes_few_passes(shape, monkeypatch):
    """A window of 2000 taps takes as many passes as 2000 has binary digits."""
    passes = []
    join: Any = sliding_module._join_winners

    def counted(*arguments, step):
        passes.append(arguments)
        join(*arguments, step)

    monkeypatch.setattr(sliding_module, "_join_winners", counted)
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.int8)
    window = tuple(min(2000, size) for size in shape[2:])
    _, indices = max_pooling(x, window, return_indices=True)
    assert len(passes) == 11
    windows = np.lib.stride_tricks.sliding_window_view(x.ravel(), 2000)
    assert np.array_equal(indices.ravel(), windows.argmax(axis=1) + np.arange(3001))


def test_what_is_kept_between_calls_hides_no_error():
    """True and 1.0 equal 1, and yet are refused after a call with 1."""
    x = np.zeros((1, 1, 2, 2), np.int8)
    max_pooling(x, 1, strides=(1, 1))
    argmax(x, 1, index_type="int64")
    argmax(x, 1, axis_direction=AxisDirection.INCREASING)
    for wrong in (True, 1.0, (1, 1.0), (True, 1)):
        with pytest.raises(TypeError, match=r"^window must be (an integer|integers)"):
            max_pooling(x, wrong, strides=(1, 1))  # pyright: ignore[reportArgumentType, reportCallIssue]
        with pytest.raises(TypeError, match=r"^axes must be (an integer|integers)"):
            argmax(x, wrong, index_type="int64")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"^axis_direction must be increasing or decreasing"):
        argmax(x, 1, axis_direction=False)  # pyright: ignore[reportArgumentType]
    assert argmax(x, 1).dtype == np.uint32


def test_problems_are_equal_after_use():
    """What a problem derives and remembers does not count when two problems are compared."""
    used, fresh = (Pooling.of((1, 2, 5, 5), "int8", 3, start_padding=1) for _ in range(2))
    used.evaluate(np.zeros((1, 2, 5, 5), np.int8))
    assert used == fresh
    assert hash(used) == hash(fresh)
