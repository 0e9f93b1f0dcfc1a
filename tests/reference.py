"""A reading of the contract in plain Python, one element after the other, and nothing shared.

Elements are decoded from their bits and compared as Python numbers, so that neither NumPy's
comparisons nor the package's order keys have a part in it.
"""

import itertools
import math
import struct

import numpy as np

FORMATS = {
    "float32": "<f",
    "float16": "<e",
    "int64": "<q",
    "int32": "<i",
    "int16": "<h",
    "int8": "<b",
    "uint64": "<Q",
    "uint32": "<I",
    "uint16": "<H",
    "uint8": "<B",
}


def numbers(x):
    """The elements of an array as Python numbers, keyed by coordinate."""
    name = np.dtype(x.dtype).name
    little = x.astype(np.dtype(name).newbyteorder("<"))
    return {c: struct.unpack(FORMATS[name], little[c].tobytes())[0] for c in np.ndindex(x.shape)}


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


def takes(candidate, best, nan, minimum):
    """Whether a later candidate replaces the best so far: the two lines of the contract."""
    better = candidate < best if minimum else candidate > best
    if nan == "propagate":
        return not is_nan(best) and (is_nan(candidate) or better)
    return not is_nan(candidate) and (is_nan(best) or better)


def winner(scan, values, nan, minimum=False):
    """The coordinate, of those scanned in order, whose element wins; None if there are none."""
    best = None
    for coordinate in scan:
        if best is None or takes(values[coordinate], values[best], nan, minimum):
            best = coordinate
    return best


def weighted(coordinate, weights):
    return sum(c * w for c, w in zip(coordinate, weights, strict=True))


def reduction(x, axes, *, minimum, decreasing=False, nan="propagate"):
    """Positions (as Python integers in an object array) and the elements that win."""
    values = numbers(x)
    sizes = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
    positions = np.empty(sizes, object)
    elements = np.empty(sizes, x.dtype)
    weights = [
        math.prod(x.shape[a] for a in axes if a > axis) if axis in axes else 0
        for axis in range(x.ndim)
    ]
    for output in np.ndindex(*sizes):
        ranges = [range(n) if a in axes else [output[a]] for a, n in enumerate(x.shape)]
        scan = list(itertools.product(*ranges))
        best = winner(scan[::-1] if decreasing else scan, values, nan, minimum)
        positions[output] = weighted(best, weights)
        elements[output] = x[best]
    return positions, elements


def layout_weights(sizes, layout):
    n, c, *spatial = range(len(sizes))
    plane = math.prod(sizes[2:])
    weights = {
        n: 0 if layout == "plane" else sizes[1] * plane,
        c: 0 if layout == "plane" else plane,
    }
    if layout == "column_major":
        # h + w * H in two dimensions, d + h * D + w * D * H in three.
        step = 1
        for axis in spatial:
            weights[axis] = step
            step *= sizes[axis]
    else:
        step = 1
        for axis in reversed(spatial):
            weights[axis] = step
            step *= sizes[axis]
    return [weights[axis] for axis in range(len(sizes))]


def pooled_size(size, window, stride, dilation, start, end):
    """Count the windows by laying them down one by one."""
    extent = 1 + (window - 1) * dilation
    count, begin = 0, 0
    while begin + extent <= start + size + end:
        count += 1
        begin += stride
    return count


def pooling(
    x, window, strides, start_padding, end_padding, dilations, *, layout="tensor", nan="propagate"
):
    """Values, positions (None for an empty window) and the number of empty windows."""
    values = numbers(x)
    outputs = [
        pooled_size(*column)
        for column in zip(
            x.shape[2:], window, strides, dilations, start_padding, end_padding, strict=True
        )
    ]
    weights = layout_weights(x.shape, layout)
    lowest = -math.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    elements = np.empty([*x.shape[:2], *outputs], x.dtype)
    positions = np.empty(elements.shape, object)
    empty = 0
    for output in np.ndindex(elements.shape):
        scan = []
        for taps in itertools.product(*map(range, window)):
            place = [
                o * stride + tap * dilation - start
                for o, stride, tap, dilation, start in zip(
                    output[2:], strides, taps, dilations, start_padding, strict=True
                )
            ]
            if all(0 <= p < n for p, n in zip(place, x.shape[2:], strict=True)):
                scan.append((*output[:2], *place))
        best = winner(scan, values, nan)
        elements[output] = lowest if best is None else x[best]
        positions[output] = None if best is None else weighted(best, weights)
        empty += best is None
    return elements, positions, empty


def as_index(positions, dtype):
    """Positions in an index type; None, the empty window, is all ones."""
    dtype = np.dtype(dtype)
    ones = -1 if dtype.kind == "i" else 2 ** (8 * dtype.itemsize) - 1
    flat = [ones if p is None else p for p in positions.reshape(-1)]
    return np.array(flat, dtype).reshape(positions.shape)


def assert_equal_bits(actual, expected):
    """Same type, same sizes, same bits: NaN payloads and signs of zero included."""
    assert isinstance(actual, np.ndarray), type(actual)
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    bits = f"u{expected.dtype.itemsize}"
    a = np.ascontiguousarray(actual).view(bits)
    b = np.ascontiguousarray(expected).view(bits)
    wrong = np.argwhere(a != b)
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise AssertionError(
            f"{len(wrong)} of {a.size} differ, first at {place}: "
            f"{actual[place]} ({a[place]:#x}), expected {expected[place]} ({b[place]:#x})"
        )
