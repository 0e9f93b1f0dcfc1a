"""The operators as functions of arrays, in the manner of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from extremum.model.checks import Integers, as_tensor, normalise_axes, spread
from extremum.model.pooling import Pooling
from extremum.model.reduction import Reduction
from extremum.model.types import AxisDirection, ReduceFunction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

__all__ = ["argmax", "argmin", "max_pooling", "reduce_max", "reduce_min"]

# A program asks for the same few problems again and again, and checking one takes longer than
# solving it where tensors are small. `typed`, because True and 1.0 equal 1, and are refused.
_reduction: Callable[..., Reduction] = lru_cache(maxsize=64, typed=True)(Reduction.of)
_pooling: Callable[..., Pooling] = lru_cache(maxsize=64, typed=True)(Pooling.of)


def argmin(
    x: ArrayLike,
    axes: Integers | None = None,
    *,
    axis_direction: AxisDirection | str = "increasing",
    index_type: DTypeLike = "uint32",
    nan: str = "propagate",
) -> np.ndarray:
    """Find the position of the smallest element over some axes.

    Parameters
    ----------
    x : array_like
        Rank 1 to 8, one of the ten types.
    axes : int, sequence of int, or None
        Axes to reduce, negative from the end; None for all. Their order does not matter.
    axis_direction : {"increasing", "decreasing"}
        Whether the first or the last of equal elements is taken.
    index_type : {"uint32", "uint64", "int32", "int64"} or dtype
        Type of the result.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or none.

    Returns
    -------
    ndarray
        The rank of `x`, reduced axes of size 1. Positions count row-major over the reduced axes.

    Raises
    ------
    TypeError, ValueError
        If `x` or a parameter breaks a rule.

    Examples
    --------
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
        axis_direction=axis_direction,
        index_type=index_type,
        nan=nan,
    ).reduce(tensor)


def argmax(
    x: ArrayLike,
    axes: Integers | None = None,
    *,
    axis_direction: AxisDirection | str = "increasing",
    index_type: DTypeLike = "uint32",
    nan: str = "propagate",
) -> np.ndarray:
    """Find the position of the greatest element over some axes; parameters as for `argmin`.

    Examples
    --------
    >>> argmax([[1, 2, 3], [3, 0, 4], [2, 5, 2]], axes=1)
    array([[2],
           [2],
           [1]], dtype=uint32)
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
        axis_direction=axis_direction,
        index_type=index_type,
        nan=nan,
    ).reduce(tensor)


def reduce_min(x: ArrayLike, axes: Integers | None = None, *, nan: str = "propagate") -> np.ndarray:
    """Find the smallest element over some axes, bit for bit; parameters as for `argmin`.

    Examples
    --------
    The zeros are equal, so the first of them is given.

    >>> reduce_min(np.array([0.0, -0.0], np.float32))
    array([0.], dtype=float32)
    """
    tensor = as_tensor(x)
    axes = normalise_axes(axes, tensor.ndim)
    problem = _reduction(ReduceFunction.MIN, tensor.shape, tensor.dtype, axes, nan=nan)
    return problem.reduce(tensor)


def reduce_max(x: ArrayLike, axes: Integers | None = None, *, nan: str = "propagate") -> np.ndarray:
    """Find the greatest element over some axes, bit for bit; parameters as for `argmin`.

    Examples
    --------
    >>> x = np.array([1, np.nan, 3], np.float32)
    >>> reduce_max(x), reduce_max(x, nan="ignore")
    (array([nan], dtype=float32), array([3.], dtype=float32))
    """
    tensor = as_tensor(x)
    axes = normalise_axes(axes, tensor.ndim)
    problem = _reduction(ReduceFunction.MAX, tensor.shape, tensor.dtype, axes, nan=nan)
    return problem.reduce(tensor)


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
) -> np.ndarray: ...


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
) -> tuple[np.ndarray, np.ndarray]: ...


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
) -> np.ndarray | tuple[np.ndarray, np.ndarray]: ...


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
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """Take the largest element of every window.

    Parameters
    ----------
    x : array_like
        (N, C, H, W) or (N, C, D, H, W), one of the ten types.
    window, strides, dilations : int or sequence of int
        At least 1; one for all spatial dimensions, or one for each.
    start_padding, end_padding : int or sequence of int
        Absent elements on either side. They are skipped, never compared.
    return_indices : bool
        Whether to give the positions too.
    index_type : {"uint32", "uint64", "int64"} or dtype
    index_layout : {"tensor", "plane", "column_major"}
        What a position counts; see `Pooling.index_weights`.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or none.

    Returns
    -------
    values : ndarray
        As many per dimension as windows fit: (size + padding - extent) // stride + 1.
    indices : ndarray
        If `return_indices`; of equal elements the first in row-major order.

    Raises
    ------
    TypeError, ValueError
        If `x` or a parameter breaks a rule.

    Warns
    -----
    EmptyWindowWarning
        If a window lies wholly in padding: its value is the lowest, its index all ones.

    Examples
    --------
    Padding is absent, so the corner window meets the -5 alone; of the two 7 the first is named.

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
        strides=spread("strides", strides, spatial),
        start_padding=spread("start_padding", start_padding, spatial),
        end_padding=spread("end_padding", end_padding, spatial),
        dilations=spread("dilations", dilations, spatial),
        return_indices=return_indices,
        index_type=index_type,
        index_layout=index_layout,
        nan=nan,
    )
    return problem.pool(tensor, stacklevel=3)
