"""The page as a whole: its text, table and bars, and the pictures in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from extremum.onnx.network import Network
from extremum.onnx.page.feature_map import FeatureMap
from extremum.onnx.page.graph import picture_of
from extremum.onnx.page.layout import draw
from extremum.onnx.page.plot import HEIGHT, PlottedLayer, plot_of

__all__ = ["page"]

PLACES = {"core": "core", "model": "golden model", "onnxruntime": "ONNX Runtime"}
"""Where a node runs, in words; what is in none of these is a simulator, or not known."""

TOTALLED = ("jobs", "beats_in", "beats_out", "clocks")


def page(
    network: Network,
    rows: Sequence[Any],
    facts: Mapping[str, Any],
    shown_map: FeatureMap | None,
) -> str:
    """Return the page.

    Parameters
    ----------
    network
        The network.
    rows
        What became of its candidates, in their order, as
        :class:`extremum.host.cli.onnx_printing.Row`.
    facts
        ``model``, ``lanes``, ``clocks``, ``milliseconds``, ``clock``, ``megahertz``,
        ``agreement``, ``differences``, ``rounding``, and ``ran``: whether the network ran, or was
        only planned.
    shown_map
        What a layer selects, as :func:`extremum.onnx.page.feature_map` gives it.
    """
    taken = [(number, row) for number, row in enumerate(rows, 1) if row.jobs is not None]
    layers = [
        PlottedLayer(number, row.name, max(row.beats_in, row.beats_out), row.clocks)
        for number, row in taken
        if row.clocks
    ]
    picture = picture_of(network, rows)
    return _template("page.html.jinja").render(
        **facts,
        nodes=len(network.graph.node),
        taken=len(taken),
        undecided=len([row for row in rows if row.where == "unknown"]),
        where=taken[0][1].where if taken else "",
        counted=any(row.cycles is not None for row in rows),
        rows=[
            (number, row, _place(row), _milliseconds(row.clocks, facts))
            for number, row in enumerate(rows, 1)
        ],
        totals=[sum(getattr(row, name) or 0 for _, row in taken) for name in TOTALLED],
        picture=picture,
        drawing=draw(picture),
        kinds={box.kind for box in picture.boxes},
        bars=_bars(layers),
        plot=plot_of(layers) if layers else None,
        plot_height=HEIGHT,
        map=shown_map,
    )


def _template(name: str) -> Any:
    """Return a template, which may include others of this package."""

    def source(name: str) -> str:
        return files("extremum.onnx.page").joinpath(name).read_text(encoding="utf-8")

    loader = FunctionLoader(source)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(name)


def _place(row: Any) -> str:
    if row.where == "unknown":
        return f"not decided: {row.reason}"
    where = PLACES.get(row.where, f"core ({row.where})")
    return f"{where}: {row.reason}" if row.reason else where


def _milliseconds(clocks: int | None, facts: Mapping[str, Any]) -> str:
    return "" if clocks is None else f"{clocks / facts['megahertz'] / 1e3:.3f}"


def _bars(layers: Sequence[PlottedLayer]) -> list[dict[str, Any]]:
    """Return the clocks of each layer, beside the most of all and beside their sum."""
    clocks = [layer.clocks for layer in layers]
    return [
        {
            "number": layer.number,
            "name": layer.name,
            "clocks": layer.clocks,
            "percent": round(100 * layer.clocks / max(clocks), 2),
            "share": f"{layer.clocks / sum(clocks):.1%}",
        }
        for layer in layers
    ]
