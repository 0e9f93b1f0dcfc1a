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


def space(config: CoreConfig, depth: int, p: Property) -> None:
    """State that the results that have not left never are more than the queue holds."""
    block = Admission(config, depth, credit_delay(config))
    inside = p.add("admission", block)
    # Whether a slot gives a result is known so many clocks after it has entered.
    clocks = credit_delay(config) - Credits.LATENCY
    entered = Signal(clocks, name="entered")
    p.m.d.sync += entered.eq(Value.cast(entered << 1) | block.slot)
    p.assume(~block.result_known | entered[-1])
    # A result leaves, or shares its beat with the next, only if it is there.
    used = Signal(range(2 * depth), name="used")
    p.assume((block.beat_shared + block.beat_left) <= used)
    change = block.result_known - block.beat_shared - block.beat_left
    p.m.d.sync += used.eq(used + change)
    p.claim("the results that have not left have space", used <= depth)
    p.reached("the queue is full", used == depth)
    is_last = block.slot & (used == depth - block.in_flight)
    p.reached("a slot enters with the last credit", is_last & p.before(block.beat_left))
    on_the_way: Value = sum(entered, Const(0, 1))
    p.invariant("those on the way have space as well", used + on_the_way <= depth)
    limit = depth - block.in_flight + 1
    counted = inside.signal("above") + inside.signal("late") + limit
    p.invariant("the credits are counted", counted == used)


PROOFS = (
    Proof(
        "admission-space", "hdl/admission.py",
        "However slots enter and results leave, the results that have not left are never more than "
        "the result queue holds, here 16, if every slot may give one.",
        partial(space, CoreConfig((DataType.UINT8,), max_window=(1, 1, 1), index_width=8), 16),
        depth=4, search=30,
        faults=(
            Fault("one credit too many", "extremum.hdl.admission",
                  "self.in_flight + 1", "self.in_flight + 2"),
            Fault("a beat that has left is counted twice", "extremum.hdl.admission",
                  "self.beat_shared - self.beat_left", "self.beat_shared - 2 * self.beat_left"),
        ),
    ),
)  # fmt: skip
