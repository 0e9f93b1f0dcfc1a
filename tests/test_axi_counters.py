"""Compares the counters of the AXI block with sums of the events."""

import gc
import random

import pytest
from amaranth.hdl import ResetInserter, Signal
from gateware import run

from extremum.hdl.axi.counters import COUNTERS_PER_BANK, MOST_EVENTS, VISIT_CLOCKS, CounterBank
from extremum.hdl.axi.register_map import WORD_BITS, WORD_BYTES

BEHIND = 2
"""Clocks from the visit of a counter, by which its events are counted, until it passes."""


class Watched:
    """A bank, the events it was given since the last clear, and the words that passed by.

    Parameters
    ----------
    context
        The simulator's.
    bank
        The bank.
    """

    def __init__(self, context, bank):
        self._context, self._bank = context, bank
        self._bytes: list[int] = []
        self.clock, self.cleared = 0, -VISIT_CLOCKS
        self.counts = [[0] for _ in bank.most]
        self.compared = 0

    async def step(self, events, clear=False):
        """Let a clock pass with some events, and check the word that ends in it."""
        context, bank = self._context, self._bank
        for number, count in enumerate(events):
            context.set(getattr(bank, f"events_{number}"), count)
            counts = self.counts[number]
            # An event in the clock of the clear is one before it.
            counts.append(0 if clear else counts[-1] + count)
        context.set(bank.clear, clear)
        number, place = context.get(bank.number), context.get(bank.place)
        assert number * WORD_BYTES + place == (self.clock - BEHIND) % VISIT_CLOCKS
        self._bytes = [*self._bytes[-WORD_BYTES + 1 :], context.get(bank.byte)]
        if clear:
            self.cleared = self.clock
        begun = self.clock - place
        is_right = begun >= BEHIND and begun > self.cleared + VISIT_CLOCKS
        if place == WORD_BYTES - 1 and number < len(events) and is_right:
            word = int.from_bytes(bytes(self._bytes), "little")
            wanted = self.counts[number][begun - BEHIND] % (1 << WORD_BITS)
            assert word == wanted, (self.clock, number)
            self.compared += 1
        await context.tick()
        self.clock += 1


def draw(rng, most):
    """Return how many events of each kind come: often none, or the most."""
    return [rng.choice((0, count, rng.randint(0, count))) for count in most]


@pytest.mark.parametrize(
    "most",
    [
        (1, 1, 1, 1, 1, 2, 4),
        (1, 1, 1, 1, 1, 2, 64),
        (1,),
        # So many that every byte counts, and the word wraps.
        (1 << 16, 3, 1 << 22, 255, 256, 1 << 26, 1, 1 << 25),
    ],
)
def test_every_event_is_counted_once(most):
    """Also if the most events come in every clock."""
    bank, rng = CounterBank(most), random.Random(str(most))

    async def bench(context):
        watched = Watched(context, bank)
        for _ in range(20 * VISIT_CLOCKS):
            await watched.step(most)
        for _ in range(20 * VISIT_CLOCKS):
            await watched.step(draw(rng, most))
        last = [counts[-1] for counts in watched.counts]
        for _ in range(3 * VISIT_CLOCKS):
            await watched.step([0] * len(most))
        assert [counts[-1] for counts in watched.counts] == last
        assert watched.compared == 43 * len(most) - (len(most) == COUNTERS_PER_BANK)
        assert max(last) > (1 << WORD_BITS if max(most) >= 1 << 25 else 20 * VISIT_CLOCKS)

    run(bank, bench)


@pytest.mark.parametrize("most", [(1, 1, 1, 1, 1, 2, 64, 64), (1,) * 7 + (MOST_EVENTS // 2,)])
def test_a_clear_in_any_clock(most):
    """Events go on meanwhile, and those behind the clear are counted."""
    bank, rng = CounterBank(most), random.Random(8)

    async def bench(context):
        watched = Watched(context, bank)
        for phase in range(2 * VISIT_CLOCKS):
            # In half of them all counters run as fast as they can, before the clear and behind it.
            (fast, at), rounds = divmod(phase, VISIT_CLOCKS), rng.randint(2, 5)
            while watched.clock % VISIT_CLOCKS != at or rounds:
                rounds -= watched.clock % VISIT_CLOCKS == at and rounds > 0
                await watched.step(most if fast else draw(rng, most))
            await watched.step(most if fast else draw(rng, most), clear=True)
            if rng.random() < 0.3:
                # Another one, before all bytes have been zeroed.
                for _ in range(rng.randrange(VISIT_CLOCKS)):
                    await watched.step(draw(rng, most))
                await watched.step(draw(rng, most), clear=True)
        assert watched.compared > 800

    run(bank, bench)


def test_a_reset_in_any_clock():
    """The memory keeps its bytes, which count for nothing."""
    bank, reset, most = CounterBank([1, 64]), Signal(), (1, 64)

    async def bench(context):
        for clocks in range(8 * VISIT_CLOCKS, 9 * VISIT_CLOCKS):
            watched = Watched(context, bank)
            for _ in range(clocks):
                await watched.step(most)
            assert watched.compared
            context.set(reset, 1)
            await context.tick()
            context.set(reset, 0)

    run(ResetInserter(reset)(bank), bench)


@pytest.mark.parametrize("most", [(), (1,) * (COUNTERS_PER_BANK + 1), (1, MOST_EVENTS + 1)])
def test_more_than_a_bank_counts_is_refused(monkeypatch, most):
    # Nobody elaborates what is refused.
    monkeypatch.setattr(CounterBank, "_MustUse__silence", True)
    with pytest.raises(ValueError, match="not"):
        CounterBank(most)
    gc.collect()
