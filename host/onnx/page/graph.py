"""The picture of a network: boxes for its nodes, and edges along the tensors between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onnx import GraphProto, ValueInfoProto

from extremum.onnx.network import Network
from extremum.onnx.page.grouping import Wires, groups, wires

__all__ = ["Box", "Edge", "Picture", "picture_of"]

NAMED = 4
"""Operators that are named of a part."""

MOST_TENSORS = 3
"""Tensors that leave a box one by one; more are drawn as one bundle."""

MOST_ENDS = 8
"""Inputs, or outputs, that are drawn one by one; more are drawn as one end."""

LINE = 28
"""Characters of a line in a box."""


@dataclass(frozen=True)
class Box:
    """A node, a part, or an end of the network.

    Parameters
    ----------
    kind
        ``core`` for a node on the core, ``left`` for one of ours by name that ONNX Runtime carries
        out, ``open`` for one of which the run decides, ``rest`` for other nodes, ``input`` and
        ``output`` for the ends of the network.
    title, lines
        What stands in it.
    told
        What a reader is told who points at it.
    number
        Its row in the table; None without one.
    differs
        Whether its result is another one than that of ONNX Runtime.
    tensors
        What leaves it: a label for each tensor, or one for a bundle of them.
    """

    kind: str
    title: str
    lines: tuple[str, ...] = ()
    told: str = ""
    number: int | None = None
    differs: bool = False
    tensors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edge:
    """A tensor from one box to another.

    Parameters
    ----------
    source, target
        Places of the boxes.
    tensor
        Which of the source's tensors it is.
    """

    source: int
    target: int
    tensor: int


@dataclass(frozen=True)
class Picture:
    """Boxes and edges without a cycle.

    Parameters
    ----------
    boxes, edges
        What is drawn.
    is_whole
        Whether each node has a box of its own.
    """

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    is_whole: bool


def picture_of(network: Network, rows: Sequence[Any]) -> Picture:
    """Return the picture of a network.

    Parameters
    ----------
    network
        The network.
    rows
        What became, or would become, of each of its candidates, in their order.
    """
    graph = network.graph
    numbered = enumerate(zip(network.candidates, rows, strict=True), 1)
    row_of = {c.index: (number, row) for number, (c, row) in numbered if c.index is not None}
    found = wires(graph, network.input_names, row_of)
    members: dict[int, list[int]] = {}
    for index, group in enumerate(groups(found, row_of)):
        members.setdefault(group, []).append(index)
    inner = [
        _candidate_box(*row_of[indices[0]])
        if indices[0] in row_of
        else _part_box(graph, indices, found.fixed)
        for indices in members.values()
    ]
    place = {index: at for at, indices in enumerate(members.values()) for index in indices}
    inputs, outputs = _ends("input", network.input_names), _ends("output", network.output_names)
    boxes = [*inner, *(box for box, _ in inputs), *(box for box, _ in outputs)]
    sources = {name: place[index] for name, index in found.maker.items()}
    sources |= _places(inputs, len(inner))
    is_whole = len(inner) == len(graph.node)
    readers = [
        *_readers(found, row_of, place, is_whole=is_whole),
        *_places(outputs, len(inner) + len(inputs)).items(),
    ]
    crossing: dict[int, dict[str, dict[int, None]]] = {}
    for name, target in readers:
        if name in sources and sources[name] != target:
            crossing.setdefault(sources[name], {}).setdefault(name, {})[target] = None
    sizes = _sizes_of(graph) | {
        graph.node[index].input[0]: row.sizes
        for index, (_, row) in row_of.items()
        if row.sizes is not None
    }
    edges = []
    for source, tensors in crossing.items():
        labels, leaving = _leaving(source, tensors, sizes)
        boxes[source] = replace(boxes[source], tensors=labels)
        edges += leaving
    return Picture(tuple(boxes), tuple(edges), is_whole)


def _readers(
    found: Wires, candidates: Collection[int], place: Mapping[int, int], *, is_whole: bool
) -> Iterator[tuple[str, int]]:
    """Give each tensor with the place of a box that reads it.

    Where nodes share boxes, a constant is drawn on its way to a candidate alone. The node that
    makes it counts to the box that reads it first, and nothing else leads from there to the others.
    """
    for index, names in enumerate(found.needs):
        for name in names:
            if is_whole or index in candidates or found.maker.get(name) not in found.fixed:
                yield name, place[index]


def _leaving(
    source: int, tensors: dict[str, dict[int, None]], sizes: dict[str, tuple[int | str, ...]]
) -> tuple[tuple[str, ...], list[Edge]]:
    """Return the labels of what leaves a box, and its edges."""
    if len(tensors) > MOST_TENSORS:
        every = dict.fromkeys(target for targets in tensors.values() for target in targets)
        return (f"{len(tensors)} tensors",), [Edge(source, target, 0) for target in every]
    labels = tuple("x".join(map(str, sizes[name])) if name in sizes else "" for name in tensors)
    return labels, [
        Edge(source, target, at) for at, name in enumerate(tensors) for target in tensors[name]
    ]


def _candidate_box(number: int, row: Any) -> Box:
    if row.jobs is not None:
        kind, where = "core", "taken for the core"
    elif row.reason and row.where == "onnxruntime":
        kind, where = "left", f"in ONNX Runtime: {row.reason}"
    else:
        kind, where = "open", f"not decided: {row.reason}"
    lines = [_short(row.name), _short(row.input_text)]
    if kind == "left":
        lines[1] = "in ONNX Runtime"
    told = f"{row.operator} {row.name}, {row.input_text}, {where}"
    return Box(kind, row.operator, tuple(lines), told, number, row.difference is not None)


def _part_box(graph: GraphProto, indices: Sequence[int], fixed: Collection[int]) -> Box:
    """Return the box of nodes in ONNX Runtime; it names those first that make no constants."""
    if len(indices) == 1:
        node = graph.node[indices[0]]
        lines = (_short(node.name),) if node.name else ()
        return Box("rest", _short(node.op_type), lines, f"{node.op_type} {node.name}".strip())
    counts = Counter(graph.node[index].op_type for index in indices if index not in fixed)
    frequent = counts.most_common(NAMED)
    others = counts.total() - sum(count for _, count in frequent)
    constants = len(indices) - counts.total()
    listed = [f"{count} {_short(name)}" for name, count in frequent]
    listed += [f"{others} others"] * (others > 0)
    listed += [f"{constants} for constants"] * (constants > 0)
    lines = [""]
    for place, name in enumerate(listed):
        part = name if place == len(listed) - 1 else f"{name},"
        if lines[-1] and len(f"{lines[-1]} {part}") > LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {part}".strip()
    every = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    told = f"{len(indices)} nodes: {every}" + (f", {constants} for constants" if constants else "")
    return Box("rest", f"{len(indices)} nodes", tuple(lines), told)


def _ends(kind: str, names: Sequence[str]) -> list[tuple[Box, Sequence[str]]]:
    """Return the ends of the network with the names that each stands for."""
    if len(names) > MOST_ENDS:
        return [(Box(kind, f"{len(names)} {kind}s", told=", ".join(names)), names)]
    return [(Box(kind, _short(name), told=f"{kind} {name}"), [name]) for name in names]


def _places(ends: Sequence[tuple[Box, Sequence[str]]], first: int) -> dict[str, int]:
    """Return the place of the end that each name stands for, counted from the first end's."""
    return {name: first + at for at, (_, names) in enumerate(ends) for name in names}


def _short(text: str) -> str:
    """Return a text that fits into a box: without its middle, if it is long."""
    return text if len(text) <= LINE else f"{text[: LINE // 2 - 2]}…{text[1 - LINE // 2 :]}"


def _sizes_of(graph: GraphProto) -> dict[str, tuple[int | str, ...]]:
    """Return the sizes of the tensors of which they are known; open ones by their names."""
    values = [*graph.value_info, *graph.output, *graph.input]
    return {value.name: _dims(value) for value in values if _has_shape(value)}


def _has_shape(value: ValueInfoProto) -> bool:
    return value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape")


def _dims(value: ValueInfoProto) -> tuple[int | str, ...]:
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
        for dim in value.type.tensor_type.shape.dim
    ) or ("scalar",)
