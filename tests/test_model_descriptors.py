"""Descriptors: their checks, their feature levels, and the golden model on raw buffers."""

import math
import warnings
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import as_index, assert_equal_bits
from strategies import DIRECTIONS, INDEX_TYPES, NAN_MODES, TYPES, axes_of, poolings, sizes, tensors

from extremum.model import (
    ArgMaxOperatorDesc,
    ArgMinOperatorDesc,
    AxisDirection,
    BufferTensorDesc,
    DataType,
    EmptyWindowWarning,
    FeatureLevel,
    MaxPooling1OperatorDesc,
    MaxPooling2OperatorDesc,
    MaxPoolingOperatorDesc,
    Pooling,
    ReduceFunction,
    ReduceOperatorDesc,
    Reduction,
)
from extremum.model.support import support

CANARY = 0xA5


@st.composite
def layouts(draw, shape, name, *, repeats=False):
    """A tensor description with gaps between elements, axes in any order, repeats if allowed."""
    if draw(st.booleans()):
        return BufferTensorDesc(DataType(name), shape)
    strides = [0] * len(shape)
    step = draw(st.integers(1, 2))
    for axis in draw(st.permutations(range(len(shape)))):
        if repeats and draw(st.integers(0, 4)) == 0:
            continue
        strides[axis] = step
        step = step * shape[axis] + draw(st.integers(0, 2))
    desc = BufferTensorDesc(DataType(name), shape, tuple(strides))
    spare = draw(st.integers(0, 3))
    return replace(desc, total_tensor_size_in_bytes=desc.total_tensor_size_in_bytes + 4 * spare)


def filled(desc, x):
    """A buffer with the elements of `x` at the places that the strides say, one by one."""
    memory = bytearray([CANARY]) * desc.total_tensor_size_in_bytes
    for place in np.ndindex(desc.sizes):
        offset = sum(c * s for c, s in zip(place, desc.element_strides, strict=True)) * x.itemsize
        memory[offset : offset + x.itemsize] = x[place].tobytes()
    return memory


def repeated(desc, x):
    """`x` as a broadcast layout can hold it: the same along every axis of stride 0."""
    index = tuple(slice(0, 1) if s == 0 else slice(None) for s in desc.element_strides)
    return np.ascontiguousarray(np.broadcast_to(x[index], x.shape))


def check_output(memory, desc, expected, view):
    """The expected elements, in memory and in the view; nothing else was written."""
    assert_equal_bits(view, expected)
    assert bytes(memory) == bytes(filled(desc, expected))


@settings(max_examples=150)
@given(data=st.data())
def test_reductions_on_raw_buffers(data):
    name = data.draw(st.sampled_from(TYPES))
    shape = data.draw(sizes(most=60))
    axes = tuple(axis % len(shape) for axis in data.draw(axes_of(len(shape))))
    nan = data.draw(st.sampled_from(NAN_MODES))
    source = data.draw(layouts(shape, name, repeats=True))
    x = repeated(source, data.draw(tensors(shape, name)))
    reduced = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    kind = data.draw(st.sampled_from(["ARGMIN", "ARGMAX", "MIN", "MAX", "REDUCE ARGMIN"]))
    direction = AxisDirection.INCREASING
    output = name if kind in ("MIN", "MAX") else data.draw(st.sampled_from(INDEX_TYPES))
    target = data.draw(layouts(reduced, output))
    if kind in ("ARGMIN", "ARGMAX"):
        direction = AxisDirection.of(data.draw(st.sampled_from(DIRECTIONS)))
        cls = ArgMinOperatorDesc if kind == "ARGMIN" else ArgMaxOperatorDesc
        desc = cls(source, target, axes, direction)
    else:
        desc = ReduceOperatorDesc(ReduceFunction.of(kind.split()[-1]), source, target, axes)
    desc.validate()
    positions, values = reference.reduction(
        x,
        axes,
        minimum=kind.endswith("MIN"),
        decreasing=direction is AxisDirection.DECREASING,
        nan=nan,
    )
    expected = values if kind in ("MIN", "MAX") else as_index(positions, output)
    given_bytes = filled(source, x)
    before = bytes(given_bytes)
    memory = bytearray([CANARY]) * target.total_tensor_size_in_bytes
    view = desc.evaluate(given_bytes, out=memory, nan=nan)
    check_output(memory, target, expected, view)
    assert bytes(given_bytes) == before
    assert_equal_bits(np.asarray(desc.evaluate(bytes(before), nan=nan)), expected)


