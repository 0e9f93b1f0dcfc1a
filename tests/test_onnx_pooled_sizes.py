"""Sizes behind poolings of which ONNX infers others than ONNX Runtime gives."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import OWN, model_of, node

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


def test_a_stated_size_that_agrees_with_what_is_inferred_counts():
    """ONNX infers the rank alone here, and the model knows more."""
    nodes = [
        node("Reshape", "x sizes", "p"),
        node("MaxPool", "p", "y", kernel_shape=[2, 2]),
    ]
    model = model_of(nodes, GIVEN | {"sizes": ("int64", (4,))}, ["y"])
    assert load(model).candidates[0].sizes is None
    for stated, expected in (((1, 1, 5, 5), (1, 1, 5, 5)), ((5, 5), None)):
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        values = changed.graph.value_info
        values.remove(next(value for value in values if value.name == "p"))
        values.append(helper.make_tensor_value_info("p", TensorProto.FLOAT, stated))
        assert load(changed).candidates[0].sizes == expected


def inside(where, kind, attributes, opset):
    """Return nodes that pool x into p within another node, and the functions of the model."""
    pool = node(kind, "x", "inner", **attributes)
    result = [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)]
    if where == "If":
        branch = helper.make_graph([pool], "branch", [], result)
        flag = node("Constant", "", "flag", value=numpy_helper.from_array(np.array(True)))
        return [flag, node("If", "flag", "p", then_branch=branch, else_branch=branch)], []
    if where == "Loop":
        count = helper.make_tensor_value_info("count", TensorProto.INT64, ())
        goes = [helper.make_tensor_value_info(n, TensorProto.BOOL, ()) for n in ("on", "on_out")]
        body = [node("Identity", "on", "on_out"), pool]
        body = helper.make_graph(body, "body", [count, goes[0]], [goes[1], *result])
        once = node("Constant", "", "once", value=numpy_helper.from_array(np.array(1)))
        first = node("Constant", "", "first", value=numpy_helper.from_array(np.array([0])))
        loop = helper.make_node("Loop", ["once", ""], ["many"], body=body)
        return [once, first, loop, node("Squeeze", "many first", "p")], []
    opsets = [helper.make_opsetid("", opset)]
    default = [helper.make_attribute("unused", 1)]
    function = helper.make_function(OWN, "Pool", ["x"], ["inner"], [pool], opsets, [], default)
    return [node("Pool", "x", "p", domain=OWN)], [function]


@pytest.mark.parametrize("where", ["If", "Loop", "function"])
@pytest.mark.parametrize(
    ("kind", "attributes", "opset"),
    [
        ("MaxPool", ROUNDED_UP, 18),
        ("AveragePool", AUTOMATIC, 18),
        ("MaxPool", AUTOMATIC, 22),
        ("LpPool", DILATED, 22),
    ],
)
def test_a_pooling_within_another_node(where, kind, attributes, opset):
    """Nobody is told its sizes, so what stands behind it has those of the run."""
    nodes, functions = inside(where, kind, attributes, opset)
    nodes += [
        node("Identity", "p", "q"),
        node("Shape", "q", "s"),
        node("MaxPool", "q", "y", kernel_shape=[1, 1]),
    ]
    outputs = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["?"] * 4),
        helper.make_tensor_value_info("s", TensorProto.INT64, [4]),
    ]
    model = model_of(nodes, OPEN, outputs, functions=functions, opset=opset)
    done = run(model, {"x": PLANE})
    assert done.agreement
    assert done["s"].tolist() == list(done["y"].shape)
    assert list(done.nodes[-1].sizes or ()) == list(done["y"].shape)
    sized = load(model, {"x": PLANE.shape}).candidates[-1].sizes
    assert sized in (None, done["y"].shape)


@pytest.mark.parametrize("attributes", [DILATED, ROUNDED_UP, ROUNDED_UP | {"auto_pad": ""}])
def test_no_size_stays_behind_a_pooling_of_which_one_is_open(attributes):
    """ONNX infers the sizes of a plane, which may be wrong, where only the batch is open."""
    nodes = [
        node("AveragePool", "x", "p", **attributes),
        node("ReduceMax", "p axes", "y", keepdims=0),
        node("ArgMax", "y", "k"),
    ]
    given = {"x": ("float32", ("n", 1, 5, 5))}
    model = model_of(nodes, given, ["k"], constants={"axes": np.array([0])}, opset=19)
    assert [each.sizes for each in load(model).candidates] == [None, None]
    outputs = run(model, {"x": PLANE})
    assert outputs.agreement
    assert outputs.nodes[-1].sizes == {3: (1, 3, 1), 2: (1, 3, 3)}[attributes["strides"][-1]]


def test_many_open_poolings_are_inferred_at_once(monkeypatch):
    nodes = [node("LpPool", "x", f"p{n}", **DILATED) for n in range(50)]
    model = model_of(nodes, GIVEN, [f"p{n}" for n in range(50)], opset=22)
    calls = []
    infer = onnx.shape_inference.infer_shapes

    def counted(*arguments, **options):
        calls.append(arguments)
        return infer(*arguments, **options)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", counted)
    with_sizes(model)
    assert len(calls) <= 3
