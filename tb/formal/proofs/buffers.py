"""The buffers of the AXI block: each word comes out once, intact and in order."""

from __future__ import annotations

from amaranth.hdl import Mux, Signal

from extremum.hdl.axi.buffers import InputBuffer, OutputBuffer, OutputRegister
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.marked import Marked
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property
from extremum.tb.formal.streams import offers_stay

WIDTH = 8


def input_buffer(p: Property) -> None:
    """State what an input buffer gives, whatever comes and whenever it is taken."""
    block = InputBuffer(WIDTH)
    inside = p.add("buffer", block)
    comes, leaves = block.i_valid & block.i_ready, block.o_valid & block.o_ready
    marked = Marked(p, 2, comes=comes, word=block.i_data, leaves=leaves, given=block.o_data)
    offers_stay(p, "o", block.o_valid, block.o_ready, block.o_data)
    p.claim("it is ready unless it is full", block.i_ready | (marked.count == 2) | (p.age(1) == 0))
    p.claim("a word is offered a clock later", block.o_valid == (marked.count != 0))
    newest, oldest, even, odd = (
        inside.signal(name) for name in ("newest", "oldest", "even", "odd")
    )
    p.invariant("it is not ready when it is full", ~block.i_ready | (marked.count != 2))
    p.invariant("the places", (newest ^ oldest) == (marked.count == 1))
    p.invariant("the even register takes", inside.signal("takes_even") == (block.i_ready & ~newest))
    p.invariant("the odd register takes", inside.signal("takes_odd") == (block.i_ready & newest))
    place = Signal(name="place")
    with p.m.If(marked.begins):
        p.m.d.sync += place.eq(newest)
    p.invariant(
        "the marked word",
        ~marked.is_in
        | ((Mux(place, odd, even) == marked.word) & ((place ^ oldest) == (marked.ahead == 1))),
    )


def output_buffer(p: Property) -> None:
    """State what an output buffer gives, whichever words are dropped."""
    block = OutputBuffer(WIDTH, copies=True)
    inside = p.add("buffer", block)
    p.invariant("the copy of ready", inside.signal("is_full") == ~block.i_ready)
    p.invariant("the copy of valid", inside.signal("is_empty") == ~block.o_valid)
    comes, leaves = block.i_valid & block.i_ready & ~block.drops, block.o_valid & block.o_ready
    marked = Marked(
        p, 2, comes=comes, word=block.i_data, leaves=leaves, given=block.o_data, drops=block.drops
    )
    offers_stay(p, "o", block.o_valid, block.o_ready, block.o_data)
    p.claim("it is ready unless it is full", block.i_ready | (marked.count == 2) | (p.age(1) == 0))
    p.claim("a word is offered a clock later", block.o_valid == (marked.count != 0))
    is_next = marked.is_in & (marked.ahead == 1)
    is_here = marked.is_in & (marked.ahead == 0)
    p.reached("a word that waits is dropped", is_next & block.drops & ~block.o_ready)
    p.reached("it is dropped while another leaves", is_next & block.drops & block.o_ready)
    p.reached("a word is dropped as it comes", block.drops & block.i_valid & block.i_ready)
    p.invariant("it is not ready when it is full", ~block.i_ready | (marked.count != 2))
    kept = inside.signal("kept")
    p.invariant("a word that is offered", ~is_here | (block.o_data == marked.word))
    p.invariant("a word that waits", ~is_next | ((kept == marked.word) & ~block.i_ready))
    p.invariant(
        "a word waits only if it is full", (marked.count != 1) | (p.age(1) == 0) | block.i_ready
    )


