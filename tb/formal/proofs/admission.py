"""The credit rule: no more slots are let in than the result queue has space for."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Const, Signal, Value

from extremum.hdl.admission import Admission, credit_delay
from extremum.hdl.config import CoreConfig
from extremum.hdl.timing import Credits
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property

CONFIG = CoreConfig((DataType.UINT8,), max_window=(1, 1, 1), index_width=8)
DEPTH = 16
"""Beats that the result queue holds."""


def space(p: Property, *, apart: int = 1, closed_in_reset: bool = False) -> None:
    """State that the results that have not left never are more than the queue holds.

    Results come at least so many slots ``apart``, as those of rows do whose length is fixed.
    """
    in_flight = -(-credit_delay(CONFIG) // apart)
    block = Admission(CONFIG, DEPTH, in_flight, closed_in_reset=closed_in_reset)
    inside = p.add("admission", block)
    # Whether a slot gives a result is known so many clocks after it has entered.
    clocks = credit_delay(CONFIG) - Credits.LATENCY
    entered = Signal(clocks, name="entered")
    p.m.d.sync += entered.eq(Value.cast(entered << 1) | block.slot)
    p.assume(~block.result_known | entered[-1])
    since: Value = Const(0, 1)
    if apart > 1:
        since = Signal(range(apart), init=apart - 1, name="slots_since_a_result")
        with p.m.If(block.result_known):
            p.m.d.sync += since.eq(0)
        with p.m.Elif(entered[-1] & (since < apart - 1)):
            p.m.d.sync += since.eq(since + 1)
        p.assume(~block.result_known | (since == apart - 1))
    # A result leaves, or shares its beat with the next, only if it is there.
    used = Signal(range(2 * DEPTH), name="used")
    p.assume((block.beat_shared + block.beat_left) <= used)
    change = block.result_known - block.beat_shared - block.beat_left
    p.m.d.sync += used.eq(used + change)
    p.claim("the results that have not left have space", used <= DEPTH)
    p.reached("the queue is full", used == DEPTH)
    is_last = block.slot & (used == DEPTH - in_flight)
    p.reached("a slot enters with the last credit", is_last & p.before(block.beat_left))
    on_the_way: Value = sum(entered, since) // apart
    p.invariant("those on the way have space as well", used + on_the_way <= DEPTH)
    limit = DEPTH - in_flight + 1
    counted = inside.signal("above") + inside.signal("late") + limit
    p.invariant("the credits are counted", counted == used)
    if closed_in_reset:
        is_open = inside.signal("available")
        p.invariant("a register is open as long as there are credits",
                    ~is_open | (inside.signal("above") < 0))  # fmt: skip


PROOFS = (
    Proof(
        "admission-space", "hdl/admission.py",
        "However slots enter and results leave, the results that have not left are never more than "
        "the result queue holds, here 16, if every slot may give one.",
        space,
        depth=4, search=30,
        faults=(
            Fault("one credit too many", "extremum.hdl.admission",
                  "self.in_flight + 1", "self.in_flight + 2"),
            Fault("a beat that has left is counted twice", "extremum.hdl.admission",
                  "self.beat_shared - self.beat_left", "self.beat_shared - 2 * self.beat_left"),
        ),
    ),
    Proof(
        "admission-space-apart", "hdl/admission.py",
        "The same if results come at least three slots apart, as those of rows of a fixed length "
        "do: fewer credits are kept for the slots on the way.",
        partial(space, apart=3),
        depth=4, search=75,
        faults=(
            Fault("one credit too many", "extremum.hdl.admission",
                  "self.in_flight + 1", "self.in_flight + 2"),
        ),
    ),
    Proof(
        "admission-space-closed", "hdl/admission.py",
        "The same if a register, which is closed in a reset, tells whether there is a credit.",
        partial(space, closed_in_reset=True),
        depth=4, search=30,
        faults=(
            Fault("the register is a clock late", "extremum.hdl.timing.credits",
                  "following[bits - 1]", "above[bits - 1]"),
            Fault("one credit too many", "extremum.hdl.admission",
                  "self.in_flight + 1", "self.in_flight + 2"),
        ),
    ),
)  # fmt: skip
