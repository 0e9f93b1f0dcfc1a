"""Tiles: which windows, and which of their taps, are looked at in one go.

A plane is cut into tiles of windows where it is too large to be pooled whole, and long windows into
tiles of taps. So the memory for a pooling does not grow with the plane, nor with the window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from .spatial import SpatialDimension

__all__ = ["Tile", "tile_sizes", "tiles"]


@dataclass(frozen=True)
class Tile:
    """Some windows, with some of their taps.

    Attributes
    ----------
    dimensions : tuple of SpatialDimension
        The windows as they lie on the tile's own elements.
    elements : tuple of slice
        Those elements, in the plane.
    """

    dimensions: tuple[SpatialDimension, ...]
    elements: tuple[slice, ...]


def tile_sizes(
    dimensions: Sequence[SpatialDimension], limit: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Choose how many windows, and how many of their taps, a tile has in each dimension.

    It meets at most `limit` elements and has no more windows than that.

    Examples
    --------
    The outer dimension is cut first, as long as that makes few taps be looked at twice.

    >>> tile_sizes([SpatialDimension(64, window=3), SpatialDimension(64, window=3)], 1024)
    ((8, 62), (3, 3))
    """
    windows = [dimension.outputs for dimension in dimensions]
    taps = [dimension.window for dimension in dimensions]
    while True:
        # The ways of the first to the last window, and of the first to the last tap.
        columns = zip(dimensions, windows, taps, strict=True)
        ways = [((w - 1) * d.stride, (t - 1) * d.dilation) for d, w, t in columns]
        met = [min(d.size, sum(way) + 1) for d, way in zip(dimensions, ways, strict=True)]
        if max(math.prod(met), math.prod(windows)) <= limit:
            return tuple(windows), tuple(taps)
        for axis, (way, extent) in enumerate(ways):
            if windows[axis] > 1 and way >= 4 * extent:
                windows[axis] = -(-windows[axis] // 2)
                break
        else:
            longest = max(
                (way, -axis, which) for axis, w in enumerate(ways) for which, way in enumerate(w)
            )
            if not longest[0]:
                return tuple(windows), tuple(taps)
            cut = taps if longest[2] else windows
            cut[-longest[1]] = -(-cut[-longest[1]] // 2)


def tiles(
    dimensions: Sequence[SpatialDimension], limit: int
) -> Iterator[tuple[tuple[slice, ...], list[Tile]]]:
    """Give the tiles of a plane: windows, and the tiles of their taps that meet an element."""
    sizes = tile_sizes(dimensions, limit)
    starts = [range(0, d.outputs, step) for d, step in zip(dimensions, sizes[0], strict=True)]
    taps = [range(0, d.window, step) for d, step in zip(dimensions, sizes[1], strict=True)]
    for corner in product(*starts):
        windows = tuple(
            slice(start, min(d.outputs, start + step))
            for d, start, step in zip(dimensions, corner, sizes[0], strict=True)
        )
        found = []
        for first in product(*taps):
            cut = [
                _cut(d, w, slice(t, min(d.window, t + step)))
                for d, w, t, step in zip(dimensions, windows, first, sizes[1], strict=True)
            ]
            if None not in cut:
                dims, elements = zip(*(part for part in cut if part), strict=True)
                found.append(Tile(dims, elements))
        yield windows, found


def _cut(
    dimension: SpatialDimension, windows: slice, taps: slice
) -> tuple[SpatialDimension, slice] | None:
    """Some windows of a dimension, with some of their taps; None if they meet no element."""
    stride, dilation = dimension.stride, dimension.dilation
    low = windows.start * stride + taps.start * dilation - dimension.start_padding
    high = (windows.stop - 1) * stride + (taps.stop - 1) * dilation - dimension.start_padding + 1
    start, stop = max(0, low), min(dimension.size, high)
    if start >= stop:
        return None
    cut = SpatialDimension(
        stop - start, taps.stop - taps.start, stride, dilation, start - low, high - stop
    )
    # Strides and dilations may step over all of them.
    return None if len(cut.empty_windows) == cut.outputs else (cut, slice(start, stop))
