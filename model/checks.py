"""Checks that the operators share: integers, sizes, axes, and the tensor itself.

A message names the parameter, the rule that it breaks, and the value that was given.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import numpy as np

from extremum.model.types import FORMATS, DataType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Integers",
    "as_tensor",
    "as_tensor_of",
    "boolean",
    "element_count",
    "integer",
    "integers",
    "is_scalar",
    "normalise_axes",
    "spread",
    "tensor_sizes",
]

Integers: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""One integer or a sequence of integers, of Python or NumPy."""

MAX_RANK = 8
"""Largest number of dimensions: DirectML's constant DML_TENSOR_DIMENSION_COUNT_MAX1."""
MAX_ELEMENTS = 2**32 - 1
"""Largest number of elements, as DML_BUFFER_TENSOR_DESC demands.

So every element has a 32-bit position, and the position of all ones is that of no element.
"""


def is_scalar(value: object) -> bool:
    """Tell whether a value is a number and not a sequence; an array of rank 0 is a number."""
    return isinstance(value, (int, float)) or (
        hasattr(value, "__index__") and not getattr(value, "shape", ())
    )


def boolean(name: str, value: object) -> bool:
    """Check that a value is True or False, of Python or NumPy.

    Raises
    ------
    TypeError
        If it is anything else: a text such as "no" would count as true.
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def integer(name: str, value: object, least: int | None = 0) -> int:
    """Check that a value is an integer, and return it as Python's int.

    It must be at least `least`, unless that is None.

    Raises
    ------
    TypeError
        If `value` is no integer. Floats are refused even if they are whole, and so are booleans.
    ValueError
        If it is less than `least`.
    """
    return _integer(name, value, least, value)


def integers(name: str, values: object, least: int | None = 0) -> tuple[int, ...]:
    """Check a sequence of integers, each of at least `least` unless that is None.

    Returns
    -------
    tuple of int

    Raises
    ------
    TypeError
        If `values` is no sequence of integers.
    ValueError
        If one of them is less than `least`; the message shows all.
    """
    if not isinstance(values, (tuple, list)) and (
        isinstance(values, str | bytes | Set | Mapping) or not isinstance(values, Iterable)
    ):
        raise TypeError(f"{name} must be a sequence of integers, not {values!r}")
    listed = tuple(values)
    if set(map(type, listed)) == {int} and (least is None or min(listed) >= least):
        return listed
    # In a message, NumPy's integers would read np.int64(3).
    listed = tuple(v.item() if isinstance(v, np.generic) else v for v in listed)
    return tuple(_integer(name, v, least, listed) for v in listed)


def spread(name: str, values: Integers, count: int) -> tuple[int, ...]:
    """Return one integer for each of `count` dimensions; a single integer is repeated.

    Nothing is checked but the type.

    Raises
    ------
    TypeError
        If `values` is neither an integer nor a sequence of integers.

    Examples
    --------
    >>> spread("strides", 2, 3)
    (2, 2, 2)
    """
    # Every pooling calls this five times, so the usual types are looked at first.
    if type(values) is int:
        return (values,) * count
    if isinstance(values, (tuple, list)):
        for value in values:
            if type(value) is not int:
                break
        else:
            return tuple(values)  # pyright: ignore[reportReturnType]
    if is_scalar(values):
        return (_integer(name, values, None, values),) * count
    return integers(name, values, None)


def _integer(name: str, value: object, least: int | None, shown: object) -> int:
    """Do what `integer` does; a message shows `shown` instead of `value`."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        # An array has `__index__` too, and it raises an error unless the array is one integer.
        number = operator.index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        kind = "integers" if isinstance(shown, tuple) else "an integer"
        raise TypeError(f"{name} must be {kind}, not {shown!r}") from None
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, not {shown!r}")
    return number


def tensor_sizes(sizes: object) -> tuple[int, ...]:
    """Check the sizes of a tensor, by the rules of DML_BUFFER_TENSOR_DESC.

    Returns
    -------
    tuple of int
        1 to 8 sizes, none of which is 0, of fewer than 2^32 elements together.

    Raises
    ------
    TypeError
        If they are no integers.
    ValueError
        If there are too few or too many, if one is 0, or if there are too many elements.
    """
    checked = integers("sizes", sizes, 1)
    if not 1 <= len(checked) <= MAX_RANK:
        raise ValueError(f"rank must be 1 to {MAX_RANK}, not {len(checked)}")
    element_count("tensor", checked)
    return checked


