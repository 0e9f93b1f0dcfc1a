"""The running winner of a group of words."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import POSITION_WIDTH, CoreConfig
from extremum.hdl.flow import Flow, Words, candidate_layout, delay, held, result_layout
from extremum.hdl.job import job_layout
from extremum.hdl.schedule import Countdown

DIGIT_WIDTH = 8
"""Bits that are compared in one clock."""


def _digits(config: CoreConfig) -> int:
    return -(-config.element_width // DIGIT_WIDTH)


def latency(config: CoreConfig) -> int:
    """Return the clocks of the reducer: key, digits, result."""
    return 1 + _digits(config) + 1


class Reducer(wiring.Component):
    """Reduces every ``length`` words to their winner, as ``extremum.model.argmax`` does.

    The code is compared from its most significant digit on, each digit one clock after the one
    before it. So the loop from a winner to the next comparison is one digit long, and a group may
    be a single word. A word that ties in every digit is taken if the direction is DECREASING.

    Latency: :attr:`latency` clocks, from a group's last word to its result. Throughput: one word
    per clock, taken always.

    Parameters
    ----------
    config
        Of the core.
    taps
        Bits of the tap numbers that the words carry.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    i : In(Flow)
        Words.
    o : Out(Flow)
        Winners, with their ordinal in the group.
    """

    job: data.View
    i: Words
    o: Words

    def __init__(self, config: CoreConfig, taps: dict[str, int]):
        self.config = config
        self.i_layout = candidate_layout(config, taps)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(Flow(self.i_layout, config.lanes)),
                "o": Out(Flow(result_layout(config, taps), config.lanes)),
            }
        )
        self.digits = _digits(config)

    @property
    def latency(self) -> int:
        """Clocks from a word to its place in the result."""
        return latency(self.config)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, last, ordinal = self._count(m)
        decreasing = held(m, self.job.decreasing, self.i.token, "decreasing")
        ignore_nan = held(m, self.job.ignore_nan, self.i.token, "ignore_nan")
        valid = delay(m, self.i.valid, 1)
        control = delay(m, Cat(first, last, decreasing, self.i.empty), 1)
        is_first, is_decreasing = control[0], delay(m, control[2], self.digits)

        late = 1 + self.digits
        ordinal = delay(m, ordinal, late)
        for lane in range(self.config.lanes):
            candidate = self.i.lanes[lane]
            better, tied = self._compare(m, _key(m, candidate, ignore_nan), valid, is_first)
            challenger = Cat(delay(m, Value.cast(candidate), late), ordinal)
            with m.If(better | (tied & is_decreasing)):
                m.d.sync += Value.cast(self.o.lanes[lane]).eq(challenger)

        # On its own, since a reset clears single bits alone.
        done = delay(m, valid & control[1], self.digits)
        m.d.sync += [self.o.valid.eq(done), self.o.empty.eq(delay(m, control[3], self.digits))]
        m.d.comb += self.o.token.eq(delay(m, self.i.token, self.latency))
        return m

    def _count(self, m: Module) -> tuple[Value, Value, Value]:
        """Return whether the word is its group's first, its last, and which one it is."""
        length = held(m, self.job.length, self.i.token, "length")
        words = Countdown(m, POSITION_WIDTH, "word")
        first = Signal()
        ordinal = Signal(POSITION_WIDTH)
        with m.If(self.i.token | (self.i.valid & words.last)):
            words.load(Mux(self.i.token, self.job.length, length))
            m.d.sync += [first.eq(1), ordinal.eq(0)]
        with m.Elif(self.i.valid):
            words.step()
            m.d.sync += [first.eq(0), ordinal.eq(ordinal + 1)]
        return first, words.last, ordinal

    def _compare(self, m: Module, key: Value, valid: Value, first: Value) -> tuple[Value, Value]:
        """Return, late by the digits, whether the word beats its group, and whether it ties."""
        better: Value = valid & first
        tied: Value = valid & ~first
        for number in reversed(range(self.digits)):
            digit = key[number * DIGIT_WIDTH : (number + 1) * DIGIT_WIDTH]
            digit = delay(m, digit, self.digits - 1 - number)
            best = Signal(len(digit), name=f"best{number}")
            take = Signal(name=f"take{number}")
            m.d.comb += take.eq(better | (tied & (digit > best)))
            with m.If(take):
                m.d.sync += best.eq(digit)
            next_better, next_tied = Signal(), Signal()
            m.d.sync += [next_better.eq(take), next_tied.eq(tied & (digit == best))]
            better, tied = next_better, next_tied
        return better, tied


def _key(m: Module, candidate: data.View, ignore_nan: Value) -> Value:
    """Return the code, one clock late, with all NaNs made equal: below or above every number."""
    code = Value.cast(candidate.code)
    key = Signal(len(code), reset_less=True)
    if "nan" in candidate.shape().members:
        m.d.sync += key.eq(Mux(candidate.nan, (~ignore_nan).replicate(len(code)), code))
    else:
        m.d.sync += key.eq(code)
    return key
