"""Behind a DequantizeLinear the core compares codes of 8 bits, and all bits stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from equal_bits import assert_equal_bits
from onnx import TensorProto, helper, numpy_helper
from onnx_models import model_of
from quantised_models import LAYERS, SIZES, check, codes, layer, model, node, types_of

from extremum.onnx import load, run
from extremum.onnx.quantised import Codes
from extremum.onnx.reference import Reference


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("coded", ["int8", "uint8"])
@pytest.mark.parametrize("real", ["float32", "float16"])
def test_the_core_compares_codes(name, coded, real):
    x = codes(coded)
    zero = np.array(3, coded)
    opset = 18 if real == "float32" else 19
    check(model([layer(name)], x, np.array(0.0123, real), zero, opset=opset), x, coded)


@pytest.mark.parametrize(
    ("scale", "zero"),
    [
        (np.float32(0), np.int8(0)),
        (np.float32(-0.1), np.int8(0)),
        (np.float32(np.inf), np.int8(0)),
        (np.float32(np.nan), np.int8(0)),
        (np.float32(1e-39), np.int8(0)),
        (np.float32(3e38), np.int8(0)),
        (np.float32(1.5e36), np.int8(0)),  # 255 times this is too much for float32
        (np.float32(0.1), np.int32(0)),
        (np.float32(0.1), np.zeros(3, np.int8)),
        (np.array([0.1, 0.1, -0.1], np.float32), np.zeros(3, np.int8)),
        (np.full((1, 3), 0.1, np.float32), np.zeros((1, 3), np.int8)),
        (np.full(3, 0.1, np.float32), np.int8(0)),
    ],
)
def test_other_scales_stay(scale, zero):
    """Behind them codes may be in another order, or different ones become the same number."""
    tested = model([layer("pool")], codes(zero.dtype.name), scale, zero)
    (found,) = load(tested).candidates
    assert found.codes is None
    assert types_of([found]) == ["float32"]


def test_without_a_zero_point():
    x = codes("uint8")
    check(model([layer("positions")], x, np.float32(0.5)), x, "uint8")


def test_signed_codes_without_a_zero_point(monkeypatch):
    """ONNX Runtime, uncut, makes unsigned ones of them behind a pooling: none is below 0.

    The network that is rounded at its cuts is compared, and not its parts one by one.
    """
    monkeypatch.setattr(Reference, "part_by_part", pytest.fail)
    x = codes()
    outputs = run(model([layer("positions")], x, np.float32(0.5)), {"q": x})
    assert outputs.agreement
    assert outputs.rounding is not None
    pooled = run(model_of([layer("positions", "q")], {"q": ("int8", SIZES)}, ["y"]), {"q": x})
    assert_equal_bits(outputs["y"], pooled["y"] * np.float32(0.5))


def test_a_scale_that_is_computed_or_given_stays():
    x = codes()
    tested = model([layer("pool")], x, np.float32(0.5))
    tested.graph.initializer[0].name = "half"
    tested.graph.node.insert(0, node("Neg", "half", "scale"))
    assert load(tested).candidates[0].codes is None
    tested = model([layer("pool")], x, np.float32(0.5))
    scale = helper.make_tensor_value_info("scale", TensorProto.FLOAT, [])
    tested.graph.input.append(scale)
    assert load(tested).candidates[0].codes is not None
    assert load(tested, {"scale": ()}).candidates[0].codes is None
    outputs = run(tested, {"q": x, "scale": np.float32(-0.5)})
    assert outputs.agreement
    assert types_of(outputs.nodes) == ["float32"]


def test_a_scale_of_a_node():
    x = codes()
    tested = model([layer("pool")], x, np.float32(0.5))
    del tested.graph.initializer[:]
    tested.graph.node.insert(0, helper.make_node("Constant", [], ["scale"], value_float=0.5))
    check(tested, x, "int8")


@pytest.mark.parametrize(
    ("name", "axis", "data_type"),
    [
        ("pool", 1, "int8"),
        ("pool", 0, "int8"),
        ("positions", -3, "int8"),
        ("pool", 3, "float32"),
        ("pool", -1, "float32"),
        ("plane", 1, "int8"),
        ("first", 0, "int8"),
        ("first", 1, "float32"),
        ("last", 1, "int8"),
        ("last", -1, "float32"),
        ("largest", 1, "float32"),
        ("pool", None, "int8"),
        ("first", None, "float32"),
        ("default", 0, "float32"),
        ("default", 1, "int8"),
    ],
)
def test_scales_along_an_axis(name, axis, data_type):
    """That of DequantizeLinear is 1 if it is not told, and that of ArgMax is 0."""
    x = codes()
    generator = np.random.default_rng(3)
    places = SIZES[1 if axis is None else axis]
    scale = generator.uniform(0.01, 2, places).astype(np.float32)
    zero = generator.integers(-9, 9, places).astype(np.int8)
    told: dict[str, Any] = {} if axis is None else {"axis": axis}
    check(model([layer(name)], x, scale, zero, **told), x, data_type)


def test_a_single_scale_in_a_vector():
    x = codes(sizes=(2, 1, 7, 8))
    scale, zero = np.array([0.5], np.float32), np.array([-3], np.int8)
    check(model([layer("largest")], x, scale, zero), x, "int8")
    scalar = np.array(-7, np.int8)
    nodes = [node("DequantizeLinear", "q scale", "r"), layer("plane", "x")]
    inputs = {"q": ("int8", ()), "x": ("float32", SIZES)}
    tested = model_of(nodes, inputs, ["r", "y"], constants={"scale": scale})
    given = {"q": scalar, "x": codes().astype(np.float32)}
    assert types_of(run(tested, given).nodes) == ["float32"]


def test_scales_along_an_axis_behind_a_pooling():
    """Its result has them along the same axis."""
    layers = [layer("plane"), helper.make_node("ArgMax", ["y"], ["places"], axis=3)]
    scale = np.array([0.5, 2, 0.25], np.float32)
    x = codes()
    check(model(layers, x, scale, np.zeros(3, np.int8), axis=1), x, "int8")
    layers = [helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0, 2, 3]), layer("pool", "t")]
    check(model(layers, x, scale, np.zeros(3, np.int8), axis=1), x, "float32")
    layers = [layer("least"), layer("first", "y")]
    found = load(model(layers, x, scale, np.zeros(3, np.int8), axis=1)).candidates
    assert types_of(found) == ["float32", "float32"]


def test_two_roundings_are_not_passed():
    """ONNX Runtime makes one of them, of another scale."""
    x = codes()
    between = [
        node("QuantizeLinear", "r scale2 zero2", "s"),
        node("DequantizeLinear", "s scale2 zero2", "t"),
        layer("pool", "t"),
    ]
    tested = model(between, x, np.float32(0.05), np.int8(-5))
    for name, value in (("scale2", np.float32(0.07)), ("zero2", np.int8(3))):
        tested.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    (found,) = load(tested).candidates
    assert types_of([found]) == ["float32"]
    tested.graph.node[1].input[0] = "moved"
    tested.graph.node.insert(1, node("Identity", "r", "moved"))
    assert types_of(load(tested).candidates) == ["float32"]
    outputs = run(tested, {"q": x})
    assert outputs.agreement


def test_a_layer_that_is_left_gives_no_codes():
    """Where a window lies wholly in padding ONNX Runtime gives what is no element."""
    left = helper.make_node("MaxPool", ["r"], ["a"], kernel_shape=[1, 2], pads=[0, 4, 0, 4])
    tested = model([left, layer("pool", "a")], codes(), np.float32(0.05), np.int8(-5))
    first, second = load(tested).candidates
    assert first.reason
    assert types_of([second]) == ["float32"]


def test_positions_have_no_codes():
    places = helper.make_node("ArgMax", ["r"], ["places"], axis=1)
    tested = model([places, node("ReduceMax", "places", "y")], codes(), np.float32(0.05))
    first, second = load(tested).candidates
    assert types_of([first, second]) == ["int8", "int64"]


@pytest.mark.parametrize(
    ("attributes", "opset", "coded"),
    [({"output_dtype": TensorProto.FLOAT}, 23, "int8"), ({}, 21, "int16")],
)
def test_other_dequantizations_stay(attributes, opset, coded):
    zero = np.array(1, coded)
    tested = model([layer("pool")], codes(coded), np.float32(0.05), zero, opset=opset, **attributes)
    assert types_of(load(tested).candidates) == ["float32"]


def test_blocks_of_scales_stay():
    x = codes()
    scale = np.full((2, 3, 7, 4), 0.5, np.float32)
    blocked = model([layer("pool")], x, scale, opset=21, axis=3, block_size=2)
    assert load(blocked).candidates[0].codes is None


def test_codes_pass_through_what_only_moves_elements():
    layers = [
        helper.make_node("MaxPool", ["r"], ["a"], "a", kernel_shape=[2, 2]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[0, 2, 3, 1]),
        helper.make_node("MaxPool", ["b"], ["c"], "b", kernel_shape=[2, 2]),
        helper.make_node("Flatten", ["c"], ["d"]),
        helper.make_node("ReduceMin", ["d"], ["e"], "c", keepdims=0),
        helper.make_node("ArgMax", ["d"], ["places"], "d", axis=1),
        helper.make_node("Add", ["e", "scale"], ["y"]),
    ]
    x = codes()
    check(model(layers, x, np.float32(0.05), np.int8(-5)), x, "int8")


def test_what_computes_ends_them():
    layers = [node("Relu", "r", "a"), layer("pool", "a")]
    x = codes()
    tested = model(layers, x, np.float32(0.05), np.int8(-5))
    assert load(tested).candidates[0].codes is None
    for place in (0, 1):
        layers = [node("Identity", "r", "a"), layer("pool", "a")]
        other = model(layers, x, np.float32(0.05), np.int8(-5))
        assert load(other).candidates[0].codes is not None
        other.graph.node[place].domain = "com.others"
        other.opset_import.append(helper.make_opsetid("com.others", 1))
        assert load(other).candidates[0].codes is None


@pytest.mark.parametrize("scale", [0.05, [0.05, 1, 0.2]])
def test_the_node_of_onnx_runtime_itself(scale):
    x = codes("uint8")
    zero = np.full(np.shape(scale), 7, np.uint8)
    told: dict[str, Any] = {"axis": 1} if zero.ndim else {}
    tested = model([layer("positions")], x, np.array(scale, np.float32), zero, **told)
    tested.graph.node[0].domain = "com.microsoft"
    check(tested, x, "uint8")


@pytest.mark.parametrize(
    ("axis", "sizes", "has_codes"),
    [
        (0, (300,), True),
        (-1, (300,), True),
        (1, (2, 300), True),
        (-2, (300, 2), True),
        (0, (299,), False),
        (1, (300,), False),
        (2, (300,), False),
        (-2, (300,), False),
    ],
)
def test_scales_along_an_axis_need_as_many_places(axis, sizes, has_codes):
    scale = np.full(300, 0.5, np.float32)
    coding = Codes(scale, np.zeros(300, np.int8), axis)
    found = coding.of(np.full(sizes, 1.5, np.float32))
    assert (found is not None) == has_codes
    assert found is None or np.all(found == 3)
