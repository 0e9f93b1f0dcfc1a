"""Descriptors with any fields, and the golden model on raw buffers with any strides."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from hypothesis import strategies as st

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.model import (
    ArgMaxOperatorDesc,
    BufferTensorDesc,
    DataType,
    MaxPooling2OperatorDesc,
    Pooling,
    ReduceFunction,
    Reduction,
    argmax,
    argmin,
    max_pooling,
    reduce_max,
)
from extremum.tb.fuzz.target import Target, require

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 3, 7, 2**16, 2**31, 2**32, 2**63, -(2**63), 10**40, 1.0, float("nan"),
    "1", b"1", "int8", "float32", "argmax", "propagate", "ignore", "tensor", [], {}, (1, 2),
    np.int8(3), np.array([1, 2]), np.dtype("f4"), np.uint32, DataType.INT8, object(), 1j, "é\0",
)  # fmt: skip
"""What a caller may hand over for a number, a list or a name, by mistake or on purpose."""

ANYTHING = st.one_of(
    st.sampled_from(ODD), st.lists(st.sampled_from(ODD), max_size=9).map(tuple), st.integers()
)
NUMBERS = st.one_of(
    st.integers(-2, 9), st.sampled_from([2**16, 2**31 - 1, 2**32 - 1, 2**32, 2**63, -(2**63)])
)
LISTS = st.lists(NUMBERS, max_size=9).map(tuple)
SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=8).map(tuple)
TYPES = st.sampled_from([data_type.value for data_type in DataType])


def _fields(valid: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Return arguments by name that fit each other, of which up to two are then anything."""
    wrong = st.one_of(ANYTHING, NUMBERS, LISTS)
    changed = st.dictionaries(st.sampled_from(sorted(valid)), wrong, max_size=2)
    return st.builds(
        lambda fields, changes: fields | changes, st.fixed_dictionaries(valid), changed
    )


SIZE = st.one_of(st.integers(1, 6), st.sampled_from([1, 40, 70_000]))
REDUCTION = _fields(
    {
        "function": st.sampled_from([function.value for function in ReduceFunction]),
        "sizes": st.lists(SIZE, min_size=1, max_size=8).map(tuple),
        "data_type": TYPES,
        "axes": st.one_of(st.none(), st.just((0,)), st.just(-1)),
        "axis_direction": st.just("increasing"),
        "index_type": st.sampled_from(["uint32", "int64"]),
        "nan": st.sampled_from(["propagate", "ignore"]),
    }
)
POOLING = _fields(
    {
        "sizes": st.lists(SIZE, min_size=4, max_size=5).map(tuple),
        "data_type": TYPES,
        "window": st.integers(1, 3),
        "strides": st.integers(1, 3),
        "start_padding": st.integers(0, 2),
        "end_padding": st.integers(2, 4),
        "dilations": st.just(1),
        "return_indices": st.booleans(),
        "index_layout": st.sampled_from(["tensor", "plane", "column_major"]),
    }
)
CORE = _fields(
    {
        "data_types": st.just(tuple(data_type for data_type in DataType)),
        "operators": st.just(("argmin", "argmax", "max-pool")),
        "lanes": st.integers(1, 5),
        "index_width": st.integers(0, 32),
        "padding": st.booleans(),
        "max_window": st.tuples(*[st.integers(1, 3)] * 3),
        "max_line": st.integers(1, 100),
        "max_plane": st.integers(1, 1000),
        "coordinate_width": st.integers(4, 24),
    }
)


def describe(drawn: tuple[str, dict[str, Any], dict[str, Any]]) -> str:
    """Make a problem and a core from any arguments, and plan the first jobs."""
    kind, fields, core = drawn
    problem = (Reduction if kind == "reduction" else Pooling).of(**fields)
    config = CoreConfig(**core)
    planned = plan(problem, config)
    for number, job in enumerate(planned.jobs):
        job.registers.to_bits(config)
        if number > 3:
            break
    return "planned"


def descriptors() -> st.SearchStrategy[Any]:
    """Return the kind of a problem, its arguments, and those of a core."""
    return st.one_of(
        st.tuples(st.just("reduction"), REDUCTION, CORE),
        st.tuples(st.just("pooling"), POOLING, CORE),
    )


def buffer_descriptors() -> st.SearchStrategy[Any]:
    """Return sizes, strides and lengths of buffers that may fit each other or not."""
    return st.integers(1, 5).flatmap(_two_tensors)


def _two_tensors(rank: int) -> st.SearchStrategy[Any]:
    """Return what :func:`evaluate_raw` takes, for tensors of about a rank."""
    number = st.one_of(st.integers(0, 9), NUMBERS)
    few = st.lists(number, min_size=rank, max_size=rank).map(tuple)
    strides = st.one_of(st.none(), few, LISTS)
    length = st.one_of(st.none(), st.none(), st.integers(0, 200), NUMBERS)
    sizes = st.lists(st.integers(1, 4), min_size=rank, max_size=rank).map(tuple)
    tensor = st.tuples(TYPES, st.one_of(sizes, LISTS), strides, length)
    axes = st.one_of(st.just((0,)), st.just((rank - 1,)), LISTS)
    kinds = st.sampled_from(["argmax", "max-pool"])
    return st.tuples(kinds, tensor, tensor, st.integers(-2, 9), axes, st.sampled_from([0, 0, 0, 1]))


