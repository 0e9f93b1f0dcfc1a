"""A network: an ONNX model that was checked, with the nodes that may be ours.

Functions that the model brings are put in the place of their calls, and sizes are inferred, from
those of given inputs where the model leaves sizes open. Weights that lie in files of their own stay
there, so that a model may be larger than two GiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.inliner
import onnx.shape_inference
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper
from onnx.external_data_helper import uses_external_data

from extremum.onnx.layers import Layer, NotTaken, is_candidate, layer_of

__all__ = ["Candidate", "Network", "NetworkError", "load"]


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
    """

    index: int | None
    name: str
    node: NodeProto
    sizes: tuple[int, ...] | None
    data_type: str | None
    layer: Layer | None
    reason: str = ""


@dataclass(frozen=True)
class Network:
    """A checked model.

    Parameters
    ----------
    model
        The model, without functions, with inferred sizes.
    folder
        Where its external data are; None if it has none, or came from memory.
    """

    model: ModelProto
    folder: Path | None = None

    @property
    def graph(self) -> GraphProto:
        """The graph of the model."""
        return self.model.graph

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that have to be given: those that are no initialisers."""
        constant = {tensor.name for tensor in self.graph.initializer}
        return tuple(value.name for value in self.graph.input if value.name not in constant)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in their order."""
        return tuple(value.name for value in self.graph.output)

    def input_type(self, name: str) -> tuple[tuple[int, ...] | None, str]:
        """Return the sizes of an input, None if some are open, and its element type by name."""
        value = next(value for value in self.graph.input if value.name == name)
        return _sizes(value), _data_type(value) or "unknown"

    @cached_property
    def constants(self) -> dict[str, np.ndarray]:
        """Small whole numbers that the graph holds as constants: axes, for one."""
        held = {
            t.name: numpy_helper.to_array(t)
            for t in self.graph.initializer
            if t.data_type == onnx.TensorProto.INT64 and not uses_external_data(t)
        }
        for node in self.graph.node:
            if node.op_type == "Constant" and not node.domain:
                for attribute in node.attribute:
                    if attribute.name == "value":
                        held[node.output[0]] = numpy_helper.to_array(attribute.t)
                    elif attribute.name in ("value_int", "value_ints"):
                        value = helper.get_attribute_value(attribute)
                        held[node.output[0]] = np.array(value, np.int64)
        return held

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All nodes whose operators are ours by name, in the order of the graph."""
        values = [*self.graph.input, *self.graph.value_info, *self.graph.output]
        known = {value.name: value for value in values}
        known |= {
            t.name: helper.make_tensor_value_info(t.name, t.data_type, t.dims)
            for t in self.graph.initializer
        }
        found = []
        for index, node in enumerate(self.graph.node):
            if is_candidate(node):
                found.append(self._candidate(index, node, known.get(node.input[0])))
            found += [
                Candidate(None, _name(inner), inner, None, None, None, "it is in a subgraph")
                for inner in _inner_nodes(node)
                if is_candidate(inner)
            ]
        return tuple(found)

    def _candidate(
        self, index: int, node: NodeProto, value: onnx.ValueInfoProto | None
    ) -> Candidate:
        sizes, data_type = _sizes(value), _data_type(value)
        known = (index, _name(node), node, sizes, data_type)
        if sizes is None or data_type is None:
            return Candidate(*known, None)
        axes: Sequence[int] | None = None
        listed = node.input[1] if len(node.input) > 1 else ""
        if listed in self.constants:
            axes = self.constants[listed].reshape(-1).tolist()
        elif listed:
            axes = (0,)  # in place of the axes, which are not known before the run
        try:
            layer = layer_of(node, sizes, data_type, axes)
        except NotTaken as why:
            return Candidate(*known, None, str(why))
        return Candidate(*known, None if listed and listed not in self.constants else layer)


def load(
    model: ModelProto | bytes | str | Path, sizes: Mapping[str, Sequence[int]] | None = None
) -> Network:
    """Read a model and check it.

    Parameters
    ----------
    model
        The model, its bytes, or its file.
    sizes
        Sizes of inputs, by their names, which take the place of those that the model leaves open.

    Raises
    ------
    NetworkError
        It is no model, or it breaks a rule of ONNX.
    OSError
        The file cannot be read.
    """
    folder: Path | None = None
    try:
        if isinstance(model, ModelProto):
            read = ModelProto()
            read.CopyFrom(model)
        elif isinstance(model, bytes):
            read = onnx.load_model_from_string(model)
        else:
            folder = Path(model).resolve().parent
            read = onnx.load(str(model), load_external_data=False)
    except DecodeError as error:
        raise NetworkError("it is no ONNX model") from error
    if not read.graph.node or not read.opset_import:
        raise NetworkError("it is no ONNX model: it has no node, or names no opset")
    try:
        onnx.checker.check_model(str(model) if folder else read)
        if read.functions:
            read = onnx.inliner.inline_local_functions(read)
        _set_sizes(read, sizes or {})
        read = onnx.shape_inference.infer_shapes(read, data_prop=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise NetworkError(f"it breaks a rule of ONNX: {str(error).strip()}") from error
    return Network(read, folder)


def _set_sizes(model: ModelProto, sizes: Mapping[str, Sequence[int]]) -> None:
    """Write the sizes of inputs into a model; forget what it says of the sizes that follow."""
    names = [value.name for value in model.graph.input]
    if foreign := [name for name in sizes if name not in names]:
        raise NetworkError(f"the network has no input {foreign[0]}: it has {', '.join(names)}")
    for value in model.graph.input:
        if value.name not in sizes:
            continue
        given = sizes[value.name]
        if not value.type.HasField("tensor_type"):
            raise NetworkError(f"the input {value.name} is no tensor")
        shape = value.type.tensor_type.shape
        if value.type.tensor_type.HasField("shape"):
            fits = len(shape.dim) == len(given) and all(
                not dim.HasField("dim_value") or dim.dim_value == size
                for dim, size in zip(shape.dim, given, strict=True)
            )
            if not fits:
                wanted = ", ".join(
                    str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?"
                    for d in shape.dim
                )
                raise NetworkError(
                    f"the input {value.name} must have the sizes ({wanted}), not {tuple(given)}"
                )
        changed = not all(dim.HasField("dim_value") for dim in shape.dim) or not shape.dim
        shape.ClearField("dim")
        for size in given:
            shape.dim.add().dim_value = size
        if changed:
            model.graph.ClearField("value_info")


def _inner_nodes(node: NodeProto) -> Iterator[NodeProto]:
    """Give the nodes of a node's subgraphs, at every depth."""
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
        for graph in graphs:
            for inner in graph.node:
                yield inner
                yield from _inner_nodes(inner)


def _name(node: NodeProto) -> str:
    return node.name or next((name for name in node.output if name), node.op_type)


def _sizes(value: onnx.ValueInfoProto | None) -> tuple[int, ...] | None:
    """Return the sizes of a tensor, or None if one of them is not known."""
    if value is None or not value.type.tensor_type.HasField("shape"):
        return None
    dims = value.type.tensor_type.shape.dim
    if not all(dim.HasField("dim_value") for dim in dims):
        return None
    return tuple(dim.dim_value for dim in dims)


def _data_type(value: onnx.ValueInfoProto | None) -> str | None:
    """Return the name of an element type, as NumPy has it where it has it."""
    if value is None or not value.type.tensor_type.elem_type:
        return None
    code = value.type.tensor_type.elem_type
    return helper.tensor_dtype_to_np_dtype(code).name
