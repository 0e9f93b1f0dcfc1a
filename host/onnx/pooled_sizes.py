"""Sizes of the tensors of a model, with those of poolings as ONNX Runtime has them.

Three things are not as in a run where ONNX infers sizes:

- Before opset 22, a last window that `ceil_mode` lets begin in the end padding is counted, which
  ONNX Runtime leaves out.
- `pads` are counted beside `auto_pad`, and ONNX Runtime ignores them.
- Where `auto_pad` is SAME, there is one window for each stride. ONNX Runtime pads as if there were
  no dilation, so dilated windows are fewer; the sizes behind such a pooling stay open here.

Where such a pooling stands in a subgraph, or in a function that is left to ONNX Runtime, the sizes
behind the node around it stay open as well, and so they do where the pooling's input has open ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import onnx
import onnx.shape_inference
from onnx import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorShapeProto,
    ValueInfoProto,
    helper,
)

from extremum.model import Pooling
from extremum.model.onnx import lifted_sizes, max_pool_arguments
from extremum.onnx.graphs import (
    functions_of,
    is_standard,
    nodes_within,
    reads,
    sizes_of,
    subgraphs,
)
from extremum.onnx.layers import attributes_of

__all__ = ["with_sizes"]

POOLINGS = ("MaxPool", "AveragePool", "LpPool")
GEOMETRY = ("kernel_shape", "strides", "pads", "dilations", "auto_pad", "ceil_mode")
"""The attributes that decide on the sizes of a pooling."""

OPAQUE = "extremum.sizes"
"""Domain of nodes of which ONNX infers nothing, so that it keeps what it is told of them."""


class Inferred(NamedTuple):
    """A model with the sizes that can be inferred.

    Attributes
    ----------
    model : ModelProto
    may_be_wrong : bool
        Whether ONNX infers others of some tensors, or may do so when it is told more.
    """

    model: ModelProto
    may_be_wrong: bool


def with_sizes(model: ModelProto) -> Inferred:
    """Infer the sizes of a model's tensors.

    What the model says of the sizes of tensors behind nodes counts only where ONNX infers none: a
    model that was changed may still say what was so before. Pads that ONNX Runtime ignores are
    taken out of the model.

    Raises
    ------
    onnx.shape_inference.InferenceError
        Its nodes contradict each other.
    """
    for nodes in (model.graph, *model.functions):
        _forget_pads(nodes)
    _forget_inferable(model)
    doubtful = _doubtful(model)
    told: dict[int, list[ValueInfoProto]] = {}
    while True:
        inferred = onnx.shape_inference.infer_shapes(_told(model, told), data_prop=True)
        more = _to_tell(inferred.graph, [index for index in doubtful if index not in told])
        if not more:
            break
        told |= more
    for index in told:
        inferred.graph.node[index].CopyFrom(model.graph.node[index])
    del inferred.opset_import[len(model.opset_import) :]
    return Inferred(inferred, bool(told))


def _doubtful(model: ModelProto) -> list[int]:
    """Return the nodes of which ONNX may infer other sizes than they give."""
    functions = functions_of(model)
    return [
        index
        for index, node in enumerate(model.graph.node)
        if _is_special(node) or any(_is_special(each) for each, _ in nodes_within(node, functions))
    ]


def _to_tell(graph: GraphProto, doubtful: Sequence[int]) -> dict[int, list[ValueInfoProto]]:
    """Return what ONNX is to be told next of the results of some nodes.

    What lies behind a wrong size is inferred anew before it is looked at. Sizes that stay open are
    told all at once: none of what is inferred anew makes them known.
    """
    infos = {v.name: v for v in (*graph.input, *graph.value_info, *graph.output)}
    found: dict[int, list[ValueInfoProto]] = {}
    for index in doubtful:
        node = graph.node[index]
        sizes = _pooled(node, infos)
        named = [infos[name] for name in node.output if name in infos]
        if sizes is None:
            found[index] = [_open(info) for info in named]
        elif not found and sizes != sizes_of(infos.get(node.output[0])):
            return {index: [_sized(info, sizes) for info in named]}
    return found


def _forget_pads(graph: GraphProto | FunctionProto) -> None:
    """Take out the pads of poolings that ONNX Runtime ignores, since `auto_pad` stands beside them.

    It refuses pads that are no smaller than the window even there, so they stay.
    """
    for node in graph.node:
        for inner in subgraphs(node):
            _forget_pads(inner)
        if not _is_pooling(node) or not _automatic_padding(node):
            continue
        given = {attribute.name: attribute for attribute in node.attribute}
        window, pads = (list(given[n].ints) if n in given else [] for n in ("kernel_shape", "pads"))
        if pads and len(pads) == 2 * len(window) and all(map(int.__lt__, pads, 2 * window)):
            others = [attribute for attribute in node.attribute if attribute.name != "pads"]
            node.ClearField("attribute")
            node.attribute.extend(others)


def _forget_inferable(model: ModelProto) -> None:
    """Forget the sizes that a model states of tensors behind nodes, where ONNX infers some."""
    values = (*model.graph.value_info, *model.graph.output)
    stated = [(v, TensorShapeProto()) for v in values if v.type.tensor_type.HasField("shape")]
    if not stated:
        return
    for value, shape in stated:
        shape.CopyFrom(value.type.tensor_type.shape)
        value.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    values = (*inferred.value_info, *inferred.output)
    shapes = {
        v.name: v.type.tensor_type.shape for v in values if v.type.tensor_type.HasField("shape")
    }
    for value, shape in stated:
        if value.name not in shapes or _agrees(shape, shapes[value.name]):
            value.type.tensor_type.shape.CopyFrom(shape)


def _agrees(stated: TensorShapeProto, inferred: TensorShapeProto) -> bool:
    """Tell whether a stated shape has the rank and all the sizes that were inferred."""
    return len(stated.dim) == len(inferred.dim) and all(
        not known.HasField("dim_value") or known.dim_value == dim.dim_value
        for dim, known in zip(stated.dim, inferred.dim, strict=True)
    )


def _told(model: ModelProto, told: dict[int, list[ValueInfoProto]]) -> ModelProto:
    """Return the model in which ONNX is told the sizes of some nodes' results."""
    if not told:
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.opset_import.append(helper.make_opsetid(OPAQUE, 1))
    # What the model says of tensors behind them was inferred from the same wrong sizes.
    behind: set[str] = set()
    for index, node in enumerate(copy.graph.node):
        if index in told or not behind.isdisjoint(reads(node)):
            behind.update(node.output)
    for value in (*copy.graph.value_info, *copy.graph.output):
        if value.name in behind and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for index, infos in told.items():
        copy.graph.node[index].domain = OPAQUE
        for info in infos:
            declared = (*copy.graph.output, *copy.graph.value_info)
            known = next((value for value in declared if value.name == info.name), None)
            (copy.graph.value_info.add() if known is None else known).CopyFrom(info)
    return copy


