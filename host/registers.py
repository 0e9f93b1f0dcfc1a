"""How a sliding window's geometry becomes registers, and how long its schedule is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from extremum.hdl.config import POSITION_WIDTH
from extremum.hdl.job import DimensionRegisters
from extremum.model import SpatialDimension

MAX_SLOTS = 2**POSITION_WIDTH - 1
"""Slots that the core can count in one job."""


def modulo(position: int) -> int:
    """Return what a register holds of a position or of a weight."""
    return position % 2**POSITION_WIDTH


def dimension_registers(
    dimensions: Sequence[SpatialDimension], weights: Sequence[int]
) -> list[DimensionRegisters]:
    """Return the registers of the pooled dimensions, outermost first.

    Parameters
    ----------
    dimensions
        Depth, height and width.
    weights
        What a step along each of them adds to the position.
    """
    registers = []
    inner = 1
    for dimension, weight in zip(reversed(dimensions), reversed(weights), strict=True):
        # A single tap has no neighbour: its dilation means nothing.
        dilation = dimension.dilation if dimension.window > 1 else 1
        head = (dimension.window - 1) * dilation - dimension.start_padding
        lead = max(-head, 0)
        registers.append(
            DimensionRegisters(
                window=dimension.window,
                stride=dimension.stride,
                dilation=dilation,
                size=dimension.size,
                outputs=dimension.outputs,
                head=head,
                period=max(lead + dimension.size, (dimension.outputs - 1) * dimension.stride + 1),
                inner=inner,
                spacing=dilation * inner if dimension.window > 1 else 1,
                position_step=modulo(dimension.stride * weight),
                tap_step=modulo(dilation * weight),
            )
        )
        inner *= dimension.outputs
    return registers[::-1]


INPUT_FIFO = 2
"""Beats that wait in front of the schedule."""


@dataclass(frozen=True)
class Schedule:
    """The slots of a job that decide how long it takes, counted from 0.

    Parameters
    ----------
    last_element
        Slot of the last beat.
    last_window
        Slot in which the last window is given.
    last_room
        Slot that makes room for the last beat in the input FIFO; -1 if there always is.
    """

    last_element: int
    last_window: int
    last_room: int

    @property
    def slots(self) -> int:
        """Length of the schedule."""
        return max(self.last_element, self.last_window) + 1


def schedule(dimensions: Sequence[DimensionRegisters], groups: int) -> Schedule:
    """Return the schedule of a sliding window over groups of slices."""
    beats = groups * math.prod(dimension.size for dimension in dimensions)
    last_window = groups - 1
    for dimension in dimensions:
        last_window = (
            last_window * dimension.period
            + dimension.lag
            + (dimension.outputs - 1) * dimension.stride
        )
    room = beats - 1 - INPUT_FIFO
    return Schedule(
        _slot_of(beats - 1, dimensions),
        last_window,
        _slot_of(room, dimensions) if room >= 0 else -1,
    )


def _slot_of(beat: int, dimensions: Sequence[DimensionRegisters]) -> int:
    """Return the slot that takes a beat."""
    coordinates = []
    for dimension in reversed(dimensions):
        beat, coordinate = divmod(beat, dimension.size)
        coordinates.append(coordinate)
    slot = beat
    for dimension, coordinate in zip(dimensions, reversed(coordinates), strict=True):
        slot = slot * dimension.period + dimension.lead + coordinate
    return slot
