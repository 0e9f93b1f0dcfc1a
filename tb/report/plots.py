"""Draws the evidence as SVG that can stand within a page; equal figures give equal text."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from extremum.tb.report.mutants import COLUMNS, outcomes

WIDTH = 9.0
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "extremum",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
GOOD, FAIR, POOR, BAD = "#2a7f62", "#7fb7a3", "#d9a441", "#b5403a"
CLASSES = (("never", 0, BAD), ("1 to 9 times", 1, POOR), ("10 to 99 times", 10, FAIR))
"""Classes of bins: a name, the least count and a colour. Above them is what was met often."""


def _figure(height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    with mpl.rc_context(STYLE):
        figure = Figure((WIDTH, height), layout="constrained")
        return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def _svg(figure: Figure) -> str:
    """Return a figure without what only a file of its own needs: namespaces, and names of parts."""
    text = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context(STYLE):
        figure.savefig(text, format="svg", metadata=nothing)
    drawn = text.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    return re.sub(r' (?:id="[a-z]+\d*(?:\.\w+)*_\d+"|xmlns(?::\w+)?="[^"]*")', "", drawn)


def _stacked(
    axes: Axes, names: Sequence[str], parts: Sequence[tuple[str, str, Sequence[int]]]
) -> None:
    """Draw bars that lie, each of parts with a label, a colour and a length for each name."""
    left = [0] * len(names)
    for label, colour, lengths in parts:
        axes.barh(names, lengths, 0.7, left=left, color=colour, label=label)
        left = [sum(pair) for pair in zip(left, lengths, strict=True)]
    axes.invert_yaxis()
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(parts))


def coverage(evidence: dict[str, Any]) -> str:
    """Draw the bins of each point by how often they were met."""
    points = {name: list(point["bins"].values()) for name, point in evidence["points"].items()}
    bounds = [least for _, least, _ in CLASSES] + [100, float("inf")]
    labels = [(name, colour) for name, _, colour in CLASSES] + [("100 times and more", GOOD)]
    parts = [
        (label, colour, [sum(least <= n < most for n in counts) for counts in points.values()])
        for (label, colour), least, most in zip(labels, bounds, bounds[1:], strict=False)
    ]
    figure, (axes,) = _figure(0.7 + 0.28 * len(points))
    _stacked(axes, list(points), parts)
    axes.set_xlabel("bins")
    return _svg(figure)


def history(evidence: Sequence[dict[str, Any]]) -> str:
    """Draw what the passes have added up to, and how fast each was."""
    beats, total = [], 0
    for each in evidence:
        total += each["beats"]
        beats.append(total)
    figure, (sums, rates) = _figure(3.2, 2)
    numbers = [each["pass"] for each in evidence]
    sums.step(numbers, beats, where="mid", color=GOOD)
    for x, y, each in zip(numbers, beats, evidence, strict=True):
        sums.plot([x], [y], "o", color=BAD if each["differences"] else GOOD)
        if each["differences"]:
            sums.annotate(f" {each['differences']} differ", (x, y), color=BAD, va="top")
    sums.set_ylim(bottom=0)
    sums.set_ylabel("beats of all passes until then")
    rates.bar(numbers, [each["cases_per_second"] or 0 for each in evidence], 0.7, color=FAIR)
    for each in evidence:
        told = f"{each['workers']} w" if each["cases_per_second"] else "unknown"
        rates.annotate(
            told, (each["pass"], each["cases_per_second"] or 0), ha="center", va="bottom"
        )
    rates.set_ylabel("cases per second")
    for axes in (sums, rates):
        axes.set_xlabel("pass")
        axes.set_xticks(numbers)
    return _svg(figure)


def rates(evidence: dict[str, Any]) -> str:
    """Draw how many cases a worker does in a second on each backend, and how many beats."""
    names = sorted(evidence)
    figure, both = _figure(1 + 0.35 * len(names), 2)
    for axes, unit in zip(both, ("cases", "beats"), strict=True):
        speeds = [evidence[name][f"{unit}_per_second_of_a_worker"] for name in names]
        axes.plot(speeds, names, "o", color=GOOD)
        for name, speed in zip(names, speeds, strict=True):
            axes.annotate(f"  {speed:,}", (speed, name), va="center")
        axes.set_xscale("log")
        axes.margins(x=0.25)
        axes.set_xlabel(f"{unit} per second of a worker")
    return _svg(figure)


def mutants(evidence: dict[str, Any]) -> str:
    """Draw what became of the mutants of each block."""
    colours = (GOOD, FAIR, "#9bb3c9", POOR, BAD)
    ends = [outcomes(block) for _, block in sorted(evidence.items())]
    parts = [
        (label, colour, [each[n] for each in ends])
        for n, (label, colour) in enumerate(zip(COLUMNS[1:], colours, strict=True), 1)
    ]
    figure, (axes,) = _figure(0.9 + 0.28 * len(ends))
    _stacked(axes, sorted(evidence), parts)
    axes.set_xlabel("mutants")
    return _svg(figure)


def proofs(evidence: dict[str, Any]) -> str:
    """Draw the seconds of each proof, the longest first."""
    found = sorted(evidence["proofs"], key=lambda proof: -proof["seconds"]["proof"])
    figure, (axes,) = _figure(1 + 0.2 * len(found))
    kinds = (("holds for ever", GOOD), ("for a bounded time", POOR), ("not shown", BAD))
    for kind, (label, colour) in enumerate(kinds):
        mine = [proof for proof in found if _kind(proof) == kind]
        names = [proof["name"] for proof in mine]
        seconds = [max(proof["seconds"]["proof"], 0.1) for proof in mine]
        axes.barh(names, seconds, 0.7, color=colour, label=label if mine else None)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlim(left=0.05)
    axes.set_xlabel("seconds of the proof, at least 0.1")
    axes.tick_params("y", labelsize=7)
    if found:
        axes.legend(frameon=False)
    return _svg(figure)


def _kind(proof: dict[str, Any]) -> int:
    return 2 if proof["status"] != "proved" else int(proof["bounded"])


def code_coverage(evidence: dict[str, Any]) -> str:
    """Draw what of each kind of point was hit, waived, or neither."""
    kinds = evidence["kinds"]
    hit = [each["hit"] / (each["total"] or 1) * 100 for each in kinds.values()]
    waived = [each["waived"] / (each["total"] or 1) * 100 for each in kinds.values()]
    figure, (axes,) = _figure(0.9 + 0.3 * len(kinds))
    names, left = list(kinds), [0.0] * len(kinds)
    rest = [100 - sum(pair) for pair in zip(hit, waived, strict=True)]
    for label, colour, lengths in (
        ("hit", GOOD, hit),
        ("waived", POOR, waived),
        ("hole", BAD, rest),
    ):
        axes.barh(names, lengths, 0.7, left=left, color=colour, label=label)
        left = [sum(pair) for pair in zip(left, lengths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("percent of the points")
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return _svg(figure)
