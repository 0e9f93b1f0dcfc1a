"""The position of every winner: a sum of coordinate times weight, without a multiplier.

A running sum keeps the position of the window's last tap: each new window adds a step, which
depends on whether it is next along the width or begins a line, a plane or a group. Each lane adds
its own offset; where there are many lanes, a few that lie together share a running sum. In a fast
core all this is known before the winner is, so it may take some clocks (:func:`clocks_ahead`). When
the winner is known, only the way back from the last tap to the winning tap is added, for each
dimension. All sums are modulo ``2**index_width``.
"""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.select import select
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import (
    SegmentedAccumulator,
    Timed,
    copied,
    copy_count,
    delay,
    registered,
    timing_parameters,
)
from extremum.hdl.words import WordPort, WordStream, control_layout, result_layout


def _digits(config: CoreConfig, axis: int) -> int:
    """Return how many digits the number of a tap has."""
    window = config.max_window[axis]
    return -(-bits_for(window - 1) // timing_parameters(config).tap_digit) if window > 1 else 0


def _copy_clocks(config: CoreConfig) -> int:
    """Return the clocks that control waits for its copies: on the way to them, and in them."""
    return 2 if copy_count(timing_parameters(config), config.lanes) > 1 else 0


def clocks_ahead(config: CoreConfig) -> int:
    """Return by how many clocks the control of a window must be ahead of its winner.

    These clocks are for the step and the carries of the running position and for the offset of each
    lane. The position is needed when the multiples have been chosen, so the control may also come
    behind the winner: then the number is negative.
    """
    parameters = timing_parameters(config)
    carries = SegmentedAccumulator.latency_of(config.index_width, parameters.position_segment)
    sums = 2 if config.lanes > 1 else 1
    sums_and_copies = sums * parameters.sum_clocks + _copy_clocks(config)
    return carries + sums_and_copies - parameters.multiple_clocks


def latency(config: CoreConfig) -> int:
    """Return the clocks from a winner to its position: the choice of multiples, a tree of sums."""
    if not config.has_windows or not config.index_width:
        return 0
    parameters = timing_parameters(config)
    ways_back = sum(_digits(config, axis) for axis in config.axes)
    return parameters.multiple_clocks + parameters.sum_clocks * ceil_log2(1 + ways_back)


class PositionGenerator(wiring.Component):
    """Turns tap numbers into positions.

    Latency: :func:`latency` clocks. Throughput: one word per clock, taken always.

    Parameters
    ----------
    config
        Configuration of the core.
    tap_bits
        Bits of the tap numbers.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    early_token, early_valid, early_control : In
        The token, valid and control of ``i``, :func:`clocks_ahead` clocks ahead of it.
    i : In(WordStream)
        Winners, in the order of the outputs: groups, depth, height, width.
    positions : Out(ArrayLayout)
        One position for each lane.
    """

    job: data.View
    early_token: Signal
    early_valid: Signal
    early_control: data.View
    i: WordPort
    positions: data.View

    def __init__(self, config: CoreConfig, tap_bits: dict[str, int]):
        self.config = config
        self._clocks = timing_parameters(config).sum_clocks
        self.dimensions = [name for name in DIMENSIONS[::-1] if name in tap_bits]
        super().__init__(
            {
                "job": In(job_layout(config)),
                "early_token": In(1),
                "early_valid": In(1),
                "early_control": In(control_layout(config)),
                "i": In(WordStream(config, result_layout(config, tap_bits))),
                "positions": Out(data.ArrayLayout(unsigned(config.index_width), config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, timing = self.config, timing_parameters(self.config)
        digit = timing.tap_digit
        last_taps = self._last_taps(m)
        steps = [
            {
                name: self._multiples(
                    m, f"{name}.tap_step",
                    min(config.max_window[DIMENSIONS.index(name)], 1 << digit), token,
                )
                for name in self.dimensions
            }
            for token in self._tokens(m, 0)
        ]  # fmt: skip
        for lane in range(config.lanes):
            terms = [last_taps[lane]]
            for name, multiples in steps[lane // timing.lanes_of_copy].items():
                tap = Value.cast(self.i.lanes[lane][f"tap_{name}"])
                for place in range(_digits(config, DIMENSIONS.index(name))):
                    number = tap[place * digit : (place + 1) * digit]
                    way_back = select(number, multiples[: 1 << len(number)]) << (place * digit)
                    way_back = way_back[: config.index_width]
                    terms.append(Timed(m, way_back).moved_to(timing.multiple_clocks))
            position = self._sum(m, terms, f"position{lane}")
            m.d.comb += self.positions[lane].eq(position.at(latency(config)))
        return m

    def _tokens(self, m: Module, clock: int) -> list[Value]:
        """Return the copies of the token, valid so many clocks after it comes with the winners."""
        count = copy_count(timing_parameters(self.config), self.config.lanes)
        token = Timed(m, self.i.token)
        if count > 1:
            # Copies need the token ahead of the winners.
            token = Timed(m, self.early_token, -clocks_ahead(self.config))
        return copied(m, token, clock, count, "token")

    def _sum(self, m: Module, terms: list[Timed], name: str) -> Timed:
        """Return the sum of terms that are valid in the same clock; each clock adds pairs."""
        level = 0
        while len(terms) > 1:
            clock, sums = terms[0].clock, []
            for number, (left, right) in enumerate(zip(terms[::2], terms[1::2], strict=False)):
                total = (left.at(clock) + right.at(clock))[: self.config.index_width]
                sum_name = f"{name}_{level}_{number}"
                sums.append(registered(m, total, clock, name=sum_name, clocks=self._clocks))
            odd = [terms[-1].moved_to(clock + self._clocks)] if len(terms) % 2 else []
            terms, level = sums + odd, level + 1
        return terms[0]

    def _last_taps(self, m: Module) -> list[Timed]:
        """Return the position of the window's last tap in each lane, when multiples are chosen."""
        config = self.config
        if config.lanes == 1:
            return self._running_positions(m, 1)
        timing = timing_parameters(config)
        shared = min(config.lanes, timing.lanes_of_position)
        positions = self._running_positions(m, shared)
        # The token may meet the last word of the job before, which still needs that job's offsets.
        # A small or balanced core has no copies of its registers.
        used = 0 if timing.holds_one_job else positions[0].clock
        shares_of = [
            self._multiples(m, "lane_step", shared, token) for token in self._tokens(m, used)
        ]
        last_taps: list[Timed] = []
        for first, position in zip(range(0, config.lanes, shared), positions, strict=True):
            shares = shares_of[first // timing.lanes_of_copy]
            last_taps.append(position.moved_to(position.clock + self._clocks))
            last_taps += [
                registered(
                    m, (position.value + shares[lane])[: config.index_width], position.clock,
                    name=f"origin_lane{first + lane}", clocks=self._clocks,
                )
                for lane in range(1, min(shared, config.lanes - first))
            ]  # fmt: skip
        return last_taps

    def _running_positions(self, m: Module, shared: int) -> list[Timed]:
        """Return the position of the window's last tap in lane 0, and in each ``shared``-th lane.

        All of them grow by the same steps. Where they begin is added up before the token comes.
        """
        config, job, timing = self.config, self.job, timing_parameters(self.config)
        begin = -clocks_ahead(config)
        early = begin + _copy_clocks(config)
        count = copy_count(timing, config.lanes)
        # The step is that of the innermost dimension that is not at its end.
        token = Timed(m, self.early_token, begin).at(early)
        names = [f"{DIMENSIONS[axis]}.position_step" for axis in config.axes] + ["group_step"]
        job_steps = [shadow(m, timing, register(config, job, name), token, name) for name in names]
        chosen = [job_steps[-1]] * count
        for axis, step in reversed(list(zip(config.axes, job_steps[:-1], strict=True))):
            name = f"final_{DIMENSIONS[axis]}"
            finals = copied(m, Timed(m, self.early_control[name], begin), early, count, name)
            chosen = [Mux(final, outer, step) for final, outer in zip(finals, chosen, strict=True)]
        clock = early + self._clocks
        steps = [Timed(m, step, early).at(clock) for step in chosen]
        loads, goes = (
            copied(m, Timed(m, flag, begin), clock, count, name)
            for flag, name in ((self.early_token, "load"), (self.early_valid, "go"))
        )
        starts = [origin := register(config, job, "origin")]
        if shared < config.lanes:
            step_of_part = (register(config, job, "lane_step") * shared)[: len(origin)]
            distances = list(self._new_multiples(m, step_of_part, -(-config.lanes // shared)))
            starts += [
                delay(m, (origin + distance)[: len(origin)], timing.precomputed_clocks)
                for distance in distances[1:]
            ]
        positions = []
        for part, start in enumerate(starts):
            copy = part * shared // timing.lanes_of_copy
            running = SegmentedAccumulator(
                m, timing, config.index_width, timing.position_segment,
                f"origin{part}" if part else "origin",
                load=loads[copy], start=start, enable=goes[copy], addend=steps[copy],
                clock=clock, reset_less=True,
            )  # fmt: skip
            positions.append(running.sum)
        return positions

    def _multiples(self, m: Module, name: str, count: int, token: Value) -> list[Value]:
        """Return 0, 1, ... times a job register, each copied when the token passes.

        The even multiples are shifts of others.
        """
        parameters = timing_parameters(self.config)
        kept: list[Value] = []
        step = register(self.config, self.job, name)
        for n, multiple in enumerate(self._new_multiples(m, step, count)):
            if n % 2:
                copy_name = f"{name}_{n}" if n > 1 else name
                kept.append(shadow(m, parameters, multiple, token, copy_name))
            else:
                kept.append((kept[n // 2] << 1)[: len(multiple)] if n else multiple)
        return kept

    def _new_multiples(self, m: Module, step: Value, count: int) -> Iterator[Value]:
        """Yield 0, 1, ... times a number that follows from the job at the port.

        The odd multiples are added up in the few clocks after the job came to the port; the even
        ones are shifts of others.
        """
        clocks = timing_parameters(self.config).precomputed_clocks
        new: list[Value] = []
        for n in range(count):
            if n < 2:
                new.append(step if n else Const(0, len(step)))
            elif n % 2:
                new.append(delay(m, (new[n - 1] + step)[: len(step)], clocks))
            else:
                new.append((new[n // 2] << 1)[: len(step)])
            yield new[n]
