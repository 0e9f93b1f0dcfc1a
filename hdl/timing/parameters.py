"""The timing parameters: every number that was chosen for the clock, and what each one trades."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from extremum.hdl.config import MAX_LANES, CoreConfig

WIDE_LANES = 16
"""Lanes from which on a core is so large that a signal takes a clock to reach all of them."""

CROWDED_LANES = 32
"""Lanes from which on a core may need most flip-flops of a part, so that it must do with fewer."""

LANES_OF_PART = 4
"""Lanes that share a part of the result queue, and a running position, in a core of many lanes."""

LANES_OF_COPY = 8
"""Lanes that share a copy of a flag in a crowded core."""


@dataclass(frozen=True)
class TimingParameters:
    """The numbers that decide how much a core does in one clock.

    None of these changes what is computed. Most of them change the latency, and all of them trade
    area for the clock; the defaults were found by measuring the presets on an ECP5.

    Parameters
    ----------
    whole_count
        A counter of up to so many bits is one carry chain. A wider one counts its low bits alone
        and keeps the others ahead. Larger: fewer flip-flops, a longer carry chain.
    low_count
        Low bits of a wider counter. They are counted by gates, since neither a carry chain nor the
        reset of the flip-flops is as fast, so more than four cost a level of look-up tables; but
        the carries of the bits above have only ``2**low_count`` steps to arrive.
    count_segment, fixed_count_segment
        Bits of each carry chain of the bits above the low ones. ``count_segment`` is for counters
        whose number of steps is a job register, ``fixed_count_segment`` for those whose number of
        steps is fixed: these are in small blocks that should reach a fast clock. Larger: fewer
        flip-flops, a longer carry chain.
    equality_bits
        Bits of two numbers that are compared for equality in one clock. Six are two levels of
        look-up tables with four inputs. Larger: fewer flip-flops, more levels.
    full_bits
        Bits of a segment of a counter that are looked at together to tell its carry. Larger: fewer
        flip-flops, more levels of look-up tables.
    order_bits
        Bits of two numbers whose order is found by one carry chain. Wider numbers are compared in
        two halves side by side. Larger: fewer look-up tables, a longer carry chain.
    any_bits
        Bits that the analysis of a float reduces to one in a clock. Four are one look-up table.
    reducer_digit
        Bits of a key that the reducer compares in one clock. Its loop is as long as this
        comparison; smaller digits add a clock of latency each, and flip-flops for what is carried
        along.
    ordinal_segment
        Bits of each carry chain of the reducer's ordinals. Smaller: more segments, each of which
        adds two clocks of latency.
    position_segment
        Bits of each carry chain of a pooling's running position. Smaller: as ``ordinal_segment``.
    lanes_of_position
        Most lanes that share a running position, to which each of them adds its own offset. Fewer:
        shorter ways from a position to its lanes and fewer multiples of the offset, but more
        running positions.
    lanes_of_copy
        Most lanes that are told by the same register what all lanes do in a clock. Fewer: shorter
        ways to the lanes, and more copies of each such flag.
    tap_digit
        Bits of a tap's number that are multiplied by a weight in one clock, by choosing among the
        multiples of the weight. Larger: twice as many multiples per bit, fewer sums.
    register_spacing
        Largest distance, in words, of taps that are kept in registers; taps further apart are in
        a memory. Larger: a larger multiplexer for every tap, but two clocks of latency less where
        registers take the place of a memory.
    lookup_queue
        Most beats of a queue that is made of look-up tables; a longer one is made of block memory.
    credit_bits
        Least bits of a count of credits. Of the blocks without windows, whose counts would do with
        three bits, ``argmax-int8`` reaches 328 MHz with four and 308 MHz with three (median of nine
        placements). Larger: a flip-flop more.
    slots_ahead
        Slots that are scheduled ahead of those that enter the pipeline.
    queue_parts
        Parts of the result queue, side by side, each of which counts for itself. More: shorter ways
        to the memories of many lanes, some twenty flip-flops each.
    queue_margin
        The result queue holds what may come of as many slots as the pipeline is long, and of so
        many more: then the return of a credit is known in time, and a sink that is always ready
        never sees a gap.
    holds_one_job
        Whether the pipeline holds one job at a time and stops as a whole while a result waits to
        leave. Then the job stays on its port, so no part needs a copy of its registers, and there
        are no credits and no queues; but a signal reaches every flip-flop within a clock, and the
        next job begins when the one before has left. Otherwise the pipeline never waits.
    beat_clocks
        Registers for the beat that is taken, 0 or 1. A core that holds one job at a time
        has none if its jobs end with their plane: that end must be known in the clock of the slot.
    precomputed_clocks
        Registers for what follows from a job's registers alone, 0 or 1. It is computed while they
        stand on the port, so this adds no latency.
    control_clocks
        Clocks of each step in which the control of a slot is found, 0 or 1. With 0 all of it is
        found within the clock of the slot.
    key_clocks
        Clocks of each step from an element to its key, and of the step back, 0 or 1.
    word_clocks
        Registers between the keys with their control and the windows.
    memory_clocks
        Clocks from the address of a stored word to the word: 2 with the register at the memory's
        output, without which no block memory of an ECP5 reaches more than 146 MHz.
    tap_clocks
        Registers between the storage and the comparison of its taps, 0 or 1.
    reducer_clocks
        Clocks in which the reducer compares a digit, 0 or 1. With 0 it compares the key as a whole,
        in the clock in which the word comes.
    compare_clocks, choose_clocks
        Clocks of the comparison of two candidates, and of the choice between them, each 0 or 1.
    take_clocks
        Registers between a decision and the registers of the lanes that it is for, 0 or 1: the
        reducer's to take a word, and the packer's to fill or to clear a lane. Many lanes lie far
        apart.
    stage_clocks
        Registers behind the winner of each dimension of the window.
    multiple_clocks
        Registers behind the choice among the multiples of a weight by a tap's number, 0 or 1.
    sum_clocks
        Clocks of each sum of a position, 0 or 1.
    """

    whole_count: int = 12
    low_count: int = 4
    count_segment: int = 14
    fixed_count_segment: int = 11
    equality_bits: int = 6
    full_bits: int = 5
    order_bits: int = 16
    any_bits: int = 4
    reducer_digit: int = 4
    ordinal_segment: int = 8
    position_segment: int = 16
    lanes_of_position: int = MAX_LANES
    lanes_of_copy: int = MAX_LANES
    tap_digit: int = 3
    register_spacing: int = 4
    lookup_queue: int = 16
    credit_bits: int = 4
    slots_ahead: int = 16
    queue_parts: int = 1
    queue_margin: int = 12
    holds_one_job: bool = False
    beat_clocks: int = 1
    precomputed_clocks: int = 1
    control_clocks: int = 1
    key_clocks: int = 1
    word_clocks: int = 0
    memory_clocks: int = 2
    tap_clocks: int = 1
    reducer_clocks: int = 1
    compare_clocks: int = 1
    choose_clocks: int = 1
    take_clocks: int = 0
    stage_clocks: int = 0
    multiple_clocks: int = 1
    sum_clocks: int = 1

    @property
    def counts_ahead(self) -> bool:
        """Whether counters know their end a step ahead, from registers.

        Otherwise they are plain, and compare with the registers on the port, which stay there as
        long as the pipeline holds the job.
        """
        return not self.holds_one_job


@cache
def timing_parameters(config: CoreConfig) -> TimingParameters:
    """Return the timing parameters of a core: the only place that chooses them."""
    if config.pipelining == "small":
        return _small(config)
    if config.pipelining == "balanced":
        return _balanced(config)
    fast = TimingParameters(
        reducer_digit=_reducer_digit(config),
        # The pipeline of a core with windows is long already, so fewer clocks are spent here.
        ordinal_segment=16 if config.has_windows else 8,
    )
    return _wide(config, fast) if config.lanes >= WIDE_LANES else fast


def _wide(config: CoreConfig, fast: TimingParameters) -> TimingParameters:
    """Return the parameters of a fast core of many lanes, whose ways on the chip take most time.

    A few levels of logic more are no longer than such a way. With fewer registers for what waits
    meanwhile, the lanes lie nearer to each other.
    """
    is_crowded = config.lanes >= CROWDED_LANES
    return replace(
        fast,
        reducer_digit=max(fast.reducer_digit, 8 if is_crowded else 4),
        ordinal_segment=32,
        position_segment=32,
        lanes_of_position=LANES_OF_PART,
        lanes_of_copy=LANES_OF_COPY if is_crowded else MAX_LANES,
        queue_parts=config.lanes // LANES_OF_PART,
        compare_clocks=int(not is_crowded),
        take_clocks=1,
        multiple_clocks=int(not is_crowded),
    )


def _small(config: CoreConfig) -> TimingParameters:
    """Return the parameters of a core with as few registers as its results need."""
    return TimingParameters(
        whole_count=64,
        equality_bits=64,
        order_bits=64,
        any_bits=64,
        reducer_digit=config.element_width,
        ordinal_segment=64,
        position_segment=64,
        tap_digit=8,
        holds_one_job=True,
        beat_clocks=0,
        precomputed_clocks=0,
        control_clocks=0,
        key_clocks=0,
        word_clocks=int(config.has_windows or config.has_floats),
        memory_clocks=1,
        tap_clocks=0,
        reducer_clocks=0,
        compare_clocks=0,
        choose_clocks=0,
        stage_clocks=1,
        multiple_clocks=0,
        sum_clocks=0,
    )


def _balanced(config: CoreConfig) -> TimingParameters:
    """Return the parameters of a core with registers behind each step that takes long."""
    return replace(
        _small(config),
        beat_clocks=1,
        precomputed_clocks=1,
        word_clocks=1,
        memory_clocks=2,
        choose_clocks=1,
        stage_clocks=0,
        multiple_clocks=1,
    )


def _reducer_digit(config: CoreConfig) -> int:
    """Return the bits that the reducer compares in one clock.

    Digits of one or two bits make the fastest clock, for a block that gives positions alone. In
    other cores small digits cost too many flip-flops, since each of them carries the values along.
    The pipeline of a core with windows is long already, so there are eight digits at most.
    """
    if config.has_windows:
        return max(2, -(-config.element_width // 8))
    if config.has_values or config.lanes > 1:
        return 4
    return 1 if config.element_width <= 32 else 2
