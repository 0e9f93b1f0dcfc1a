"""Small geometries of one dimension of a pooling, with the registers that a core has fixed.

The registers of a dimension follow from its geometry by arithmetic, which is turned round here:
what is fixed is solved for, and what is free takes a few small values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.host.plan.registers import dimension_registers
from extremum.model import SpatialDimension

__all__ = ["SINGLE", "geometries", "unusual"]

SINGLE = SpatialDimension(1, 1)
"""A dimension of one element: what the plan takes for one that a tensor does not have."""

SIZES = {"depth": 3, "height": 4, "width": 6}
"""Elements along each dimension, at most, if the core leaves the choice."""

PADDINGS = 12
"""How many amounts of padding are tried, from none on, if the core leaves the choice."""

MOST_GEOMETRIES = 24
"""How many geometries of a dimension are kept to be combined with those of the others, or twice as
many if it is not sure how many windows there are."""

OWN = ("window", "stride", "dilation", "size", "head", "period", "regular", "shift", "final")
"""Registers of a dimension that depend on no other one."""


def geometries(config: CoreConfig, fixed: Mapping[str, int], axis: int) -> list[SpatialDimension]:
    """Return small geometries of a dimension that give its fixed registers, the most telling first.

    A dimension that the core slides no window over has one element.

    Parameters
    ----------
    config
        The core.
    fixed
        Its fixed registers.
    axis
        The dimension, by its place in a triple.
    """
    if axis not in config.axes:
        return [SINGLE]
    name = DIMENSIONS[axis]
    # The distance of stored taps depends on the lines and planes within, which a line has not.
    own = OWN if name != "width" else (*OWN, "spacing")
    told = {part: fixed[f"{name}.{part}"] for part in own if f"{name}.{part}" in fixed}
    found: dict[SpatialDimension, None] = {}
    for outputs in _outputs(fixed, name):
        fitting = [
            geometry
            for geometry in dict.fromkeys(_solutions(config, told, axis, outputs))
            if outputs in (None, geometry.outputs) and _gives(geometry, told)
        ]
        fitting.sort(key=lambda geometry: unusual(geometry, config, fixed, axis))
        found |= dict.fromkeys(fitting[:MOST_GEOMETRIES])
    return [*found]


def unusual(
    geometry: SpatialDimension, config: CoreConfig, fixed: Mapping[str, int], axis: int
) -> int:
    """Return how far a geometry is from the one that tells most of a core.

    A window of another size counts most, since one with a single tap would tell nothing. Of the
    other figures each counts alike.
    """
    window, start = geometry.window, int(config.padding and geometry.window > 1)
    others = (
        geometry.dilation != 1,
        geometry.stride != min(2, window),
        geometry.start_padding != start,
        geometry.end_padding != geometry.start_padding,
        geometry.size != SIZES[DIMENSIONS[axis]],
    )
    usual = fixed.get(f"{DIMENSIONS[axis]}.window", _most_taps(config, axis))
    return 100 * (window != usual) + sum(others)


def _most_taps(config: CoreConfig, axis: int) -> int:
    """Return how many taps a window has, at most, if the core leaves the choice."""
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


def _solutions(
    config: CoreConfig, told: Mapping[str, int], axis: int, outputs: int | None
) -> Iterator[SpatialDimension]:
    """Yield geometries that may give registers of a dimension.

    Parameters
    ----------
    config, axis
        The core, and the dimension by its place in a triple.
    told
        The registers, by their names within the dimension.
    outputs
        How many windows there are, if that is known.
    """
    for window, dilation, stride in itertools.product(
        _choice(told.get("window"), range(1, _most_taps(config, axis) + 1)),
        _choice(
            told.get("dilation", told.get("spacing")),
            range(1, min(2, config.max_dilation[axis]) + 1),
        ),
        _choice(told.get("stride"), (1, 2, 3)),
    ):
        reach = (window - 1) * dilation
        paddings = range(min(reach + 1 + stride, PADDINGS) if config.padding else 1)
        # The coordinate of the first window's last tap.
        heads = _choice(told.get("head"), [reach - start for start in paddings])
        shifts = _choice(told.get("shift"), range(window))
        for head in heads:
            start = reach - head
            lasts = _lasts(told, head, stride, outputs, [shift * dilation for shift in shifts])
            # Where the last window is known to be given early, its taps lie in the padding.
            late = [told.get("shift", 0) * dilation + more for more in range(dilation + stride)]
            ends = {*paddings, *late} if config.padding else {0}
            for size, end in _sizes_and_ends(told, axis, head, lasts, ends):
                # What no window sees is no padding. But a window may see more than it has taps
                # for, if these lie behind all elements: they are left out. So a window that is
                # left with one tap may have had others, and has their dilation.
                behind = max(int(window == 1 < dilation), -(-(-end - stride + 1) // dilation))
                end_padding = max(0, end + behind * dilation)
                taps = window + behind
                if not config.padding and (start, end_padding) != (0, 0):
                    continue
                if start >= 0 and size + start + end_padding > (taps - 1) * dilation:
                    yield SpatialDimension(size, taps, stride, dilation, start, end_padding)


def _choice(told: int | None, free: Iterable[int]) -> Iterable[int]:
    return free if told is None else [told]


def _lasts(
    told: Mapping[str, int], head: int, stride: int, outputs: int | None, shifts: list[int]
) -> list[int]:
    """Return coordinates that the last window's last tap may have; none if nothing tells it.

    Parameters
    ----------
    told
        Registers of the dimension.
    head, stride
        That coordinate of the first window, and the way from window to window.
    outputs
        How many windows there are, if that is known.
    shifts
        How far before it the last window may be given.
    """
    if "final" in told:
        lasts = [told["final"] + shift for shift in shifts]
    elif "regular" in told:
        lasts = [told["regular"], told["regular"] + stride]
    elif outputs is not None:
        lasts = [head + (outputs - 1) * stride]
    elif "period" in told:
        lasts = [told["period"] + head - 1 + shift for shift in shifts]
    else:
        return []
    return [last for last in lasts if last >= head and (last - head) % stride == 0]


def _sizes_and_ends(
    told: Mapping[str, int], axis: int, head: int, lasts: list[int], ends: Iterable[int]
) -> Iterator[tuple[int, int]]:
    """Yield pairs: elements, and elements of padding behind them that windows see.

    Of these, less than 0 says that the last windows do not see all elements.

    Parameters
    ----------
    told, axis
        Registers of the dimension, and its place in a triple.
    head
        The coordinate of the first window's last tap.
    lasts
        Those that the last window's last tap may have, if something tells it.
    ends
        Padding to try, if nothing tells it.
    """
    # A period is that of the elements or that of the windows, whichever is longer.
    sizes = [told["size"]] if "size" in told else []
    if not sizes and "period" in told:
        sizes = [told["period"] - max(0, -head)]
    if "size" in told:
        yield from ((size, last + 1 - size) for size in sizes for last in lasts)
    else:
        yield from ((last + 1 - end, end) for last in lasts for end in ends if last >= end)
    if not sizes and not lasts:
        least = max(1, head + 1 - max(ends))
        sizes = [*range(least, max(least, SIZES[DIMENSIONS[axis]]) + 1)]
    yield from itertools.product([size for size in sizes if size > 0], ends)
