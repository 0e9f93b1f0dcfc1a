"""How a pooling is cut into tiles that fit the core's storage and counters."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import DimensionRegisters
from extremum.host.plan.registers import dimension_registers, fixed_windows_of
from extremum.model import SpatialDimension

FURTHER_CUTS = 64
"""How many cuts are tried beside the coarsest one."""


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


class TileSizes:
    """How many windows of a dimension a tile may have for the coordinate counters.

    A cut is not always countable because a coarser one is. A dimension that need not be cut may be:
    the padding at its start makes its head short, and a tile within the tensor has the head of a
    whole window. So each cut is looked at by itself.

    Parameters
    ----------
    dimension
        The dimension that is cut.
    config
        Configuration of the core.
    fixed_window
        The number of taps that the core has fixed, see :func:`fixed_windows_of`.
    """

    def __init__(
        self, dimension: SpatialDimension, config: CoreConfig, fixed_window: int | None = None
    ):
        self.dimension, self.fixed_window = dimension, fixed_window
        self._limit = 1 << config.coordinate_width
        self._known: dict[int, bool] = {}

    def fits(self, count: int) -> bool:
        """Return whether all tiles can be counted through, if none has more than ``count``."""
        if count not in self._known:
            self._known[count] = self._are_countable(count)
        return self._known[count]

    def largest(self, most: int) -> int:
        """Return the most windows of a tile, no more than ``most``; 0 if no cut is countable.

        The coarsest cuts are tried one by one. Where none of them is countable, a bound counts that
        holds for any tile: there, the tiles within the tensor decide, for which it is exact.
        """
        outputs, stride = self.dimension.outputs, self.dimension.stride
        # A tile of more windows than this has more slots than are counted.
        bound = (self._limit - 3) // stride + 2
        fewest = -(-outputs // min(most, outputs, bound))
        sure = min(most, self._surely_countable())
        enough = -(-outputs // sure) if sure else outputs + 1
        for tiles in range(fewest, min(enough, fewest + FURTHER_CUTS)):
            count = -(-outputs // tiles)
            if self.fits(count):
                return count
        return sure

    def streamed(self, count: int) -> int:
        """Return the slots that all tiles of up to ``count`` windows take together."""
        return sum(line.period * number for line, number in self._lines(count))

    def _lines(self, count: int) -> Iterator[tuple[DimensionRegisters, int]]:
        """Return the registers of a tile of every kind, and how many have the same."""
        for tile, number in Cuts(self.dimension, count).kinds():
            (line,) = dimension_registers([tile.dimension], [0], [self.fixed_window])
            yield line, number

    def _are_countable(self, count: int) -> bool:
        if max(self.dimension.extent, self.dimension.stride) >= self._limit:
            return False
        return all(
            max(line.lead, line.size, max(line.head, 0) + line.period) < self._limit
            for line, _ in self._lines(count)
        )

    def _surely_countable(self) -> int:
        """Return a number of windows that can be counted through wherever a tile of them lies.

        Its head is at most the last coordinate of a window's last tap that is kept, and in so many
        slots more it passes its elements and gives its windows.
        """
        dimension = self.dimension
        extent, size, stride = dimension.extent, dimension.size, dimension.stride
        if max(extent, stride) >= self._limit:
            return 0
        taps = (self.fixed_window or 1) - 1
        reach = min(extent, max(size, taps * dimension.dilation + 1))
        room = self._limit - reach - (1 if size + reach <= self._limit else extent)
        # A dimension that is not cut also has the elements that no window sees.
        return min(dimension.outputs - 1, room // stride + 1) if room >= 0 else 0


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
    depth, height, width = (
        TileSizes(dimension, config, window)
        for dimension, window in zip(dimensions, fixed_windows_of(config), strict=True)
    )
    # Without a depth stage, a job is a single plane.
    planes = depth.largest(depth.dimension.outputs if 0 in config.axes else 1)
    line, plane = storage_limits(dimensions, config)
    most = min(line, plane)
    if not (planes and most and (widest := width.largest(most))):
        return None
    best: tuple[int, Grid] | None = None
    for columns in filter(width.fits, _counts(width.dimension.outputs, widest)):
        rows = height.largest(plane // columns)
        if not rows:
            continue
        grid = Grid((planes, rows, columns))
        if (columns, rows) == (width.dimension.outputs, height.dimension.outputs):
            return grid
        streamed = width.streamed(columns) * height.streamed(rows)
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