@settings(max_examples=100)
@given(data=st.data())
def test_poolings_on_raw_buffers(data):
    name = data.draw(st.sampled_from(TYPES))
    shape, geometry = data.draw(poolings(max_size=4, max_window=3, most_padding=2))
    nan = data.draw(st.sampled_from(NAN_MODES))
    source = data.draw(layouts(shape, name, repeats=True))
    x = repeated(source, data.draw(tensors(shape, name)))
    kind = data.draw(st.integers(0, 2))
    if kind < 2:
        geometry["dilations"] = (1,) * len(geometry["window"])
    values, positions, empty = reference.pooling(x, **geometry, nan=nan)
    target = data.draw(layouts(values.shape, name))
    index_type = data.draw(st.sampled_from(["uint32", "uint64"]))
    index_target = data.draw(layouts(values.shape, index_type)) if kind else None
    if kind and data.draw(st.integers(0, 3)) == 0:
        index_target = None
    fields = {
        "input_tensor": source,
        "output_tensor": target,
        "strides": geometry["strides"],
        "window_size": geometry["window"],
        "start_padding": geometry["start_padding"],
        "end_padding": geometry["end_padding"],
    }
    if kind == 0:
        desc = MaxPoolingOperatorDesc(**fields)
    elif kind == 1:
        desc = MaxPooling1OperatorDesc(**fields, output_indices_tensor=index_target)
    else:
        desc = MaxPooling2OperatorDesc(
            **fields, output_indices_tensor=index_target, dilations=geometry["dilations"]
        )
    desc.validate()
    outputs = [d for d in (target, index_target) if d]
    memories = [bytearray([CANARY]) * d.total_tensor_size_in_bytes for d in outputs]
    out = tuple(memories) if len(memories) > 1 else memories[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if empty else "error", EmptyWindowWarning)
        views = desc.evaluate(filled(source, x), out=out, nan=nan)
    views = views if isinstance(views, tuple) else (views,)
    expected = (values, as_index(positions, index_type))
    for memory, tensor, view, wanted in zip(memories, outputs, views, expected, strict=False):
        check_output(memory, tensor, wanted, view)


def tensor(name, *shape, **more):
    return BufferTensorDesc(DataType(name), shape, **more)


def test_fields_are_frozen_and_normalised():
    desc = BufferTensorDesc("float16", [2, 3], strides=np.array([3, 1]))  # pyright: ignore
    assert desc == tensor("float16", 2, 3, strides=(3, 1), total_tensor_size_in_bytes=12)
    assert desc.data_type is DataType.FLOAT16
    with pytest.raises(FrozenInstanceError):
        desc.sizes = (1,)  # pyright: ignore
    assert tensor("int8", 3, 3).total_tensor_size_in_bytes == 12
    assert tensor("int8", 3, 3).strides is None
    assert tensor("int64", 2, 3, strides=(0, 5)).total_tensor_size_in_bytes == 11 * 8


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"data_type": "float64"}, TypeError, "data type must be one of float32, "),
        ({"sizes": (2, 0)}, ValueError, "sizes must be at least 1, not (2, 0)"),
        ({"sizes": ()}, ValueError, "rank must be 1 to 8, not 0"),
        ({"sizes": (1,) * 9}, ValueError, "rank must be 1 to 8, not 9"),
        (
            {"sizes": (2**16, 2**16)},
            ValueError,
            "tensor must have fewer than 2^32 elements, not 4294967296 (65536, 65536)",
        ),
        ({"sizes": (2.0, 3)}, TypeError, "sizes must be integers, not (2.0, 3)"),
        ({"strides": (3,)}, ValueError, "strides must be as many as sizes, 2, not (3,)"),
        ({"strides": (-3, 1)}, ValueError, "strides must be at least 0, not (-3, 1)"),
        ({"strides": (3, 1.0)}, TypeError, "strides must be integers, not (3, 1.0)"),
        (
            {"total_tensor_size_in_bytes": 10},
            ValueError,
            "total_tensor_size_in_bytes must be at least 12, not 10",
        ),
        (
            {"strides": (10, 1), "total_tensor_size_in_bytes": 24},
            ValueError,
            "total_tensor_size_in_bytes must be at least 28, not 24",
        ),
        (
            {"total_tensor_size_in_bytes": 12.0},
            TypeError,
            "total_tensor_size_in_bytes must be integers, not 12.0",
        ),
        (
            {"guaranteed_base_offset_alignment": 1},
            ValueError,
            "guaranteed_base_offset_alignment must be 0 or a power of two of at least 2, not 1",
        ),
        (
            {"guaranteed_base_offset_alignment": 6},
            ValueError,
            "guaranteed_base_offset_alignment must be 0 or a power of two of at least 2, not 6",
        ),
    ],
)
def test_messages_of_a_tensor(fields, error, message):
    with pytest.raises(error) as caught:
        BufferTensorDesc(**{"data_type": DataType.INT16, "sizes": (2, 3), **fields})
    assert str(caught.value).startswith(message)


