"""How a pooling is cut into tiles that fit the core's storage and counters."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from extremum.hdl.config import CoreConfig
from extremum.host.plan.registers import dimension_registers, fixed_windows_of
from extremum.model import SpatialDimension

FURTHER_CUTS = 64
"""How many cuts of the width are tried beside the coarsest one that fits."""


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
        The same windows over these elements alone, with padding for what they see beside them.
    """

    first: int
    offset: int
    dimension: SpatialDimension


def cut(dimension: SpatialDimension, first: int, count: int) -> Tile | None:
    """Return the tile of ``count`` windows from ``first`` on, or None if they see no element.

    A tile of all windows has all elements, even those that no window sees: an uncut tensor streams
    as it lies in memory.
    """
    if count == dimension.outputs:
        return Tile(0, 0, dimension)
    part = dimension.clipped(slice(first, first + count))
    return None if part is None else Tile(first, part.elements.start, part.dimension)


@dataclass(frozen=True)
class Cuts:
    """One dimension cut into tiles of nearly equal size; those that see no element are left out.

    A dimension of any size is looked at in a few steps: the tiles are found by arithmetic.

    Parameters
    ----------
    dimension
        The dimension that is cut.
    count
        Most windows of a tile, at least 1.
    """

    dimension: SpatialDimension
    count: int

    @property
    def is_cut(self) -> bool:
        """Whether there is more than one tile, those that see no element included."""
        return self._all > 1

    @cached_property
    def _all(self) -> int:
        return -(-self.dimension.outputs // self.count)

    @cached_property
    def _seen(self) -> range:
        """The numbers of the tiles that see an element."""
        if not self.is_cut:
            return range(1)
        numbers, size = range(self._all), self.dimension.size
        first = bisect.bisect_left(numbers, True, key=lambda tile: self._stop(tile) > 0)
        stop = bisect.bisect_left(numbers, True, key=lambda tile: self._start(tile) >= size)
        return range(first, max(first, stop))

    def _edge(self, tile: int) -> int:
        """Return the number of a tile's first window."""
        return self.dimension.outputs * tile // self._all

    def _start(self, tile: int) -> int:
        """Return the coordinate of a tile's first tap, which may lie in the padding."""
        return self._edge(tile) * self.dimension.stride - self.dimension.start_padding

    def _stop(self, tile: int) -> int:
        """Return the coordinate behind a tile's last tap."""
        return self._start(tile + 1) - self.dimension.stride + self.dimension.extent

    def __len__(self) -> int:
        return len(self._seen)

    def __getitem__(self, number: int) -> Tile:
        tile = self._seen[number]
        first = self._edge(tile)
        return self._tile(first, self._edge(tile + 1) - first)

    def _tile(self, first: int, windows: int) -> Tile:
        tile = cut(self.dimension, first, windows)
        if tile is None:
            raise AssertionError(f"a tile at window {first} of {self} sees no element")
        return tile

    def kinds(self) -> Iterator[tuple[Tile, int]]:
        """Return a tile of every kind, and how many are like it but for where they begin.

        Between the tiles that reach into padding, all are alike but for one window more or less.
        """
        if not self.is_cut:
            yield self[0], 1
            return
        seen = self._seen
        within = bisect.bisect_left(seen, True, key=lambda tile: self._start(tile) >= 0)
        beyond = bisect.bisect_left(
            seen, True, key=lambda tile: self._stop(tile) > self.dimension.size
        )
        beyond = max(beyond, within)
        for number in itertools.chain(range(within), range(beyond, len(seen))):
            yield self[number], 1
        if within == beyond:
            return
        low, high = seen.start + within, seen.start + beyond
        few = self.dimension.outputs // self._all
        longer = self._edge(high) - self._edge(low) - few * (high - low)
        for windows, number in ((few, high - low - longer), (few + 1, longer)):
            if number:
                yield self._tile(self._edge(low), windows), number


@dataclass(frozen=True)
class Grid:
    """How many windows a tile has at most along each dimension (depth, height, width)."""

    counts: tuple[int, int, int]

    def cuts(self, dimensions: tuple[SpatialDimension, ...]) -> tuple[Cuts, ...]:
        """Return the tiles of each dimension, outermost first."""
        return tuple(map(Cuts, dimensions, self.counts))


def largest_count(
    dimension: SpatialDimension, config: CoreConfig, fixed_window: int | None = None
) -> int:
    """Return how many windows of a tile the coordinate counters allow; 0 if not a single one."""
    limit = 1 << config.coordinate_width
    if dimension.extent >= limit or dimension.stride >= limit:
        return 0

    def fits(count: int) -> bool:
        return all(
            max(registers.lead, registers.size, max(registers.head, 0) + registers.period) < limit
            for tile, _ in Cuts(dimension, count).kinds()
            for registers in dimension_registers([tile.dimension], [0], [fixed_window])
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
    """Return the grid of tiles that streams the fewest elements, or None if no tile fits the core.

    Whole planes are not cut if they fit: one more job costs more than the padding that it saves.
    Neighbouring tiles both stream the elements that windows of both see, so a grid of few and
    nearly square tiles is best.
    """
    depth, height, width = dimensions
    fixed = fixed_windows_of(config)
    counters = [
        largest_count(dimension, config, window)
        for dimension, window in zip(dimensions, fixed, strict=True)
    ]
    if 0 not in config.axes:
        counters[0] = 1  # Without a depth stage, a job is a single plane.
    line, plane = storage_limits(dimensions, config)
    if not min(*counters, line, plane):
        return None
    most_columns = min(counters[2], line, plane)
    best: tuple[int, Grid] | None = None
    for columns in _counts(width.outputs, most_columns):
        rows = min(counters[1], plane // columns, height.outputs)
        grid = Grid((min(counters[0], depth.outputs), rows, columns))
        if (columns, rows) == (width.outputs, height.outputs):
            return grid
        streamed = _streamed(width, columns, fixed[2]) * _streamed(height, rows, fixed[1])
        if best is None or streamed < best[0]:
            best = (streamed, grid)
    return best[1] if best else None


def _counts(outputs: int, most: int) -> Iterator[int]:
    """Yield the sizes of tiles that are worth trying, each once, the largest first."""
    fewest = -(-outputs // most)
    seen = set()
    for tiles in range(fewest, min(outputs, fewest + FURTHER_CUTS) + 1):
        count = -(-outputs // tiles)
        if count not in seen:
            seen.add(count)
            yield count


def _streamed(dimension: SpatialDimension, count: int, fixed_window: int | None = None) -> int:
    """Return the slots along one dimension that all its tiles take together."""
    return sum(
        registers.period * number
        for tile, number in Cuts(dimension, count).kinds()
        for registers in dimension_registers([tile.dimension], [0], [fixed_window])
    )
