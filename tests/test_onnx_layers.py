"""Which nodes `extremum.onnx` takes: each gives ONNX Runtime's bits, or is left with a reason."""

import re
from typing import Any

import numpy as np
import onnx.defs
import pytest
from equal_bits import assert_equal_bits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx_models import model_of, node, one_node, runtime
from strategies import onnx_poolings, tensors

from extremum.onnx import NetworkError, load, run
from extremum.onnx.layers import OPERATORS
from extremum.onnx.runtime import _told

NEWEST = 26
"""The newest opset that ONNX Runtime takes as released."""

PLANE: np.ndarray = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4) % 7
ROW = PLANE.reshape(2, 8)
NAN = np.array([1, np.nan, 3], np.float32)
ZEROS = np.array([0.0, -0.0], np.float32)


def pooled(x: np.ndarray = PLANE, opset: int = 18, outputs: int = 1, **attributes: Any):
    attributes = {"kernel_shape": [2] * (x.ndim - 2)} | attributes
    return one_node("MaxPool", x, outputs=outputs, opset=opset, **attributes), x


def reduced(operator, x, *, opset=18, axes=None, **attributes):
    return one_node(operator, x, opset=opset, axes=axes, **attributes), x


TAKEN = {
    "opset 1": pooled(opset=1),
    "opset 8, indices": pooled(opset=8, outputs=2),
    "opset 8, column-major": pooled(opset=8, outputs=2, storage_order=1),
    "opset 10, ceil_mode": pooled(opset=10, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    "opset 11, dilations": pooled(opset=11, dilations=[2, 3], outputs=2),
    "opset 22": pooled(opset=22),
    "dilation with ceil_mode": pooled(strides=[2, 2], dilations=[2, 2], ceil_mode=1, outputs=2),
    "storage_order 1 with padding": pooled(pads=[1, 0, 0, 1], storage_order=1, outputs=2),
    "asymmetric padding of bytes": pooled(PLANE.astype(np.int8), pads=[1, 0, 0, 1], outputs=2),
    "unsigned bytes": pooled(PLANE.astype(np.uint8), pads=[0, 1, 1, 0]),
    "half precision": pooled(PLANE.astype(np.float16), outputs=2),
    "a line": pooled(PLANE.reshape(1, 2, 8), outputs=2, strides=[3]),
    "a volume": pooled(PLANE.reshape(1, 1, 2, 2, 4), pads=[1, 1, 1, 1, 1, 1], outputs=2),
    "SAME_UPPER": pooled(auto_pad="SAME_UPPER", kernel_shape=[3, 2], strides=[2, 2]),
    "SAME_LOWER": pooled(auto_pad="SAME_LOWER", kernel_shape=[3, 2], strides=[2, 1]),
    "VALID": pooled(auto_pad="VALID", strides=[2, 1]),
    "-inf beside padding": pooled(
        np.full((1, 1, 2, 2), -np.inf, np.float32), pads=[1, 1, 0, 0], outputs=2
    ),
    "zeros of both signs, with indices": pooled(np.tile(ZEROS, 2).reshape(1, 1, 2, 2), outputs=2),
    "plane": (one_node("GlobalMaxPool", PLANE), PLANE),
    "plane, opset 1": (one_node("GlobalMaxPool", PLANE, opset=1), PLANE),
    "ArgMax, opset 1": reduced("ArgMax", ROW, opset=1, axis=1),
    "ArgMin, opset 11": reduced("ArgMin", ROW, opset=11, axis=-1, keepdims=0),
    "ArgMax, last": reduced("ArgMax", ROW, opset=13, axis=0, select_last_index=1),
    "ArgMin, last, bytes": reduced("ArgMin", ROW.astype(np.uint8), axis=1, select_last_index=1),
    "ArgMax, zeros of both signs": reduced("ArgMax", ZEROS, axis=0),
    "ArgMax, int32": reduced("ArgMax", ROW.astype(np.int32)),
    "ReduceMax, opset 1": reduced("ReduceMax", ROW, opset=1, keepdims=0),
    "ReduceMax, opset 11": reduced("ReduceMax", ROW, opset=11, axes_attribute=[-2]),
    "ReduceMin, bytes": reduced("ReduceMin", ROW.astype(np.int8), opset=13, axes_attribute=[1]),
    "ReduceMax, opset 18": reduced("ReduceMax", ROW, axes=[1, 0], keepdims=0),
    "ReduceMax, opset 20": reduced("ReduceMax", ROW.astype(np.int64), opset=20, axes=[1]),
    "ReduceMin, empty axes": reduced("ReduceMin", ROW, axes=[]),
}

LEFT = {
    "float64": (pooled(PLANE.astype(np.float64)), "elements of type float64 are not taken"),
    "ArgMax of float64": (
        reduced("ArgMax", ROW.astype(np.float64)), "elements of type float64 are not taken",
    ),
    "bool": (reduced("ReduceMax", ROW > 2, opset=20), "elements of type bool are not taken"),
    "SAME and dilations": (
        pooled(auto_pad="SAME_UPPER", dilations=[2, 1]),
        "ONNX Runtime ignores the dilations when it pads by auto_pad SAME",
    ),
    "SAME and wide strides": (
        pooled(auto_pad="SAME_LOWER", strides=[3, 3]),
        "auto_pad SAME may be negative where a stride exceeds the window",
    ),
    "windows of padding alone": (
        pooled(np.ones((1, 1, 1, 1), np.float32), dilations=[2, 2], pads=[1, 1, 1, 1]),
        "runtimes do not agree on windows that lie wholly in padding",
    ),
    "NaN": (
        reduced("ArgMax", NAN), "the input has NaN, which ONNX Runtime treats by another rule",
    ),
    "NaN in a pooling": (
        pooled(NAN.reshape(1, 1, 3), outputs=2),
        "the input has NaN, which ONNX Runtime treats by another rule",
    ),
    "zeros of both signs": (
        reduced("ReduceMax", ZEROS),
        "the input has zeros of both signs, of which ONNX Runtime takes any",
    ),
    "-inf": (
        (one_node("GlobalMaxPool", -np.inf * np.ones((1, 1, 2), np.float32)),
         -np.inf * np.ones((1, 1, 2), np.float32)),
        "the input has -inf, which ONNX Runtime may pool to the lowest number",
    ),
    "copy": (
        reduced("ReduceMax", ROW, axes=[], noop_with_empty_axes=1),
        "noop_with_empty_axes must be 0 where there are no axes, not 1",
    ),
    "no element": (
        reduced("ReduceMax", np.zeros((2, 0), np.float32), axes=[1]),
        "the input of sizes (2, 0) has no element",
    ),
    "scalar": (
        reduced("ReduceMax", np.array(3, np.float32)),
        "a reduced tensor has 1 to 8 dimensions, not 0",
    ),
    "nine axes": (
        reduced("ReduceMax", np.ones((1,) * 9, np.float32)),
        "a reduced tensor has 1 to 8 dimensions, not 9",
    ),
    "six dimensions": (
        pooled(np.ones((1, 1, 1, 1, 1, 2), np.float32), kernel_shape=[1, 1, 1, 1]),
        "a pooled tensor has 3 to 5 dimensions, not 6",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TAKEN)
def test_taken(case):
    model, x = TAKEN[case]
    outputs = run(model, {"x": x})
    (node,) = outputs.nodes
    assert node.layer is not None, node.reason
    assert node.compared
    assert node.difference is None
    for actual, expected in zip(outputs, runtime(model, {"x": x}), strict=True):
        assert_equal_bits(actual, expected)
    assert run(model, {"x": x}, strict=True).nodes[0].layer is not None


@pytest.mark.parametrize("attributes", [{"kernel_shape": [9, 9]}, {"pads": [3, 3, 3, 3]}])
def test_what_onnx_runtime_says_is_told_without_the_place_in_its_source(attributes):
    x = np.zeros((1, 1, 4, 4), np.float32)
    node = helper.make_node("MaxPool", ["x"], ["y"], **({"kernel_shape": [2, 2]} | attributes))
    model = model_of([node], {"x": ("float32", x.shape)}, ["y"])
    with pytest.raises(Exception, match=r"\.h:\d.* was false"):
        runtime(model, {"x": x})
    with pytest.raises(NetworkError, match=r"^ONNX Runtime cannot run it: .*(Pad|dim)") as told:
        run(model, {"x": x})
    assert not re.search(r"\.h:\d|was false", str(told.value))


def test_weights_in_another_file_that_are_not_there(tmp_path):
    """What ONNX Runtime says is told in words, without files and functions of its source."""
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1, 1, 4, 4])
    weights.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights"), ("offset", "999")):
        weights.external_data.add(key=key, value=value)
    (tmp_path / "weights").write_bytes(bytes(64))
    nodes = [node("Add", "x w", "s"), node("MaxPool", "s", "y", kernel_shape=[2, 2])]
    x = np.zeros((1, 1, 4, 4), np.float32)
    model = model_of(nodes, {"x": ("float32", x.shape)}, ["y"], constants={"w": x})
    model.graph.initializer[0].CopyFrom(weights)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(NetworkError, match=r"^ONNX Runtime cannot run it: .*out of bounds") as told:
        run(tmp_path / "net.onnx", {"x": x})
    assert not re.search(r"\.(cc|h):\d|Proto", str(told.value))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("[ONNXRuntimeError] : 6 : FAIL : w failed.a.cc:12 Get no file", "w failed. no file"),
        ("[ONNXRuntimeError] : 1 : FAIL : parse_string.h:116 Parse bad value", "bad value"),
        ("frame.cc:173 onnxruntime::Frame::Get x is missing", "x is missing"),
        ("/src/a.cc:12 void ort::f(int) bad", "/src/a.cc:12 void ort::f(int) bad"),
        ("/src/a.h:12 void ort::f(int) a < b was false. Sizes differ", "Sizes differ"),
        ("no file a.cc", "no file a.cc"),
    ],
)
def test_a_place_is_left_out_or_told_whole(said, told):
    assert _told(RuntimeError(said)) == told


