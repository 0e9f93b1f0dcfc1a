"""Networks run by `extremum.onnx`: the same bits as ONNX Runtime, whatever surrounds a layer."""

from typing import Any

import numpy as np
import onnx
import pytest
from equal_bits import assert_equal_bits
from onnx import TensorProto, helper
from onnx_models import OWN, Wrong, model_of, one_node, runtime
from onnx_vectors import LIGHT

from extremum.host import Accelerator
from extremum.host.team import Team
from extremum.onnx import NetworkError, core_for, load, run
from extremum.onnx import network as network_module
from extremum.onnx.segments import cut

RNG = np.random.default_rng(2)


def check(model, inputs, **options):
    """Run a model, compare its outputs with ONNX Runtime's, and return them."""
    outputs = run(model, inputs, **options)
    assert not outputs.differences
    assert outputs.difference is None
    for actual, expected in zip(outputs, runtime(model, inputs), strict=True):
        assert_equal_bits(actual, expected)
    return outputs


def branches():
    """Return a network of two inputs in which a layer's result meets an earlier tensor."""
    node = helper.make_node
    return model_of(
        [
            node("Relu", ["image"], ["a"]),
            node("MaxPool", ["a"], ["b", "b_at"], "first", kernel_shape=[2, 2], strides=[2, 2]),
            node("MaxPool", ["a"], ["c"], "second", kernel_shape=[3, 3], pads=[0, 0, 1, 1],
                 strides=[2, 2]),
            node("Add", ["b", "c"], ["d"]),
            node("Mul", ["d", "scale"], ["e"]),
            node("GlobalMaxPool", ["e"], ["f"], "third"),
            node("ReduceMax", ["e", "axes"], ["g"], "fourth", keepdims=0),
            node("ArgMax", ["g"], ["h"], "fifth", axis=1),
            node("Identity", ["image"], ["same"]),
        ],
        {"image": ("float32", (2, 3, 8, 8)), "scale": ("float32", (1,))},
        ["h", "f", "b_at", "same", "e"],
        constants={"axes": np.array([2, -1], np.int64)},
    )  # fmt: skip


def inputs_of_branches():
    image = RNG.integers(-3, 9, (2, 3, 8, 8)).astype(np.float32)
    return {"image": image, "scale": np.array([0.5], np.float32)}


def test_branches():
    outputs = check(branches(), inputs_of_branches())
    assert [n.name for n in outputs.nodes] == ["first", "second", "third", "fourth", "fifth"]
    assert all(n.layer is not None and n.compared for n in outputs.nodes)
    assert outputs.names == ("h", "f", "b_at", "same", "e")
    assert_equal_bits(outputs["f"], outputs[1])
    listed = run(branches(), list(inputs_of_branches().values()))
    assert_equal_bits(outputs["f"], listed["f"])


def test_a_team_runs_layers_side_by_side(monkeypatch):
    monkeypatch.setattr("extremum.host.team.WORTHWHILE_CLOCKS", {"model": 0})
    network = load(branches())
    config = core_for(network.candidates, lanes=2)
    with Team(config, workers=2, backend="model") as team:
        outputs = check(branches(), inputs_of_branches(), accelerator=team)
        assert team._executor is not None
    with Accelerator(config, backend="model") as accelerator:
        alone = run(branches(), inputs_of_branches(), accelerator=accelerator)
    assert [node.report for node in outputs.nodes] == [node.report for node in alone.nodes]


def test_each_node_is_in_one_segment_and_runs_behind_what_it_reads():
    graph = branches().graph
    ours = [1, 2, 5, 6, 7]
    segments = cut(graph, ours)
    order = [index for s in segments for index in (*s.nodes, *s.layers)]
    assert sorted(order) == list(range(len(graph.node)))
    known, outputs = {"image", "scale", "axes"}, {value.name for value in graph.output}
    for segment in segments:
        assert set(segment.inputs) <= known
        known |= set(segment.outputs)
        for index in segment.layers:
            assert set(graph.node[index].input) <= known
        for index in segment.layers:
            known |= set(graph.node[index].output)
        assert not set(segment.last_read) & outputs
        known -= set(segment.last_read)
    assert known == outputs
    assert [s.layers for s in segments] == [(1, 2), (5, 6), (7,)]


