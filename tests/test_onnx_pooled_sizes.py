"""Sizes behind poolings of which ONNX infers others than ONNX Runtime gives."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_models import model_of

from extremum.onnx import load, run
from extremum.onnx.graphs import sizes_of
from extremum.onnx.pooled_sizes import with_sizes

PLANE = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)
OPEN = {"x": ("float32", ("n", "c", "h", "w"))}
GIVEN = {"x": ("float32", PLANE.shape)}

ROUNDED_UP = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}
"""The last window would begin in the end padding, so there are 3 and not 4 in a line."""
AUTOMATIC = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "auto_pad": "VALID"}
"""The pads do not count, so there are 4 windows in a line and not 6."""

POOLINGS = [("MaxPool", ROUNDED_UP), ("AveragePool", ROUNDED_UP), ("MaxPool", AUTOMATIC)]


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def check(model):
    """Run a model, and compare its outputs with those of ONNX Runtime alone."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    expected = session.run(None, {"x": PLANE})
    outputs = run(model, {"x": PLANE})
    assert outputs.agreement is True
    for own, theirs in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(own, theirs)
    return outputs


@pytest.mark.parametrize(("kind", "attributes"), POOLINGS)
@pytest.mark.parametrize("opset", [11, 18, 21, 22])
def test_the_shape_of_what_was_pooled(kind, attributes, opset):
    """ONNX Runtime would take inferred sizes for it, if it were told the sizes of the input."""
    nodes = [
        node(kind, "x", "p", **attributes),
        node("Shape", "p", "s"),
        node("MaxPool", "p", "q", kernel_shape=[2, 2]),
    ]
    outputs = check(model_of(nodes, OPEN, ["s", "p", "q"], opset=opset))
    assert outputs[0].tolist() == list(outputs[1].shape)


def test_a_tensor_that_is_flattened_by_its_shape():
    nodes = [
        node("MaxPool", "x", "p", **ROUNDED_UP),
        node("Shape", "p", "s"),
        node("Gather", "s two", "width"),
        node("Concat", "any width", "sizes", axis=0),
        node("Reshape", "p sizes", "y"),
        node("ArgMax", "y", "k", axis=1),
    ]
    constants = {"two": np.array([2]), "any": np.array([-1])}
    check(model_of(nodes, OPEN, ["k"], constants=constants))


def test_a_pooling_whose_sizes_are_not_known_before_the_run():
    """The tensor passes from one part to the next with the sizes that it has there."""
    nodes = [
        node("NonZero", "x", "found"),
        node("Shape", "found", "many"),
        node("Slice", "many zero one", "two"),
        node("Add", "two three", "side"),
        node("Concat", "ones side side", "sizes", axis=0),
        node("Reshape", "x sizes", "same"),
        node("MaxPool", "same", "m", kernel_shape=[1, 1]),
        node("AveragePool", "m", "p", **ROUNDED_UP),
        node("Shape", "p", "s"),
    ]
    constants = {
        "zero": np.array([0]), "one": np.array([1]), "three": np.array([1]),
        "ones": np.array([1, 1]),
    }  # fmt: skip
    outputs = check(model_of(nodes, GIVEN, ["s"], constants=constants))
    assert outputs[0].tolist() == [1, 1, 3, 3]


@pytest.mark.parametrize(("kind", "attributes"), POOLINGS)
def test_the_plan_has_the_sizes_of_the_run(kind, attributes):
    """Two such poolings one behind the other: the second one's sizes follow from the first's."""
    nodes = [
        node(kind, "x", "p", **attributes),
        node(kind, "p", "q", **attributes),
        node("Relu", "q", "r"),
        node("ArgMax", "r", "k", axis=-1),
    ]
    for opset in (18, 22):
        model = model_of(nodes, GIVEN, ["k", "q"], opset=opset)
        side = {"MaxPool": 2, "AveragePool": 2}[kind] if attributes is ROUNDED_UP else 3
        last = load(model).candidates[-1]
        assert last.sizes == (1, 1, side, side)
        assert run(model, {"x": PLANE})[1].shape == (1, 1, side, side)


