"""The contract of all operators in plain Python: slow, easy to check, and the first thing to read.

The fast golden model and the gateware compute exactly what is written here. Four rules decide it:

- **Which element wins**: `beats`. Numbers are compared by value, so +0 equals -0. NaN equals NaN,
  whatever its bits.
- **Ties**: `winner`. Of equal elements the first one scanned wins.
- **Order**: elements are scanned in row-major order (the last dimension varies fastest), and
  backwards for the direction DECREASING.
- **Position**: the sum over all axes of coordinate times weight; the weights make the layout.

The value of a result is always the winning element itself, with all its bits: the sign of a zero
and the payload of a NaN are kept.

Ties and positions follow DirectML's pages DML_ARGMIN_OPERATOR_DESC, DML_ARGMAX_OPERATOR_DESC,
DML_REDUCE_OPERATOR_DESC, DML_AXIS_DIRECTION and DML_MAX_POOLING2_OPERATOR_DESC. These pages do not
mention NaN, signed zeros or windows without elements, so the rules for them are this project's:
``"propagate"`` is NumPy's rule for NaN, ``"ignore"`` that of Direct3D's instructions max and min;
that zeros are equal is the rule of IEEE 754; and an empty window has the lowest value, which is the
identity of max.

Parameters are not checked here; `extremum.model.Reduction` and `extremum.model.Pooling` do that.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from extremum.model.types import DataType

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = [
    "as_index",
    "beats",
    "count_windows",
    "layout_weights",
    "number",
    "pooling",
    "reduction",
    "winner",
]

Coordinate: TypeAlias = tuple[int, ...]


def number(element: np.generic) -> int | float:
    """Decode an element from its bits.

    Examples
    --------
    >>> number(np.int8(-3)), number(np.float16(-2.5))
    (-3, -2.5)
    """
    layout = DataType.from_dtype(element.dtype).format
    bits = int.from_bytes(element.tobytes(), sys.byteorder)
    if not layout.is_float:
        # Two's complement: the sign bit counts negative.
        return bits - 2 * (bits & layout.sign)
    sign = -1.0 if bits & layout.sign else 1.0
    exponent, mantissa = divmod(bits & ~layout.sign, 1 << layout.mantissa)
    all_ones = (1 << layout.exponent) - 1
    if exponent == all_ones:
        return math.nan if mantissa else sign * math.inf
    if exponent > 0:
        # Numbers that are not denormal have a leading one, which is not stored.
        mantissa += 1 << layout.mantissa
    return sign * math.ldexp(mantissa, max(exponent, 1) - all_ones // 2 - layout.mantissa)


def beats(candidate: float, best: float, *, minimum: bool, nan: str) -> bool:
    """Tell whether a candidate replaces the best element that was scanned before it.

    Of two equal elements, neither beats the other. Under ``"propagate"`` NaN beats every number,
    under ``"ignore"`` every number beats NaN.

    Examples
    --------
    >>> beats(0.0, -0.0, minimum=False, nan="propagate")
    False
    >>> [beats(math.nan, 7.0, minimum=False, nan=nan) for nan in ("propagate", "ignore")]
    [True, False]
    """
    if math.isnan(candidate):
        return nan == "propagate" and not math.isnan(best)
    if math.isnan(best):
        return nan == "ignore"
    return candidate < best if minimum else candidate > best


def winner(
    scan: Iterable[Coordinate], x: NDArray[Any], *, minimum: bool, nan: str
) -> Coordinate | None:
    """Return the first of the best elements that are scanned; None if there are no elements."""
    best, best_value = None, math.nan
    for candidate in scan:
        value = number(x[candidate])
        if best is None or beats(value, best_value, minimum=minimum, nan=nan):
            best, best_value = candidate, value
    return best


def reduction(
    x: NDArray[Any],
    axes: Collection[int],
    *,
    minimum: bool = False,
    decreasing: bool = False,
    nan: str = "propagate",
) -> tuple[NDArray[np.object_], NDArray[Any]]:
    """Find the extreme element over some axes: ARGMIN, ARGMAX, REDUCE MIN and REDUCE MAX.

    Parameters
    ----------
    x : ndarray
    axes : collection of int
        The axes to reduce, not negative; their order does not matter.
    minimum : bool
        Whether the smallest element wins, and not the greatest.
    decreasing : bool
        Whether elements are scanned backwards, so that the last of equal elements wins.
    nan : {"propagate", "ignore"}

    Returns
    -------
    positions : ndarray of object
        Python integers, in the rank of `x` with reduced axes of size 1. They count row-major over
        the reduced axes alone.
    values : ndarray
        The elements at these positions.

    Examples
    --------
    The greatest element stands at position 1 and again at position 2.

    >>> reduction(np.array([1, 7, 7], np.int8), [0])
    (array([1], dtype=object), array([7], dtype=int8))
    >>> reduction(np.array([1, 7, 7], np.int8), [0], decreasing=True)[0]
    array([2], dtype=object)
    """
    sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    positions, values = np.empty(sizes, object), np.empty(sizes, x.dtype)
    weights = [
        math.prod(x.shape[later] for later in axes if later > axis) if axis in axes else 0
        for axis in range(x.ndim)
    ]
    for output in np.ndindex(*sizes):
        ranges = [range(n) if axis in axes else [output[axis]] for axis, n in enumerate(x.shape)]
        scan = list(itertools.product(*ranges))
        best = winner(scan[::-1] if decreasing else scan, x, minimum=minimum, nan=nan)
        if best is not None:  # This is always so, because no axis is empty.
            positions[output], values[output] = _position(best, weights), x[best]
    return positions, values


def pooling(
    x: NDArray[Any],
    window: Sequence[int],
    *,
    strides: Sequence[int],
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    dilations: Sequence[int],
    layout: str = "tensor",
    nan: str = "propagate",
) -> tuple[NDArray[Any], NDArray[np.object_], int]:
    """Find the greatest element of every window: MAX_POOLING, MAX_POOLING1 and MAX_POOLING2.

    Padding takes no part: taps outside of the tensor are skipped, never compared. A window all of
    whose taps are outside has the lowest value of the type, and no position.

    Parameters
    ----------
    x : ndarray
        (N, C, H, W) or (N, C, D, H, W).
    window, strides, start_padding, end_padding, dilations : sequence of int
        One number for each spatial dimension.
    layout : {"tensor", "plane", "column_major"}
        What a position counts; see `layout_weights`.
    nan : {"propagate", "ignore"}

    Returns
    -------
    values : ndarray
    positions : ndarray of object
        Python integers, or None for an empty window.
    empty : int
        The number of empty windows.

    Examples
    --------
    The first of three windows of 1x2 meets the -5 alone, because its other tap lies in padding. In
    the last one, two 7 tie.

    >>> x = np.array([[[[-5, 7, 7]]]], np.int8)
    >>> plain = {"strides": (1, 1), "end_padding": (0, 0), "dilations": (1, 1)}
    >>> values, positions, empty = pooling(x, (1, 2), start_padding=(0, 1), **plain)
    >>> values.tolist(), positions.tolist(), empty
    ([[[[-5, 7, 7]]]], [[[[0, 1, 1]]]], 0)
    """
    outputs = [
        count_windows(start + size + end, (taps - 1) * dilation + 1, stride)
        for size, taps, stride, start, end, dilation in zip(
            x.shape[2:], window, strides, start_padding, end_padding, dilations, strict=True
        )
    ]
    values = np.full([*x.shape[:2], *outputs], DataType.from_dtype(x.dtype).lowest)
    positions = np.full(values.shape, None, object)
    weights = layout_weights(x.shape, layout)
    for output in np.ndindex(values.shape):
        scan = []
        for taps in itertools.product(*map(range, window)):
            columns = zip(output[2:], strides, taps, dilations, start_padding, strict=True)
            coordinate = [
                o * stride + tap * dilation - start for o, stride, tap, dilation, start in columns
            ]
            if all(0 <= c < size for c, size in zip(coordinate, x.shape[2:], strict=True)):
                scan.append((*output[:2], *coordinate))
        best = winner(scan, x, minimum=False, nan=nan)
        if best is not None:
            values[output], positions[output] = x[best], _position(best, weights)
    return values, positions, sum(position is None for position in positions.flat)


def layout_weights(sizes: Sequence[int], layout: str) -> list[int]:
    """Return what a step along each axis adds to the position of a pooled element.

    - ``"tensor"`` counts the whole tensor in row-major order.
    - ``"plane"`` counts each plane from 0, in row-major order.
    - ``"column_major"`` counts the whole tensor, and within each plane the first spatial dimension
      fastest, as ONNX MaxPool does with storage_order = 1.

    Examples
    --------
    >>> [layout_weights((1, 2, 3, 4), name) for name in ("tensor", "plane", "column_major")]
    [[24, 12, 4, 1], [0, 0, 4, 1], [24, 12, 1, 3]]
    """
    spatial = range(2, len(sizes))
    fastest_first = list(spatial) if layout == "column_major" else list(reversed(spatial))
    weights, step = [0] * len(sizes), 1
    for axis in (*fastest_first, *([] if layout == "plane" else [1, 0])):
        weights[axis] = step
        step *= sizes[axis]
    return weights


def as_index(positions: NDArray[Any], index_type: DTypeLike) -> NDArray[Any]:
    """Convert positions to an index type; an empty window's position becomes all ones.

    Examples
    --------
    >>> as_index(np.array([3, None], object), "uint32")
    array([         3, 4294967295], dtype=uint32)
    """
    dtype = np.dtype(index_type)
    ones = -1 if DataType.from_dtype(dtype).is_signed else (1 << 8 * dtype.itemsize) - 1
    flat = [ones if position is None else position for position in positions.flat]
    return np.array(flat, dtype).reshape(positions.shape)


def _position(coordinate: Coordinate, weights: Sequence[int]) -> int:
    return sum(c * weight for c, weight in zip(coordinate, weights, strict=True))


def count_windows(padded: int, extent: int, stride: int) -> int:
    """Return how many windows of `extent` elements, `stride` apart, fit on `padded` elements.

    They are laid one by one until the next one does not fit.
    """
    count = 0
    while count * stride + extent <= padded:
        count += 1
    return count
