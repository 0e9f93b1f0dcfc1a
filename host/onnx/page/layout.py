"""Where the boxes and edges of a picture are drawn: in layers, from the inputs down.

The method is Sugiyama's: each box has a layer below those of all boxes that it reads from; an edge
across several layers gets a point in each of them; the order in a layer follows the mean place of
the neighbours, in sweeps down and up, and so do the horizontal places, as far as the widths of the
boxes allow.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from extremum.onnx.page.graph import Box, Edge, Picture

__all__ = ["Drawing", "Label", "Placed", "draw"]

TEXT, SMALL = 12, 11
"""Sizes of the text in a box, and of that beside an edge, in pixels."""

LINE_HEIGHT = 16
PADDING = 10
BADGE = 24
"""Width of the number of a row."""

BETWEEN_LAYERS = 44
"""Pixels between two layers, of which a label takes `STUB`."""

STUB = 16

BETWEEN = 18
"""Pixels between the boxes of a layer."""

SWEEPS = 12

MARGIN = 8

STRAIGHT, ASIDE = 4.0, 0.02
"""Weights of the points of long edges, so that these are straight, and of boxes that nothing leads
to, which stand beside the way from the inputs."""


@dataclass
class _Item:
    """A box, or a point of a long edge, in its layer.

    The weight says how much it moves others out of its way.
    """

    box: int | None
    width: float
    height: float
    x: float = 0.0
    top: float = 0.0
    above: list[_Item] = field(default_factory=list)
    below: list[_Item] = field(default_factory=list)
    weight: float = 1.0


@dataclass(frozen=True)
class Placed:
    """A box with its middle, its upper edge and its sizes in pixels."""

    box: Box
    x: float
    top: float
    width: float
    height: float

    @property
    def left(self) -> float:
        """Its left edge."""
        return self.x - self.width / 2

    @property
    def baselines(self) -> list[float]:
        """The baseline of each line of its text."""
        count = 1 + len(self.box.lines)
        first = self.top + (self.height - count * LINE_HEIGHT) / 2 + TEXT
        return [first + LINE_HEIGHT * line for line in range(count)]


@dataclass(frozen=True)
class Label:
    """The sizes of a tensor, below the box that it leaves."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class Drawing:
    """A picture with all its places."""

    width: float
    height: float
    boxes: tuple[Placed, ...]
    paths: tuple[str, ...]
    labels: tuple[Label, ...]


def draw(picture: Picture) -> Drawing:
    """Return where everything is drawn."""
    boxes = [_item(at, box) for at, box in enumerate(picture.boxes)]
    layers = _layers(picture, boxes)
    chains = _joined(picture.edges, boxes, layers)
    for box, item in zip(picture.boxes, boxes, strict=True):
        if not item.above and box.kind != "input":
            item.weight = ASIDE
    _order(layers)
    _place(layers)
    top = float(MARGIN)
    for layer in layers:
        height = max(item.height for item in layer)
        for item in layer:
            item.top = top + (height - item.height) / 2 if item.box is not None else top
            if item.box is None:
                item.height = height
        top += height + BETWEEN_LAYERS
    left = min(item.x - item.width / 2 for layer in layers for item in layer) - MARGIN
    for layer in layers:
        for item in layer:
            item.x -= left
    width = max(item.x + item.width / 2 for layer in layers for item in layer) + MARGIN
    placed = tuple(
        Placed(box, round(item.x, 1), round(item.top, 1), item.width, item.height)
        for box, item in zip(picture.boxes, boxes, strict=True)
    )
    paths, labels = _edges(picture, boxes, chains)
    height = top - BETWEEN_LAYERS + MARGIN
    return Drawing(round(width, 1), round(height, 1), placed, paths, labels)


def _text_width(text: str, size: float) -> float:
    """Return how wide a text is at most, for the fonts that browsers use."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return size * (0.66 * len(text) + 0.4 * wide)


def _item(at: int, box: Box) -> _Item:
    badge = 0 if box.number is None else BADGE
    text = max(
        1.08 * _text_width(box.title, TEXT) + badge,
        *(_text_width(line, TEXT) for line in box.lines), 0.0,
    )  # fmt: skip
    labels = sum(_text_width(label, SMALL) + PADDING for label in box.tensors)
    height = LINE_HEIGHT * (1 + len(box.lines)) + PADDING
    return _Item(at, round(max(text + 2 * PADDING, labels)), height)


def _layers(picture: Picture, boxes: Sequence[_Item]) -> list[list[_Item]]:
    """Return the boxes in layers: each below what it reads, and sources close to their readers."""
    readers: list[list[int]] = [[] for _ in boxes]
    waits = [0] * len(boxes)
    for source, target in {(edge.source, edge.target) for edge in picture.edges}:
        readers[source].append(target)
        waits[target] += 1
    sources = [at for at, count in enumerate(waits) if not count]
    depth = [0] * len(boxes)
    ready = list(sources)
    while ready:
        at = ready.pop()
        for target in readers[at]:
            depth[target] = max(depth[target], depth[at] + 1)
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)
    for at in sources:
        if readers[at]:
            depth[at] = min(depth[target] for target in readers[at]) - 1
    layers: list[list[_Item]] = [[] for _ in range(max(depth) + 1)]
    for item, at in zip(boxes, depth, strict=True):
        layers[at].append(item)
    return layers


def _joined(
    edges: Sequence[Edge], boxes: Sequence[_Item], layers: list[list[_Item]]
) -> list[list[_Item]]:
    """Join the items of neighbouring layers; return those of each edge, from above."""
    depth = {id(item): at for at, layer in enumerate(layers) for item in layer}
    chains = []
    for edge in edges:
        source, target = boxes[edge.source], boxes[edge.target]
        chain = [source]
        for at in range(depth[id(source)] + 1, depth[id(target)]):
            chain.append(_Item(None, 0, 0, weight=STRAIGHT))
            layers[at].append(chain[-1])
        chain.append(target)
        for upper, lower in pairwise(chain):
            upper.below.append(lower)
            lower.above.append(upper)
        chains.append(chain)
    return chains


def _order(layers: list[list[_Item]]) -> None:
    """Order each layer by the mean place of its neighbours; keep the order with least crossings."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            rank = {id(i): place for each in layers for place, i in enumerate(each)}
            means = {}
            for place, item in enumerate(layer):
                near = _near(item, down=down)
                means[id(item)] = sum(rank[id(i)] for i in near) / len(near) if near else place
            layer.sort(key=lambda item: means[id(item)])
        if (count := _crossings(layers)) < fewest:
            best, fewest = [list(layer) for layer in layers], count
    layers[:] = best