def output_register(p: Property) -> None:
    """State what an output register gives, whichever words are dropped."""
    block = OutputRegister(WIDTH)
    p.add("register", block)
    offers_stay(p, "o", block.o_valid, block.o_ready, block.o_data)
    comes, leaves = block.i_valid & block.i_ready & ~block.drops, block.o_valid & block.o_ready
    marked = Marked(p, 1, comes=comes, word=block.i_data, leaves=leaves, given=block.o_data)
    p.claim("it is ready unless it holds a word that stays",
            block.i_ready == ((marked.count == 0) | block.o_ready))  # fmt: skip
    p.claim("a word is offered a clock later", block.o_valid == (marked.count != 0))
    p.reached("a word is dropped while another leaves", block.drops & block.i_valid & leaves)
    p.invariant("the word that is offered", ~marked.is_in | (block.o_data == marked.word))


MODULE = "extremum.hdl.axi.buffers"
READY = Fault("ready a clock too long", MODULE, "(waits | comes))", "waits)")
OVERWRITTEN = Fault("an offer is overwritten", MODULE, "Mux(is_full, kept, self.i_data)",
                    "Mux(is_full & ~self.i_valid, kept, self.i_data)")  # fmt: skip
SWAPPED = Fault("a word goes to the other register", MODULE,
                "((even, ~next_newest), (odd, next_newest))",
                "((even, next_newest), (odd, ~next_newest))")  # fmt: skip
FULL = Fault(
    "ready though the second word comes", MODULE, "(~is_ready | self.i_valid))\n", "~is_ready)\n"
)
DROPS = Fault(
    "what waits is not dropped",
    MODULE,
    "self.o_valid & ~is_ready & ~self.drops",
    "self.o_valid & ~is_ready",
)
DROPPED_LATE = Fault("what waits is kept if another leaves", MODULE,
                     "self.o_valid & ~is_ready & ~self.drops",
                     "self.o_valid & ~is_ready & ~(self.drops & ~self.o_ready)")  # fmt: skip
LOSES = Fault("what waits is lost if another word stands on the port", MODULE,
              "waits = self.o_valid & ~is_ready & ~self.drops",
              "waits = self.o_valid & ~is_ready & ~self.drops & ~self.i_valid")  # fmt: skip
GONE = Fault("what is offered is dropped", MODULE,
             "comes | waits | (self.o_valid & ~self.o_ready)",
             "comes | waits | (self.o_valid & ~self.o_ready & ~self.drops)")  # fmt: skip

LOST = Fault("ready though its word stays", MODULE,
             "self.i_ready.eq(is_free)", "self.i_ready.eq(1)")  # fmt: skip
MIXED = Fault("words are mixed", MODULE,
              "self.o_data.eq(self.i_data)",
              "self.o_data.eq(self.i_data | self.o_data)")  # fmt: skip
KEPT = Fault("what comes is not dropped", MODULE,
             "self.o_valid.eq(self.i_valid & ~self.drops)",
             "self.o_valid.eq(self.i_valid)")  # fmt: skip
LOSES_NEXT = Fault("what comes is lost while another leaves", MODULE,
                   "self.o_valid.eq(self.i_valid & ~self.drops)",
                   "self.o_valid.eq(self.i_valid & ~self.drops & ~self.o_valid)")  # fmt: skip

PROOFS = (
    Proof(
        "buffer-input", "hdl/axi/buffers.py",
        "The input buffer gives each word once, intact, in order and a clock later, and is ready "
        "unless it holds two; what it offers stays.",
        input_buffer, depth=4, search=8, faults=(SWAPPED, FULL), quick=True,
    ),
    Proof(
        "buffer-output", "hdl/axi/buffers.py",
        "The output buffer gives each word once, intact, in order and a clock later, and is ready "
        "unless it holds two; what it offers stays. Words that are dropped are not given.",
        output_buffer, depth=4, search=8,
        faults=(READY, OVERWRITTEN, DROPS, DROPPED_LATE, LOSES, GONE), quick=True,
    ),
    Proof(
        "register-output", "hdl/axi/buffers.py",
        "The output register gives each word once, intact, in order and a clock later, and takes "
        "one in each clock in which it is empty or its word leaves; what it offers stays. A word "
        "that is dropped is not given.",
        output_register, depth=4, search=8, faults=(LOST, MIXED, KEPT, LOSES_NEXT), quick=True,
    ),
)  # fmt: skip
