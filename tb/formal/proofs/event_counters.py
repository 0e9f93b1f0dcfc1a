"""The counters of the AXI block: each byte that passes by is that of the sum of all events."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Mux, Signal, Value

from extremum.hdl.axi.counters import BYTE_BITS, VISIT_CLOCKS, CounterBank
from extremum.hdl.axi.register_map import WORD_BITS, WORD_BYTES
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property

MOST = (512, 1)
"""Most events in a clock: the low part of the first counter has 15 bits, that of the second 6."""


def sums(own: int, p: Property) -> None:
    """State that the bytes of one counter are those of the sum at its visit."""
    block, m = CounterBank(MOST), p.m
    inside = p.add("bank", block)
    for number, most in enumerate(MOST):
        p.assume(getattr(block, f"events_{number}") <= most)
    first = own * WORD_BYTES
    visited = inside.signal("visited")
    # The sum of all events since the last clear, what it was at the last two visits, and how many
    # visits there have been, up to two. One whose first byte was read during the clear is none.
    total, latest, before = (Signal(WORD_BITS, name=name) for name in ("sum", "latest", "before"))
    visits = Signal(range(3), name="visits")
    with m.If((visited == first) & ~p.before(block.clear)):
        m.d.sync += [before.eq(latest), latest.eq(total), visits.eq(visits + (visits != 2))]
    m.d.sync += total.eq(total + getattr(block, f"events_{own}"))
    with m.If(block.clear):
        m.d.sync += [total.eq(0), visits.eq(0)]
    passes = (block.number == own) & (visits != 0)
    byte = latest.word_select(block.place, BYTE_BITS)
    p.claim("a byte that passes by is that of the sum at the visit", ~passes | (block.byte == byte))
    low = inside.signal(f"low_{own}")
    p.reached("the low part has begun anew", passes & (latest[len(low) :] != 0))
    p.reached("a byte passes by in the round after a clear", passes & p.late(block.clear, 40))
    _help(p, inside, own, total=total, latest=latest, before=before, visits=visits)


def _help(
    p: Property, inside: Inside, own: int, *, total: Value, latest: Value, before: Value,
    visits: Value,
) -> None:  # fmt: skip
    """State what the memory, the low part and the numbers of bytes are."""
    most, first = MOST[own], own * WORD_BYTES
    read_next, visited, second, shown, rounds, turns = (
        inside.signal(name)
        for name in ("read_next", "visited", "second", "shown", "rounds", "turns")
    )
    for name, later, earlier in (
        ("visited", read_next, visited), ("second", visited, second), ("shown", second, shown),
    ):  # fmt: skip
        p.invariant(f"{name} is a clock late", later == (earlier + 1)[: len(earlier)])
    p.invariant("the counter that is visited", turns == (1 << visited[2:])[: len(turns)])
    low = inside.signal(f"low_{own}")
    p.invariant("the low part", low == total[: len(low)])
    # What is read counts for zero in the first two rounds.
    is_first, is_second, is_over = rounds == 0b11, rounds == 0b01, rounds == 0
    p.invariant("there are two rounds of zeros", is_first | is_second | is_over)
    behind = read_next > first + 1
    p.invariant("no visit", (visits != 0) | is_first | (is_second & ~behind))
    p.invariant("one visit", (visits != 1) | (is_first & behind) | is_second | (is_over & ~behind))
    p.invariant("several visits", (visits != 2) | (is_second & behind) | is_over)
    p.invariant("visits are counted", visits <= 2)
    clocks = Mux(is_first, read_next, read_next + VISIT_CLOCKS)
    p.invariant("the sum in the rounds of zeros", is_over | (total <= clocks * most))
    since = (visited - first)[: len(visited)]
    clocks_since = Mux(since == 0, VISIT_CLOCKS, since)
    grown = (total - latest)[:WORD_BITS]
    p.invariant("what is added behind a visit", (visits == 0) | (grown <= clocks_since * most))
    grown = (latest - before)[:WORD_BITS]
    p.invariant("what is added between visits", (visits != 2) | (grown <= VISIT_CLOCKS * most))
    for place in range(WORD_BYTES):
        word = inside.part("memory").word(p.m, first + place)
        bits = slice(BYTE_BITS * place, BYTE_BITS * (place + 1))
        is_written = (since == 0) | (since >= 3 + place)
        p.invariant(f"byte {place} in the memory", Mux(
            is_written,
            (visits == 0) | (word == latest[bits]),
            (visits != 2) | (word == before[bits]),
        ))  # fmt: skip


MODULE = "extremum.hdl.axi.counters"
NO_CARRY = Fault("a low part that begins anew gives no carry", MODULE,
                 "delay(m, stored[bit], 1) & ~word[bit]",
                 "delay(m, stored[bit], 1) & word[bit]")  # fmt: skip
LOST = Fault("a carry does not pass from byte to byte", MODULE,
             "[total[BYTE_BITS] & (second[: len(self.place)] != 0)]", "[Const(0, 1)]")  # fmt: skip
SHORT = Fault("the low part is a bit short", MODULE,
              "1 + ceil_log2(VISIT_CLOCKS * count)", "ceil_log2(VISIT_CLOCKS * count)")  # fmt: skip
ONE_ROUND = Fault("bytes count for zero in one round alone", MODULE,
                  "m.d.sync += rounds.eq(0b11)", "m.d.sync += rounds.eq(0b01)")  # fmt: skip
MOVING = Fault("a byte is taken from a low part that counts on", MODULE,
               "return Mux(place == 0, lowest, kept)",
               "return Mux(place == 0, lowest, above)")  # fmt: skip
PROOFS = (
    Proof(
        "event-counter-one-byte", "hdl/axi/counters.py",
        "In the bank of counters of the AXI block, each byte that passes by is that of the sum of "
        "all events up to the counter's visit, if the visit begins two clocks behind a clear or "
        "later: of up to one event in a clock, for any number of them, with a clear in any clock.",
        partial(sums, 1), depth=10, search=110, faults=(NO_CARRY, SHORT, ONE_ROUND), quick=True,
    ),
    Proof(
        "event-counter-two-bytes", "hdl/axi/counters.py",
        "The same of up to 512 events in a clock: the low part, which counts at once, has 15 bits.",
        partial(sums, 0), depth=10, search=175, faults=(NO_CARRY, LOST, SHORT, ONE_ROUND, MOVING),
    ),
)  # fmt: skip
