"""How a sliding window's geometry becomes registers, and how long its schedule is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from extremum.hdl.config import POSITION_WIDTH, CoreConfig
from extremum.hdl.job import DimensionRegisters
from extremum.hdl.register_table import DIMENSIONS
from extremum.model import Pooling, Reduction, SpatialDimension

MAX_SLOTS = 2**POSITION_WIDTH - 1
"""Slots of a job at most. The register, which holds one less, could hold one more."""


def modulo(position: int) -> int:
    """Return what a register holds of a position or of a weight."""
    return position % 2**POSITION_WIDTH


def dimension_registers(
    dimensions: Sequence[SpatialDimension],
    weights: Sequence[int],
    fixed_windows: Sequence[int | None] | None = None,
) -> list[DimensionRegisters]:
    """Return the registers of the pooled dimensions, outermost first.

    Parameters
    ----------
    dimensions
        Depth, height and width.
    weights
        What one element along each of them adds to the position.
    fixed_windows
        The numbers of taps that a core has fixed, see :func:`fixed_windows_of`; None if it has
        fixed none.
    """
    registers = []
    words, within = 1, 0
    fixed = fixed_windows or (None,) * len(dimensions)
    for dimension, weight, fixed_window in zip(
        reversed(dimensions), reversed(weights), reversed(fixed), strict=True
    ):
        line = _Line.of(dimension, fixed_window)
        stride = dimension.stride * weight
        registers.append(
            DimensionRegisters(
                window=line.window,
                stride=dimension.stride,
                dilation=line.dilation,
                size=dimension.size,
                head=line.head,
                period=line.period,
                regular=line.regular,
                final=line.final,
                shift=line.shift,
                spacing=line.dilation * words if line.window > 1 else 1,
                position_step=modulo(stride - within),
                tap_step=modulo(-line.dilation * weight),
            )
        )
        words *= dimension.outputs
        within += (dimension.outputs - 1) * stride
    return registers[::-1]


def way_within(dimensions: Sequence[SpatialDimension], weights: Sequence[int]) -> int:
    """Return the difference of the positions of the first and the last window of a slice."""
    return sum(
        (dimension.outputs - 1) * dimension.stride * weight
        for dimension, weight in zip(dimensions, weights, strict=True)
    )


def ignore_nan_of(problem: Reduction | Pooling, config: CoreConfig) -> bool:
    """Return the register ``ignore_nan`` of the jobs of an operator.

    An integer is no NaN, so that jobs of integers take whatever the core has fixed.
    """
    if problem.data_type.is_float:
        return problem.nan == "ignore"
    return bool(dict(config.fixed).get("ignore_nan", 0))


def fixed_windows_of(config: CoreConfig) -> tuple[int | None, ...]:
    """Return the number of taps that a core has fixed in each dimension; None where it has not."""
    fixed = dict(config.fixed)
    return tuple(fixed.get(f"{name}.window") for name in DIMENSIONS)


@dataclass(frozen=True)
class _Line:
    """The registers of one line of windows that do not depend on other dimensions."""

    size: int
    window: int
    dilation: int
    head: int
    regular: int
    final: int
    shift: int

    @classmethod
    def of(cls, dimension: SpatialDimension, fixed_window: int | None = None) -> _Line:
        """Return the line in which every window has the slot of its last tap.

        Taps that lie behind the elements in every window are left out, and results come earlier;
        but where the number of taps is fixed, no fewer are kept. The last window may have an
        earlier slot: its last taps may lie in the end padding, and then nothing is missing before
        them. That can make the line shorter.
        """
        size, stride, outputs = dimension.size, dimension.stride, dimension.outputs
        # A single tap has no neighbour, so its dilation means nothing.
        dilation = dimension.dilation if dimension.window > 1 else 1
        head = (dimension.window - 1) * dilation - dimension.start_padding
        # Taps that lie behind the elements in every window, the first one included. Its first tap
        # never does, so one is left.
        beyond = max(0, -(-(head - size + 1) // dilation))
        if fixed_window is not None:
            beyond = min(beyond, max(0, dimension.window - fixed_window))
        window, head = dimension.window - beyond, head - beyond * dilation
        last = head + (outputs - 1) * stride
        # The last window comes neither before the last element nor before its predecessor.
        earliest = max(size - 1, last - stride + 1) if outputs > 1 else last
        shift = min(max(0, last - earliest) // dilation, window - 1)
        regular = last - stride if shift else last
        return cls(size, window, dilation, head, regular, last - shift * dilation, shift)

    @property
    def period(self) -> int:
        """Slots from one line to the next: as many as its elements need, and its windows."""
        return max(max(-self.head, 0) + self.size, self.final - self.head + 1)


@dataclass(frozen=True)
class Schedule:
    """The slots that decide how long a job takes. A job's first slot has number 0.

    Parameters
    ----------
    first_element, last_element
        Slots of the first and of the last beat.
    last_window
        Slot in which the last window is given.
    """

    first_element: int
    last_element: int
    last_window: int

    @property
    def slots(self) -> int:
        """Number of slots of the job."""
        return max(self.last_element, self.last_window) + 1

    def cycles(self, latency: int) -> int:
        """Return the clocks from the first beat taken to the last one moved."""
        return max(self.last_window + latency, self.last_element) - self.first_element + 1


def schedule(dimensions: Sequence[DimensionRegisters], groups: int) -> Schedule:
    """Return the schedule of a sliding window over groups of slices."""

    def slot_of(group: int, coordinates: Iterable[int]) -> int:
        slot = group
        for dimension, coordinate in zip(dimensions, coordinates, strict=True):
            slot = slot * dimension.period + dimension.lead + coordinate
        return slot

    return Schedule(
        slot_of(0, (0 for _ in dimensions)),
        slot_of(groups - 1, (dimension.size - 1 for dimension in dimensions)),
        slot_of(groups - 1, (dimension.final for dimension in dimensions)),
    )
