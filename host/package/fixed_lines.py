"""Small poolings along one dimension that give the job registers which a core has fixed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.host.plan.registers import dimension_registers
from extremum.model import SpatialDimension

__all__ = ["SINGLE", "lines"]

SINGLE = SpatialDimension(1, 1)
"""A dimension of one element: what the plan takes for one that a tensor does not have."""

SIZES = {"depth": 3, "height": 4, "width": 6}
"""Elements along each dimension, if the core leaves the choice."""

LINES = 24
"""How many geometries of a dimension are tried with those of the others, at most, or twice as many
if it is not sure how many windows there are."""

REACH = 12
"""Elements of padding that are tried, and how far a size is sought from the registers that lie near
the last element: more would take minutes where windows are long."""

OF_A_LINE = ("window", "stride", "dilation", "size", "head", "period", "regular", "shift", "final")
"""Registers of a dimension that depend on no other one."""

COORDINATES = ("period", "regular", "final")
"""Those of them that lie near the last element."""


def lines(config: CoreConfig, fixed: Mapping[str, int], axis: int) -> list[SpatialDimension]:
    """Return small geometries of a dimension that give its fixed registers, the most telling first.

    A dimension that the core slides no window over has one element.
    """
    if axis not in config.axes:
        return [SINGLE]
    name = DIMENSIONS[axis]
    told = {part: fixed[f"{name}.{part}"] for part in OF_A_LINE if f"{name}.{part}" in fixed}
    found: dict[SpatialDimension, None] = {}
    for outputs in _outputs(fixed, name):
        fitting = [
            geometry
            for geometry in _geometries(config, told, axis, outputs)
            if outputs in (None, geometry.outputs) and _gives(geometry, told)
        ]
        best = sorted(dict.fromkeys(fitting), key=lambda each: _unusual(each, config, axis))[:LINES]
        found |= dict.fromkeys(best)
    return [*found]


def _unusual(geometry: SpatialDimension, config: CoreConfig, axis: int) -> int:
    """Return how many figures of a geometry are not those that tell most of a core."""
    window, start = geometry.window, int(config.padding and geometry.window > 1)
    return sum(
        (
            window != _usual_window(config, axis),
            geometry.dilation != 1,
            geometry.stride != min(2, window),
            geometry.start_padding != start,
            geometry.end_padding != geometry.start_padding,
            geometry.size != SIZES[DIMENSIONS[axis]],
        )
    )


def _usual_window(config: CoreConfig, axis: int) -> int:
    return min(config.max_window[axis], 3 if axis else 2)


def _gives(geometry: SpatialDimension, told: Mapping[str, int]) -> bool:
    """Return whether a geometry gives registers of its dimension."""
    (registers,) = dimension_registers((geometry,), (0,), (told.get("window"),))
    return all(getattr(registers, part) == value for part, value in told.items())


def _outputs(fixed: Mapping[str, int], name: str) -> list[int | None]:
    """Return how many windows a line or a column may have; None is any number.

    The distance of stored taps may tell it: those of the height lie a line of windows apart for
    each step of the dilation, those of the depth a plane of windows. A distance of 1 may as well be
    that of a window with a single tap, which tells nothing.
    """
    line, plane = (
        fixed.get(f"{outer}.spacing", 0) // fixed.get(f"{outer}.dilation", 1)
        for outer in ("height", "depth")
    )
    count = {"width": line, "height": plane // line if line else 0}.get(name, 0)
    is_sure = count > 0 and line > 1
    return [*([count] if count else []), *([] if is_sure else [None])]


def _geometries(
    config: CoreConfig, told: Mapping[str, int], axis: int, outputs: int | None
) -> Iterator[SpatialDimension]:
    """Yield small geometries, and larger ones if registers tell of them.

    Parameters
    ----------
    config, axis
        The core, and the dimension by its place in a triple.
    told
        Values of registers, by the names in `OF_A_LINE`.
    outputs
        How many windows there are, if that is known.
    """
    near = [told[name] for name in COORDINATES if name in told]
    for window, dilation, stride in itertools.product(
        _values(told, "window", _usual_window(config, axis)),
        _values(told, "dilation", 2),
        _values(told, "stride", 3),
    ):
        extent = (window - 1) * dilation + 1
        paddings = range(min(extent + stride, REACH) if config.padding else 1)
        starts = [extent - 1 - told["head"]] if "head" in told else paddings
        ends = [*paddings]
        if "size" in told:
            # The last window may be given some taps early, if these lie in the padding.
            taps = range(0, extent, dilation)
            ends += [last + tap + 1 - told["size"] for last in near for tap in taps]
        for start, end in itertools.product(starts, ends):
            least = max(1, extent - start - end)
            if "size" in told:
                sizes = [told["size"]]
            elif outputs is not None:
                sizes = [(outputs - 1) * stride + extent - start - end]
            else:
                sizes = [max(SIZES[DIMENSIONS[axis]], least)]
                sizes += [last + way for last in near for way in range(-REACH, REACH)]
            for size in sizes:
                if min(start, end) >= 0 and size >= least:
                    yield SpatialDimension(size, window, stride, dilation, start, end)


def _values(told: Mapping[str, int], name: str, most: int) -> Sequence[int]:
    """Return the values of a register to try: the one that is told, or all to a limit."""
    return [told[name]] if name in told else range(1, most + 1)
