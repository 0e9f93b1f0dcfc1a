"""What a graph of ONNX holds: subgraphs, the names that nodes read, and types of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper

__all__ = [
    "FunctionKey",
    "function_key",
    "functions_of",
    "inner_nodes",
    "is_standard",
    "name_of",
    "nodes_within",
    "opset_of",
    "outputs_of",
    "rank_of",
    "reads",
    "renamed",
    "sizes_of",
    "subgraphs",
    "type_of",
]


FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a function."""

STANDARD = ("", "ai.onnx")
"""Names of the domain of ONNX's own operators."""


def is_standard(named: NodeProto | FunctionProto) -> bool:
    """Return whether a node, or a function, is of the domain of ONNX's own operators."""
    return named.domain in STANDARD


def function_key(named: NodeProto | FunctionProto) -> FunctionKey:
    """Return what a call has in common with its function."""
    name = named.name if isinstance(named, FunctionProto) else named.op_type
    return named.domain, name, named.overload


def opset_of(model: ModelProto) -> int:
    """Return the version of ONNX's own operators; 0 of a model that has none of them.

    Of several the last one counts, as it does for ONNX's checker and ONNX Runtime.
    """
    return next((o.version for o in reversed(model.opset_import) if o.domain in STANDARD), 0)


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """Give the subgraphs of a node of If, Loop or Scan, not those within them."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def inner_nodes(node: NodeProto) -> Iterator[NodeProto]:
    """Give the nodes of a node's subgraphs, at every depth."""
    for graph in subgraphs(node):
        for inner in graph.node:
            yield inner
            yield from inner_nodes(inner)


def functions_of(model: ModelProto) -> dict[FunctionKey, FunctionProto]:
    """Return the functions of a model, by what their calls have in common with them."""
    return {function_key(function): function for function in model.functions}


def nodes_within(
    node: NodeProto, functions: Mapping[FunctionKey, FunctionProto]
) -> Iterator[tuple[NodeProto, bool]]:
    """Give the nodes that a node carries out, at every depth, and whether in a function.

    They are those of its subgraphs, and of the functions that it, or one of these, calls.
    """
    inner = list(inner_nodes(node))
    yield from ((each, False) for each in inner)
    for each in (node, *inner):
        called = functions.get(function_key(each))
        for body in () if called is None else called.node:
            yield body, True
            yield from ((deep, True) for deep, _ in nodes_within(body, functions))


def reads(node: NodeProto) -> Iterator[str]:
    """Give the names that a node reads, in its subgraphs too."""
    yield from (name for name in node.input if name)
    for graph in subgraphs(node):
        yield from _free(graph)


def _free(graph: GraphProto) -> Iterator[str]:
    """Give the names that a subgraph reads and does not define."""
    own = {value.name for value in graph.input}
    own |= {tensor.name for tensor in graph.initializer}
    own |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        yield from (name for name in reads(node) if name not in own)
        own |= set(node.output)
    yield from (value.name for value in graph.output if value.name not in own)


def outputs_of(node: NodeProto) -> tuple[str, ...]:
    """Return the names of the outputs that a node gives."""
    return tuple(name for name in node.output if name)


def renamed(node: NodeProto, names: Mapping[str, str], *, results: bool = False) -> NodeProto:
    """Return a node that reads tensors by other names, in its subgraphs too.

    Parameters
    ----------
    names
        The other names, by those that the node has.
    results
        Whether what the node itself gives has other names too.
    """
    copy = NodeProto()
    copy.CopyFrom(node)
    for place, name in enumerate(node.input):
        copy.input[place] = names.get(name, name)
    if results:
        for place, name in enumerate(node.output):
            copy.output[place] = names.get(name, name)
    for graph in subgraphs(copy):
        inner = [renamed(each, names) for each in graph.node]
        del graph.node[:]
        graph.node.extend(inner)
    return copy


def name_of(node: NodeProto) -> str:
    """Return the name of a node, or that of its first output."""
    return node.name or next((name for name in node.output if name), node.op_type)


def sizes_of(value: onnx.ValueInfoProto | None) -> tuple[int, ...] | None:
    """Return the sizes of a tensor, or None if one of them is not known."""
    if value is None or not value.type.tensor_type.HasField("shape"):
        return None
    dims = value.type.tensor_type.shape.dim
    if not all(dim.HasField("dim_value") for dim in dims):
        return None
    return tuple(dim.dim_value for dim in dims)


def rank_of(value: onnx.ValueInfoProto | None) -> int | None:
    """Return the number of dimensions of a tensor, or None if it is not known."""
    if value is None or not value.type.tensor_type.HasField("shape"):
        return None
    return len(value.type.tensor_type.shape.dim)


def type_of(value: onnx.ValueInfoProto | None) -> str | None:
    """Return the name of an element type, as NumPy has it where it has it; None if not known."""
    if value is None or not value.type.tensor_type.elem_type:
        return None
    code = value.type.tensor_type.elem_type
    return (
        "string" if code == onnx.TensorProto.STRING else helper.tensor_dtype_to_np_dtype(code).name
    )
