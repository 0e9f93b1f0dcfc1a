"""Max poolings, some planes at a time."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from extremum.model.fast.buffers import buffers_in_cache, is_worth_it
from extremum.model.fast.gather import GatheringKernel, is_small
from extremum.model.fast.memory import keep_freed_memory
from extremum.model.fast.tiles import PlaneTile, tiles
from extremum.model.fast.winners import window_winners

if TYPE_CHECKING:
    from extremum.model.pooling import Pooling

__all__ = ["PoolingKernel"]

CHUNK_ELEMENTS = 1 << 18
"""Most elements of a plane, and most windows, that are pooled at once: they take some megabytes."""

ELEMENTS_OF_A_WINDOW = 4
"""How many elements of whole planes are pooled at once for each window that might be.

With a stride, so many planes more share a call, and what is found takes no more memory.
"""


class PoolingKernel:
    """Computes one max pooling, for any tensor of its sizes and type.

    Parameters
    ----------
    problem : Pooling
        What to compute. What does not depend on the tensor is derived from it once.
    """

    def __init__(self, problem: Pooling) -> None:
        keep_freed_memory()
        self._problem = problem
        self._gathering = GatheringKernel(problem) if is_small(problem) else None
        self._has_small_buffers = is_worth_it(
            math.prod(problem.sizes), problem.data_type.dtype.itemsize, problem.return_indices
        )

    def pool(self, tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Pool a tensor.

        Parameters
        ----------
        tensor : ndarray
            Of the problem's sizes and type, in native byte order and any memory layout.

        Returns
        -------
        values : ndarray
            Of the problem's output sizes; fresh and C-contiguous. An empty window has the lowest
            value of the type.
        indices : ndarray or None
            Positions in the problem's index layout if it asks for them; an empty window has a
            position of all ones.
        """
        compute = self._gathering.pool if self._gathering else self._slide
        if self._has_small_buffers:
            with buffers_in_cache():
                values, indices = compute(tensor)
        else:
            values, indices = compute(tensor)
        if self._problem.empty_windows:
            self._mark_empty(values, self._problem.data_type.lowest)
            if indices is not None:
                ones = np.array(-1, np.int64).astype(self._problem.index_type)
                self._mark_empty(indices, ones[()])
        return values, indices

    def _slide(self, tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Pool a tensor group by group; empty windows have any value and any position."""
        problem = self._problem
        with_positions = problem.return_indices
        if self._only_tile and not with_positions:
            found = window_winners(tensor, self._only_tile, self._plane_weights, problem.nan, False)
            return found[1], None
        values = np.empty(problem.output_sizes, tensor.dtype)
        indices = np.empty(problem.output_sizes, problem.index_type) if with_positions else None
        groups, tiles_of_plane = self._groups, self._tiles
        for batch, channels in groups:
            planes = tensor[batch, channels] if len(groups) > 1 else tensor
            for windows, parts in tiles_of_plane:
                # Without parts all windows of the tile lie in padding, and are marked later.
                if parts:
                    place = (batch, channels, *windows)
                    positions, found = window_winners(
                        planes, parts, self._plane_weights, problem.nan, with_positions
                    )
                    if found.shape == values.shape and found.flags.c_contiguous:
                        values = found
                    else:
                        values[place] = found
                    if indices is not None and positions is not None:
                        self._write_indices(indices[place], positions, batch, channels)
        return values, indices

    @cached_property
    def _plane_weights(self) -> list[int]:
        """What a step along each spatial dimension adds to the row-major position in a plane."""
        sizes = self._problem.sizes
        return [math.prod(sizes[axis + 1 :]) for axis in range(2, len(sizes))]

    @cached_property
    def _tiles(self) -> list[tuple[tuple[slice, ...], list[PlaneTile]]]:
        """The tiles of a plane: their windows, and the elements that these meet."""
        return list(tiles(self._problem.spatial, CHUNK_ELEMENTS))

    @cached_property
    def _only_tile(self) -> list[PlaneTile] | None:
        """The parts of the tile that is all there is to compute; None if there is more than one."""
        is_only = len(self._groups) == len(self._tiles) == 1
        return self._tiles[0][1] if is_only else None

    @cached_property
    def _groups(self) -> list[tuple[slice, slice]]:
        """Parts of the axes N and C, such that the largest tile of such planes fits one chunk."""
        batch, channels = self._problem.sizes[:2]
        counts = [1]
        share = ELEMENTS_OF_A_WINDOW if len(self._tiles) == 1 else 1
        for windows, parts in self._tiles:
            counts.append(math.prod(part.stop - part.start for part in windows))
            elements = [math.prod(d.size for d in part.dimensions) for part in parts]
            counts += [-(-each // share) for each in elements]
        tile = max(counts)
        # The last group is about as large as the others: several arrays of a group share the cache.
        channel_groups = -(-channels // max(1, CHUNK_ELEMENTS // tile))
        channel_step = -(-channels // channel_groups)
        batch_step = max(1, CHUNK_ELEMENTS // (tile * channel_step))
        return [
            (slice(n, n + batch_step), slice(c, c + channel_step))
            for n in range(0, batch, batch_step)
            for c in range(0, channels, channel_step)
        ]

    def _write_indices(
        self, indices: np.ndarray, positions: np.ndarray, batch: slice, channels: slice
    ) -> None:
        """Convert row-major positions within a plane to positions of the index layout."""
        sizes, weights = self._problem.sizes, self._problem.index_weights
        n, c = (
            np.arange(part.start, min(part.stop, size)) * weight
            for part, size, weight in zip((batch, channels), sizes, weights, strict=False)
        )
        base = np.add.outer(n, c).reshape(len(n), len(c), *(1,) * (len(sizes) - 2))
        if self._problem.index_layout != "column_major":
            np.add(base, positions, out=indices, casting="unsafe")
            return
        coordinates = positions
        for axis in reversed(range(2, len(sizes))):
            coordinates, coordinate = np.divmod(coordinates, sizes[axis])
            base = base + coordinate * weights[axis]
        indices[...] = base

    def _mark_empty(self, outputs: np.ndarray, mark: object) -> None:
        """Write `mark` to the outputs of all windows that lie wholly in padding."""
        for axis, dimension in enumerate(self._problem.spatial, 2):
            outputs[(slice(None),) * axis + (dimension.empty_windows,)] = mark
