"""The backend test vectors of ONNX, which the onnx wheel has stored up to version 1.22."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
"""Published networks, whose weights are made by a few nodes and so take no space."""


class Vector(NamedTuple):
    """One stored case: the attributes of a node, its inputs and its expected outputs."""

    name: str
    attributes: dict[str, Any]
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]


def vectors(operator: str) -> list[Vector]:
    """Read the cases of an operator by its name there: "argmax", "maxpool" or "reduce_min"."""
    folder = Path(onnx.__file__).parent / "backend/test/data/node"
    cases = []
    for case in sorted(folder.glob(f"test_{operator}_*")) + sorted(folder.glob(f"test_{operator}")):
        model = onnx.load(case / "model.onnx")
        (node,) = model.graph.node
        attributes = {}
        for attribute in node.attribute:
            value = helper.get_attribute_value(attribute)
            attributes[attribute.name] = value.decode() if isinstance(value, bytes) else value
        data = case / "test_data_set_0"
        inputs, outputs = _tensors(data, "input"), _tensors(data, "output")
        cases.append(Vector(case.name, attributes, inputs, outputs))
    return cases


def _tensors(folder: Path, kind: str) -> list[np.ndarray]:
    paths = sorted(folder.glob(f"{kind}_*.pb"))
    return [numpy_helper.to_array(onnx.TensorProto.FromString(p.read_bytes())) for p in paths]
