"""Storage of the sliding window: a delay line with taps at equal distances."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out
from amaranth.utils import bits_for

from extremum.hdl.registered_memory import RegisteredMemory
from extremum.hdl.select import select
from extremum.hdl.shadow import precomputed, shadow
from extremum.hdl.timing import Timed, TimingParameters, own_copy


def latency(max_spacing: int, parameters: TimingParameters, *, is_part: bool) -> int:
    """Return the clocks from a word on ``i`` to the older words on ``o``.

    A shift register has none, unless it is one of several that have their own copies of the flags.
    """
    return int(is_part) if max_spacing <= parameters.register_spacing else parameters.memory_clocks


def go_member(parameters: TimingParameters) -> dict[str, Member]:
    """Return the member ``go`` of a part with a memory, if the pipeline stops as a whole."""
    return {"go": In(1)} if parameters.holds_one_job else {}


class DelayLinePorts(wiring.Component):
    """The ports of a delay line.

    Parameters
    ----------
    width
        Bits of a word.
    taps
        How many older words to show, at least 1.
    max_spacing
        Largest distance of two taps, in words.
    parameters
        The timing parameters.

    Members
    -------
    token : In(1)
        The next job begins with the next word.
    spacing_less_one : In
        The next job's distance of two taps, in words, less one.
    valid : In(1)
        There is a word.
    step : In(1)
        A token or a word, in a register of its own because it drives many enables. It may also be
        set where no job is under way.
    i : In(width)
        The word.
    last_row : In(1)
        The word is in the last row, so the next one is in the first. A shift register ignores it.
    go : In(1)
        The pipeline moves on in this clock. Only in a core whose pipeline stops as a whole, for the
        memory: an enable that is inserted into a pipeline reaches no instance.
    o : Out(width * taps)
        The older words, the newest in the low bits.
    """

    token: Signal
    spacing_less_one: Signal
    valid: Signal
    step: Signal
    i: Signal
    last_row: Signal
    go: Signal
    o: Signal

    def __init__(self, width: int, taps: int, max_spacing: int, parameters: TimingParameters):
        self.parameters = parameters
        self.width = width
        self.taps = taps
        self.max_spacing = max_spacing
        super().__init__(
            {
                "token": In(1),
                "spacing_less_one": In(bits_for(max_spacing - 1)),
                "valid": In(1),
                "step": In(1),
                "i": In(width),
                "last_row": In(1),
                "o": Out(width * taps),
            }
            | go_member(parameters)
        )


class DelayLine(DelayLinePorts):
    """Shows the words given 1, 2, ... times ``spacing`` words before each one.

    Latency: :attr:`latency` clocks from a word on ``i`` to the older words on ``o``. Throughput:
    one word per clock, taken always. Until the line has been given enough words, it shows words
    of earlier jobs. The caller must know how many words it gave.

    Taps that are near each other come from a shift register. Those further apart come from a
    memory of ``spacing`` rows that are used in turn: a row has all older taps of a word, and each
    time its turn comes they move on by one tap. The caller tells which word is in the last row. A
    row that was written too recently to be read from the memory comes from registers.

    Parameters
    ----------
    width
        Bits of a word.
    taps
        How many older words to show, at least 1.
    max_spacing
        Largest distance of two taps, in words.
    fixed_spacing_less_one
        The distance of two taps less one, if it never changes; then the member
        ``spacing_less_one`` is ignored.
    parameters
        The timing parameters.
    is_part
        Whether it is one of several lines side by side, so that its flags are copies of its own.
    """

    def __init__(
        self,
        width: int,
        taps: int,
        max_spacing: int,
        fixed_spacing_less_one: int | None = None,
        *,
        parameters: TimingParameters,
        is_part: bool = False,
    ):
        self.is_part = is_part
        self.fixed_spacing_less_one = fixed_spacing_less_one
        self.latency = latency(max_spacing, parameters, is_part=is_part)
        """Clocks from a word on ``i`` to the older words on ``o``."""
        super().__init__(width, taps, max_spacing, parameters)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.max_spacing > self.parameters.register_spacing:
            self._memory(m)
        else:
            self._registers(m)
        return m

    @property
    def _given_spacing_less_one(self) -> Value:
        return (
            self.spacing_less_one
            if self.fixed_spacing_less_one is None
            else Const(self.fixed_spacing_less_one)
        )

    def _registers(self, m: Module) -> None:
        """Keep the words in a shift register, and choose the taps out of it."""
        count = self.taps * self.max_spacing
        words = [
            Signal(self.width, name=f"word{age}", reset_less=True) for age in range(1, count + 1)
        ]
        word, token, valid = (
            value.at(self.latency)
            for value in (Timed(m, self.i), self._flag(m, "token"), self._flag(m, "valid"))
        )
        with m.If(valid):
            for younger, older in zip([word, *words[:-1]], words, strict=True):
                m.d.sync += older.eq(younger)
        spacing_less_one = shadow(
            m, self.parameters, self._given_spacing_less_one, token, "spacing_register"
        )
        for tap in range(1, self.taps + 1):
            choices = [words[tap * distance - 1] for distance in range(1, self.max_spacing + 1)]
            shown = self.o.word_select(tap - 1, self.width)
            m.d.comb += shown.eq(select(spacing_less_one, choices))

    def _memory(self, m: Module) -> None:
        """Keep the words in the rows of a memory: read a row, and write it back one tap further.

        The memory can show a row only if it was written before the row's address came. Rows that
        were written too recently come from registers, as many as the clocks of latency: ``near``
        holds the row that is shown next, ``other`` the one behind it, if there are two. If the
        spacing is fixed at no more rows than that, the memory is left out.
        """
        given, shown, fixed = (
            self._given_spacing_less_one,
            self.latency,
            self.fixed_spacing_less_one,
        )
        row = Signal(range(self.max_spacing), name="row", reset_less=True)
        memory = None
        if fixed is None or fixed >= shown:
            with m.If(self.step):
                m.d.sync += row.eq(Mux(self.token | self.last_row, 0, row + 1))
            m.submodules.memory = memory = RegisteredMemory(
                self.width * self.taps, self.max_spacing, shown
            )
        token = self._flag(m, "token")
        valid, word = (value.at(shown) for value in (self._flag(m, "valid"), Timed(m, self.i)))
        if memory is not None:
            self._connect(m, memory, row, valid=valid, word=word)
        is_one = precomputed(m, self.parameters, lambda given: given == 0, given)
        # ``given >= shown`` without a comparison, since ``shown`` is 1 or 2.
        is_many = precomputed(m, self.parameters, lambda given: given >> (shown - 1) != 0, given)
        is_one_row = shadow(m, self.parameters, is_one, token.at(shown - 1), "is_single")
        is_far = shadow(m, self.parameters, is_many, token.at(shown), "is_far")
        near, other = (
            Signal(len(self.o), name=name, reset_less=True) for name in ("near", "other")
        )
        moved_on = self._moved_on(word, near)
        with m.If(valid):
            m.d.sync += [
                other.eq(moved_on),
                near.eq(Mux(is_one_row, moved_on, other) if shown > 1 else moved_on),
            ]
        m.d.comb += self.o.eq(near if memory is None else Mux(is_far, memory.read_data, near))

    def _connect(
        self, m: Module, memory: RegisteredMemory, row: Signal, *, valid: Value, word: Value
    ) -> None:
        """Connect the memory; the word that comes goes into the row that was read for it."""
        stops = self.parameters.holds_one_job
        m.d.comb += [
            memory.read_address.eq(row),
            memory.read_enable.eq(self.go if stops else 1),
            memory.output_enable.eq(self.go if stops else 1),
            memory.write_address.eq(Timed(m, row).at(self.latency)),
            memory.write_data.eq(self._moved_on(word, memory.read_data)),
            memory.write_enable.eq(valid & self.go if stops else valid),
        ]

    def _moved_on(self, word: Value, row: Value) -> Value:
        """Return a row with a word added at its front and the oldest word dropped."""
        return Cat(word, row)[: len(row)]

    def _flag(self, m: Module, name: str) -> Timed:
        """Return a flag of the word; that of a part is a copy, and comes a clock later."""
        flag = getattr(self, name)
        return Timed(m, own_copy(m, flag, name), 1) if self.is_part else Timed(m, flag)


class DelayLineInParts(DelayLinePorts):
    """Several :class:`DelayLine` side by side, each with some lanes of every word.

    All parts are told the same. But each has flags and a count of its own, so nothing that all of
    them share has to reach many flip-flops within a clock.

    Parameters are those of :class:`DelayLine`; in the place of ``width`` stand the bits of each
    part of a word.
    """

    def __init__(
        self,
        widths: Sequence[int],
        taps: int,
        max_spacing: int,
        fixed_spacing_less_one: int | None = None,
        *,
        parameters: TimingParameters,
    ):
        self.parts = [
            DelayLine(
                width, taps, max_spacing, fixed_spacing_less_one,
                parameters=parameters, is_part=True,
            )
            for width in widths
        ]  # fmt: skip
        self.latency = self.parts[0].latency
        """Clocks from a word on ``i`` to the older words on ``o``."""
        super().__init__(sum(widths), taps, max_spacing, parameters)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        older = [self.o.word_select(tap, self.width) for tap in range(self.taps)]
        low = 0
        for part in self.parts:
            m.submodules += part
            bits = slice(low, low := low + part.width)
            m.d.comb += [
                getattr(part, name).eq(getattr(self, name))
                for name in ("token", "spacing_less_one", "valid", "step", "last_row")
            ]
            m.d.comb += part.i.eq(self.i[bits])
            m.d.comb += [
                words[bits].eq(part.o.word_select(tap, part.width))
                for tap, words in enumerate(older)
            ]
        return m
