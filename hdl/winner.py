"""The winner of two candidates, and of many: the first of the greatest that are present.

This is where ties among taps and lanes are decided: a tie goes to the older candidate, the one that
comes first in scan order, unless the job asks for the last one. Ties among the words of a row are
decided in :mod:`extremum.hdl.reduction`.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data
from amaranth.utils import ceil_log2

from extremum.hdl.timing import (
    NEVER,
    Timed,
    TimingParameters,
    delay,
    late_exceeds,
    registered,
)


def cell_latency(parameters: TimingParameters) -> int:
    """Return the clocks to find the winner of two candidates: to compare, and to choose."""
    return parameters.compare_clocks + parameters.choose_clocks


@dataclass(frozen=True)
class Tap:
    """One candidate of a comparison.

    Parameters
    ----------
    present
        Whether the candidate takes part. An absent candidate loses to every present one.
    layout
        Layout of one lane.
    lanes
        One candidate for each lane, all valid in the same clock as ``present``.
    """

    present: Timed
    layout: data.StructLayout
    lanes: list[Timed]

    @property
    def clock(self) -> int:
        """The clock in which the candidate is valid."""
        return self.present.clock

    def moved_to(self, clock: int) -> Tap:
        """Return the same candidate, delayed until a later clock."""
        lanes = [lane.moved_to(clock) for lane in self.lanes]
        return Tap(self.present.moved_to(clock), self.layout, lanes)


def is_better(
    m: Module, parameters: TimingParameters, newer: data.View, older: data.View, or_equals: Value
) -> Value:
    """Return, ``compare_clocks`` later, whether ``newer`` is greater than ``older``, or equals it.

    NaNs are equal to each other. ``or_equals`` tells whether being equal is enough.
    """
    newer_key, older_key = Value.cast(newer.key), Value.cast(older.key)
    clocks = parameters.compare_clocks
    greater = late_exceeds(m, newer_key, older_key, parameters, or_equals, clocks=clocks)
    if "nan" in newer.shape().members:
        tied = delay(m, newer.nan & older.nan, clocks)
        return Mux(tied, delay(m, or_equals, clocks), greater)
    return greater


def winner(
    m: Module, parameters: TimingParameters, older: Tap, newer: Tap, take_last: Value = NEVER
) -> Tap:
    """Return the winner of two neighbours; a tie goes to ``older``, unless ``take_last``.

    Latency: :func:`cell_latency` clocks. ``take_last`` is valid in the clock of the candidates.
    """
    compared = older.clock + parameters.compare_clocks
    older_present, newer_present = older.present.at(compared), newer.present.at(compared)
    lanes = []
    for old, new in zip(older.lanes, newer.lanes, strict=True):
        new_view, old_view = data.View(newer.layout, new.value), data.View(older.layout, old.value)
        better = is_better(m, parameters, new_view, old_view, take_last)
        take_newer = newer_present & (~older_present | better)
        chosen = Mux(take_newer, new.at(compared), old.at(compared))
        lanes.append(
            registered(m, chosen, compared, name="chosen", clocks=parameters.choose_clocks)
        )
    present = Timed(m, older_present | newer_present, compared)
    return Tap(present.moved_to(compared + parameters.choose_clocks), older.layout, lanes)


def tree_latency(parameters: TimingParameters, count: int) -> int:
    """Return the latency of :func:`tree` over ``count`` candidates."""
    return cell_latency(parameters) * ceil_log2(count)


def tree(m: Module, parameters: TimingParameters, taps: list[Tap], take_last: Value = NEVER) -> Tap:
    """Return the winner of all candidates, given in scan order; a tie goes to the first.

    With ``take_last``, which is valid in the clock of the candidates, a tie goes to the last.

    Latency: :func:`tree_latency` clocks.
    """
    take_last_then = Timed(m, take_last, taps[0].clock)
    while len(taps) > 1:
        clock = taps[0].clock
        last = take_last_then.at(clock)
        neighbours = zip(taps[::2], taps[1::2], strict=False)
        pairs = [winner(m, parameters, older, newer, last) for older, newer in neighbours]
        if len(taps) % 2:
            pairs.append(taps[-1].moved_to(clock + cell_latency(parameters)))
        taps = pairs
        take_last_then = take_last_then.moved_to(taps[0].clock)
    return taps[0]
