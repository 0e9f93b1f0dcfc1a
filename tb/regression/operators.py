"""Random operators that a core was built for, of few elements or of a long job's."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from extremum.hdl.config import CoreConfig
from extremum.hdl.registers import is_endless
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.model import DataType, Reduction
from extremum.tb.regression.case import Item

DIMENSIONS = ("depth", "height", "width")
TRIES = 300
MANY_TYPES = 4
"""A core of more types than these reduces as often as it pools: each type has many reductions."""

SCARCE = {"uint16": 9, "uint64": 5, "int16": 2, "int64": 2, "int32": 2, "uint32": 2}
"""Types that few cores reduce are drawn so many times as often as others."""

KEPT = 64
"""Operators whose jobs are kept, so that they are planned once for a case."""


def jobs_of(item: Item, config: CoreConfig) -> list[Job]:
    """Return the jobs of an item that are run.

    Raises
    ------
    ValueError
        The core was not built for the operator.
    """
    return _some_jobs(item.operator, json.dumps(item.arguments), config, item.first, item.jobs)


@lru_cache(KEPT)
def _some_jobs(
    operator: str, arguments: str, config: CoreConfig, first: int, count: int
) -> list[Job]:
    """Return a part of all jobs; who draws, runs and observes a case shares them."""
    todo = _all_jobs(operator, arguments, config)
    if _has_rows_alone(config):
        return list(todo)
    first %= max(1, len(todo))
    return [todo[number] for number in range(first, min(len(todo), first + count))]


@lru_cache(KEPT)
def _all_jobs(operator: str, arguments: str, config: CoreConfig) -> Sequence[Job]:
    problem = Item(operator, json.loads(arguments)).problem
    if isinstance(problem, Reduction) and _has_rows_alone(config):
        # One row follows the other, each a job of its own.
        rows = math.prod(problem.output_sizes)
        return [ReductionJob(problem, config, row, row + 1) for row in range(rows)]
    return plan(problem, config).jobs


def _has_rows_alone(config: CoreConfig) -> bool:
    """Return whether a core reduces rows of one length, as many as come, and nothing else."""
    return config.lanes == 1 and is_endless(config)


def drawn_operator(
    source: random.Random, config: CoreConfig, beats: int | None
) -> tuple[str, dict[str, Any]]:
    """Return an operator and its arguments, as :class:`Item` has them.

    Parameters
    ----------
    source
        Where all choices come from.
    config
        The core.
    beats
        About how many input beats it shall take; None for a few.
    """
    kinds = ["reduction"] * config.has_reduction
    if config.has_values:
        # Windows beyond the core are gathered, which needs an argmax; where no window can slide
        # all are.
        often = 1 if len(config.data_types) > MANY_TYPES else 3
        kinds += ["pooling"] * (often if config.has_windows else "argmax" in config.operators)
    for _ in range(TRIES):
        kind = source.choice(kinds)
        draw = _reduction if kind == "reduction" else _pooling
        arguments = draw(source, config, beats)
        if arguments is None:
            continue
        try:
            jobs = jobs_of(Item(kind, arguments), config)
            for job in jobs:
                job.registers.to_bits(config)
        except (ValueError, OverflowError):
            continue
        if jobs and (beats is None or _fits(jobs, beats)):
            return kind, arguments
    raise RuntimeError(f"no operator was found for {config}")


def _fits(jobs: Sequence[Job], beats: int) -> bool:
    """Return whether jobs are about as long as asked for."""
    return max(job.beats_in for job in jobs) < 4 * beats


def _reduction(
    source: random.Random, config: CoreConfig, beats: int | None
) -> dict[str, Any] | None:
    fixed = dict(config.fixed)
    functions = [name for name in config.operators if name.startswith("arg")]
    values = [name.replace("arg", "") for name in functions] if config.has_values else []
    function = source.choice(values if not config.index_width else functions + values)
    direction = ("increasing", "decreasing")[fixed.get("decreasing", source.getrandbits(1))]
    if not function.startswith("arg"):
        direction = "increasing"
    sizes = _row_sizes(source, config, fixed, beats)
    rank = len(sizes)
    axes = source.sample(range(rank), source.randint(1, rank))
    if "length" in fixed or source.random() < (0.4 if beats is None else 0.7):
        axes = [rank - 1]
    data_type = _data_type(source, config)
    return {
        "function": function,
        "sizes": sizes,
        "data_type": data_type,
        "axes": axes,
        "axis_direction": direction,
        "nan": _nan(source, fixed, data_type),
    }


def _nan(source: random.Random, fixed: dict[str, int], data_type: str) -> str:
    """Draw how NaN compete: as the core has fixed it, but for integers either way."""
    drawn = source.getrandbits(1)
    if DataType(data_type).is_float:
        drawn = fixed.get("ignore_nan", drawn)
    return ("propagate", "ignore")[drawn]


def _data_type(source: random.Random, config: CoreConfig) -> str:
    names = [data_type.value for data_type in config.data_types]
    return source.choices(names, [SCARCE.get(name, 1) for name in names])[0]


def _row_sizes(
    source: random.Random, config: CoreConfig, fixed: dict[str, int], beats: int | None
) -> list[int]:
    """Return the sizes of a tensor that is reduced, of which the last may be the row's."""
    lanes = config.lanes
    if "length" in fixed:
        length = fixed["length"]
        if fixed.get("fold"):
            length = length * lanes - source.randrange(lanes)
        rows = source.randint(1, 9) if beats is None else max(1, beats // fixed["length"])
        return [min(rows, 40), length]
    if beats is not None:
        elements = beats * lanes
        length = source.choice((1, 2, 3, 5, 7, 60, 700, 9000, elements))
        length = min(length + source.randint(0, length // 4), elements)
        return [max(1, elements // length), length]
    if source.random() < 0.2:
        return [1]
    if source.random() < (0.3 if lanes < 16 else 0.6):
        # Rows that end near the edge of a beat; as many as fill the lanes or nearly, or a few that
        # are folded.
        length = max(1, lanes * source.randint(1, 6) + source.randint(-1, 1))
        nearly = max(1, lanes * source.randint(1, 2) + source.randint(-lanes, 1))
        return [source.choice((nearly, source.randint(1, 3))), length]
    sizes, left = [], source.choice((60, 60, 400))
    for _ in range(source.randint(1, source.choice((4, 4, 4, 8)))):
        sizes.append(source.randint(1, max(1, min(left, 40))))
        left //= sizes[-1]
    source.shuffle(sizes)
    return sizes


def _pooling(source: random.Random, config: CoreConfig, beats: int | None) -> dict[str, Any] | None:
    fixed = dict(config.fixed)
    deep = config.max_window[0] > 1
    spatial = source.choice((2, 3, 3) if deep else (2, 2, 2, 3))
    inside = beats is not None or source.random() < 0.7
    columns = [
        _line(source, config, axis, fixed, inside=inside, long=beats is not None)
        for axis in range(3 - spatial, 3)
    ]
    if None in columns:
        return None
    size, window, strides, start, end, dilations = (list(c) for c in zip(*columns, strict=True))
    slices = [source.randint(1, 2), source.randint(1, 2 * config.lanes + 1)]
    if beats is not None:
        slices = [1, max(1, config.lanes * beats // math.prod(size))]
        if source.random() < 0.3:
            slices[1] += source.randint(0, config.lanes)
    if not inside and source.random() < 0.3:
        # The window is the whole plane or volume, so that a slice has one result.
        window, start, end = list(size), [0] * spatial, [0] * spatial
        dilations = [1] * spatial
        slices = [1, source.choice((1, 1, 2, slices[1]))]
    layout = source.choice(("tensor", "plane", "column_major"))
    data_type = _data_type(source, config)
    return {
        "sizes": slices + size,
        "data_type": data_type,
        "window": window,
        "strides": strides,
        "start_padding": start,
        "end_padding": end,
        "dilations": dilations,
        "return_indices": config.index_width == 32 and source.random() < 0.5,
        "index_layout": layout,
        "nan": _nan(source, fixed, data_type),
    }


def _line(
    source: random.Random,
    config: CoreConfig,
    axis: int,
    fixed: dict[str, int],
    *,
    inside: bool,
    long: bool,
) -> tuple[int, ...] | None:
    """Return size, window, stride, paddings and dilation of one dimension; None if none fits.

    ``inside`` keeps to what the core can slide; otherwise the host may have to gather. ``long``
    keeps the paddings within the window, so that nearly every slot takes a beat.
    """
    name = DIMENSIONS[axis]
    most, furthest = config.max_window[axis], config.max_dilation[axis]
    beyond = 0 if inside else 2
    window = source.choice((most, source.randint(1, most + beyond)))
    dilation = source.choice((1, 1, 2, 3)) if beyond else source.randint(1, furthest)
    stride = source.choice((1, 1, 2, 3, window))
    window = fixed.get(f"{name}.window", window)
    dilation = fixed.get(f"{name}.dilation", dilation)
    stride = fixed.get(f"{name}.stride", stride)
    extent = 1 + (window - 1) * dilation
    near = max(0, extent - 1)
    pads = [source.choice((0, 0, source.randint(0, near), near)) for _ in "se"]
    if not long and source.random() < 0.15:
        for side in source.choice(((0,), (1,), (0, 1))):
            pads[side] = extent + source.randint(0, 3)
    if f"{name}.head" in fixed:
        pads = [extent - 1 - fixed[f"{name}.head"]] * 2
    passes = inside and config.max_window[axis] == 1 and axis not in config.axes
    if not config.padding or passes:
        pads = [0, 0]
    if passes:
        stride = 1
    longest = min(12 if long else 8, (1 << config.coordinate_width) - 1)
    size = source.randint(1, longest)
    if not long and source.random() < 0.15:
        # A line longer than the storage is cut into tiles.
        size = source.randint(1, 3 * min(config.max_line, 16))
    if axis == 0:
        size = min(size, 5)
    if size + sum(pads) < extent:
        size = extent - sum(pads) + source.randint(0, 2)
    return (size, window, stride, *pads, dilation) if size >= 1 else None
