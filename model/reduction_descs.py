"""DirectML's descriptors of the operators that reduce axes: ARGMIN, ARGMAX and REDUCE."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from extremum.model.checks import integers, normalise_axes
from extremum.model.descriptors import OperatorDesc, check_output, check_tensor
from extremum.model.reduction import INDEX_TYPES, Reduction
from extremum.model.tensor import BufferTensorDesc
from extremum.model.types import UINT32, AxisDirection, ReduceFunction

__all__ = ["ArgMaxOperatorDesc", "ArgMinOperatorDesc", "ReduceOperatorDesc"]


class _ReducingDesc(OperatorDesc[NDArray[Any]]):
    """What the three descriptors have in common."""

    input_tensor: BufferTensorDesc
    output_tensor: BufferTensorDesc
    axes: tuple[int, ...]

    @property
    def outputs(self) -> tuple[BufferTensorDesc, ...]:
        """The only output tensor."""
        return (self.output_tensor,)

    def _check(self) -> None:
        """Check every rule that holds at every feature level."""
        check_tensor("input_tensor", self.input_tensor)
        check_tensor("output_tensor", self.output_tensor)
        rank = self.input_tensor.rank
        axes = integers("axes", self.axes, None)
        if any(not 0 <= axis < rank for axis in axes):
            raise ValueError(f"axes must be in [0, {rank - 1}] for rank {rank}, not {axes}")
        normalise_axes(axes, rank)
        object.__setattr__(self, "axes", axes)
        output = self.output_tensor
        if self.index_tensor is not None and output.data_type.value not in INDEX_TYPES:
            told = output.data_type.name
            raise TypeError(f"output_tensor must be UINT32, UINT64, INT32 or INT64, not {told}")
        problem = self.operator()
        if output.data_type.dtype != problem.output_dtype:
            expected = self.input_tensor.data_type.name
            raise TypeError(
                f"output_tensor must have the input's type {expected}, not {output.data_type.name}"
            )
        check_output("output_tensor", output, problem.output_sizes)

    @abstractmethod
    def operator(self, nan: str = "propagate") -> Reduction:
        """Return the same problem as the object that the functions and the hardware work on."""

    def _operator(self, function: ReduceFunction, direction: AxisDirection, nan: str) -> Reduction:
        return Reduction.of(
            function,
            self.input_tensor.sizes,
            self.input_tensor.data_type,
            self.axes,
            axis_direction=direction,
            index_type=self.output_tensor.data_type if function.gives_index else UINT32,
            nan=nan,
        )


@dataclass(frozen=True)
class _PositionDesc(_ReducingDesc):
    """What ARGMIN and ARGMAX have in common: all but which element wins."""

    _FUNCTION: ClassVar[ReduceFunction]

    input_tensor: BufferTensorDesc
    output_tensor: BufferTensorDesc
    axes: tuple[int, ...]
    axis_direction: AxisDirection = AxisDirection.INCREASING

    def __post_init__(self) -> None:
        """Check every rule that holds at every feature level."""
        object.__setattr__(self, "axis_direction", AxisDirection.of(self.axis_direction))
        self._check()

    @property
    def name(self) -> str:
        """The operator's name in DirectML."""
        return self._FUNCTION.name

    @property
    def index_tensor(self) -> BufferTensorDesc:
        """The output tensor, which holds positions."""
        return self.output_tensor

    def operator(self, nan: str = "propagate") -> Reduction:
        """Return the same problem as the object that the functions and the hardware work on."""
        return self._operator(self._FUNCTION, self.axis_direction, nan)


@dataclass(frozen=True)
class ArgMinOperatorDesc(_PositionDesc):
    """Finds the position of the smallest element over some axes: DML_ARGMIN_OPERATOR_DESC.

    Attributes
    ----------
    input_tensor : BufferTensorDesc
    output_tensor : BufferTensorDesc
        Of type UINT32, UINT64, INT32 or INT64, and of the input's sizes with 1 for each reduced
        axis. Positions count row-major over the reduced axes, in the order of the dimensions.
    axes : tuple of int
        At least one axis from 0 to rank - 1; their order does not matter.
    axis_direction : AxisDirection
        Whether the first (INCREASING) or the last of equal elements wins.

    Raises
    ------
    TypeError, ValueError
        If a field breaks a rule. The message names the rule, then the value.

    Examples
    --------
    The smallest element stands at position 1 and again at position 2.

    >>> x, y = BufferTensorDesc("uint8", (4,)), BufferTensorDesc("uint32", (1,))
    >>> ArgMinOperatorDesc(x, y, axes=(0,)).evaluate(bytes([2, 1, 1, 2]))
    array([1], dtype=uint32)
    >>> ArgMinOperatorDesc(x, y, (0,), AxisDirection.DECREASING).evaluate(bytes([2, 1, 1, 2]))
    array([2], dtype=uint32)
    """

    _FUNCTION = ReduceFunction.ARGMIN


@dataclass(frozen=True)
class ArgMaxOperatorDesc(_PositionDesc):
    """Finds the position of the greatest element over some axes: DML_ARGMAX_OPERATOR_DESC.

    Fields and errors are those of `ArgMinOperatorDesc`.

    Examples
    --------
    >>> x, y = BufferTensorDesc("uint8", (4,)), BufferTensorDesc("uint32", (1,))
    >>> ArgMaxOperatorDesc(x, y, axes=(0,)).evaluate(bytes([2, 1, 1, 2]))
    array([0], dtype=uint32)
    """

    _FUNCTION = ReduceFunction.ARGMAX


@dataclass(frozen=True)
class ReduceOperatorDesc(_ReducingDesc):
    """Finds the extreme element over some axes, or its position: DML_REDUCE_OPERATOR_DESC.

    Attributes
    ----------
    function : ReduceFunction
        MIN and MAX find the element, ARGMIN and ARGMAX its position. Of equal elements the first
        wins.
    input_tensor : BufferTensorDesc
    output_tensor : BufferTensorDesc
        Of the input's type for MIN and MAX, otherwise as in `ArgMinOperatorDesc`.
    axes : tuple of int
        At least one axis from 0 to rank - 1; their order does not matter.

    Raises
    ------
    TypeError, ValueError
        If a field breaks a rule. The message names the rule, then the value.

    Examples
    --------
    >>> x, y = BufferTensorDesc("int8", (2, 2)), BufferTensorDesc("int8", (2, 1))
    >>> ReduceOperatorDesc(ReduceFunction.MIN, x, y, axes=(1,)).evaluate(bytes([5, 3, 3, 3]))
    array([[3],
           [3]], dtype=int8)
    """

    function: ReduceFunction
    input_tensor: BufferTensorDesc
    output_tensor: BufferTensorDesc
    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check every rule that holds at every feature level."""
        object.__setattr__(self, "function", ReduceFunction.of(self.function))
        self._check()

    @property
    def name(self) -> str:
        """The operator's name in DirectML, followed by the function."""
        return f"REDUCE {self.function.name}"

    @property
    def index_tensor(self) -> BufferTensorDesc | None:
        """The output tensor if it holds positions, else None."""
        return self.output_tensor if self.function.gives_index else None

    def operator(self, nan: str = "propagate") -> Reduction:
        """Return the same problem as the object that the functions and the hardware work on."""
        return self._operator(self.function, AxisDirection.INCREASING, nan)
