"""`argmin`, `argmax`, `reduce_min` and `reduce_max`, against the reference and against NumPy."""

import numpy as np
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    DIRECTIONS,
    FLOATS,
    INDEX_TYPES,
    NAN_MODES,
    TYPES,
    axes_of,
    memory_layouts,
    sizes,
    special_values,
    tensors,
)

import extremum.model.fast.reduction as reduction_module
from extremum.model import (
    ReduceFunction,
    Reduction,
    argmax,
    argmin,
    reduce_max,
    reduce_min,
    reference,
)

pytestmark = pytest.mark.usefixtures("every_way")

GRID = [[1, 2, 3], [3, 0, 4], [2, 5, 2]]
ARG = {"argmin": argmin, "argmax": argmax}
VALUE = {"argmin": reduce_min, "argmax": reduce_max}


def check_against_reference(x, axes, nan, direction, index_type):
    """Compare all four functions with the reference; the input must stay as it was."""
    plain = np.ascontiguousarray(x.astype(x.dtype.newbyteorder("=")))
    positive = [axis % x.ndim for axis in axes]
    before = x.tobytes()
    for name, function in ARG.items():
        minimum = name == "argmin"
        positions, _ = reference.reduction(
            plain, positive, minimum=minimum, decreasing=direction == "decreasing", nan=nan
        )
        actual = function(x, axes, axis_direction=direction, index_type=index_type, nan=nan)
        assert_equal_bits(actual, reference.as_index(positions, index_type))
        _, elements = reference.reduction(plain, positive, minimum=minimum, nan=nan)
        result = VALUE[name](x, axes, nan=nan)
        assert_equal_bits(result, elements)
        assert result.flags.c_contiguous
        assert result.flags.owndata or result.base is not x
    assert x.tobytes() == before


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=some(120))
@given(data=st.data())
def test_equals_the_reference(name, data):
    shape = data.draw(sizes())
    x = data.draw(memory_layouts(data.draw(tensors(shape, name))))
    check_against_reference(
        x,
        data.draw(axes_of(len(shape))),
        data.draw(st.sampled_from(NAN_MODES)),
        data.draw(st.sampled_from(DIRECTIONS)),
        data.draw(st.sampled_from(INDEX_TYPES)),
    )


@pytest.mark.parametrize("rank", range(1, 9))
@settings(max_examples=15)
@given(data=st.data())
def test_every_rank(rank, data):
    shape = data.draw(sizes(rank, rank))
    x = data.draw(tensors(shape, data.draw(st.sampled_from(TYPES))))
    axes = data.draw(axes_of(rank))
    check_against_reference(x, axes, "propagate", "increasing", "uint32")


@settings(max_examples=some(120))
@given(data=st.data())
def test_blocks_do_not_show(data):
    """The result does not depend on the size of the blocks."""
    name = data.draw(st.sampled_from(TYPES))
    shape = data.draw(sizes(max_rank=4))
    x = data.draw(tensors(shape, name))
    axes = data.draw(axes_of(len(shape)))
    with pytest.MonkeyPatch.context() as patch:
        for size in ("CHUNK_ELEMENTS", "LARGE_CHUNK_ELEMENTS"):
            patch.setattr(reduction_module, size, data.draw(st.integers(1, 30)))
        patch.setattr(reduction_module, "CHUNK_COLUMNS", data.draw(st.integers(1, 4)))
        check_against_reference(x, axes, "ignore", "decreasing", "int64")


def test_blocks_of_the_real_size():
    """Tensors that are cut into several blocks of the real size, along each axis."""
    rng = np.random.default_rng(7)
    for shape, axis in (((5, 90_000, 1), 1), ((3, 7000, 130), 1), ((300_000, 2), 0)):
        x = rng.integers(0, 50, shape).astype(np.uint8)
        assert np.array_equal(argmax(x, axis), np.argmax(x, axis, keepdims=True))
        assert np.array_equal(reduce_min(x, axis), np.min(x, axis, keepdims=True))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    "shape", [(20, 2570), (64, 8200), (65, 8330), (2570, 20), (8200, 3), (3, 5, 220), (300, 310)]
)
def test_short_columns_and_rows(name, shape):
    """Columns and rows that are so short and so many that all are searched at once."""
    axis = int(np.argmin(shape)) if len(shape) == 2 else 1
    rng = np.random.default_rng(len(name))
    x = rng.integers(0, 5, shape).astype(name)
    if name in FLOATS:
        x[x == 3] = -0.0
        x -= x.dtype.type(2) * (x == 1)
    cases = [x, np.moveaxis(np.ascontiguousarray(np.moveaxis(x, axis, -1)), -1, axis)]
    if name in FLOATS:
        cases.append(np.where(rng.integers(0, 9, shape) == 0, x.dtype.type(np.nan), x))
    for case in cases:
        backwards = np.flip(case, axis)
        for function, expected in ((argmin, np.argmin), (argmax, np.argmax)):
            first = expected(case, axis, keepdims=True)
            last = shape[axis] - 1 - expected(backwards, axis, keepdims=True)
            assert np.array_equal(function(case, axis), first)
            assert np.array_equal(function(case, axis, axis_direction="decreasing"), last)
        for function, expected in ((reduce_min, np.argmin), (reduce_max, np.argmax)):
            first = expected(case, axis, keepdims=True)
            assert_equal_bits(function(case, axis), np.take_along_axis(case, first, axis))


