"""Jobs for the trials of a core: random ones, and those that find what random ones seldom find."""

from __future__ import annotations

import random

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import ends_with_plane
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job
from extremum.model import DataType, Pooling, Reduction
from extremum.tb import sequences
from extremum.tb.mutation.designs import COUNTER_BITS


def fits(job: Job) -> bool:
    """Return whether a job's registers fit into the scaled counters."""
    values = job.registers.values()
    return all(
        values[name] < 1 << COUNTER_BITS for name in ("slots", "volumes", "length", "groups")
    )


def random_jobs(rng: random.Random, config: CoreConfig, count: int) -> list[tuple[Job, np.ndarray]]:
    """Return random jobs that fit into the scaled counters."""
    if ends_with_plane(config):
        return [unpadded(rng, config) for _ in range(count)]
    return [each for each in sequences.jobs(rng, config, count) if fits(each[0])]


def unpadded(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a pooling of one plane or volume without padding, often long in one dimension."""
    kind, longest = rng.choice(config.data_types), (1 << config.coordinate_width) - 1
    sizes = [rng.choice((1, 1, 2, 3, 4, 5)) for _ in range(3)]
    long = rng.randrange(3)
    sizes[long] = rng.choice((2, 16, longest, rng.randint(1, longest), rng.randint(17, longest)))
    window, dilations = [1, 1, 1], [rng.randint(1, most) for most in config.max_dilation]
    for axis, most in enumerate(config.max_window):
        # Lines that are longer than those that a core can store need windows of one line.
        if axis == long or rng.random() < 0.5:
            window[axis] = rng.randint(1, min(most, -(-sizes[axis] // dilations[axis])))
    strides = [
        rng.choice((1, 1, 2, 3, 16, longest, rng.randint(1, size), rng.randint(1, longest)))
        for size in sizes
    ]
    problem = Pooling.of((1, 1, *sizes), kind, window, strides=strides, dilations=dilations)
    try:
        job = plan(problem, config).jobs[0]
    except ValueError:  # the core cannot store the lines
        return unpadded(rng, config)
    return (job, sequences.tensor(rng, kind, problem.sizes)) if fits(job) else unpadded(rng, config)


def long_reduction(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a reduction of nearly as many beats as the scaled counters can count.

    Its winner, or one of a few equals, may be anywhere. Rows that are too long for the core's
    positions are reduced to their values.
    """
    kind = rng.choice(config.data_types)
    most = (1 << COUNTER_BITS) - 1
    rows = rng.choice((1, 1, 2, 3, 4, 5, 8, 16))
    # Where lanes are folded, a job takes rows that are so many times as long.
    limit = most // rows * rng.choice((1, config.lanes))
    count = min(rng.choice((most - 1, 513, 700, 257, limit, limit - 1)), limit)
    if count <= (1 << config.index_width) - 2:
        problem = Reduction.of(
            rng.choice(("argmin", "argmax")), (rows, count), kind, 1,
            axis_direction=rng.choice(("increasing", "decreasing")),
        )  # fmt: skip
    else:
        problem = Reduction.of(rng.choice(("min", "max")), (rows, count), kind, 1)
    base = rng.choice((0, 1, 5))
    x = np.full(problem.sizes, base, kind.dtype)
    for row in range(rows):
        for _ in range(rng.choice((1, 2))):
            x[row, rng.choice((rng.randrange(count), count - 1, 0))] = base + rng.choice((-1, 1))
    return next((job, x) for job in plan(problem, config).jobs)


def _special(rng: random.Random, kind: DataType) -> int:
    """Return the bits of an element beside which an order or a NaN is decided."""
    width = kind.format.width
    top = 1 << width - 1
    choices = [0, top, top - 1, rng.getrandbits(width)]
    if kind.format.is_float:
        infinity = int(np.array(np.inf, kind.dtype).view(f"u{width // 8}"))
        choices += [infinity, infinity + top] * 2
    return rng.choice(choices)


def _deep(rng: random.Random, kind: DataType, config: CoreConfig) -> Pooling:
    """Return a small pooling with windows over planes, which random ones seldom have, and jobs.

    Planes of one row and of one column, where the storage takes short cuts, come often.
    """
    most = config.max_window[0]
    height, width = rng.choice((1, 1, 2, 3)), rng.randint(1, 4)
    depth = rng.choice((1, 2, 3, 4, 5, 8, 9, 16, 17, 24))
    window = rng.randint(2, most), rng.randint(1, 3), rng.randint(1, 2)
    plane = depth, height, width
    start = [rng.choice((0, 0, 1)) for _ in plane]
    end = [
        max(rng.choice((0, 0, 1, 2)), taps - size - before)
        for taps, size, before in zip(window, plane, start, strict=True)
    ]
    channels = rng.randint(1, 3)
    is_small = channels * depth * height * width < (1 << config.index_width) - 1
    problem = Pooling.of(
        (1, channels, *plane), kind, window, start_padding=start, end_padding=end,
        strides=tuple(rng.choice((1, 1, 2)) for _ in range(3)),
        nan=rng.choice(("propagate", "ignore")), return_indices=is_small and rng.random() < 0.5,
    )  # fmt: skip
    return problem if len(plan(problem, config).jobs) else _deep(rng, kind, config)


def deep(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job of windows over planes of elements that tie or take any value."""
    kind = rng.choice(config.data_types)
    problem = _deep(rng, kind, config)
    if rng.random() < 0.5:
        x = np.array([rng.choice((0, 1)) for _ in range(int(np.prod(problem.sizes)))], kind.dtype)
    else:
        x = np.frombuffer(
            rng.randbytes(int(np.prod(problem.sizes)) * kind.dtype.itemsize), kind.dtype
        )
    return plan(problem, config).jobs[0], x.reshape(problem.sizes)


def many(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job of windows in many small volumes, so that the counters of volumes are filled."""
    kind = rng.choice(config.data_types)
    volumes = rng.choice((8, 9, 16, 17, 40, 129, 130, 200, 255, 257, 300, 400, 500, 513))
    sizes = [volumes * config.lanes - rng.choice((0, 0, 1)), 1, 1, 1, 1]
    window, start, end = [1, 1, 1], [0, 0, 0], [0, 0, 0]
    axis = rng.randrange(3)
    window[axis] = rng.randint(1, config.max_window[axis])
    sizes[2 + axis] = rng.randint(1, 2 if volumes < 300 else 1)
    start[axis] = rng.choice((0, 0, 1))
    end[axis] = max(rng.choice((0, 1)), window[axis] - sizes[2 + axis] - start[axis])
    stride = rng.choice((1, 1, 2))
    if config.max_window[axis] > 1 and rng.random() < 0.4:
        # Two slots for each volume, and one without a beat behind the last.
        sizes[2 + axis], window[axis], start[axis], end[axis], stride = 2, 2, 0, 1, 1
    problem = Pooling.of(sizes, kind, window, strides=stride, start_padding=start, end_padding=end)
    return _of_random_bits(rng, config, problem) or many(rng, config)


def large(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job of one volume that is long in one dimension, with any padding and stride."""
    kind = rng.choice(config.data_types)
    most = (1 << config.coordinate_width) - 1
    plane = rng.sample([rng.randint(1, most), rng.randint(1, 6), rng.randint(1, 4)], 3)
    window = [rng.randint(1, most) for most in config.max_window]
    if rng.random() < 0.5:
        # Lines that are longer than those that a core can store need windows of one line.
        window = [
            taps if size == max(plane) else 1 for taps, size in zip(window, plane, strict=True)
        ]
    start = [rng.choice((0, 0, 1, 2, 6, 7, 17, 24)) for _ in range(3)]
    end = [
        max(rng.choice((0, 0, 1, 3, 4, 8, 9, 16)), taps - size - before)
        for taps, size, before in zip(window, plane, start, strict=True)
    ]
    problem = Pooling.of(
        (1, 1, *plane), kind, window,
        strides=[rng.choice((1, 1, 2, 3, 4, 5, 6, 9, 12, 17, 18)) for _ in range(3)],
        start_padding=start, end_padding=end,
        return_indices=bool(np.prod(plane) < 1 << config.index_width - 1),
    )  # fmt: skip
    return _of_random_bits(rng, config, problem) or large(rng, config)


def line(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job of a line in any dimension that needs most bits of a coordinate.

    Its windows have as many taps as they can, and many reach into the padding or lie in it.
    """
    kind = rng.choice(config.data_types)
    axis, most = rng.randrange(3), (1 << config.coordinate_width) - 1
    plane, window, strides = [rng.choice((1, 1, 2)) for _ in range(3)], [1, 1, 1], [1, 1, 1]
    start, end, dilations = [0, 0, 0], [0, 0, 0], [1, 1, 1]
    plane[axis] = rng.choice((1, 2, rng.randint(3, most), *(rng.randint(most // 2, most),) * 2))
    window[axis] = config.max_window[axis]
    strides[axis] = rng.choice((1, 1, 2, 3, rng.randint(4, most)))
    end[axis] = rng.choice((0, 1, 2, 2, 3, 4, max(0, most - plane[axis] - rng.randrange(4))))
    dilations[axis] = rng.randint(1, config.max_dilation[axis])
    extent = (window[axis] - 1) * dilations[axis] + 1
    # No slot is spent on what lies in front of the first window's last tap. So the start padding
    # may be longer than a line.
    longest = most - plane[axis] + extent - 1
    start[axis] = rng.choice((0, 0, 1, 2, 5, longest, max(0, longest - rng.randrange(4))))
    end[axis] = max(end[axis], extent - plane[axis] - start[axis])
    problem = Pooling.of(
        (1, rng.randint(1, config.lanes), *plane), kind, window,
        strides=strides, dilations=dilations, start_padding=start, end_padding=end,
    )  # fmt: skip
    return _of_random_bits(rng, config, problem) or line(rng, config)


def padded(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job of a small tensor in wide padding, whose windows have holes.

    Windows that are empty, or whose only tap is any of theirs, come often.
    """
    kind = rng.choice(config.data_types)
    plane = [rng.choice((1, 1, 2, 3)) for _ in range(3)]
    window = [rng.randint(1, most) for most in config.max_window]
    dilations = [rng.randint(1, most) for most in config.max_dilation]
    start = [rng.choice((0, 1, 1, 2, 3, 5)) for _ in plane]
    end = [
        max(rng.choice((0, 1, 1, 2, 3, 6)), (taps - 1) * apart + 1 - size - before)
        for taps, apart, size, before in zip(window, dilations, plane, start, strict=True)
    ]
    problem = Pooling.of(
        (1, rng.randint(1, 3), *plane), kind, window,
        strides=[rng.choice((1, 1, 2, 3)) for _ in plane], dilations=dilations,
        start_padding=start, end_padding=end, nan=rng.choice(("propagate", "ignore")),
    )  # fmt: skip
    return _of_random_bits(rng, config, problem) or padded(rng, config)


def _of_random_bits(
    rng: random.Random, config: CoreConfig, problem: Pooling
) -> tuple[Job, np.ndarray] | None:
    """Return a pooling's first job if it has one that fits, with elements of any bits."""
    jobs = plan(problem, config).jobs
    if not len(jobs) or not fits(jobs[0]):
        return None
    raw = rng.randbytes(int(np.prod(problem.sizes)) * problem.data_type.dtype.itemsize)
    return jobs[0], np.frombuffer(raw, problem.data_type.dtype).reshape(problem.sizes)


def near_equal(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job whose elements differ in one bit, of short rows or of windows.

    Beside an infinity these are NaNs whose payload is one bit.
    """
    kind = rng.choice(config.data_types)
    problem: Reduction | Pooling
    if config.max_window[0] > 1 and rng.random() < 0.3:
        problem = _deep(rng, kind, config)
    elif config.has_windows and rng.random() < 0.5:
        problem = sequences.pooling(rng, kind)
        while not len(plan(problem, config).jobs):
            problem = sequences.pooling(rng, kind)
    else:
        shape = (rng.randint(1, 40), rng.choice((1, 1, 2, 3, 4, 9)))
        function = rng.choice(("argmin", "argmax", "min", "max"))
        directions = ("increasing", "decreasing") if "arg" in function else ("increasing",)
        problem = Reduction.of(
            function, shape, kind, 1,
            nan=rng.choice(("propagate", "ignore")), axis_direction=rng.choice(directions),
        )  # fmt: skip
    width = kind.format.width
    base = _special(rng, kind)
    flips = rng.choice((0.3, 0.7, 1.0))
    words = [
        base ^ (rng.random() < flips) << rng.randrange(width)
        for _ in range(int(np.prod(problem.sizes)))
    ]
    raw = b"".join(word.to_bytes(width // 8, "little") for word in words)
    x = np.frombuffer(raw, kind.dtype).reshape(problem.sizes)
    return plan(problem, config).jobs[0], x


def tiled(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a tile of planes so wide or so high that the ways between rows need every bit.

    Or a tile of a volume of two of them, if both have positions.
    """
    kind = rng.choice(config.data_types)
    most = (1 << config.index_width) - 2
    long = rng.choice((33, 64, 100, 128, 150, 160, 169, 240))
    short = rng.choice((1, 2, 3, 4, most // long))
    short = min(short, most // long)
    sizes = (1, rng.randint(1, most // (long * short)), *rng.choice(((long, short), (short, long))))
    plane = sizes[2:]
    window = [min(size, rng.choice((1, 2, 2, 3))) for size in plane]
    dilations = [
        rng.choice((1, most, most)) if (taps - 1) * most < size else 1
        for taps, most, size in zip(window, config.max_dilation[1:], plane, strict=True)
    ]
    strides = [rng.choice((1, 1, 2, 3, 9)) for _ in plane]
    if config.max_window[0] > 1 and 2 * long * short <= most and rng.random() < 0.5:
        sizes = (1, 1, 2, *plane)
        window, dilations, strides = [2, *window], [1, *dilations], [1, *strides]
    problem = Pooling.of(
        sizes, kind, window, strides=strides, dilations=dilations,
        return_indices=True,
        index_layout=rng.choice(("tensor", "plane", "column_major", "column_major")),
    )  # fmt: skip
    jobs = [job for job in plan(problem, config).jobs if fits(job)]
    if not jobs:
        return tiled(rng, config)
    return rng.choice(jobs), sequences.tensor(rng, kind, sizes)
