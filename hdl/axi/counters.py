"""Many counters of 32 bits in one small memory, worked on a byte at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from extremum.hdl.axi.register_map import WORD_BYTES
from extremum.hdl.axi.tables import is_one_of
from extremum.hdl.timing import delay

BYTE_BITS = 8

COUNTERS_PER_BANK = 8
"""Counters that share a memory."""

VISIT_CLOCKS = COUNTERS_PER_BANK * WORD_BYTES
"""Clocks from one visit of a counter to the next."""

MOST_EVENTS = (1 << BYTE_BITS * WORD_BYTES - 1) // VISIT_CLOCKS
"""The most events of a kind in a clock: between two visits they fill half of a counter."""


class CounterBank(wiring.Component):
    """Counts events of several kinds, up to a few of each kind in every clock.

    A counter's low part, a few flip-flops that hold its lowest bits, counts at once. The counters
    are visited in turn, the lowest byte of each first: if the low part has begun anew since the
    last visit, the bits above it, in the memory, grow by one. So one adder of a byte and one small
    memory serve all counters.

    The bytes of all counters, up to date, pass by on ``byte``: each once in :data:`VISIT_CLOCKS`
    clocks.

    Parameters
    ----------
    most
        For each counter, the most events that come in a clock, up to :data:`MOST_EVENTS`. There are
        at most :data:`COUNTERS_PER_BANK` counters.

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
        if max(most) > MOST_EVENTS:
            raise ValueError(f"at most {MOST_EVENTS} events come in a clock, not {max(most)}")
        self.most = tuple(most)
        # From visit to visit the highest bit falls at most once: when the part begins anew.
        self._widths = [1 + ceil_log2(VISIT_CLOCKS * count) for count in most]
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
        read_next, visited, second, shown = (
            Signal(range(VISIT_CLOCKS), name=name, init=-behind % VISIT_CLOCKS)
            for behind, name in enumerate(("read_next", "visited", "second", "shown"), -1)
        )
        m.d.sync += [
            read_next.eq(read_next + 1),
            visited.eq(read_next),
            second.eq(visited),
            shown.eq(second),
        ]
        # A register follows at once, so that a part without memories of look-up tables can use a
        # block memory instead.
        stored = Signal(BYTE_BITS, name="stored")
        m.d.comb += read.addr.eq(read_next)
        m.d.sync += stored.eq(Mux(self._zeroes(m, read_next), 0, read.data))

        # First clock: the byte. Where the low part has bits of it, these take the place of those
        # of the last visit. If the highest bit of the low part has fallen since, the part has
        # begun anew, and the bits above it count. Second clock: their sum.
        low = self._low_byte(m, visited)
        word, total = Signal(BYTE_BITS, name="word"), Signal(BYTE_BITS + 1, name="total")
        carries = [total[BYTE_BITS] & (second[: len(self.place)] != 0)]
        for bit in range(BYTE_BITS):
            is_low = self._is_byte(visited, lambda bits, at=bit: bits > at)
            is_top = self._is_byte(visited, lambda bits, at=bit: bits == at + 1)
            m.d.sync += word[bit].eq(Mux(is_low, low[bit], stored[bit]))
            carries.append(delay(m, is_top, 1) & delay(m, stored[bit], 1) & ~word[bit])
        m.d.sync += total.eq(word + Cat(carries))
        m.d.comb += [
            write.addr.eq(shown),
            write.en.eq(1),
            write.data.eq(total[:BYTE_BITS]),
            Cat(self.place, self.number).eq(shown),
            self.byte.eq(total[:BYTE_BITS]),
        ]
        return m

    def _is_byte(self, visited: Value, condition: Callable[[int], bool]) -> Value:
        """Return whether the number of the low part's bits, from a byte on, meets a condition.

        Parameters
        ----------
        visited
            The byte.
        condition
            Takes the number of bits that the low part has in this byte and in those above it. It is
            0 or less if the low part ends below the byte.
        """
        bits = {
            number * WORD_BYTES + place: width - BYTE_BITS * place
            for number, width in enumerate(self._widths)
            for place in range(WORD_BYTES)
        }
        return is_one_of(visited, [at for at, count in bits.items() if condition(count)], bits)

    def _low_byte(self, m: Module, visited: Value) -> Value:
        """Add the low parts; return the byte that the one of the visited counter has of it."""
        place = visited[: len(self.place)]
        turns = Signal(COUNTERS_PER_BANK, name="turns", init=1)
        with m.If(place == WORD_BYTES - 1):
            m.d.sync += turns.eq(turns.rotate_left(1))
        part: Value = Const(0, BYTE_BITS)
        for own, width in enumerate(self._widths):
            low = Signal(width, name=f"low_{own}")
            with m.If(self.clear):
                m.d.sync += low.eq(0)
            with m.Else():
                m.d.sync += low.eq(low + getattr(self, f"events_{own}"))
            part = part | Mux(turns[own], low, 0)
        lowest, above = part[:BYTE_BITS], part[BYTE_BITS:]
        if not len(above):
            return lowest
        # A visit takes some clocks, in which the low part counts on.
        kept = Signal.like(above, name="kept")
        m.d.sync += kept.eq(Mux(place == 0, above, kept >> BYTE_BITS))
        return Mux(place == 0, lowest, kept)

    def _zeroes(self, m: Module, read: Value) -> Value:
        """Return whether the byte that is read is taken for zero: after a reset or a clear.

        This lasts until each byte has been read at least once since, for two rounds at most. No
        carry is lost in these clocks: the low parts begin at zero, too, and have room for the
        events of two rounds; and what is shown of a low part is what it was when the lowest byte
        was visited.
        """
        rounds = Signal(2, name="rounds", init=0b11)
        with m.If(self.clear):
            m.d.sync += rounds.eq(0b11)
        with m.Elif(read.all()):
            m.d.sync += rounds.eq(rounds >> 1)
        return rounds[0]
