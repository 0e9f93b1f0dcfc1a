"""Reductions over axes, block by block."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from extremum.model.fast.columns import MOST_COPIED_ROWS, are_short_and_many, column_winners
from extremum.model.fast.memory import keep_freed_memory
from extremum.model.fast.order import (
    bits_follow_value,
    comparable,
    exact_key,
    from_exact_key,
)
from extremum.model.fast.rows import best_of_rows, elements_at, first_winner, last_winner
from extremum.model.types import AxisDirection, DataType

if TYPE_CHECKING:
    from extremum.model.reduction import Reduction

__all__ = ["ReductionKernel"]

CHUNK_ELEMENTS, LARGE_CHUNK_ELEMENTS = 1 << 16, 1 << 19
"""Number of elements reduced at once if they are copied, few enough that the copy stays in the
cache, and if they are compared where they lie, so many that the calls of NumPy take no time."""
SMALL_ELEMENTS = 1 << 10
"""Most elements of a tensor whose values are fetched from the positions of their winners."""
CHUNK_COLUMNS = 16
"""Least width of a block if the last axis is not reduced, because memory is read by cache lines."""
CHUNK_ROWS = 1 << 16
"""Number of rows passed to NumPy at once, which allocates an index of 8 bytes for each."""


class ReductionKernel:
    """Computes one reduction, for any tensor of its sizes and type.

    Parameters
    ----------
    problem : Reduction
        What to compute. What does not depend on the tensor is derived from it once.
    """

    def __init__(self, problem: Reduction) -> None:
        keep_freed_memory()
        rank = len(problem.sizes)
        self._problem = problem
        self._axes = problem.axes
        self._gives_index = problem.function.gives_index
        self._minimum = problem.function.is_minimum
        inner = math.prod(problem.sizes[self._axes[-1] + 1 :])
        outer = math.prod(problem.sizes) // (problem.count * inner)
        self._is_by_columns = are_short_and_many(outer, problem.count, inner)
        # Whether each output is the winner of a row of memory, and NumPy's own comparison of the
        # elements is that of the contract. Then the tensor needs neither copies nor keys. Values of
        # long rows are found faster without their positions.
        self._is_by_rows = (
            (self._gives_index or math.prod(problem.sizes) <= SMALL_ELEMENTS)
            and self._axes == tuple(range(rank - len(self._axes), rank))
            and problem.data_type is not DataType.FLOAT16
            and (problem.nan == "propagate" or not problem.data_type.is_float)
            and not self._is_by_columns
        )
        decreasing = problem.axis_direction is AxisDirection.DECREASING
        self._winners_of_columns = partial(
            column_winners, nan=problem.nan, minimum=self._minimum, last=decreasing
        )
        find = last_winner if decreasing else first_winner
        self._find: Callable[[np.ndarray], np.ndarray] = partial(find, minimum=self._minimum)

    def reduce(self, tensor: np.ndarray) -> np.ndarray:
        """Reduce a tensor.

        Parameters
        ----------
        tensor : ndarray
            Of the problem's sizes and type, in native byte order and any memory layout.

        Returns
        -------
        ndarray
            Positions or values, of the problem's output sizes; fresh and C-contiguous.
        """
        problem = self._problem
        if self._is_by_rows and tensor.flags.c_contiguous:
            rows = tensor.reshape(-1, problem.count)
            if not self._gives_index:
                return elements_at(rows, self._find(rows)).reshape(problem.output_sizes)
            if tensor.size <= LARGE_CHUNK_ELEMENTS and len(rows) <= CHUNK_ROWS:
                positions = self._find(rows).astype(problem.index_type, copy=False)
                return positions.reshape(problem.output_sizes)
            step = min(CHUNK_ROWS, max(1, LARGE_CHUNK_ELEMENTS // problem.count))
            positions = np.empty(len(rows), problem.index_type)
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                positions[part] = self._find(rows[part])
            return positions.reshape(problem.output_sizes)
        result = np.empty(problem.output_sizes, problem.output_dtype)
        kept = [axis for axis in range(tensor.ndim) if axis not in self._axes]
        outer = sum(axis < self._axes[-1] for axis in kept)
        moved = tensor.transpose(*kept[:outer], *self._axes, *kept[outer:])
        self._fill(result.reshape([problem.sizes[axis] for axis in kept]), moved, outer)
        return result

    @property
    def _chunk(self) -> int:
        """Number of elements reduced at once."""
        return LARGE_CHUNK_ELEMENTS if self._is_by_columns else CHUNK_ELEMENTS

    def _fill(self, result: np.ndarray, x: np.ndarray, outer: int) -> None:
        """Write the results block by block; the reduced axes of `x` follow the first `outer` ones.

        A tensor that is too large for one block is cut along an axis that is not reduced.
        """
        inner = outer + len(self._axes)
        if x.size > self._chunk:
            for axis in (*range(outer), *range(inner, x.ndim)):
                least = CHUNK_COLUMNS if axis == x.ndim - 1 else 1
                if (size := x.shape[axis]) > least:
                    step = max(least, size * self._chunk // x.size)
                    target = axis if axis < outer else axis - len(self._axes)
                    for start in range(0, size, step):
                        part = slice(start, start + step)
                        self._fill(_at(result, target, part), _at(x, axis, part), outer)
                    return
        position, value = self._winners(x, outer, not self._gives_index)
        result[...] = (position if value is None else value).reshape(result.shape)

    def _winners(
        self, x: np.ndarray, outer: int, values: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the positions, and the values if `values` is set, each of shape (outer, inner).

        If the reduced axes alone are too large for one block, one of them is cut, and the winner
        of all is the winner among the winners of the parts.
        """
        reduced = range(outer, outer + len(self._axes))
        axis = next((axis for axis in reduced if x.shape[axis] > 1), None)
        if x.size <= self._chunk or axis is None:
            rows = math.prod(x.shape[:outer])
            count = math.prod(x.shape[outer : reduced.stop])
            return self._reduce(x.reshape(rows, count, x.size // (rows * count)), values)
        weight = math.prod(x.shape[axis + 1 : reduced.stop])
        step = max(1, x.shape[axis] * self._chunk // x.size)
        positions, winners = [], []
        for start in range(0, x.shape[axis], step):
            position, value = self._winners(_at(x, axis, slice(start, start + step)), outer, True)
            positions.append(position.astype(np.int64) + start * weight)
            winners.append(value)
        part, value = self._reduce(np.stack(winners, axis=1), values)
        return np.take_along_axis(np.stack(positions, axis=1), part[:, None], axis=1)[:, 0], value

    def _reduce(self, x: np.ndarray, values: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Reduce axis 1 of an array of rank 3."""
        if not self._gives_index and bits_follow_value(x):
            # Elements that are equal have equal bits, so the value needs no position.
            if x.shape[2] == 1:
                best = best_of_rows(x[..., 0], minimum=self._minimum)[:, None]
            else:
                keys = exact_key(x)
                best = keys.min(axis=1) if self._minimum else keys.max(axis=1)
                best = from_exact_key(best, x.dtype)
            return np.zeros(best.shape, np.uint8), best
        if self._is_by_columns and (x.strides[2] == x.itemsize or x.shape[1] <= MOST_COPIED_ROWS):
            position = self._winners_of_columns(x)
            value = np.take_along_axis(x, position[:, None], 1)[:, 0] if values else None
            return position, value
        x = x.transpose(0, 2, 1)
        if x.shape[1] > 1:
            # NumPy's argmax would make the same copy.
            x = np.ascontiguousarray(x)
        shape = x.shape[:2]
        x = x.reshape(-1, x.shape[2])
        keys = comparable(x, nan=self._problem.nan, minimum=self._minimum)
        position = self._find(keys)
        value = x[np.arange(len(x)), position].reshape(shape) if values else None
        return position.reshape(shape), value


def _at(x: np.ndarray, axis: int, index: slice) -> np.ndarray:
    """Index one axis of `x`; the result is a view."""
    return x[(slice(None),) * axis + (index,)]
