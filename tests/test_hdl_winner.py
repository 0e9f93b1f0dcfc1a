"""The winner of neighbours: ties, absence, NaN; the tree of every size."""

import random

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gateware import bits, pack, unpack, watch

from extremum.hdl.config import CoreConfig
from extremum.hdl.flow import candidate_layout
from extremum.hdl.winner import CELL_LATENCY, Tap, tree, tree_latency
from extremum.model import DataType

FLOAT = candidate_layout(CoreConfig((DataType.FLOAT16,)), {"width": 5})
INTEGER = candidate_layout(CoreConfig((DataType.UINT8,)), {"width": 5})


class Tree(wiring.Component):
    """A tree between ports."""

    present: Signal
    i: Signal
    o_present: Signal
    o: Signal

    def __init__(self, layout, count, lanes):
        self.layout, self.count, self.lanes = layout, count, lanes
        size = layout.size * lanes
        super().__init__(
            {
                "present": In(count),
                "i": In(size * count),
                "o_present": Out(1),
                "o": Out(size),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Without this a tree of one tap would have no clock.
        m.d.sync += Signal().eq(1)
        size, lanes = self.layout.size, self.lanes
        taps = []
        for number in range(self.count):
            words = [
                self.i[(number * lanes + lane) * size : (number * lanes + lane + 1) * size]
                for lane in range(lanes)
            ]
            taps.append(Tap(self.present[number], self.layout, words))
        won = tree(m, taps)
        m.d.comb += [self.o.eq(Cat(*won.lanes)), self.o_present.eq(won.present)]
        return m


def first_of_the_greatest(candidates):
    """The contract, one candidate after the other; NaNs are equal whatever their codes."""
    best = None
    for candidate in candidates:
        if best is None:
            best = candidate
            continue
        nans = candidate.get("nan") and best.get("nan")
        if candidate["code"] > best["code"] and not nans:
            best = candidate
    return best


def draw(rng, layout, number, codes):
    fields = {"code": rng.choice(codes), "tap_width": number}
    if "nan" in dict(iter(layout)):
        # A NaN's code lies beyond all others, and differs from NaN to NaN.
        fields |= {"nan": int(rng.random() < 0.4), "sign": rng.getrandbits(1)}
        if fields["nan"]:
            fields["code"] = 0xFF00 + rng.choice((1, 2, 3))
    return fields


@pytest.mark.parametrize("layout", [FLOAT, INTEGER], ids=["float", "integer"])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 8, 11])
def test_tree(layout, count):
    rng = random.Random(count)
    lanes = 2
    component = Tree(layout, count, lanes)
    clocks, expected = [], []
    for _ in range(300):
        codes = rng.sample(range(256), rng.choice((1, 2, 4)))
        taps = [[draw(rng, layout, tap, codes) for _ in range(lanes)] for tap in range(count)]
        present = [rng.random() < 0.7 for _ in range(count)]
        word = 0
        for tap in range(count):
            for lane in range(lanes):
                word |= pack(layout, taps[tap][lane]) << (tap * lanes + lane) * layout.size
        clocks.append({"i": word, "present": sum(p << n for n, p in enumerate(present))})
        expected.append(
            [
                first_of_the_greatest([t[lane] for t, p in zip(taps, present, strict=True) if p])
                for lane in range(lanes)
            ]
        )
    late = tree_latency(count)
    seen = watch(
        component, clocks, {"o": bits(component.o), "present": component.o_present}, settle=late
    )
    for clock, winners in zip(seen[late:], expected, strict=True):
        assert clock["present"] == (winners[0] is not None)
        for lane, winner in enumerate(winners):
            if winner is not None:
                assert unpack(layout, clock["o"] >> lane * layout.size) == winner


def test_latency_grows_by_a_cell_for_each_doubling():
    assert [tree_latency(n) // CELL_LATENCY for n in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
