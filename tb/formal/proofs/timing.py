"""The timing components: equal to their plain counterparts, some clocks later."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from amaranth.hdl import Module, Mux, Shape, Signal, Value, signed, unsigned

from extremum.hdl.timing import (
    Credits,
    SegmentedAccumulator,
    Timed,
    TimingParameters,
    delay,
    fanout_copy,
    late_equal,
    late_exceeds,
)
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property

PARAMETERS = TimingParameters()


def accumulator(width: int, segment: int, addend_bits: int, p: Property) -> None:
    """State that every segment of the sum is that of a plain sum, some clocks ago."""
    load, enable = p.input("load"), p.input("enable")
    start, addend = p.input("start", width), p.input("addend", addend_bits)
    # The start stays as long as the carries take.
    clocks = SegmentedAccumulator.latency_of(width, segment)
    recent = Signal(clocks + 1, name="recent")
    p.m.d.sync += recent.eq(Value.cast(recent << 1) | load)
    p.assume(~recent[:clocks].any() | (start == p.before(start)))
    init = 0x5A5A5A5A & ((1 << width) - 1)
    cut = SegmentedAccumulator(
        p.m, PARAMETERS, width, segment, "cut",
        load=load, start=start, enable=enable, addend=addend, init=init,
    )  # fmt: skip
    plain = Signal(width, name="plain", init=init)
    with p.m.If(load):
        p.m.d.sync += plain.eq(start)
    with p.m.Elif(enable):
        p.m.d.sync += plain.eq(plain + addend)
    low = 0
    for part in cut.segments:
        bits = p.late(plain, part.clock)[low : low + len(part.value)]
        own_init = Mux(p.age(clocks) < part.clock, init >> low, bits)
        p.claim(f"the bits from {low} on", part.value == own_init[: len(bits)])
        low += len(part.value)
    late = p.late(plain, clocks)
    p.claim("the sum", (p.age(clocks) < clocks) | (cut.sum.value == late))
    quiet = Signal(range(clocks + 1), name="quiet", init=clocks)
    p.invariant("the quiet clocks are in their range", quiet <= clocks)
    with p.m.If(load | enable):
        p.m.d.sync += quiet.eq(0)
    with p.m.Elif(quiet != clocks):
        p.m.d.sync += quiet.eq(quiet + 1)
    p.claim(
        "the unaligned sum, when nothing has changed for long",
        (quiet != clocks) | (cut.unaligned == plain),
    )
    p.reached("the highest bit set by a carry", p.before(~plain[-1] & enable & ~load) & plain[-1])
    p.reached("a load just behind an addition", p.before(enable & ~load) & load & (quiet == 0))


def equality(widths: Sequence[int], p: Property) -> None:
    """State that a late comparison for equality is that of the last enabled clock."""
    enable = p.input("enable")
    for width in widths:
        a, b = (p.input(f"{name}{width}", width) for name in "ab")
        late = late_equal(p.m, a, b, PARAMETERS, enable=enable)
        at_once = late_equal(p.m, a, b, PARAMETERS)
        kept, known = Signal(name="kept"), Signal(name="known")
        with p.m.If(enable):
            p.m.d.sync += [kept.eq(a == b), known.eq(1)]
        p.claim(f"{width} bits, enabled", ~known | (late == kept))
        p.claim(f"{width} bits", (p.age(1) == 0) | (at_once == p.before(a == b)))
        p.reached(f"{width} bits equal, kept", known & late & (a != b) & ~p.before(enable))


def order(shapes: Sequence[Shape], p: Property) -> None:
    """State that a late comparison of order is that of the clock before."""
    or_equals = p.input("or_equals")
    for shape in shapes:
        name = f"{'signed' if shape.signed else 'unsigned'}{shape.width}"
        a, b = (p.input(f"{name}_{part}", shape) for part in "ab")
        strict = late_exceeds(p.m, a, b, PARAMETERS)
        told = late_exceeds(p.m, a, b, PARAMETERS, or_equals)
        known = p.age(1) == 1
        p.claim(f"{name}: greater", ~known | (strict == p.before(a > b)))
        p.claim(
            f"{name}: greater, or equal if told",
            ~known | (told == p.before((a > b) | (or_equals & (a == b)))),
        )
        p.reached(f"{name}: equal counts", known & told & ~strict)


def credits(limits: Sequence[int], p: Property) -> None:
    """State that the flags tell the credits in use of two clocks ago."""
    for limit in limits:
        most = limit + 9
        change = p.input(f"change_{limit}", signed(3))
        built = Module()
        counted = Credits(built, PARAMETERS, change, limit, most=most)
        used = Signal(range(most + 1), name=f"used_{limit}")
        following = used + change
        p.assume((following >= 0) & (following <= most))
        p.m.d.sync += used.eq(following)
        known = p.late(used, Credits.LATENCY - 1)
        p.claim(f"fewer than {limit} are in use", counted.available == (known < limit))
        p.claim(f"none of {limit} is in use", counted.none_used == (known == 0))
        # The register holds what is in use less the limit: the flag is its sign.
        above = p.enclose(f"credits_{limit}", built).signal("above")
        p.invariant(f"the register of {limit}", above == known - limit)
        p.reached(f"{limit} in use, and no more", known == limit)


def alignment(lines: Sequence[tuple[int, int]], p: Property) -> None:
    """State that a delayed value is that of so many clocks ago, however registers are shared."""
    for width, clocks in lines:
        value = p.input(f"bits{width}", width)
        known = p.age(clocks) == clocks
        plain = p.late(value, clocks)
        p.claim(f"{width} bits, {clocks} clocks", ~known | (delay(p.m, value, clocks) == plain))
        moved = Timed(p.m, value, 2).at(2 + clocks)
        p.claim(f"{width} bits, at clock {2 + clocks}", ~known | (moved == plain))
        p.reached(
            f"{width} bits differ from those of a clock ago", known & (plain != p.before(plain))
        )
        if width == 1:
            p.claim("a flag is 0 behind a reset", known | ~delay(p.m, value, clocks))
    flag = p.input("flag")
    p.claim("a fan-out copy is the flag a clock ago", fanout_copy(p.m, flag) == p.before(flag))


ACCUMULATOR, COMPARISON, CREDITS, ALIGNMENT = (
    f"extremum.hdl.timing.{name}" for name in ("accumulator", "comparison", "credits", "alignment")
)

CARRY = Fault("a carry comes a clock early", ACCUMULATOR, "Timed(m, total[-1], now)",
              "Timed(m, total[-1], now + 1)")  # fmt: skip
FULL = Fault("a carry looks at one bit too few", ACCUMULATOR, "bits[part::parts].all()",
             "bits[1:][part::parts].all()")  # fmt: skip
STALE = Fault("a load does not wait for its segment", ACCUMULATOR, "loads.at(now), enables.at(now)",
              "loads.at(clock), enables.at(now)")  # fmt: skip

SHORT_LINE = Fault("a line is a clock short", ALIGNMENT, "value = line[-width:]",
                   "value = line[-width:] if count < 8 else line[-2 * width : -width]")  # fmt: skip

SUMS = ((32, 8, 1), (32, 16, 32), (28, 14, 1), (12, 3, 12), (33, 11, 7), (9, 8, 9), (8, 8, 1))


def _sum(width: int, segment: int, addend_bits: int) -> Proof:
    several = width > segment
    return Proof(
        f"timing-sum-{width}-{segment}-{addend_bits}", "hdl/timing/accumulator.py",
        f"A sum of {width} bits, cut into segments of {segment}, to which {addend_bits} bits are "
        "added, is the plain sum, each segment after its own clocks; loads and additions may come "
        "in any clock.",
        partial(accumulator, width, segment, addend_bits),
        depth=SegmentedAccumulator.latency_of(width, segment) + 3,
        search=SegmentedAccumulator.latency_of(width, segment) + 6,
        faults=((FULL if addend_bits == 1 else CARRY), STALE) if several else
        (Fault("an addition wins against a load", ACCUMULATOR, "with m.If(loads_now):",
               "with m.If(loads_now & ~adds_now):"),),
        quick=(width, segment) == (12, 3),
    )  # fmt: skip


PROOFS = (
    *(_sum(*sizes) for sizes in SUMS),
    Proof(
        "timing-equal", "hdl/timing/comparison.py",
        "The late comparison of numbers of 1 to 33 bits is a == b in the last enabled clock.",
        partial(equality, range(1, 34)), depth=3, search=4,
        faults=(Fault("a part is not looked at", COMPARISON, "return equal.all()",
                      "return equal[1:].all() if parts > 1 else equal.all()"),
                Fault("an answer comes while not enabled", COMPARISON,
                      "Const(1, 1) if enable is None else enable", "Const(1, 1)")),
        quick=True,
    ),
    Proof(
        "timing-order", "hdl/timing/comparison.py",
        "The late comparison of numbers of 1 to 33 bits, signed or not, is a > b, or a >= b if "
        "told, in the clock before.",
        partial(order, [kind(width) for width in range(1, 34) for kind in (unsigned, signed)]),
        depth=2, search=4,
        faults=(Fault("the low half decides if the high one differs", COMPARISON,
                      "high | (level & low)", "high | low"),
                Fault("the sign counts as a bit", COMPARISON, "~value[-1]) for", "value[-1]) for")),
    ),
    Proof(
        "timing-credits", "hdl/timing/credits.py",
        "The flags of credits with limits of 1 to 40 are those of the credits in use two clocks "
        "ago, with up to four taken or three returned in a clock.",
        partial(credits, range(1, 41)), depth=4, search=18,
        faults=(Fault("one credit short", CREDITS, "init=-limit)", "init=-limit - 1)"),
                Fault("the register is a bit too narrow", CREDITS,
                      "bits_for(max(limit, most - limit)) + 1", "bits_for(limit)")),
        quick=True,
    ),
    Proof(
        "timing-alignment", "hdl/timing/alignment.py",
        "A value of 1, 3, 8, 33 or 65 bits that is delayed by 1, 25, 9, 3 or 2 clocks is the value "
        "of so many clocks ago, also if several clocks share a register.",
        partial(alignment, ((1, 1), (3, 25), (8, 9), (33, 3), (65, 2))),
        depth=27, search=28, faults=(SHORT_LINE,),
    ),
    Proof(
        "timing-alignment-long", "hdl/timing/alignment.py",
        "The same of a flag that is delayed by 70 clocks, which takes two registers.",
        partial(alignment, ((1, 70),)), depth=72, search=73, faults=(SHORT_LINE,),
    ),
)  # fmt: skip