def _sized(info: ValueInfoProto, sizes: Sequence[int]) -> ValueInfoProto:
    """Return what is known of a tensor, with other sizes."""
    return helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, sizes)


def _open(info: ValueInfoProto) -> ValueInfoProto:
    """Return what is known of a value, with sizes that are open."""
    copy = ValueInfoProto()
    copy.CopyFrom(info)
    kind = copy.type
    while (held := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
        kind = getattr(kind, held).elem_type
    if held == "tensor_type":
        kind.tensor_type.ClearField("shape")
    return copy


def _pooled(node: NodeProto, infos: dict[str, ValueInfoProto]) -> tuple[int, ...] | None:
    """Return the sizes that a pooling gives; None of another node, or if they are not known."""
    sizes = sizes_of(infos.get(node.input[0])) if _is_pooling(node) else None
    if sizes is None or len(sizes) not in (3, 4, 5) or 0 in sizes or _pads_undilated(node):
        return None
    try:
        given = {name: v for name, v in attributes_of(node).items() if name in GEOMETRY}
        problem = Pooling.of(lifted_sizes(sizes), "int8", **max_pool_arguments(sizes, **given))
    except (TypeError, ValueError):
        return None
    pooled = problem.output_sizes
    return (*pooled[:2], *pooled[3:]) if len(sizes) == 3 else pooled


def _is_pooling(node: NodeProto) -> bool:
    return is_standard(node) and node.op_type in POOLINGS


def _is_special(node: NodeProto) -> bool:
    """Tell whether a node is a pooling of which ONNX may infer other sizes than it gives.

    In a function attributes may be those of the call, and then they are not known here.
    """
    if not _is_pooling(node):
        return False
    rounds_up = any(a.name == "ceil_mode" and a.i != 0 for a in node.attribute)
    is_called = any(attribute.ref_attr_name for attribute in node.attribute)
    return rounds_up or is_called or _pads_undilated(node)


def _pads_undilated(node: NodeProto) -> bool:
    """Tell whether a pooling is dilated, and `auto_pad` pads it as if it were not."""
    dilations = next((a.ints for a in node.attribute if a.name == "dilations"), [])
    is_dilated = any(dilation != 1 for dilation in dilations)
    return is_dilated and _automatic_padding(node).startswith(b"SAME")


def _automatic_padding(node: NodeProto) -> bytes:
    """Return the kind of padding that `auto_pad` chooses; empty if `pads` count."""
    chosen = next((a.s for a in node.attribute if a.name == "auto_pad"), b"")
    return b"" if chosen == b"NOTSET" else chosen
