"""The counter that knows its end a step ahead: equal to a plain one, however long it is."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Const, Module, Mux, Signal, Value

from extremum.hdl.counter import ModuloCounter
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import TimingParameters
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property

PARAMETERS = TimingParameters()
PLAIN = TimingParameters(holds_one_job=True)
"""Counters are plain, as in a small core."""


def cycle(width: int, parameters: TimingParameters, p: Property) -> None:
    """State that ``last`` tells the last step, for any number of steps, and pauses between them."""
    load, enable, new = p.input("load"), p.input("enable"), p.input("new", width)
    plain, begun = Signal(width, name="plain"), Signal(name="begun")
    earlier = p.before(new)
    p.assume(~load | enable)
    if parameters.holds_one_job:
        # There is no copy of a number: it stays until the next one is loaded.
        p.assume(~begun | load | (new == earlier))
    else:
        # A number that is loaded has been there for two clocks.
        stable = (new == earlier) & (earlier == p.before(earlier)) & (p.age(2) == 2)
        p.assume(~load | stable)
    built = Module()
    goal = shadow(built, parameters, new, load & enable, "goal")
    counted = ModuloCounter(built, parameters, goal, "cut")
    counted.run(load, enable, new)
    inside = p.enclose("built", built)
    with p.m.If(load):
        p.m.d.sync += [plain.eq(0), begun.eq(1)]
    with p.m.Elif(enable):
        p.m.d.sync += plain.eq(Mux(plain == goal, 0, plain + 1))
    p.claim("last tells the last step", ~begun | (counted.last == (plain == goal)))
    changes = load if parameters.holds_one_job else Const(0, 1)
    p.claim("the steps stay in their range", ~begun | changes | (plain <= goal))
    p.reached("the last of many steps", begun & counted.last & (plain == min(5, (1 << width) - 1)))
    p.reached("another cycle of the same steps", begun & p.before(counted.last & enable & ~load))
    if parameters.counts_ahead:
        _help(p, inside, begun, plain, goal)
    else:
        p.claim("the number is told", ~begun | (counted.number == plain))


def _help(p: Property, inside: Inside, begun: Value, plain: Signal, goal: Value) -> None:
    """State what the registers hold in each step."""
    following, number, is_first = (
        inside.signal(f"cut_{name}") for name in ("next", "number", "first")
    )
    low = len(number)
    ordinal = plain + 1
    p.invariant("the number", ~begun | (number == ordinal[:low]))
    p.invariant("the number to come", ~begun | (following == (plain + 2)[:low]))
    p.invariant("the first step", ~begun | (is_first == (plain == 0)))
    p.invariant("one step", ~begun | (inside.signal("cut_once") == (goal == 0)))
    p.invariant("two steps", ~begun | (inside.signal("cut_twice") == (goal == 1)))
    if inside.has("cut_met"):
        met = inside.signal("cut_met").all() == (number == goal[:low])
        p.invariant("the low bits meet the goal", ~begun | is_first | met)
    if low == len(plain):
        return
    high, goal_high = ordinal[low : len(plain)], goal[low:]
    wraps, restarts, full, close = (
        inside.signal(f"cut_{name}") for name in ("wrap", "restart", "full", "close")
    )
    p.invariant("the high bits are 0", ~begun | (inside.signal("cut_short") == (goal_high == 0)))
    p.invariant("the low bits wrap next", ~begun | (full == number.all()))
    p.invariant("the count begins again", ~begun | ~restarts | (is_first & (plain == 0)))
    p.invariant("the high bits meet the goal", ~begun | restarts | (close == (high == goal_high)))
    # The high bits of the step to come behind the next wrap, as a plain count.
    ahead = Signal(len(goal_high), name="ahead", init=1)
    with p.m.If(restarts):
        p.m.d.sync += ahead.eq(1)
    with p.m.Elif(wraps):
        p.m.d.sync += ahead.eq(ahead + 1)
    p.invariant(
        "the high bits ahead",
        ~begun | restarts | ((ahead + wraps)[: len(high)] == (high + 1)[: len(high)]),
    )
    p.invariant("a wrap has just been", ~begun | ~wraps | restarts | (number == 0))
    for place, part in enumerate(inside.signals("cut_ahead_")):
        start = place * PARAMETERS.count_segment
        bits = p.late(ahead, 2 * place)[start : start + len(part)]
        p.invariant(
            f"the high bits ahead, from {start} on", ~p.late(begun, 2 * place + 2) | (part == bits)
        )


MODULE = "extremum.hdl.counter"


def _proof(width: int, *faults: Fault, quick: bool = False) -> Proof:
    kind = "one carry chain" if width <= PARAMETERS.whole_count else "low bits and bits ahead"
    return Proof(
        f"counter-{width}", "hdl/counter.py",
        f"A counter of {width} bits, made of {kind}, tells the last step as a plain counter does, "
        "for any number of steps, with pauses, and loaded in any clock.",
        partial(cycle, width, PARAMETERS), depth=8 if width <= 16 else 10, search=24, faults=faults,
        quick=quick,
    )  # fmt: skip


WRONG_WRAP = Fault("the high bits are compared a wrap late", MODULE,
                   "load=late_restart, start=Const(1, len(goal))",
                   "load=late_restart, start=Const(0, len(goal))")  # fmt: skip
ONCE = Fault("a single step counts as two", MODULE, "for low in (0, 1)", "for low in (1, 0)")
EARLY = Fault("the first step is compared with the goal as well", MODULE,
              "return Mux(self._is_first, goal_is_one, met)", "return met")  # fmt: skip
ENDLESS = Fault("the count goes on behind its end", MODULE,
                "Mux(load | last, 0, number + 1)", "Mux(load, 0, number + 1)")  # fmt: skip
PROOFS = (
    Proof(
        "counter-plain",
        "hdl/counter.py",
        "A plain counter of 16 bits, as in a small core, tells the last step and the number of "
        "each, for any number of steps, with pauses, and loaded in any clock.",
        partial(cycle, 16, PLAIN),
        depth=2,
        search=12,
        faults=(ENDLESS,),
    ),
    _proof(1, ONCE),
    _proof(6, ONCE, EARLY, quick=True),
    _proof(12, EARLY),
    _proof(16, WRONG_WRAP, EARLY),
    _proof(32, WRONG_WRAP),
)
