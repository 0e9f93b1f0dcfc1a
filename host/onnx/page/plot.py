"""The plot of beats per clock: which share of its clocks each layer uses, over its beats.

A core moves one beat per clock at most, and the layers come close to it: so the axis is one of the
share that is missing, in decades, and the limit is its upper edge. Lines show where layers lie that
take 10, 100, ... clocks more than they have beats.

Horizontal places are percents, since the plot is as wide as the window; vertical ones, and all
sizes, are pixels. Labels lie beside their points, with an order that keeps them apart in a plot of
`NARROWEST` pixels, and so in every wider one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["HEIGHT", "Guide", "Plot", "PlottedLayer", "Point", "Tick", "plot_of"]

HEIGHT = 280
"""Pixels from the lower edge to the line of the limit."""

FIRST_DECADE = 26
"""Pixels from the line of the limit to the best decade: the limit is infinitely far."""

NARROWEST = 250
"""Pixels of the plot's width in a window of 360."""

CHARACTER, LINE = 7.3, 14
"""Sizes of a label's text."""

GAP = 9
"""Pixels from a point to its label."""

RADIUS = 5

FEW = 8
"""Up to so many labels have the layers' names beside their numbers."""

MOST_DECADES = 7
"""From so many decades on, only some of them have a line."""

STEPS = 40
"""Pieces of a line."""


@dataclass(frozen=True)
class PlottedLayer:
    """A layer: its number in the table, its name, its beats and its clocks."""

    number: int
    name: str
    beats: int
    clocks: int


@dataclass(frozen=True)
class Point:
    """Layers at the same place, and where their label stands, in pixels from it."""

    x: float
    y: float
    label: str
    told: str
    anchor: str
    dx: float
    dy: float


@dataclass(frozen=True)
class Tick:
    """A line of the grid, with what it stands for."""

    at: float
    label: str


@dataclass(frozen=True)
class Guide:
    """The line of layers that take so many clocks more than they have beats."""

    label: str
    pieces: tuple[tuple[float, float, float, float], ...]
    x: float
    y: float
    anchor: str


@dataclass(frozen=True)
class Plot:
    """All that is drawn."""

    points: tuple[Point, ...]
    columns: tuple[Tick, ...]
    rows: tuple[Tick, ...]
    guides: tuple[Guide, ...]


@dataclass(frozen=True)
class _Area:
    """A rectangle beside a point that is at `anchor`, in pixels of the narrowest plot."""

    anchor: float
    left: float
    right: float
    top: float
    bottom: float

    def keeps_apart(self, other: _Area) -> bool:
        """Whether two rectangles do not meet, in this plot and in wider ones."""
        if self.bottom <= other.top or other.bottom <= self.top:
            return True
        if self.anchor == other.anchor:
            return self.right <= other.left or other.right <= self.left
        first, second = (self, other) if self.anchor < other.anchor else (other, self)
        return first.right <= second.left


@dataclass(frozen=True)
class _Axes:
    """The scales: decades of beats, and decades of the share of clocks without a beat."""

    left: int
    right: int
    best: int
    worst: int

    def x(self, beats: float) -> float:
        """Return the place of so many beats, in percents."""
        return 100 * (math.log10(max(beats, 1)) - self.left) / (self.right - self.left)

    def y(self, missing: float) -> float:
        """Return the place of a share of clocks without a beat, in pixels below the limit."""
        if missing <= 0:
            return 0.0
        share = (math.log10(missing) - self.best) / (self.worst - self.best)
        return FIRST_DECADE + (HEIGHT - FIRST_DECADE) * share


def plot_of(layers: Sequence[PlottedLayer]) -> Plot:
    """Return the plot of some layers, at least one."""
    lost = [layer.clocks - layer.beats for layer in layers]
    axes = _axes(layers)
    over = [clocks for clocks in lost if clocks > 0]
    # The line of the limit, and its text above it.
    areas = [_Area(0, 0, NARROWEST, -3, 3), _Area(0, 0, CHARACTER * 28, -20, -3)]
    guides = [_guide(axes, 10**decade, areas) for decade in _decades(over)]
    decades = range(axes.left, axes.right + 1, 1 + (axes.right - axes.left) // MOST_DECADES)
    return Plot(
        tuple(_points(axes, layers, areas)),
        tuple(Tick(round(axes.x(10**d), 2), _short(10**d)) for d in decades),
        tuple(_rows(axes)),
        tuple(guide for guide in guides if guide is not None),
    )


def _decades(numbers: Sequence[int]) -> range:
    """Return the powers of ten around some numbers."""
    if not numbers:
        return range(0)
    return range(math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers))) + 1)


