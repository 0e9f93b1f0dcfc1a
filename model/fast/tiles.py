"""Tiles: groups of windows, and of their taps, that are pooled at once.

A plane that is too large to be pooled at once is cut into tiles of windows, and long windows are
cut into tiles of taps. So the memory that a pooling takes grows neither with the plane nor with the
window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from extremum.model.spatial import ClippedWindows, SpatialDimension

__all__ = ["PlaneTile", "tile_sizes", "tiles"]


@dataclass(frozen=True)
class PlaneTile:
    """Some windows of a plane, with some of their taps.

    Attributes
    ----------
    dimensions : tuple of SpatialDimension
        The windows, as they lie on the elements of the tile alone.
    elements : tuple of slice
        Where these elements lie in the plane.
    """

    dimensions: tuple[SpatialDimension, ...]
    elements: tuple[slice, ...]


def tile_sizes(
    dimensions: Sequence[SpatialDimension], limit: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Choose how many windows, and how many of their taps, a tile has in each dimension.

    A tile meets at most `limit` elements, and has at most so many windows.

    Parameters
    ----------
    dimensions : sequence of SpatialDimension
    limit : int

    Returns
    -------
    windows, taps : tuple of int
        One number for each dimension.

    Examples
    --------
    The outer dimension is cut first, unless so few windows remain that much is read twice.

    >>> tile_sizes([SpatialDimension(64, window=3), SpatialDimension(64, window=3)], 1024)
    ((8, 62), (3, 3))
    """
    windows = [dimension.outputs for dimension in dimensions]
    taps = [dimension.window for dimension in dimensions]
    while True:
        # The distances from the first to the last window, and from the first to the last tap.
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
) -> Iterator[tuple[tuple[slice, ...], list[PlaneTile]]]:
    """Cut a plane into tiles of at most `limit` elements.

    Yields
    ------
    windows : tuple of slice
        The windows of a tile along each dimension. Every window is in one tile.
    parts : list of PlaneTile
        These windows with some of their taps each; only the parts in which a window meets an
        element.
    """
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
            parts = [
                _part(d, w, slice(t, min(d.window, t + step)))
                for d, w, t, step in zip(dimensions, windows, first, sizes[1], strict=True)
            ]
            if None not in parts:
                dims, elements = zip(*(part for part in parts if part), strict=True)
                found.append(PlaneTile(dims, elements))
        yield windows, found


def _part(dimension: SpatialDimension, windows: slice, taps: slice) -> ClippedWindows | None:
    """Return some windows with some of their taps; None if no window meets an element."""
    part = dimension.clipped(windows, taps)
    # Strides and dilations may step over all elements between the outermost taps.
    if part is None or len(part.dimension.empty_windows) == part.dimension.outputs:
        return None
    return part