def test_a_tensor_is_kept_for_a_late_reader_in_front_of_an_early_one():
    """The last reader in the order of the graph is not the one that runs last."""
    model = model_of(
        [
            helper.make_node("MaxPool", ["image"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            helper.make_node("Add", ["b", "image"], ["c"]),
            helper.make_node("Relu", ["image"], ["d"]),
            helper.make_node("Add", ["c", "d"], ["e"]),
        ],
        {"image": ("float32", (1, 2, 6, 6))},
        ["e"],
    )
    check(model, {"image": RNG.integers(-9, 9, (1, 2, 6, 6)).astype(np.float32)})


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_published_topologies(name):
    network = load(LIGHT / f"{name}.onnx")
    inputs = {
        n: RNG.standard_normal(network.input_type(n)[0], np.float32) for n in network.input_names
    }
    outputs = run(LIGHT / f"{name}.onnx", inputs)
    assert outputs.agreement
    assert outputs.rounding is None
    assert outputs.nodes
    assert all(node.layer is not None for node in outputs.nodes)


def test_open_sizes_come_from_the_inputs():
    pool = helper.make_node("MaxPool", ["x"], ["y"], "pool", kernel_shape=[2], strides=[2])
    model = model_of([pool], {"x": ("int8", ("N", 2, None))}, ["y"])
    assert load(model).candidates[0].sizes is None
    for sizes in ((1, 2, 6), (3, 2, 9)):
        check(model, {"x": RNG.integers(-2, 3, sizes).astype(np.int8)})
    with pytest.raises(
        NetworkError, match=r"sizes \(N, 2, \?\), not int8 of the sizes \(1, 3, 4\)"
    ):
        run(model, {"x": np.zeros((1, 3, 4), np.int8)})


def test_axes_that_are_computed():
    nodes = [
        helper.make_node("Add", ["first", "one"], ["axes"]),
        helper.make_node("ReduceMin", ["x", "axes"], ["y"], "least"),
    ]
    inputs = {"x": ("int32", (2, 3, 4)), "first": ("int64", (1,))}
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [None, None, None])
    model = model_of(nodes, inputs, [y], constants={"one": np.array([1], np.int64)})
    assert load(model).candidates[0].layer is None
    x = RNG.integers(-9, 9, (2, 3, 4)).astype(np.int32)
    for first in (0, 1, -2):
        outputs = check(model, {"x": x, "first": np.array([first], np.int64)})
        assert outputs.nodes[0].layer is not None


def test_axes_that_are_left_out_by_an_empty_name():
    """The type of the input is known before the run, and its sizes are not."""
    reduced = helper.make_node("ReduceMax", ["x", ""], ["y"], keepdims=0)
    model = model_of([reduced], {"x": ("float32", (2, "n"))}, ["y"])
    (y,) = check(model, {"x": np.array([[1, 5], [3, 4]], np.float32)})
    assert y == 5


def test_only_axes_are_unpacked(monkeypatch):
    unpacked = []
    array = network_module.numpy_helper.to_array

    def counted(tensor, folder=""):
        unpacked.append(tensor.name)
        return array(tensor, folder)

    monkeypatch.setattr(network_module.numpy_helper, "to_array", counted)
    nodes = [
        helper.make_node("Gather", ["x", "places"], ["g"]),
        helper.make_node("ReduceMax", ["g", "axes"], ["y"], "largest"),
    ]
    constants = {"places": np.zeros(5, np.int64), "axes": np.array([1], np.int64)}
    model = model_of(nodes, {"x": ("float32", (2, 3))}, ["y"], constants=constants)
    unpacked.clear()
    assert load(model).candidates[0].layer is not None
    assert unpacked == ["axes"]


def test_subgraphs_and_functions():
    """A node in a subgraph is left, with that reason; a function is put in place of its call."""
    pool = helper.make_node("ReduceMax", ["x"], ["inner"], "in_branch", keepdims=0)
    same = helper.make_node("ReduceMin", ["x"], ["inner"], "in_other", keepdims=0)
    result = [helper.make_tensor_value_info("inner", TensorProto.FLOAT, [])]
    choice = helper.make_node(
        "If", ["flag"], ["z"],
        then_branch=helper.make_graph([pool], "then", [], result),
        else_branch=helper.make_graph([same], "else", [], result),
    )  # fmt: skip
    call = helper.make_node("Largest", ["x"], ["y"], domain=OWN)
    inside = helper.make_node("ReduceMax", ["a"], ["b"], "called", keepdims=1)
    opsets = [helper.make_opsetid("", 18)]
    largest = helper.make_function(OWN, "Largest", ["a"], ["b"], [inside], opsets)
    inputs = {"x": ("float32", (2, 3)), "flag": ("bool", ())}
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])
    model = model_of([choice, call], inputs, ["z", y], functions=[largest])
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    outputs = check(model, {"x": x, "flag": np.array(True)})
    reasons = {node.reason for node in outputs.nodes if node.layer is None}
    assert reasons == {"it is in a subgraph"}
    assert [node.layer is None for node in outputs.nodes] == [True, True, False]


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
@pytest.mark.parametrize(("called", "instead"), [("ArgMax", "ArgMin"), ("Relu", "Neg")])
def test_a_function_takes_no_operators_place(domain, called, instead):
    """Of an operator and a function of the same name, ONNX Runtime takes the operator."""
    axis: dict[str, Any] = {"axis": 1} if called == "ArgMax" else {}
    inside = helper.make_node(instead, ["a"], ["b"], **axis)
    opsets = [helper.make_opsetid("", 18)]
    function = helper.make_function(domain, called, ["a"], ["b"], [inside], opsets)
    call = helper.make_node(called, ["x"], ["y"], **axis)
    model = model_of([call], {"x": ("float32", (2, 3))}, ["y"], functions=[function])
    x = np.array([[3, -1, 2], [-5, 4, 4]], np.float32)
    (y,) = check(model, {"x": x})
    assert y.tolist() == ([[0], [1]] if called == "ArgMax" else np.maximum(x, 0).tolist())


