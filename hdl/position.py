"""The position of every winner: a sum of coordinate times weight, without a multiplier.

The position of a window's last tap steps by what going on to the next window adds: along the
width, to the next line, plane or group. Each lane adds its share. All this is known before the
winner is, so it may take some clocks. What is left is, for each dimension, the way back to the
winning tap. All of it is modulo the width of an index.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.flow import (
    Flow,
    Words,
    choose,
    control_layout,
    delay,
    held,
    result_layout,
)
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register

DIGIT = 3
"""Bits of a tap's number that are multiplied in one clock: by 0 to 7."""
PART = 16
"""Bits of the running position that are summed up in one clock."""
CARRY_LATENCY = 2
"""Clocks of the carry from one part to the next: one to get there."""


def _digits(config: CoreConfig, axis: int) -> int:
    """Return how many digits the number of a tap has."""
    window = config.max_window[axis]
    return -(-bits_for(window - 1) // DIGIT) if window > 1 else 0


def lead(config: CoreConfig) -> int:
    """Return by how many clocks the control of a window is ahead of its winner."""
    return CARRY_LATENCY * max(0, -(-config.index_width // PART) - 1) + (config.lanes > 1)


def latency(config: CoreConfig) -> int:
    """Return the clocks from a winner to its position: its multiples, and a tree of sums."""
    if not config.has_windows or not config.index_width:
        return 0
    ways_back = sum(_digits(config, axis) for axis in config.axes)
    return 1 + ceil_log2(1 + ways_back)


class PositionGenerator(wiring.Component):
    """Turns tap numbers into positions.

    Latency: :func:`latency` clocks. Throughput: one word per clock, taken always.

    Parameters
    ----------
    config
        Of the core.
    taps
        Bits of the tap numbers.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    early_token, early_valid, early_control : In
        As in ``i``, :func:`lead` clocks ahead of it.
    i : In(Flow)
        Winners, in the order of the outputs: groups, depth, height, width.
    positions : Out(ArrayLayout)
        One for each lane.
    """

    job: data.View
    early_token: Signal
    early_valid: Signal
    early_control: data.View
    i: Words
    positions: data.View

    def __init__(self, config: CoreConfig, taps: dict[str, int]):
        self.config = config
        self.axes = [axis for axis in DIMENSIONS[::-1] if axis in taps]
        super().__init__(
            {
                "job": In(job_layout(config)),
                "early_token": In(1),
                "early_valid": In(1),
                "early_control": In(control_layout(config)),
                "i": In(Flow(config, result_layout(config, taps))),
                "positions": Out(data.ArrayLayout(unsigned(config.index_width), config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, token = self.config, self.i.token
        origins = self._origins(m)
        steps = {
            axis: self._multiples(
                m,
                f"{axis}.tap_step",
                min(config.max_window[DIMENSIONS.index(axis)], 1 << DIGIT),
                token,
            )
            for axis in self.axes
        }
        for lane in range(config.lanes):
            terms = [origins[lane]]
            for axis, multiples in steps.items():
                tap = Value.cast(self.i.lanes[lane][f"tap_{axis}"])
                for digit in range(_digits(config, DIMENSIONS.index(axis))):
                    number = tap[digit * DIGIT : (digit + 1) * DIGIT]
                    way_back = choose(number, multiples[: 1 << len(number)]) << (digit * DIGIT)
                    terms.append(delay(m, way_back[: config.index_width], 1))
            position = self._sum(m, terms, latency(config) - 1, f"position{lane}")
            m.d.comb += self.positions[lane].eq(position)
        return m

    def _sum(self, m: Module, terms: list[Value], clocks: int, name: str) -> Value:
        """Return the sum of some terms, so many clocks late: two are added in each."""
        for clock in range(clocks):
            pairs = zip(terms[::2], terms[1::2], strict=False)
            sums = []
            for number, (left, right) in enumerate(pairs):
                total = Signal(
                    self.config.index_width, name=f"{name}_{clock}_{number}", reset_less=True
                )
                m.d.sync += total.eq(left + right)
                sums.append(total)
            odd = [delay(m, terms[-1], 1)] if len(terms) % 2 else []
            terms = sums + odd
        return terms[0]

    def _origins(self, m: Module) -> list[Value]:
        """Return, a clock late, the position of the window's last tap in each lane."""
        config = self.config
        origin = self._origin(m)
        if config.lanes == 1:
            return [origin]
        shares = self._multiples(m, "lane_step", config.lanes, self.i.token)
        origins: list[Value] = [delay(m, origin, 1)]
        for lane in range(1, config.lanes):
            own = Signal(config.index_width, name=f"origin_lane{lane}", reset_less=True)
            m.d.sync += own.eq(origin + shares[lane])
            origins.append(own)
        return origins

    def _origin(self, m: Module) -> Value:
        """Return the position of the window's last tap, in time for each lane to add its share."""
        config, job, token = self.config, self.job, self.early_token
        # The innermost dimension that is not at its end moves on.
        names = [f"{DIMENSIONS[axis]}.position_step" for axis in config.axes] + ["group_step"]
        steps = [held(m, register(config, job, name), token, name) for name in names]
        chosen = steps[-1]
        for axis, step in reversed(list(zip(config.axes, steps[:-1], strict=True))):
            chosen = Mux(self.early_control[f"final_{DIMENSIONS[axis]}"], chosen, step)
        new = register(config, job, "origin")
        step, load, go = (delay(m, value, 1) for value in (chosen, token, self.early_valid))
        # Each part is summed up some clocks after the one below it.
        lows = range(0, config.index_width, PART)
        parts, carry = [], Const(0, 1)
        for number, low in enumerate(lows):
            width, late = min(PART, config.index_width - low), CARRY_LATENCY * number
            total = Signal(width + 1, name=f"origin_sum{low}")
            origin = Signal(width, name=f"origin{low}", reset_less=True)
            addend, begins, moves = (
                delay(m, value, late) for value in (step[low:][:width], load, go)
            )
            m.d.comb += total.eq(origin + addend + carry)
            with m.If(begins):
                m.d.sync += origin.eq(new[low:][:width])
            with m.Elif(moves):
                m.d.sync += origin.eq(total)
            parts.append(delay(m, origin, CARRY_LATENCY * (len(lows) - 1 - number)))
            carry = delay(m, total[width], CARRY_LATENCY)
        return Cat(parts)

    def _multiples(self, m: Module, name: str, count: int, token: Value) -> list[Value]:
        """Return 0, 1, ... times a job register, each held from the token on.

        The odd ones are summed up in the few clocks after the job came to the port, and the even
        ones are shifts.
        """
        step = register(self.config, self.job, name)
        new: list[Value] = [Const(0, len(step)), step]
        kept: list[Value] = [Const(0, len(step)), held(m, step, token, name)]
        for n in range(2, count):
            if n % 2:
                new.append(delay(m, (new[n - 1] + step)[: len(step)], 1))
                kept.append(held(m, new[n], token, f"{name}_{n}"))
            else:
                new.append((new[n // 2] << 1)[: len(step)])
                kept.append((kept[n // 2] << 1)[: len(step)])
        return kept[:count]