@pytest.mark.parametrize("case", LEFT)
def test_left(case):
    (model, x), reason = LEFT[case]
    try:
        expected = runtime(model, {"x": x})
    except Exception:  # ONNX Runtime refuses it as well, and its exceptions have no other base
        with pytest.raises(NetworkError, match=r"^ONNX Runtime cannot run it: "):
            run(model, {"x": x})
    else:
        outputs = run(model, {"x": x})
        (node,) = outputs.nodes
        assert (node.layer, node.reason) == (None, reason)
        for actual, wanted in zip(outputs, expected, strict=True):
            assert_equal_bits(actual, wanted)
    with pytest.raises(NetworkError, match=f"^{model.graph.node[0].op_type} node is not taken: "):
        run(model, {"x": x}, strict=True)


def since(operator):
    """Return every opset, as long as ONNX Runtime takes it."""
    newest = min(onnx.defs.onnx_opset_version(), NEWEST)
    return [(operator, opset) for opset in range(1, newest + 1)]


@pytest.mark.parametrize(
    ("operator", "opset"),
    [pair for operator in OPERATORS for pair in since(operator)],
)
def test_every_opset(operator, opset):
    """Whatever an operator may say in an opset, and no more, is taken in it."""
    attributes: dict[str, Any] = {}
    if operator == "MaxPool":
        attributes = {"kernel_shape": [2, 2], "strides": [1, 2], "pads": [0, 1, 1, 0]}
        attributes |= {"storage_order": 1} if opset >= 8 else {}
        attributes |= {"ceil_mode": 1, "dilations": [2, 1]} if opset >= 10 else {}
    elif operator.startswith("Arg"):
        attributes = {"axis": -1 if opset >= 11 else 3, "keepdims": 0}
        attributes |= {"select_last_index": 1} if opset >= 12 else {}
    elif operator.startswith("Reduce"):
        attributes = {"keepdims": 0}
        attributes |= {"axes_attribute": [1, 2]} if opset < 18 else {"axes": [1, -2]}
    outputs = 2 if operator == "MaxPool" and opset >= 8 else 1
    model = one_node(operator, PLANE, outputs=outputs, opset=opset, **attributes)
    found = run(model, {"x": PLANE}, strict=True)
    assert found.nodes[0].compared
    assert not found.differences
    assert found.difference is None


def test_a_name_of_another_domain_is_none_of_ours():
    node = helper.make_node("ArgMax", ["x"], ["y"], domain="own")
    model = model_of([helper.make_node("Identity", ["x"], ["z"])], {"x": ("int8", (2,))}, ["z"])
    assert not load(model).candidates
    model.graph.node.append(node)
    model.graph.output.append(helper.make_tensor_value_info("y", 7, [1]))
    assert not load(model).candidates


@pytest.mark.parametrize("name", ["float32", "float16", "int8", "uint8"])
@settings(max_examples=20)
@given(data=st.data())
def test_random_poolings_equal_onnx_runtime(name, data):
    """With indices, since without them the values of ONNX Runtime have zeros of any sign."""
    sizes, attributes = data.draw(onnx_poolings())
    x = data.draw(tensors(sizes, name, nan=False))
    model = one_node("MaxPool", x, outputs=2, opset=12, **attributes)
    outputs = run(model, {"x": x})
    (node,) = outputs.nodes
    assume(node.layer is not None)
    assert node.compared
    assert node.difference is None
    assert outputs.difference is None