@pytest.mark.parametrize("within", [False, True])
def test_a_function_that_is_left_finds_the_functions_that_it_calls(within):
    """The outer one is left, since an attribute has a default; the graph calls the inner one."""
    node = helper.make_node
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(OWN, 1)]
    call = node("Inner", ["a"], ["c"], domain=OWN)
    result = [helper.make_tensor_value_info("c", TensorProto.FLOAT, None)]
    branch = helper.make_graph([call], "branch", [], result)
    calls = [
        node("Constant", [], ["flag"], value_int=1),
        node("Cast", ["flag"], ["is_set"], to=TensorProto.BOOL),
        node("If", ["is_set"], ["c"], then_branch=branch, else_branch=branch),
    ]
    leaky = node("LeakyRelu", ["c"], ["b"])
    alpha = onnx.AttributeProto.FLOAT
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=alpha))
    functions = [
        helper.make_function(OWN, "Deep", ["a"], ["b"], [node("Neg", ["a"], ["b"])], opsets),
        helper.make_function(
            OWN, "Inner", ["a"], ["b"], [node("Deep", ["a"], ["b"], domain=OWN)], opsets
        ),
        helper.make_function(
            OWN, "Outer", ["a"], ["b"], [*(calls if within else [call]), leaky], opsets,
            [], [helper.make_attribute("alpha", 0.5)],
        ),
    ]  # fmt: skip
    nodes = [
        node("Outer", ["x"], ["y"], domain=OWN),
        node("Inner", ["x"], ["w"], domain=OWN),
        node("ReduceMax", ["y"], ["z"]),
    ]
    model = model_of(nodes, {"x": ("float32", (1, 3))}, ["z", "w"], functions=functions)
    outputs = check(model, {"x": np.array([[3, -1, 2]], np.float32)})
    assert outputs["z"].tolist() == [[1.0]]


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("deep", [False, True])
def test_nodes_in_functions_that_are_left_are_told(within, deep):
    """With the reason, so that ``strict`` refuses them as it does those in subgraphs."""
    node, opsets = helper.make_node, [helper.make_opsetid("", 18), helper.make_opsetid(OWN, 1)]
    attributes = [helper.make_attribute("alpha", 0.5)]
    leaky = node("LeakyRelu", ["m"], ["b"])
    alpha = onnx.AttributeProto.FLOAT
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=alpha))
    largest = node("ReduceMax", ["a"], ["m"], "largest")
    functions = [helper.make_function(OWN, "Inner", ["a"], ["m"], [largest], opsets)]
    body = [node("Inner", ["a"], ["m"], domain=OWN) if deep else largest, leaky]
    functions.append(helper.make_function(OWN, "Outer", ["a"], ["b"], body, opsets, [], attributes))
    nodes = [node("Outer", ["x"], ["y"], domain=OWN)]
    if within:
        result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        branch = helper.make_graph(nodes, "branch", [], result)
        nodes = [node("If", ["flag"], ["y"], then_branch=branch, else_branch=branch)]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    inputs = {"x": ("float32", (2, 3)), "flag": ("bool", ())}
    model = model_of(nodes, inputs, [y], functions=functions)
    given = {"x": RNG.standard_normal((2, 3)).astype(np.float32), "flag": np.array(True)}
    told = [(n.name, n.reason) for n in check(model, given).nodes]
    branches = 2 if within else 1
    assert told == [("largest", "it is in a function that is left to ONNX Runtime")] * branches
    with pytest.raises(NetworkError, match=r"^ReduceMax largest is not taken: it is in a function"):
        run(model, given, strict=True)


