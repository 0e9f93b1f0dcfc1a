"""The table of the job registers in plain numbers: names, bits, and which core has which.

A job describes one run of a core (:class:`extremum.hdl.job.JobRegisters`). This module
imports neither Amaranth nor `CoreConfig`, which imports it to check what a configuration fixes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .config import CoreConfig

POSITION_WIDTH = 32
"""Bits of a position, and of every counter that runs over a whole tensor."""

DIMENSIONS = ("depth", "height", "width")
"""The pooled dimensions, outermost first: the order of every triple in this package."""

LESS_ONE = ("slots", "volumes", "length", "groups", "size", "stride", "period", "spacing")
"""Registers that the job port carries less one, so that none can be zero.

The others that must not be zero (``window``, ``dilation``, ``tail``) come as they are, and the core
refuses a zero in them (``COUNT`` of :class:`extremum.hdl.ports.JobError`).
"""

INDIFFERENT = ("ignore_nan", "slots", "volumes", "groups", "regular", "final")
"""Registers that a job may set to any value where the core does not have them, besides positions.

Of every other register that a core does not have, a job must give the value that the core assumes.
"""

_POSITIONS = ("origin", "group_step", "lane_step", "position_step", "tap_step")
"""Registers that hold a position or a part of one, modulo ``2**index_width``."""

_SINGLE_TAP = ("window", "dilation", "shift", "spacing", "tap_step")
"""Registers of a dimension that are neutral where every window has a single tap."""

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


class Bits(NamedTuple):
    """The bits of a register on the job port."""

    width: int
    signed: bool = False


REGISTERS_OF_NO_DIMENSION = (
    "data_type", "minimum", "decreasing", "ignore_nan", "fold", "slots", "volumes", "length",
    "groups", "tail", "origin", "group_step", "lane_step",
)  # fmt: skip


def register_names() -> tuple[str, ...]:
    """Return the names of all registers, in the order of the job port."""
    inner = tuple(f"{name}.{part}" for name in DIMENSIONS for part in NEUTRAL_DIMENSION)
    return REGISTERS_OF_NO_DIMENSION + inner


def is_less_one(name: str) -> bool:
    """Return whether the job port carries a register's value less one."""
    return name.rpartition(".")[2] in LESS_ONE


def is_position(name: str) -> bool:
    """Return whether a register holds a position, which is modulo ``2**index_width``."""
    return name.rpartition(".")[2] in _POSITIONS


def is_indifferent(name: str) -> bool:
    """Return whether a core without this register takes jobs that have any value in it."""
    return name.rpartition(".")[2] in INDIFFERENT or is_position(name)


def bits_for(most: int) -> int:
    """Return the bits of a register that holds 0 to ``most``: at least one."""
    return max(1, most.bit_length())


def value_range(name: str, bits: Bits) -> tuple[int, int]:
    """Return the least and the greatest value that a register of these bits holds."""
    low = (-(1 << (bits.width - 1)) if bits.signed else 0) + is_less_one(name)
    return low, low + (1 << bits.width) - 1


@cache
def all_bits(config: CoreConfig) -> dict[str, Bits]:
    """Return the bits of every register, by name, in the order of the job port."""
    word, position = Bits(POSITION_WIDTH), Bits(config.index_width)
    # A place may lie in the padding before the first element, where coordinates are negative.
    coordinate, place = Bits(config.coordinate_width), Bits(config.coordinate_width + 1, True)
    table = {
        "data_type": Bits(4),
        "minimum": Bits(1),
        "decreasing": Bits(1),
        "ignore_nan": Bits(1),
        "fold": Bits(1),
        "slots": word,
        "volumes": word,
        "length": word,
        "groups": word,
        "tail": Bits(bits_for(config.lanes)),
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
            "shift": Bits(bits_for(config.max_window[axis] - 1)),
            "spacing": Bits(bits_for(config.max_spacing[axis])),
            "position_step": position,
            "tap_step": position,
        }
        table |= {f"{name}.{register}": bits for register, bits in dimension.items()}
    return table


@cache
def absent_registers(config: CoreConfig) -> dict[str, int]:
    """Return the registers that the core does not need, and the value that it takes for each.

    The registers of ``config.fixed`` are not among them, but those that these make superfluous are.
    """
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
        if ends_with_plane(config):
            constants["slots"] = 1
        constants |= {
            f"{name}.{register}": 0 for name in DIMENSIONS for register in ("shift", "regular")
        }
    for axis, name in enumerate(DIMENSIONS):
        if axis not in config.axes:
            constants |= {f"{name}.{part}": value for part, value in NEUTRAL_DIMENSION.items()}
        elif config.max_window[axis] == 1:
            constants |= {f"{name}.{part}": NEUTRAL_DIMENSION[part] for part in _SINGLE_TAP}
        elif config.max_dilation[axis] == 1:
            constants[f"{name}.dilation"] = 1
        if ends_tell_final(config, axis):
            constants[f"{name}.final"] = 0
    return constants


@cache
def constant_registers(config: CoreConfig) -> dict[str, int]:
    """Return the registers that are not on the job port, and the constant in place of each.

    They are those that the core does not need, and those that ``config.fixed`` names.
    """
    return absent_registers(config) | dict(config.fixed)


@cache
def port_bits(config: CoreConfig) -> dict[str, Bits]:
    """Return the bits of every register on the job port, by name: ``"length"``, ``"width.size"``.

    A register that the core does not need, that is fixed, or that has no bits is not on the port.
    """
    constants = constant_registers(config)
    return {
        name: bits
        for name, bits in all_bits(config).items()
        if name not in constants and bits.width
    }


def port_number(name: str, bits: Bits, value: int) -> int:
    """Return the number that the job port carries for a register's value.

    Raises
    ------
    OverflowError
        The value does not fit the register.
    """
    low, high = value_range(name, bits)
    if not low <= value <= high:
        raise OverflowError(f"job register {name} has {bits.width} bits, too few for {value}")
    return value - is_less_one(name)


def ends_with_plane(config: CoreConfig) -> bool:
    """Return whether every job is one plane or volume without padding, so that its lines end it.

    A reduction has one element in a line, and as many slots as it has elements.
    """
    is_pooling = config.has_windows and not config.has_reduction
    return is_pooling and not config.padding and dict(config.fixed).get("groups") == 1


def ends_tell_final(config: CoreConfig, axis: int) -> bool:
    """Return whether a line's last window is known by how near the end of the line is.

    That is so where the stride and the window are fixed and lines have no padding: the last window
    is the only one that is less than a stride away from the end. The stride must not exceed the
    window: since every line holds at least one window, it then has at least ``stride`` slots, and
    its end can be told ``stride - 1`` slots ahead.
    """
    fixed, name = dict(config.fixed), DIMENSIONS[axis]
    stride, window = (fixed.get(f"{name}.{part}") for part in ("stride", "window"))
    return not config.padding and stride is not None and window is not None and stride <= window
