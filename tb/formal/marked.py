"""Any one word that goes through a block, followed from its coming to its leaving."""

from __future__ import annotations

from amaranth.hdl import Const, Mux, Signal, Value, ValueLike

from extremum.tb.formal.property import Property

NEVER = Const(0, 1)


class Marked:
    """Counts the words in a block, and remembers one of them, chosen at will.

    It claims that no word leaves an empty block, and that the marked word leaves behind those that
    came before it, in front of those that came after it, and with the bits that it came with. Since
    any word may be the marked one, this holds of all: each comes out once, intact, and in order.

    Parameters
    ----------
    p
        The property.
    most
        Words that the block holds.
    comes, word
        Whether a word enters in this clock, and its bits.
    leaves, given
        Whether a word leaves in this clock, and its bits.
    drops
        Whether every word but the oldest is discarded in this clock. A word that is discarded as it
        arrives never enters: `comes` must not be set for it.

    Attributes
    ----------
    count
        Words in the block.
    is_in
        The marked word is in the block.
    ahead
        Words in front of the marked one.
    word
        Bits of the marked word.
    begins
        The word that enters in this clock is marked.
    """

    def __init__(
        self,
        p: Property,
        most: int,
        *,
        comes: Value,
        word: Value,
        leaves: Value,
        given: ValueLike,
        drops: Value = NEVER,
    ):
        self.count = Signal(range(most + 1), name="count")
        self.ahead = Signal(range(most + 1), name="ahead")
        self.is_in, self.word = Signal(name="is_in"), Signal(len(word), name="marked_word")
        self.begins = Signal(name="begins")
        p.m.d.comb += self.begins.eq(p.input("mark") & comes & ~self.is_in)
        stays = (self.count != 0) & ~leaves
        p.m.d.sync += self.count.eq(Mux(drops, stays, self.count + comes - leaves))
        with p.m.If(self.begins):
            p.m.d.sync += [
                self.is_in.eq(1), self.ahead.eq(self.count - leaves), self.word.eq(word),
            ]  # fmt: skip
        with p.m.Elif(self.is_in & drops):
            p.m.d.sync += self.is_in.eq((self.ahead == 0) & ~leaves)
        with p.m.Elif(self.is_in & leaves):
            p.m.d.sync += [self.is_in.eq(self.ahead != 0), self.ahead.eq(self.ahead - 1)]
        is_due = self.is_in & (self.ahead == 0)
        p.claim("no word leaves that has not come", ~leaves | (self.count != 0))
        p.claim(
            "a word leaves in its turn with its bits", ~(is_due & leaves) | (given == self.word)
        )
        p.claim("there is never a word too many", self.count <= most)
        p.invariant(
            "the marked word is one of those counted", ~self.is_in | (self.ahead < self.count)
        )
        if most > 1:
            p.reached(
                "the marked word leaves behind others",
                is_due & leaves & (self.ahead != p.before(self.ahead)),
            )
        p.reached("the block is full", self.count == most)