def test_a_tensor_accepts_what_is_allowed():
    for alignment in (0, 2, 4, 256):
        tensor("int16", 2, guaranteed_base_offset_alignment=alignment)
    assert tensor("int8", 1, total_tensor_size_in_bytes=5).total_tensor_size_in_bytes == 5


@pytest.mark.parametrize(
    ("shape", "strides", "repeats"),
    [
        ((2, 3), (3, 1), False),
        ((2, 3), (1, 2), False),
        ((2, 3), (0, 1), True),
        ((1, 3), (0, 1), False),
        ((2, 3), (2, 1), True),
        ((2, 3), (1, 1), True),
        # Interleaved: no stride steps over the reach of the smaller one, and yet none meet.
        ((3, 2), (2, 3), False),
        ((4, 2), (2, 3), False),
        ((4, 3), (2, 3), True),
    ],
)
def test_whether_strides_repeat_an_element(shape, strides, repeats):
    assert tensor("int8", *shape, strides=strides).repeats_an_element is repeats
    places = {
        sum(c * s for c, s in zip(place, strides, strict=True)) for place in np.ndindex(shape)
    }
    assert (len(places) < math.prod(shape)) is repeats


X, Y = tensor("float32", 2, 3, 4), tensor("uint32", 2, 1, 4)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"axes": ()}, ValueError, "axes must name at least one axis, not ()"),
        ({"axes": (3,)}, ValueError, "axes must be in [0, 2] for rank 3, not (3,)"),
        ({"axes": (-1,)}, ValueError, "axes must be in [0, 2] for rank 3, not (-1,)"),
        ({"axes": (1, 1)}, ValueError, "axes must not repeat, not (1, 1)"),
        ({"axes": 1}, TypeError, "axes must be a sequence of integers, not 1"),
        ({"axes": (1.0,)}, TypeError, "axes must be integers, not (1.0,)"),
        (
            {"output_tensor": tensor("uint32", 2, 4)},
            ValueError,
            "output_tensor must have sizes (2, 1, 4), not (2, 4)",
        ),
        (
            {"output_tensor": tensor("uint32", 2, 3, 4)},
            ValueError,
            "output_tensor must have sizes (2, 1, 4), not (2, 3, 4)",
        ),
        (
            {"output_tensor": tensor("float32", 2, 1, 4)},
            TypeError,
            "index_type must be one of uint32, uint64, int32, int64, not float32",
        ),
        (
            {"output_tensor": tensor("uint32", 2, 1, 4, strides=(0, 4, 1))},
            ValueError,
            "strides of output_tensor must address each element once, "
            "not (0, 4, 1) for sizes (2, 1, 4)",
        ),
        (
            {"input_tensor": None},
            TypeError,
            "input_tensor must be a BufferTensorDesc, not NoneType",
        ),
        ({"output_tensor": 3}, TypeError, "output_tensor must be a BufferTensorDesc, not int"),
    ],
)
@pytest.mark.parametrize("cls", [ArgMinOperatorDesc, ArgMaxOperatorDesc, ReduceOperatorDesc])
def test_messages_of_a_reduction(cls, fields, error, message):
    plain = {"input_tensor": X, "output_tensor": Y, "axes": (1,)}
    if cls is ReduceOperatorDesc:
        plain["function"] = ReduceFunction.ARGMAX
    with pytest.raises(error) as caught:
        cls(**{**plain, **fields})
    assert str(caught.value) == message


