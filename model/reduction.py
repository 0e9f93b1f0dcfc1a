"""One reduction as an object: checked once, then computed, planned or built in hardware."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from extremum.model.checks import Integers, as_tensor_of, integers, normalise_axes, tensor_sizes
from extremum.model.fast.reduction import ReductionKernel
from extremum.model.keywords import suggests_keywords
from extremum.model.types import (
    UINT32,
    AxisDirection,
    DataType,
    ReduceFunction,
    index_dtype,
    nan_mode,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["Reduction"]

INDEX_TYPES = ("uint32", "uint64", "int32", "int64")


@dataclass(frozen=True)
class Reduction:
    """One reduction: what to find, in a tensor of which sizes and type, over which axes.

    The object is checked when it is made, by the rules of DirectML's pages
    DML_ARGMIN_OPERATOR_DESC, DML_ARGMAX_OPERATOR_DESC and DML_REDUCE_OPERATOR_DESC. The functions
    of arrays, the descriptors, the plans of the host and the gateware all work on such an object.

    Attributes
    ----------
    function : ReduceFunction
        ARGMIN and ARGMAX find positions, MIN and MAX values.
    sizes : tuple of int
        The 1 to 8 sizes of the input.
    data_type : DataType
        Element type of the input, and of the output of MIN and MAX.
    axes : tuple of int
        Axes to reduce, ascending and not negative.
    axis_direction : AxisDirection
        Whether the first (INCREASING) or the last of equal elements wins. MIN and MAX have
        INCREASING.
    index_type : dtype
        Type of a position: uint32, uint64, int32 or int64. MIN and MAX have uint32, and no
        positions.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or loses to every number.

    Raises
    ------
    TypeError, ValueError
        If an attribute breaks a rule. The message names the rule, then the value.

    Examples
    --------
    The greatest element stands at position 0 and again at position 2.

    >>> problem = Reduction.of("argmax", (3,), "int8", axis_direction="decreasing")
    >>> problem.evaluate(np.array([2, 1, 2], np.int8))
    array([2], dtype=uint32)
    """

    function: ReduceFunction
    sizes: tuple[int, ...]
    data_type: DataType
    axes: tuple[int, ...]
    axis_direction: AxisDirection = AxisDirection.INCREASING
    index_type: np.dtype[Any] = UINT32
    nan: str = "propagate"

    @classmethod
    @suggests_keywords
    def of(
        cls,
        function: ReduceFunction | str,
        sizes: Sequence[SupportsIndex],
        data_type: DataType | DTypeLike,
        axes: Integers | None = None,
        *,
        axis_direction: AxisDirection | str = "increasing",
        index_type: DTypeLike = "uint32",
        nan: str = "propagate",
    ) -> Reduction:
        """Make a reduction from what a user writes.

        Parameters
        ----------
        function : ReduceFunction or str
            A member, or its name in upper or lower case.
        sizes : sequence of int
        data_type : DataType or dtype_like
        axes : int, sequence of int, or None
            In any order; negative axes count from the end, None means all.
        axis_direction, index_type, nan
            As the attributes, or their names.

        Returns
        -------
        Reduction

        Raises
        ------
        TypeError, ValueError
            If a parameter breaks a rule.

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
        """Check every rule, whether the object is made by `of` or by the constructor."""
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
        """Sizes of the output: those of the input, with 1 for each reduced axis."""
        return tuple(1 if axis in self.axes else n for axis, n in enumerate(self.sizes))

    @cached_property
    def count(self) -> int:
        """Number of input elements for each output element."""
        return math.prod(self.sizes[axis] for axis in self.axes)

    @cached_property
    def output_dtype(self) -> np.dtype[Any]:
        """NumPy type of the output: the index type, but the input's type for MIN and MAX."""
        return self.index_type if self.function.gives_index else self.data_type.dtype

    def evaluate(self, x: ArrayLike) -> NDArray[Any]:
        """Compute the reduction of `x`.

        Parameters
        ----------
        x : array_like
            A tensor of `sizes` and `data_type`, in any memory layout and byte order. It is not
            changed.

        Returns
        -------
        ndarray
            Positions, or winning elements with their bits, of `output_sizes`; fresh and
            C-contiguous. Positions count row-major over the reduced axes, in the order of the
            dimensions.

        Raises
        ------
        TypeError, ValueError
            If `x` has another type or other sizes.
        """
        return self.compute(as_tensor_of(x, self.data_type, self.sizes))

    def compute(self, tensor: NDArray[Any]) -> NDArray[Any]:
        """Reduce what `as_tensor_of` returned, without a check.

        The tensor must have the type `data_type` and the sizes `sizes`. The result is that of
        `evaluate`.
        """
        return self._kernel.reduce(tensor)

    @cached_property
    def _kernel(self) -> ReductionKernel:
        # Pyright knows this class under two names, because `extremum` is a folder of links to it.
        return ReductionKernel(self)  # pyright: ignore[reportArgumentType]
