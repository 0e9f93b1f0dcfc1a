"""The values of all windows of some planes, where they can be told without positions.

That is so unless a window meets NaN, of which the first one's bits are wanted, or its greatest
element is a zero, of which the first one's sign is wanted. Planes are taken in blocks that stay in
the cache from the first look at their elements to the last one at their results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from extremum.model.fast.maximum import SlidingMaximum
from extremum.model.fast.order import has_minus_zero, has_nan, has_negative_nan
from extremum.model.fast.tiles import PlaneTile
from extremum.model.spatial import SpatialDimension
from extremum.model.types import FORMATS

__all__ = ["greatest_values"]

BLOCK_BYTES = 5 << 18
"""Most bytes of a block with its result and the arrays in between: they about fill the second cache
of many processors."""
MOST_PREPARED = 32
"""For how many shapes of planes all is kept that does not depend on their elements. What is
recorded of them takes about 32 times `BLOCK_BYTES` at most."""
FEW = 32
"""Least number of elements for each window where windows are few."""


def greatest_values(cuts: Sequence[np.ndarray], parts: Sequence[PlaneTile]) -> np.ndarray | None:
    """Find the greatest element of every window of a tile.

    Parameters
    ----------
    cuts : sequence of ndarray
        The elements of each part: (N, C, H, W) or (N, C, D, H, W).
    parts : sequence of PlaneTile
        The tile, as parts with some taps each; at least one.

    Returns
    -------
    ndarray or None
        A fresh array, C-contiguous. Empty windows have any value. None if the bits of some value
        cannot be told without its position.
    """
    best = None
    for cut, part in zip(cuts, parts, strict=True):
        found = _prepared(part.dimensions, cut.shape[:2], cut.dtype).find(cut)
        if found is None:
            return None
        best = found if best is None else np.maximum(best, found, out=best)
    return best


class _WindowValues:
    """The values of all windows, for planes of equal number, sizes and type.

    Planes are taken in blocks of equal shape, so what is recorded of one block serves all.
    """

    def __init__(
        self, dimensions: tuple[SpatialDimension, ...], lead: tuple[int, ...], dtype: np.dtype
    ) -> None:
        sizes = [dimension.size for dimension in dimensions]
        outputs = [dimension.outputs for dimension in dimensions]
        plane, self._planes = math.prod(sizes), math.prod(lead)
        self._sizes, self._shape = sizes, (*lead, *outputs)
        element = FORMATS[dtype]
        self._is_float = element.is_float
        # NumPy compares half floats one at a time, so they are compared as integers, as which NaN
        # wins only without a sign.
        self._is_half = element.is_float and element.width == 16
        # The sign of a zero matters only where the result is zero, so where there are few windows,
        # the results are looked at first.
        self._zeros_first = FEW * math.prod(outputs) <= plane
        # Without a recording a block takes a tenth of a millisecond, in which views are made. Then
        # all planes are one block.
        fits = plane * dtype.itemsize < BLOCK_BYTES
        each = SlidingMaximum(dimensions, (1, *sizes), dtype).needed_bytes() if fits else None
        most = BLOCK_BYTES // each if each else 0
        self._step = -(-self._planes // -(-self._planes // most)) if most else self._planes
        self._maximum = SlidingMaximum(
            dimensions, (self._step, *sizes), dtype, is_recorded=bool(most)
        )

    def find(self, x: np.ndarray) -> np.ndarray | None:
        """Do what `greatest_values` does, for one part."""
        best = np.empty(self._shape, x.dtype)
        if self._step == self._planes:
            return best if self._write(np.ascontiguousarray(x), best) else None
        planes = x.reshape(self._planes, *self._sizes)
        found = best.reshape(self._planes, -1)
        for start in range(0, self._planes, self._step):
            # The last block may begin with planes of the one before.
            stop = min(start + self._step, self._planes)
            block = slice(stop - self._step, stop)
            if not self._write(np.ascontiguousarray(planes[block]), found[block]):
                return None
        return best

    def _write(self, x: np.ndarray, best: np.ndarray) -> bool:
        """Write the values of a block, and tell whether they have the bits of the winners."""
        if not self._is_float:
            self._maximum.write(x, best)
            return True
        if not self._zeros_first and has_minus_zero(x):
            return False
        if self._is_half and has_negative_nan(x):
            return False
        self._maximum.write(x, best)
        # A window that meets NaN has one of them here, but maybe not with the bits of the first.
        if has_nan(best):
            return False
        if not self._zeros_first:
            return True
        # Of half floats -0 wins as an integer only where there is no +0, so its sign is right.
        bits = best.view(np.int16) if self._is_half else best
        return bool(bits.all()) or not has_minus_zero(x)


_prepared = lru_cache(maxsize=MOST_PREPARED)(_WindowValues)
