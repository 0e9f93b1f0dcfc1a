"""A network cut at nodes: segments for ONNX Runtime between layers of ours.

A node has a *level*: the number of layers on the longest way to it. The nodes of ONNX Runtime of
one level are a segment, and run in one go; the layers of that level follow. A segment takes what it
needs from before, and gives what is needed later, so that nothing is computed twice.

Constants are the exception, that is nodes that depend on no input of the network, such as a
DequantizeLinear of weights: each segment that reads them has copies of its own. What a segment
takes from before may change from run to run for ONNX Runtime, which therefore would not fold it, or
fuse a quantised convolution with its weights, as it does in the whole network.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from onnx import GraphProto, NodeProto

from extremum.onnx.graphs import inner_nodes, is_standard, reads, renamed, subgraphs

__all__ = ["Segment", "cut"]

RANDOM = frozenset(
    (
        "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
        "RandomUniformLike",
    )
)  # fmt: skip
"""Operators of which a copy gives something else."""

QUANTISING = ("QuantizeLinear", "DequantizeLinear")
"""Operators of ONNX Runtime's own domain that older quantised networks have for weights."""


@dataclass(frozen=True)
class Segment:
    """Nodes that run in one go, and the layers behind them.

    Parameters
    ----------
    nodes
        Places of the nodes in the graph, in its order, which ONNX Runtime carries out.
    inputs, outputs
        Names of the tensors that they take from before, and that others need of them.
    layers
        Places of the nodes that follow, which are ours.
    last_read
        Names of the tensors that nothing behind this segment and its layers reads.
    copies
        Other names for what constants give, by those in the graph: another segment may have the
        same constants.
    """

    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    layers: tuple[int, ...]
    last_read: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)

    def carried_out(self, graph: GraphProto) -> list[NodeProto]:
        """Return the nodes that ONNX Runtime carries out, with the names of the copies."""
        nodes = [graph.node[index] for index in self.nodes]
        if not self.copies:
            return nodes
        made = [renamed(node, self.copies, results=True) for node in nodes]
        for node in made:
            if any(name in self.copies.values() for name in node.output):
                node.name = ""  # which a graph may have only once
        return made


def cut(graph: GraphProto, ours: Collection[int]) -> tuple[Segment, ...]:
    """Cut a graph at the nodes of these places.

    Returns
    -------
    tuple of Segment
        In the order in which they run. Each node of the graph is in one of them; a constant is in
        each that reads it, and in the first one if a layer or an output of the network needs it.
    """
    needs = [tuple(dict.fromkeys(reads(node))) for node in graph.node]
    levels = _levels(graph, needs, ours)
    constants = _constants(graph, needs, ours)
    weights = {tensor.name for tensor in graph.initializer}
    weights |= {tensor.values.name for tensor in graph.sparse_initializer}
    wanted = {value.name for value in graph.output}
    last = _last_levels(graph, needs, levels, constants.keys(), ours)
    mark = _unused(graph)

    of_runtime = sorted(set(range(len(levels))) - set(ours) - set(constants.values()))
    readers: dict[str, set[int]] = {}
    for index in of_runtime:
        for name in needs[index]:
            readers.setdefault(name, set()).add(levels[index])
    asked = wanted | {name for index in ours for name in needs[index]}
    unread = constants.keys() - {name for need in needs for name in need}

    segments = []
    for level in range(max(levels, default=0) + 1):
        own = [index for index in of_runtime if levels[index] == level]
        read = {name for index in own for name in needs[index]}
        copied = _behind(read if level else read | asked | unread, needs, constants)
        here = sorted((*own, *copied))
        inside = weights | {name for index in here for name in graph.node[index].output}
        inputs = dict.fromkeys(name for i in here for name in needs[i] if name not in inside)
        outputs = dict.fromkeys(
            name
            for index in (own if level else here)
            for name in graph.node[index].output
            if name in asked or (name not in constants and readers.get(name, set()) - {level})
        )
        copies = {
            name: f"{name}{mark}{level}"
            for index in (copied if level else ())
            for name in graph.node[index].output
            if name
        }
        layers = tuple(index for index in sorted(ours) if levels[index] == level)
        ended = tuple(name for name, at in last.items() if at == level and name not in wanted)
        segments.append(Segment(tuple(here), tuple(inputs), tuple(outputs), layers, ended, copies))
    return tuple(segments)


def _levels(graph: GraphProto, needs: Sequence[Sequence[str]], ours: Collection[int]) -> list[int]:
    """Return the number of layers on the longest way to each node."""
    level_of: dict[str, int] = {}
    levels = []
    for index, node in enumerate(graph.node):
        level = max((level_of.get(name, 0) for name in needs[index]), default=0)
        levels.append(level)
        for name in node.output:
            level_of[name] = level + (index in ours)
    return levels


def _constants(
    graph: GraphProto, needs: Sequence[Sequence[str]], ours: Collection[int]
) -> dict[str, int]:
    """Return the places of the nodes that depend on no input, by the names that they give."""
    known = {tensor.name for tensor in graph.initializer}
    known |= {tensor.values.name for tensor in graph.sparse_initializer}
    places = dict[str, int]()
    for index, node in enumerate(graph.node):
        if _is_alike(node) and index not in ours and known.issuperset(needs[index]):
            places |= dict.fromkeys(filter(None, node.output), index)
            known |= set(node.output)
    return places


def _is_alike(node: NodeProto) -> bool:
    """Tell whether a copy of a node gives the same; with subgraphs it may draw at random within."""
    if node.domain == "com.microsoft":
        return node.op_type in QUANTISING
    return is_standard(node) and node.op_type not in RANDOM and not any(subgraphs(node))


def _unused(graph: GraphProto) -> str:
    """Return what stands in no name of a graph, and can so make others of them."""
    every = [each for node in graph.node for each in (node, *inner_nodes(node))]
    names = {name for each in every for name in (*each.input, *each.output)}
    mark = ": level "
    while any(mark in name for name in names):
        mark = f": {mark}"
    return mark


def _behind(
    names: Iterable[str], needs: Sequence[Sequence[str]], constants: Mapping[str, int]
) -> set[int]:
    """Return the places of the constants that give these names, and of those that they read."""
    found, waiting = set[int](), list(names)
    while waiting:
        index = constants.get(waiting.pop())
        if index is not None and index not in found:
            found.add(index)
            waiting += needs[index]
    return found


def _last_levels(
    graph: GraphProto,
    needs: Sequence[Sequence[str]],
    levels: Sequence[int],
    constants: Collection[str],
    ours: Collection[int],
) -> dict[str, int]:
    """Return the greatest level at which each tensor is made or read; constants are by layers."""
    last: dict[str, int] = {}
    for index, (node, need, level) in enumerate(zip(graph.node, needs, levels, strict=True)):
        for name in (*node.output, *(n for n in need if index in ours or n not in constants)):
            last[name] = max(last.get(name, 0), level)
    return last
