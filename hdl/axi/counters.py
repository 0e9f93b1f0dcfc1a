"""Many counters of 32 bits in one small memory."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.axi.register_map import WORD_BITS

SLOTS = 8
"""Counters that share a memory, and so the clocks from one visit of a counter to the next."""


class CounterBank(wiring.Component):
    """Counts events of several kinds, up to a few of each kind in every clock.

    A counter's low part, a few flip-flops, counts at once. The counters are visited in turn: what
    the low part has collected is added to the counter's word in the memory. So one adder and one
    memory serve all counters.

    Latency: a value that is read holds all events before the read was asked for, and may hold some
    of the 12 clocks after that.

    Parameters
    ----------
    most
        For each counter, the most events that come in a clock. At most :data:`SLOTS` counters.

    Members
    -------
    events : In
        For each counter how many events come in this clock: ``events_0``, ``events_1``, ...
    clear : In(1)
        All counters begin again at zero. Events of the next :data:`SLOTS` clocks may be lost.
    read : In(1)
        Asks for a counter's value, until ``done``.
    number : In
        The counter that is asked for.
    done : Out(1)
        ``value`` is the counter's value.
    value : Out(32)
        The value.
    """

    clear: Signal
    read: Signal
    number: Signal
    done: Signal
    value: Signal

    def __init__(self, most: Sequence[int]):
        if not 1 <= len(most) <= SLOTS:
            raise ValueError(f"a bank has 1 to {SLOTS} counters, not {len(most)}")
        self.most = tuple(most)
        events = {f"events_{n}": In(bits_for(count)) for n, count in enumerate(most)}
        super().__init__(
            {
                **events,
                "clear": In(1),
                "read": In(1),
                "number": In(range(SLOTS)),
                "done": Out(1),
                "value": Out(WORD_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(
            shape=WORD_BITS, depth=SLOTS, init=[], attrs={"ram_style": "distributed"}
        )
        read, write = memory.read_port(domain="comb"), memory.write_port()
        visited = Signal(range(SLOTS), name="visited")
        m.d.sync += visited.eq(visited + 1)

        collected = []
        for number, most in enumerate(self.most):
            events = getattr(self, f"events_{number}")
            low = Signal(range(SLOTS * most + 1), name=f"low_{number}")
            m.d.sync += low.eq(Mux(visited == number, 0, low) + events)
            collected.append(low)
        widest = max(map(len, collected))
        here = Array([*collected, *[0] * (SLOTS - len(collected))])[visited]

        # First clock: the word and what is added to it. Second and third: the sum of its halves.
        half = WORD_BITS // 2
        word, added = Signal(WORD_BITS, name="word"), Signal(widest, name="added")
        low_sum, high = Signal(half + 1, name="low_sum"), Signal(half, name="high")
        m.d.comb += read.addr.eq(visited)
        m.d.sync += [
            word.eq(read.data),
            added.eq(here),
            low_sum.eq(word[:half] + added),
            high.eq(word[half:]),
            self.value.eq(Cat(low_sum[:half], high + low_sum[half])),
        ]
        # After reset, and when asked to, each counter in turn is written with zero.
        zeros_left = Signal(range(2 * SLOTS), name="zeros_left", init=2 * SLOTS - 1)
        with m.If(self.clear):
            m.d.sync += zeros_left.eq(2 * SLOTS - 1)
        with m.Elif(zeros_left != 0):
            m.d.sync += zeros_left.eq(zeros_left - 1)
        late = 3
        m.d.comb += [
            write.addr.eq(visited - late),
            write.en.eq(1),
            write.data.eq(Mux(zeros_left != 0, 0, self.value)),
        ]

        # A visit that began after the read was asked for.
        asked = Signal(late + 1, name="asked")
        hit = self.read & (visited == self.number) & ~asked.any() & ~self.done
        m.d.sync += asked.eq(Mux(self.read, Cat(hit, asked[:-1]), 0))
        m.d.comb += self.done.eq(asked[late - 1])
        return m
