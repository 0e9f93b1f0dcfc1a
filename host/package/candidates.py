"""Small operators that a core may be tried with, the most telling first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.host.package.geometries import SINGLE, geometries, unusual
from extremum.host.plan.registers import dimension_registers, fixed_windows_of
from extremum.host.plan.tiles import storage_limits
from extremum.model import DataType, Pooling, ReduceFunction, Reduction
from extremum.model.pooling import INDEX_LAYOUTS

__all__ = ["candidates"]

ROW = 7
"""Beats of a row that is reduced, if the core leaves the choice."""

POOLINGS = 400
"""How many poolings come before the reductions: of those with positions, and of those without."""

OF_POOLINGS = {"minimum": 0, "decreasing": 0, "fold": 0, "length": 1}
"""Registers that are alike in all jobs of poolings."""

MOST_ROW = 64
"""Beats of the longest row that is tried if the core fixes how many all rows have together."""


def candidates(config: CoreConfig) -> Iterator[Reduction | Pooling]:
    """Yield small operators of a kind that the core was built for.

    What the core's fixed registers say is kept, as far as a single register tells it. Whether an
    operator really is one job of this core, the plan has to say.
    """
    fixed = dict(config.fixed)
    data_type = config.data_types[fixed.get("data_type", 0)]
    nan = "ignore" if fixed.get("ignore_nan") else "propagate"
    pools = "max-pool" in config.operators and config.has_windows
    if pools and all(fixed.get(name, value) == value for name, value in OF_POOLINGS.items()):
        # A core may have too few bits for the positions of a tensor of which it gives the values.
        for gives in (True, False) if config.index_width else (False,):
            poolings = _poolings(config, fixed, data_type, nan, gives)
            yield from itertools.islice(poolings, POOLINGS)
    if config.has_reduction:
        yield from _reductions(config, fixed, data_type, nan)
    if not pools and "max-pool" in config.operators:
        yield Pooling.of((1, config.lanes, 2, 3), data_type, 1, nan=nan)


def _groups(fixed: dict[str, int], volumes_each: int, slots_each: int) -> int | None:
    """Return how many groups of slices a job has, if that is fixed.

    If the registers of a job are no multiple of what each group adds to them, the plan will say so.

    Parameters
    ----------
    fixed
        The fixed registers.
    volumes_each, slots_each
        What one group adds to the registers ``volumes`` and ``slots``.
    """
    for name, each in (("groups", 1), ("volumes", volumes_each), ("slots", slots_each)):
        if fixed.get(name, 0) >= each:
            return fixed[name] // each
    return None


def _slices(config: CoreConfig, fixed: dict[str, int], groups: int | None) -> list[int]:
    """Return how many slices a job may have, the most telling number first."""
    lanes = config.lanes
    if groups is not None:
        return [(groups - 1) * lanes + fixed.get("tail", lanes)]
    # The last group is not full, unless there is one lane or the core says otherwise.
    return [lanes + fixed.get("tail", max(1, lanes - 1)), fixed.get("tail", lanes)]


def _lengths(fixed: dict[str, int]) -> list[int]:
    """Return how many beats a row may have, the most telling number first."""
    if "length" in fixed:
        return [fixed["length"]]
    slots = fixed.get("slots", fixed.get("volumes", 0))
    if not slots:
        return [ROW]
    lengths = sorted({*range(1, MOST_ROW + 1), slots})
    divisors = [length for length in lengths if slots % length == 0]
    return sorted(divisors, key=lambda length: abs(length - ROW))


def _reductions(
    config: CoreConfig, fixed: dict[str, int], data_type: DataType, nan: str
) -> Iterator[Reduction]:
    minimum = fixed.get("minimum", int("argmax" not in config.operators))
    function = ReduceFunction.ARGMIN if minimum else ReduceFunction.ARGMAX
    if not config.index_width:
        function = ReduceFunction.MIN if minimum else ReduceFunction.MAX
    given: dict[str, Any] = {"nan": nan}
    if fixed.get("decreasing") and config.index_width:
        given["axis_direction"] = "decreasing"
    for fold, beats in itertools.product((0, 1), _lengths(fixed)):
        if fixed.get("fold", fold) != fold:
            continue
        groups = _groups(fixed, beats, beats)
        length = (beats - 1) * config.lanes + fixed.get("tail", config.lanes) if fold else beats
        for count in [groups or 1] if fold else _slices(config, fixed, groups):
            yield Reduction.of(function, (count, length), data_type, 1, **given)


def _poolings(
    config: CoreConfig, fixed: dict[str, int], data_type: DataType, nan: str, return_indices: bool
) -> Iterator[Pooling]:
    every = [geometries(config, fixed, axis) for axis in range(3)]
    volumes = sorted(
        itertools.product(*every),
        key=lambda volume: sum(
            unusual(line, config, fixed, axis) for axis, line in enumerate(volume)
        ),
    )
    # Only registers that are fixed tell another layout of positions than the first.
    tells_layout = return_indices and "group_step" in fixed
    layouts = INDEX_LAYOUTS if tells_layout else INDEX_LAYOUTS[:1]
    for volume in volumes:
        registers = dimension_registers(volume, (0, 0, 0), fixed_windows_of(config))
        spacings = zip(DIMENSIONS, (line.spacing for line in registers), strict=True)
        if any(fixed.get(f"{name}.spacing", words) != words for name, words in spacings):
            continue
        longest, largest = storage_limits(volume, config)
        _, height, width = (line.outputs for line in volume)
        if width > longest or height * width > largest:
            continue
        groups = _groups(fixed, 1, math.prod(line.period for line in registers))
        # A tensor of planes has rank 4, and its positions know no depth.
        ranks = [volume] if 0 in config.axes else []
        ranks += [volume[1:]] if volume[0] == SINGLE else []
        slices = _slices(config, fixed, groups)
        for axes, count, layout in itertools.product(ranks, slices, layouts):
            yield Pooling.of(
                (1, count, *(axis.size for axis in axes)),
                data_type,
                [axis.window for axis in axes],
                strides=[axis.stride for axis in axes],
                start_padding=[axis.start_padding for axis in axes],
                end_padding=[axis.end_padding for axis in axes],
                dilations=[axis.dilation for axis in axes],
                return_indices=return_indices,
                index_layout=layout,
                nan=nan,
            )
