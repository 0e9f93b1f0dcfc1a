"""Models that `extremum.onnx` reads, and those that it refuses before anything runs."""

import re
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import one_node

from extremum.onnx import NetworkError, load, run


def declaring(data_type: int, place: int, *arguments: Any, **options: Any) -> onnx.ModelProto:
    """Return a model of one node, one of whose outputs is declared to have another type."""
    model = one_node(*arguments, **options)
    model.graph.output[place].type.tensor_type.elem_type = data_type
    return model


def declaring_no_tensor(kind: onnx.TypeProto) -> onnx.ModelProto:
    """Return a model of one node, whose output is declared to be no tensor."""
    model = one_node(*POOL, kernel_shape=[2])
    model.graph.output[0].type.CopyFrom(kind)
    return model


POOL = ("MaxPool", np.zeros((1, 1, 4), np.float32))
TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, None)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (b"no model", "^it is no ONNX model"),
        (
            declaring(TensorProto.INT64, 0, *POOL, kernel_shape=[2]),
            "MaxPool node gives y elements of type FLOAT, not INT64$",
        ),
        (
            declaring(TensorProto.FLOAT, 1, *POOL, kernel_shape=[2], outputs=2),
            "MaxPool node gives indices elements of type INT64, not FLOAT$",
        ),
        (
            declaring(TensorProto.INT32, 0, "ArgMax", POOL[1]),
            "ArgMax node gives y elements of type INT64, not INT32$",
        ),
        (
            declaring(TensorProto.DOUBLE, 0, "ReduceMax", POOL[1], axes=[0]),
            "ReduceMax node gives y elements of type FLOAT, not DOUBLE$",
        ),
        (
            declaring_no_tensor(helper.make_map_type_proto(TensorProto.INT64, TENSOR)),
            r"MaxPool node gives y, a tensor, and not what it is declared to be \(map\)$",
        ),
        (
            declaring_no_tensor(helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [3])),
            r"not what it is declared to be \(sparse tensor\)$",
        ),
        (b"", "^it is no ONNX model"),
        (onnx.ModelProto(), "^it is no ONNX model"),
        (one_node("MaxPool", np.zeros((1, 1, 4, 4), np.int8)), "^it breaks a rule of ONNX: "),
        (
            one_node(
                "MaxPool", np.zeros((1, 1, 4), np.float32), kernel_shape=[1], opset=9, dilations=[1]
            ),
            "^it breaks a rule of ONNX: ",
        ),
    ],
)
def test_what_is_no_model(model, message):
    with pytest.raises(NetworkError, match=message):
        load(model)


@pytest.mark.parametrize("text", ["pooled", "x", "kernel_shape"])
def test_a_text_that_is_not_utf8(text):
    """Protobuf gives its bytes then, and ONNX fails on some of them without saying where."""
    x = np.zeros((1, 1, 4, 4), np.float32)
    model = one_node("MaxPool", x, kernel_shape=[2, 2])
    model.graph.node[0].name = "pooled"
    wrong = b"\xe9" + text.encode()[1:]
    content = model.SerializeToString().replace(text.encode(), wrong)
    message = re.escape(f"it breaks a rule of ONNX: the text {wrong!r} is not UTF-8")
    with pytest.raises(NetworkError, match=f"^{message}$"):
        load(content)


def test_a_model_without_nodes():
    """It gives what it is given; ONNX's checker and ONNX Runtime take it."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    graph = helper.make_graph([], "nothing", [x], [x])
    opset = [helper.make_opsetid("", 18)]
    outputs = run(helper.make_model(graph, opset_imports=opset, ir_version=8), {"x": [1, 2]})
    assert outputs["x"].tolist() == [1, 2]
    assert outputs.agreement


@pytest.mark.parametrize("name", ["net.json", "net.textproto", "net.onnxtxt", "net"])
def test_a_model_is_binary_whatever_its_file_is_called(tmp_path, name):
    model = one_node("MaxPool", np.zeros((1, 1, 4, 4), np.float32), kernel_shape=[2, 2])
    (tmp_path / name).write_bytes(model.SerializeToString())
    assert load(tmp_path / name).model.graph.node[0].op_type == "MaxPool"
    (tmp_path / name).write_text("{}")
    with pytest.raises(NetworkError, match=r"^it is no ONNX model"):
        load(tmp_path / name)


def test_a_node_that_is_not_taken_cuts_no_graph():
    network = load(one_node("MaxPool", np.zeros((1, 1, 4)), kernel_shape=[2]))
    (found,) = network.candidates
    assert found.index == 0
    assert found.reason == "elements of type float64 are not taken"
    assert network.ours == {}


def test_a_sparse_constant_is_not_read():
    values = helper.make_tensor("c", TensorProto.INT64, [1], [1])
    places = helper.make_tensor("c_places", TensorProto.INT64, [1], [0])
    sparse = helper.make_sparse_tensor(values, places, [3])
    model = one_node("MaxPool", np.zeros((1, 1, 4), np.float32), kernel_shape=[2])
    model.graph.node.insert(0, helper.make_node("Constant", [], ["c"], sparse_value=sparse))
    model.graph.node.insert(0, helper.make_node("Constant", [], ["d"], value_ints=[1, 2]))
    network = load(model)
    assert network.constant("c") is None
    plain = network.constant("d")
    assert plain is not None
    assert plain.tolist() == [1, 2]
