"""DirectML's descriptors of max pooling: MAX_POOLING, MAX_POOLING1 and MAX_POOLING2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from extremum.model.checks import integers
from extremum.model.descriptors import OperatorDesc, Result_co, check_output, check_tensor
from extremum.model.pooling import Pooling
from extremum.model.spatial import SpatialDimension
from extremum.model.tensor import BufferTensorDesc
from extremum.model.types import UINT32, DataType

__all__ = ["MaxPooling1OperatorDesc", "MaxPooling2OperatorDesc", "MaxPoolingOperatorDesc"]


_Results = NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]
"""The values, and the positions if there is a tensor for them."""


class _PoolingDesc(OperatorDesc[Result_co]):
    """What the three descriptors have in common."""

    input_tensor: BufferTensorDesc
    output_tensor: BufferTensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

    @property
    def index_tensor(self) -> BufferTensorDesc | None:
        """The output tensor that holds positions, or None."""
        return None

    @property
    def outputs(self) -> tuple[BufferTensorDesc, ...]:
        """The output tensors that are present, in the order of the fields."""
        index = self.index_tensor
        return (self.output_tensor,) if index is None else (self.output_tensor, index)

    @property
    def _dilations(self) -> tuple[int, ...]:
        return (1,) * (self.input_tensor.rank - 2)

    def __post_init__(self) -> None:
        """Check every rule that holds at every feature level."""
        check_tensor("input_tensor", self.input_tensor)
        check_tensor("output_tensor", self.output_tensor)
        index = self.index_tensor
        if index is not None:
            check_tensor("output_indices_tensor", index)
            if index.data_type not in (DataType.UINT32, DataType.UINT64):
                raise TypeError(
                    f"output_indices_tensor must be UINT32 or UINT64, not {index.data_type.name}"
                )
        given, expected = self.output_tensor.data_type, self.input_tensor.data_type
        if given is not expected:
            raise TypeError(
                f"output_tensor must have the input's type {expected.name}, not {given.name}"
            )
        for name in ("strides", "window_size", "start_padding", "end_padding", "dilations"):
            if hasattr(self, name):
                least = 0 if "padding" in name else 1
                object.__setattr__(self, name, integers(name, getattr(self, name), least))
        sizes = self.operator().output_sizes
        check_output("output_tensor", self.output_tensor, sizes)
        if index is not None:
            check_output("output_indices_tensor", index, sizes)

    def operator(self, nan: str = "propagate") -> Pooling:
        """Return the same problem as the object that the functions and the hardware work on.

        If the output is larger than the formula says, the end padding is enlarged accordingly.
        """
        index = self.index_tensor
        problem = Pooling(
            self.input_tensor.sizes,
            self.input_tensor.data_type,
            self.window_size,
            self.strides,
            self.start_padding,
            self.end_padding,
            self._dilations,
            return_indices=index is not None,
            index_type=UINT32 if index is None else index.data_type.dtype,
            nan=nan,
        )
        wanted = self.output_tensor.sizes
        if len(wanted) != len(problem.sizes) or wanted == problem.output_sizes:
            return problem
        end_padding = tuple(
            _end_padding(axis, dimension, outputs)
            for axis, (dimension, outputs) in enumerate(
                zip(problem.spatial, wanted[2:], strict=True), 2
            )
        )
        return replace(problem, end_padding=end_padding)


def _end_padding(axis: int, dimension: SpatialDimension, outputs: int) -> int:
    """Return the end padding with which an axis has `outputs` windows.

    Raises
    ------
    ValueError
        If there are fewer windows than the formula gives, or the last one would begin behind the
        elements.
    """
    least = dimension.outputs
    most = max(least, (dimension.size + dimension.start_padding - 1) // dimension.stride + 1)
    if not least <= outputs <= most:
        allowed = f"{least}" if least == most else f"{least} to {most}"
        raise ValueError(f"output_tensor must have size {allowed} on axis {axis}, not {outputs}")
    return dimension.end_padding_for(outputs)


@dataclass(frozen=True)
class MaxPoolingOperatorDesc(_PoolingDesc[NDArray[Any]]):
    """Finds the greatest element of every window: DirectML's DML_MAX_POOLING_OPERATOR_DESC.

    Attributes
    ----------
    input_tensor : BufferTensorDesc
        (N, C, H, W) or (N, C, D, H, W).
    output_tensor : BufferTensorDesc
        Of the input's type. Its spatial sizes are ``(size + start_padding + end_padding - extent)
        // stride + 1``. They may be larger, as long as every window begins in the input or in its
        start padding: DirectML's callers round up like this, and it counts as more end padding.
    strides, window_size : tuple of int
        One number of at least 1 for each spatial dimension.
    start_padding, end_padding : tuple of int
        One number of at least 0 for each spatial dimension.

    Raises
    ------
    TypeError, ValueError
        If a field breaks a rule. The message names the rule, then the value.

    Examples
    --------
    By the formula there is 1 window. The output has room for a second one, which begins at the last
    element and reaches into the padding.

    >>> x = BufferTensorDesc("uint8", (1, 1, 1, 3))
    >>> y = BufferTensorDesc("uint8", (1, 1, 1, 2))
    >>> MaxPoolingOperatorDesc(x, y, (1, 2), (1, 2), (0, 0), (0, 0)).evaluate(bytes([5, 6, 7, 0]))
    array([[[[6, 7]]]], dtype=uint8)
    """

    input_tensor: BufferTensorDesc
    output_tensor: BufferTensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

    @property
    def name(self) -> str:
        """The operator's name in DirectML."""
        return "MAX_POOLING"


