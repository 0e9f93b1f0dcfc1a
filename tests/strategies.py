"""Hypothesis strategies for tensors with many ties, extreme values and every kind of NaN."""

import math

import numpy as np
from hypothesis import strategies as st

TYPES = (
    "float32",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
)
FLOATS = TYPES[:2]
NAN_MODES = ("propagate", "ignore")
DIRECTIONS = ("increasing", "decreasing")
INDEX_TYPES = ("uint32", "uint64", "int32", "int64")
LAYOUTS = ("tensor", "plane", "column_major")


def special_bits(name, nan=True):
    """Return bit patterns that find wrong comparisons: extremes, neighbours, zeros, NaN."""
    bits = 8 * np.dtype(name).itemsize
    top = 1 << (bits - 1)
    if name not in FLOATS:
        around = (0, 1, 2, top - 2, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1)
        # These have ones in one half alone. A comparison of halves, or one in floats of the same
        # width, would confuse some of them with their neighbours.
        return (*around, 1 << (bits // 2), (1 << (bits // 2)) - 1, top + (1 << (bits // 2)))
    infinity = {"float32": 0x7F800000, "float16": 0x7C00}[name]
    mantissa = {"float32": 23, "float16": 10}[name]
    one = (infinity >> mantissa >> 1) << mantissa
    positive = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, infinity - 1, infinity]
    if nan:
        quiet = infinity | 1 << (mantissa - 1)
        positive += [infinity + 1, infinity + 3, quiet, quiet + 5, top - 1]
    return tuple(p | sign for p in positive for sign in (0, top))


def _from_bits(patterns, name):
    return np.array(patterns, f"u{np.dtype(name).itemsize}").view(name)


def special_values(name, nan=True):
    return _from_bits(special_bits(name, nan), name)


@st.composite
def tensors(draw, shape, name, nan=True):
    """Draw a tensor of a few different bit patterns, so that ties and NaN are frequent.

    Hypothesis draws the patterns and a seed, and the seed fills the tensor. This is faster than to
    draw every element, and shrinks as well.
    """
    bits = 8 * np.dtype(name).itemsize
    special = st.sampled_from(special_bits(name, nan))
    anything = st.integers(0, (1 << bits) - 1)
    alphabet = draw(st.lists(st.one_of(special, special, anything), min_size=1, max_size=5))
    if draw(st.booleans()):
        # Two patterns that differ in one bit show a comparison that ignores this bit.
        alphabet.append(alphabet[0] ^ 1 << draw(st.integers(0, bits - 1)))
    values = _from_bits(alphabet, name)
    if not nan and name in FLOATS:
        values = np.where(np.isnan(values), np.array(1, name), values)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.integers(0, 4)) == 0:
        raw = rng.integers(0, 256, (math.prod(shape), bits // 8), np.uint8).view(name)
        values = raw if nan or name not in FLOATS else np.nan_to_num(raw)
        return values.reshape(shape)
    return values[rng.integers(0, len(values), shape)]


@st.composite
def sizes(draw, min_rank=1, max_rank=8, most=400):
    """Draw sizes of few elements, of all ranks alike, in which long axes occur."""
    rank = draw(st.integers(min_rank, max_rank))
    result, left = [], most
    for _ in range(rank):
        n = draw(st.integers(1, max(1, min(left, 40 if rank < 3 else 5))))
        result.append(n)
        left //= n
    return tuple(draw(st.permutations(result)))


@st.composite
def axes_of(draw, rank):
    """Draw some axes, in any order, of which some are counted from the end."""
    chosen = draw(st.sets(st.integers(0, rank - 1), min_size=1))
    listed = draw(st.permutations(sorted(chosen)))
    return tuple(axis - rank if draw(st.booleans()) else axis for axis in listed)


@st.composite
def memory_layouts(draw, x):
    """Draw an array of the same elements with another layout in memory."""
    kind = draw(st.sampled_from(["C", "F", "gaps", "reversed", "swapped", "read-only"]))
    if kind == "F":
        return np.asfortranarray(x)
    if kind == "gaps":
        wide = np.zeros([2 * n for n in x.shape], x.dtype)
        view = wide[tuple(slice(1, None, 2) for _ in x.shape)]
        view.view(f"u{x.itemsize}")[...] = x.view(f"u{x.itemsize}")
        return view
    if kind == "reversed":
        backwards = tuple(slice(None, None, -1) for _ in x.shape)
        return np.ascontiguousarray(x[backwards])[backwards]
    if kind == "swapped":
        return x.byteswap().view(x.dtype.newbyteorder())
    y = x.copy()
    y.flags.writeable = kind != "read-only"
    return y


@st.composite
def poolings(draw, max_size=9, max_window=4, most_padding=5, ranks=(4, 5)):
    """Draw a valid pooling: its sizes, and its geometry as keyword arguments."""
    spatial = draw(st.sampled_from(ranks)) - 2
    if spatial == 3:
        max_size, max_window = min(max_size, 5), min(max_window, 3)
    columns = []
    for _ in range(spatial):
        size = draw(st.integers(1, max_size))
        start = draw(st.one_of(st.just(0), st.integers(0, most_padding)))
        end = draw(st.one_of(st.just(0), st.integers(0, most_padding)))
        padded = size + start + end
        window = draw(st.one_of(st.integers(1, min(max_window, padded)), st.integers(1, padded)))
        dilation = draw(st.integers(1, (padded - 1) // (window - 1))) if window > 1 else 1
        columns.append((size, window, draw(st.integers(1, 4)), start, end, dilation))
    plane, window, strides, start, end, dilations = map(tuple, zip(*columns, strict=True))
    outer = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return (*outer, *plane), {
        "window": window,
        "strides": strides,
        "start_padding": start,
        "end_padding": end,
        "dilations": dilations,
    }


@st.composite
def onnx_poolings(draw, ranks=(3, 4, 5)):
    """Draw sizes and MaxPool attributes for which ONNX Runtime is known to be right.

    The padding is narrower than the window, automatic padding has no dilation and no stride that
    skips elements, and every window meets an element.
    """
    spatial = draw(st.sampled_from(ranks)) - 2
    auto_pad = draw(st.sampled_from(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    ceil_mode = draw(st.integers(0, 1))
    columns = []
    for _ in range(spatial):
        window = draw(st.integers(1, 4 if spatial < 3 else 3))
        dilation = 1 if auto_pad.startswith("SAME") else draw(st.integers(1, 3))
        extent = 1 + (window - 1) * dilation
        start, end = (
            draw(st.integers(0, window - 1)) if auto_pad == "NOTSET" else 0 for _ in range(2)
        )
        stride = draw(st.integers(1, extent if auto_pad.startswith("SAME") else 4))
        # Rounded up, there is a window also where less than a stride of the input is missing.
        least = extent - start - end - (stride - 1 if ceil_mode else 0)
        size = draw(st.integers(max(1, least), extent + (9 if spatial < 3 else 4)))
        columns.append((size, window, stride, dilation, start, end))
    plane, window, strides, dilations, starts, ends = map(list, zip(*columns, strict=True))
    attributes = {
        "kernel_shape": window,
        "strides": strides,
        "dilations": dilations,
        "auto_pad": auto_pad,
        "ceil_mode": ceil_mode,
        "storage_order": draw(st.integers(0, 1)),
    }
    if auto_pad == "NOTSET":
        attributes["pads"] = starts + ends
    return (draw(st.integers(1, 2)), draw(st.integers(1, 2)), *plane), attributes
