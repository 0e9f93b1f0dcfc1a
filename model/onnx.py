"""Attributes of ONNX nodes as keyword arguments of the functions of this package.

The functions here take attributes as ONNX writes them, with ONNX's defaults. The package `onnx` is
not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from extremum.model.checks import integer, integers
from extremum.model.spatial import SpatialDimension

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ArgArguments",
    "GlobalMaxPoolArguments",
    "MaxPoolArguments",
    "arg_arguments",
    "global_max_pool_arguments",
    "lifted_sizes",
    "max_pool_arguments",
    "reduce_axes",
    "squeeze_axes",
]


class MaxPoolArguments(TypedDict):
    """Keyword arguments of `max_pooling` that `max_pool_arguments` gives."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    index_type: str
    index_layout: str


class GlobalMaxPoolArguments(TypedDict):
    """Keyword arguments of `max_pooling` that `global_max_pool_arguments` gives."""

    window: tuple[int, ...]


class ArgArguments(TypedDict):
    """Keyword arguments of `argmax` and `argmin` that `arg_arguments` gives."""

    axes: tuple[int, ...]
    axis_direction: str
    index_type: str


def lifted_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return sizes that `max_pooling` accepts: (N, C, L) becomes (N, C, 1, L), others stay.

    Raises
    ------
    TypeError
        If `sizes` has values that are no integers.
    ValueError
        If a size is negative, or there is no spatial dimension.

    Examples
    --------
    >>> lifted_sizes((1, 3, 32))
    (1, 3, 1, 32)
    """
    sizes = _pooled_sizes(sizes)
    return (*sizes[:2], 1, *sizes[2:]) if len(sizes) == 3 else sizes


def _pooled_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of a pooling's input, (N, C, ...)."""
    sizes = integers("sizes", sizes)
    if len(sizes) < 3:
        raise ValueError(f"sizes must be those of (N, C, ...), three or more, not {sizes}")
    return sizes


def _flag(name: str, value: int) -> bool:
    """Return an attribute of ONNX that is 0 or 1."""
    number = value.item() if isinstance(value, np.generic) else value
    if not isinstance(number, int) or number not in (0, 1):
        raise ValueError(f"{name} must be 0 or 1, not {value!r}")
    return bool(number)


def max_pool_arguments(
    sizes: Sequence[int],
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    storage_order: int = 0,
) -> MaxPoolArguments:
    """Convert the attributes of MaxPool to keyword arguments of `max_pooling`.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of the node's input, (N, C, ...). Reshape the input to `lifted_sizes` for
        `max_pooling`.
    kernel_shape, strides, dilations, pads, auto_pad, ceil_mode, storage_order
        The node's attributes. `pads` lists all beginnings, then all ends.

    Returns
    -------
    MaxPoolArguments
        All arguments but `x`, `return_indices` and `nan`.

    Raises
    ------
    TypeError
        If `sizes` or a list has values that are no integers.
    ValueError
        If an attribute has the wrong number of values, or a value that ONNX does not have, if a
        size is negative, or if the input has no spatial dimension. With `ceil_mode` also if there
        is no window.

    Examples
    --------
    Rounding up becomes end padding, which here makes room for a third window.

    >>> max_pool_arguments((1, 1, 6), kernel_shape=[3], strides=[2], ceil_mode=1)["end_padding"]
    (0, 1)
    """
    sizes = _pooled_sizes(sizes)
    spatial = len(sizes) - 2
    lists = {
        "kernel_shape": _listed("kernel_shape", kernel_shape, spatial, 1),
        "strides": _optional("strides", strides, spatial, 1),
        "dilations": _optional("dilations", dilations, spatial, 1),
    }
    pads = _optional("pads", pads, 2 * spatial, 0)
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise ValueError(
            f"auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not {auto_pad!r}"
        )
    rounds_up, by_columns = _flag("ceil_mode", ceil_mode), _flag("storage_order", storage_order)
    dimensions = []
    for axis, size in enumerate(sizes[2:]):
        window, stride, dilation = (values[axis] for values in lists.values())
        start, end = pads[axis], pads[spatial + axis]
        if auto_pad != "NOTSET":
            start, end = _automatic(size, window, stride, dilation, auto_pad)
        if rounds_up:
            # There is a first window also if less than a stride of the input is missing to it.
            missing = 1 + (window - 1) * dilation - (start + size + end)
            end += missing if 0 < missing < stride else 0
            dimension = SpatialDimension(size, window, stride, dilation, start, end)
            end = dimension.end_padding_for(_rounded_up(dimension))
        dimensions.append((window, stride, dilation, start, end))
    if spatial == 1:
        dimensions.insert(0, (1, 1, 1, 0, 0))
    names = ("window", "strides", "dilations", "start_padding", "end_padding")
    arguments: Any = dict(zip(names, zip(*dimensions, strict=True), strict=True))
    arguments["index_type"] = "int64"
    arguments["index_layout"] = "column_major" if by_columns else "tensor"
    return arguments


