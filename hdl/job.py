"""One job as software describes it: plain numbers, and their bits on the job port."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.coordinates import slots_before_zero
from extremum.hdl.register_table import (
    constant_registers,
    is_indifferent,
    is_position,
    port_bits,
    port_number,
)


@dataclass(frozen=True)
class DimensionRegisters:
    """How windows slide over one dimension. The defaults describe a dimension of one element.

    The core walks over a line in ``period`` slots of one clock each. The slot of coordinate ``c``
    takes element ``c`` and gives the window whose last tap is there. See
    :mod:`extremum.hdl.output_schedule`.

    Parameters
    ----------
    window, stride, dilation
        Taps of the window, elements from one window to the next, and from one tap to the next.
    size
        Elements of the input. Their coordinates are 0 to ``size - 1``; all other coordinates are
        padding, where there is no element.
    head
        Coordinate of the first window's last tap. It is negative if the first windows lie wholly
        in the start padding.
    period
        Slots from the first element of one line to the first of the next.
    regular
        Coordinate of the slot of the last window on the grid of strides.
    final
        Coordinate of the slot of the line's last window. It is ``regular``, unless the last window
        is an early one: then it lies behind ``regular``, and not on the grid of strides. The last
        taps of an early window lie in the end padding, so it is given before the slot of the last
        of them.
    shift
        The number of taps by which the window in ``final`` is given early.
    spacing
        Words from one tap to the next in the stage's storage: ``dilation`` times the words that
        one slot of this dimension fills. It is 1 for a window of one tap, which needs no storage.
    position_step
        Added to the position to reach the next window, while the dimensions within this one begin
        again.
    tap_step
        Added to the position to go back by one tap.
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
        """Slots at the start of a line that take no element, because windows come first."""
        return slots_before_zero(self.head)

    @property
    def has_padding(self) -> bool:
        """Whether the first or the last window reaches beyond the elements.

        A window that is given early always does: its last taps lie in the end padding. So does the
        last window if another one would fit behind it. Then the plan has left out taps that meet
        padding alone; a core without padding would give the windows that fit without these taps,
        too.
        """
        starts_before = self.head < (self.window - 1) * self.dilation
        reaches_behind = self.final >= self.size or self.shift > 0
        return starts_before or reaches_behind or self.final + self.stride < self.size


@dataclass(frozen=True)
class JobRegisters:
    """The registers of one job: they tell the core what to do with one stream of beats.

    The core refuses a job with a wrong window, dilation, spacing, type or tail
    (:class:`extremum.hdl.ports.JobError`). It does not check the others, nor that the registers
    agree with each other. If they do not, the results are wrong.
    :mod:`extremum.host.plan.registers` computes registers that agree; the rules are:

    - ``period`` is no shorter than the line of elements and than that of windows.
    - ``spacing`` is ``dilation`` times the words of a slot.
    - ``slots`` reach to the last window and to the last element, whichever is later.
    - Windows of more than one tap have ``length`` 1.
    - A job whose windows are single elements has an ``origin`` and steps of 0.

    Parameters
    ----------
    data_type
        Code of the type, see :meth:`CoreConfig.data_type_code`.
    minimum
        The job looks for the least element instead of the greatest.
    decreasing
        A reduction takes the last of equal elements instead of the first.
    ignore_nan
        A NaN loses to every number instead of beating it.
    fold
        The lanes carry consecutive elements of one reduction, and results leave packed: as many in
        a beat as there are lanes. Otherwise each lane carries a slice of its own.
    slots
        Number of slots of the job, up to the one that gives its last window or takes its last
        element, whichever is later.
    volumes
        Volumes (or planes) of the input: as many as ``groups`` in a pooling, as many as beats in a
        reduction. The slots after the last volume give the windows that reach into the end padding.
    length
        Consecutive windows that are reduced to one result. It is 1 in a pooling.
    groups
        Groups of slices that stream one after the other: planes of a pooling, rows of a
        reduction. A group has a slice in each lane, or one that is folded over all of them.
    tail
        Lanes that carry something in the last group of slices; in a fold, in the last beat of
        each row.
    origin
        Position of the last tap of the first window in lane 0. Like all positions it is modulo
        ``2**index_width``.
    group_step
        Added to the position to reach the next group, while all dimensions begin again.
    lane_step
        Added to the position to go from one lane to the next.
    depth, height, width
        The dimensions that windows slide over, outermost first.
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

    def values(self) -> dict[str, int]:
        """Return the value of every register, by name, in the order of the job port."""
        return _flatten(self)

    def values_in(self, config: CoreConfig) -> dict[str, int]:
        """Return the values as registers of a core: positions modulo ``2**index_width``."""
        return {
            name: value % (1 << config.index_width) if is_position(name) else value
            for name, value in self.values().items()
        }

    def to_bits(self, config: CoreConfig) -> int:
        """Return the bits of the core's ``job`` port, each register in its place.

        Raises
        ------
        OverflowError
            A value does not fit its register.
        ValueError
            A register is not on the port of this core, and the job needs another value.
        """
        values = self.values_in(config)
        self._check_padding(config)
        for name, value in constant_registers(config).items():
            if values[name] != value and (not is_indifferent(name) or name in dict(config.fixed)):
                raise ValueError(
                    f"the core was built with the job register {name} fixed to {int(value)}, and "
                    f"the job needs {values[name]}"
                )
        bits = offset = 0
        for name, own in port_bits(config).items():
            number = port_number(name, own, values[name])
            bits |= (number & ((1 << own.width) - 1)) << offset
            offset += own.width
        return bits

    def _check_padding(self, config: CoreConfig) -> None:
        """Refuse windows that reach into padding, if the core has none."""
        for name, line in zip(DIMENSIONS, self.dimensions, strict=True):
            if line.has_padding and not config.padding:
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
