"""Small ONNX models for the tests of `extremum.onnx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import FunctionProto, ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

from extremum.host import Accelerator

IR_VERSIONS = {1: 3, 8: 3, 10: 5, 11: 6, 12: 7, 13: 7, 18: 8, 20: 9, 21: 10, 22: 10}
"""A version of the format that each opset of the tests goes with."""

OWN = "own"
"""The domain of functions that a model brings."""


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """Return a node; the names of its inputs and outputs are separated by spaces."""
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def model_of(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, tuple[str, Sequence[int | str | None]]],
    outputs: Sequence[str | ValueInfoProto],
    *,
    constants: Mapping[str, np.ndarray] | None = None,
    functions: Sequence[FunctionProto] = (),
    opset: int = 18,
) -> ModelProto:
    """Return a model.

    Its inputs are given by type and sizes. Its outputs are given by name, or by type where ONNX
    cannot tell it from the nodes.
    """
    graph = helper.make_graph(
        list(nodes),
        "network",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(t)), sizes)
            for name, (t, sizes) in inputs.items()
        ],
        [ValueInfoProto(name=y) if isinstance(y, str) else y for y in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [
        helper.make_opsetid(*pair)
        for pair in {"": opset, OWN: 1, "ai.onnx.ml": 1, "com.microsoft": 1}.items()
    ]
    model = helper.make_model(
        graph,
        opset_imports=opsets,
        ir_version=IR_VERSIONS.get(opset, 8),
        functions=list(functions),
    )
    return infer_shapes(model)


def one_node(
    operator: str,
    x: np.ndarray,
    *,
    outputs: int = 1,
    opset: int = 18,
    axes: Sequence[int] | None = None,
    axes_attribute: Sequence[int] | None = None,
    **attributes: Any,
) -> ModelProto:
    """Return a model of one node with the input x; axes are a constant second input.

    Before opset 18 they are an attribute.
    """
    if axes_attribute is not None:
        attributes["axes"] = axes_attribute
    constants = {} if axes is None else {"axes": np.array(axes, np.int64)}
    names = ["y", "indices"][:outputs]
    node = helper.make_node(operator, ["x", *constants], names, "node", **attributes)
    inputs = {"x": (x.dtype.name, x.shape)}
    return model_of([node], inputs, names, constants=constants, opset=opset)


def runtime(model: ModelProto, inputs: Mapping[str, np.ndarray]) -> list[Any]:
    """Return the outputs of ONNX Runtime."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, dict(inputs)))


class Wrong(Accelerator):
    """An accelerator whose last element is wrong."""

    def run(self, problem: Any, x: Any) -> Any:
        """Compute an operator, and spoil the last element of its result."""
        result = np.array(super().run(problem, x))
        result.reshape(-1)[-1] += 1
        return result
