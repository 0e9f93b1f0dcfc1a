"""The operators once more, written from their specification by somebody who had not seen the model.

Independent of the golden model and of `model/reference.py` are: the types, which are a table here;
the order, which is that of integers made of raw bits, so that nothing is decoded and NumPy compares
nothing; the scan, by coordinates of taps and of reduced axes; and the positions, which are counted
up for each layout. So a mistake that both have would have to be made twice. Nothing of
``extremum`` is imported.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

FLOATS = {"float32": 23, "float16": 10}
"""Bits of the mantissa."""

TYPES = (*FLOATS, *(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)))

Winner = tuple[int | None, int]
"""A position, None if no element was there, and the bits of a value."""


def width_of(name: str) -> int:
    """Return the bits of an element."""
    return int(name.lstrip("uintfloa"))


def infinity(name: str) -> int:
    """Return the bits of a float type's infinity."""
    mantissa = FLOATS[name]
    return (1 << width_of(name) - 1) - (1 << mantissa)


def lowest(name: str) -> int:
    """Return the bits of the lowest value, which an empty window has."""
    if name.startswith("u"):
        return 0
    top = 1 << width_of(name) - 1
    return top | infinity(name) if name in FLOATS else top


def rank(bits: int, name: str) -> int | None:
    """Return an integer that is ordered as the elements are; None for NaN.

    A float's magnitude, taken as an integer, grows with it; both zeros have the magnitude 0.
    """
    top = 1 << width_of(name) - 1
    if name.startswith("u"):
        return bits
    if name not in FLOATS:
        return bits - 2 * top if bits & top else bits
    magnitude = bits & top - 1
    if magnitude > infinity(name):
        return None
    return -magnitude if bits & top else magnitude


@dataclass(frozen=True)
class Contest:
    """How elements compete.

    Parameters
    ----------
    name
        Their type.
    minimum
        Whether the smallest wins, and not the largest.
    nan
        "propagate": a NaN beats every number; "ignore": every number beats a NaN.
    """

    name: str
    minimum: bool
    nan: str

    def winner(self, scanned: Iterable[tuple[int, int]]) -> Winner:
        """Return the first element, in the order of the scan, that no other one beats."""
        best: tuple[int, int] | None = None
        for position, bits in scanned:
            if best is None or self._beats(bits, best[1]):
                best = position, bits
        return best or (None, lowest(self.name))

    def _beats(self, bits: int, best: int) -> bool:
        one, other = rank(bits, self.name), rank(best, self.name)
        if one is None or other is None:
            beats = (True, False) if self.nan == "propagate" else (False, True)
            return (one is None, other is None) == beats
        return one < other if self.minimum else one > other


def bits_of(x: np.ndarray) -> np.ndarray:
    """Return the bits of a tensor, as unsigned integers of Python."""
    return np.ascontiguousarray(x).view(f"u{x.itemsize}").astype(object)


def reduced(
    x: np.ndarray, axes: Sequence[int], contest: Contest, *, decreasing: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and bits of the winners along some axes, whose sizes become 1."""
    bits, axes = bits_of(x), sorted(axes)
    sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    positions, values = np.empty(sizes, object), np.empty(sizes, object)
    for place in np.ndindex(*sizes):
        row = []
        steps = itertools.product(*(range(x.shape[axis]) for axis in axes))
        for position, coordinates in enumerate(steps):
            at = list(place)
            for axis, coordinate in zip(axes, coordinates, strict=True):
                at[axis] = coordinate
            row.append((position, bits[tuple(at)]))
        positions[place], values[place] = contest.winner(reversed(row) if decreasing else row)
    return positions, values


@dataclass(frozen=True)
class Line:
    """One spatial dimension of a pooling."""

    size: int
    window: int
    stride: int
    start: int
    end: int
    dilation: int

    @property
    def outputs(self) -> int:
        """How many windows there are; 0 or less if the window does not fit."""
        extent = 1 + (self.window - 1) * self.dilation
        return (self.size + self.start + self.end - extent) // self.stride + 1

    def taps(self, output: int) -> list[int]:
        """Return the coordinates of a window's taps, those in the padding among them."""
        first = output * self.stride - self.start
        return [first + tap * self.dilation for tap in range(self.window)]


def pooled(
    x: np.ndarray, lines: Sequence[Line], contest: Contest, layout: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions, None where a window is empty, and bits of the largest in each window."""
    bits, (batches, channels) = bits_of(x), x.shape[:2]
    plane = math.prod(line.size for line in lines)
    sizes = (batches, channels, *(line.outputs for line in lines))
    positions, values = np.empty(sizes, object), np.empty(sizes, object)
    for batch, channel, *place in np.ndindex(*sizes):
        scanned = []
        taps = (line.taps(output) for line, output in zip(lines, place, strict=True))
        for at in itertools.product(*taps):
            if all(0 <= where < line.size for where, line in zip(at, lines, strict=True)):
                position = _position(at, lines, layout)
                if layout != "plane":
                    position += (batch * channels + channel) * plane
                scanned.append((position, bits[(batch, channel, *at)]))
        where = (batch, channel, *place)
        positions[where], values[where] = contest.winner(scanned)
    return positions, values


def _position(at: Sequence[int], lines: Sequence[Line], layout: str) -> int:
    """Return the place of an element in its plane or volume."""
    pairs = list(zip(at, lines, strict=True))
    position = 0
    for where, line in pairs[::-1] if layout == "column_major" else pairs:
        position = position * line.size + where
    return position
