"""The position of every winner: a sum of coordinate times weight, without a multiplier.

The position of a window's last tap is a counter that steps by a stride, a line's, a plane's or a
group's worth. From it the taps back to the winner are taken off, and the ordinal of a reduced
window and the lane's share are added. All of it is modulo 2**32.
"""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import POSITION_WIDTH, CoreConfig
from extremum.hdl.flow import Flow, Words, choose, delay, held, result_layout
from extremum.hdl.job import AXES, job_layout
from extremum.hdl.schedule import Countdown


def latency(config: CoreConfig) -> int:
    """Return the clocks from a winner to its position: one for each term that is added."""
    return 2 + sum(window > 1 for window in config.max_window)


class PositionGenerator(wiring.Component):
    """Turns tap numbers into positions, and counts the results of a job.

    Latency: :attr:`latency` clocks. Throughput: one word per clock, taken always.

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
    i : In(Flow)
        Winners, in the order of the outputs: groups, depth, height, width.
    positions : Out(ArrayLayout)
        One for each lane.
    live : Out(lanes)
        Which lanes carry a slice.
    last : Out(1)
        The word is its job's last.
    """

    job: data.View
    i: Words
    positions: data.View
    live: Signal
    last: Signal

    def __init__(self, config: CoreConfig, taps: dict[str, int]):
        self.config = config
        self.taps = taps
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(Flow(result_layout(config, taps), config.lanes)),
                "positions": Out(data.ArrayLayout(unsigned(POSITION_WIDTH), config.lanes)),
                "live": Out(config.lanes),
                "last": Out(1),
            }
        )

    @property
    def latency(self) -> int:
        """Clocks from a winner to its position."""
        return latency(self.config)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        origin, last_group, last = self._walk(m)
        tail = held(m, self.job.tail, self.i.token, "tail")
        lanes = range(self.config.lanes)
        m.d.comb += self.last.eq(delay(m, last, self.latency))
        live = Signal(self.config.lanes)
        for lane in lanes:
            m.d.comb += live[lane].eq(~last_group | (tail > lane))
        m.d.comb += self.live.eq(delay(m, live, self.latency))

        # A lane's share and a tap's are looked up among their multiples, made once for a job.
        shares = [
            held(m, (self.job.lane_step * lane)[:POSITION_WIDTH], self.i.token, f"lane{lane}")
            for lane in lanes
        ]
        backs = {}
        for clock, axis in enumerate(self.taps, start=2):
            token = delay(m, self.i.token, clock)
            backs[axis] = [
                held(m, (self.job[axis].tap_step * tap)[:POSITION_WIDTH], token, f"{axis}{tap}")
                for tap in range(self.config.max_window[AXES.index(axis)])
            ]
        for lane in lanes:
            winner = self.i.lanes[lane]
            position = Signal(POSITION_WIDTH, name=f"position{lane}_origin", reset_less=True)
            m.d.sync += position.eq(origin + shares[lane])
            terms = [("ordinal", Value.cast(winner.ordinal))]
            for clock, axis in enumerate(self.taps, start=2):
                tap = delay(m, Value.cast(winner[f"tap_{axis}"]), clock)
                back = choose(tap, backs[axis])
                terms.append((axis, -back))
            terms[0] = ("ordinal", delay(m, terms[0][1], 1))
            for name, term in terms:
                total = Signal(POSITION_WIDTH, name=f"position{lane}_{name}", reset_less=True)
                m.d.sync += total.eq(position + term)
                position = total
            m.d.comb += self.positions[lane].eq(position)
        return m

    def _walk(self, m: Module) -> tuple[Value, Value, Value]:
        """Return the position of the window's last tap; whether the group, the word is last."""
        token = self.i.token
        levels = [
            (self.job[axis].outputs, self.job[axis].position_step, axis) for axis in reversed(AXES)
        ]
        levels.append((self.job.groups, self.job.group_step, "group"))

        counts = [Countdown(m, len(Value.cast(count)), name) for count, _, name in levels]
        held_counts = [held(m, count, token, f"{name}_outputs") for count, _, name in levels]
        steps = [held(m, step, token, f"{name}_step") for _, step, name in levels]
        origins = [Signal(POSITION_WIDTH, name=f"{name}_origin") for _, _, name in levels]

        with m.If(token):
            for (count, _, _), counter, origin in zip(levels, counts, origins, strict=True):
                counter.load(Value.cast(count))
                m.d.sync += origin.eq(self.job.origin)
        with m.Elif(self.i.valid):
            inner_last: Value = Const(1)
            for level, counter in enumerate(counts):
                # The innermost level that is not at its end steps; all within it begin again.
                with m.If(inner_last & ~counter.last):
                    counter.step()
                    moved = origins[level] + steps[level]
                    m.d.sync += [origin.eq(moved) for origin in origins[: level + 1]]
                    for inner in range(level):
                        counts[inner].load(held_counts[inner])
                inner_last = inner_last & counter.last
        last = Signal()
        m.d.comb += last.eq(counts[0].last & counts[1].last & counts[2].last & counts[3].last)
        return origins[0], counts[-1].last, last