def test_more_messages_of_reductions():
    with pytest.raises(
        ValueError, match=r"^function must be one of ARGMAX, ARGMIN, MAX, MIN, not S"
    ):
        ReduceOperatorDesc("SUM", X, Y, (1,))  # pyright: ignore
    with pytest.raises(
        TypeError, match=r"^output_tensor must have the input's type FLOAT32, not U"
    ):
        ReduceOperatorDesc(ReduceFunction.MAX, X, Y, (1,))
    with pytest.raises(
        ValueError, match=r"^axis_direction must be increasing or decreasing, not 2"
    ):
        ArgMaxOperatorDesc(X, Y, (1,), 2)  # pyright: ignore
    big = tensor("int8", 2**31 + 1)
    with pytest.raises(ValueError, match=r"^an int32 index needs at most 2\^31 reduced elements"):
        ArgMaxOperatorDesc(big, tensor("int32", 1), (0,))
    assert ArgMaxOperatorDesc(big, tensor("uint32", 1), (0,)).operator().count == 2**31 + 1


IMAGE, POOLED = tensor("float16", 1, 2, 4, 5), tensor("float16", 1, 2, 2, 2)
INDICES = tensor("uint32", 1, 2, 2, 2)
PLAIN = {
    "input_tensor": IMAGE,
    "output_tensor": POOLED,
    "output_indices_tensor": INDICES,
    "strides": (2, 2),
    "window_size": (2, 2),
    "start_padding": (0, 0),
    "end_padding": (0, 0),
    "dilations": (1, 1),
}


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"strides": (0, 2)}, ValueError, "strides must be at least 1, not (0, 2)"),
        ({"window_size": (2, 0)}, ValueError, "window_size must be at least 1, not (2, 0)"),
        ({"dilations": (0, 1)}, ValueError, "dilations must be at least 1, not (0, 1)"),
        ({"start_padding": (-1, 0)}, ValueError, "start_padding must be at least 0, not (-1, 0)"),
        ({"end_padding": 1}, TypeError, "end_padding must be a sequence of integers, not 1"),
        (
            {"strides": (2, 2, 2)},
            ValueError,
            "strides must have one value for each of 2 spatial dimensions, not (2, 2, 2)",
        ),
        (
            {"window_size": (5, 2)},
            ValueError,
            "window extent must not exceed the padded size 4, not 5",
        ),
        ({"input_tensor": tensor("float16", 2, 4, 5)}, ValueError, "rank for pooling must be 4 or"),
        (
            {"output_tensor": tensor("float32", 1, 2, 2, 2)},
            TypeError,
            "output_tensor must have the input's type FLOAT16, not FLOAT32",
        ),
        (
            {"output_tensor": tensor("float16", 1, 2, 2)},
            ValueError,
            "output_tensor must have sizes (1, 2, 2, 2), not (1, 2, 2)",
        ),
        (
            {"output_tensor": tensor("float16", 1, 1, 2, 2)},
            ValueError,
            "output_tensor must have sizes (1, 2, 2, 2), not (1, 1, 2, 2)",
        ),
        (
            {"output_tensor": tensor("float16", 1, 2, 1, 2)},
            ValueError,
            "output_tensor must have a size of 2 to 2, not 1",
        ),
        (
            {"output_tensor": tensor("float16", 1, 2, 2, 4)},
            ValueError,
            "output_tensor must have a size of 2 to 3, not 4",
        ),
        (
            {"output_tensor": tensor("float16", 1, 2, 2, 3)},
            ValueError,
            "output_indices_tensor must have sizes (1, 2, 2, 3), not (1, 2, 2, 2)",
        ),
        (
            {"output_indices_tensor": tensor("int64", 1, 2, 2, 2)},
            TypeError,
            "output_indices_tensor must be UINT32 or UINT64, not INT64",
        ),
        (
            {"output_indices_tensor": "no"},
            TypeError,
            "output_indices_tensor must be a BufferTensorDesc, not str",
        ),
        (
            {"output_indices_tensor": tensor("uint32", 1, 2, 2, 2, strides=(0, 4, 1, 1))},
            ValueError,
            "strides of output_indices_tensor must address each element once, "
            "not (0, 4, 1, 1) for sizes (1, 2, 2, 2)",
        ),
    ],
)
def test_messages_of_a_pooling(fields, error, message):
    with pytest.raises(error) as caught:
        MaxPooling2OperatorDesc(**{**PLAIN, **fields})
    assert str(caught.value).startswith(message)


