"""The packets on the input stream: each job gets as many beats as it needs, from one packet."""

from __future__ import annotations

from amaranth.hdl import Mux, Signal, Value

from extremum.hdl.axi.commands import ANSWER
from extremum.hdl.axi.input_packets import LOW_BITS, InputPackets
from extremum.hdl.config import CoreConfig
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property
from extremum.tb.formal.streams import offers_stay


def packets(p: Property) -> None:
    """State which beats pass, are made up, and are dropped, for packets of any length."""
    block = InputPackets(CoreConfig((DataType.UINT8,), max_window=(1, 1, 1)))
    inside = p.add("packets", block)
    _jobs_come_as_from_the_starter(p, block)
    offers = p.before(block.i_valid & ~block.i_ready)
    p.assume(~offers | (block.i_valid & (block.i_last == p.before(block.i_last))))
    beats = block.packet.input_beats
    # ``is_open``: the job needs beats. ``comes``: its packet has not ended. ``left``: beats that it
    # needs behind the one at hand.
    was_open, still_comes, is_refused = (
        Signal(name=n) for n in ("was_open", "still_comes", "refused")
    )
    was_left = Signal(len(beats), name="was_left")
    is_open, comes = was_open | block.expected, still_comes | block.expected
    left = p.show("left", Mux(block.expected, beats, was_left))
    given, taken = block.o_valid & block.o_ready, block.i_valid & block.i_ready
    ends = taken & block.i_last
    refuses = block.drop & ~block.dropped & ~is_open & ~comes
    p.m.d.sync += [
        was_open.eq(is_open & ~(given & (left == 0))),
        still_comes.eq((comes & ~ends) | refuses),
        was_left.eq(Mux(given, left - 1, left)),
        is_refused.eq(refuses | (is_refused & comes)),
    ]
    p.claim("a beat is given if the job needs one, and it is here or missing",
            block.o_valid == (is_open & (block.i_valid | ~comes)))  # fmt: skip
    p.claim("a beat is taken if it is given or dropped",
            block.i_ready == (comes & (block.o_ready | ~is_open)))  # fmt: skip
    p.claim("early: the packet ends and the job needs more",
            block.early == (is_open & ends & (left != 0)))  # fmt: skip
    p.claim("late: the packet goes on and the job has all",
            block.late == (is_open & taken & ~block.i_last & (left == 0)))  # fmt: skip
    p.claim("busy", block.busy == (is_open | comes))
    p.claim("a packet that was refused is dropped whole",
            ~block.dropped | p.before(~is_open & is_refused & ends))  # fmt: skip
    has_all = given & (left == 0) & (ends | ~comes)
    p.claim("the next job waits for the end of the one before",
            ~block.expected | p.before(block.expects & (~block.busy | has_all)))  # fmt: skip
    offers_stay(p, "o", block.o_valid, block.o_ready)
    p.reached("a beat is made up", block.o_valid & ~block.i_valid)
    p.reached("the rest of a long packet is dropped", ~is_open & comes & taken & ~is_refused)
    p.reached("the next job follows without a gap", block.expected & p.before(given) & (left == 3))
    _help(p, inside, block, is_open=is_open, comes=comes, is_refused=is_refused, left=left)


def _jobs_come_as_from_the_starter(p: Property, block: InputPackets) -> None:
    """Assume what the command side promises: the registers stay around the time of an offer."""
    beats = block.packet.input_beats
    stable, settled = Signal(range(ANSWER + 1), name="stable"), Signal(name="settled_job")
    p.invariant("the clocks of a stable packet", stable <= ANSWER)
    is_same = beats == p.before(beats)
    p.m.d.sync += stable.eq(Mux(is_same, Mux(stable == ANSWER, stable, stable + 1), 0))
    p.m.d.comb += settled.eq((stable == ANSWER) & is_same)
    p.assume(~(block.expects | block.expected) | settled)
    # It is offered until it is expected, and then no more.
    p.assume(~p.before(block.expects & ~block.expected) | block.expects)
    p.assume(~p.before(block.expected) | ~block.expects)
    p.assume(~(block.expects & block.drop))
    p.assume(~p.before(block.drop & ~block.dropped) | block.drop)
    p.assume(~p.before(block.dropped) | ~block.drop)


def _help(
    p: Property,
    inside: Inside,
    block: InputPackets,
    *,
    is_open: Value,
    comes: Value,
    is_refused: Value,
    left: Value,
) -> None:
    """State what the registers hold: the kind of packet, and the beats left in two parts."""
    for name, holds in (
        ("passes", is_open & comes), ("fills", is_open & ~comes), ("drops", ~is_open & comes),
    ):  # fmt: skip
        p.invariant(name, inside.signal(name) == holds)
    refused = inside.signal("is_refused")
    p.invariant("no job that is open was refused", ~is_open | ~(refused | is_refused))
    p.invariant("refused", ~comes | (refused == is_refused))
    low, high = inside.signal("low_beats"), inside.signal("high_beats")
    p.invariant("the last beat", ~is_open | (inside.signal("is_last") == (left == 0)))
    p.invariant("the low beats", ~is_open | (low == left[:LOW_BITS]))
    given = block.o_valid & block.o_ready
    borrowed = p.before(given & ~left[:LOW_BITS].any() & left.any())
    high_left = left[LOW_BITS:] + borrowed
    p.invariant("the high beats", ~is_open | block.expected | (high == high_left[: len(high)]))
    is_zero = inside.signal("high_zero") == ~left[LOW_BITS:].any()
    # A borrow is known to the flag after three clocks; the low beats are counted for far longer.
    recent = borrowed | p.late(borrowed, 1) | p.late(borrowed, 2)
    p.invariant("the high beats are 0", ~is_open | recent | is_zero)


MODULE = "extremum.hdl.axi.input_packets"
PROOFS = (
    Proof(
        "packets-input", "hdl/axi/input_packets.py",
        "Each job gets as many beats as it needs, up to 2**32, from one packet: missing beats are "
        "made up, and those too many are dropped; the packet of a refused job is dropped whole.",
        packets, depth=10, search=20,
        faults=(
            Fault("a packet that is too long is not dropped", MODULE,
                  "| self.late | refuses", "| refuses"),
            Fault("a job of one beat gets two", MODULE,
                  "new_high_is_zero & (new_low == 0), 1)", "new_high_is_zero & (new_low == 1), 1)"),
            Fault("a beat is made up that is not taken", MODULE,
                  "fills & self.o_ready", "fills"),
        ),
    ),
)  # fmt: skip