@settings(max_examples=some(100))
@given(data=st.data())
def test_decreasing_is_increasing_of_the_reversed(data):
    shape = data.draw(sizes())
    x = data.draw(tensors(shape, data.draw(st.sampled_from(TYPES))))
    axes = data.draw(axes_of(len(shape)))
    nan = data.draw(st.sampled_from(NAN_MODES))
    # Reversing every reduced axis reverses the order in which elements are scanned.
    backwards = np.flip(x, axes)
    count = Reduction.of("argmax", shape, x.dtype, axes).count
    for function in ARG.values():
        last = function(x, axes, axis_direction="decreasing", index_type="int64", nan=nan)
        first = function(backwards, axes, index_type="int64", nan=nan)
        assert np.array_equal(last, count - 1 - first)


@settings(max_examples=some(100))
@given(data=st.data())
def test_equals_numpy(data):
    """Results equal NumPy's over one axis or over all; there too the first NaN wins."""
    shape = data.draw(sizes(max_rank=5))
    x = data.draw(tensors(shape, data.draw(st.sampled_from(TYPES))))
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape), len(shape) - 1)))
    for ours, theirs in ((argmin, np.argmin), (argmax, np.argmax)):
        assert np.array_equal(ours(x, axis), theirs(x, axis, keepdims=True))
    for ours, theirs in ((reduce_min, np.min), (reduce_max, np.max)):
        assert np.array_equal(
            ours(x, axis), theirs(x, axis, keepdims=True), equal_nan=x.dtype.kind == "f"
        )


@pytest.mark.parametrize(
    ("function", "axes", "expected"),
    [
        (argmin, 0, [[0, 1, 2]]),
        (argmin, 1, [[0], [1], [0]]),
        (argmin, (0, 1), [[4]]),
        (argmax, 0, [[1, 2, 1]]),
        (argmax, 1, [[2], [2], [1]]),
        (argmax, (0, 1), [[7]]),
    ],
)
@pytest.mark.parametrize("name", TYPES)
def test_worked_examples(function, axes, expected, name):
    assert_equal_bits(function(np.array(GRID, name), axes), np.array(expected, np.uint32))


@pytest.mark.parametrize("name", TYPES)
def test_worked_examples_of_direction(name):
    for function, row in ((argmin, [1, 2, 3, 2, 1]), (argmax, [3, 2, 1, 2, 3])):
        x = np.array(row, name)
        assert function(x).tolist() == [0]
        assert function(x, axis_direction="decreasing").tolist() == [4]


def test_positions_count_in_dimension_order():
    """Positions over the axes 1 and 3 of sizes (2, 3, 4, 5) are 0 to 14, in any order of axes."""
    for i in range(3):
        for j in range(5):
            x = np.zeros((2, 3, 4, 5), np.int8)
            x[:, i, :, j] = 1
            for axes in ((1, 3), (3, 1), (-1, 1)):
                assert (argmax(x, axes) == 5 * i + j).all()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("nan", NAN_MODES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_pair_of_special_values(name, nan, direction):
    """Every special value against every other one, in both orders."""
    special = special_values(name)
    n = len(special)
    a, b = np.repeat(special, n), np.tile(special, n)
    check_against_reference(np.stack([a, b], axis=1), (1,), nan, direction, "uint32")
    check_against_reference(np.stack([a, b], axis=0), (0,), nan, direction, "uint32")


@pytest.mark.parametrize("name", FLOATS)
def test_nan_modes(name):
    x = np.array([1, np.nan, 3, np.nan, 0], name)
    assert argmax(x).tolist() == argmin(x).tolist() == [1]
    assert argmax(x, axis_direction="decreasing").tolist() == [3]
    assert argmax(x, nan="ignore").tolist() == [2]
    assert argmin(x, nan="ignore").tolist() == [4]
    only = np.full(3, np.nan, name)
    for nan in NAN_MODES:
        assert argmin(only, nan=nan).tolist() == [0]
        assert argmax(only, nan=nan, axis_direction="decreasing").tolist() == [2]


def test_a_reduction_says_what_it_gives():
    problem = Reduction.of("max", [2, 3, 4], "float16", -1)
    assert problem.function is ReduceFunction.MAX
    assert problem.axes == (2,)
    assert problem.output_sizes == (2, 3, 1)
    assert problem.count == 4
    assert problem.output_dtype == np.float16
    assert Reduction.of("argmin", (2,), "float16", index_type=np.int64).output_dtype == np.int64
    # Equal problems compare equal, however their parameters were written.
    assert problem == Reduction.of(ReduceFunction.MAX, (2, 3, 4), np.float16, [2])
    assert len({problem, Reduction.of("MAX", (2, 3, 4), ">f2", (2,))}) == 1


def test_an_index_of_32_bits_names_the_last_of_2_to_the_32():
    """The checks concern the sizes alone, so no tensor of these sizes is needed."""
    assert Reduction.of("argmax", (2**16, 2**16 - 1), "int8").index_type == np.uint32
    assert Reduction.of("argmax", (2**31,), "int8", index_type="int32").count == 2**31
    assert Reduction.of("argmax", (2**31 + 1,), "int8", index_type="int64").count == 2**31 + 1
    huge = np.broadcast_to(np.int8(0), (2**31 + 1,))
    with pytest.raises(
        ValueError, match=r"^an int32 index needs at most 2\^31 reduced elements, n"
    ):
        argmax(huge, index_type="int32")
