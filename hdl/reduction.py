"""The running winner of a group of words."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import CoreConfig
from extremum.hdl.flow import Flow, Words, candidate_layout, delay, held, result_layout
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register


def digit_width(config: CoreConfig) -> int:
    """Return the bits that are compared in one clock.

    One or two make the fastest clock, for a block that gives positions alone. With more to carry
    along they would be dear. Behind windows latency is scarce: there are eight digits at most.
    """
    if config.has_windows:
        return max(2, -(-config.element_width // 8))
    if config.has_values or config.lanes > 1:
        return 4
    return 1 if config.element_width <= 32 else 2


def ordinal_part(config: CoreConfig) -> int:
    """Return the bits of an ordinal that are counted in one clock."""
    return 16 if config.has_windows else 8


CARRY_LATENCY = 2
"""Clocks of the carry from one part of an ordinal to the next: one for the halves of a part."""


def _digits(config: CoreConfig) -> int:
    return -(-config.element_width // digit_width(config))


def _skew(config: CoreConfig) -> int:
    """Return by how many clocks the last part of an ordinal is behind the first."""
    parts = -(-config.index_width // ordinal_part(config))
    return CARRY_LATENCY * max(0, parts - 1)


def latency(config: CoreConfig) -> int:
    """Return the clocks of the reducer: key, digits, result."""
    if not config.has_reduction:
        return 0
    key = int(config.has_floats and config.has_values)
    return key + _digits(config) + 1 + _skew(config)


class Reducer(wiring.Component):
    """Reduces the words from a ``first`` to a ``last`` to their winner, as a running one.

    The code is compared from its most significant digit on, each digit one clock after the one
    before it. So the loop from a winner to the next comparison is one digit long, and a group may
    be a single word. A word that ties in every digit is taken if the direction is DECREASING.

    Latency: :func:`latency` clocks, from a group's last word to its result. Throughput: one word
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
        Winners, with their ordinal in the group: in a fold, that of the word's first element.
    """

    job: data.View
    i: Words
    o: Words

    def __init__(self, config: CoreConfig, taps: dict[str, int]):
        self.config = config
        self.i_layout = candidate_layout(config, taps)
        self.o_layout = result_layout(config, taps)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(Flow(config, self.i_layout)),
                "o": Out(Flow(config, self.o_layout)),
            }
        )
        self.digits = _digits(config)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        decreasing, ignore_nan = (
            held(m, register(config, self.job, name), self.i.token, name)
            for name in ("decreasing", "ignore_nan")
        )
        flagged = "nan" in self.i_layout.members
        valid, first = self.i.valid, self.i.control.first
        if flagged:
            valid, first = delay(m, valid, 1), delay(m, first, 1)
        late = flagged + self.digits
        is_decreasing = delay(m, decreasing, late)
        ordinal = self._ordinal(m, late) if "ordinal" in self.o_layout.members else []
        kept = [str(name) for name, _ in self.o_layout if name in self.i_layout.members]
        skew = _skew(config)
        keys = [
            _key(m, candidate, ignore_nan) if flagged else Value.cast(candidate.code)
            for candidate in self.i.lanes
        ]
        better, tied = self._compare(m, keys, valid, first)
        take = Signal(config.lanes)
        m.d.comb += take.eq(better | (tied & is_decreasing.replicate(config.lanes)))
        takes = [delay(m, take, CARRY_LATENCY * number) for number in range(max(len(ordinal), 1))]
        for lane in range(config.lanes):
            candidate, result = self.i.lanes[lane], self.o.lanes[lane]
            for name in kept:
                field = delay(m, candidate[name], late)
                held_field = held(m, field, take[lane], f"{name}{lane}")
                m.d.comb += Value.cast(result[name]).eq(delay(m, held_field, skew))
            parts = [
                delay(
                    m,
                    held(m, part, takes[number][lane], f"ordinal{lane}_{number}"),
                    skew - CARRY_LATENCY * number,
                )
                for number, part in enumerate(ordinal)
            ]
            if parts:
                m.d.comb += Value.cast(result.ordinal).eq(Cat(*parts))
        clocks = latency(config)
        # A result is there when its last word has been compared.
        m.d.comb += [
            self.o.token.eq(delay(m, self.i.token, clocks)),
            self.o.valid.eq(delay(m, self.i.valid & self.i.control.last, clocks)),
            Value.cast(self.o.control).eq(delay(m, Value.cast(self.i.control), clocks)),
        ]
        return m

    def _ordinal(self, m: Module, late: int) -> list[Value]:
        """Return the ordinal of a word in its group, in parts, each a carry after the one before.

        The first part speaks of the word of ``late`` clocks ago.
        """
        config = self.config
        fold = held(m, register(config, self.job, "fold"), self.i.token, "fold")
        valid = delay(m, self.i.valid, late)
        ends = delay(m, self.i.valid & self.i.control.last, late)
        step, below = Const(1, 1), Const(0, config.index_width)
        if config.can_fold:
            # Ordinals are multiples of the lanes then: what is below is 0, and as good as full.
            folds = delay(m, fold, late)
            step, below = Mux(folds, config.lanes, 1), Mux(folds, config.lanes - 1, 0)
        parts: list[Value] = []
        for low in range(0, config.index_width, ordinal_part(config)):
            width = min(ordinal_part(config), config.index_width - low)
            part = Signal(width, name=f"ordinal_part{low}")
            with m.If(ends):
                m.d.sync += part.eq(0)
            with m.Elif(valid):
                m.d.sync += part.eq(part + step)
            parts.append(part)
            # A part that is full carries, if there is anything to add.
            full = part | below[:width] if low == 0 else Cat(part, step)
            halves = (full[: width // 2], full[width // 2 :])
            step = delay(m, Cat(delay(m, half.all(), 1) for half in halves).all(), 1)
            valid, ends = (delay(m, flag, CARRY_LATENCY) for flag in (valid, ends))
        return parts

    def _compare(
        self, m: Module, keys: list[Value], valid: Value, first: Value
    ) -> tuple[Value, Value]:
        """Return, late by the digits, in which lanes a word beats its group, and where it ties.

        A digit of all lanes is one signal, and so is what waits below it: fewer and wider registers
        simulate faster.
        """
        lanes, width = self.config.lanes, digit_width(self.config)
        better: Value = (valid & first).replicate(lanes)
        tied: Value = (valid & ~first).replicate(lanes)
        for number in reversed(range(self.digits)):
            below = number * width
            digits = [key[below:] for key in keys]
            bests = [Signal(len(digits[0]), name=f"best{number}_{lane}") for lane in range(lanes)]
            pairs = list(zip(digits, bests, strict=True))
            take = Signal(lanes, name=f"take{number}")
            m.d.comb += take.eq(better | (tied & Cat(digit > best for digit, best in pairs)))
            for lane, (digit, best) in enumerate(pairs):
                with m.If(take[lane]):
                    m.d.sync += best.eq(digit)
            next_better, next_tied = Signal(lanes), Signal(lanes)
            m.d.sync += [
                next_better.eq(take),
                next_tied.eq(tied & Cat(digit == best for digit, best in pairs)),
            ]
            better, tied = next_better, next_tied
            rest = delay(m, Cat(key[:below] for key in keys), 1)
            keys = [rest.word_select(lane, below) for lane in range(lanes)] if below else []
        return better, tied


def _key(m: Module, candidate: data.View, ignore_nan: Value) -> Value:
    """Return the code, one clock late, with all NaNs made equal: below or above every number."""
    code = Value.cast(candidate.code)
    key = Signal(len(code), reset_less=True)
    m.d.sync += key.eq(Mux(candidate.nan, (~ignore_nan).replicate(len(code)), code))
    return key
