"""Which windows of a pooling meet an element, and how many elements: found by arithmetic.

No window is looked at alone, so a dimension may have thousands of millions of them.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from extremum.host.plan.parts import Steps
from extremum.model import Pooling, SpatialDimension


@lru_cache(maxsize=8)
def met_windows(dimension: SpatialDimension) -> range | np.ndarray:
    """Return the numbers of the windows that meet an element, in order.

    They follow each other, so a ``range`` tells them. There may be gaps only where the dilation is
    greater than the size: then a window can hold all elements between two of its taps, and an array
    lists the windows.
    """
    size, stride, dilation = dimension.size, dimension.stride, dimension.dilation
    # The first window whose last tap is at the first element or later, and so at the other end.
    first = max(0, -((dimension.extent - 1 - dimension.start_padding) // stride))
    stop = min(dimension.outputs, (size - 1 + dimension.start_padding) // stride + 1)
    reach = range(first, max(first, stop))
    if dimension.window == 1 or dilation <= size:
        return reach
    starts = np.asarray(reach, np.int64) * stride - dimension.start_padding
    # Where a window begins in the padding, this is the first coordinate of a tap behind it.
    return np.asarray(reach)[np.where(starts < 0, starts % dilation, starts) < size]


def count_empty_windows(problem: Pooling) -> int:
    """Return how many windows of a pooling lie wholly in padding."""
    met = math.prod(len(met_windows(dimension)) for dimension in problem.spatial)
    return math.prod(problem.output_sizes) - math.prod(problem.sizes[:2]) * met


def most_met(dimension: SpatialDimension) -> int:
    """Return a number of elements that no window exceeds along a dimension."""
    return min(dimension.window, -(-dimension.size // dimension.dilation))


@dataclass(frozen=True)
class WindowRuns:
    """The windows along one dimension that meet an element, cut into runs of equal length.

    Parameters
    ----------
    dimension
        The dimension.
    step
        Windows of a run, at least 1; the last run may have fewer.
    """

    dimension: SpatialDimension
    step: int

    @property
    def _steps(self) -> Steps:
        return Steps(len(met_windows(self.dimension)), self.step)

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, number: int) -> range:
        return self._steps[number]

    def kinds(self) -> Iterator[tuple[range, int]]:
        """Return a run of every kind, and how many are like it but for where they begin.

        Away from the borders, all runs have windows of equally many elements.
        """
        runs, most = range(len(self)), most_met(self.dimension)
        within = bisect.bisect_left(
            runs, True, key=lambda number: _entered(self.dimension, self[number]) >= most
        )
        beyond = bisect.bisect_left(
            runs, True, key=lambda number: _left(self.dimension, self[number]) < most
        )
        whole = len(met_windows(self.dimension)) // self.step
        beyond = max(within, min(beyond, whole))
        if within < beyond:
            yield self[within], beyond - within
        for number in (*range(within), *range(beyond, len(runs))):
            yield self[number], 1


def _start(dimension: SpatialDimension, number: int) -> int:
    """Return the coordinate of the first tap of a window, by its number among those met."""
    return int(met_windows(dimension)[number]) * dimension.stride - dimension.start_padding


def _entered(dimension: SpatialDimension, run: range) -> int:
    """Return how many taps of a run's last window are not in the padding before the tensor."""
    return dimension.window - max(0, -(_start(dimension, run[-1]) // dimension.dilation))


def _left(dimension: SpatialDimension, run: range) -> int:
    """Return how many taps of a run's first window may not be in the padding behind the tensor."""
    return (dimension.size - 1 - _start(dimension, run[0])) // dimension.dilation + 1


def most_met_by(dimension: SpatialDimension, run: range) -> int:
    """Return a number of elements that no window of a run exceeds.

    The last window of a run has entered the tensor furthest, and the first one has left it least.
    """
    return min(most_met(dimension), _entered(dimension, run), _left(dimension, run))
