"""Inputs of nodes that are no tensors, or whose elements ONNX does not let them have."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import model_of, node, one_node

from extremum.onnx import NetworkError, load, run
from extremum.onnx.layers import NotTaken, axes_of

X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
GIVEN = {"x": ("float32", X.shape)}
TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, X.shape)


def absent(name):
    """Return a node that gives an optional which holds nothing."""
    return node("Optional", "", name, type=TENSOR)


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("within", [False, True])
def test_an_optional_that_holds_nothing_passes_a_cut(compare, within):
    """ONNX Runtime makes one, and ends the process if it is given one."""
    told = [node("OptionalHasElement", "o", "has")]
    if within:
        result = [helper.make_tensor_value_info("has", TensorProto.BOOL, ())]
        branch = helper.make_graph(told, "branch", [], result)
        told = [node("If", "is_set", "has", then_branch=branch, else_branch=branch)]
    nodes = [
        absent("o"),
        node("ReduceMax", "x", "top", keepdims=0),
        node("Greater", "top zero", "is_set"),
        *told,
    ]
    model = model_of(nodes, GIVEN, ["has", "top"], constants={"zero": np.array(0, np.float32)})
    outputs = run(model, {"x": X}, compare=compare)
    assert (bool(outputs["has"]), float(outputs["top"])) == (False, 15.0)
    assert outputs.agreement is (True if compare else None)
    assert outputs.nodes[0].layer is not None


def test_an_optional_that_holds_nothing_leaves_a_network():
    nodes = [absent("o"), node("ReduceMax", "x", "top", keepdims=0)]
    kind = helper.make_value_info("o", helper.make_optional_type_proto(TENSOR))
    outputs = run(model_of(nodes, GIVEN, ["top", kind]), {"x": X})
    assert outputs["o"] is None
    assert outputs.agreement


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (
            [absent("o"), node("MaxPool", "o", "y", kernel_shape=[2, 2])],
            "o is of another kind .optional",
        ),
        ([absent("o"), node("ReduceMax", "x o", "y")], "o is of another kind .optional"),
        (
            [node("SequenceConstruct", "x", "s"), node("ReduceMax", "x s", "y")],
            "s is of another kind .sequence",
        ),
        ([node("Cast", "x", "a", to=TensorProto.INT32), node("ReduceMax", "x a", "y")], "INT32"),
        ([node("Cast", "x", "a", to=TensorProto.INT16), node("GlobalMaxPool", "a", "y")], "INT16"),
    ],
)
@pytest.mark.parametrize("within", [False, True])
def test_a_node_that_takes_no_such_input_is_refused(nodes, told, within):
    """In the graph and in a subgraph; before a run, so that a plan says it, too."""
    if within:
        inner = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["?"] * 4)
        branch = helper.make_graph(nodes, "branch", [], [inner])
        nodes = [node("If", "flag", "z", then_branch=branch, else_branch=branch)]
    result = helper.make_tensor_value_info("z" if within else "y", TensorProto.FLOAT, ["?"] * 4)
    model = model_of(nodes, GIVEN | {"flag": ("bool", ())}, [result])
    rule = "^it breaks a rule of ONNX: (MaxPool|ReduceMax|GlobalMaxPool) y: "
    with pytest.raises(NetworkError, match=rule) as error:
        load(model)
    assert error.match(told)


@pytest.mark.parametrize(
    ("operator", "dtype", "opset", "is_taken"),
    [
        ("MaxPool", "int8", 11, False),
        ("MaxPool", "int8", 12, True),
        ("MaxPool", "int32", 22, False),
        ("GlobalMaxPool", "int8", 22, False),
        ("GlobalMaxPool", "float16", 1, True),
        ("ReduceMax", "int16", 20, False),
        ("ReduceMin", "int8", 11, False),
        ("ReduceMin", "uint8", 12, True),
        ("ArgMax", "uint16", 11, True),
    ],
)
def test_elements_are_those_of_the_opset(operator, dtype, opset, is_taken):
    pooled: dict[str, Any] = {"kernel_shape": [2, 2]} if operator == "MaxPool" else {}
    model = one_node(operator, X.astype(dtype), opset=opset, **pooled)
    if is_taken:
        assert load(model).candidates[0].layer is not None
    else:
        with pytest.raises(NetworkError, match=f"in opset {opset} {operator} takes no "):
            load(model)


@pytest.mark.parametrize("compare", [False, True])
def test_elements_that_are_only_known_in_the_run(compare):
    """ONNX infers no type behind operators of other domains."""
    nodes = [
        node("QuantizeLinear", "x one zero", "q", domain="com.microsoft"),
        node("GlobalMaxPool", "q", "y"),
    ]
    constants = {"one": np.array(1, np.float32), "zero": np.array(0, np.int16)}
    y = helper.make_tensor_value_info("y", TensorProto.INT16, ["?"] * 4)
    model = model_of(nodes, GIVEN, [y], constants=constants)
    assert load(model).candidates[0].unknown
    with pytest.raises(NetworkError, match=r"^ONNX Runtime cannot run it: .*tensor\(int16\)"):
        run(model, {"x": X}, compare=compare)


@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("axes", [np.int64(1), np.array([[1]], np.int64)])
@pytest.mark.parametrize("is_known", [False, True])
def test_axes_are_a_vector(compare, axes, is_known):
    constants = {"axes": np.asarray(axes)} if is_known else {}
    inputs = GIVEN if is_known else GIVEN | {"axes": ("int64", np.shape(axes))}
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["?"] * 4)
    model = model_of([node("ReduceMax", "x axes", "y")], inputs, [y], constants=constants)
    given = {"x": X} if is_known else {"x": X, "axes": np.asarray(axes)}
    reason = load(model).candidates[0].reason
    assert reason == (f"axes must be a vector of int64, not int64 of {np.ndim(axes)} dimensions"
                      if is_known else "")  # fmt: skip
    with pytest.raises(NetworkError, match=r"^ONNX Runtime cannot run it: "):
        run(model, given, compare=compare)


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_of_several_opsets_the_last_one_counts(domain):
    model = one_node("ReduceMax", X.astype(np.int8), opset=11)
    model.opset_import.append(helper.make_opsetid(domain, 12))
    assert load(model).candidates[0].layer is not None
    model.opset_import.append(helper.make_opsetid(domain, 11))
    with pytest.raises(NetworkError, match=r"in opset 11 ReduceMax takes no data of type INT8$"):
        load(model)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (np.array([0], np.int32), "int32 of 1 dimensions"),
        (np.array([0.0]), "float64 of 1 dimensions"),
        (np.array(0), "int64 of 0 dimensions"),
        (np.array([[0]]), "int64 of 2 dimensions"),
    ],
)
def test_axes_are_a_vector_of_int64(found, told):
    with pytest.raises(NotTaken, match=f"^axes must be a vector of int64, not {told}$"):
        axes_of(found)
    assert axes_of(np.array([1, -1])) == [1, -1]
