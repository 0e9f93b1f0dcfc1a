"""The registers of one job, as software fills them and as the core reads them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cache
from typing import Any

from amaranth import Shape, signed, unsigned
from amaranth.hdl import Const, Value
from amaranth.lib import data
from amaranth.utils import bits_for

from extremum.hdl.config import POSITION_WIDTH, CoreConfig

AXES = ("depth", "height", "width")
"""The pooled dimensions, outermost first: the order of every triple in this package."""


class JobError(IntEnum):
    """Why the core refused a job (``status.error``)."""

    NONE = 0
    COUNT = 1
    """A window, a dilation or a tail of zero."""
    WINDOW = 2
    """A window larger than the core was built for."""
    SPACING = 3
    """Taps further apart than the storage of the core."""
    DATA_TYPE = 4
    """A type code that the core was not built for."""
    TAIL = 5
    """More live lanes in the last beat than there are lanes."""


@dataclass(frozen=True)
class DimensionRegisters:
    """How the window slides over one dimension. The default is a dimension of one element.

    A line is a row of ``period`` slots. The slot of coordinate ``c`` takes element ``c``, and
    gives the window whose last tap is there. See :mod:`extremum.hdl.schedule`.

    Parameters
    ----------
    window, stride, dilation
        Of the window, in taps and elements.
    size
        Elements of the input. The input's coordinates are 0 to ``size - 1``; what lies outside
        is padding, and absent.
    head
        Coordinate of the first window's last tap. Negative: the first windows lie wholly in the
        start padding.
    period
        Slots from the first element of one line to the first of the next.
    regular
        Coordinate of the slot of the last window on the grid of strides.
    final
        Coordinate of the slot of the last window of all: ``regular``, or a later one that is not
        on the grid and gives a window early whose last taps lie in the end padding.
    shift
        Taps that the final window is given early.
    spacing
        Words from one tap to the next in the stage's storage: ``dilation`` times the words of
        one slot; 1 for a window of one tap, which needs no storage.
    position_step
        What going on to the next window adds to the position, the dimensions within beginning
        again.
    tap_step
        What going back by one tap adds to the position.
    """

    window: int = 1
    stride: int = 1
    dilation: int = 1
    size: int = 1
    head: int = 0
    period: int = 1
    regular: int = 0
    final: int = 0
    shift: int = 0
    spacing: int = 1
    position_step: int = 0
    tap_step: int = 0

    @property
    def lead(self) -> int:
        """Slots without input at the start of a line."""
        return max(-self.head, 0)


@dataclass(frozen=True)
class JobRegisters:
    """One run of the core: the registers that go with one stream of beats.

    The core refuses what it can see in one register (:class:`JobError`). That the registers agree
    with each other is the duty of who writes them (:mod:`extremum.host.registers`): ``period`` is
    no shorter than the line of elements and that of windows, ``spacing`` is ``dilation`` times the
    words of a slot, ``slots`` reach the last window, windows of more than one tap have ``length``
    1, and a job without windows has an ``origin`` and steps of 0. A job that breaks this gives
    wrong results.

    Parameters
    ----------
    data_type
        Code of the type, see :meth:`CoreConfig.data_type_code`.
    minimum
        Look for the least element instead of the greatest.
    decreasing
        Of equal elements, a reduction takes the last instead of the first.
    ignore_nan
        A NaN loses to every number instead of beating it.
    fold
        The lanes carry consecutive elements of one reduction, and results leave packed; else
        they carry slices.
    slots
        Length of the schedule, in clocks.
    volumes
        Input volumes (or planes): as many as groups in a pooling, and in a reduction every beat is
        one. The slots after the last one flush the windows that reach into padding.
    length
        Windows that are reduced to one result: 1 in pooling.
    groups
        Groups of slices: input planes of a pooling, results of a reduction.
    tail
        Live lanes in the last group of slices; in a fold, in the last beat of each row.
    origin
        Position of the last tap of the first window in lane 0; like all positions modulo
        ``2**index_width``.
    group_step
        What going on to the next group adds to the position, the dimensions beginning again.
    lane_step
        What a lane adds to the position.
    depth, height, width
        The dimensions, outermost first.
    """

    data_type: int = 0
    minimum: bool = False
    decreasing: bool = False
    ignore_nan: bool = False
    fold: bool = False
    slots: int = 1
    volumes: int = 1
    length: int = 1
    groups: int = 1
    tail: int = 1
    origin: int = 0
    group_step: int = 0
    lane_step: int = 0
    depth: DimensionRegisters = field(default_factory=DimensionRegisters)
    height: DimensionRegisters = field(default_factory=DimensionRegisters)
    width: DimensionRegisters = field(default_factory=DimensionRegisters)

    @property
    def dimensions(self) -> tuple[DimensionRegisters, DimensionRegisters, DimensionRegisters]:
        """The dimensions, outermost first."""
        return (self.depth, self.height, self.width)

    def to_bits(self, config: CoreConfig) -> int:
        """Return the payload of the core's ``job`` port.

        Raises
        ------
        OverflowError
            A value does not fit its register.
        ValueError
            A register is fixed, or left out, and the job needs another value.
        """
        values = _flatten(self)
        self._check_padding(config)
        for name, value in fixed_registers(config).items():
            free = name.rpartition(".")[2] in _INDIFFERENT or _is_position(name)
            if values[name] != value and (not free or name in dict(config.fixed)):
                raise ValueError(
                    f"the core was built with the job register {name} fixed to {int(value)}, and "
                    f"the job needs {values[name]}"
                )
        bits = offset = 0
        for name, shape in job_shapes(config).items():
            value = values[name]
            if _is_position(name):
                value %= 1 << shape.width
            low, high = _range(name, shape)
            if not low <= value <= high:
                raise OverflowError(
                    f"job register {name} has {shape.width} bits, too few for {values[name]}"
                )
            bits |= (_encode(name, value) & ((1 << shape.width) - 1)) << offset
            offset += shape.width
        return bits

    def _check_padding(self, config: CoreConfig) -> None:
        """Refuse windows that reach into padding, if the core has none."""
        for name, line in zip(AXES, self.dimensions, strict=True):
            outside = line.head < (line.window - 1) * line.dilation or line.final >= line.size
            if outside and not config.padding:
                raise ValueError(f"the core was built without padding, and the job's {name} has it")


def _flatten(registers: JobRegisters | DimensionRegisters, prefix: str = "") -> dict[str, int]:
    flat: dict[str, int] = {}
    for member in fields(registers):
        value: Any = getattr(registers, member.name)
        if isinstance(value, DimensionRegisters):
            flat |= _flatten(value, f"{member.name}.")
        else:
            flat[prefix + member.name] = int(value)
    return flat


LESS_ONE = ("slots", "volumes", "length", "groups", "size", "stride", "period", "spacing")
"""Registers that the job port carries less one, so that none can be zero."""

_POSITIONS = ("origin", "group_step", "lane_step", "position_step", "tap_step")
"""Registers that hold a position or a part of one, modulo the width of an index."""


def is_less_one(name: str) -> bool:
    """Return whether the job port carries one less than a register's value."""
    return name.rpartition(".")[2] in LESS_ONE


