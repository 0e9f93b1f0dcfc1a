"""Sizes behind poolings of which ONNX infers others than ONNX Runtime gives."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper
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
