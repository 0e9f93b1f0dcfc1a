"""A network: an ONNX model that was checked, with the nodes that may be ours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from extremum.onnx.external_data import load_external
from extremum.onnx.graphs import (
    functions_of,
    is_standard,
    name_of,
    nodes_within,
    opset_of,
    sizes_of,
    type_of,
)
from extremum.onnx.layers import (
    UNKNOWN,
    Axes,
    Layer,
    NotKnown,
    NotTaken,
    axes_of,
    is_candidate,
    layer_of,
)
from extremum.onnx.quantised import CodedTensors, Codes

__all__ = ["Candidate", "Network", "NetworkError"]

NUMBERS = {
    "value_int": np.int64, "value_ints": np.int64, "value_float": np.float32,
    "value_floats": np.float32,
}  # fmt: skip
"""Attributes of a node of Constant that hold numbers, and their types."""

WITHIN = {
    False: "it is in a subgraph",
    True: "it is in a function that is left to ONNX Runtime",
}
"""Why a node within another one is not taken, by whether it is in a function."""


class NetworkError(ValueError):
    """Says why a model cannot be run at all."""


@dataclass(frozen=True)
class Candidate:
    """A node whose operator is ours by its name, and what is known of it before a run.

    Parameters
    ----------
    index
        Its place among the nodes of the graph; None within a subgraph, which is not cut.
    name
        Its name, or that of its first output.
    node
        The node.
    sizes, data_type
        Those of its input; None where they are not known before the run.
    layer
        What it computes; None if it is not taken, or not known yet.
    reason
        Why it is not taken; empty if it is, or is not known yet.
    unknown
        What is not known before a run, and decides what it computes; empty if nothing is.
    codes
        How its input is coded in whole numbers, if the core may take these; None otherwise.
    """

    index: int | None
    name: str
    node: NodeProto
    sizes: tuple[int, ...] | None
    data_type: str | None
    layer: Layer | None
    reason: str = ""
    unknown: str = ""
    codes: Codes | None = None


@dataclass(frozen=True)
class Network:
    """A checked model.

    Parameters
    ----------
    model
        The model with inferred sizes. Functions are in the place of their calls, but for those of
        another opset than the model's, and those with attributes that have defaults: their nodes
        are left to ONNX Runtime.
    folder
        What the names of the files are relative to in which tensors lie; None if there are none.
    files
        The files in which tensors of the model lie: weights, and attributes of nodes, also those of
        subgraphs and functions.
    sized
        The inputs of which ONNX Runtime is told the sizes, as the model tells them. It is not told
        those that other tensors have in a run, since it might infer wrong ones from them. None if
        it may be told all.
    """

    model: ModelProto
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    sized: frozenset[str] | None = None

    @property
    def graph(self) -> GraphProto:
        """The graph of the model."""
        return self.model.graph

    @cached_property
    def opset(self) -> int:
        """The version of ONNX's own operators."""
        return opset_of(self.model)

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that have to be given: those that are no initialisers."""
        return tuple(v.name for v in self.graph.input if v.name not in self.default_names)

    @cached_property
    def default_names(self) -> frozenset[str]:
        """Names of the initialisers, which an input of the same name may override."""
        return frozenset(self._initialisers)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in their order; one may be there twice."""
        return tuple(value.name for value in self.graph.output)

    def input_type(self, name: str) -> tuple[tuple[int, ...] | None, str]:
        """Return the sizes of an input, None if some are open, and its element type by name."""
        value = next(value for value in self.graph.input if value.name == name)
        return sizes_of(value), type_of(value) or "unknown"

    def output_type(self, name: str) -> str | None:
        """Return the element type of an output by name, ``"sequence"`` or ``"map"``.

        It is None if the type is not known.
        """
        value = next(value for value in self.graph.output if value.name == name)
        if value.type.HasField("sequence_type") or value.type.HasField("map_type"):
            return "sequence" if value.type.HasField("sequence_type") else "map"
        return type_of(value)

    @cached_property
    def ours(self) -> dict[int, Candidate]:
        """The nodes at which the graph is cut, by their places: those that may be taken."""
        return {c.index: c for c in self.candidates if c.index is not None and not c.reason}

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All nodes whose operators are ours by name, in the order of the graph."""
        functions, found = functions_of(self.model), list[Candidate]()
        coded = CodedTensors(self.constant, self._values)
        for index, node in enumerate(self.graph.node):
            if is_candidate(node):
                found.append(self._candidate(index, node, coded.codes(node)))
                # A node that is not taken may give what is no element of its input.
                coded.pass_by(node, found[-1].layer and found[-1].layer.codes_of_result)
            else:
                coded.pass_by(node)
            found += [
                Candidate(None, name_of(inner), inner, None, None, None, WITHIN[in_function])
                for inner, in_function in nodes_within(node, functions)
                if is_candidate(inner)
            ]
        return tuple(found)

    def _candidate(self, index: int, node: NodeProto, codes: Codes | None) -> Candidate:
        value = self._values.get(node.input[0])
        sizes, data_type = sizes_of(value), type_of(value)
        known = (index, name_of(node), node, sizes, data_type)
        try:
            layer = layer_of(node, sizes, data_type, self._axes(node))
            layer = layer if codes is None else layer.of_codes(codes)
            return Candidate(*known, layer, codes=codes)
        except NotTaken as why:
            return Candidate(*known, None, str(why))
        except NotKnown as what:
            return Candidate(*known, None, unknown=str(what), codes=codes)

    @cached_property
    def _values(self) -> dict[str, onnx.ValueInfoProto]:
        """What is known of the types and sizes of tensors, by their names."""
        values = [*self.graph.input, *self.graph.value_info, *self.graph.output]
        made = (
            helper.make_tensor_value_info(t.name, t.data_type, t.dims)
            for t in self.graph.initializer
        )
        return {value.name: value for value in (*values, *made)}

    def _axes(self, node: NodeProto) -> Axes:
        """Return what the second input of a node says, so far as it is known before a run."""
        name = node.input[1] if len(node.input) > 1 else ""
        if not name:
            return None
        found = self.constant(name)
        return UNKNOWN if found is None or found.dtype != np.int64 else axes_of(found)

    def constant(self, name: str) -> NDArray[Any] | None:
        """Return what an initialiser, or a node of Constant, holds; None if it is not known."""
        if name in self._initialisers:
            return self._array(self._initialisers[name])
        if name in self._constants:
            return self._constant(self._constants[name])
        return None

    @cached_property
    def _initialisers(self) -> dict[str, onnx.TensorProto]:
        return {tensor.name: tensor for tensor in self.graph.initializer}

    @cached_property
    def _constants(self) -> dict[str, NodeProto]:
        nodes = (n for n in self.graph.node if n.op_type == "Constant" and is_standard(n))
        return {node.output[0]: node for node in nodes}

    def _constant(self, node: NodeProto) -> NDArray[Any] | None:
        """Return the numbers that a node of Constant gives; None if they are none."""
        for attribute in node.attribute:
            if attribute.name == "value":
                return self._array(attribute.t)
            if attribute.name in NUMBERS:
                return np.array(helper.get_attribute_value(attribute), NUMBERS[attribute.name])
        return None

    def _array(self, tensor: onnx.TensorProto) -> NDArray[Any] | None:
        """Return the elements of a constant; None if they cannot be read."""
        read = onnx.TensorProto()
        read.CopyFrom(tensor)
        try:
            load_external(read, self.folder or Path())
            return numpy_helper.to_array(read)
        except (ValueError, TypeError):
            return None
