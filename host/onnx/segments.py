"""A network cut at nodes: segments for ONNX Runtime between layers of ours.

A node has a *depth*: the number of layers on the longest way to it. The nodes of ONNX Runtime of
one depth are a segment, and run in one go; the layers of that depth follow. A segment takes what it
needs from before, and gives what is needed later, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from onnx import AttributeProto, GraphProto, NodeProto

__all__ = ["Segment", "cut", "needed"]


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
    """

    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    layers: tuple[int, ...]


def cut(graph: GraphProto, ours: Collection[int]) -> tuple[Segment, ...]:
    """Cut a graph at the nodes of these places.

    Returns
    -------
    tuple of Segment
        In the order in which they run. Each node of the graph is in one of them.
    """
    needs = [tuple(dict.fromkeys(needed(node))) for node in graph.node]
    depth_of: dict[str, int] = {}
    depths = []
    for index, node in enumerate(graph.node):
        depth = max((depth_of.get(name, 0) for name in needs[index]), default=0)
        depths.append(depth)
        for name in node.output:
            depth_of[name] = depth + (index in ours)
    constant = {tensor.name for tensor in graph.initializer}
    constant |= {tensor.values.name for tensor in graph.sparse_initializer}
    wanted = {value.name for value in graph.output}
    segments = []
    for depth in range(max(depths, default=0) + 1):
        here = [index for index, at in enumerate(depths) if at == depth]
        nodes = tuple(index for index in here if index not in ours)
        inside, chosen = set[str](), set(nodes)
        for index in nodes:
            inside |= {name for name in graph.node[index].output if name}
        inputs = dict.fromkeys(
            name for i in nodes for name in needs[i] if name not in inside | constant
        )
        later = wanted | {name for i, need in enumerate(needs) if i not in chosen for name in need}
        outputs = dict.fromkeys(
            name for i in nodes for name in graph.node[i].output if name in later
        )
        layers = tuple(index for index in here if index in ours)
        segments.append(Segment(nodes, tuple(inputs), tuple(outputs), layers))
    return tuple(segments)


def needed(node: NodeProto) -> Iterator[str]:
    """Give the names that a node reads, its subgraphs included."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from _free(attribute.g)
        for graph in attribute.graphs:
            yield from _free(graph)


def _free(graph: GraphProto) -> Iterator[str]:
    """Give the names that a subgraph reads and does not define."""
    own = {value.name for value in graph.input}
    own |= {tensor.name for tensor in graph.initializer}
    own |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        yield from (name for name in needed(node) if name not in own)
        own |= set(node.output)
    yield from (value.name for value in graph.output if value.name not in own)
