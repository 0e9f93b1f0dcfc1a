"""Which windows of a pooling meet an element, and how many elements: found by arithmetic.

No window is looked at alone, so a dimension may have thousands of millions of them.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from extremum.host.plan.parts import Steps
from extremum.model import SpatialDimension


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
        return Steps(len(self.dimension.met_windows), self.step)

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
        whole = len(self.dimension.met_windows) // self.step
        beyond = max(within, min(beyond, whole))
        if within < beyond:
            yield self[within], beyond - within
        for number in (*range(within), *range(beyond, len(runs))):
            yield self[number], 1


def _start(dimension: SpatialDimension, number: int) -> int:
    """Return the coordinate of the first tap of a window, by its number among those met."""
    return int(dimension.met_windows[number]) * dimension.stride - dimension.start_padding


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
