"""The conversion of ONNX attributes, on ONNX's backend test vectors and against ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
from amounts import some
from equal_bits import assert_equal_bits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx_vectors import vectors
from strategies import onnx_poolings, tensors

from extremum.model import Pooling, argmax, argmin, max_pooling, reduce_max, reduce_min
from extremum.model.onnx import (
    arg_arguments,
    global_max_pool_arguments,
    lifted_sizes,
    max_pool_arguments,
    reduce_axes,
    squeeze_axes,
)


def onnx_max_pool(x, attributes):
    """Compute a MaxPool node: lift the input, pool it, and restore the rank of the node."""
    arguments = max_pool_arguments(x.shape, **attributes)
    lifted = x.reshape(lifted_sizes(x.shape))
    results = max_pooling(lifted, **arguments, return_indices=True)
    return [y.squeeze(2) if x.ndim == 3 else y for y in results]


@pytest.mark.parametrize(
    ("operator", "count"), [("argmax", 16), ("argmin", 16), ("maxpool", 19), ("globalmaxpool", 2)]
)
def test_the_vectors_are_there(operator, count):
    assert len(vectors(operator)) == count


@pytest.mark.parametrize("vector", vectors("maxpool"), ids=lambda v: v.name)
def test_max_pool(vector):
    (x,) = vector.inputs
    results = onnx_max_pool(x, vector.attributes)
    assert len(results) == 2  # values and indices; a vector may have the values alone
    for actual, expected in zip(results[: len(vector.outputs)], vector.outputs, strict=True):
        assert_equal_bits(actual, expected)


@pytest.mark.parametrize("vector", vectors("globalmaxpool"), ids=lambda v: v.name)
def test_global_max_pool(vector):
    (x,) = vector.inputs
    assert_equal_bits(max_pooling(x, **global_max_pool_arguments(x.shape)), vector.outputs[0])


@pytest.mark.parametrize(
    ("function", "vector"),
    [(f, v) for f, n in ((argmax, "argmax"), (argmin, "argmin")) for v in vectors(n)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_arg(function, vector):
    (x,) = vector.inputs
    arguments = arg_arguments(**vector.attributes)
    y = function(x, **arguments)
    keepdims = vector.attributes["keepdims"]
    assert_equal_bits(squeeze_axes(y, arguments["axes"], keepdims), vector.outputs[0])


@pytest.mark.parametrize(
    ("function", "vector"),
    [
        (f, v)
        for f, n in ((reduce_max, "reduce_max"), (reduce_min, "reduce_min"))
        for v in vectors(n)
        # The operators take neither booleans nor tensors without elements.
        if "bool" not in v.name and "empty" not in v.name
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_reduce(function, vector):
    x, *listed = vector.inputs
    axes = reduce_axes(listed[0].tolist() if listed else None)
    y = squeeze_axes(function(x, axes), axes, vector.attributes["keepdims"])
    assert_equal_bits(y, vector.outputs[0])


ORT_TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
}


def onnxruntime_max_pool(x, attributes):
    """Return the values and indices of ONNX Runtime's MaxPool.

    Without the indices its values are wrong for -inf and NaN.
    """
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], **attributes)
    types = {"x": ORT_TYPES[x.dtype.name], "y": ORT_TYPES[x.dtype.name], "i": TensorProto.INT64}
    infos = {name: helper.make_tensor_value_info(name, t, None) for name, t in types.items()}
    graph = helper.make_graph([node], "pool", [infos["x"]], [infos["y"], infos["i"]])
    # Every ONNX Runtime of the last years reads this version of the format.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})


@pytest.mark.parametrize("name", ["float32", "float16", "int8", "uint8"])
@settings(max_examples=some(150))
@given(data=st.data())
def test_equals_onnx_runtime(name, data):
    sizes, attributes = data.draw(onnx_poolings())
    lifted = lifted_sizes(sizes)
    problem = Pooling.of(lifted, name, **max_pool_arguments(sizes, **attributes))
    # Runtimes do not agree on windows that meet no element.
    assume(not problem.empty_windows)
    x = data.draw(tensors(sizes, name, nan=False))
    expected = onnxruntime_max_pool(x, attributes)
    for actual, theirs in zip(onnx_max_pool(x, attributes), expected, strict=True):
        assert_equal_bits(actual, theirs)


@settings(max_examples=some(150))
@given(data=st.data())
def test_rounding_up_by_the_formula(data):
    """With ceil_mode there are as many windows as ONNX's formula says, also in wide padding."""
    size, window, stride, dilation = (data.draw(st.integers(1, n)) for n in (12, 4, 5, 3))
    start, end = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 9))
    extent = 1 + (window - 1) * dilation
    outputs = -(-(size + start + end - extent) // stride) + 1
    assume(outputs >= 1)
    arguments = max_pool_arguments(
        (1, 1, size),
        kernel_shape=[window],
        strides=[stride],
        dilations=[dilation],
        pads=[start, end],
        ceil_mode=1,
    )
    if (outputs - 1) * stride >= size + start:
        outputs -= 1
    assert Pooling.of((1, 1, 1, size), "int8", **arguments).output_sizes[3] == outputs


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"kernel_shape": [2]}, "kernel_shape must have 2 values, not (2,)"),
        ({"strides": [1, 1, 1]}, "strides must have 2 values, not (1, 1, 1)"),
        ({"dilations": [1]}, "dilations must have 2 values, not (1,)"),
        ({"pads": [1, 1]}, "pads must have 4 values, not (1, 1)"),
        (
            {"auto_pad": "SAME"},
            "auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not 'SAME'",
        ),
        ({"ceil_mode": 2}, "ceil_mode must be 0 or 1, not 2"),
        ({"strides": [0, 1], "auto_pad": "SAME_UPPER"}, "strides must be at least 1, not (0, 1)"),
        ({"pads": [0, 0, -1, 0]}, "pads must be at least 0, not (0, 0, -1, 0)"),
        ({"kernel_shape": []}, "kernel_shape must have 2 values, not ()"),
        ({"storage_order": -1}, "storage_order must be 0 or 1, not -1"),
    ],
)
def test_messages_of_max_pool(attributes, message):
    with pytest.raises(ValueError, match="must") as caught:
        max_pool_arguments((1, 1, 4, 4), **{"kernel_shape": [2, 2], **attributes})
    assert str(caught.value) == message


