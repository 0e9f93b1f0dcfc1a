"""Nodes that depend on no input are part of each segment that reads them."""

from __future__ import annotations

import numpy as np
import pytest
from equal_bits import assert_equal_bits
from onnx import TensorProto, helper, numpy_helper
from onnx_models import OWN, model_of, node, runtime

from extremum.onnx import run
from extremum.onnx.segments import cut

RNG = np.random.default_rng(3)


def constant(name, value):
    return node("Constant", "", name, value=numpy_helper.from_array(np.asarray(value), name))


class Quantised:
    """A network with two convolutions of quantised weights, and a pooling between them."""

    def __init__(self):
        self.nodes, self.constants = [], {}

    def hold(self, **constants):
        self.constants |= constants
        return " ".join(constants)

    def dequantise(self, name, values, scale):
        given = self.hold(**{name: values, f"{name}_scale": np.float32(scale)})
        self.nodes.append(node("DequantizeLinear", given, f"{name}_real"))
        return f"{name}_real"

    def rounded(self, x, scale, zero):
        kind = self.hold(**{f"{x}_scale": np.float32(scale), f"{x}_zero": np.int8(zero)})
        self.nodes.append(node("QuantizeLinear", f"{x} {kind}", f"{x}_codes"))
        self.nodes.append(node("DequantizeLinear", f"{x}_codes {kind}", f"{x}_rounded"))
        return f"{x}_rounded"

    def convolved(self, x, outputs, channels):
        weights = RNG.integers(-127, 128, (outputs, channels, 3, 3)).astype(np.int8)
        weights = self.dequantise(f"{x}_weights", weights, 0.0125)
        bias = RNG.integers(-3000, 3000, outputs).astype(np.int32)
        bias = self.dequantise(f"{x}_bias", bias, 0.0125 * 0.05)
        self.nodes.append(node("Conv", f"{x} {weights} {bias}", f"{x}_sums"))
        return self.rounded(f"{x}_sums", 0.05, 1)


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
@pytest.mark.parametrize("as_nodes", [False, True])
def test_a_quantised_network_has_the_bits_that_it_has_uncut(as_nodes, domain):
    """ONNX Runtime makes one node of integers of a convolution whose weights it knows."""
    network = Quantised()
    pooled_from = network.convolved(network.rounded("x", 0.05, 3), 8, 3)
    pool = node("MaxPool", pooled_from, "p", name="pool", kernel_shape=[2, 2], strides=[2, 2])
    network.nodes.append(pool)
    y = network.convolved(network.rounded("p", 0.05, 1), 8, 8)
    nodes, constants = network.nodes, network.constants
    for each in nodes:
        each.domain = domain if each.op_type in ("QuantizeLinear", "DequantizeLinear") else ""
    if as_nodes:
        nodes, constants = [*(constant(*pair) for pair in constants.items()), *nodes], {}
    inputs = {"x": ("float32", (1, 3, 120, 120))}
    given = helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 8, 57, 57])
    model = model_of(nodes, inputs, [given], constants=constants, opset=13)
    x = (3 * RNG.standard_normal((1, 3, 120, 120))).astype(np.float32)
    outputs = run(model, {"x": x})
    assert outputs.nodes[0].layer is not None
    assert outputs.agreement
    assert outputs.rounding is None
    assert_equal_bits(outputs[0], runtime(model, {"x": x})[0])


def shared():
    """Return a network in which both segments and a layer read what depends on no input."""
    nodes = [
        constant("two", np.array([2], np.float32)),
        node("Neg", "two", "less"),
        node("Exp", "less", "factor"),
        constant("axes", np.array([2], np.int64)),
        constant("unread", np.array([7], np.float32)),
        node("Mul", "x factor", "a"),
        node("ReduceMax", "a axes", "b", name="layer"),
        node("Mul", "b factor", "c"),
        node("Add", "c two", "y"),
    ]
    return model_of(nodes, {"x": ("float32", (2, 3, 5))}, ["y", "less"])


def test_each_segment_has_its_own():
    graph = shared().graph
    first, second = cut(graph, [6])
    assert first.nodes == (0, 1, 2, 3, 4, 5)
    assert (first.inputs, first.outputs) == (("x",), ("less", "axes", "a"))
    assert {"axes", "x", "a"} <= set(first.last_read)
    assert set(second.last_read) == {"b", "c"}
    assert second.nodes == (0, 1, 2, 7, 8)
    assert (second.inputs, second.outputs) == (("b",), ("y",))
    nodes = [*first.carried_out(graph), *second.carried_out(graph)]
    given = [name for each in nodes for name in each.output]
    assert len(given) == len(set(given))


