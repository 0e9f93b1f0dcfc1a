"""The winner of two candidates, and of many: the first of the greatest that are present."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import ceil_log2

from extremum.hdl.flow import delay

CELL_LATENCY = 2
"""Clocks of one winner: compare, then select."""


@dataclass(frozen=True)
class Tap:
    """One candidate of a comparison.

    Parameters
    ----------
    present
        Whether it takes part. What is absent loses to everything.
    lanes
        Layout of one lane, and one candidate for each lane.
    """

    present: Value
    layout: data.StructLayout
    lanes: list[Value]


def beats(newer: data.View, older: data.View) -> Value:
    """Return whether ``newer`` is greater than ``older``; NaNs are equal."""
    greater = newer.code > older.code
    if "nan" in newer.shape().members:
        greater &= ~(newer.nan & older.nan)
    return greater


def winner(m: Module, older: Tap, newer: Tap) -> Tap:
    """Return the winner of two neighbours; a tie goes to ``older``.

    Latency: :data:`CELL_LATENCY` clocks.
    """
    present = Signal()
    m.d.sync += present.eq(older.present | newer.present)
    lanes = []
    for old, new in zip(older.lanes, newer.lanes, strict=True):
        take_newer = Signal()
        better = beats(data.View(newer.layout, new), data.View(older.layout, old))
        m.d.sync += take_newer.eq(newer.present & (~older.present | better))
        chosen = Signal(len(old), reset_less=True)
        m.d.sync += chosen.eq(Mux(take_newer, delay(m, new, 1), delay(m, old, 1)))
        lanes.append(chosen)
    return Tap(delay(m, present, 1), older.layout, lanes)


def tree_latency(count: int) -> int:
    """Return the latency of :func:`tree` over ``count`` taps."""
    return CELL_LATENCY * ceil_log2(count)


def tree(m: Module, taps: list[Tap]) -> Tap:
    """Return the winner of all taps, which stand in scan order; a tie goes to the first.

    Latency: :func:`tree_latency` clocks.
    """
    while len(taps) > 1:
        pairs = [winner(m, *taps[i : i + 2]) for i in range(0, len(taps) - 1, 2)]
        if len(taps) % 2:
            last = taps[-1]
            pairs.append(
                Tap(
                    delay(m, last.present, CELL_LATENCY),
                    last.layout,
                    [delay(m, lane, CELL_LATENCY) for lane in last.lanes],
                )
            )
        taps = pairs
    return taps[0]
