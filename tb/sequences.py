"""Random jobs of every operator and type, with many ties, and windows far into the padding."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job
from extremum.model import DataType, Pooling, Reduction

ELEMENTS = 60
"""Elements of the tensor of a reduction, at the most: so they are streamed in few clocks."""


def tensor(source: random.Random, data_type: DataType, sizes: tuple[int, ...]) -> NDArray[Any]:
    """Return a tensor of random bits or, more often, of few different elements, which tie."""
    dtype = data_type.dtype
    width = 8 * dtype.itemsize
    count = math.prod(sizes)
    if source.random() < 0.2:
        raw = source.randbytes(count * dtype.itemsize)
    else:
        alphabet = [_element(source, data_type) for _ in range(source.randint(1, 4))]
        if source.random() < 0.5:
            alphabet.append(alphabet[0] ^ 1 << source.randrange(width))
        words = source.choices(alphabet, k=count)
        raw = b"".join(word.to_bytes(dtype.itemsize, "little") for word in words)
    return np.frombuffer(raw, dtype).reshape(sizes)


def _element(source: random.Random, data_type: DataType) -> int:
    """Return the bits of an element that reveals a wrong order: an extreme, a zero or a NaN."""
    width = 8 * data_type.dtype.itemsize
    top = 1 << width - 1
    choices = [0, 1, top - 1, top, top + 1, 2 * top - 1, source.getrandbits(width)]
    if data_type.format.is_float:
        infinity = int(np.array(np.inf, data_type.dtype).view(f"u{width // 8}"))
        choices += [infinity, infinity - 1, infinity + 1, infinity + top, infinity + top + 1]
    return source.choice(choices)


def reduction(source: random.Random, data_type: DataType) -> Reduction:
    """Return a reduction of a tensor of about :data:`ELEMENTS` elements at the most."""
    sizes, left = [], ELEMENTS
    for _ in range(source.randint(1, 4)):
        sizes.append(source.randint(1, max(1, min(left, 25))))
        left //= sizes[-1]
    source.shuffle(sizes)
    rank = len(sizes)
    function = source.choice(("argmin", "argmax", "min", "max"))
    direction = source.choice(("increasing", "decreasing"))
    return Reduction.of(
        function,
        sizes,
        data_type,
        source.sample(range(rank), source.randint(1, rank)),
        axis_direction=direction if function.startswith("arg") else "increasing",
        nan=source.choice(("propagate", "ignore")),
    )


def pooling(source: random.Random, data_type: DataType, most: int = 8) -> Pooling:
    """Return a pooling of planes or volumes of at most ``most`` elements along a dimension."""
    spatial = source.choice((2, 2, 3))
    most = most if spatial == 2 else (most + 1) // 2
    columns = []
    while len(columns) < spatial:
        size, window, stride = source.randint(1, most), source.randint(1, 4), source.randint(1, 3)
        dilation = source.choice((1, 1, 2, 3))
        start, end = source.choice((0, 0, 1, 2, 5)), source.choice((0, 0, 1, 2, 6))
        if 1 + (window - 1) * dilation <= size + start + end:
            columns.append((size, window, stride, start, end, dilation))
    plane, window, strides, start, end, dilations = zip(*columns, strict=True)
    return Pooling.of(
        (source.randint(1, 2), source.randint(1, 3), *plane),
        data_type,
        window,
        strides=strides,
        start_padding=start,
        end_padding=end,
        dilations=dilations,
        index_layout=source.choice(("tensor", "plane", "column_major")),
        nan=source.choice(("propagate", "ignore")),
    )


def jobs(
    source: random.Random, config: CoreConfig, count: int
) -> Iterator[tuple[Job, NDArray[Any]]]:
    """Return jobs, each with its tensor: reductions and poolings mixed, and jobs of one beat."""
    while count > 0:
        data_type = source.choice(config.data_types)
        kind = source.random()
        problem: Reduction | Pooling
        if kind < 0.15:
            problem = Reduction.of("argmax", (1,), data_type)
        elif kind < 0.45:
            problem = reduction(source, data_type)
        else:
            problem = pooling(source, data_type)
        x = tensor(source, data_type, problem.sizes)
        # A pooling may be cut into many tiles, of which a few are enough.
        for job in plan(problem, config).jobs[:4]:
            yield job, x
            count -= 1
