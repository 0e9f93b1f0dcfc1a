"""What a network gives: text, sequences, maps and narrow types, compared as numbers are."""

import copy
import pickle

import numpy as np
import onnx
import pytest
from equal_bits import assert_equal_bits
from onnx import TensorProto, helper
from onnx_models import model_of, node, one_node

from extremum.onnx import run
from extremum.onnx.differences import output_difference

X: np.ndarray = np.array([[1.25, -2, 3], [4, 5, -6]], np.float32)


def ran(nodes, outputs, opset=18, x=X):
    """Run nodes behind the maximum m of x; check that it was taken, and that all bits agree."""
    model = model_of(
        [node("ReduceMax", "x", "m", name="largest", keepdims=0), *nodes],
        {"x": (x.dtype.name, x.shape)}, outputs, opset=opset,
    )  # fmt: skip
    found = run(model, [x])
    assert found.nodes[0].layer is not None
    assert found.agreement
    return found


def test_text():
    y = helper.make_tensor_value_info("y", TensorProto.STRING, [2, 3])
    found = ran([node("Cast", "x", "y", to=TensorProto.STRING)], [y, "m"])
    assert found["y"].dtype == object
    assert found["y"].tolist() == [["1.25", "-2", "3"], ["4", "5", "-6"]]


def test_text_passes_a_cut():
    y = helper.make_tensor_value_info("y", TensorProto.STRING, [3, 3])
    nodes = [
        node("Cast", "x", "words", to=TensorProto.STRING),
        node("Cast", "m", "largest_word", to=TensorProto.STRING),
        helper.make_node("Constant", [], ["sizes"], value_ints=[1, 3]),
        node("Expand", "largest_word sizes", "row"),
        node("Concat", "words row", "y", axis=0),
    ]
    assert ran(nodes, [y])["y"][2].tolist() == ["5", "5", "5"]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (TensorProto.BFLOAT16, "bfloat16"),
        (TensorProto.FLOAT8E4M3FN, "float8_e4m3fn"),
        (TensorProto.INT4, "int4"),
    ],
)
def test_types_that_numpy_has_not(code, name):
    y = helper.make_tensor_value_info("y", code, [2, 3])
    (found,) = ran([node("Cast", "x", "y", to=code)], [y], opset=21)
    assert (found.dtype.name, found.shape) == (name, (2, 3))
    assert found.astype(np.float32)[1, 0] == 4
    wrong = found.copy()
    wrong[0, 1] = 1
    difference = output_difference("y", found, wrong)
    assert difference is not None
    assert (difference.coordinate, difference.count, difference.elements) == ((0, 1), 1, 6)


def test_sequences_and_optional_values():
    y = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    none = helper.make_value_info("none", kind)
    missing = helper.make_node(
        "Optional", [], ["none"], type=helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    )
    found = ran([node("SequenceConstruct", "x m", "y"), missing], [y, none])
    assert found["none"] is None
    assert_equal_bits(found["y"][0], X)
    assert float(found["y"][1]) == 5


def test_maps():
    kind = onnx.TypeProto()
    entry = kind.sequence_type.elem_type.map_type
    entry.key_type = TensorProto.STRING
    entry.value_type.tensor_type.elem_type = TensorProto.FLOAT
    y = helper.make_value_info("y", kind)
    names = ["a", "b", "c"]
    rows = node("ZipMap", "s", "y", domain="ai.onnx.ml", classlabels_strings=names)
    (found,) = ran([node("Sub", "x m", "s"), rows], [y])
    assert found == [{"a": -3.75, "b": -7, "c": -2}, {"a": -1, "b": 0, "c": -11}]


def test_an_output_that_is_named_twice():
    model = one_node("ReduceMax", X, keepdims=0)
    model.graph.output.append(model.graph.output[0])
    outputs = run(model, [X])
    assert (outputs.names, len(outputs)) == (("y", "y"), 2)
    assert_equal_bits(outputs[0], outputs[1])


def test_outputs_are_copied_and_named():
    outputs = run(one_node("ReduceMax", X), [X])
    for copied in (copy.copy(outputs), pickle.loads(pickle.dumps(outputs))):
        assert (copied.names, copied.agreement, copied.nodes) == (("y",), True, outputs.nodes)
        assert_equal_bits(copied["y"], outputs["y"])
    with pytest.raises(KeyError, match="no output is named z: there are y"):
        outputs["z"]


@pytest.mark.parametrize(
    ("expected", "got", "told"),
    [
        ([X], [X, X], ("y", (), "list of 1", "list of 2")),
        ([X, X], [X, X + 1], ("y[1]", (0, 0), "1.25", "2.25")),
        ([{"a": 1.0}], [{"a": 2.0}], ("y[0][a]", (), "1.0", "2.0")),
        ({"a": 1.0}, {"b": 1.0}, ("y", (), "dict of 1", "dict of 1")),
        (X, X[0], ("y", (), "float32 (2, 3)", "float32 (3,)")),
        (None, X, ("y", (), "object ()", "float32 (2, 3)")),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), ("y", (1,), "b", "c")),
        (np.array(["a", "b", "c"]), np.array(["x", "b", "z"]), ("y", (0,), "a", "x")),
        (np.array("a", object), np.array("b", object), ("y", (), "a", "b")),
    ],
)
def test_differences(expected, got, told):
    found = output_difference("y", expected, got)
    assert found is not None
    assert (found.output, found.coordinate, str(found.expected), str(found.got)) == told
    assert output_difference("y", got, got) is None


def test_an_output_of_a_constant_that_a_layer_reads_too():
    nodes = [
        node("Neg", "c", "k"),
        node("Add", "x k", "y"),
        node("MaxPool", "y", "z", kernel_shape=[2, 2]),
    ]
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    ones = np.ones((1, 1, 4, 4), np.float32)
    model = model_of(nodes, {"x": ("float32", x.shape)}, ["k", "z"], constants={"c": ones})
    outputs = run(model, {"x": x})
    assert outputs.agreement
    assert_equal_bits(outputs["k"], -ones)
    assert_equal_bits(outputs["z"], x[..., 1:, 1:] - 1)
