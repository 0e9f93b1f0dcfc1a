"""The reducer: it keeps the running winner of consecutive words."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from extremum.hdl import fold, window_schedule
from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.shadow import kept, shadow
from extremum.hdl.timing import (
    SegmentedAccumulator,
    Timed,
    copied,
    copy_count,
    domain,
    timing_parameters,
)
from extremum.hdl.winner import is_better
from extremum.hdl.words import (
    WordPort,
    Words,
    WordStream,
    candidate_layout,
    has_nan_flags,
    result_layout,
)


def _digits(config: CoreConfig) -> int:
    """Return the number of digits in which the reducer compares a key."""
    return -(-config.element_width // timing_parameters(config).reducer_digit)


def _compared(config: CoreConfig) -> int:
    """Return the clock in which it is known whether a word beats those before it."""
    if not timing_parameters(config).reducer_clocks:
        return 0
    return int(has_nan_flags(config)) + _digits(config)


def _decided(config: CoreConfig) -> int:
    """Return the clock in which a word that beats those before it takes their place."""
    return _compared(config) + timing_parameters(config).take_clocks


def latency(config: CoreConfig) -> int:
    """Return the clocks of the reducer.

    In a fast core the first of them make NaNs equal and compare the digits, and with many lanes
    pass the decision on to all registers of a lane. In every core the last ones wait for the
    ordinal's carries and keep the result.
    """
    if not config.has_reduction:
        return 0
    carries = SegmentedAccumulator.latency_of(
        config.index_width, timing_parameters(config).ordinal_segment
    )
    return _decided(config) + carries + 1


def is_ordinal_given(config: CoreConfig) -> bool:
    """Return whether the ordinal comes with a word, from the control that counts the windows.

    In other cores the words come so much later that it costs less to count them again.
    """
    at_once = not config.has_windows and not fold.latency(config)
    return window_schedule.gives_number(config) and at_once


def has_early(config: CoreConfig) -> bool:
    """Return whether the reducer is told of a word a clock ahead, so that it can copy the flags."""
    return copy_count(timing_parameters(config), config.lanes) > 1


class Reducer(wiring.Component):
    """Reduces each row of words, from one marked ``first`` to one marked ``last``, to its winner.

    In a fast core the key is compared from its most significant digit on, each digit one clock
    after the one before it. So the loop from a winner to the next comparison is one digit long, and
    a row may be a single word. A word that ties in every digit is taken if the direction is
    DECREASING. In a small or balanced core the whole key is compared in the clock in which the word
    comes.

    Latency: :func:`latency` clocks, from a row's last word to its result. Throughput: one word per
    clock, taken always.

    Parameters
    ----------
    config
        Configuration of the core.
    tap_bits
        Bits of the tap numbers that the words carry.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    i : In(WordStream)
        Words.
    number : In
        The number of the word in its row, if :func:`is_ordinal_given`.
    early_first, early_other : In(1)
        A clock later there is a word on ``i``: its row's first, or another. Only if
        :func:`has_early`.
    o : Out(WordStream)
        Winners, with their ordinal in the row; in a fold it is that of the word's first element.
    """

    job: data.View
    i: WordPort
    number: Signal
    early_first: Signal
    early_other: Signal
    o: WordPort

    def __init__(self, config: CoreConfig, tap_bits: dict[str, int]):
        self.config = config
        self.i_layout = candidate_layout(config, tap_bits)
        self.o_layout = result_layout(config, tap_bits)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(WordStream(config, self.i_layout)),
                "o": Out(WordStream(config, self.o_layout)),
            }
            | ({"number": In(config.index_width)} if is_ordinal_given(config) else {})
            | (dict.fromkeys(("early_first", "early_other"), In(1)) if has_early(config) else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, clocks = self.config, latency(self.config)
        compared, decided = _compared(config), _decided(config)
        words = Words.of(m, self.i)
        last = Timed(m, self.i.valid & self.i.control.last)
        decreasing = self._shadows(m, "decreasing", compared)
        ordinals = self._ordinals(m, words.valid, last, decided)
        take = Signal(config.lanes)
        if compared:
            takes, ties = self._compare(m, words.valid, Timed(m, self.i.control.first))
            m.d[domain(decided - compared)] += take.eq(
                takes.at(compared) | (ties.at(compared) & self._for_lanes(decreasing))
            )
        else:
            m.d.comb += take.eq(self._compare_at_once(m, take, decreasing[0]))
        taken = Timed(m, take, decided)
        # The flags of all lanes move on together, in one register for each clock.
        taken_at = {part.clock: taken.at(part.clock) for part in ordinals[0]} | {decided: take}
        names = [str(name) for name, _ in self.o_layout if name in self.i_layout.members]
        for lane in range(config.lanes):
            candidate, result = self.i.lanes[lane], self.o.lanes[lane]
            for name in names:
                field = Timed(m, candidate[name]).at(decided)
                best = kept(m, field, take[lane], f"{name}{lane}")
                m.d.comb += Value.cast(result[name]).eq(Timed(m, best, decided + 1).at(clocks))
            parts = []
            ordinal = ordinals[lane // timing_parameters(config).lanes_of_copy]
            for number, part in enumerate(ordinal):
                best = kept(m, part.value, taken_at[part.clock][lane], f"ordinal{lane}_{number}")
                parts.append(Timed(m, best, part.clock + 1).at(clocks))
            if parts:
                m.d.comb += Value.cast(result.ordinal).eq(Cat(*parts))
        # A result is complete when its last word has been compared.
        m.d.comb += [
            self.o.token.eq(words.token.at(clocks)),
            self.o.valid.eq(last.at(clocks)),
            Value.cast(self.o.control).eq(Value.cast(words.control.at(clocks))),
        ]
        return m

    def _shadow(self, m: Module, name: str) -> Timed:
        """Return the shadow of a job register."""
        parameters = timing_parameters(self.config)
        copy = shadow(m, parameters, register(self.config, self.job, name), self.i.token, name)
        return Timed(m, copy, is_steady=parameters.holds_one_job)

    def _shadows(self, m: Module, name: str, clock: int) -> list[Value]:
        """Return the copies, valid in a clock, of the shadow of a job's flag."""
        count = copy_count(timing_parameters(self.config), self.config.lanes)
        return copied(m, self._shadow(m, name), clock, count, name)

    def _for_lanes(self, flags: list[Value]) -> Value:
        """Return for each lane its copy of a flag."""
        lanes_of_copy = timing_parameters(self.config).lanes_of_copy
        return Cat(flags[lane // lanes_of_copy] for lane in range(self.config.lanes))

    def _ordinals(self, m: Module, valid: Timed, last: Timed, clock: int) -> list[list[Timed]]:
        """Return the ordinal of a word in its row, in segments, the first of them in ``clock``.

        Where a flag has copies, each counts for itself.
        """
        config, timing = self.config, timing_parameters(self.config)
        if "ordinal" not in self.o_layout.members:
            return [[]] * copy_count(timing, config.lanes)
        if is_ordinal_given(config):
            number: Value = self.number
            if config.can_fold:
                in_fold = (number << exact_log2(config.lanes))[: len(number)]
                number = Mux(self._shadow(m, "fold").value, in_fold, number)
            return [[Timed(m, number, clock)]]
        steps: list[Value] = [Const(1, 1)] * copy_count(timing, config.lanes)
        if config.can_fold:
            folds = self._shadows(m, "fold", clock)
            steps = [Mux(fold, config.lanes, 1) for fold in folds]
        loads, enables = (
            copied(m, flag, clock, copy_count(timing, config.lanes), name)
            for flag, name in ((last, "row_ends"), (valid, "counts"))
        )
        return [
            SegmentedAccumulator(
                m, timing, config.index_width, timing.ordinal_segment, "ordinal_part",
                load=load, start=Const(0, config.index_width),
                enable=enable, addend=step, clock=clock,
            ).segments
            for load, enable, step in zip(loads, enables, steps, strict=True)
        ]  # fmt: skip

    def _compare_at_once(self, m: Module, take: Signal, decreasing: Value) -> Value:
        """Return in which lanes a word is taken, in the clock in which it comes.

        ``take`` is the same as a signal, which enables the registers of the best words so far.
        """
        takes, parameters = [], timing_parameters(self.config)
        for lane in range(self.config.lanes):
            candidate = self.i.lanes[lane]
            compared = {
                str(name): field.shape for name, field in self.i_layout if name in ("key", "nan")
            }
            best = Signal(data.StructLayout(compared), name=f"best{lane}")
            with m.If(take[lane]):
                m.d.sync += [best[name].eq(candidate[name]) for name in compared]
            better = is_better(m, parameters, candidate, best, decreasing)
            takes.append(self.i.valid & (self.i.control.first | better))
        return Cat(takes)

    def _compare(self, m: Module, valid: Timed, first: Timed) -> tuple[Timed, Timed]:
        """Return in which lanes a word beats the words before it, and in which it ties with them.

        The digits that still wait share one signal for all lanes, because fewer and wider registers
        simulate faster.
        """
        lanes, width = self.config.lanes, timing_parameters(self.config).reducer_digit
        keys = [Value.cast(candidate.key) for candidate in self.i.lanes]
        clock = 0
        if has_nan_flags(self.config):
            ignore_nan = self._shadow(m, "ignore_nan").value
            keys = [_with_equal_nans(m, candidate, ignore_nan) for candidate in self.i.lanes]
            clock = 1
        better, tied = self._begin(m, valid, first, clock)
        for number in reversed(range(_digits(self.config))):
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
            rest = Timed(m, Cat(key[:below] for key in keys), clock).at(clock + 1)
            keys = [rest.word_select(lane, below) for lane in range(lanes)] if below else []
            clock += 1
        return Timed(m, better, clock), Timed(m, tied, clock)

    def _begin(self, m: Module, valid: Timed, first: Timed, clock: int) -> tuple[Value, Value]:
        """Return for each lane whether a word is its row's first, and whether it is another one."""
        lanes, timing = self.config.lanes, timing_parameters(self.config)
        if (count := copy_count(timing, lanes)) == 1:
            return (
                (valid.at(clock) & first.at(clock)).replicate(lanes),
                (valid.at(clock) & ~first.at(clock)).replicate(lanes),
            )
        firsts, others = (
            copied(m, Timed(m, flag, -1), clock, count, name)
            for flag, name in ((self.early_first, "first"), (self.early_other, "other"))
        )
        return self._for_lanes(firsts), self._for_lanes(others)


def _with_equal_nans(m: Module, candidate: data.View, ignore_nan: Value) -> Value:
    """Return the key, one clock later; all NaNs become equal, below or above every number."""
    key = Value.cast(candidate.key)
    equal = Signal(len(key), name="key", reset_less=True)
    m.d.sync += equal.eq(Mux(candidate.nan, (~ignore_nan).replicate(len(key)), key))
    return equal
