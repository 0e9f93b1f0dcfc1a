"""Checks that every operator shares: whole numbers, sizes, axes, and the tensor itself."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

import numpy as np

from extremum.model.types import DataType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "Integers",
    "as_tensor",
    "element_count",
    "integer",
    "integers",
    "is_scalar",
    "normalise_axes",
    "spread",
    "tensor_sizes",
]

Integers: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""One integer or several: Python's, NumPy's, or an array of them."""

MAX_RANK = 8
MAX_ELEMENTS = 2**32 - 1
"""A tensor has no more elements, so that a 32-bit index names each and all ones names none."""


def is_scalar(value: object) -> bool:
    """Tell a single number from a sequence of them; an array of rank 0 is a number."""
    return isinstance(value, (int, float)) or (
        hasattr(value, "__index__") and not getattr(value, "shape", ())
    )


def integer(name: str, value: object, least: int = 0) -> int:
    """Take a whole number that is at least `least`.

    Raises
    ------
    TypeError
        If `value` is no integer: floats and booleans are refused, even whole ones.
    ValueError
        If it is too small.
    """
    return _integer(name, value, least, value)


def integers(name: str, values: object, least: int | None = 0) -> tuple[int, ...]:
    """Take a sequence of whole numbers, each at least `least` if that is given.

    Raises
    ------
    TypeError
        If `values` is no sequence of integers.
    ValueError
        If one is too small; the message shows them all.
    """
    if not isinstance(values, (tuple, list)) and (
        isinstance(values, str | bytes) or not isinstance(values, Iterable)
    ):
        raise TypeError(f"{name} must be a sequence of integers, not {values!r}")
    listed = tuple(values)
    if set(map(type, listed)) == {int} and (least is None or min(listed) >= least):
        return listed
    # NumPy's integers would print as np.int64(3).
    listed = tuple(v.item() if isinstance(v, np.generic) else v for v in listed)
    return tuple(_integer(name, v, least, listed) for v in listed)


def spread(name: str, values: Integers, count: int) -> tuple[int, ...]:
    """Give each of `count` dimensions its whole number: one stands for all.

    Raises
    ------
    TypeError
        If `values` is neither an integer nor a sequence of integers.
    """
    # Every call of an operator comes here several times, mostly with what is right.
    if type(values) is int:
        return (values,) * count
    if isinstance(values, (tuple, list)):
        for value in values:
            if type(value) is not int:
                break
        else:
            return tuple(values)  # pyright: ignore[reportReturnType]
    return integers(name, (values,) * count if is_scalar(values) else values, None)


def _integer(name: str, value: object, least: int | None, shown: object) -> int:
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be integers, not {shown!r}")
    number = operator.index(value)  # pyright: ignore[reportArgumentType]
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, not {shown!r}")
    return number


def tensor_sizes(sizes: object) -> tuple[int, ...]:
    """Take the sizes of a tensor: 1 to 8 of them, none zero, fewer than 2^32 elements.

    Raises
    ------
    TypeError
        If they are no integers.
    ValueError
        If there are too few or too many, one is zero, or the product is too large.
    """
    checked = integers("sizes", sizes, 1)
    if not 1 <= len(checked) <= MAX_RANK:
        raise ValueError(f"rank must be 1 to {MAX_RANK}, not {len(checked)}")
    element_count("tensor", checked)
    return checked


def element_count(what: str, sizes: Sequence[int]) -> int:
    """Count the elements of a shape.

    Raises
    ------
    ValueError
        If there are 2^32 or more.
    """
    count = math.prod(sizes)
    if count > MAX_ELEMENTS:
        raise ValueError(f"{what} must have fewer than 2^32 elements, not {count} {tuple(sizes)}")
    return count


def normalise_axes(axes: object, rank: int) -> tuple[int, ...]:
    """Sort axes and count them from the front; None means all of them.

    Parameters
    ----------
    axes : int, sequence of int, or None
        Negative axes count from the end.
    rank : int
        Rank of the tensor.

    Raises
    ------
    TypeError
        If they are no integers.
    ValueError
        If there are none, one is out of range, or two name the same axis.

    Examples
    --------
    >>> normalise_axes((-1, 0), 3)
    (0, 2)
    """
    if axes is None:
        return tuple(range(rank))
    return _ascending(integers("axes", (axes,) if is_scalar(axes) else axes, None), rank)


@lru_cache
def _ascending(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    if not axes:
        raise ValueError("axes must name at least one axis, not ()")
    if min(axes) < -rank or max(axes) >= rank:
        raise ValueError(f"axes must be in [{-rank}, {rank - 1}] for rank {rank}, not {axes}")
    positive = {axis % rank for axis in axes}
    if len(positive) < len(axes):
        raise ValueError(f"axes must not repeat, not {axes}")
    return tuple(sorted(positive))


def as_tensor(x: ArrayLike) -> np.ndarray:
    """View `x` as a tensor that every operator accepts.

    Parameters
    ----------
    x : array_like
        Any memory layout and byte order.

    Returns
    -------
    ndarray
        Rank 1 to 8, one of the ten types in native byte order. Copied only where the byte order
        asks for it.

    Raises
    ------
    TypeError
        If the type is none of the ten, or the array is masked.
    ValueError
        If it has rank 0 or above 8, no elements, or 2^32 elements or more.

    Examples
    --------
    >>> as_tensor([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("x must be a plain array, not a masked one")
    array = np.asarray(x)
    data_type = DataType.from_dtype(array.dtype)
    if not (1 <= array.ndim <= MAX_RANK and 1 <= array.size <= MAX_ELEMENTS):
        tensor_sizes(array.shape)
    return array if array.dtype.isnative else array.astype(data_type.dtype)
