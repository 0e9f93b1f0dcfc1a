"""The operators as functions of arrays, in the style of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np  # noqa: F401 (the examples use it)

from extremum.model.checks import Integers, as_tensor, normalise_axes, spread
from extremum.model.keywords import suggests_keywords
from extremum.model.pooling import Pooling
from extremum.model.reduction import Reduction
from extremum.model.types import UINT32, AxisDirection, ReduceFunction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["argmax", "argmin", "max_pooling", "reduce_max", "reduce_min"]

_Problem = TypeVar("_Problem", Reduction, Pooling)


def _remembered(problem: Callable[..., _Problem]) -> Callable[..., _Problem]:
    """Make a class of problems remember its last objects.

    A program asks for the same few problems again and again, and for a small tensor the checks take
    longer than the computation.
    """
    # Without `typed`, True and 1.0 would be taken for 1 after a call with 1.
    remember = lru_cache(maxsize=64, typed=True)(problem)

    def find(*fields: Any) -> _Problem:
        try:
            return remember(*fields)
        except TypeError:
            # A field that is a list cannot be looked up. The check of the field has a better
            # message, which names it.
            pass
        return problem(*fields)

    return find


_reduction = _remembered(Reduction)
_pooling = _remembered(Pooling)


@suggests_keywords
def argmin(
    x: ArrayLike,
    axes: Integers | None = None,
    *,
    axis_direction: AxisDirection | str = "increasing",
    index_type: DTypeLike = "uint32",
    nan: str = "propagate",
) -> NDArray[Any]:
    """Find the position of the smallest element over some axes.

    The operator is that of DirectML's page DML_ARGMIN_OPERATOR_DESC.

    Parameters
    ----------
    x : array_like
        A tensor of rank 1 to 8 and of a type of `DataType`, in any memory layout and byte order.
    axes : int, sequence of int, or None
        The axes to reduce; negative ones count from the end, None means all. Their order does not
        matter.
    axis_direction : {"increasing", "decreasing"}
        Whether the first or the last of equal elements wins.
    index_type : {"uint32", "uint64", "int32", "int64"} or dtype
        Type of the result.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or loses to every number.

    Returns
    -------
    ndarray
        Positions, in the rank of `x` with reduced axes of size 1. They count row-major over the
        reduced axes, in the order of the dimensions.

    Raises
    ------
    TypeError
        If `x` or a parameter has a wrong type, or a keyword a wrong name.
    ValueError
        If an axis is out of range or repeated, or another rule is broken.

    See Also
    --------
    extremum.model.reference.reduction : The same in plain Python.

    Examples
    --------
    The smallest element stands at position 0 and again at position 4.

    >>> argmin([1, 2, 3, 2, 1])
    array([0], dtype=uint32)
    >>> argmin([1, 2, 3, 2, 1], axis_direction="decreasing")
    array([4], dtype=uint32)
    """
    tensor = as_tensor(x)
    return _reduction(
        ReduceFunction.ARGMIN,
        tensor.shape,
        tensor.dtype,
        normalise_axes(axes, tensor.ndim),
        axis_direction,
        index_type,
        nan,
    ).compute(tensor)


@suggests_keywords
def argmax(
    x: ArrayLike,
    axes: Integers | None = None,
    *,
    axis_direction: AxisDirection | str = "increasing",
    index_type: DTypeLike = "uint32",
    nan: str = "propagate",
) -> NDArray[Any]:
    """Find the position of the greatest element over some axes.

    Parameters, result and errors are those of `argmin`. The operator is that of DirectML's page
    DML_ARGMAX_OPERATOR_DESC.

    Examples
    --------
    >>> argmax([[1, 2, 3], [3, 0, 4], [2, 5, 2]], axes=1)
    array([[2],
           [2],
           [1]], dtype=uint32)

    The first NaN wins, or the greatest number.

    >>> x = np.array([1, np.nan, 3, np.nan], np.float32)
    >>> argmax(x), argmax(x, nan="ignore")
    (array([1], dtype=uint32), array([2], dtype=uint32))
    """
    tensor = as_tensor(x)
    return _reduction(
        ReduceFunction.ARGMAX,
        tensor.shape,
        tensor.dtype,
        normalise_axes(axes, tensor.ndim),
        axis_direction,
        index_type,
        nan,
    ).compute(tensor)


@suggests_keywords
def reduce_min(
    x: ArrayLike, axes: Integers | None = None, *, nan: str = "propagate"
) -> NDArray[Any]:
    """Find the smallest element over some axes.

    The operator is that of DirectML's page DML_REDUCE_OPERATOR_DESC with DML_REDUCE_FUNCTION_MIN.

    Parameters
    ----------
    x, axes, nan
        As in `argmin`.

    Returns
    -------
    ndarray
        Elements with their bits, in the rank of `x` with reduced axes of size 1. Of equal elements
        the first wins.

    Raises
    ------
    TypeError, ValueError
        As in `argmin`.

    Examples
    --------
    The two zeros are equal, so the first of them wins.

    >>> reduce_min(np.array([0.0, -0.0], np.float32))
    array([0.], dtype=float32)
    """
    tensor = as_tensor(x)
    return _reduction(
        ReduceFunction.MIN,
        tensor.shape,
        tensor.dtype,
        normalise_axes(axes, tensor.ndim),
        AxisDirection.INCREASING,
        UINT32,
        nan,
    ).compute(tensor)


@suggests_keywords
def reduce_max(
    x: ArrayLike, axes: Integers | None = None, *, nan: str = "propagate"
) -> NDArray[Any]:
    """Find the greatest element over some axes.

    Parameters, result and errors are those of `reduce_min`. The operator is that of DirectML's page
    DML_REDUCE_OPERATOR_DESC with DML_REDUCE_FUNCTION_MAX.

    Examples
    --------
    >>> x = np.array([1, np.nan, 3], np.float32)
    >>> reduce_max(x), reduce_max(x, nan="ignore")
    (array([nan], dtype=float32), array([3.], dtype=float32))
    """
    tensor = as_tensor(x)
    return _reduction(
        ReduceFunction.MAX,
        tensor.shape,
        tensor.dtype,
        normalise_axes(axes, tensor.ndim),
        AxisDirection.INCREASING,
        UINT32,
        nan,
    ).compute(tensor)


@overload
def max_pooling(
    x: ArrayLike,
    window: Integers,
    *,
    strides: Integers = 1,
    start_padding: Integers = 0,
    end_padding: Integers = 0,
    dilations: Integers = 1,
    return_indices: Literal[False] = False,
    index_type: DTypeLike = "uint32",
    index_layout: str = "tensor",
    nan: str = "propagate",
) -> NDArray[Any]: ...


@overload
def max_pooling(
    x: ArrayLike,
    window: Integers,
    *,
    strides: Integers = 1,
    start_padding: Integers = 0,
    end_padding: Integers = 0,
    dilations: Integers = 1,
    return_indices: Literal[True],
    index_type: DTypeLike = "uint32",
    index_layout: str = "tensor",
    nan: str = "propagate",
) -> tuple[NDArray[Any], NDArray[Any]]: ...


@overload
def max_pooling(
    x: ArrayLike,
    window: Integers,
    *,
    strides: Integers = 1,
    start_padding: Integers = 0,
    end_padding: Integers = 0,
    dilations: Integers = 1,
    return_indices: bool,
    index_type: DTypeLike = "uint32",
    index_layout: str = "tensor",
    nan: str = "propagate",
) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]: ...


@suggests_keywords
def max_pooling(
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
    """Find the greatest element of every window.

    The operator is that of DirectML's page DML_MAX_POOLING2_OPERATOR_DESC.

    Parameters
    ----------
    x : array_like
        A tensor (N, C, H, W) or (N, C, D, H, W) of a type of `DataType`, in any memory layout and
        byte order.
    window, strides, dilations : int or sequence of int
        Size of a window, distance of windows, and distance of the taps of a window. Each is at
        least 1: one number for each spatial dimension, or one for all.
    start_padding, end_padding : int or sequence of int
        Number of absent elements before the first and behind the last. They are skipped, never
        compared.
    return_indices : bool
        Whether to return the positions too.
    index_type : {"uint32", "uint64", "int64"} or dtype
        Type of the positions.
    index_layout : {"tensor", "plane", "column_major"}
        What a position counts; see `Pooling.index_weights`.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or loses to every number.

    Returns
    -------
    values : ndarray
        Elements with their bits. Each spatial dimension has as many as windows fit:
        ``(size + start_padding + end_padding - extent) // stride + 1``, where the extent of a
        window is ``1 + (window - 1) * dilation``.
    indices : ndarray
        Positions in the shape of the values, only with `return_indices`. Of equal elements the
        first in row-major order wins.

    Raises
    ------
    TypeError
        If `x` or a parameter has a wrong type, or a keyword a wrong name.
    ValueError
        If a window does not fit on the padded tensor, or another rule is broken.

    Warns
    -----
    EmptyWindowWarning
        If windows lie wholly in padding. Their value is the lowest of the type, their position all
        ones.

    See Also
    --------
    extremum.model.reference.pooling : The same in plain Python.

    Examples
    --------
    Padding is absent, so the window in the corner meets the -5 alone. Two 7 tie in the last window,
    and the first of them wins.

    >>> x = np.array([[[[-5, 7], [7, 1]]]], np.int8)
    >>> max_pooling(x, 2, start_padding=1, return_indices=True)
    (array([[[[-5,  7],
             [ 7,  7]]]], dtype=int8), array([[[[0, 1],
             [2, 1]]]], dtype=uint32))
    """
    tensor = as_tensor(x)
    spatial = tensor.ndim - 2
    problem = _pooling(
        tensor.shape,
        tensor.dtype,
        spread("window", window, spatial),
        spread("strides", strides, spatial),
        spread("start_padding", start_padding, spatial),
        spread("end_padding", end_padding, spatial),
        spread("dilations", dilations, spatial),
        return_indices,
        index_type,
        index_layout,
        nan,
    )
    result = problem.compute(tensor)
    problem.warn_of_empty_windows(stacklevel=4)
    return result
