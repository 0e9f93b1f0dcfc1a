"""Small quantised ONNX models, and what the core takes of them, for tests."""

from __future__ import annotations

import numpy as np
from equal_bits import assert_equal_bits
from onnx_models import model_of, node, runtime

from extremum.onnx import load, run

SIZES = (2, 3, 7, 8)
LAYERS = {
    "pool": ("MaxPool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}, "y"),
    "positions": ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 1]}, "y places"),
    "plane": ("GlobalMaxPool", {}, "y"),
    "largest": ("ReduceMax", {"keepdims": 0}, "y"),
    "least": ("ReduceMin", {}, "y"),
    "first": ("ArgMax", {"axis": 1}, "places"),
    "default": ("ArgMax", {}, "places"),
    "last": ("ArgMin", {"axis": -1, "select_last_index": 1, "keepdims": 0}, "places"),
}


def codes(data_type="int8", sizes=SIZES, seed=1):
    """Return codes with ties, and with both ends of the type."""
    limits = np.iinfo(data_type)
    x = np.random.default_rng(seed).integers(-3, 4, sizes)
    x[x == -3], x[x == 3] = limits.min, limits.max
    return x.astype(data_type)


def model(layers, x, scale, zero=None, *, opset=18, given="r", **attributes):
    """Return layers that read r, which is made of the input q; y and places are outputs."""
    nodes = [node("DequantizeLinear", "q scale" + " zero" * (zero is not None), "r", **attributes)]
    nodes += layers
    outputs = [name for each in layers for name in each.output if name in ("y", "places", given)]
    constants = {"scale": np.asarray(scale)}
    if zero is not None:
        constants["zero"] = np.asarray(zero)
    inputs = {"q": (x.dtype.name, x.shape)}
    return model_of(nodes, inputs, outputs, constants=constants, opset=opset)


def layer(name, inputs="r"):
    operator, attributes, outputs = LAYERS[name]
    return node(operator, inputs, outputs, name=name, **attributes)


def types_of(nodes):
    """Return the types of the elements that the core takes."""
    return [None if each.layer is None else each.layer.problem.data_type.value for each in nodes]


def check(tested, x, data_type):
    """Check that the layers take elements of this type, and all outputs are ONNX Runtime's."""
    outputs = run(tested, {"q": x})
    assert outputs.agreement
    assert outputs.rounding is None
    for got, expected in zip(outputs, runtime(tested, {"q": x}), strict=True):
        assert_equal_bits(got, expected)
    assert types_of(outputs.nodes) == [data_type] * len(outputs.nodes)
    assert types_of(load(tested).candidates) == types_of(outputs.nodes)
