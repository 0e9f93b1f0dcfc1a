"""One job, as software describes it: plain numbers, and the bits of the job port that they make."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.register_table import fixed_registers, is_indifferent, is_position
from extremum.hdl.registers import encode, job_shapes, value_range


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
    with each other is the duty of who writes them (:mod:`extremum.host.plan.registers`): ``period``
    is no shorter than the line of elements and that of windows, ``spacing`` is ``dilation`` times
    the words of a slot, ``slots`` reach the last window, windows of more than one tap have
    ``length`` 1, and a job without windows has an ``origin`` and steps of 0. A job that breaks this
    gives wrong results.

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
            if values[name] != value and (not is_indifferent(name) or name in dict(config.fixed)):
                raise ValueError(
                    f"the core was built with the job register {name} fixed to {int(value)}, and "
                    f"the job needs {values[name]}"
                )
        bits = offset = 0
        for name, shape in job_shapes(config).items():
            value = values[name]
            if is_position(name):
                value %= 1 << shape.width
            low, high = value_range(name, shape)
            if not low <= value <= high:
                raise OverflowError(
                    f"job register {name} has {shape.width} bits, too few for {values[name]}"
                )
            bits |= (encode(name, value) & ((1 << shape.width) - 1)) << offset
            offset += shape.width
        return bits

    def _check_padding(self, config: CoreConfig) -> None:
        """Refuse windows that reach into padding, if the core has none."""
        for name, line in zip(DIMENSIONS, self.dimensions, strict=True):
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
