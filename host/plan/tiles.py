"""Cutting a pooling into tiles that fit the core's storage and counters."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from extremum.hdl.config import CoreConfig
from extremum.host.plan.registers import dimension_registers
from extremum.model import SpatialDimension


@dataclass(frozen=True)
class Tile:
    """A run of windows along one dimension, and the elements that they see.

    Parameters
    ----------
    first
        Number of the first window.
    offset
        Coordinate of the first element.
    dimension
        The same windows over these elements alone.
    """

    first: int
    offset: int
    dimension: SpatialDimension


def cut(dimension: SpatialDimension, first: int, count: int) -> Tile | None:
    """Return the tile of ``count`` windows from ``first`` on, or None if they see no element.

    All windows together keep all elements, so an uncut tensor streams as it lies in memory.
    """
    if count == dimension.outputs:
        return Tile(0, 0, dimension)
    part = dimension.clipped(slice(first, first + count))
    return None if part is None else Tile(first, part.elements.start, part.dimension)


def cut_all(dimension: SpatialDimension, count: int) -> Iterator[Tile]:
    """Return tiles of at most ``count`` windows, of nearly equal size, that see an element."""
    tiles = -(-dimension.outputs // count)
    edges = (dimension.outputs * tile // tiles for tile in range(tiles + 1))
    for first, stop in itertools.pairwise(edges):
        tile = cut(dimension, first, stop - first)
        if tile is not None:
            yield tile


def kinds(dimension: SpatialDimension, count: int) -> Iterator[tuple[Tile, int]]:
    """Return an example of every kind of tile that :func:`cut_all` gives, and how many there are.

    Between the tiles that reach into padding all are alike but for one window more or less, so
    a dimension of any size is looked at in a few steps.
    """
    tiles = -(-dimension.outputs // count)
    if tiles == 1:
        yield from ((tile, 1) for tile in cut_all(dimension, count))
        return

    def edge(tile: int) -> int:
        return dimension.outputs * tile // tiles

    def start(tile: int) -> int:
        return edge(tile) * dimension.stride - dimension.start_padding

    def stop(tile: int) -> int:
        return start(tile + 1) - dimension.stride + dimension.extent

    # Of the tiles that see an element: those from `low` to `high` lie within the tensor.
    numbers = range(tiles)
    seen = bisect.bisect_left(numbers, True, key=lambda tile: stop(tile) > 0)
    unseen = bisect.bisect_left(numbers, True, key=lambda tile: start(tile) >= dimension.size)
    low = bisect.bisect_left(numbers, True, key=lambda tile: start(tile) >= 0)
    high = bisect.bisect_left(numbers, True, key=lambda tile: stop(tile) > dimension.size)
    low, high = min(low, unseen), max(min(high, unseen), min(low, unseen))
    for tile in itertools.chain(range(seen, low), range(high, unseen)):
        example = cut(dimension, edge(tile), edge(tile + 1) - edge(tile))
        if example is not None:
            yield example, 1
    few = dimension.outputs // tiles
    longer = edge(high) - edge(low) - few * (high - low)
    for windows, number in ((few, high - low - longer), (few + 1, longer)):
        example = cut(dimension, edge(low), windows) if number else None
        if example is not None:
            yield example, number


@dataclass(frozen=True)
class Grid:
    """How many windows a tile has along each dimension (depth, height, width)."""

    counts: tuple[int, int, int]

    def tiles(self, dimensions: tuple[SpatialDimension, ...]) -> list[tuple[Tile, Tile, Tile]]:
        """Return the tiles, outermost dimension slowest."""
        depth, height, width = (
            list(cut_all(dimension, count))
            for dimension, count in zip(dimensions, self.counts, strict=True)
        )
        return [(d, h, w) for d in depth for h in height for w in width]


def largest_count(dimension: SpatialDimension, config: CoreConfig) -> int:
    """Return how many windows along a dimension the coordinate counters allow; 0 if not one."""
    limit = 1 << config.coordinate_width
    if dimension.extent >= limit or dimension.stride >= limit:
        return 0

    def fits(count: int) -> bool:
        return all(
            max(registers.lead, registers.size, max(registers.head, 0) + registers.period) < limit
            for tile, _ in kinds(dimension, count)
            for registers in dimension_registers([tile.dimension], [0])
        )

    low, high = 0, min(dimension.outputs, limit - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def storage_limits(dimensions: tuple[SpatialDimension, ...], config: CoreConfig) -> tuple[int, int]:
    """Return the longest line and the largest plane of windows that the storage holds."""
    depth, height, _ = dimensions
    plane_words, line_words, _ = config.max_spacing
    line = line_words // height.dilation if height.window > 1 else math.inf
    plane = plane_words // depth.dilation if depth.window > 1 else math.inf
    outputs = math.prod(dimension.outputs for dimension in dimensions)
    return int(min(line, outputs)), int(min(plane, outputs))


def choose_grid(dimensions: tuple[SpatialDimension, ...], config: CoreConfig) -> Grid | None:
    """Return whole planes if they fit, else the grid that streams the fewest elements.

    None if no tile fits the core. What fits whole is not cut: a job more costs more than the
    padding that it saves. Neighbouring tiles both stream the elements that windows of both see,
    so a grid of few and nearly square tiles is best.
    """
    depth, height, width = dimensions
    counters = [largest_count(dimension, config) for dimension in dimensions]
    if 0 not in config.axes:
        counters[0] = 1
    line, plane = storage_limits(dimensions, config)
    if not min(*counters, line, plane):
        return None
    most_columns = min(counters[2], line, plane)
    best: tuple[int, Grid] | None = None
    for columns in _counts(width.outputs, most_columns):
        rows = min(counters[1], plane // columns, height.outputs)
        if not rows:
            continue
        grid = Grid((min(counters[0], depth.outputs), rows, columns))
        if (columns, rows) == (width.outputs, height.outputs):
            return grid
        streamed = _streamed(width, columns) * _streamed(height, rows)
        if best is None or streamed < best[0]:
            best = (streamed, grid)
    return best[1] if best else None


def _counts(outputs: int, most: int) -> Iterator[int]:
    """Return the sizes of tiles worth trying: those of the 64 coarsest cuts."""
    fewest = -(-outputs // most)
    seen = set()
    for tiles in range(fewest, min(outputs, fewest + 64) + 1):
        count = -(-outputs // tiles)
        if count not in seen:
            seen.add(count)
            yield count


def _streamed(dimension: SpatialDimension, count: int) -> int:
    return sum(
        registers.period * number
        for tile, number in kinds(dimension, count)
        for registers in dimension_registers([tile.dimension], [0])
    )
