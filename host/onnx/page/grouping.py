"""Which nodes of a network share a box in its picture.

In a network of few nodes each has a box of its own. In a larger one the nodes of ONNX Runtime are
drawn together if they are connected and lie between the same candidates: if the same candidates
come before them, and the same come after them. So branches that run beside a candidate, or beside
each other between two candidates, remain apart, and the boxes have no cycle: along an edge between
two boxes the candidates before can only become more, and those after only fewer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from onnx import GraphProto

from extremum.onnx.graphs import reads

__all__ = ["FEW", "Wires", "groups", "wires"]

FEW = 60
"""Up to so many nodes, each has a box of its own."""


@dataclass(frozen=True)
class Wires:
    """The tensors between the nodes of a graph.

    Parameters
    ----------
    needs
        Names that each node reads.
    maker
        The place of the node that makes a tensor, by the tensor's name.
    fixed
        Places of the nodes that need neither an input nor a candidate: they make constants.
    """

    needs: tuple[tuple[str, ...], ...]
    maker: dict[str, int]
    fixed: frozenset[int]


def wires(graph: GraphProto, inputs: Collection[str], candidates: Collection[int]) -> Wires:
    """Return the tensors between the nodes.

    Parameters
    ----------
    graph
        A graph in topological order.
    inputs
        Names of its inputs.
    candidates
        Places of the nodes whose operators are ours by name.
    """
    needs = tuple(tuple(dict.fromkeys(reads(node))) for node in graph.node)
    maker = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    moving = set(inputs)
    fixed = []
    for index, node in enumerate(graph.node):
        if index in candidates or any(name in moving for name in needs[index]):
            moving |= set(node.output)
        else:
            fixed.append(index)
    return Wires(needs, maker, frozenset(fixed))


def groups(found: Wires, candidates: Collection[int]) -> list[int]:
    """Return for each node the number of its box.

    Nodes that make constants are in the box of the first node that reads them, unless a candidate
    does: then they have one of their own.
    """
    count = len(found.needs)
    if count <= FEW:
        return list(range(count))
    before, after = _candidates_around(found, candidates)
    alone = {*candidates, *found.fixed}
    parent = list(range(count))
    readers: list[list[int]] = [[] for _ in range(count)]
    for index, names in enumerate(found.needs):
        for source in (found.maker[name] for name in names if name in found.maker):
            readers[source].append(index)
            same = (before[source], after[source]) == (before[index], after[index])
            if same and source not in alone and index not in alone:
                parent[_root(parent, index)] = _root(parent, source)
    for index in sorted(found.fixed, reverse=True):
        if readers[index] and not any(reader in candidates for reader in readers[index]):
            parent[index] = _root(parent, readers[index][0])
    return [_root(parent, index) for index in range(count)]


def _candidates_around(
    found: Wires, candidates: Collection[int]
) -> tuple[Sequence[int], Sequence[int]]:
    """Return for each node the sets of candidates before it and after it, a bit for each."""
    bits = {index: 1 << place for place, index in enumerate(sorted(candidates))}
    edges = [
        (found.maker[name], index)
        for index, names in enumerate(found.needs)
        for name in names
        if name in found.maker
    ]
    before, after = [0] * len(found.needs), [0] * len(found.needs)
    for source, target in edges:
        before[target] |= before[source] | bits.get(source, 0)
    for source, target in reversed(edges):
        after[source] |= after[target] | bits.get(target, 0)
    return before, after


def _root(parent: list[int], index: int) -> int:
    """Return the representative of a node's box, and shorten the way to it."""
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index
