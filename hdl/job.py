"""The registers of one job, as software fills them and as the core reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

from amaranth import Shape, signed, unsigned
from amaranth.lib import data
from amaranth.utils import bits_for

from extremum.hdl.config import POSITION_WIDTH, CoreConfig

AXES = ("depth", "height", "width")
"""The pooled dimensions, outermost first: the order of every triple in this package."""


class JobError(IntEnum):
    """Why the core refused a job (``status.error``)."""

    NONE = 0
    COUNT = 1
    """A count, size, window, stride, dilation or spacing of zero."""
    WINDOW = 2
    """A window larger than the core was built for."""
    SPACING = 3
    """Taps further apart than the storage of the core."""
    DATA_TYPE = 4
    """A type code that the core was not built for."""
    TAIL = 5
    """More live lanes in the last group than there are lanes."""


@dataclass(frozen=True)
class DimensionRegisters:
    """How the window slides over one dimension. The default is a dimension of one element.

    Parameters
    ----------
    window, stride, dilation
        Of the window, in taps and elements.
    size
        Elements of the input. The input's coordinates are 0 to ``size - 1``; what lies outside
        is padding, and absent.
    outputs
        Windows along this dimension.
    head
        Coordinate of the first window's last tap. Negative: the first windows lie wholly in the
        start padding.
    period
        Slots from the first element of one line to the first of the next.
    inner
        Words that this dimension's stage is given for one slot.
    spacing
        Words from one tap to the next in the stage's storage: ``dilation * inner``.
    position_step
        What one stride adds to the position.
    tap_step
        What one tap adds to the position.
    """

    window: int = 1
    stride: int = 1
    dilation: int = 1
    size: int = 1
    outputs: int = 1
    head: int = 0
    period: int = 1
    inner: int = 1
    spacing: int = 1
    position_step: int = 0
    tap_step: int = 0

    @property
    def lag(self) -> int:
        """Slots from a line's first element to its first output."""
        return max(self.head, 0)

    @property
    def lead(self) -> int:
        """Slots without input at the start of a line."""
        return max(-self.head, 0)


@dataclass(frozen=True)
class JobRegisters:
    """One run of the core: the registers that go with one stream of beats.

    The core refuses what it can see in one register (:class:`JobError`). That the registers agree
    with each other is the duty of who writes them (:mod:`extremum.host.registers`): ``period`` is
    no shorter than the line of elements and that of windows, ``spacing`` is ``dilation * inner``,
    ``slots`` reach the last window, and a dimension whose stage was left out has a window of one
    tap, stride 1 and as many outputs as elements. A job that breaks this gives wrong results.

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
    slots
        Length of the schedule, in clocks.
    beats
        Input beats. The slots after the last one flush the windows that reach into padding.
    length
        Windows that are reduced to one result: 1 in pooling.
    groups
        Groups of slices: input planes of a pooling, results of a reduction.
    tail
        Live lanes in the last group.
    origin
        Position of the last tap of the first window in lane 0, modulo 2**32.
    group_step, lane_step
        What a group and a lane add to the position.
    depth, height, width
        The dimensions, outermost first.
    """

    data_type: int = 0
    minimum: bool = False
    decreasing: bool = False
    ignore_nan: bool = False
    slots: int = 1
    beats: int = 1
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
        """
        return _pack(job_layout(config), _as_dict(self), "")


def _as_dict(registers: JobRegisters | DimensionRegisters) -> dict[str, Any]:
    return {f.name: getattr(registers, f.name) for f in fields(registers)}


def _pack(layout: data.StructLayout, values: Mapping[str, Any], prefix: str) -> int:
    bits = 0
    for name, member in layout:
        value = values[str(name)]
        if isinstance(value, DimensionRegisters):
            assert isinstance(member.shape, data.StructLayout)
            packed = _pack(member.shape, _as_dict(value), f"{prefix}{name}.")
        else:
            shape = Shape.cast(member.shape)
            low = -(1 << (shape.width - 1)) if shape.signed else 0
            if not low <= int(value) < low + (1 << shape.width):
                raise OverflowError(
                    f"job register {prefix}{name} has {shape.width} bits, too few for {value}"
                )
            packed = int(value) & ((1 << shape.width) - 1)
        bits |= packed << member.offset
    return bits


def dimension_layout(config: CoreConfig, axis: int) -> data.StructLayout:
    """Return the bits of one dimension's registers; ``axis`` as in :data:`AXES`."""
    coordinate = unsigned(config.coordinate_width)
    # The height's stage is given lines, the depth's whole planes, the width's single elements.
    inner = unsigned((2, 1, 0)[axis] * config.coordinate_width or 1)
    return data.StructLayout(
        {
            "window": coordinate,
            "stride": coordinate,
            "dilation": coordinate,
            "size": coordinate,
            "outputs": coordinate,
            "head": signed(config.coordinate_width + 1),
            "period": coordinate,
            "inner": inner,
            "spacing": unsigned(POSITION_WIDTH),
            "position_step": unsigned(POSITION_WIDTH),
            "tap_step": unsigned(POSITION_WIDTH),
        }
    )


def job_layout(config: CoreConfig) -> data.StructLayout:
    """Return the bits of all job registers of a core."""
    word = unsigned(POSITION_WIDTH)
    return data.StructLayout(
        {
            "data_type": unsigned(4),
            "minimum": 1,
            "decreasing": 1,
            "ignore_nan": 1,
            "slots": word,
            "beats": word,
            "length": word,
            "groups": word,
            "tail": bits_for(config.lanes),
            "origin": word,
            "group_step": word,
            "lane_step": word,
            **{name: dimension_layout(config, axis) for axis, name in enumerate(AXES)},
        }
    )
