"""The packets on the input stream: each job gets the beats of one packet, whatever its length."""

from __future__ import annotations

from amaranth.hdl import Mux, Signal, Value, signed

from extremum.hdl.axi.input_packets import InputPackets
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property
from extremum.tb.formal.streams import offers_stay


def packets(p: Property) -> None:
    """State which beats pass, are made up, and are dropped, for packets of any length."""
    block = InputPackets()
    inside = p.add("packets", block)
    ended = block.intake.ended
    given, taken = block.o_valid & block.o_ready, block.i_valid & block.i_ready
    had_beat = _jobs_come_as_from_the_core(p, block, given)
    offers = p.before(block.i_valid & ~block.i_ready)
    p.assume(~offers | (block.i_valid & (block.i_last == p.before(block.i_last))))
    # How many packets have ended more than jobs: as far as 1 ahead, if TLAST comes early, and 1
    # behind, if it is late. A job that was refused ends with its packet.
    was_ahead = Signal(signed(3), name="was_ahead")
    drops_refused, dropped_refused = Signal(name="drops_refused"), Signal(name="dropped_refused")
    ahead = p.show("ahead", (was_ahead - ended)[:3].as_signed())
    ends = taken & block.i_last
    ends_refused = ends & drops_refused
    p.m.d.sync += [
        was_ahead.eq(ahead + (ends & ~drops_refused)),
        drops_refused.eq((drops_refused & ~ends) | block.refused),
        dropped_refused.eq(ends_refused),
    ]
    may_pass = (ahead == 0) & ~drops_refused
    p.claim("a beat is given if it belongs to the job, or the job's packet has ended",
            block.o_valid == Mux(ahead == 1, 1, may_pass & block.i_valid))  # fmt: skip
    passes = may_pass & block.o_ready
    p.claim("a beat is taken if it passes, or belongs to no job that takes it",
            block.i_ready == (passes | (was_ahead == -1) | drops_refused))  # fmt: skip
    p.claim("no packet is more than one ahead or behind", (ahead <= 1) & (ahead >= -1))
    is_early = Signal(name="is_early")
    p.m.d.sync += is_early.eq((is_early & ~ended) | (given & (ahead == 1)))
    p.claim("early: the job got a beat that was not there", block.early == (ended & is_early))
    p.claim("late: the job has ended and its packet has not", block.late == (ended & (ahead == -1)))
    p.claim("one of the two", ~(block.early & block.late))
    p.claim(
        "a job is refused once, as soon as those before it have their beats",
        block.refused
        == (
            block.drop & (was_ahead == 0) & ~drops_refused & ~dropped_refused
            & ~ended & ~block.intake.active
        ),
    )  # fmt: skip
    p.claim("it is known at once that the packet was dropped", block.dropped == dropped_refused)
    p.claim("busy", block.busy == ((ahead == -1) | drops_refused))
    offers_stay(p, "o", block.o_valid, block.o_ready, unless=ended | drops_refused)
    p.reached("a beat is made up", block.o_valid & ~block.i_valid)
    p.reached("the rest of a long packet is dropped", (was_ahead == -1) & taken)
    p.reached(
        "a packet is dropped behind a long one", block.refused & p.before((was_ahead == -1) & ends)
    )
    p.reached("a packet is dropped behind none", block.refused & (p.age(1) == 0))
    p.reached("the next job follows without a gap", ended & taken & p.before(given & ends))
    p.invariant("no job takes beats while those of a long packet are dropped",
                (was_ahead != -1) | ~had_beat)  # fmt: skip
    p.invariant("whose packet has ended has taken a beat", (was_ahead != 1) | had_beat)
    _help(p, inside, block, was_ahead=was_ahead, drops_refused=drops_refused, is_early=is_early)


def _jobs_come_as_from_the_core(p: Property, block: InputPackets, given: Value) -> Signal:
    """Assume what the core and the commands promise; return whether the job has taken a beat."""
    ended, active = block.intake.ended, block.intake.active
    # A job takes at least one beat before it ends; one of this clock is the next job's.
    had_beat = Signal(name="had_beat")
    p.m.d.sync += had_beat.eq((had_beat & ~ended) | given)
    p.assume(~ended | had_beat)
    # While the packet of a refused job is to be dropped, no job begins that is not under way, and
    # one that has taken beats is.
    p.assume(~p.before(block.drop & ~active & ~ended) | ~(active | ended))
    p.assume(~(block.drop & had_beat & ~ended) | active)
    p.assume(~(block.drop & ~active) | ~block.o_ready)
    p.assume(~p.before(block.drop & ~block.dropped) | block.drop)
    p.assume(~p.before(block.dropped) | ~block.drop)
    return had_beat


def _help(
    p: Property,
    inside: Inside,
    block: InputPackets,
    *,
    was_ahead: Value,
    drops_refused: Value,
    is_early: Value,
) -> None:
    """State what the registers hold."""
    refused = inside.signal("is_refused")
    p.invariant("ahead", inside.signal("is_over") == (was_ahead == 1))
    p.invariant("drops", inside.signal("drops") == ((was_ahead == -1) | drops_refused))
    p.invariant("refused", refused == drops_refused)
    p.invariant("filled", inside.signal("was_filled") == is_early)
    p.invariant("no other packet counts while one is dropped", ~drops_refused | (was_ahead == 0))
    p.invariant(
        "no job is under way while one is dropped",
        ~drops_refused | (block.drop & ~block.dropped & ~block.intake.active & ~block.intake.ended),
    )
    p.invariant("a long packet is one behind", was_ahead >= -1)
    p.invariant("what is filled has ended", ~is_early | (was_ahead == 1))


MODULE = "extremum.hdl.axi.input_packets"
PROOFS = (
    Proof(
        "packets-input", "hdl/axi/input_packets.py",
        "Each job gets the beats of one packet: missing beats are made up, and those too many are "
        "dropped; the packet of a refused job is dropped whole.",
        packets, depth=10, search=20,
        faults=(
            Fault("a packet that is too long is not dropped", MODULE,
                  "| self.late | self.refused", "| self.refused"),
            Fault("the next job's first beat goes with a long packet", MODULE,
                  "~drops & ~(ended ^ is_over)", "~drops & (ended | ~is_over)"),
            Fault("the packet of a refused job is only dropped behind a short one", MODULE,
                  "self.drop & ~self.dropped", "self.drop & is_over & ~self.dropped"),
            Fault("a packet is dropped while a job before it takes beats", MODULE,
                  "& ~self.intake.active & ~ended", "& ~ended"),
        ),
    ),
)  # fmt: skip
