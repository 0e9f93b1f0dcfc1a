"""Sliding windows, found by doubling their parts."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from pooling_checks import check_against_reference
from sliding_maximum import slide_maximum
from strategies import NAN_MODES, TYPES, tensors

import extremum.model.fast.sliding as sliding_module
from extremum.model import SpatialDimension, argmax, max_pooling
from extremum.model.fast import line_plan
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
            sliding_module._copy_lines(source, line_plan.line_index(start, count, step), inside)
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
