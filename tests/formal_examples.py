"""Small properties, true and false, on which the framework of the proofs is tested."""

from __future__ import annotations

from collections import Counter
from functools import partial

from amaranth.hdl import Signal

from extremum.hdl.queue import Queue
from extremum.hdl.timing import TimingParameters
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Checked, Claim, Exhaustion, Proof
from extremum.tb.formal.property import Property
from extremum.tb.formal.streams import offers_stay


def below(limit: int, p: Property) -> None:
    """State that a sum of ones stays below a limit, which it does not."""
    add = p.input("add")
    total = Signal(5, name="total")
    p.m.d.sync += total.eq(total + add)
    p.claim(f"the sum stays below {limit}", total < limit)
    p.reached("a sum of 1", total == 1)


def empty(p: Property) -> None:
    """State something under a condition that never comes."""
    add, total = p.input("add"), Signal(5, name="total")
    p.assume(~add)
    p.m.d.sync += total.eq(total + add)
    p.claim("the sum stays below 3", total < 3)
    p.reached("a sum of 1", total == 1)


def impossible(p: Property) -> None:
    """Assume what contradicts itself, so that anything could be claimed."""
    add = p.input("add")
    p.assume(add)
    p.assume(~add)
    p.claim("anything", add & ~add)
    p.reached("nothing", add)


def stays(p: Property) -> None:
    """State that a queue's offer stays."""
    queue = Queue(2, 2, TimingParameters())
    p.add("queue", queue)
    offers_stay(p, "o", queue.valid, queue.ready, queue.o)


def colours(right: float, fault: Fault | None) -> Checked:
    """Look at the weights of a colour, in a module of Python's own that a fault may be in."""
    import colorsys  # noqa: PLC0415 - the fault must be planted before

    weight = colorsys.rgb_to_yiq(1, 0, 0)[0]
    return Checked(1, Counter(red=1), None if weight == right else f"red weighs {weight}")


FOUND = Fault("the output takes a word while the sink waits", "extremum.hdl.queue",
              "free = ~self.valid | self.ready\n        waiting",
              "free = ~self.valid | self.ready | self.write\n        waiting")  # fmt: skip
HARMLESS = Fault("nothing is changed", "extremum.hdl.queue", "kept = Signal()", "kept = Signal(1)")


def _proof(name: str, state, *faults: Fault, depth: int = 5) -> Proof:
    return Proof(name, "hdl/queue.py", "An example.", state, depth=depth, search=6, faults=faults)


RED = Fault("weights", "colorsys", "0.30*r + 0.59*g", "0.59*r + 0.30*g")
SAME = Fault("nothing is changed", "colorsys", "0.30*r + 0.59*g", "0.59*g + 0.30*r")


def _cases(name: str, right: float, *kinds: str) -> Exhaustion:
    return Exhaustion(
        name, "hdl/queue.py", "An example.", partial(colours, right), kinds, (RED, SAME)
    )


PROOFS: dict[str, Claim] = {
    proof.name: proof
    for proof in (
        _proof("true", stays, FOUND, HARMLESS),
        _proof("false", partial(below, 3)),
        _proof("later", partial(below, 12), FOUND),
        _proof("without a fault", stays),
        _proof("empty", empty),
        _proof("impossible", impossible),
        _cases("all cases", 0.3, "red"),
        _cases("a wrong case", 0.5, "red"),
        _cases("no such case", 0.3, "red", "green"),
        Exhaustion("of no kind", "hdl/queue.py", "An example.", partial(colours, 0.3), (), ()),
    )
}


def proof_named(name: str) -> Claim:
    """Return an example."""
    return PROOFS[name]
