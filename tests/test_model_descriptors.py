"""Descriptors: their checks, their feature levels, and the golden model on raw buffers."""

import math
import warnings
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from amounts import some
from descriptors import IMAGE, PLAIN, tensor
from equal_bits import assert_equal_bits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import DIRECTIONS, INDEX_TYPES, NAN_MODES, TYPES, axes_of, poolings, sizes, tensors

from extremum.model import (
    ArgMaxOperatorDesc,
    ArgMinOperatorDesc,
    AxisDirection,
    BufferTensorDesc,
    DataType,
    EmptyWindowWarning,
    MaxPooling1OperatorDesc,
    MaxPooling2OperatorDesc,
    MaxPoolingOperatorDesc,
    Pooling,
    ReduceFunction,
    ReduceOperatorDesc,
    Reduction,
    reference,
)

CANARY = 0xA5


@st.composite
def layouts(draw, shape, name, *, repeats=False):
    """A layout with gaps between elements and axes in any order, and repeated ones if allowed."""
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
    """Return a buffer in which each element of `x` lies where the strides say."""
    memory = bytearray([CANARY]) * desc.total_tensor_size_in_bytes
    for place in np.ndindex(desc.sizes):
        offset = sum(c * s for c, s in zip(place, desc.element_strides, strict=True)) * x.itemsize
        memory[offset : offset + x.itemsize] = x[place].tobytes()
    return memory


def repeated(desc, x):
    """Return `x` with equal elements along every axis of stride 0, as the layout holds them."""
    index = tuple(slice(0, 1) if s == 0 else slice(None) for s in desc.element_strides)
    return np.ascontiguousarray(np.broadcast_to(x[index], x.shape))


def check_output(memory, desc, expected, view):
    """Check the elements in memory and in the view, and that nothing else was written."""
    assert_equal_bits(view, expected)
    assert bytes(memory) == bytes(filled(desc, expected))


@settings(max_examples=some(150))
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
    expected = values if kind in ("MIN", "MAX") else reference.as_index(positions, output)
    given_bytes = filled(source, x)
    before = bytes(given_bytes)
    memory = bytearray([CANARY]) * target.total_tensor_size_in_bytes
    view = desc.evaluate(given_bytes, out=memory, nan=nan)
    check_output(memory, target, expected, view)
    assert bytes(given_bytes) == before
    assert_equal_bits(np.asarray(desc.evaluate(bytes(before), nan=nan)), expected)


@settings(max_examples=some(100))
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
    expected = (values, reference.as_index(positions, index_type))
    assert len(views) == len(outputs)
    wanted = expected[: len(outputs)]  # the indices are wanted in some examples alone
    for each in zip(memories, outputs, wanted, views, strict=True):
        check_output(*each)


def test_fields_are_frozen_and_normalised():
    desc = BufferTensorDesc("float16", [2, 3], strides=np.array([3, 1]))  # pyright: ignore
    assert desc == tensor("float16", 2, 3, strides=(3, 1), total_tensor_size_in_bytes=12)
    assert desc.data_type is DataType.FLOAT16
    with pytest.raises(FrozenInstanceError):
        desc.sizes = (1,)  # pyright: ignore
    assert tensor("int8", 3, 3).total_tensor_size_in_bytes == 12
    assert tensor("int8", 3, 3).strides is None
    assert tensor("int64", 2, 3, strides=(0, 5)).total_tensor_size_in_bytes == 11 * 8


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
        # Interleaved: both axes reach beyond the stride of the other, and yet no elements meet.
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


@settings(max_examples=some(150))
@given(data=st.data())
def test_an_output_larger_than_the_formula(data):
    """Every allowed size equals a pooling with more end padding; other sizes are refused."""
    size, window, stride = (data.draw(st.integers(1, n)) for n in (9, 4, 4))
    start, end = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    assume(window <= size + start + end)
    formula = reference.count_windows(start + size + end, window, stride)
    begins = [o for o in range(formula, 20) if o * stride < size + start]
    most = max([formula, *(o + 1 for o in begins)])
    x = np.arange(size, dtype=np.uint8).reshape(1, 1, 1, size)
    source = tensor("uint8", 1, 1, 1, size)
    for outputs in range(1, most + 3):
        target = tensor("uint8", 1, 1, 1, outputs)
        arguments = (source, target, (1, stride), (1, window), (0, start), (0, end))
        if not formula <= outputs <= most:
            with pytest.raises(ValueError, match=r"^output_tensor must have size "):
                MaxPoolingOperatorDesc(*arguments)
            continue
        desc = MaxPoolingOperatorDesc(*arguments)
        values, _, _ = reference.pooling(
            x,
            (1, window),
            strides=(1, stride),
            start_padding=(0, start),
            end_padding=(0, end + 40),
            dilations=(1, 1),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyWindowWarning)
            result = desc.evaluate(filled(source, x))
        assert_equal_bits(np.asarray(result), values[..., :outputs])


def test_results_are_views_of_out():
    desc = MaxPooling2OperatorDesc(**PLAIN)
    x = np.arange(40, dtype=np.float16)
    values, indices = np.zeros(8, np.float16), np.zeros((1, 2, 2, 2), np.uint32)
    result = desc.evaluate(x, out=[values, indices])
    assert np.shares_memory(result[0], values)
    assert values.tolist() == [6, 8, 16, 18, 26, 28, 36, 38]
    assert indices.reshape(-1).tolist() == [6, 8, 16, 18, 26, 28, 36, 38]


def test_empty_windows_are_warned_about_where_the_descriptor_is_evaluated():
    target = tensor("float16", 1, 2, 4, 2)
    fields = {**PLAIN, "output_tensor": target, "output_indices_tensor": None}
    desc = MaxPooling2OperatorDesc(**{**fields, "start_padding": (4, 0)})
    with pytest.warns(EmptyWindowWarning, match=r"^8 pooling windows") as caught:
        desc.evaluate(bytes(80))
    assert caught[0].filename == __file__


def test_any_engine_can_run_a_descriptor():
    seen = []

    def engine(problem, x):
        seen.append((problem, x.tolist(), x.flags.writeable))
        return np.array([[7]])

    desc = ArgMaxOperatorDesc(tensor("uint8", 1, 4), tensor("int64", 1, 1), (0, 1))
    result = desc.run(engine, bytearray([1, 2, 3, 4]), nan="ignore")
    assert_equal_bits(np.asarray(result), np.array([[7]], np.int64))
    for wrong in (np.zeros((1, 1), np.uint32), np.zeros(1, np.int64)):
        message = rf"^engine must give int64 \(1, 1\), not {wrong.dtype} "
        with pytest.raises(ValueError, match=message):
            desc.run(lambda problem, x, wrong=wrong: wrong, bytes(4))
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
