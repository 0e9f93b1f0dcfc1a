"""Many counters of 32 bits in one small memory, worked on a byte at a time."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.axi.register_map import WORD_BYTES
from extremum.hdl.timing import delay

BYTE_BITS = 8

COUNTERS_PER_BANK = 8
"""Counters that share a memory."""

VISIT_CLOCKS = COUNTERS_PER_BANK * WORD_BYTES
"""Clocks from one visit of a counter to the next."""


class CounterBank(wiring.Component):
    """Counts events of several kinds, up to a few of each kind in every clock.

    A counter's low part, a few flip-flops, counts at once. The counters are visited in turn, the
    lowest byte of each first: what the low part has collected is added to the counter's bytes in
    the memory. So one adder of a byte and one small memory serve all counters.

    The bytes of all counters, up to date, pass by on ``byte``: each once in :data:`VISIT_CLOCKS`
    clocks.

    Parameters
    ----------
    most
        For each counter, the most events that come in a clock. There are at most
        :data:`COUNTERS_PER_BANK` counters.

    Members
    -------
    events : In
        For each counter how many events come in this clock: ``events_0``, ``events_1``, ...
    clear : In(1)
        All counters begin again at zero; what passes by is right after :data:`VISIT_CLOCKS` clocks
        more.
    number, place : Out
        The counter whose byte passes by, and the number of this byte, the lowest being 0.
    byte : Out(8)
        The byte.
    """

    clear: Signal
    number: Signal
    place: Signal
    byte: Signal

    def __init__(self, most: Sequence[int]):
        if not 1 <= len(most) <= COUNTERS_PER_BANK:
            raise ValueError(f"a bank has 1 to {COUNTERS_PER_BANK} counters, not {len(most)}")
        self.most = tuple(most)
        events = {f"events_{n}": In(bits_for(count)) for n, count in enumerate(most)}
        super().__init__(
            {
                **events,
                "clear": In(1),
                "number": Out(range(COUNTERS_PER_BANK)),
                "place": Out(range(WORD_BYTES)),
                "byte": Out(BYTE_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(
            shape=BYTE_BITS, depth=VISIT_CLOCKS, init=[], attrs={"ram_style": "distributed"}
        )
        read, write = memory.read_port(domain="comb"), memory.write_port()
        visited = Signal(range(VISIT_CLOCKS), name="visited")
        m.d.sync += visited.eq(visited + 1)
        place = visited[: len(self.place)]
        is_lowest = place == 0
        turns = Signal(COUNTERS_PER_BANK, name="turns", init=1)
        is_highest = place == WORD_BYTES - 1
        with m.If(is_highest):
            m.d.sync += turns.eq(turns.rotate_left(1))

        here: Value = Const(0, 1)
        for own, most in enumerate(self.most):
            events = getattr(self, f"events_{own}")
            low = Signal(range(VISIT_CLOCKS * most + 1), name=f"low_{own}")
            # In the clock in which the counter's lowest byte is visited, and when all are cleared.
            begins = delay(m, self.clear | (is_highest & turns[own - 1]), 1)
            # The upper bits are emptied by the reset of their flip-flops, and need no gates for it.
            with m.If(begins):
                m.d.sync += low.eq(events)
            with m.Else():
                m.d.sync += low.eq(_increment(low, events) if most == 1 else low + events)
            here = here | Mux(turns[own], low, 0)

        # After reset, and when asked to, each byte in turn is taken for zero.
        is_zeroed = Signal(name="is_zeroed", init=1)
        begun_at = Signal(range(VISIT_CLOCKS), name="begun_at", init=VISIT_CLOCKS - 1)
        cleared = delay(m, self.clear, 1)
        with m.If(cleared):
            m.d.sync += [is_zeroed.eq(1), begun_at.eq(visited)]
        with m.Elif(visited == begun_at):
            m.d.sync += is_zeroed.eq(0)

        # First clock: the byte, and what is added to it. Second clock: their sum.
        word = Signal(BYTE_BITS, name="word")
        added = Signal(range(VISIT_CLOCKS * max(self.most) + 1), name="added")
        total = Signal(BYTE_BITS + 1, name="total")
        # Nothing goes on into the lowest byte, nor from a byte before the clear into one behind it.
        goes_on = ~is_lowest & ~delay(m, cleared, 1)
        m.d.comb += read.addr.eq(visited)
        m.d.sync += [
            word.eq(Mux(is_zeroed, 0, read.data)),
            added.eq(Mux(is_lowest, here, Mux(goes_on, added >> BYTE_BITS, 0))),
            total.eq(word + added[:BYTE_BITS] + (delay(m, goes_on, 1) & total[BYTE_BITS])),
        ]
        late = Signal(range(VISIT_CLOCKS), name="late", init=VISIT_CLOCKS - 2)
        m.d.sync += late.eq(visited - 1)
        m.d.comb += [
            write.addr.eq(late),
            write.en.eq(1),
            write.data.eq(total[:BYTE_BITS]),
            Cat(self.place, self.number).eq(late),
            self.byte.eq(total[:BYTE_BITS]),
        ]
        return m


def _increment(count: Value, flag: Value) -> Value:
    """Return a count of a few bits plus a flag, by gates: they are smaller than a carry chain."""
    return Cat(count[bit] ^ (count[:bit].all() & flag) for bit in range(len(count)))
