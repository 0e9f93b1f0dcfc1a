"""A network cut at nodes: segments for ONNX Runtime between layers of ours.

A node has a *level*: the number of layers on the longest way to it. The nodes of ONNX Runtime of
one level are a segment, and run in one go; the layers of that level follow. A segment takes what it
needs from before, and gives what is needed later, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from onnx import GraphProto

from extremum.onnx.graphs import reads

__all__ = ["Segment", "cut"]


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
    """

    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    layers: tuple[int, ...]
    last_read: tuple[str, ...] = ()


def cut(graph: GraphProto, ours: Collection[int]) -> tuple[Segment, ...]:
    """Cut a graph at the nodes of these places.

    Returns
    -------
    tuple of Segment
        In the order in which they run. Each node of the graph is in one of them.
    """
    needs = [tuple(dict.fromkeys(reads(node))) for node in graph.node]
    levels = _levels(graph, needs, ours)
    constant = {tensor.name for tensor in graph.initializer}
    constant |= {tensor.values.name for tensor in graph.sparse_initializer}
    wanted = {value.name for value in graph.output}
    last = _last_levels(graph, needs, levels)
    segments = []
    for level in range(max(levels, default=0) + 1):
        here = [index for index, at in enumerate(levels) if at == level]
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
        ended = tuple(name for name, at in last.items() if at == level and name not in wanted)
        segments.append(Segment(nodes, tuple(inputs), tuple(outputs), layers, ended))
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


def _last_levels(
    graph: GraphProto, needs: Sequence[Sequence[str]], levels: Sequence[int]
) -> dict[str, int]:
    """Return the greatest level at which each tensor is made or read."""
    last: dict[str, int] = {}
    for node, need, level in zip(graph.node, needs, levels, strict=True):
        for name in (*node.output, *need):
            last[name] = max(last.get(name, 0), level)
    return last