def element_count(what: str, sizes: Sequence[int]) -> int:
    """Return the number of elements of a shape, which the message calls `what`.

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
    """Return axes in ascending order, counted from the front.

    Parameters
    ----------
    axes : int, sequence of int, or None
        Negative axes count from the end; None means all axes.
    rank : int
        Rank of the tensor.

    Returns
    -------
    tuple of int

    Raises
    ------
    TypeError
        If they are no integers.
    ValueError
        If there is no axis, one is out of range, or two are the same.

    Examples
    --------
    The last of three axes has number 2.

    >>> normalise_axes((-1, 0), 3)
    (0, 2)
    """
    if axes is None:
        return tuple(range(rank))
    if is_scalar(axes):
        return _ascending((_integer("axes", axes, None, axes),), rank)
    return _ascending(integers("axes", axes, None), rank)


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


def as_tensor(x: ArrayLike) -> NDArray[Any]:
    """Convert `x` to a tensor that every operator accepts.

    Parameters
    ----------
    x : array_like
        An array of any memory layout and byte order, or nested sequences.

    Returns
    -------
    ndarray
        A tensor of rank 1 to 8, of a type of `DataType`, in native byte order. It is `x` itself or
        a view of it, unless the byte order must be changed or `x` is no array.

    Raises
    ------
    TypeError
        If the type is none of `DataType`'s, or an array is masked.
    ValueError
        If `x` has rank 0 or a rank above 8, no elements, or 2^32 elements or more, or nested
        sequences have different lengths.

    Examples
    --------
    >>> as_tensor([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    # Nearly every call is with such an array, and of a small one all checks take a while.
    if type(x) is np.ndarray and x.dtype in FORMATS:
        if 1 <= x.ndim <= MAX_RANK and 1 <= x.size <= MAX_ELEMENTS:
            return x
    elif isinstance(x, np.ma.MaskedArray):
        raise TypeError("x must be a plain array, not a masked one: fill it with x.filled")
    array = np.asarray(x)
    if not isinstance(x, np.ndarray) and _holds_masked(x, array.ndim):
        raise TypeError("x must hold plain arrays, not masked ones: fill them with filled()")
    try:
        data_type = DataType.from_dtype(array.dtype)
    except TypeError as error:
        if not array.size:
            tensor_sizes(array.shape)
        # NumPy chose the type of what is no array: the numbers may have lost digits by then.
        advice = (
            "convert it with astype, for example to float32"
            if hasattr(x, "dtype")
            else "give x a type, for example by np.array(x, np.float32)"
        )
        raise TypeError(f"{error}: {advice}") from None
    if not (1 <= array.ndim <= MAX_RANK and 1 <= array.size <= MAX_ELEMENTS):
        tensor_sizes(array.shape)
    return array if array.dtype.isnative else array.astype(data_type.dtype)


def _holds_masked(x: object, levels: int) -> bool:
    """Tell whether there is a masked array, or a view of its memory, in nested sequences.

    There are so many levels, of which the innermost holds numbers, and is not looked at.
    """
    parts: list[Any] = [x]
    for level in range(levels):
        if level:
            inner = (part for part in parts if isinstance(part, (list, tuple)))
            parts = [*chain.from_iterable(inner)]
        kinds = {*map(type, parts)}
        if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
            return True
        views = (part for part in parts if type(part) is memoryview)
        if memoryview in kinds and any(isinstance(v.obj, np.ma.MaskedArray) for v in views):
            return True
    return False


def as_tensor_of(x: ArrayLike, data_type: DataType, sizes: tuple[int, ...]) -> NDArray[Any]:
    """Convert `x` to a tensor as `as_tensor` does, and check that it is the one that is expected.

    Parameters
    ----------
    x : array_like
    data_type : DataType
    sizes : tuple of int

    Raises
    ------
    TypeError
        If `x` has another type.
    ValueError
        If it has other sizes.
    """
    tensor = as_tensor(x)
    if DataType.from_dtype(tensor.dtype) is not data_type:
        raise TypeError(f"x must have type {data_type.value}, not {tensor.dtype}")
    if tensor.shape != sizes:
        raise ValueError(f"x must have sizes {sizes}, not {tensor.shape}")
    return tensor