@settings(max_examples=150)
@given(data=st.data())
def test_an_output_larger_than_the_formula(data):
    """Every size that is allowed works, and equals more end padding; the next one is refused."""
    size, window, stride = (data.draw(st.integers(1, n)) for n in (9, 4, 4))
    start, end = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    if window > size + start + end:
        return
    formula = reference.pooled_size(size, window, stride, 1, start, end)
    begins = [o for o in range(formula, 20) if o * stride < size + start]
    most = max([formula, *(o + 1 for o in begins)])
    x = np.arange(size, dtype=np.uint8).reshape(1, 1, 1, size)
    source = tensor("uint8", 1, 1, 1, size)
    for outputs in range(1, most + 3):
        target = tensor("uint8", 1, 1, 1, outputs)
        arguments = (source, target, (1, stride), (1, window), (0, start), (0, end))
        if not formula <= outputs <= most:
            with pytest.raises(ValueError, match=r"^output_tensor must have a size of "):
                MaxPoolingOperatorDesc(*arguments)
            continue
        desc = MaxPoolingOperatorDesc(*arguments)
        values, _, _ = reference.pooling(
            x, (1, window), (1, stride), (0, start), (0, end + 40), (1, 1)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyWindowWarning)
            result = desc.evaluate(filled(source, x))
        assert_equal_bits(np.asarray(result), values[..., :outputs])


@pytest.mark.parametrize("out_kind", ["read-only", "input", "twice"])
def test_memory_that_may_not_be_written(out_kind):
    desc = MaxPooling2OperatorDesc(**PLAIN)
    memory = np.zeros(200, np.float16)
    values, indices = memory[50:58], np.zeros(8, np.uint32)
    message = "^out must not overlap the input$"
    if out_kind == "read-only":
        indices.flags.writeable = False
        message = "^out must be writable, not read-only$"
    elif out_kind == "input":
        values = memory[39:47]
    else:
        indices = memory[56:72]
        message = "^out must not overlap another output$"
    with pytest.raises(ValueError, match=message):
        desc.evaluate(memory[:40], out=(values, indices))
    assert not memory.any()


def test_messages_of_buffers():
    desc = MaxPooling2OperatorDesc(**PLAIN)
    good, values, indices = bytes(80), bytearray(16), bytearray(32)
    for error, message, inputs, out in (
        (TypeError, "inputs must be 1 buffer, not 0", (), None),
        (TypeError, "inputs must be 1 buffer, not 2", (good, good), None),
        (TypeError, "out must be 2 buffers, not 1", (good,), values),
        (TypeError, "out must be 2 buffers, not 3", (good,), (values, indices, indices)),
        (ValueError, "input must hold at least 80 bytes, not 79", (good[1:],), None),
        (ValueError, "out must hold at least 32 bytes, not 31", (good,), (values, indices[1:])),
        (ValueError, "out must be writable, not read-only", (good,), (bytes(16), indices)),
        (TypeError, "input must be bytes-like or a NumPy array, not list", ([1],), None),
        (
            ValueError,
            "input must be contiguous, not strided (4,)",
            (np.zeros(80, np.int16)[::2],),
            None,
        ),
        (
            TypeError,
            "input must be in native byte order, not >f2",
            (np.zeros(40, ">f2"),),
            None,
        ),
    ):
        with pytest.raises(error) as caught:
            desc.evaluate(*inputs, out=out)
        assert str(caught.value) == message
    with pytest.raises(ValueError, match=r"^nan must be propagate or ignore, not 'no'$"):
        desc.evaluate(good, nan="no")