def test_a_function_that_calls_itself_is_refused():
    """By ONNX's checker, or by ONNX Runtime where that is an older one."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(OWN, 1)]
    body = [helper.make_node("Neg", ["a"], ["b"])]
    attributes = [helper.make_attribute("alpha", 0.5)]
    same = helper.make_function(OWN, "Same", ["a"], ["b"], body, opsets, [], attributes)
    call = helper.make_node("Same", ["x"], ["y"], domain=OWN)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = model_of([call], {"x": ("float32", (2, 3))}, [y], functions=[same])
    model.functions[0].node[0].CopyFrom(helper.make_node("Same", ["a"], ["b"], domain=OWN))
    with pytest.raises(NetworkError):
        run(model, [np.zeros((2, 3), np.float32)])


def test_types_that_numpy_has_not_pass_through_unchanged():
    nodes = [
        helper.make_node("Cast", ["x"], ["b"], to=TensorProto.BFLOAT16),
        helper.make_node("ArgMax", ["b"], ["at"], "wide", axis=0),
        helper.make_node("Cast", ["b"], ["back"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["back"], ["y"], "taken"),
    ]
    model = model_of(nodes[:1] + nodes[2:], {"x": ("float32", (5,))}, ["y", "back"])
    x = RNG.standard_normal(5).astype(np.float32)
    outputs = check(model, {"x": x})
    assert outputs.nodes[0].layer is not None
    network = load(model_of(nodes[:2], {"x": ("float32", (5,))}, ["at"]))
    assert network.candidates[0].reason == "elements of type bfloat16 are not taken"


def test_weights_in_files_of_their_own(tmp_path):
    weight = RNG.standard_normal((1, 2, 4, 4)).astype(np.float32)
    nodes = [
        helper.make_node("Add", ["x", "weight"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["y"], kernel_shape=[2, 2]),
        helper.make_node("MaxPool", ["weight"], ["z"], kernel_shape=[2, 2]),
    ]
    inputs = {"x": ("float32", (1, 2, 4, 4))}
    model = model_of(nodes, inputs, ["y", "z"], constants={"weight": weight})
    path = tmp_path / "model.onnx"
    onnx.save_model(
        model, path, save_as_external_data=True, size_threshold=0, location="weights.bin"
    )
    x = RNG.standard_normal((1, 2, 4, 4)).astype(np.float32)
    outputs = run(path, {"x": x})
    assert outputs.difference is None
    assert not outputs.differences
    assert_equal_bits(
        outputs["z"],
        runtime(model_of(nodes, inputs, ["y", "z"], constants={"weight": weight}), {"x": x})[1],
    )


def test_a_layer_that_differs_is_named():
    x = RNG.integers(0, 9, (1, 1, 4, 4)).astype(np.int8)
    model = one_node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    with Wrong(("int8",), backend="model") as accelerator:
        outputs = run(model, {"x": x}, accelerator=accelerator)
        unchecked = run(model, {"x": x}, accelerator=accelerator, compare=False)
    (node,) = outputs.differences
    assert node.name == "node"
    for found in (node.difference, outputs.difference):
        assert found is not None
        assert found.coordinate == (0, 0, 1, 1)
        assert int(found.got) == int(found.expected) + 1
    assert not unchecked.differences


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "^the input image is not given$"),
        ([np.zeros(1)], "^the network has 2 inputs, not 1$"),
        (
            {"image": np.zeros(1), "scale": np.zeros(1), "other": np.zeros(1)},
            "^the network has no input other: it has image, scale$",
        ),
        (
            {"image": np.zeros(1), "scale": np.zeros(1)},
            r"^the input image must be float32 of the sizes \(2, 3, 8, 8\), "
            r"not float64 of the sizes \(1,\)$",
        ),
        (
            {"image": np.zeros((2, 3, 8, 8), np.int8), "scale": np.zeros(1, np.float32)},
            r"^the input image must be float32 of the sizes \(2, 3, 8, 8\), not int8 of the sizes",
        ),
    ],
)
def test_wrong_inputs(inputs, message):
    with pytest.raises(NetworkError, match=message):
        run(branches(), inputs)


def test_the_core_of_a_network():
    network = load(branches())
    config = core_for(network.candidates, lanes=2)
    assert (config.lanes, config.max_window, config.max_dilation) == (2, (1, 3, 3), (1, 1, 1))
    assert config.operators == ("argmax", "max-pool")
    assert config.padding
    assert core_for([]).lanes == 1
