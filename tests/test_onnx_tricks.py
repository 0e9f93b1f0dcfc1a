"""The table of `docs/onnx.md` about models that try to fool it: what becomes of each."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from equal_bits import assert_equal_bits
from onnx import TensorProto, helper
from onnx_models import model_of, one_node, runtime

from extremum.onnx import NetworkError, run

DOCUMENT = Path(__file__).parents[1] / "docs" / "onnx.md"
HEADER = "| the model has | what becomes of it |"

NEWEST = 26
"""The newest opset that ONNX Runtime takes as released."""

X: np.ndarray = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4) % 7
NAN = np.where(X == 3, np.float32(np.nan), X)


def pooled(x=X, opset=18, outputs=2, **attributes):
    attributes = {"kernel_shape": [2, 2]} | attributes
    return one_node("MaxPool", x, outputs=outputs, opset=opset, **attributes), x


def reduced(operator, x, **options):
    return one_node(operator, x, **options), x


def batches():
    """Return a pooling whose batch is open."""
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])
    return model_of([node], {"x": ("float32", ("N", 1, 4, 4))}, ["y"]), np.concatenate([X, X, X])


def narrow():
    node = helper.make_node("ReduceMax", ["x"], ["y"], "node")
    value = helper.make_tensor_value_info("x", TensorProto.BFLOAT16, [4])
    y = helper.make_tensor_value_info("y", TensorProto.BFLOAT16, [1])
    graph = helper.make_graph([node], "narrow", [value], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return model, [1.0, 2.0, 3.0, 0.5]


def branch():
    y = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])]
    inner = helper.make_node("ReduceMax", ["x"], ["y"], keepdims=0)
    flag = onnx.numpy_helper.from_array(np.array(True), "flag")
    graphs = [helper.make_graph([inner], name, [], y) for name in ("then", "else")]
    choice = helper.make_node("If", ["flag"], ["z"], then_branch=graphs[0], else_branch=graphs[1])
    constant = helper.make_node("Constant", [], ["flag"], value=flag)
    return model_of([constant, choice], {"x": ("float32", X.shape)}, ["z"]), X


TRICKS = {
    "a dilation with ceil_mode": pooled(strides=[2, 2], dilations=[2, 2], ceil_mode=1),
    "a dilation with auto_pad SAME": pooled(dilations=[2, 1], auto_pad="SAME_UPPER"),
    "storage_order 1 with padding": pooled(pads=[1, 0, 0, 1], storage_order=1),
    "int8 with asymmetric padding": pooled(X.astype(np.int8) - 100, pads=[1, 0, 0, 1]),
    "windows of padding alone": pooled(X[..., :1, :1], dilations=[2, 2], pads=[1, 1, 1, 1]),
    "a window larger than its padded input": pooled(kernel_shape=[5, 5]),
    "the same with ceil_mode, less than a stride larger": pooled(
        kernel_shape=[5, 5], strides=[2, 2], ceil_mode=1
    ),
    "NaN in the input of MaxPool": pooled(NAN),
    "NaN in the input of ArgMax": reduced("ArgMax", NAN),
    "-inf in a pooling without positions": pooled(np.where(X == 3, -np.inf, X), outputs=1),
    "zeros of both signs, where the value is wanted": reduced(
        "ReduceMin", np.array([0.0, -0.0, 1], np.float32)
    ),
    "float64": pooled(X.astype(np.float64)),
    "bfloat16": narrow(),
    "int16, for which ONNX Runtime has no kernel": reduced("ArgMax", X.astype(np.int16)),
    "empty axes": reduced("ReduceMax", X, axes=[]),
    "empty axes with noop_with_empty_axes": reduced(
        "ReduceMax", X, axes=[], noop_with_empty_axes=1
    ),
    "no element": reduced("ReduceMax", X[:0]),
    "a dynamic batch": batches(),
    "a node in a branch of If": branch(),
    "an input of another type": (pooled()[0], X.astype(np.float64)),
}


def becomes(model, x) -> str:
    """Run a model; return what the table says of it, and check the bits."""
    try:
        outputs = run(model, [x])
    except NetworkError as error:
        return f"refused: {error}"
    node = outputs.nodes[0]
    if node.note:
        return f"taken; {node.note}"
    assert outputs.agreement
    assert outputs.rounding is None
    for actual, expected in zip(outputs, runtime(model, {"x": x}), strict=True):
        assert_equal_bits(actual, expected)
    return "taken, the same bits" if node.layer else f"left to ONNX Runtime: {node.reason}"


def rows() -> list[str]:
    """Return the rows of the table."""
    told = {name: becomes(*trick) for name, trick in TRICKS.items()}
    each = {
        becomes(*made)
        for opset in range(1, NEWEST + 1)
        for made in (
            pooled(opset=opset, outputs=1),
            reduced("ArgMax", X, opset=opset, axis=2),
            reduced("ReduceMin", X, opset=opset),
            reduced("GlobalMaxPool", X, opset=opset),
        )
    }
    told[f"any opset from 1 to {NEWEST}"] = "; ".join(sorted(each))
    return [f"| {name} | {text} |" for name, text in told.items()]


@pytest.mark.filterwarnings("ignore:elementwise comparison")
def test_the_table_of_the_document():
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    start = lines.index(HEADER) + 2
    assert lines[start : lines.index("", start)] == rows()
