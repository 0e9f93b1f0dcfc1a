"""Reductions over axes: the position of the extreme element (argmin, argmax) or its value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from .checks import Integers, as_tensor, integers, normalise_axes, tensor_sizes
from .order import at, bits_follow_value, comparable, from_key
from .rows import best_of_rows, first_winner, last_winner
from .types import UINT32, AxisDirection, DataType, ReduceFunction, index_dtype, nan_mode

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

__all__ = ["Reduction"]

INDEX_TYPES = ("uint32", "uint64", "int32", "int64")

CHUNK_ELEMENTS = 1 << 20
"""Elements looked at in one go; what is made of them takes a few times their memory."""
CHUNK_COLUMNS = 16
"""Least width of a block whose reduced axis is not the last: a whole cache line is read anyway."""
CHUNK_ROWS = 1 << 16
"""Rows given to NumPy in one go, which makes 8 bytes of each."""


@dataclass(frozen=True)
class Reduction:
    """One reduction, checked: what to find, in a tensor of which sizes and type, over which axes.

    Attributes
    ----------
    function : ReduceFunction
    sizes : tuple of int
        Sizes of the input; 1 to 8 of them.
    data_type : DataType
        Element type of the input, and of the output of MIN and MAX.
    axes : tuple of int
        Axes to reduce, ascending and not negative.
    axis_direction : AxisDirection
        INCREASING takes the first of equal elements, DECREASING the last. ARGMIN and ARGMAX only.
    index_type : dtype
        Type of a position: uint32, uint64, int32 or int64. ARGMIN and ARGMAX only.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or none.

    Raises
    ------
    TypeError, ValueError
        If any of it breaks a rule. The message gives the rule, then the bad value.

    Examples
    --------
    The 2 stands in two places; the last of them has position 2.

    >>> problem = Reduction.of("argmax", (3,), "int8", axis_direction="decreasing")
    >>> problem.evaluate(np.array([2, 1, 2], np.int8))
    array([2], dtype=uint32)
    """

    function: ReduceFunction
    sizes: tuple[int, ...]
    data_type: DataType
    axes: tuple[int, ...]
    axis_direction: AxisDirection = AxisDirection.INCREASING
    index_type: np.dtype = UINT32
    nan: str = "propagate"

    @classmethod
    def of(
        cls,
        function: ReduceFunction | str,
        sizes: Sequence[int],
        data_type: DataType | DTypeLike,
        axes: Integers | None = None,
        *,
        axis_direction: AxisDirection | str = "increasing",
        index_type: DTypeLike = "uint32",
        nan: str = "propagate",
    ) -> Reduction:
        """Build a reduction from what a user writes.

        Parameters
        ----------
        function : ReduceFunction or str
            A name in any case will do.
        sizes : sequence of int
        data_type : DataType or dtype_like
        axes : int, sequence of int, or None
            In any order, negative from the end; None for all.
        axis_direction, index_type, nan
            As the attributes, or their names.

        Raises
        ------
        TypeError, ValueError
            If any of it breaks a rule.

        Examples
        --------
        >>> Reduction.of("argmin", (2, 3, 4), np.float32, axes=-1).axes
        (2,)
        """
        checked = tensor_sizes(sizes)
        return cls(
            ReduceFunction.of(function),
            checked,
            DataType.from_dtype(data_type),
            normalise_axes(axes, len(checked)),
            AxisDirection.of(axis_direction),
            index_dtype(index_type, INDEX_TYPES),
            nan,
        )

    def __post_init__(self) -> None:
        """Check every rule, also for those who call the constructor."""
        function = ReduceFunction.of(self.function)
        sizes = tensor_sizes(self.sizes)
        axes = integers("axes", self.axes)
        if axes != normalise_axes(axes, len(sizes)):
            raise ValueError(f"axes of a Reduction must ascend, not {axes}")
        checked = {
            "function": function,
            "sizes": sizes,
            "data_type": DataType.from_dtype(self.data_type),
            "axes": axes,
            "axis_direction": AxisDirection.of(self.axis_direction),
            "index_type": index_dtype(self.index_type, INDEX_TYPES),
            "nan": nan_mode(self.nan),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if not function.gives_index:
            if self.axis_direction is not AxisDirection.INCREASING:
                raise ValueError(f"axis_direction of {function.name} must be increasing")
            if self.index_type != np.uint32:
                raise ValueError(f"index_type is for ARGMIN and ARGMAX, not for {function.name}")
        if self.index_type == np.int32 and self.count > 2**31:
            raise ValueError(
                f"an int32 index needs at most 2^31 reduced elements, not {self.count}"
            )

    @cached_property
    def output_sizes(self) -> tuple[int, ...]:
        """Sizes of the output: those of the input, and 1 for each reduced axis."""
        return tuple(1 if axis in self.axes else n for axis, n in enumerate(self.sizes))

    @cached_property
    def count(self) -> int:
        """Number of elements reduced to one."""
        return math.prod(self.sizes[axis] for axis in self.axes)

    @cached_property
    def output_dtype(self) -> np.dtype:
        """NumPy type of the output: the index type, or the input's type for MIN and MAX."""
        return self.index_type if self.function.gives_index else self.data_type.dtype

    def evaluate(self, x: ArrayLike) -> np.ndarray:
        """Compute the reduction of `x`.

        Parameters
        ----------
        x : array_like
            Of `sizes` and `data_type`; any memory layout and byte order. It is not changed.

        Returns
        -------
        ndarray
            Fresh and C-contiguous, of `output_sizes`. Positions count row-major over the reduced
            axes, in the order of the dimensions. Values have the bits of the element that wins.

        Raises
        ------
        TypeError, ValueError
            If `x` has another type or other sizes.
        """
        tensor = as_tensor(x)
        if DataType.from_dtype(tensor.dtype) is not self.data_type:
            raise TypeError(f"x must have type {self.data_type.value}, not {tensor.dtype}")
        if tensor.shape != self.sizes:
            raise ValueError(f"x must have sizes {self.sizes}, not {tensor.shape}")
        return self.reduce(tensor)

    def reduce(self, tensor: np.ndarray) -> np.ndarray:
        """Do what `evaluate` does, for what `as_tensor` gave, of `sizes` and `data_type`."""
        # NumPy copies what is not contiguous.
        if self._is_by_rows and tensor.flags.c_contiguous:
            rows = tensor.reshape(-1, self.count)
            step = min(CHUNK_ROWS, max(1, CHUNK_ELEMENTS // self.count))
            if len(rows) <= step:
                positions = self._find(rows).astype(self.index_type, copy=False)
                return positions.reshape(self.output_sizes)
            positions = np.empty(len(rows), self.index_type)
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                positions[part] = self._find(rows[part])
            return positions.reshape(self.output_sizes)
        result = np.empty(self.output_sizes, self.output_dtype)
        kept = [axis for axis in range(tensor.ndim) if axis not in self.axes]
        outer = sum(axis < self.axes[-1] for axis in kept)
        moved = tensor.transpose(*kept[:outer], *self.axes, *kept[outer:])
        self._fill(result.reshape([self.sizes[axis] for axis in kept]), moved, outer)
        return result

    @cached_property
    def _is_by_rows(self) -> bool:
        """Whether the winners of rows are wanted, and NumPy orders the elements as they stand."""
        return (
            self.function.gives_index
            and self.axes == tuple(range(len(self.sizes) - len(self.axes), len(self.sizes)))
            and self.data_type is not DataType.FLOAT16
            and (self.nan == "propagate" or not self.data_type.is_float)
        )

    @cached_property
    def _find(self) -> Callable[[np.ndarray], np.ndarray]:
        """What finds the winner of each row."""
        decreasing = self.axis_direction is AxisDirection.DECREASING
        find = last_winner if decreasing else first_winner
        return partial(find, minimum=self.function.is_minimum)

    def _fill(self, result: np.ndarray, x: np.ndarray, outer: int) -> None:
        """Reduce the axes of `x` that follow the first `outer` ones, block by block."""
        inner = outer + len(self.axes)
        if x.size > CHUNK_ELEMENTS:
            for axis in (*range(outer), *range(inner, x.ndim)):
                # A whole cache line is read anyway.
                least = CHUNK_COLUMNS if axis == x.ndim - 1 else 1
                if (size := x.shape[axis]) > least:
                    step = max(least, size * CHUNK_ELEMENTS // x.size)
                    target = axis if axis < outer else axis - len(self.axes)
                    for start in range(0, size, step):
                        part = slice(start, start + step)
                        self._fill(at(result, target, part), at(x, axis, part), outer)
                    return
        position, value = self._winners(x, outer, not self.function.gives_index)
        result[...] = (position if value is None else value).reshape(result.shape)

    def _winners(
        self, x: np.ndarray, outer: int, values: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Give the positions, and the `values` if asked for, as (outer, inner)."""
        reduced = range(outer, outer + len(self.axes))
        axis = next((axis for axis in reduced if x.shape[axis] > 1), None)
        if x.size <= CHUNK_ELEMENTS or axis is None:
            rows = math.prod(x.shape[:outer])
            count = math.prod(x.shape[outer : reduced.stop])
            return self._reduce(x.reshape(rows, count, x.size // (rows * count)), values)
        # The winner of all is the winner among the winners of the parts.
        weight = math.prod(x.shape[axis + 1 : reduced.stop])
        step = max(1, x.shape[axis] * CHUNK_ELEMENTS // x.size)
        positions, winners = [], []
        for start in range(0, x.shape[axis], step):
            position, value = self._winners(at(x, axis, slice(start, start + step)), outer, True)
            positions.append(position.astype(np.int64) + start * weight)
            winners.append(value)
        part, value = self._reduce(np.stack(winners, axis=1), values)
        return np.take_along_axis(np.stack(positions, axis=1), part[:, None], axis=1)[:, 0], value

    def _reduce(self, x: np.ndarray, values: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Reduce axis 1 of an array of rank 3."""
        minimum = self.function.is_minimum
        if not self.function.gives_index and bits_follow_value(x):
            # Nobody asks for positions, and equal elements are the same.
            if x.shape[2] == 1:
                best = best_of_rows(x[..., 0], minimum=minimum)[:, None]
            else:
                keys = comparable(x, minimum=minimum)
                best = from_key(keys.min(axis=1) if minimum else keys.max(axis=1), x.dtype)
            return np.zeros(best.shape, np.uint8), best
        x = x.transpose(0, 2, 1)
        if x.shape[1] > 1:
            # NumPy's argmax would make the same copy.
            x = np.ascontiguousarray(x)
        shape = x.shape[:2]
        x = x.reshape(-1, x.shape[2])
        keys = comparable(x, nan=self.nan, minimum=minimum)
        position = self._find(keys)
        value = x[np.arange(len(x)), position].reshape(shape) if values else None
        return position.reshape(shape), value