def test_results_are_views_of_out():
    desc = MaxPooling2OperatorDesc(**PLAIN)
    x = np.arange(40, dtype=np.float16)
    values, indices = np.zeros(8, np.float16), np.zeros((1, 2, 2, 2), np.uint32)
    result = desc.evaluate(x, out=[values, indices])
    assert np.shares_memory(result[0], values)
    assert values.tolist() == [6, 8, 16, 18, 26, 28, 36, 38]
    assert indices.reshape(-1).tolist() == [6, 8, 16, 18, 26, 28, 36, 38]


def test_any_engine_can_run_a_descriptor():
    seen = []

    def engine(problem, x):
        seen.append((problem, x.tolist(), x.flags.writeable))
        return np.array([[7]])

    desc = ArgMaxOperatorDesc(tensor("uint8", 1, 4), tensor("int64", 1, 1), (0, 1))
    result = desc.run(engine, bytearray([1, 2, 3, 4]), nan="ignore")
    assert_equal_bits(np.asarray(result), np.array([[7]], np.int64))
    problem = Reduction.of("argmax", (1, 4), "uint8", index_type="int64", nan="ignore")
    assert seen == [(problem, [[1, 2, 3, 4]], False)]
    pooling = MaxPooling2OperatorDesc(**{**PLAIN, "dilations": (1, 2)}).operator("ignore")
    assert pooling == Pooling.of(
        IMAGE.sizes,
        "float16",
        2,
        strides=2,
        dilations=(1, 2),
        return_indices=True,
        nan="ignore",
    )


ALL8 = {name for name in TYPES if "64" not in name}
FLOATS = {"float32", "float16"}
BYTES = FLOATS | {"int8", "uint8"}
U32, UNSIGNED, ALL4 = {"uint32"}, {"uint32", "uint64"}, set(INDEX_TYPES)
EVERY_RANK = set(range(1, 9))
# The table of the contract, written out level by level: types, index types, ranks.
LEVELS = {
    "ARGMIN": {"3_0": (ALL8, ALL4, EVERY_RANK), "4_1": (set(TYPES), ALL4, EVERY_RANK)},
    "MAX_POOLING": {
        "1_0": (FLOATS, set(), {4, 5}),
        "3_0": (BYTES, set(), {4, 5}),
        "5_0": (set(TYPES), set(), {4, 5}),
    },
    "MAX_POOLING1": {
        "2_0": (FLOATS, U32, {4, 5}),
        "3_0": (BYTES, U32, {4, 5}),
        "5_0": (set(TYPES), UNSIGNED, {4, 5}),
    },
    "MAX_POOLING2": {
        "2_1": (FLOATS, U32, {4, 5}),
        "3_0": (BYTES, U32, {4, 5}),
        "5_0": (set(TYPES), UNSIGNED, {4, 5}),
    },
    "REDUCE ARGMIN": {
        "1_0": (FLOATS, U32, {4}),
        "2_1": (ALL8, U32, {4}),
        "3_0": (ALL8, ALL4, EVERY_RANK),
        "4_1": (set(TYPES), ALL4, EVERY_RANK),
    },
    "REDUCE MIN": {
        "1_0": (FLOATS, set(), {4}),
        "2_1": (FLOATS | {"int32", "uint32"}, set(), {4}),
        "3_0": (ALL8, set(), EVERY_RANK),
        "5_0": (set(TYPES), set(), EVERY_RANK),
    },
}
LEVELS |= {name.replace("MIN", "MAX"): rows for name, rows in LEVELS.items() if "MIN" in name}