POOL = max_pool_arguments


@pytest.mark.parametrize(
    ("function", "arguments", "options", "error", "message"),
    [
        (POOL, [(1, 1, 6.5)], {"kernel_shape": [3]}, TypeError, "sizes must be integers"),
        (POOL, [(1, 1, -6)], {"kernel_shape": [3]}, ValueError, "sizes must be at least 0"),
        (POOL, [(1, 1, "N")], {"kernel_shape": [3]}, TypeError, "sizes must be integers"),
        (POOL, [(1, 1, 6)], {"kernel_shape": 3}, TypeError, "kernel_shape must be a sequence"),
        (POOL, [(1, 1, 6)], {"kernel_shape": [3], "pads": 1}, TypeError, "pads must be a sequence"),
        (lifted_sizes, [(1, 1, 6.0)], {}, TypeError, "sizes must be integers"),
        (global_max_pool_arguments, [(1, 1, -6)], {}, ValueError, "sizes must be at least 0"),
        (arg_arguments, [], {"axis": 1.5}, TypeError, "axis must be an integer, not 1.5"),
        (reduce_axes, [[0.5]], {}, TypeError, r"axes must be integers, not \(0.5,\)"),
    ],
)
def test_what_is_no_integer(function, arguments, options, error, message):
    with pytest.raises(error, match=f"^{message}"):
        function(*arguments, **options)


def test_attributes_may_be_arrays():
    strides = np.array([2, 1])
    arguments = max_pool_arguments((1, 1, 4, 4), kernel_shape=(2, 2), strides=strides)  # pyright: ignore
    assert arguments["strides"] == (2, 1)


def test_messages_of_the_others():
    with pytest.raises(
        ValueError, match=r"^sizes must be those of \(N, C, \.\.\.\), three or more"
    ):
        max_pool_arguments((1, 3), kernel_shape=[])
    with pytest.raises(TypeError, match=r"^kernel_shape must be integers, not \(2\.7, 3\)$"):
        max_pool_arguments((1, 1, 4, 4), kernel_shape=[2.7, 3])  # pyright: ignore
    with pytest.raises(ValueError, match=r"^select_last_index must be 0 or 1, not 2$"):
        arg_arguments(select_last_index=2)
    with pytest.raises(ValueError, match=r"^keepdims must be 0 or 1, not 3$"):
        arg_arguments(keepdims=3)
    with pytest.raises(
        ValueError, match=r"^noop_with_empty_axes must be 0 where there are no axes"
    ):
        reduce_axes([], noop_with_empty_axes=1)
    with pytest.raises(ValueError, match=r"^noop_with_empty_axes must be 0 or 1, not 2$"):
        reduce_axes([], noop_with_empty_axes=2)
    with pytest.raises(ValueError, match=r"^ceil_mode must be 0 or 1, not array\(\[1, 0\]\)$"):
        max_pool_arguments((1, 1, 4, 4), kernel_shape=[2, 2], ceil_mode=np.array([1, 0]))  # pyright: ignore
    for of_sizes in (lifted_sizes, global_max_pool_arguments):
        with pytest.raises(ValueError, match=r"^sizes must be those of \(N, C, \.\.\.\), three"):
            of_sizes((1, 3))
    with pytest.raises(TypeError, match=r"^axes must be a sequence of integers, not 1$"):
        squeeze_axes(np.zeros((1, 1), np.int8), 1, keepdims=0)  # pyright: ignore
    assert squeeze_axes(np.zeros((1, 1), np.int8), None, keepdims=False).shape == ()
    assert reduce_axes([]) is None
    assert reduce_axes([-1], noop_with_empty_axes=1) == (-1,)
    assert squeeze_axes(np.zeros((1, 1), np.int8), None, keepdims=0).shape == ()
