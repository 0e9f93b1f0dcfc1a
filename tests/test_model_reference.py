"""The reference itself: numbers against `struct`, and results that are written out by hand."""

import math
import struct
from typing import Any

import numpy as np
import pytest
from strategies import LAYOUTS, TYPES, special_bits

from extremum.model import reference

CODES = dict(zip(TYPES, "feqihbQIHB", strict=True))
"""The characters of `struct` for the types."""


def same(a, b):
    """Tell whether two numbers are the same, with NaN and the sign of zero."""
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


@pytest.mark.parametrize("name", TYPES)
def test_numbers_are_decoded_as_struct_decodes_them(name):
    width = np.dtype(name).itemsize
    bits = [*special_bits(name), *np.random.default_rng(0).integers(0, 1 << 8 * width - 1, 500)]
    if width == 2:
        bits = range(1 << 16)
    for pattern in bits:
        data = int(pattern).to_bytes(width, "little")
        element = np.frombuffer(data, np.dtype(name).newbyteorder("<")).astype(name)[0]
        (expected,) = struct.unpack("<" + CODES[name], data)
        assert same(reference.number(element), expected), hex(pattern)


@pytest.mark.parametrize(
    ("candidate", "best", "maximum", "minimum"),
    [
        (2.0, 1.0, True, False),
        (1.0, 2.0, False, True),
        (1.0, 1.0, False, False),
        (0.0, -0.0, False, False),
        (-0.0, 0.0, False, False),
        (math.inf, 1.0, True, False),
    ],
)
def test_which_number_beats_which(candidate, best, maximum, minimum):
    for nan in ("propagate", "ignore"):
        assert reference.beats(candidate, best, minimum=False, nan=nan) is maximum
        assert reference.beats(candidate, best, minimum=True, nan=nan) is minimum


@pytest.mark.parametrize("minimum", [False, True])
def test_what_nan_beats(minimum):
    for number in (-math.inf, 0.0, math.inf):
        assert reference.beats(math.nan, number, minimum=minimum, nan="propagate")
        assert not reference.beats(number, math.nan, minimum=minimum, nan="propagate")
        assert not reference.beats(math.nan, number, minimum=minimum, nan="ignore")
        assert reference.beats(number, math.nan, minimum=minimum, nan="ignore")
    for nan in ("propagate", "ignore"):
        assert not reference.beats(math.nan, math.nan, minimum=minimum, nan=nan)


@pytest.mark.parametrize(
    ("axes", "minima", "maxima"),
    [
        ((0,), [[0, 1, 2]], [[1, 2, 1]]),
        ((1,), [[0], [1], [0]], [[2], [2], [1]]),
        ((0, 1), [[4]], [[7]]),
    ],
)
def test_the_examples_of_directml(axes, minima, maxima):
    """The worked examples of DML_ARGMIN_OPERATOR_DESC and DML_ARGMAX_OPERATOR_DESC."""
    x = np.array([[1, 2, 3], [3, 0, 4], [2, 5, 2]], np.float32)
    assert reference.reduction(x, axes, minimum=True)[0].tolist() == minima
    assert reference.reduction(x, axes)[0].tolist() == maxima


def test_the_direction_decides_a_tie():
    x, y = np.array([1, 2, 3, 2, 1], np.int8), np.array([3, 2, 1, 2, 3], np.int8)
    for decreasing, position in ((False, 0), (True, 4)):
        for tensor, minimum in ((x, True), (y, False)):
            found, _ = reference.reduction(tensor, [0], minimum=minimum, decreasing=decreasing)
            assert found.tolist() == [position]


def test_axes_that_are_not_adjacent_count_in_the_order_of_the_dimensions():
    x = np.zeros((2, 3, 4, 5), np.int8)
    x[0, 2, 1, 3] = 1
    for axes in ((1, 3), (3, 1)):
        positions, values = reference.reduction(x, axes)
        assert positions.shape == (2, 1, 4, 1)
        assert (positions[0, 0, 1, 0], values[0, 0, 1, 0]) == (2 * 5 + 3, 1)


def test_a_pooling_by_hand():
    """Two planes of 2x3, windows of 2x2 with padding on top: ties, a border, every layout."""
    x = np.array([[[[1, 4, 4], [4, 2, 0]], [[-1, -2, -3], [-4, -5, -6]]]], np.int8)
    geometry: dict[str, Any] = {"strides": (1, 1), "start_padding": (1, 0), "end_padding": (0, 0)}
    expected = {
        "tensor": [[[[1, 1], [1, 1]], [[6, 7], [6, 7]]]],
        "plane": [[[[1, 1], [1, 1]], [[0, 1], [0, 1]]]],
        "column_major": [[[[2, 2], [2, 2]], [[6, 8], [6, 8]]]],
    }
    for layout in LAYOUTS:
        values, positions, empty = reference.pooling(
            x, (2, 2), **geometry, dilations=(1, 1), layout=layout
        )
        assert values.tolist() == [[[[4, 4], [4, 4]], [[-1, -2], [-1, -2]]]]
        assert positions.tolist() == expected[layout]
        assert empty == 0


@pytest.mark.parametrize("name", TYPES)
def test_an_empty_window(name):
    """Two windows of four meet no element: of padding alone, and between dilated taps."""
    x = np.array([[[[3]]]], name)
    values, positions, empty = reference.pooling(
        x,
        (1, 2),
        strides=(1, 1),
        start_padding=(0, 2),
        end_padding=(0, 3),
        dilations=(1, 2),
    )
    lowest = -np.inf if name.startswith("float") else np.iinfo(name).min
    assert values.tolist() == [[[[3, lowest, 3, lowest]]]]
    assert positions.tolist() == [[[[0, None, 0, None]]]]
    assert empty == 2
    assert reference.as_index(positions, "uint32").tolist() == [[[[0, 2**32 - 1, 0, 2**32 - 1]]]]
    assert reference.as_index(positions, "int64").tolist() == [[[[0, -1, 0, -1]]]]


def test_the_column_major_layout_of_a_volume():
    assert reference.layout_weights((2, 3, 4, 5, 6), "column_major") == [360, 120, 1, 4, 20]