def test_a_model_keeps_its_nodes_and_opsets():
    nodes = [node("MaxPool", "x", "p i", **ROUNDED_UP), node("Relu", "p", "y")]
    model = model_of(nodes, GIVEN, ["y", "i"])
    inferred = with_sizes(model)
    assert inferred.may_be_wrong
    assert list(inferred.model.graph.node) == list(model.graph.node)
    assert list(inferred.model.opset_import) == list(model.opset_import)
    infos = {v.name: v for v in (*inferred.model.graph.value_info, *inferred.model.graph.output)}
    assert {name: sizes_of(infos[name]) for name in "piy"} == dict.fromkeys("piy", (1, 1, 3, 3))


def test_other_models_are_as_onnx_infers_them():
    plain = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 0, "auto_pad": "NOTSET"}
    inferred = with_sizes(model_of([node("MaxPool", "x", "y", **plain)], GIVEN, ["y"]))
    assert not inferred.may_be_wrong
    assert with_sizes(model_of([node("MaxPool", "x", "y", **ROUNDED_UP)], OPEN, ["y"])).may_be_wrong


DILATED = {"kernel_shape": [3, 2], "strides": [2, 3], "dilations": [1, 2], "auto_pad": "SAME_UPPER"}
"""ONNX infers a window for each stride; ONNX Runtime gives fewer."""


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "LpPool"])
def test_sizes_behind_dilated_windows_of_same_padding_stay_open(kind):
    nodes = [node(kind, "x", "p", **DILATED), node("MaxPool", "p", "y", kernel_shape=[1, 1])]
    model = model_of(nodes, GIVEN, ["y"], opset=22)
    last = load(model).candidates[-1]
    assert (last.sizes, last.unknown) == (None, "its sizes are not known before a run")
    outputs = run(model, {"x": PLANE})
    assert outputs.agreement
    assert outputs.nodes[-1].sizes == outputs["y"].shape == (1, 1, 3, 1)
    undilated = DILATED | {"dilations": [1, 1]}
    nodes[0] = node(kind, "x", "p", **undilated)
    assert load(model_of(nodes, GIVEN, ["y"], opset=22)).candidates[-1].sizes == (1, 1, 3, 2)


@pytest.mark.parametrize("declared", ["p", "y"])
def test_sizes_that_a_model_states_wrongly(declared):
    """They are those of the model before somebody changed it."""
    nodes = [node("Relu", "x", "p"), node("MaxPool", "p", "y", kernel_shape=[2, 2])]
    model = model_of(nodes, GIVEN, ["y"])
    wrong = helper.make_tensor_value_info(declared, TensorProto.FLOAT, (1, 1, 1, 1))
    values = model.graph.output if declared == "y" else model.graph.value_info
    values.remove(next(value for value in values if value.name == declared))
    values.append(wrong)
    (candidate,) = load(model).candidates
    assert candidate.sizes == PLANE.shape
    assert candidate.layer is not None
    outputs = run(model, {"x": PLANE}, strict=True)
    assert outputs["y"].shape == (1, 1, 4, 4)
    assert outputs.agreement


def test_sizes_that_onnx_does_not_infer_are_those_that_the_model_states():
    nodes = [
        node("Gelu", "x", "p", domain="com.microsoft"),
        node("MaxPool", "p", "y", kernel_shape=[2, 2]),
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1, 4, 4))
    model = model_of(nodes, GIVEN, [y])
    assert load(model).candidates[0].sizes is None
    stated = helper.make_tensor_value_info("p", TensorProto.FLOAT, PLANE.shape)
    model.graph.value_info.append(stated)
    assert load(model).candidates[0].sizes == PLANE.shape
    assert load(model).graph.output[0] == y