def descriptor(operator, name, index_type, rank):
    """The operator with every parameter 1 on a tensor of ones."""
    x = tensor(name, *(1,) * rank)
    index = tensor(index_type, *(1,) * rank) if index_type else None
    ones, zeros = (1,) * (rank - 2), (0,) * (rank - 2)
    match operator.split():
        case ["ARGMIN"]:
            return ArgMinOperatorDesc(x, index or x, (0,))
        case ["ARGMAX"]:
            return ArgMaxOperatorDesc(x, index or x, (0,))
        case ["REDUCE", function]:
            return ReduceOperatorDesc(ReduceFunction[function], x, index or x, (0,))
        case ["MAX_POOLING"]:
            return MaxPoolingOperatorDesc(x, x, ones, ones, zeros, zeros)
        case ["MAX_POOLING1"]:
            return MaxPooling1OperatorDesc(x, x, index, ones, ones, zeros, zeros)
    return MaxPooling2OperatorDesc(x, x, index, ones, ones, zeros, zeros, ones)


@pytest.mark.parametrize("operator", LEVELS)
def test_what_each_feature_level_allows(operator):
    """Every type, index type and rank at every level, allowed or refused as the table says."""
    pooled = operator.startswith("MAX_POOLING")
    ranks = (4, 5) if pooled else range(1, 9)
    indices: list[str | None] = [None] if pooled or operator.endswith((" MIN", " MAX")) else []
    if operator not in ("MAX_POOLING", "REDUCE MIN", "REDUCE MAX"):
        indices += ["uint32", "uint64"] if pooled else INDEX_TYPES
    for name in TYPES:
        for index_type in indices:
            for rank in ranks:
                desc = descriptor(operator, name, index_type, rank)
                assert desc.name == operator
                desc.validate()
                for level in FeatureLevel:
                    since = [row for row in LEVELS[operator] if FeatureLevel.of(row) <= level]
                    allowed = False
                    if since:
                        types, index_types, allowed_ranks = LEVELS[operator][since[-1]]
                        allowed = name in types and rank in allowed_ranks
                        allowed &= index_type is None or index_type in index_types
                    if allowed:
                        desc.validate(level)
                        desc.validate(feature_level=str(level))
                    else:
                        with pytest.raises((TypeError, ValueError)):
                            desc.validate(level)


@pytest.mark.parametrize(
    ("desc", "level", "error", "message"),
    [
        (
            ArgMaxOperatorDesc(X, Y, (1,)),
            "2_1",
            ValueError,
            "ARGMAX needs feature level 3_0 or later, not 2_1",
        ),
        (
            MaxPooling2OperatorDesc(**PLAIN),
            "2_0",
            ValueError,
            "MAX_POOLING2 needs feature level 2_1 or later, not 2_0",
        ),
        (
            descriptor("ARGMIN", "int64", "uint32", 1),
            "4_0",
            TypeError,
            "ARGMIN at feature level 4_0 takes FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, "
            "UINT16, UINT8, not INT64",
        ),
        (
            descriptor("MAX_POOLING1", "float32", "uint64", 4),
            "4_1",
            TypeError,
            "MAX_POOLING1 at feature level 4_1 gives indices as UINT32, not UINT64",
        ),
        (
            descriptor("REDUCE MAX", "float32", None, 5),
            "2_1",
            ValueError,
            "REDUCE MAX at feature level 2_1 takes rank 4 to 4, not 5",
        ),
        (MaxPooling2OperatorDesc(**PLAIN), "9_9", ValueError, "feature level must be one of 1_0, "),
    ],
)
def test_messages_of_validate(desc, level, error, message):
    with pytest.raises(error) as caught:
        desc.validate(level)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("operator", LEVELS)
def test_each_level_is_a_superset_of_the_one_before(operator):
    rows = [support(operator, level) for level in FeatureLevel if str(level) >= "3_0"]
    for before, after in pairwise(rows):
        assert before.data_types <= after.data_types
        assert before.index_types <= after.index_types
        assert set(before.ranks) <= set(after.ranks)
