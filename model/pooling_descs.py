"""Descriptors of the pooling operators: MAX_POOLING, MAX_POOLING1 and MAX_POOLING2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from extremum.model.checks import integers
from extremum.model.descriptors import OperatorDesc, check_output, check_tensor
from extremum.model.pooling import Pooling
from extremum.model.spatial import SpatialDimension
from extremum.model.tensor import BufferTensorDesc
from extremum.model.types import UINT32, DataType

__all__ = ["MaxPooling1OperatorDesc", "MaxPooling2OperatorDesc", "MaxPoolingOperatorDesc"]


class _PoolingDesc(OperatorDesc):
    """What the three have in common."""

    input_tensor: BufferTensorDesc
    output_tensor: BufferTensorDesc
    strides: tuple[int, ...]
    window_size: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]

    @property
    def index_tensor(self) -> BufferTensorDesc | None:
        """The output that holds positions, if there is one."""
        return None

    @property
    def outputs(self) -> tuple[BufferTensorDesc, ...]:
        """The output tensors that there are, in the order of the fields."""
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
        """Give the same problem in the form that functions of arrays and the hardware take.

        An output larger than the formula counts as end padding.
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
            _end_padding(dimension, outputs)
            for dimension, outputs in zip(problem.spatial, wanted[2:], strict=True)
        )
        return replace(problem, end_padding=end_padding)


def _end_padding(dimension: SpatialDimension, outputs: int) -> int:
    """End padding that gives a larger number of outputs, if the windows begin early enough."""
    most = max(
        dimension.outputs, (dimension.size + dimension.start_padding - 1) // dimension.stride + 1
    )
    if not dimension.outputs <= outputs <= most:
        raise ValueError(
            f"output_tensor must have a size of {dimension.outputs} to {most}, not {outputs}"
        )
    return dimension.end_padding_for(outputs)


@dataclass(frozen=True)
class MaxPoolingOperatorDesc(_PoolingDesc):
    """Largest element of every window: DML_MAX_POOLING_OPERATOR_DESC.

    Attributes
    ----------
    input_tensor : BufferTensorDesc
        (N, C, H, W) or (N, C, D, H, W).
    output_tensor : BufferTensorDesc
        Of the input's type. Its sizes are those of the formula, or larger by windows that still
        begin inside the start-padded input; those count as end padding.
    strides, window_size : tuple of int
        At least 1, one for each spatial dimension.
    start_padding, end_padding : tuple of int
        At least 0.

    Raises
    ------
    TypeError, ValueError
        If any of it breaks a rule. The message gives the rule, then the bad value.

    Examples
    --------
    The formula gives 1 window; a second one, which begins at the last element, may be asked for.

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
class MaxPooling1OperatorDesc(_PoolingDesc):
    """The same with positions: DML_MAX_POOLING1_OPERATOR_DESC.

    Attributes
    ----------
    output_indices_tensor : BufferTensorDesc or None
        Of type UINT32 or UINT64 and the output's sizes. A position counts the whole input, packed
        row-major. None leaves positions out.

    The other fields and the errors are those of `MaxPoolingOperatorDesc`.
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
        """The output that holds positions, if there is one."""
        return self.output_indices_tensor


@dataclass(frozen=True)
class MaxPooling2OperatorDesc(_PoolingDesc):
    """The same with dilations: DML_MAX_POOLING2_OPERATOR_DESC.

    Attributes
    ----------
    dilations : tuple of int
        At least 1: the distance of neighbouring taps.

    The other fields and the errors are those of `MaxPooling1OperatorDesc`.
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
        """The output that holds positions, if there is one."""
        return self.output_indices_tensor

    @property
    def _dilations(self) -> tuple[int, ...]:
        return self.dilations
