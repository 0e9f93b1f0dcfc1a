"""The winner of two candidates (ties, absent ones, NaN), and the tree that finds that of many."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gateware import bits, pack, unpack, watch

from extremum.hdl.config import CoreConfig
from extremum.hdl.timing import Timed, TimingParameters
from extremum.hdl.winner import Tap, cell_latency, tree, tree_latency
from extremum.hdl.words import candidate_layout
from extremum.model import DataType

FLOAT = candidate_layout(CoreConfig((DataType.FLOAT16,)), {"width": 5})
INTEGER = candidate_layout(CoreConfig((DataType.UINT8,)), {"width": 5})
PARAMETERS = TimingParameters()
GATES = replace(PARAMETERS, compare_clocks=0, choose_clocks=0)
"""Without registers in the cells."""

WIDE = candidate_layout(CoreConfig((DataType.UINT32,)), {"width": 5})
"""A layout whose keys are so wide that they are compared in two halves."""


class Tree(wiring.Component):
    """A component with ports around a tree."""

    present: Signal
    take_last: Signal
    i: Signal
    o_present: Signal
    o: Signal

    def __init__(self, layout, count, lanes, parameters):
        self.parameters = parameters
        self.layout, self.count, self.lanes = layout, count, lanes
        size = layout.size * lanes
        super().__init__(
            {
                "present": In(count),
                "take_last": In(1),
                "i": In(size * count),
                "o_present": Out(1),
                "o": Out(size),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # A tree of one tap has no registers; this one gives the simulation its clock.
        m.d.sync += Signal().eq(1)
        size, lanes = self.layout.size, self.lanes
        taps = []
        for number in range(self.count):
            words = [
                self.i[(number * lanes + lane) * size : (number * lanes + lane + 1) * size]
                for lane in range(lanes)
            ]
            present = Timed(m, self.present[number])
            taps.append(Tap(present, self.layout, [Timed(m, word) for word in words]))
        won = tree(m, self.parameters, taps, self.take_last)
        lanes = (lane.at(won.clock) for lane in won.lanes)
        m.d.comb += [self.o.eq(Cat(*lanes)), self.o_present.eq(won.present.value)]
        return m


def winner_of(candidates, take_last):
    """Return the expected winner, found one after the other; all NaNs equal each other."""
    best = None
    for candidate in candidates:
        if best is None:
            best = candidate
            continue
        nans = candidate.get("nan") and best.get("nan")
        tied = nans or candidate["key"] == best["key"]
        if take_last if tied else candidate["key"] > best["key"]:
            best = candidate
    return best


def draw(rng, layout, number, keys):
    fields = {"key": rng.choice(keys), "tap_width": number}
    if "nan" in dict(iter(layout)):
        # A NaN's key lies beyond all others, and differs from NaN to NaN.
        fields |= {"nan": int(rng.random() < 0.4), "sign": rng.getrandbits(1)}
        if fields["nan"]:
            fields["key"] = 0xFF00 + rng.choice((1, 2, 3))
    return fields


@pytest.mark.parametrize("layout", [FLOAT, INTEGER, WIDE], ids=["float", "integer", "wide"])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 8, 11])
@pytest.mark.parametrize("parameters", [PARAMETERS, GATES], ids=["registers", "gates"])
def test_tree(layout, count, parameters):
    rng = random.Random(count)
    lanes = 2
    component = Tree(layout, count, lanes, parameters)
    clocks, expected = [], []
    for _ in range(300):
        keys = rng.sample(range(256), rng.choice((1, 2, 4)))
        if layout is WIDE:
            keys = [high << 16 | low for high in keys[:2] for low in keys]
        taps = [[draw(rng, layout, tap, keys) for _ in range(lanes)] for tap in range(count)]
        present = [rng.random() < 0.7 for _ in range(count)]
        word = 0
        for tap in range(count):
            for lane in range(lanes):
                word |= pack(layout, taps[tap][lane]) << (tap * lanes + lane) * layout.size
        take_last = rng.getrandbits(1)
        mask = sum(p << n for n, p in enumerate(present))
        clocks.append({"i": word, "present": mask, "take_last": take_last})
        expected.append(
            [
                winner_of([t[lane] for t, p in zip(taps, present, strict=True) if p], take_last)
                for lane in range(lanes)
            ]
        )
    late = tree_latency(parameters, count)
    seen = watch(
        component, clocks, {"o": bits(component.o), "present": component.o_present}, settle=late
    )
    for clock, winners in zip(seen[late:], expected, strict=True):
        assert clock["present"] == (winners[0] is not None)
        for lane, winner in enumerate(winners):
            if winner is not None:
                assert unpack(layout, clock["o"] >> lane * layout.size) == winner


def test_latency_grows_by_a_cell_for_each_doubling():
    levels = [0, 1, 2, 2, 3, 3, 4]
    for parameters in (PARAMETERS, replace(PARAMETERS, compare_clocks=0), GATES):
        clocks = cell_latency(parameters)
        assert [tree_latency(parameters, n) for n in (1, 2, 3, 4, 5, 8, 9)] == [
            clocks * level for level in levels
        ]