def _optional(name: str, values: Sequence[int] | None, count: int, least: int) -> tuple[int, ...]:
    """Return the values of an attribute, the least ones if it is missing or empty."""
    given = () if values is None else integers(name, values, None)
    return _listed(name, given, count, least) if given else (least,) * count


def _listed(name: str, values: Sequence[int], count: int, least: int) -> tuple[int, ...]:
    """Return the values of an attribute."""
    listed = integers(name, values, None)
    if len(listed) != count:
        raise ValueError(f"{name} must have {count} values, not {listed}")
    return integers(name, listed, least)


def _automatic(size: int, window: int, stride: int, dilation: int, mode: str) -> tuple[int, int]:
    """Return the start and end padding with which there are ``ceil(size / stride)`` windows."""
    if mode == "VALID":
        return 0, 0
    extent = 1 + (window - 1) * dilation
    total = max(0, stride * (-(-size // stride) - 1) + extent - size)
    start = total // 2 if mode == "SAME_UPPER" else -(-total // 2)
    return start, total - start


def _rounded_up(dimension: SpatialDimension) -> int:
    """Return the number of windows if the division is rounded up, as ONNX does it."""
    outputs = -(-(dimension.padded - dimension.extent) // dimension.stride) + 1
    # ONNX leaves out a window that begins in the end padding.
    if (outputs - 1) * dimension.stride >= dimension.size + dimension.start_padding:
        outputs -= 1
    return outputs


def global_max_pool_arguments(sizes: Sequence[int]) -> GlobalMaxPoolArguments:
    """Return keyword arguments of `max_pooling` for GlobalMaxPool: a window as large as the plane.

    Raises
    ------
    TypeError
        If `sizes` has values that are no integers.
    ValueError
        If a size is negative, or there is no spatial dimension.

    Examples
    --------
    >>> global_max_pool_arguments((1, 3, 7, 9))
    {'window': (7, 9)}
    """
    return {"window": lifted_sizes(sizes)[2:]}


def arg_arguments(*, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> ArgArguments:
    """Convert the attributes of ArgMax or ArgMin to keyword arguments of `argmax` or `argmin`.

    The attribute `keepdims` only changes the shape of the result: see `squeeze_axes`.

    Returns
    -------
    ArgArguments
        All arguments but `x` and `nan`.

    Raises
    ------
    TypeError
        If `axis` is no integer.
    ValueError
        If an attribute has a value that ONNX does not have.

    Examples
    --------
    >>> arg_arguments(axis=-1, select_last_index=1)
    {'axes': (-1,), 'axis_direction': 'decreasing', 'index_type': 'int64'}
    """
    _flag("keepdims", keepdims)
    direction = "decreasing" if _flag("select_last_index", select_last_index) else "increasing"
    axis = integer("axis", axis, None)
    return {"axes": (axis,), "axis_direction": direction, "index_type": "int64"}


def reduce_axes(
    axes: Sequence[int] | None = None, *, noop_with_empty_axes: int = 0
) -> tuple[int, ...] | None:
    """Convert the axes of ReduceMax or ReduceMin to the argument `axes` of `reduce_max`.

    Returns
    -------
    tuple of int, or None
        None, which means all axes, if the node names none.

    Raises
    ------
    TypeError
        If `axes` has values that are no integers.
    ValueError
        If the node is to copy its input, which it does without axes and with
        noop_with_empty_axes = 1; or if that is neither 0 nor 1, and there are no axes.

    Examples
    --------
    >>> reduce_axes([0, -1]), reduce_axes([])
    ((0, -1), None)
    """
    if axes is not None and (listed := integers("axes", axes, None)):
        return listed
    if _flag("noop_with_empty_axes", noop_with_empty_axes):
        raise ValueError("noop_with_empty_axes must be 0 where there are no axes, not 1")
    return None


def squeeze_axes(y: NDArray[Any], axes: Sequence[int] | None, keepdims: int = 1) -> NDArray[Any]:
    """Drop the reduced axes from a result if `keepdims` is 0.

    Parameters
    ----------
    y : ndarray
        A result of `argmax`, `argmin`, `reduce_max` or `reduce_min`.
    axes : sequence of int, or None
        The axes that were reduced; None means all.
    keepdims : {1, 0}

    Returns
    -------
    ndarray
        A view of `y`, or `y` itself if `keepdims` is 1.

    Raises
    ------
    TypeError
        If `axes` has values that are no integers.
    ValueError
        If `keepdims` is neither 0 nor 1, or an axis is out of range or not of size 1.

    Examples
    --------
    >>> squeeze_axes(np.zeros((2, 1, 3)), (-2,), keepdims=0).shape
    (2, 3)
    """
    if _flag("keepdims", keepdims):
        return y
    return y.reshape(()) if axes is None else y.squeeze(integers("axes", axes, None))
