"""The job port: which jobs are offered, which are refused, for which reason, and how soon."""

from __future__ import annotations

from functools import partial, reduce
from operator import or_
from typing import Any

from amaranth.hdl import Const, Mux, Signal, Value
from amaranth.lib.data import View

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.job_port import CheckedJobPort
from extremum.hdl.ports import JobError
from extremum.hdl.registers import job_shapes
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property

EVERY_RULE = CoreConfig(
    (DataType.INT8, DataType.UINT8, DataType.FLOAT16), lanes=5, max_window=(2, 3, 5),
    max_dilation=(1, 2, 3), max_line=6, max_plane=30, coordinate_width=6,
)  # fmt: skip
"""A core of whose jobs each rule can be broken."""

FEW_RULES = CoreConfig(
    (DataType.INT8,), max_window=(1, 2, 2), max_dilation=(1, 1, 1), max_line=8,
    coordinate_width=5, pipelining="small",
)  # fmt: skip

CLOCKS = 2
"""Clocks for which a job is on the port before it is offered or refused."""


def first_broken_rule(config: CoreConfig, job: View[Any]) -> Value:
    """Return why a job must be refused, by the words of `JobError`; NONE if it is right."""
    registers = {name: job[name.replace(".", "_")] for name in job_shapes(config)}
    limits = {
        **dict(zip((f"{name}.window" for name in DIMENSIONS), config.max_window, strict=True)),
        **dict(zip((f"{name}.spacing" for name in DIMENSIONS), config.max_spacing, strict=True)),
        "data_type": len(config.data_types) - 1,
        "tail": config.lanes,
    }

    def zero(*kinds: str) -> list[Value]:
        return [value < 1 for name, value in registers.items() if name.endswith(kinds)]

    def too_large(kind: str, less: int = 0) -> list[Value]:
        of_kind = {name: value for name, value in registers.items() if name.endswith(kind)}
        return [value > limits[name] - less for name, value in of_kind.items()]

    first: Value = Const(JobError.NONE, JobError)
    for error, conditions in (
        (JobError.TAIL, too_large("tail")),
        (JobError.DATA_TYPE, too_large("data_type")),
        # A spacing is on the port less one.
        (JobError.SPACING, too_large("spacing", less=1)),
        (JobError.WINDOW, too_large("window")),
        (JobError.COUNT, zero("window", "dilation", "tail")),
    ):
        first = Mux(reduce(or_, conditions, Const(0)), Const(error, JobError), first)
    return first


def fate(config: CoreConfig, p: Property) -> None:
    """State what becomes of each job that comes to the port."""
    block, m = CheckedJobPort(config), p.m
    inside = p.add("port", block)
    # Whoever offers a job to the port leaves it there until it is taken.
    stays = block.valid & ~block.ready
    leaves = block.valid & block.ready
    job = Value.cast(block.job)
    p.assume(~p.before(stays) | (block.valid & (job == p.before(job))))
    # The pipeline begins a job that it is offered, whose token then comes to its end.
    on_its_way = Signal(name="on_its_way")
    m.d.sync += on_its_way.eq((on_its_way | block.taken) & ~block.entered)
    p.assume(~block.taken | block.offered)
    p.assume(~block.entered | on_its_way | block.taken)
    rule = p.show("broken_rule", first_broken_rule(config, block.job))
    is_right = rule == JobError.NONE
    waits = Signal(range(CLOCKS + 2), name="clocks_on_the_port")
    m.d.sync += waits.eq(Mux(stays, Mux(waits > CLOCKS, waits, waits + 1), 0))
    is_due = waits >= CLOCKS
    p.claim("only a right job is offered", ~block.offered | (block.valid & is_right))
    p.claim("a right job is offered in time, once",
            ~block.valid | ~is_right | (block.offered == (is_due & ~on_its_way)))  # fmt: skip
    p.claim("a right job leaves the port when its token has entered",
            ~block.valid | ~is_right | (block.ready == block.entered))  # fmt: skip
    p.claim("a wrong job leaves the port in time",
            ~block.valid | is_right | (block.ready == is_due))  # fmt: skip
    p.claim("a wrong job is refused for the first rule that it breaks",
            ~leaves | is_right | (block.refused & (block.error == rule)))  # fmt: skip
    p.claim("a right job is not said to be refused", ~block.offered | ~block.refused)
    status = Value.cast(block.error) * 2 + block.refused
    p.claim(
        "the status stays until the next job", p.before(block.valid) | (status == p.before(status))
    )
    p.claim("a job on its way is told", ~on_its_way | block.entering)
    p.reached("a right job behind one that is refused",
              block.entered & p.late(leaves & ~is_right, 6))  # fmt: skip
    if config is EVERY_RULE:
        for error in list(JobError)[1:]:
            p.reached(f"a job is refused for {error.name}", leaves & (rule == error))
    begun = block.offered | on_its_way
    p.invariant("the clocks on the port", waits <= CLOCKS + 1)
    p.invariant("a job is looked at in its second clock", inside.signal("seen") == (waits == 1))
    p.invariant("a job is refused in its third", ~inside.signal("refuses") | (waits == CLOCKS))
    p.invariant("a job begins in its third or later", ~begun | (waits >= CLOCKS))
    p.invariant("a job that stays has begun", (waits <= CLOCKS) | begun)
    p.invariant("what is on its way is right", ~on_its_way | (block.valid & is_right))
    p.invariant("a job is offered until it is taken", ~(block.offered & on_its_way))
    p.invariant("what has been offered enters", block.entering == (waits > CLOCKS))


MODULE = "extremum.hdl.job_port"
WRONG = Fault("a wrong job is offered as well", MODULE, "(seen & ~is_faulty)", "seen")
LIMIT = Fault(
    "a window of the limit is refused", MODULE, "else value > limit", "else value >= limit"
)
PROOFS = (
    Proof(
        "job-port", "hdl/job_port.py",
        "Whatever the registers of a job are: it is refused if it breaks a rule, for the first "
        "that it breaks, and offered to the pipeline once if not, two clocks after it has come. It "
        "leaves the port when it is refused or has entered. The status tells of the last job, "
        "until the next one comes. Of five lanes, three types, windows of up to 2 by 3 by 5 taps.",
        partial(fate, EVERY_RULE), depth=4, search=20,
        faults=(
            WRONG,
            LIMIT,
            Fault("the last rule that is broken is told", MODULE,
                  "reversed(found.items())", "found.items()"),
            Fault("a tail of more lanes than there are is right", MODULE,
                  'value("tail") > config.lanes', 'value("tail") > config.lanes + 1'),
            Fault("a dilation of zero is right", MODULE,
                  'zero(f"{name}.window", f"{name}.dilation")', 'zero(f"{name}.window")'),
            Fault("a spacing of one more is right", MODULE, "[most - 1 for", "[most for"),
        ),
        quick=True,
    ),
    Proof(
        "job-port-small", "hdl/job_port.py",
        "The same in a small core of one lane, one type, and windows of up to 2 by 2 taps.",
        partial(fate, FEW_RULES), depth=4, search=20,
        faults=(
            WRONG,
            Fault("a job that is refused stays on the port", MODULE,
                  "self.entered | refuses", "self.entered"),
            Fault("a job is offered again when it has entered", MODULE,
                  "(self.offered & ~self.taken)", "(self.offered & ~self.entered)"),
        ),
    ),
)  # fmt: skip
