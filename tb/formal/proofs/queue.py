"""The queue: each word comes out once, intact, in order, and in time."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Const, Mux, Signal, Value

from extremum.hdl.pass_buffer import PassBuffer
from extremum.hdl.queue import Queue, latency
from extremum.hdl.timing import TimingParameters
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.marked import Marked
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property

PARAMETERS = TimingParameters()
WIDTH = 8


def queue(depth: int, p: Property) -> None:
    """State what leaves a queue to which nobody writes when it is full."""
    block = Queue(WIDTH, depth, PARAMETERS)
    inside = p.add("queue", block)
    marked = Marked(
        p, depth, comes=block.write, word=block.i, leaves=block.valid & block.ready, given=block.o
    )
    # Whoever writes counts credits, and the word stays on the port until the next one.
    p.assume(~block.write | (marked.count != depth))
    kept = Signal(WIDTH, name="kept_word")
    with p.m.If(block.write):
        p.m.d.sync += kept.eq(block.i)
    p.assume(block.write | (block.i == kept))
    refused, offered = p.before(block.valid & ~block.ready), p.before(block.o)
    p.claim("an offer stays until it is taken", ~refused | (block.valid & (block.o == offered)))
    # In time: a word whose turn it is, and that came so many clocks ago, is offered.
    clocks = latency(depth, PARAMETERS)
    waited = Signal(range(clocks + 1), name="waited")
    p.m.d.sync += waited.eq(Mux(marked.begins, 1, Mux(waited == clocks, clocks, waited + 1)))
    p.invariant("the clocks of waiting are in their range", waited <= clocks)
    is_here = marked.is_in & (marked.ahead == 0)
    p.claim("a word is offered in time", ~is_here | (waited < clocks) | block.valid)
    p.reached("a word is offered to a sink that waits", block.valid & ~block.ready)
    if depth == 2:
        is_kept = inside.signal("kept")
        p.invariant("what is kept", ~is_kept | (block.valid & (marked.count == 2)))
        p.invariant("the count", marked.count == block.valid + is_kept)
        p.invariant(
            "the marked word at the output", ~is_here | (block.valid & (block.o == marked.word))
        )
        is_next = marked.is_in & (marked.ahead == 1)
        p.invariant("the marked word on the port", ~is_next | (is_kept & (kept == marked.word)))
    elif depth <= PARAMETERS.lookup_queue:
        _in_memory(p, inside, marked, depth, [(block.valid, block.o)])
    else:
        memory = inside.part("memory")
        *_, is_read = inside.unnamed()
        both = inside.signal("both")
        p.invariant("both registers hold a word", both == (block.valid & is_read))
        _in_memory(
            p, inside, marked, depth, [(block.valid, block.o), (is_read, memory.read_data())]
        )


def _in_memory(
    p: Property, inside: Inside, marked: Marked, depth: int, registers: list[tuple[Value, Value]]
) -> None:
    """State where the marked word is: in a register behind the memory, or in which row."""
    newest, oldest, following = inside.unnamed()[:3]
    waiting = inside.signal("waiting")
    place = Signal(range(depth), name="place")
    with p.m.If(marked.begins):
        p.m.d.sync += place.eq(newest)
    stored = Signal(range(depth + 1), name="stored")
    p.m.d.comb += stored.eq(
        Mux(waiting & (newest == oldest), depth, (newest - oldest)[: len(newest)])
    )
    beyond: Value = sum((held for held, _ in registers), Const(0, 1))
    p.invariant("the row behind the oldest", following == (oldest + 1)[: len(oldest)])
    p.invariant("whether a word waits in the memory", waiting == (stored != 0))
    p.invariant("the count", marked.count == stored + beyond)
    before: Value = Const(0, 1)
    for number, (held, word) in enumerate(registers):
        is_in_it = marked.is_in & held & (marked.ahead == before)
        p.invariant(f"the marked word in register {number}", ~is_in_it | (word == marked.word))
        before = before + held
    row = (place - oldest)[: len(oldest)]
    is_stored = marked.is_in & (marked.ahead >= beyond)
    p.invariant("the row of the marked word", ~is_stored | (row + beyond == marked.ahead))
    p.invariant("the marked word in its row", ~is_stored | (inside.word(p.m, place) == marked.word))


MODULE = "extremum.hdl.queue"
LOST = Fault(
    "a word that comes while another waits is lost", MODULE, "waiting & ~free)", "kept & ~free)"
)
OVER = Fault("the output takes a word while the sink waits", MODULE,
             "free = ~self.valid | self.ready\n        waiting",
             "free = ~self.valid | self.ready | self.write\n        waiting")  # fmt: skip
EMPTY = Fault("the memory seems empty a word too early", MODULE, "(following != newest)",
              "((following + 1)[: len(newest)] != newest)")  # fmt: skip
WRAP = Fault("the next row is not counted on", MODULE, "following.eq(following + 1)",
             "following.eq(oldest + 1)")  # fmt: skip
BOTH = Fault("both registers seem full a clock late", MODULE,
             "both.eq((waiting | ~read_free) & (is_read | ~output_free))",
             "both.eq(is_read & self.valid)")  # fmt: skip
SLOW = Fault("the output waits until it is empty", MODULE,
             "output_free = ~self.valid | self.ready", "output_free = ~self.valid")  # fmt: skip


PASS_BUFFER = "extremum.hdl.pass_buffer"
GONE = Fault("a word that is not taken is not kept", PASS_BUFFER,
             "is_full.eq(self.o_wanted & self.o_valid & ~self.o_taken)",
             "is_full.eq(self.o_wanted & self.o_valid & ~self.o_taken & ~is_full)")  # fmt: skip
TWICE = Fault("it asks for a word while one waits", PASS_BUFFER,
              "self.i_ready.eq(self.o_wanted & ~is_full)",
              "self.i_ready.eq(self.o_wanted)")  # fmt: skip


def passes(p: Property) -> None:
    """State what a buffer gives that lets words through in the clock in which they come."""
    block = PassBuffer(WIDTH)
    inside = p.add("buffer", block)
    comes, leaves = block.i_valid & block.i_ready, block.o_valid & block.o_wanted & block.o_taken
    p.assume(~p.before(block.o_wanted & ~leaves) | block.o_wanted)
    held, word = Signal(name="held"), Signal(WIDTH, name="held_word")
    with p.m.If(comes & ~leaves):
        p.m.d.sync += [held.eq(1), word.eq(block.i_data)]
    with p.m.Elif(leaves):
        p.m.d.sync += held.eq(0)
    p.claim("a word comes only if none waits", ~comes | ~held)
    p.claim("no word leaves that has not come", ~leaves | held | comes)
    p.claim("it is the word that waits, or the one that comes, with its bits",
            ~leaves | (block.o_data == Mux(held, word, block.i_data)))  # fmt: skip
    p.claim("a word is offered at once", block.o_valid == (held | block.i_valid))
    p.reached("a word leaves in the clock in which it comes", comes & leaves)
    p.reached("a word leaves later", held & leaves)
    p.invariant("a word waits", inside.signal("is_full") == held)
    p.invariant("it is the one that is kept", ~held | (inside.signal("kept") == word))


def _proof(depth: int, *faults: Fault, quick: bool = False) -> Proof:
    return Proof(
        f"queue-{depth}", "hdl/queue.py",
        f"A queue of {depth} words to which nobody writes when it is full gives each word once, "
        f"intact, in order, and within {latency(depth, PARAMETERS)} clocks; what it offers stays.",
        partial(queue, depth), depth=4, search=depth + 5 if depth > 2 else 8, faults=faults,
        quick=quick,
    )  # fmt: skip


PROOFS = (
    _proof(2, LOST, OVER, quick=True),
    _proof(4, EMPTY, OVER),
    _proof(16, WRAP),
    _proof(32, BOTH, SLOW, quick=True),
    Proof(
        "queue-pass",
        "hdl/pass_buffer.py",
        "The buffer at the input of a core that stops gives each word once, intact and in order, "
        "in the clock in which it comes or when the sink takes it, if the sink wants it until "
        "then.",
        passes,
        depth=2,
        search=6,
        faults=(GONE, TWICE),
    ),
)
