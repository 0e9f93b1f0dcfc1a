"""Outputs of a whole network: a cut may round, and is told; a fault of any kind is found."""

import numpy as np
import onnxruntime
import pytest
from onnx_models import Wrong, model_of, node, runtime

from extremum.onnx import NetworkError, execution, run
from extremum.onnx import runtime as runtime_module
from extremum.onnx.differences import output_difference
from extremum.onnx.values import session

RNG = np.random.default_rng(6)
PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
OPTIMISED = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
HALF: np.ndarray = RNG.standard_normal((1, 2, 30, 30)).astype(np.float16)


def half(opset: int):
    """Return a network between whose float16 nodes ONNX Runtime keeps float32."""
    nodes = [
        node("Exp", "x", "a"),
        node("Tanh", "a", "b"),
        node("MaxPool", "b", "c", name="pool", kernel_shape=[2, 2]),
        node("Sigmoid", "c", "d"),
        node("Exp", "d", "y"),
    ]
    return model_of(nodes, {"x": ("float16", HALF.shape)}, ["y"], opset=opset), {"x": HALF}


def twins():
    """Return a network with two equal nodes, one of which is left out if it is not cut."""
    nodes = [
        node("Exp", "x", "a"),
        node("Transpose", "a", "b", perm=[0, 1, 3, 2]),
        node("Transpose", "a", "c", perm=[0, 1, 3, 2]),
        node("Mul", "b w", "d"),
        node("Sigmoid", "d", "y"),
        node("ReduceMax", "c", "e", name="largest", axes=[2]),
        node("Sub", "c e", "z"),
    ]
    constants = {"w": np.array(0.37, np.float16)}
    inputs = {"x": ("float16", HALF.shape)}
    return model_of(nodes, inputs, ["y", "z"], opset=13, constants=constants), {"x": HALF}


def product():
    """Return a network in which ONNX Runtime fuses a product with the sum behind a layer."""
    nodes = [
        node("MatMul", "a w", "m"),
        node("ReduceMax", "b", "r", name="largest", axes=[0]),
        node("Add", "m r", "y"),
        node("MatMul", "a v", "n"),
        node("Add", "n bias", "z"),
    ]
    given = {"a": RNG.standard_normal((8, 1500)), "b": RNG.standard_normal((8, 64))}
    w = RNG.standard_normal((1500, 64)).astype(np.float32)
    constants = {"w": w, "v": -w, "bias": RNG.standard_normal(64).astype(np.float32)}
    inputs = {name: ("float32", x.shape) for name, x in given.items()}
    model = model_of(nodes, inputs, ["y", "z"], constants=constants, opset=13)
    return model, {name: x.astype(np.float32) for name, x in given.items()}


def test_equal_nodes_on_both_sides_of_a_cut():
    outputs = run(*twins())
    assert outputs.nodes[0].layer is not None
    assert outputs.agreement


@pytest.mark.parametrize("network", [half(13), half(10), half(7), product()])
def test_what_only_the_cut_rounds_is_no_difference(network):
    model, inputs = network
    outputs = run(model, inputs)
    assert outputs.nodes[0].layer is not None
    assert (outputs.difference, outputs.differences, outputs.agreement) == (None, (), True)
    uncut = output_difference("y", runtime(model, inputs)[0], outputs["y"])
    assert uncut is not None
    assert outputs.rounding is not None
    assert outputs.rounding.count


def test_a_wrong_layer_is_found_where_a_cut_rounds():
    model, inputs = half(13)
    with Wrong(("float16",), backend="model") as accelerator:
        outputs = run(model, inputs, accelerator=accelerator)
    assert outputs.differences
    assert outputs.difference is not None
    assert (outputs.rounding, outputs.agreement) == (None, False)


def test_a_tensor_that_reaches_the_wrong_part_is_found(monkeypatch):
    """Layers that agree do not hide a fault of the cut: here two tensors change places."""
    nodes = [
        node("Relu", "x", "a"),
        node("Neg", "x", "b"),
        node("MaxPool", "a", "c", name="first", kernel_shape=[2]),
        node("MaxPool", "b", "d", name="second", kernel_shape=[2]),
        node("Sub", "c d", "y"),
    ]
    model = model_of(nodes, {"x": ("float32", (1, 2, 5))}, ["y"])
    store = execution._Execution._store

    def exchange(self, values):
        names = dict(zip(values, reversed(values), strict=True)) if "a" in values else {}
        store(self, {names.get(name, name): value for name, value in values.items()})

    monkeypatch.setattr(execution._Execution, "_store", exchange)
    outputs = run(model, {"x": RNG.standard_normal((1, 2, 5)).astype(np.float32)})
    assert not outputs.differences
    assert outputs.difference is not None


def unoptimisable(monkeypatch, fails, levels=(OPTIMISED,)):
    """Let ONNX Runtime refuse some models at some levels of optimisation."""

    def session_of(model, options):
        if options.graph_optimization_level in levels and fails(model):
            raise RuntimeError("the optimisation fails")
        return session(model, options)

    monkeypatch.setattr(runtime_module, "session", session_of)