def _short(power: int) -> str:
    """Return a power of ten as 1, 10, 100, 1k, ..., 1M, ..., 1G, ..."""
    thousands = min((len(str(power)) - 1) // 3, 3)
    return f"{power // 1000**thousands}{['', 'k', 'M', 'G'][thousands]}"


def _axes(layers: Sequence[PlottedLayer]) -> _Axes:
    beats = [max(layer.beats, 1) for layer in layers]
    left, right = math.floor(math.log10(min(beats))), math.ceil(math.log10(max(beats)))
    shares = [1 - layer.beats / layer.clocks for layer in layers if layer.beats < layer.clocks]
    best = math.floor(math.log10(min(shares, default=0.1)))
    worst = math.ceil(math.log10(max(shares, default=1.0)))
    return _Axes(left, max(right, left + 1), min(best, worst - 1), worst)


def _rows(axes: _Axes) -> list[Tick]:
    """Return the lines of the vertical scale, named by the share of clocks with a beat."""
    parts = (1, 2, 5) if axes.worst - axes.best <= 2 else (1,)
    rows = []
    for decade in range(axes.best, axes.worst + 1):
        for part in parts if decade < axes.worst else (1,):
            # Decades are negative, so a share has no more than so many digits behind the point.
            label = f"{100 * (1 - part * 10.0**decade):.{max(-decade - 2, 0)}f} %"
            rows.append(Tick(round(axes.y(part * 10.0**decade), 1), label))
    return rows


def _guide(axes: _Axes, clocks: int, areas: list[_Area]) -> Guide | None:
    """Return the line of layers that lose so many clocks; take space for its name."""
    worst, best = 10.0**axes.worst, 10.0**axes.best
    # Of b beats the share is clocks / (b + clocks).
    low = max(10.0**axes.left, clocks / worst - clocks)
    high = min(10.0**axes.right, clocks / best - clocks)
    if low >= high:
        return None
    ends = math.log10(low), math.log10(high)
    beats = [10 ** (ends[0] + (ends[1] - ends[0]) * step / STEPS) for step in range(STEPS + 1)]
    places = [(round(axes.x(b), 2), round(axes.y(clocks / (b + clocks)), 1)) for b in beats]
    x, y = places[-1]
    label = f"+{_short(clocks)}"
    at, width = x * NARROWEST / 100, CHARACTER * len(label)
    left = at if x < 50 else at - width
    areas.append(_Area(at, left, left + width, y - LINE, y))
    pieces = tuple((*a, *b) for a, b in pairwise(places))
    return Guide(label, pieces, x, y, "start" if x < 50 else "end")


def _points(axes: _Axes, layers: Sequence[PlottedLayer], areas: list[_Area]) -> list[Point]:
    """Return the points; layers that lie at the same place share one, with their numbers."""
    shared: dict[tuple[int, int], list[PlottedLayer]] = {}
    for layer in layers:
        x = axes.x(layer.beats) * NARROWEST / 100
        y = axes.y(1 - layer.beats / layer.clocks)
        shared.setdefault((round(x / 4), round(y / 4)), []).append(layer)
    named = len(shared) <= FEW
    placed = []
    for group in shared.values():
        x, y = axes.x(group[0].beats), axes.y(1 - group[0].beats / group[0].clocks)
        at = x * NARROWEST / 100
        areas.append(_Area(at, at - RADIUS, at + RADIUS, y - RADIUS, y + RADIUS))
        placed.append((x, y, group))
    points = []
    for x, y, group in sorted(placed, key=lambda each: each[:2]):
        label = _label(group, named=named)
        right = x < 50
        at, width = x * NARROWEST / 100, CHARACTER * len(label)
        left = at + GAP if right else at - GAP - width
        moves = sorted(range(-HEIGHT, HEIGHT, 4), key=abs)
        for move in moves:
            area = _Area(at, left, left + width, y + move - LINE / 2, y + move + LINE / 2)
            if area.top > -LINE and area.bottom < HEIGHT and all(map(area.keeps_apart, areas)):
                break
        else:
            move = 0
            area = _Area(at, left, left + width, y - LINE / 2, y + LINE / 2)
        areas.append(area)
        told = "; ".join(
            f"{each.name}: {each.beats} beats in {each.clocks} clocks" for each in group
        )
        anchor, dx = ("start", GAP) if right else ("end", -GAP)
        points.append(Point(round(x, 2), round(y, 1), label, told, anchor, dx, move))
    return points


def _label(group: Sequence[PlottedLayer], *, named: bool) -> str:
    if named and len(group) == 1:
        name = group[0].name
        return f"{group[0].number} {name if len(name) <= 14 else name[:6] + '…' + name[-7:]}"
    return ", ".join(_runs([layer.number for layer in group]))


def _runs(numbers: Sequence[int]) -> list[str]:
    """Return rising numbers with those that follow each other as one: 1, 3-5."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