GUARD = 64
"""Bytes on either side of a buffer that nobody may write."""

MOST = 1 << 16
"""Bytes of a buffer that a description may need, so that memory lasts."""


def evaluate_raw(drawn: Any) -> str:
    """Run an operator on buffers described by any numbers: nothing beside the output is written."""
    kind, (name, sizes, strides, total), out_fields, spare, numbers, is_shared = drawn
    source = BufferTensorDesc(name, sizes, strides, total)
    _, out_sizes, out_strides, out_total = out_fields
    if kind == "argmax":
        reduced = tuple(1 if axis in numbers else n for axis, n in enumerate(sizes))
        target = BufferTensorDesc(DataType.UINT32, reduced, out_strides, out_total)
        desc: Any = ArgMaxOperatorDesc(source, target, numbers)
    else:
        target = BufferTensorDesc(
            name, out_sizes if len(numbers) > 1 else sizes, out_strides, out_total
        )
        one = (1,) * max(0, len(sizes) - 2)
        desc = MaxPooling2OperatorDesc(
            source, target, None, one, one, tuple(0 for _ in one), tuple(0 for _ in one), one
        )
    needed = source.total_tensor_size_in_bytes, target.total_tensor_size_in_bytes
    if max(needed) > MOST:
        return "too large"
    arena = np.full(sum(needed) + 3 * GUARD + abs(spare), 0xA5, np.uint8)
    given = arena[GUARD : GUARD + needed[0]]
    start = GUARD + (0 if is_shared else needed[0] + GUARD)
    out = arena[start : max(start, start + needed[1] + min(spare, 0))]
    before = arena.copy()
    written = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = desc.evaluate(given, out=out)
        written = True
    finally:
        ends = start, start + (out.size if written else 0)
        changed = np.flatnonzero(arena != before)
        require(
            not changed.size or bool(ends[0] <= changed[0] and changed[-1] < ends[1]),
            f"bytes {changed[:8]} were written, and the output is {ends}",
        )
    require(np.shares_memory(result, out), "the result is not in the buffer")
    return "computed"


@st.composite
def views(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Draw a view into memory with any strides that stay within it, and the memory."""
    dtype = np.dtype(draw(TYPES))
    if draw(st.booleans()):
        dtype = dtype.newbyteorder("S")
    rank = draw(st.integers(1, 5))
    sizes = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    strides = tuple(draw(st.integers(-24, 24)) for _ in range(rank))
    reach = [(n - 1) * s for n, s in zip(sizes, strides, strict=True)]
    lowest = sum(min(0, each) for each in reach)
    size = sum(max(0, each) for each in reach) - lowest + dtype.itemsize
    offset = draw(st.integers(0, 7))
    seed = draw(st.integers(0, 2**32 - 1))
    memory = np.random.default_rng(seed).integers(0, draw(st.sampled_from([2, 256])), size + offset)
    memory = memory.astype(np.uint8)
    x = np.ndarray(sizes, dtype, memory.data, offset - lowest, strides)
    x.flags.writeable = draw(st.booleans())
    return x, memory


def evaluate_view(drawn: tuple[np.ndarray, np.ndarray]) -> str:
    """Compute on a view, unaligned, overlapping or reversed: as on a copy, and nothing changes."""
    x, memory = drawn
    before = memory.tobytes()
    plain = np.ascontiguousarray(x).astype(x.dtype.newbyteorder("="))
    functions: list[Any] = [argmin, argmax, reduce_max]
    if x.ndim in (4, 5):
        functions.append(lambda t: max_pooling(t, 1, strides=2))
    for function in functions:
        same, expected = function(x), function(plain)
        require(same.tobytes() == expected.tobytes(), f"{function} differs on a copy")
        require(same.dtype.isnative, f"{function} gives another order of bytes")
    require(memory.tobytes() == before, "the input was written")
    return f"rank {x.ndim}" if math.prod(x.shape) > 1 else "one element"


TARGETS = (
    Target(
        "descriptors",
        "any arguments of Reduction.of, Pooling.of, CoreConfig and plan: TypeError, ValueError or "
        "OverflowError, or registers that fit",
        descriptors,
        describe,
        (TypeError, ValueError, OverflowError),
    ),
    Target(
        "buffer descriptors",
        "any sizes, strides and lengths of raw buffers: TypeError or ValueError, or a result in "
        "the output and no byte written elsewhere",
        buffer_descriptors,
        evaluate_raw,
        (TypeError, ValueError),
    ),
    Target(
        "strides",
        "views of any strides, alignment and order of bytes: the same result as on a copy, and "
        "the input unchanged",
        views,
        evaluate_view,
    ),
)
