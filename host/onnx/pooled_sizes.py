"""Sizes of the tensors of a model, with those of poolings as ONNX Runtime has them.

Three things are not as in a run where ONNX infers sizes:

- Before opset 22, a last window that `ceil_mode` lets begin in the end padding is counted, which
  ONNX Runtime leaves out.
- `pads` are counted beside `auto_pad`, and ONNX Runtime ignores them.
- Where `auto_pad` is SAME, there is one window for each stride. ONNX Runtime pads as if there were
  no dilation, so dilated windows are fewer; the sizes behind such a pooling stay open here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import onnx
import onnx.shape_inference
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorShapeProto,
    ValueInfoProto,
    helper,
)

from extremum.model import Pooling
from extremum.model.onnx import lifted_sizes, max_pool_arguments
from extremum.onnx.graphs import inner_nodes, is_standard, sizes_of, subgraphs
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
        Whether ONNX infers others of some tensors, or may do so when it is told more: behind a
        pooling whose input has sizes that are not known, or that stands in a subgraph.
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
    _forget_pads(model.graph)
    _forget_inferable(model)
    told: dict[int, list[ValueInfoProto]] = {}
    while True:
        inferred = onnx.shape_inference.infer_shapes(_told(model, told), data_prop=True)
        graph = inferred.graph
        infos = {v.name: v for v in (*graph.input, *graph.value_info, *graph.output)}
        # What lies behind a wrong size is inferred anew, so the first one comes first.
        for index, node in enumerate(graph.node):
            sizes = _pooled(node, infos)
            if _is_open(node):
                sizes = None
            elif sizes is None:
                continue
            if sizes != sizes_of(infos.get(node.output[0])):
                named = [infos[name] for name in node.output if name in infos]
                told[index] = [_sized(info, sizes) for info in named]
                break
        else:
            break
    for index in told:
        graph.node[index].CopyFrom(model.graph.node[index])
    del inferred.opset_import[len(model.opset_import) :]
    unknown = [node for node in graph.node if _sizes_of_input(node, infos) is None]
    inner = [each for node in graph.node for each in inner_nodes(node)]
    return Inferred(inferred, bool(told) or any(map(_is_special, (*unknown, *inner))))


def _forget_pads(graph: GraphProto) -> None:
    """Take out the pads of poolings that ONNX Runtime ignores, since `auto_pad` stands beside them.

    It refuses pads that are no smaller than the window even there, so they stay.
    """
    for node in graph.node:
        for inner in subgraphs(node):
            _forget_pads(inner)
        if not is_standard(node) or node.op_type not in POOLINGS or not _is_automatic(node):
            continue
        given = {attribute.name: attribute for attribute in node.attribute}
        window, pads = (list(given[n].ints) if n in given else [] for n in ("kernel_shape", "pads"))
        if len(pads) == 2 * len(window) and all(map(int.__lt__, pads, 2 * window)):
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
    known = {value.name for value in values if value.type.tensor_type.HasField("shape")}
    for value, shape in stated:
        if value.name not in known:
            value.type.tensor_type.shape.CopyFrom(shape)


def _told(model: ModelProto, told: dict[int, list[ValueInfoProto]]) -> ModelProto:
    """Return the model in which ONNX is told the sizes of some nodes' results."""
    if not told:
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.opset_import.append(helper.make_opsetid(OPAQUE, 1))
    # What the model says of later tensors was inferred from the same wrong sizes.
    for value in (*copy.graph.value_info, *copy.graph.output):
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for index, infos in told.items():
        copy.graph.node[index].domain = OPAQUE
        for info in infos:
            declared = (*copy.graph.output, *copy.graph.value_info)
            known = next((value for value in declared if value.name == info.name), None)
            (copy.graph.value_info.add() if known is None else known).CopyFrom(info)
    return copy


def _sized(info: ValueInfoProto, sizes: Sequence[int] | None) -> ValueInfoProto:
    """Return what is known of a tensor, with other sizes; None leaves them open."""
    return helper.make_tensor_value_info(info.name, info.type.tensor_type.elem_type, sizes)


def _pooled(node: NodeProto, infos: dict[str, ValueInfoProto]) -> tuple[int, ...] | None:
    """Return the sizes that a pooling gives; None of another node, or if they are not known."""
    sizes = _sizes_of_input(node, infos)
    if not _is_special(node) or sizes is None or len(sizes) not in (3, 4, 5) or 0 in sizes:
        return None
    try:
        given = {name: v for name, v in attributes_of(node).items() if name in GEOMETRY}
        problem = Pooling.of(lifted_sizes(sizes), "int8", **max_pool_arguments(sizes, **given))
    except (TypeError, ValueError):
        return None
    pooled = problem.output_sizes
    return (*pooled[:2], *pooled[3:]) if len(sizes) == 3 else pooled


def _sizes_of_input(node: NodeProto, infos: dict[str, ValueInfoProto]) -> tuple[int, ...] | None:
    return sizes_of(infos.get(node.input[0])) if node.input else None


def _is_special(node: NodeProto) -> bool:
    """Tell whether a node is a pooling of which ONNX may infer other sizes than it gives."""
    if not is_standard(node) or node.op_type not in POOLINGS:
        return False
    rounds_up = any(a.name == "ceil_mode" and a.i != 0 for a in node.attribute)
    return rounds_up or _is_open(node)


def _is_open(node: NodeProto) -> bool:
    """Tell whether a node is a pooling of dilated windows whose padding `auto_pad` chooses."""
    is_pooling = is_standard(node) and node.op_type in POOLINGS
    dilations = next((a.ints for a in node.attribute if a.name == "dilations"), [])
    is_dilated = any(dilation != 1 for dilation in dilations)
    return is_pooling and is_dilated and _is_automatic(node, b"SAME")


def _is_automatic(node: NodeProto, kind: bytes = b"") -> bool:
    """Tell whether `auto_pad` chooses the padding of a node, and begins with some letters."""
    chosen = next((a.s for a in node.attribute if a.name == "auto_pad"), b"NOTSET")
    return chosen not in (b"", b"NOTSET") and chosen.startswith(kind)
