"""Every type, operator and mode, and published examples, compared with the golden model."""

import numpy as np
import pytest
from accelerators import REDUCTIONS, check
from equal_bits import assert_equal_bits
from onnx_vectors import vectors
from simulation import NATIVE_FIRST
from strategies import DIRECTIONS, INDEX_TYPES, LAYOUTS, NAN_MODES, TYPES, special_values

from extremum.model.onnx import (
    arg_arguments,
    lifted_sizes,
    max_pool_arguments,
    squeeze_axes,
)

GRID = [[1, 2, 3], [3, 0, 4], [2, 5, 2]]

pytestmark = pytest.mark.parametrize("simulator", NATIVE_FIRST)


def rows_of(name, nan=True):
    """Return rows of two elements: every special value of a type beside every other."""
    special = special_values(name, nan)
    a, b = np.repeat(special, len(special)), np.tile(special, len(special))
    return np.stack([a, b], axis=1)


@pytest.mark.parametrize("nan", NAN_MODES)
@pytest.mark.parametrize("function", REDUCTIONS)
@pytest.mark.parametrize("name", TYPES)
def test_every_type_and_reduction(hardware, simulator, name, function, nan):
    """All pairs of special values, so that every tie and every NaN is met from both sides."""
    accelerator = hardware("every_type", simulator)
    x = rows_of(name)
    directions = DIRECTIONS if function.startswith("arg") else (None,)
    for direction in directions:
        options = {} if direction is None else {"axis_direction": direction}
        check(accelerator, function, x, 1, nan=nan, **options)


@pytest.mark.parametrize("nan", NAN_MODES)
@pytest.mark.parametrize("name", TYPES)
def test_every_type_and_pooling(hardware, simulator, name, nan):
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(1)
    special = special_values(name)
    x = special[rng.integers(0, len(special), (2, 2, 7, 9))]
    check(accelerator, "max_pooling", x, 3, strides=2, start_padding=1, end_padding=1, nan=nan)
    check(accelerator, "max_pooling", x, (2, 3), dilations=(1, 2), return_indices=True, nan=nan)
    volume = special[rng.integers(0, len(special), (1, 2, 3, 4, 4))]
    check(accelerator, "max_pooling", volume, 2, start_padding=1, return_indices=True, nan=nan)


def test_index_types_and_layouts(hardware, simulator):
    accelerator = hardware("every_type", simulator)
    x = np.arange(48, dtype=np.int16).reshape(2, 2, 3, 4) % 7
    for index_type in INDEX_TYPES:
        check(accelerator, "argmax", x, (1, 3), index_type=index_type)
    for index_type in ("uint32", "uint64", "int64"):
        for layout in LAYOUTS:
            options = {"index_type": index_type, "index_layout": layout, "return_indices": True}
            check(accelerator, "max_pooling", x, 2, start_padding=(0, 3), **options)


@pytest.mark.parametrize("name", TYPES)
def test_worked_examples(hardware, simulator, name):
    accelerator = hardware("every_type", simulator)
    x = np.array(GRID, name)
    for function, axes, expected in (
        ("argmin", 0, [[0, 1, 2]]),
        ("argmin", 1, [[0], [1], [0]]),
        ("argmin", (0, 1), [[4]]),
        ("argmax", 0, [[1, 2, 1]]),
        ("argmax", 1, [[2], [2], [1]]),
        ("argmax", (0, 1), [[7]]),
    ):
        actual = getattr(accelerator, function)(x, axes)
        assert_equal_bits(actual, np.array(expected, np.uint32))
    for function, row in (("argmin", [1, 2, 3, 2, 1]), ("argmax", [3, 2, 1, 2, 3])):
        x = np.array(row, name)
        assert getattr(accelerator, function)(x).tolist() == [0]
        last = getattr(accelerator, function)(x, axis_direction="decreasing")
        assert last.tolist() == [4]


@pytest.mark.parametrize("operator", ["argmax", "argmin"])
def test_onnx_arg(hardware, simulator, operator):
    accelerator = hardware("every_type", simulator)
    cases = vectors(operator)
    assert len(cases) == 16
    for vector in cases:
        arguments = arg_arguments(**vector.attributes)
        y = getattr(accelerator, operator)(vector.inputs[0], **arguments)
        keepdims = vector.attributes["keepdims"]
        assert_equal_bits(squeeze_axes(y, arguments["axes"], keepdims), vector.outputs[0])


def test_onnx_max_pool(hardware, simulator):
    accelerator = hardware("every_type", simulator)
    cases = vectors("maxpool")
    assert len(cases) == 19
    for vector in cases:
        (x,) = vector.inputs
        arguments = max_pool_arguments(x.shape, **vector.attributes)
        lifted = x.reshape(lifted_sizes(x.shape))
        results = accelerator.max_pooling(lifted, **arguments, return_indices=True)
        assert len(results) == 2  # values and indices; a vector may have the values alone
        for actual, expected in zip(results[: len(vector.outputs)], vector.outputs, strict=True):
            assert_equal_bits(actual.squeeze(2) if x.ndim == 3 else actual, expected)