def of_branches(model):
    return any(n.op_type == "If" for n in model.graph.node)


def test_parts_that_onnx_runtime_cannot_optimise():
    """Release 1.32 refuses a Transpose behind codes of int8: its optimisation makes wrong nodes."""
    nodes = [
        node("DequantizeLinear", "q scale", "r"),
        node("Transpose", "r", "t", perm=[1, 0, 2]),
        node("ArgMax", "t", "y", axis=-1),
    ]
    x = RNG.integers(-128, 128, (4, 3, 5)).astype(np.int8)
    constants = {"scale": np.array(0.1, np.float32)}
    outputs = run(
        model_of(nodes, {"q": ("int8", x.shape)}, ["y", "t"], constants=constants, opset=21),
        {"q": x},
    )
    assert outputs["y"][..., 0].tolist() == x.transpose(1, 0, 2).argmax(-1).tolist()
    assert (outputs.rounding, outputs.agreement) == (None, True)


@pytest.mark.parametrize("levels", [(OPTIMISED,), (OPTIMISED, PLAIN)])
def test_branches_that_cannot_be_optimised_or_not_run(monkeypatch, levels):
    """A product and a sum round once in the parts, and twice in the branches, which stay apart."""
    model, inputs = product()
    unoptimisable(monkeypatch, of_branches, levels)
    outputs = run(model, inputs)
    assert outputs.nodes[0].compared
    assert (outputs.difference, outputs.differences) == (None, ())
    assert outputs.rounding is not None
    assert outputs.agreement
    with Wrong(("float32",), backend="model") as accelerator:
        outputs = run(model, inputs, accelerator=accelerator)
    assert outputs.differences
    assert outputs.difference is not None
    assert (outputs.difference.count, outputs.difference.elements) == (8, 512)  # a column


def test_what_fails_without_optimisation_too_is_told(monkeypatch):
    unoptimisable(monkeypatch, lambda model: True)
    nodes = [node("ArgMax", "x", "z", name="best", axis=1), node("Relu", "x", "y")]
    model = model_of(nodes, {"x": ("int16", (1, 4))}, ["y", "z"])
    with pytest.raises(NetworkError, match=r"implementation for Max\(13\)"):
        run(model, {"x": np.zeros((1, 4), np.int16)})


def test_a_layer_that_onnx_runtime_has_no_kernel_for():
    x = np.array([[1, 5, 5, 2]], np.int16)
    model = model_of(
        [node("ArgMax", "x", "y", name="best", axis=1)], {"x": ("int16", (1, 4))}, ["y"]
    )
    outputs = run(model, {"x": x})
    assert outputs["y"].tolist() == [[1]]
    assert outputs.nodes[0].layer is not None
    assert outputs.nodes[0].note == "not compared: ONNX Runtime has no such kernel"
    assert (outputs.compared, outputs.nodes[0].compared, outputs.agreement) == (False, False, None)
    other = [node("ArgMax", "x", "z", name="best", axis=1), node("Relu", "x", "y")]
    with pytest.raises(NetworkError, match=r"implementation for Max\(13\)"):
        run(model_of(other, {"x": ("int16", (1, 4))}, ["y", "z"]), {"x": x})


@pytest.mark.parametrize(("compare", "agreement"), [(True, True), (False, None)])
def test_agreement(compare, agreement):
    alone = model_of([node("Relu", "x", "y")], {"x": ("float32", (3,))}, ["y"])
    layer = model_of([node("ReduceMax", "x", "y")], {"x": ("float32", (3,))}, ["y"])
    for model in (alone, layer):
        outputs = run(model, {"x": np.arange(3, dtype=np.float32)}, compare=compare)
        assert outputs.agreement is agreement
        assert outputs.compared is compare


def test_a_layer_of_weights_alone_is_no_constant_for_what_follows():
    """ONNX Runtime would fold the parts behind it before it fuses them, and a part fuses them."""
    nodes = [
        node("MaxPool", "w", "a", kernel_shape=[1]),
        node("Div", "a root", "b"),
        node("Erf", "b", "c"),
        node("Add", "c one", "d"),
        node("Mul", "a d", "e"),
        node("Mul", "e half", "y"),
        node("Neg", "x", "z"),
    ]
    constants = {"root": 2**0.5, "one": 1.0, "half": 0.5}
    arrays = {name: np.array(value, np.float32) for name, value in constants.items()}
    arrays["w"] = RNG.standard_normal((1, 1, 999)).astype(np.float32)
    inputs = {"x": ("float32", (1,))}
    model = model_of(nodes, inputs, ["y", "z"], constants=arrays)
    outputs = run(model, {"x": np.ones(1, np.float32)})
    assert outputs.nodes[0].layer is not None
    assert outputs.rounding is not None
    assert outputs.agreement
