"""A page about a run of a network: its parts, its layers' clocks, and what a pooling selects.

The page is one HTML file that needs nothing but itself, in light and dark, also in a narrow window.
"""

from __future__ import annotations

import base64
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import matplotlib.image
import numpy as np
from jinja2 import Environment, StrictUndefined

from extremum.model import Pooling
from extremum.onnx.layers import Layer
from extremum.onnx.network import Network
from extremum.onnx.segments import cut

__all__ = ["FeatureMap", "boxes", "feature_map", "page"]

FREQUENT = 3
"""Operators that are named of a part in ONNX Runtime."""

LEFT, RIGHT, TOP, BOTTOM = 50, 620, 40, 220
"""Edges of the plot of beats per clock, in the units of its drawing: where 1 and 0 are."""


@dataclass(frozen=True)
class Box:
    """A node on the core, or a part in ONNX Runtime."""

    title: str
    text: str
    is_ours: bool


@dataclass(frozen=True)
class FeatureMap:
    """A plane, and the elements that the windows of a pooling select in it.

    Parameters
    ----------
    name
        The layer.
    width, height
        Sizes of the plane.
    image
        The plane as a PNG of one pixel for each element, in base64.
    chosen
        Column and row of each element that is selected, once.
    """

    name: str
    width: int
    height: int
    image: str
    chosen: tuple[tuple[int, int], ...]


def boxes(network: Network) -> tuple[Box, ...]:
    """Return the network as boxes, in the order in which they run."""
    nodes = network.graph.node
    ours = {c.index: c for c in network.candidates if c.index is not None and not c.reason}
    found = []
    for segment in cut(network.graph, ours):
        if segment.nodes:
            counts = Counter(nodes[index].op_type for index in segment.nodes)
            named = [f"{count} {name}" for name, count in counts.most_common(FREQUENT)]
            more = ["..."] if len(counts) > FREQUENT else []
            count = len(segment.nodes)
            title = f"{count} node{'' if count == 1 else 's'}"
            found.append(Box(title, ", ".join(named + more), is_ours=False))
        for index in segment.layers:
            candidate = ours[index]
            sizes = "" if candidate.sizes is None else "x".join(map(str, candidate.sizes))
            text = f"{candidate.name} {sizes}".strip()
            found.append(Box(candidate.node.op_type, text, is_ours=True))
    return tuple(found)


def feature_map(name: str, layer: Layer, x: np.ndarray) -> FeatureMap | None:
    """Return what a pooling of planes selects in the first of them; None for another layer.

    Parameters
    ----------
    name
        The layer's name.
    layer
        The layer.
    x
        Its input.
    """
    problem = layer.problem
    if not isinstance(problem, Pooling) or len(problem.sizes) != 4 or 1 in problem.sizes[2:]:
        return None
    height, width = problem.sizes[2:]
    plane = x.reshape(problem.sizes)[:1, :1]
    alone = replace(
        problem, sizes=plane.shape, return_indices=True, index_type=np.dtype("int64"),
        index_layout="plane",
    )  # fmt: skip
    _, positions = alone.evaluate(plane)
    chosen = sorted({(int(p) % width, int(p) // width) for p in positions.reshape(-1) if p >= 0})
    picture = io.BytesIO()
    levels = plane[0, 0].astype(np.float64)
    matplotlib.image.imsave(picture, np.clip(levels, -1e300, 1e300), cmap="viridis", format="png")
    image = base64.b64encode(picture.getvalue()).decode()
    return FeatureMap(name, width, height, image, tuple(chosen))


def page(
    facts: Mapping[str, Any],
    rows: Sequence[Any],
    parts: Sequence[Box],
    shown_map: FeatureMap | None,
) -> str:
    """Return the page.

    Parameters
    ----------
    facts
        ``model``, ``nodes``, ``lanes``, ``clocks``, ``milliseconds``, ``clock``, ``agreement``,
        ``differences``.
    rows
        The nodes whose operators may be ours, as :class:`extremum.host.cli.onnx_printing.Row`.
    parts
        The network, as :func:`boxes` gives it.
    shown_map
        What a layer selects, as :func:`feature_map` gives it.
    """
    layers = [row for row in rows if row.clocks]
    most = max((row.clocks for row in layers), default=1)
    beats = [max(row.beats_in, row.beats_out) for row in layers]
    decades = max((math.ceil(math.log10(b)) for b in beats if b > 1), default=1) or 1

    def place(number: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * math.log10(max(number, 1)) / decades, 1)

    template = files("extremum.onnx").joinpath("page.html.jinja").read_text()
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(template).render(
        **facts,
        taken=len([row for row in rows if row.jobs is not None]),
        rows=rows,
        boxes=parts,
        bars=[
            {"name": row.name, "clocks": row.clocks, "percent": round(100 * row.clocks / most, 2)}
            for row in layers
        ],
        points=[
            {
                "name": f"{row.name}: {row.utilization:.1%} of {count} beats",
                "x": place(count),
                "y": round(BOTTOM - (BOTTOM - TOP) * row.utilization, 1),
            }
            for row, count in zip(layers, beats, strict=True)
        ],
        ticks=[{"x": place(10**d), "label": f"{10**d:,}"} for d in range(decades + 1)],
        map=shown_map,
    )
