"""Small operators that a core may be tried with, the most telling first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.model import DataType, Pooling, ReduceFunction, Reduction
from extremum.model.pooling import INDEX_LAYOUTS

__all__ = ["candidates"]

SIZES = {"depth": 3, "height": 4, "width": 6}
"""Elements along each dimension, if the core leaves the choice."""

ROW = 7
"""Elements of a row that is reduced, if the core leaves the choice."""


def candidates(config: CoreConfig) -> Iterator[Reduction | Pooling]:
    """Yield small operators of a kind that the core was built for.

    What the core's fixed registers say is kept, as far as a single register tells it. Whether an
    operator really is one job of this core, the plan has to say.
    """
    fixed = dict(config.fixed)
    data_type = config.data_types[fixed.get("data_type", 0)]
    nan = "ignore" if fixed.get("ignore_nan") else "propagate"
    pools = "max-pool" in config.operators and config.has_windows
    if pools:
        yield from _poolings(config, fixed, data_type, nan)
    if config.has_reduction:
        yield from _reductions(config, fixed, data_type, nan)
    if not pools and "max-pool" in config.operators:
        yield Pooling.of((1, config.lanes, 2, 3), data_type, 1, nan=nan)


def _slices(config: CoreConfig, fixed: dict[str, int], each: int) -> list[int]:
    """Return how many slices a job may have; ``each`` is the length of a row in beats."""
    lanes = config.lanes
    for name, beats in (("groups", 1), ("slots", each), ("volumes", each)):
        if name in fixed and fixed[name] % beats == 0:
            groups = fixed[name] // beats
            return [(groups - 1) * lanes + fixed.get("tail", lanes)]
    # The last group is not full, unless there is one lane or the core says otherwise.
    return [lanes + fixed.get("tail", max(1, lanes - 1)), fixed.get("tail", lanes)]


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
    beats = fixed.get("length", ROW)
    for fold in (0, 1):
        if fixed.get("fold", fold) != fold:
            continue
        length = (beats - 1) * config.lanes + fixed.get("tail", config.lanes) if fold else beats
        folded = fixed["slots"] // beats if "slots" in fixed else fixed.get("groups", 1)
        counts = [folded] if fold else _slices(config, fixed, beats)
        for count in counts:
            yield Reduction.of(function, (count, length), data_type, 1, **given)


@dataclass(frozen=True)
class _Axis:
    """The geometry of a pooling along one dimension."""

    size: int
    window: int = 1
    stride: int = 1
    dilation: int = 1
    start: int = 0
    end: int = 0


def _axes(config: CoreConfig, fixed: dict[str, int], axis: int) -> list[_Axis]:
    """Return what a dimension may look like, the most telling first."""
    name = DIMENSIONS[axis]
    given = {
        part: fixed[f"{name}.{part}"]
        for part in ("size", "window", "stride", "dilation", "head", "final", "shift")
        if f"{name}.{part}" in fixed
    }
    size = given.get("size", SIZES[name])
    if axis not in config.axes:
        return [_Axis(1)]
    window = given.get("window", min(config.max_window[axis], 3 if axis else 2))
    dilation = given.get("dilation", 1)
    extent = (window - 1) * dilation + 1
    usual = 1 if config.padding and window > 1 else 0
    start = extent - 1 - given["head"] if "head" in given else usual
    strides = [given["stride"]] if "stride" in given else [min(2, window), 1]
    if not config.padding:
        ends = [0]
    elif {"size", "final"} <= given.keys():
        # The last window is given `shift` taps early if these lie in the padding.
        ends = [max(0, given["final"] + given.get("shift", 0) * dilation + 1 - size)]
    else:
        ends = dict.fromkeys([start, *range(extent)])
    windows = None if "size" in given else _windows(fixed, name)
    found = []
    for stride, end in itertools.product(strides, ends):
        least = extent - start - end
        elements = max(size, least) if windows is None else (windows - 1) * stride + least
        found.append(_Axis(max(elements, 1), window, stride, dilation, start, end))
    return found


def _windows(fixed: dict[str, int], name: str) -> int | None:
    """Return how many windows a line or a column has, if the distance of stored taps tells it.

    Taps of the height lie a line of windows apart for each step of the dilation, those of the depth
    a plane of windows.
    """
    line = fixed.get("height.spacing", 0) // fixed.get("height.dilation", 1)
    plane = fixed.get("depth.spacing", 0) // fixed.get("depth.dilation", 1)
    if name == "width":
        return line or None
    return plane // line if name == "height" and line and plane >= line else None


def _poolings(
    config: CoreConfig, fixed: dict[str, int], data_type: DataType, nan: str
) -> Iterator[Pooling]:
    # A core without depth pools planes; a tensor of planes has rank 4.
    used = [axis for axis in range(3) if axis in config.axes or axis > 0]
    every = [_axes(config, fixed, axis) for axis in used]
    # Alike in all dimensions first, then every combination.
    combined = [*zip(*every, strict=False), *itertools.product(*every)]
    # Only registers that are fixed tell another layout of positions than the first.
    layouts = INDEX_LAYOUTS if config.index_width and "group_step" in fixed else INDEX_LAYOUTS[:1]
    for axes, count, layout in itertools.product(combined, _slices(config, fixed, 1), layouts):
        yield Pooling.of(
            (1, count, *(axis.size for axis in axes)),
            data_type,
            [axis.window for axis in axes],
            strides=[axis.stride for axis in axes],
            start_padding=[axis.start for axis in axes],
            end_padding=[axis.end for axis in axes],
            dilations=[axis.dilation for axis in axes],
            return_indices=config.index_width > 0,
            index_layout=layout,
            nan=nan,
        )