@dataclass(frozen=True)
class MaxPooling1OperatorDesc(_PoolingDesc[_Results]):
    """Finds positions beside the values: DirectML's DML_MAX_POOLING1_OPERATOR_DESC.

    Fields that are not listed, and the errors, are those of `MaxPoolingOperatorDesc`.

    Attributes
    ----------
    output_indices_tensor : BufferTensorDesc or None
        Of type UINT32 or UINT64 and the output's sizes, or None if no positions are wanted. A
        position counts the whole input in row-major order, whatever its strides are. Of equal
        elements the first wins.

    Examples
    --------
    The two 7 tie.

    >>> x, y = BufferTensorDesc("uint8", (1, 1, 1, 4)), BufferTensorDesc("uint8", (1, 1, 1, 1))
    >>> positions = BufferTensorDesc("uint32", (1, 1, 1, 1))
    >>> desc = MaxPooling1OperatorDesc(x, y, positions, (1, 1), (1, 4), (0, 0), (0, 0))
    >>> [result.item() for result in desc.evaluate(bytes([5, 7, 7, 6]))]
    [7, 1]
    """

    input_tensor: BufferTensorDesc
    output_tensor: BufferTensorDesc
    output_indices_tensor: BufferTensorDesc | None
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

    @property
    def name(self) -> str:
        """The operator's name in DirectML."""
        return "MAX_POOLING1"

    @property
    def index_tensor(self) -> BufferTensorDesc | None:
        """The output tensor that holds positions, or None."""
        return self.output_indices_tensor


@dataclass(frozen=True)
class MaxPooling2OperatorDesc(_PoolingDesc[_Results]):
    """Takes dilated windows: DirectML's DML_MAX_POOLING2_OPERATOR_DESC.

    Fields that are not listed, and the errors, are those of `MaxPooling1OperatorDesc`.

    Attributes
    ----------
    dilations : tuple of int
        The distance of neighbouring taps, at least 1 for each spatial dimension.

    Examples
    --------
    The taps of the only window lie two apart, so it does not meet the 7.

    >>> x, y = BufferTensorDesc("uint8", (1, 1, 1, 3)), BufferTensorDesc("uint8", (1, 1, 1, 1))
    >>> geometry = {"strides": (1, 1), "start_padding": (0, 0), "end_padding": (0, 0)}
    >>> desc = MaxPooling2OperatorDesc(
    ...     x, y, None, window_size=(1, 2), dilations=(1, 2), **geometry
    ... )
    >>> desc.evaluate(bytes([5, 7, 6, 0])).item()
    6
    """

    input_tensor: BufferTensorDesc
    output_tensor: BufferTensorDesc
    output_indices_tensor: BufferTensorDesc | None
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def name(self) -> str:
        """The operator's name in DirectML."""
        return "MAX_POOLING2"

    @property
    def index_tensor(self) -> BufferTensorDesc | None:
        """The output tensor that holds positions, or None."""
        return self.output_indices_tensor

    @property
    def _dilations(self) -> tuple[int, ...]:
        return self.dilations
