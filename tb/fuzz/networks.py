"""ONNX models whose bytes have changed."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import strategies as st

from extremum.tb.fuzz.command_line import damaged, reader
from extremum.tb.fuzz.target import Target


@cache
def _model() -> bytes:
    """Return a model with a pooling, reductions, weights, a function and a subgraph."""
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415 (needs the extra onnx)

    def tensor(name: str, sizes: tuple[int, ...], kind: int = TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, sizes)

    def branch(name: str):
        node = helper.make_node("Identity", ["r"], [name])
        return helper.make_graph([node], name, [], [tensor(name, (1, 2))])

    nodes = [
        helper.make_node(
            "MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2], pads=[1, 1, 0, 0], strides=[2, 1]
        ),
        helper.make_node("ArgMax", ["y"], ["a"], axis=1, select_last_index=1),
        helper.make_node("Most", ["y", "axes"], ["r"], domain="own"),
        helper.make_node("If", ["c"], ["o"], then_branch=branch("t"), else_branch=branch("e")),
    ]
    opset = helper.make_opsetid("", 18)
    function = helper.make_function(
        "own", "Most", ["v", "along"], ["m"],
        [helper.make_node("ReduceMax", ["v", "along"], ["m"], keepdims=0)], [opset],
    )  # fmt: skip
    graph = helper.make_graph(
        nodes, "graph", [tensor("x", (1, 2, 5, 5))],
        [tensor("a", (1, 1, 3, 5), TensorProto.INT64), tensor("o", (1, 2))],
        [
            numpy_helper.from_array(np.array([2, 3]), "axes"),
            numpy_helper.from_array(np.array(True), "c"),
        ],
    )  # fmt: skip
    model = helper.make_model(
        graph, opset_imports=[opset, helper.make_opsetid("own", 1)], functions=[function],
        ir_version=8,
    )  # fmt: skip
    return model.SerializeToString()


def models() -> st.SearchStrategy[bytes]:
    """Return files of models: a whole one, damaged ones, and any bytes."""
    whole = st.just(_model())
    return st.one_of(whole, damaged(whole), damaged(whole), st.binary(max_size=60))


TARGETS = (
    Target(
        "ONNX models",
        "an ONNX model of any content is planned, or refused in one line with status 2",
        models,
        reader("onnx", "fuzzed", "--plan"),
        is_raw=True,
    ),
)
