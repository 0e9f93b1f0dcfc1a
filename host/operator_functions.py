"""The operators as methods, with the signatures of the golden model's functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, overload

from extremum.model import AxisDirection, Pooling, ReduceFunction, Reduction, as_tensor
from extremum.model.descriptors import OperatorDesc
from extremum.model.keywords import suggests_keywords

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from extremum.model.checks import Integers
    from extremum.model.tensor import BytesLike

__all__ = ["OperatorFunctions"]

_Result = TypeVar("_Result")


class _PoolingOptions(TypedDict, total=False):
    """The arguments of a pooling that do not decide whether positions are returned, too."""

    strides: Integers
    start_padding: Integers
    end_padding: Integers
    dilations: Integers
    index_type: DTypeLike
    index_layout: str
    nan: str


class OperatorFunctions(ABC):
    """What carries out operators, as functions of arrays and of descriptors with raw buffers."""

    @overload
    @abstractmethod
    def run(self, problem: Reduction, x: ArrayLike) -> NDArray[Any]: ...

    @overload
    @abstractmethod
    def run(
        self, problem: Reduction | Pooling, x: ArrayLike
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]: ...

    @abstractmethod
    def run(
        self, problem: Reduction | Pooling, x: ArrayLike
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Carry out an operator: return what ``problem.evaluate(x)`` returns, bit for bit."""

    @suggests_keywords
    def argmin(
        self,
        x: ArrayLike,
        axes: Integers | None = None,
        *,
        axis_direction: AxisDirection | str = "increasing",
        index_type: DTypeLike = "uint32",
        nan: str = "propagate",
    ) -> NDArray[Any]:
        """Do as :func:`extremum.model.argmin`."""
        return self._reduce(
            ReduceFunction.ARGMIN, x, axes,
            axis_direction=axis_direction, index_type=index_type, nan=nan,
        )  # fmt: skip

    @suggests_keywords
    def argmax(
        self,
        x: ArrayLike,
        axes: Integers | None = None,
        *,
        axis_direction: AxisDirection | str = "increasing",
        index_type: DTypeLike = "uint32",
        nan: str = "propagate",
    ) -> NDArray[Any]:
        """Do as :func:`extremum.model.argmax`."""
        return self._reduce(
            ReduceFunction.ARGMAX, x, axes,
            axis_direction=axis_direction, index_type=index_type, nan=nan,
        )  # fmt: skip

    @suggests_keywords
    def reduce_min(
        self, x: ArrayLike, axes: Integers | None = None, *, nan: str = "propagate"
    ) -> NDArray[Any]:
        """Do as :func:`extremum.model.reduce_min`."""
        return self._reduce(ReduceFunction.MIN, x, axes, nan=nan)

    @suggests_keywords
    def reduce_max(
        self, x: ArrayLike, axes: Integers | None = None, *, nan: str = "propagate"
    ) -> NDArray[Any]:
        """Do as :func:`extremum.model.reduce_max`."""
        return self._reduce(ReduceFunction.MAX, x, axes, nan=nan)

    @overload
    def max_pooling(
        self,
        x: ArrayLike,
        window: Integers,
        *,
        return_indices: Literal[False] = False,
        **others: Unpack[_PoolingOptions],
    ) -> NDArray[Any]: ...

    @overload
    def max_pooling(
        self,
        x: ArrayLike,
        window: Integers,
        *,
        return_indices: Literal[True],
        **others: Unpack[_PoolingOptions],
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...

    @overload
    def max_pooling(
        self,
        x: ArrayLike,
        window: Integers,
        *,
        return_indices: bool,
        **others: Unpack[_PoolingOptions],
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]: ...

    @suggests_keywords
    def max_pooling(
        self,
        x: ArrayLike,
        window: Integers,
        *,
        strides: Integers = 1,
        start_padding: Integers = 0,
        end_padding: Integers = 0,
        dilations: Integers = 1,
        return_indices: bool = False,
        index_type: DTypeLike = "uint32",
        index_layout: str = "tensor",
        nan: str = "propagate",
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Do as :func:`extremum.model.max_pooling`."""
        tensor = as_tensor(x)
        problem = Pooling.of(
            tensor.shape,
            tensor.dtype,
            window,
            strides=strides,
            start_padding=start_padding,
            end_padding=end_padding,
            dilations=dilations,
            return_indices=return_indices,
            index_type=index_type,
            index_layout=index_layout,
            nan=nan,
        )
        return self.run(problem, tensor)

    def execute(
        self,
        desc: OperatorDesc[_Result],
        *inputs: BytesLike,
        out: BytesLike | tuple[BytesLike, ...] | list[Any] | None = None,
        nan: str = "propagate",
    ) -> _Result:
        """Carry out a descriptor on raw buffers, as its ``evaluate`` does.

        Parameters
        ----------
        desc
            One of the operator descriptors of :mod:`extremum.model`.
        inputs, out, nan
            See the descriptor's ``evaluate``.

        Raises
        ------
        TypeError
            ``desc`` is no operator descriptor.
        """
        if not isinstance(desc, OperatorDesc):
            raise TypeError(f"desc must be an operator descriptor of extremum.model, not {desc!r}")
        return desc.run(self.run, *inputs, out=out, nan=nan)

    def _reduce(
        self, function: ReduceFunction, x: ArrayLike, axes: Any, **options: Any
    ) -> NDArray[Any]:
        tensor = as_tensor(x)
        problem = Reduction.of(function, tensor.shape, tensor.dtype, axes, **options)
        return self.run(problem, tensor)