def test_names_of_copies_are_no_others():
    """A name of a node may be in a graph once only, too, and one of a tensor may be like ours."""
    nodes = [
        constant("c", np.float32(2)),
        helper.make_node("Neg", ["c"], ["d: level 1"], "negative"),
        helper.make_node("Mul", ["x", "d: level 1"], ["a"]),
        node("GlobalMaxPool", "a", "b"),
        helper.make_node("Add", ["b", "d: level 1"], ["d"]),
        node("Mul", "d c", "y"),
    ]
    model = model_of(nodes, {"x": ("float32", (1, 2, 3))}, ["y"])
    segments = cut(model.graph, [3])
    copies = [each for s in segments for each in s.carried_out(model.graph)]
    assert len({name for each in copies for name in each.output}) == 7
    assert [each.name for each in copies].count("negative") == 1
    x = RNG.standard_normal((1, 2, 3)).astype(np.float32)
    outputs = run(model, {"x": x})
    assert outputs.agreement
    assert_equal_bits(outputs[0], runtime(model, {"x": x})[0])


@pytest.mark.parametrize("compare", [True, False])
def test_layers_and_outputs_read_them_too(compare):
    x = RNG.standard_normal((2, 3, 5)).astype(np.float32)
    outputs = run(shared(), {"x": x}, compare=compare)
    assert outputs.nodes[0].layer is not None
    assert outputs.agreement is (True if compare else None)
    for actual, expected in zip(outputs, runtime(shared(), {"x": x}), strict=True):
        assert_equal_bits(actual, expected)


def test_a_subgraph_reads_them():
    kind = helper.make_tensor_value_info("", TensorProto.FLOAT, None)
    branches = {}
    for name, operator in (("then_branch", "Add"), ("else_branch", "Sub")):
        kind.name = name
        inner = [node(operator, "b factor", name)]
        branches[name] = helper.make_graph(inner, name, [], [kind])
    nodes = [
        constant("two", np.array([2], np.float32)),
        node("Exp", "two", "factor"),
        constant("true", np.array(True)),
        node("Mul", "x factor", "a"),
        node("MaxPool", "a", "b", name="layer", kernel_shape=[2]),
        node("If", "true", "y", **branches),
    ]
    x = RNG.standard_normal((2, 3, 5)).astype(np.float32)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3, 4])
    model = model_of(nodes, {"x": ("float32", x.shape)}, [y])
    outputs = run(model, {"x": x})
    assert outputs.nodes[0].layer is not None
    assert outputs.agreement
    assert_equal_bits(outputs[0], runtime(model, {"x": x})[0])


def test_a_layer_is_no_constant():
    nodes = [
        constant("c", np.array([[3, 5]], np.float32)),
        node("GlobalMaxPool", "c", "a"),
        node("Neg", "a", "b"),
        node("Add", "x b", "y"),
    ]
    first, second = cut(model_of(nodes, {"x": ("float32", (1, 2))}, ["y"]).graph, [1])
    assert (first.outputs, first.layers) == (("c",), (1,))
    assert (second.inputs, second.nodes) == (("a", "x"), (2, 3))


def drawn_at_random(name):
    return node("RandomUniform", "", name, shape=[1, 1, 4])


def drawn_in_a_branch(name):
    """Return a node of If whose branch that is taken draws."""
    kind = helper.make_tensor_value_info("drawn", TensorProto.FLOAT, [1, 1, 4])
    graph = helper.make_graph([drawn_at_random("drawn")], "branch", [], [kind])
    return node("If", "true", name, then_branch=graph, else_branch=graph)


def drawn_in_a_function(name):
    """Return a call of a function that is left to ONNX Runtime, since it has another opset."""
    return node("Draw", "", name, domain=OWN)


@pytest.mark.parametrize("draw", [drawn_at_random, drawn_in_a_branch, drawn_in_a_function])
def test_what_is_drawn_at_random_is_drawn_once(draw):
    """ONNX Runtime draws by the place that a node has in its session."""
    nodes = [
        constant("true", np.array(True)),
        node("Neg", "x", "less"),
        node("Neg", "less", "z"),
        draw("r"),
        node("MaxPool", "z", "a", name="layer", kernel_shape=[1]),
        node("Add", "a r", "y"),
    ]
    r = helper.make_tensor_value_info("r", TensorProto.FLOAT, [1, 1, 4])
    opset = [helper.make_opsetid("", 17)]
    function = helper.make_function(OWN, "Draw", [], ["r"], [drawn_at_random("r")], opset)
    model = model_of(nodes, {"x": ("float32", (1, 1, 4))}, [r, "y"], functions=[function])
    outputs = run(model, {"x": np.zeros((1, 1, 4), np.float32)}, compare=False)
    assert outputs.nodes[0].layer is not None
    assert len(set(outputs["r"].ravel())) > 1
    assert_equal_bits(outputs["r"], outputs["y"])