def _near(item: _Item, *, down: bool) -> list[_Item]:
    """Return the neighbours whose places count for an item in a sweep."""
    every = item.above if down else item.below
    return [other for other in every if other.weight > ASIDE] or every


def _crossings(layers: list[list[_Item]]) -> int:
    count = 0
    for upper, lower in pairwise(layers):
        rank = {id(item): place for place, item in enumerate(lower)}
        ends = [rank[id(other)] for item in upper for other in sorted(
            item.below, key=lambda each: rank[id(each)])]  # fmt: skip
        count += sum(a > b for at, a in enumerate(ends) for b in ends[at + 1 :])
    return count


def _place(layers: list[list[_Item]]) -> None:
    """Give each item its horizontal place."""
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted = []
            for item in layer:
                near = _near(item, down=down) or _near(item, down=not down)
                wanted.append(sum(i.x for i in near) / len(near) if near else item.x)
            _spread(layer, wanted)


def _spread(layer: Sequence[_Item], wanted: Sequence[float]) -> None:
    """Place the items of a layer in their order, as near as possible to where they are wanted.

    It is a regression to a rising sequence: neighbours that would overlap are moved as one block,
    to the mean of what they want.
    """
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + BETWEEN)
    blocks: list[tuple[float, float, int]] = []
    for item, x, offset in zip(layer, wanted, offsets, strict=True):
        weight, count = item.weight, 1
        total = weight * (x - offset)
        while blocks and blocks[-1][0] / blocks[-1][1] > total / weight:
            before = blocks.pop()
            total, weight, count = total + before[0], weight + before[1], count + before[2]
        blocks.append((total, weight, count))
    at = 0
    for total, weight, count in blocks:
        for item, offset in zip(layer[at : at + count], offsets[at:], strict=False):
            item.x = total / weight + offset
        at += count


def _edges(
    picture: Picture, boxes: Sequence[_Item], chains: Sequence[Sequence[_Item]]
) -> tuple[tuple[str, ...], tuple[Label, ...]]:
    """Return the curves of the edges, and the labels where they begin."""
    starts: dict[tuple[int, int], float] = {}
    labels = []
    for at, (box, item) in enumerate(zip(picture.boxes, boxes, strict=True)):
        widths = [_text_width(label, SMALL) + PADDING for label in box.tensors]
        x = item.x - sum(widths) / 2
        for tensor, (label, width) in enumerate(zip(box.tensors, widths, strict=True)):
            starts[at, tensor] = x + width / 2
            y = item.top + item.height + SMALL + 4
            if label:
                labels.append(Label(label, round(x + width / 2, 1), round(y, 1)))
            x += width
    ends = _entries(picture.edges, boxes, chains)
    paths = []
    for edge, chain, end in zip(picture.edges, chains, ends, strict=True):
        x, y = starts[edge.source, edge.tensor], chain[0].top + chain[0].height
        path = [f"M{x:.1f} {y:.1f}v{STUB}"]
        y += STUB
        for item in chain[1:]:
            to = end if item is chain[-1] else item.x
            middle = (y + item.top) / 2
            path.append(f"C{x:.1f} {middle:.1f} {to:.1f} {middle:.1f} {to:.1f} {item.top:.1f}")
            x, y = to, item.top + item.height
            if item is not chain[-1]:
                path.append(f"V{y:.1f}")
        paths.append("".join(path))
    return tuple(paths), tuple(labels)


def _entries(
    edges: Sequence[Edge], boxes: Sequence[_Item], chains: Sequence[Sequence[_Item]]
) -> list[float]:
    """Return where each edge enters its box: side by side, in the order in which they come."""
    entering: dict[int, list[int]] = {}
    for at, edge in enumerate(edges):
        entering.setdefault(edge.target, []).append(at)
    ends = [0.0] * len(edges)
    for target, indices in entering.items():
        item = boxes[target]
        step = min(16.0, item.width / (len(indices) + 1))
        indices.sort(key=lambda at: chains[at][-2].x)
        for place, at in enumerate(indices):
            ends[at] = item.x + step * (place - (len(indices) - 1) / 2)
    return ends
