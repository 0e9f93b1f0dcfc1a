"""The operators that the program runs, as C: tensors, and results from the golden model.

``write`` makes ``cases.h`` when the program is built, so nothing of it is in the repository.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.model import (
    DataType,
    Pooling,
    Reduction,
    argmax,
    argmin,
    max_pooling,
    reduce_max,
    reduce_min,
)

CONFIG = CoreConfig(
    (DataType.INT8,),
    lanes=4,
    max_window=(1, 3, 3),
    max_dilation=(1, 1, 1),
    max_line=16,
    coordinate_width=8,
)
"""The core of the systems: bytes in four lanes, so that a beat is a word of the memory."""


@dataclass(frozen=True)
class Case:
    """One operator.

    Parameters
    ----------
    name
        What the console calls it.
    descriptor
        The operator, as the golden model describes it.
    x
        Its input.
    strides
        Bytes from one element of the input to the next along each axis.
    results
        Values and positions, flat, in the order of the output's memory.
    output_strides
        Elements from one result to the next along each axis.
    """

    name: str
    descriptor: Reduction | Pooling
    x: np.ndarray
    results: tuple[np.ndarray, np.ndarray]
    output_strides: tuple[int, ...]


def cases() -> Iterator[Case]:
    """Yield the operators; the numbers are few, so that there are ties."""
    random = np.random.default_rng(13)

    def tensor(*sizes: int, low: int = -5, high: int = 5) -> np.ndarray:
        return random.integers(low, high, sizes, dtype=np.int8, endpoint=True)

    yield _reduction("argmax of 3 rows of 256", tensor(3, 256, low=-128, high=127), (1,))
    yield _reduction("argmin, the last of equals", tensor(2, 5, 15), (1,), "argmin", "decreasing")
    yield _reduction("argmax over channels, NCHW", tensor(1, 10, 2, 8), (1,))
    yield _pooling("pool 3x3, stride 2, NHWC", tensor(1, 4, 12, 12), 3, 2, last=True)
    yield _pooling("pool 3x3, stride 2, NCHW", tensor(1, 4, 12, 12), 3, 2)
    yield _pooling("pool 2x2, 6 channels, NHWC", tensor(1, 6, 6, 8), 2, 2, last=True)
    yield _pooling("pool 3x3, wide lines, NHWC", tensor(1, 4, 4, 20), 3, 1, last=True)


def _reduction(
    name: str,
    x: np.ndarray,
    axes: Sequence[int],
    function: str = "argmax",
    direction: str = "increasing",
) -> Case:
    golden = {"argmax": argmax, "argmin": argmin}[function]
    descriptor = Reduction.of(function, x.shape, "int8", axes, axis_direction=direction)
    positions = golden(x, axes, axis_direction=direction)
    # The core tells the value that it has found beside its position.
    values = {"argmax": reduce_max, "argmin": reduce_min}[function](x, axes)
    return Case(name, descriptor, x, (values, positions), _strides(positions))


def _pooling(name: str, x: np.ndarray, window: int, stride: int, *, last: bool = False) -> Case:
    padding = window // 2 if window > 2 else 0
    options: dict[str, Any] = {"strides": stride, "start_padding": padding, "end_padding": padding}
    descriptor = Pooling.of(x.shape, "int8", window, **options, return_indices=True)
    results = max_pooling(x, window, **options, return_indices=True)
    if last:
        x, *results = (_channels_last(array) for array in (x, *results))
    values, positions = results
    return Case(name, descriptor, x, (values, positions), _strides(values))


def _channels_last(array: np.ndarray) -> np.ndarray:
    """Return a view of a tensor (N, C, ...) whose memory has the channels innermost."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def _strides(array: np.ndarray) -> tuple[int, ...]:
    """Return the elements from one element to the next along each axis."""
    return tuple(stride // array.itemsize for stride in array.strides)


def _in_memory(array: np.ndarray) -> np.ndarray:
    """Return the elements of a tensor as they lie in memory."""
    return array.ravel(order="K")


def beats(case: Case) -> int:
    """Return the beats of the largest packet of a case."""
    return max(max(job.beats_in, job.beats_out) for job in plan(case.descriptor, CONFIG).jobs)


def write(path: Path) -> list[Case]:
    """Write the cases as a C header; return them."""
    every = list(cases())
    header = [
        "/* Written by cases.py. */",
        '#include "extremum.h"',
        f"#define CASES_LANES {CONFIG.lanes}",
        f"#define CASES_COUNT {len(every)}",
        f"#define CASES_MOST_BEATS {max(map(beats, every))}",
        f"#define CASES_MOST_RESULTS {max(case.results[1].size for case in every)}",
        "struct test_case {",
        "    const char *name;",
        "    const struct extremum_reduction *reduction;",
        "    const struct extremum_pooling *pooling;",
        "    const uint8_t *input;",
        "    uint32_t results;",
        "    const uint8_t *values;",
        "    const uint32_t *positions;",
        "};",
    ]
    for number, case in enumerate(every):
        header += _arrays(number, case)
    rows = [f"    {{{', '.join(_members(number, case))}}}," for number, case in enumerate(every)]
    header += [f"static const struct test_case CASES[{len(every)}] = {{", *rows, "};"]
    path.write_text("\n".join(header) + "\n")
    return every


def _members(number: int, case: Case) -> Iterator[str]:
    """Yield the members of a ``struct test_case``."""
    yield f'"{case.name}"'
    for kind in (Reduction, Pooling):
        yield f"&operator_{number}" if isinstance(case.descriptor, kind) else "NULL"
    yield f"(const uint8_t *)input_{number}"
    yield str(case.results[1].size)
    yield f"values_{number}"
    yield f"positions_{number}"


def _array(kind: str, name: str, numbers: Sequence[int | str]) -> str:
    return f"static const {kind} {name}[{len(numbers)}] = {{{', '.join(map(str, numbers))}}};"


def _arrays(number: int, case: Case) -> Iterator[str]:
    """Yield the definitions of a case's tensors and of its operator."""
    data = _in_memory(case.x).tobytes()
    data += bytes(-len(data) % 4)
    # The input is made of words, so that the DMA can read it from its start.
    words = np.frombuffer(data, np.dtype("<u4")).tolist()
    yield _array("uint32_t", f"input_{number}", [f"{word}u" for word in words])
    values, positions = case.results
    yield _array("uint8_t", f"values_{number}", list(_in_memory(values).tobytes()))
    told = _in_memory(positions).astype(np.uint32).tolist()
    yield _array("uint32_t", f"positions_{number}", [f"{word}u" for word in told])
    yield _array("int64_t", f"input_strides_{number}", case.x.strides)
    yield _array("int64_t", f"output_strides_{number}", case.output_strides)
    yield from _operator(number, case.descriptor)


def _listed(numbers: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, numbers))}}}"


def _operator(number: int, descriptor: Reduction | Pooling) -> Iterator[str]:
    strides = [
        f"    .input_strides = input_strides_{number},",
        f"    .output_strides = output_strides_{number},",
        "};",
    ]
    if isinstance(descriptor, Reduction):
        yield f"static const struct extremum_reduction operator_{number} = {{"
        yield f"    .function = EXTREMUM_{descriptor.function.name},"
        yield f"    .axis_count = {len(descriptor.axes)}, .axes = {_listed(descriptor.axes)},"
        yield f"    .axis_direction = EXTREMUM_{descriptor.axis_direction.name},"
    else:
        yield f"static const struct extremum_pooling operator_{number} = {{"
        for name in ("window", "strides", "start_padding", "end_padding", "dilations"):
            yield f"    .{name} = {_listed(getattr(descriptor, name))},"
        yield "    .return_indices = true,"
    yield f"    .rank = {len(descriptor.sizes)}, .sizes = {_listed(descriptor.sizes)},"
    yield "    .data_type = EXTREMUM_INT8,"
    yield from strides
