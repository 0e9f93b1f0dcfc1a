"""The registers of a job, as the job port carries them: which a core has, and how wide they are."""

from __future__ import annotations

from functools import cache

from amaranth import Shape, signed, unsigned
from amaranth.hdl import Const, Value
from amaranth.lib import data
from amaranth.utils import bits_for

from extremum.hdl.config import DIMENSIONS, POSITION_WIDTH, CoreConfig

LESS_ONE = ("slots", "volumes", "length", "groups", "size", "stride", "period", "spacing")
"""Registers that the job port carries less one, so that none can be zero."""

_POSITIONS = ("origin", "group_step", "lane_step", "position_step", "tap_step")
"""Registers that hold a position or a part of one, modulo the width of an index."""


NEUTRAL_DIMENSION = {
    "window": 1,
    "stride": 1,
    "dilation": 1,
    "size": 1,
    "head": 0,
    "period": 1,
    "regular": 0,
    "final": 0,
    "shift": 0,
    "spacing": 1,
    "position_step": 0,
    "tap_step": 0,
}
"""The registers of one dimension, with the values that describe a dimension of one element."""


def is_less_one(name: str) -> bool:
    """Return whether the job port carries one less than a register's value."""
    return name.rpartition(".")[2] in LESS_ONE


def encode(name: str, value: int) -> int:
    """Return what the job port carries for a register."""
    return value - is_less_one(name)


def value_range(name: str, shape: Shape) -> tuple[int, int]:
    """Return the least and the greatest value that a register of this shape holds."""
    low = (-(1 << (shape.width - 1)) if shape.signed else 0) + is_less_one(name)
    return low, low + (1 << shape.width) - 1


def is_position(name: str) -> bool:
    """Return whether a register holds a position: these are modulo the width of an index."""
    return name.rpartition(".")[2] in _POSITIONS


@cache
def all_shapes(config: CoreConfig) -> dict[str, Shape]:
    """Return the shape of every register, by name."""
    word, position = unsigned(POSITION_WIDTH), unsigned(config.index_width)
    coordinate, place = unsigned(config.coordinate_width), signed(config.coordinate_width + 1)
    shapes = {
        "data_type": unsigned(4),
        "minimum": unsigned(1),
        "decreasing": unsigned(1),
        "ignore_nan": unsigned(1),
        "fold": unsigned(1),
        "slots": word,
        "volumes": word,
        "length": word,
        "groups": word,
        "tail": unsigned(bits_for(config.lanes)),
        "origin": position,
        "group_step": position,
        "lane_step": position,
    }
    for axis, name in enumerate(DIMENSIONS):
        dimension = {
            "window": coordinate,
            "stride": coordinate,
            "dilation": coordinate,
            "size": coordinate,
            "head": place,
            "period": coordinate,
            "regular": place,
            "final": place,
            "shift": unsigned(bits_for(config.max_window[axis] - 1)),
            "spacing": unsigned(bits_for(config.max_spacing[axis])),
            "position_step": position,
            "tap_step": position,
        }
        shapes |= {f"{name}.{register}": shape for register, shape in dimension.items()}
    return shapes


@cache
def fixed_registers(config: CoreConfig) -> dict[str, int]:
    """Return the registers that the core does not have, and the value that it takes for each."""
    constants: dict[str, int] = {}
    if len(config.data_types) == 1:
        constants["data_type"] = 0
    if "argmin" not in config.operators:
        constants["minimum"] = 0
    elif set(config.operators) == {"argmin"}:
        constants["minimum"] = 1
    if not config.has_reduction:
        constants |= {"length": 1, "decreasing": 0}
    if not config.can_fold:
        constants["fold"] = 0
    if not config.has_floats:
        constants["ignore_nan"] = 0
    if config.lanes == 1:
        constants |= {"tail": 1, "lane_step": 0}
    if not config.has_windows:
        constants |= {"volumes": 1, "groups": 1, "origin": 0, "group_step": 0, "lane_step": 0}
    if not config.padding:
        constants["volumes"] = 1
        if dict(config.fixed).get("groups") == 1:
            constants["slots"] = 1
        constants |= {
            f"{name}.{register}": 0 for name in DIMENSIONS for register in ("shift", "regular")
        }
    for axis, name in enumerate(DIMENSIONS):
        window = ("window", "dilation", "shift", "spacing", "tap_step")
        if axis not in config.axes:
            constants |= {f"{name}.{part}": value for part, value in NEUTRAL_DIMENSION.items()}
        elif config.max_window[axis] == 1:
            constants |= {f"{name}.{part}": NEUTRAL_DIMENSION[part] for part in window}
        elif config.max_dilation[axis] == 1:
            constants[f"{name}.dilation"] = 1
        if ends_tell_final(config, axis):
            constants[f"{name}.final"] = 0
    return constants | dict(config.fixed)


INDIFFERENT = ("ignore_nan", "slots", "volumes", "groups", "lane_step", "regular", "final")
"""Registers whose value does not matter to a core that does not have them."""


@cache
def job_shapes(config: CoreConfig) -> dict[str, Shape]:
    """Return the shape of every register on the job port, by name: ``"length"``, ``"width.size"``.

    Raises
    ------
    ValueError
        ``config.fixed`` names a register that does not exist, or a value that no job asks for.
    """
    shapes = all_shapes(config)
    for name, value in config.fixed:
        if name not in shapes:
            raise ValueError(
                f"fixed: there is no job register {name!r}: it must be one of {', '.join(shapes)}"
            )
        low, high = value_range(name, shapes[name])
        if name == "tail":
            low, high = 1, config.lanes
        axis, _, part = name.rpartition(".")
        if part == "window":
            low, high = 1, config.max_window[DIMENSIONS.index(axis)]
        if part == "dilation":
            low, high = 1, config.max_dilation[DIMENSIONS.index(axis)]
        if not low <= value <= high:
            raise ValueError(f"fixed: {name} must be from {low} to {high}, not {value!r}")
    constants = fixed_registers(config)
    return {name: shape for name, shape in shapes.items() if name not in constants and shape.width}


def is_endless(config: CoreConfig) -> bool:
    """Return whether the core does one reduction again and again: its jobs have no end."""
    constants = fixed_registers(config)
    return (
        not config.has_windows
        and not job_shapes(config)
        and (constants["slots"] == constants["length"])
    )


def ends_with_plane(config: CoreConfig) -> bool:
    """Return whether a job is one plane without padding, so that its lines tell its end."""
    return config.has_windows and not config.padding and fixed_registers(config).get("groups") == 1


def ends_tell_final(config: CoreConfig, axis: int) -> bool:
    """Return whether a window is known to be its line's last by how near the line's end is.

    That is so where the stride is fixed and lines have no padding: the last window is the only one
    that is less than a stride away from the end. A line has room for one window, so for a stride.
    """
    fixed, name = dict(config.fixed), DIMENSIONS[axis]
    stride, window = (fixed.get(f"{name}.{part}") for part in ("stride", "window"))
    return not config.padding and stride is not None and window is not None and stride <= window


def register(config: CoreConfig, job: data.View, name: str) -> Value:
    """Return a job register: bits of the job port, or a constant if the core does not have it.

    Those of :data:`LESS_ONE` are one less than their names say.
    """
    constants = fixed_registers(config)
    shape = all_shapes(config)[name]
    if name in constants:
        return Const(encode(name, int(constants[name])), shape)
    return Value.cast(job[name.replace(".", "_")]) if shape.width else Const(0, 0)
