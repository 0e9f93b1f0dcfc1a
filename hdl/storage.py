"""Storage of the sliding window: a delay line with taps at equal distances."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.config import POSITION_WIDTH
from extremum.hdl.flow import choose, held

MAX_REGISTER_SPACING = 4
"""Up to this distance of the taps registers are smaller than a memory."""


class DelayLine(wiring.Component):
    """Shows the words given 1, 2, ... times ``spacing`` words before the present one.

    Latency: 0; ``taps`` belongs to the word on ``i``. Throughput: one word per clock.
    What the line shows before it has been given enough words is left over from before: the
    caller knows how many it gave.

    All older taps of a word stand in one row of a memory, and move on by one tap when the row
    comes round again. A row is fetched while the row before it is written, so that it is here
    when its word arrives, and no distance is too short: at distance 1 the fetched row is the one
    being written, which the memory's read port passes on.

    Parameters
    ----------
    width
        Bits of a word.
    taps
        How many older words to show, at least 1.
    max_spacing
        Largest distance.

    Members
    -------
    token : In(1)
        The next job begins with the next word; take over its ``spacing``.
    spacing : In(32)
        The next job's distance of two taps, in words, at least 1.
    step : In(1)
        There is a word.
    i : In(width)
        The word.
    o : Out(width * taps)
        The older words, the newest in the low bits.
    """

    token: Signal
    spacing: Signal
    step: Signal
    i: Signal
    o: Signal

    def __init__(self, width: int, taps: int, max_spacing: int):
        self.width = width
        self.taps = taps
        self.max_spacing = max_spacing
        super().__init__(
            {
                "token": In(1),
                "spacing": In(POSITION_WIDTH),
                "step": In(1),
                "i": In(width),
                "o": Out(width * taps),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.max_spacing <= MAX_REGISTER_SPACING:
            self._registers(m)
        else:
            self._memory(m)
        return m

    def _registers(self, m: Module) -> None:
        words = [
            Signal(self.width, name=f"word{age}", reset_less=True)
            for age in range(1, self.taps * self.max_spacing + 1)
        ]
        with m.If(self.step):
            for younger, older in zip([self.i, *words[:-1]], words, strict=True):
                m.d.sync += older.eq(younger)
        spacing = held(
            m, self.spacing[: bits_for(self.max_spacing)], self.token, "spacing_register"
        )
        for tap in range(1, self.taps + 1):
            choices = [words[tap * distance - 1] for distance in range(1, self.max_spacing + 1)]
            shown = self.o.word_select(tap - 1, self.width)
            # A spacing of 0 is refused before it gets here.
            m.d.comb += shown.eq(choose(spacing, [choices[0], *choices]))

    def _memory(self, m: Module) -> None:
        row = unsigned(self.width * self.taps)
        m.submodules.memory = memory = Memory(shape=row, depth=self.max_spacing, init=[])
        write = memory.write_port()
        read = memory.read_port(transparent_for=[write])

        last_row = held(m, self.spacing - 1, self.token, "last_row")
        address = Signal(range(self.max_spacing))
        following = Signal.like(address)
        m.d.comb += [
            following.eq(Mux(address == last_row, 0, address + 1)),
            write.addr.eq(address),
            write.data.eq(self.i | (read.data << self.width)),
            write.en.eq(self.step),
            read.addr.eq(following),
            read.en.eq(self.step),
            self.o.eq(read.data),
        ]
        with m.If(self.token):
            m.d.sync += address.eq(0)
        with m.Elif(self.step):
            m.d.sync += address.eq(following)
