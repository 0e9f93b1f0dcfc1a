"""The position of every winner: a sum of coordinate times weight, without a multiplier.

The position of a window's last tap steps by what going on to the next window adds: along the
width, to the next line, plane or group. From it the taps back to the winner are taken off, and the
lane's share is added. All of it is modulo the width of an index.
"""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import CoreConfig
from extremum.hdl.flow import Flow, Words, choose, delay, held, result_layout
from extremum.hdl.job import AXES, job_layout, register


def latency(config: CoreConfig) -> int:
    """Return the clocks from a winner to its position: a choice, and each term that is added."""
    if not config.has_windows or not config.index_width:
        return 0
    return 2 + sum(window > 1 for window in config.max_window)


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
    i : In(Flow)
        Winners, in the order of the outputs: groups, depth, height, width.
    positions : Out(ArrayLayout)
        One for each lane.
    """

    job: data.View
    i: Words
    positions: data.View

    def __init__(self, config: CoreConfig, taps: dict[str, int]):
        self.config = config
        self.axes = [axis for axis in AXES[::-1] if axis in taps]
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(Flow(config, result_layout(config, taps))),
                "positions": Out(data.ArrayLayout(unsigned(config.index_width), config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, width = self.config, self.config.index_width
        origin = self._origin(m)
        tokens = [delay(m, self.i.token, clock) for clock in range(latency(config) + 1)]
        shares = self._multiples(m, "lane_step", config.lanes, tokens[1])
        backs = [
            self._multiples(
                m, f"{axis}.tap_step", config.max_window[AXES.index(axis)], tokens[clock]
            )
            for clock, axis in enumerate(self.axes, start=2)
        ]
        for lane in range(config.lanes):
            total = Signal(width, name=f"position{lane}", reset_less=True)
            m.d.sync += total.eq(origin + shares[lane])
            for clock, (axis, table) in enumerate(zip(self.axes, backs, strict=True), start=2):
                tap = delay(m, Value.cast(self.i.lanes[lane][f"tap_{axis}"]), clock)
                rest = Signal(width, name=f"position{lane}_{axis}", reset_less=True)
                m.d.sync += rest.eq(total - choose(tap, table))
                total = rest
            m.d.comb += self.positions[lane].eq(total)
        return m

    def _origin(self, m: Module) -> Signal:
        """Return, a clock late, the position of the window's last tap."""
        config, job, token = self.config, self.job, self.i.token
        # The innermost dimension that is not at its end moves on.
        names = [f"{AXES[axis]}.position_step" for axis in config.axes] + ["group_step"]
        steps = [held(m, register(config, job, name), token, name) for name in names]
        chosen = steps[-1]
        for axis, step in reversed(list(zip(config.axes, steps[:-1], strict=True))):
            chosen = Mux(self.i.control[f"final_{AXES[axis]}"], chosen, step)
        step = Signal(config.index_width, reset_less=True)
        m.d.sync += step.eq(chosen)
        origin = Signal(config.index_width, reset_less=True)
        late_token, late_valid = delay(m, token, 1), delay(m, self.i.valid, 1)
        with m.If(late_token):
            m.d.sync += origin.eq(register(config, job, "origin"))
        with m.Elif(late_valid):
            m.d.sync += origin.eq(origin + step)
        return origin

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
