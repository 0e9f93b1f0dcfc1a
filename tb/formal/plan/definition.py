"""What a max pooling is, written down from the formulas of MAX_POOLING2 alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple


class Axis(NamedTuple):
    """The geometry of one spatial dimension."""

    size: int
    window: int
    stride: int
    dilation: int
    start: int
    end: int

    @property
    def outputs(self) -> int:
        """The number of windows; not positive if the window does not fit."""
        extent = 1 + (self.window - 1) * self.dilation
        padded = self.size + self.start + self.end
        return (padded - extent) // self.stride + 1 if extent <= padded else 0

    @property
    def meets_padding(self) -> bool:
        """Whether a tap of some window lies in padding."""
        return any(len(self.elements(output)) < self.window for output in range(self.outputs))

    def elements(self, output: int) -> list[int]:
        """Return the coordinates of the elements that a window meets, in ascending order."""
        taps = (
            output * self.stride + tap * self.dilation - self.start for tap in range(self.window)
        )
        return [coordinate for coordinate in taps if 0 <= coordinate < self.size]


def axes_up_to(size: int, window: int, stride: int, dilation: int, padding: int) -> list[Axis]:
    """Return every geometry up to a bound; a single tap only without dilation."""
    ranges = [range(1, most + 1) for most in (size, window, stride, dilation)]
    padded = [range(padding + 1)] * 2
    tried = (Axis(*numbers) for numbers in itertools.product(*ranges, *padded))
    return [axis for axis in tried if axis.outputs and (axis.window > 1 or axis.dilation == 1)]


def windows(planes: int, axes: Sequence[Axis]) -> list[list[int]]:
    """Return the positions in the tensor of the elements of each window, both in row-major order.

    The tensor has so many planes (or volumes) and the given spatial axes.
    """
    whole = math.prod(axis.size for axis in axes)
    met = [[axis.elements(output) for output in range(axis.outputs)] for axis in axes]
    found = []
    for box in itertools.product(*met):
        positions = [0]
        for axis, coordinates in zip(axes, box, strict=True):
            positions = [p * axis.size + c for p in positions for c in coordinates]
        found.append(positions)
    return [[plane * whole + p for p in box] for plane in range(planes) for box in found]
