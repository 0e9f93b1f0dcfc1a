"""Pools small tensors: all elements of all windows are gathered, and each window is one row.

Sliding, as in `extremum.model.fast.sliding`, takes some tens of calls of NumPy. For a small tensor
they take longer than the comparisons, so here there are few, and all that does not depend on the
elements is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from extremum.model.fast.order import comparable
from extremum.model.spatial import SpatialDimension

if TYPE_CHECKING:
    from extremum.model.pooling import Pooling

__all__ = ["GatheringKernel", "is_small", "window_elements"]

GATHERED_FOR_VALUES, GATHERED_FOR_INDICES = 1 << 12, 1 << 14
"""Most elements that are gathered; beyond, sliding is faster, but slower if indices are wanted."""


def is_small(problem: Pooling) -> bool:
    """Tell whether a pooling has so few elements that gathering them is worth it."""
    planes = math.prod(problem.sizes[:2])
    gathered = math.prod(d.outputs * d.window for d in problem.spatial)
    most = GATHERED_FOR_INDICES if problem.return_indices else GATHERED_FOR_VALUES
    return planes * max(gathered, math.prod(problem.sizes[2:])) <= most


def window_elements(dimensions: Sequence[SpatialDimension]) -> np.ndarray:
    """Return the elements of every window of a plane, in scan order.

    A tap that lies in padding has another element of its window, such that no element is met later
    than one that follows it in scan order. So the first of the greatest is still the first.

    Returns
    -------
    ndarray of int64
        Row-major positions in the plane, of shape (windows, taps). Empty windows have any position.

    Examples
    --------
    The first of the windows begins in padding.

    >>> window_elements([SpatialDimension(3, window=2, start_padding=1)])
    array([[0, 0],
           [0, 1],
           [1, 2]])
    """
    positions = np.zeros((1, 1), np.int64)
    for d in dimensions:
        starts = np.arange(d.outputs)[:, None] * d.stride - d.start_padding
        elements = starts + np.clip(np.arange(d.window), *d.taps_inside(starts)) * d.dilation
        # Those of empty windows may lie in the start padding; none lies behind the elements.
        elements = np.maximum(elements, 0)
        grown = positions[:, None, :, None] * d.size + elements[None, :, None, :]
        positions = grown.reshape(len(positions) * d.outputs, -1)
    return positions


class GatheringKernel:
    """Computes one small max pooling, for any tensor of its sizes and type.

    Parameters
    ----------
    problem : Pooling
        What to compute. `is_small` tells whether this is the way to do it.
    """

    def __init__(self, problem: Pooling) -> None:
        self._problem = problem
        planes, self._plane = math.prod(problem.sizes[:2]), math.prod(problem.sizes[2:])
        self._elements = window_elements(problem.spatial)
        windows, taps = self._elements.shape
        self._rows = np.arange(0, windows * taps, taps)
        # Where each plane begins in memory, and what it and an element add to a position.
        self._starts = np.arange(0, planes * self._plane, self._plane)[:, None]
        *outer, _ = weights = problem.index_weights
        n, c = problem.sizes[:2]
        bases = np.add.outer(np.arange(n) * outer[0], np.arange(c) * outer[1])
        self._bases = bases.reshape(-1, 1).astype(problem.index_type)
        coordinates = np.indices(problem.sizes[2:]).reshape(len(problem.spatial), -1)
        self._numbers = (np.array(weights[2:]) @ coordinates).astype(problem.index_type)

    def pool(self, tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Pool a tensor; see `extremum.model.fast.pooling.PoolingKernel.pool`.

        Empty windows have any value and any position.
        """
        problem = self._problem
        planes = tensor.reshape(-1, self._plane)
        keys = comparable(planes, nan=problem.nan)
        places = keys.take(self._elements, axis=1).argmax(axis=2)
        positions = self._elements.take(places + self._rows)
        values = planes.take(positions + self._starts).reshape(problem.output_sizes)
        if not problem.return_indices:
            return values, None
        indices = self._numbers.take(positions) + self._bases
        return values, indices.reshape(problem.output_sizes)