def _encode(name: str, value: int) -> int:
    """Return what the job port carries for a register."""
    return value - is_less_one(name)


def _range(name: str, shape: Shape) -> tuple[int, int]:
    """Return the least and the greatest value that a register of this shape holds."""
    low = (-(1 << (shape.width - 1)) if shape.signed else 0) + is_less_one(name)
    return low, low + (1 << shape.width) - 1


def _is_position(name: str) -> bool:
    return name.rpartition(".")[2] in _POSITIONS


@cache
def _all_shapes(config: CoreConfig) -> dict[str, Shape]:
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
    for axis, name in enumerate(AXES):
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
        constants |= {f"{name}.{register}": 0 for name in AXES for register in ("shift", "regular")}
    for axis, name in enumerate(AXES):
        window = {"window": 1, "dilation": 1, "shift": 0, "spacing": 1, "tap_step": 0}
        if axis not in config.axes:
            defaults = _flatten(DimensionRegisters())
            constants |= {f"{name}.{register}": defaults[register] for register in defaults}
        elif config.max_window[axis] == 1:
            constants |= {f"{name}.{register}": value for register, value in window.items()}
        elif config.max_dilation[axis] == 1:
            constants[f"{name}.dilation"] = 1
        if ends_tell_final(config, axis):
            constants[f"{name}.final"] = 0
    return constants | dict(config.fixed)


_INDIFFERENT = ("ignore_nan", "slots", "volumes", "groups", "lane_step", "regular", "final")
"""Registers whose value does not matter to a core that does not have them."""


@cache
def job_shapes(config: CoreConfig) -> dict[str, Shape]:
    """Return the shape of every register on the job port, by name: ``"length"``, ``"width.size"``.

    Raises
    ------
    ValueError
        ``config.fixed`` names a register that does not exist, or a value that no job asks for.
    """
    shapes = _all_shapes(config)
    for name, value in config.fixed:
        if name not in shapes:
            raise ValueError(
                f"fixed: there is no job register {name!r}: it must be one of {', '.join(shapes)}"
            )
        low, high = _range(name, shapes[name])
        if name == "tail":
            low, high = 1, config.lanes
        axis, _, part = name.rpartition(".")
        if part == "window":
            low, high = 1, config.max_window[AXES.index(axis)]
        if part == "dilation":
            low, high = 1, config.max_dilation[AXES.index(axis)]
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
    fixed, name = dict(config.fixed), AXES[axis]
    stride, window = (fixed.get(f"{name}.{part}") for part in ("stride", "window"))
    return not config.padding and stride is not None and window is not None and stride <= window


def job_layout(config: CoreConfig) -> data.StructLayout:
    """Return the bits of the job port: :func:`job_shapes`, the dots of names underlined.

    Where all registers are fixed there is no such port, and within the core a bit without use.
    """
    members = {name.replace(".", "_"): shape for name, shape in job_shapes(config).items()}
    return data.StructLayout(members or {"unused": unsigned(1)})


def register(config: CoreConfig, job: data.View, name: str) -> Value:
    """Return a job register: bits of the job port, or a constant if the core does not have it.

    Those of :data:`LESS_ONE` are one less than their names say.
    """
    constants = fixed_registers(config)
    shape = _all_shapes(config)[name]
    if name in constants:
        return Const(_encode(name, int(constants[name])), shape)
    return Value.cast(job[name.replace(".", "_")]) if shape.width else Const(0, 0)
