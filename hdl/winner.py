"""The winner of two candidates, and of many: the first of the greatest that are present."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import ceil_log2

from extremum.hdl.flow import delay

CELL_LATENCY = 2
"""Clocks of one winner: compare, then select."""


NEVER = Const(0, 1)


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


HALF = 16
"""Codes wider than this are compared in two halves, side by side."""


def exceeds(a: Value, b: Value, or_equals: Value = NEVER) -> Value:
    """Return whether ``a > b``, or ``a >= b`` if ``or_equals``: the sign of one subtraction."""
    if isinstance(or_equals, Const) and not or_equals.value:
        return (b - a)[-1]
    return (Cat(NEVER, b) - Cat(or_equals, a))[-1]


def _late_exceeds(m: Module, a: Value, b: Value, or_equals: Value) -> Value:
    """Return, a clock late, whether ``a > b``, or ``a >= b`` if ``or_equals``."""
    if len(a) <= HALF:
        return delay(m, exceeds(a, b, or_equals), 1)
    half = len(a) // 2
    low, high, level = (
        delay(m, flag, 1)
        for flag in (
            exceeds(a[:half], b[:half], or_equals),
            exceeds(a[half:], b[half:]),
            a[half:] == b[half:],
        )
    )
    return high | (level & low)


def beats(m: Module, newer: data.View, older: data.View, or_equals: Value = NEVER) -> Value:
    """Return, a clock late, whether ``newer`` is greater than ``older``, or equals it.

    NaNs are equal.
    """
    greater = _late_exceeds(m, Value.cast(newer.code), Value.cast(older.code), or_equals)
    if "nan" in newer.shape().members:
        tied = delay(m, newer.nan & older.nan, 1)
        return Mux(tied, delay(m, or_equals, 1), greater)
    return greater


def winner(m: Module, older: Tap, newer: Tap, take_last: Value = NEVER) -> Tap:
    """Return the winner of two neighbours; a tie goes to ``older``, unless ``take_last``.

    Latency: :data:`CELL_LATENCY` clocks.
    """
    older_present, newer_present = (delay(m, tap.present, 1) for tap in (older, newer))
    lanes = []
    for old, new in zip(older.lanes, newer.lanes, strict=True):
        better = beats(m, data.View(newer.layout, new), data.View(older.layout, old), take_last)
        take_newer = newer_present & (~older_present | better)
        chosen = Signal(len(old), reset_less=True)
        m.d.sync += chosen.eq(Mux(take_newer, delay(m, new, 1), delay(m, old, 1)))
        lanes.append(chosen)
    return Tap(delay(m, older_present | newer_present, 1), older.layout, lanes)


def tree_latency(count: int) -> int:
    """Return the latency of :func:`tree` over ``count`` taps."""
    return CELL_LATENCY * ceil_log2(count)


def tree(m: Module, taps: list[Tap], take_last: Value = NEVER) -> Tap:
    """Return the winner of all taps, in scan order; a tie goes to the first, or to the last.

    Latency: :func:`tree_latency` clocks.
    """
    while len(taps) > 1:
        pairs = [winner(m, *taps[i : i + 2], take_last) for i in range(0, len(taps) - 1, 2)]
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
        take_last = delay(m, take_last, CELL_LATENCY)
    return taps[0]
