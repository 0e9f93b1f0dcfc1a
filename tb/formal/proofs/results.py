"""The packer: results fill the lanes of a beat in order, and lanes without a result are 0."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Array, Cat, Mux, Signal, Value

from extremum.hdl.config import CoreConfig
from extremum.hdl.packer import LATENCY, Packer, clocks_ahead
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.job import Job
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property


def packer(config: CoreConfig, p: Property) -> None:
    """State what any one lane of a beat holds, in jobs that fold and in others."""
    block, m, lanes = Packer(config), p.m, config.lanes
    early = clocks_ahead(config)
    clocks = early + LATENCY
    inside = p.add("packer", block)
    job = Job(p, block.job, block.token, clocks)
    job.is_in(p, inside, config, ("tail", "fold"), 0)
    folds: Value = Value.cast(job.registers.fold) if config.can_fold else Value.cast(0)
    tail = job.registers.tail
    known = job.begun & (tail >= 1) & (tail <= lanes)
    p.assume(~block.valid | known)
    # A job begins behind the last result of the one before; the plain count of those in a beat.
    place = Signal(range(lanes), name="own_place")
    full = ~folds | block.done | (place == lanes - 1)
    with m.If(block.token):
        m.d.sync += place.eq(0)
    with m.Elif(block.valid):
        m.d.sync += place.eq(Mux(full, 0, place + 1))
    # Any one lane, and the result that it gets.
    lane = p.constant("lane", range(lanes))
    p.assume(lane < lanes)
    result = Array(Value.cast(each) for each in block.results)[lane]
    has, kept, ever = Signal(name="has"), Signal(len(result), name="kept"), Signal(name="ever")
    live = ~block.last_group | (tail > lane)
    valid, begins, takes, is_live = (
        p.late(flag, early)
        for flag in (block.valid, ~folds | (place == 0), ~folds | (place == lane), live | folds)
    )
    with m.If(valid):
        m.d.sync += [ever.eq(1), has.eq((takes & is_live) | (has & ~begins))]
        with m.If(takes):
            m.d.sync += kept.eq(result)
    shown = Cat(Array(Value.cast(block.o[name][n]) for n in range(lanes))[lane]
                for name in block.fields)  # fmt: skip
    wanted = Mux(has, kept, 0)
    p.claim("a beat comes with the last result that it holds",
            block.o_valid == p.late(block.valid & full, clocks))  # fmt: skip
    p.claim("a lane holds its result, or 0", ~block.o_valid | (shown == wanted))
    p.claim("last marks the beat of the job's last result",
            ~block.o_valid | (block.o.last == p.late(block.done, clocks)))  # fmt: skip
    p.claim("a result that shares its beat is told", block.packed == (block.valid & ~full))
    p.invariant("the lane holds its result at any time", ~ever | (shown == wanted))
    p.invariant("a beat has had a result", ~block.o_valid | ever)
    recent = Cat(p.late(block.valid, clock) for clock in range(1, early + 1)).any()
    p.invariant("a beat that has begun has had a result", (place == 0) | ever | recent)
    taken = p.late(place, early)
    p.invariant("only a fold shares a beat", (place == 0) | folds)
    p.invariant("the lanes to come are empty", (taken == 0) | (lane < taken) | ~has)
    if config.can_fold:
        (own,) = inside.unnamed()[:1]
        p.invariant("the place", own == place)
        p.reached("the last beat of a fold, with two lanes of three or more",
                  block.o_valid & block.o.last & p.late(folds & (place == 1), clocks)
                  & (lane == 1) & (shown != 0))  # fmt: skip
    p.reached("a lane without a result, in the last group of slices",
              block.o_valid & ~has & p.late(~folds & block.last_group, clocks))  # fmt: skip


MODULE = "extremum.hdl.packer"
CLEARS = Fault("a lane is cleared that gets a result", MODULE, "here & ~live", "here & live")
TAIL = Fault("one lane too many holds a result", MODULE, "(own.tail > lane)", "(own.tail >= lane)")
REST = Fault("lanes keep the results of the beat before", MODULE,
             "(~own.fold | (own.place <= lane))", "(~own.fold | (own.place == lane))")  # fmt: skip


def _proof(name: str, lanes: int, *faults: Fault) -> Proof:
    config = CoreConfig((DataType.UINT8,), lanes=lanes, max_window=(1, 1, 1), index_width=4)
    jobs = "jobs that fold and jobs that do not" if config.can_fold else "jobs that do not fold"
    return Proof(
        f"results-{name}", "hdl/packer.py",
        f"With {lanes} lanes, in {jobs}: each lane of a beat holds its result, value and position, "
        "or 0 if it has none; a beat comes with the last result that it holds; last marks the "
        "job's last beat.",
        partial(packer, config), depth=5, search=14, faults=faults, quick=lanes == 4,
    )  # fmt: skip


PROOFS = (_proof("4", 4, TAIL, REST), _proof("3", 3, TAIL), _proof("8", 8, REST),
          _proof("16", 16, TAIL, CLEARS))  # fmt: skip
