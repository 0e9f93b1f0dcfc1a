"""The fold: lanes that carry consecutive elements of one reduction are reduced to one."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from extremum.hdl.config import CoreConfig
from extremum.hdl.flow import Flow, Words, candidate_layout, delay, held
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.winner import Tap, tree, tree_latency


def latency(config: CoreConfig) -> int:
    """Return the clocks of the fold: the tree, and the choice of how the lanes are used."""
    return tree_latency(config.lanes) + 1 if config.can_fold else 0


class Fold(wiring.Component):
    """Puts the winner of all lanes into each lane, in a job that folds; else passes the lanes on.

    In a fold the lanes of a row's last word from ``tail`` on are absent.

    Latency: :func:`latency` clocks. Throughput: one word per clock, taken always.

    Parameters
    ----------
    config
        Of the core.
    taps
        Bits of the tap numbers that the words carry already.

    Attributes
    ----------
    o_taps
        Bits of the tap numbers that the results carry: ``"lane"`` is the winner's lane.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    i, o : Flow
        Words.
    """

    job: data.View
    i: Words
    o: Words

    def __init__(self, config: CoreConfig, taps: dict[str, int]):
        self.config = config
        self.i_layout = candidate_layout(config, taps)
        self.o_taps = taps | {"lane": ceil_log2(config.lanes)}
        self.o_layout = candidate_layout(config, self.o_taps)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(Flow(config, self.i_layout)),
                "o": Out(Flow(config, self.o_layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        clocks = latency(config)
        tail = held(m, register(config, self.job, "tail"), self.i.token, "tail")
        decreasing = held(m, register(config, self.job, "decreasing"), self.i.token, "decreasing")
        taps = [
            Tap(
                ~self.i.control.last | (tail > lane),
                self.o_layout,
                [Cat(Value.cast(self.i.lanes[lane]), Const(lane, self.o_taps["lane"]))],
            )
            for lane in range(config.lanes)
        ]
        won = tree(m, taps, decreasing)

        before = clocks - 1
        fold = held(m, register(config, self.job, "fold"), delay(m, self.i.token, before), "fold")
        passed = delay(m, Value.cast(self.i.lanes), before)
        for lane in range(config.lanes):
            own = Cat(passed.word_select(lane, self.i_layout.size), Const(0, self.o_taps["lane"]))
            chosen = Signal(len(own), name=f"lane{lane}", reset_less=True)
            m.d.sync += chosen.eq(Mux(fold, won.lanes[0], own))
            m.d.comb += Value.cast(self.o.lanes[lane]).eq(chosen)
        m.d.comb += [
            self.o.token.eq(delay(m, self.i.token, clocks)),
            self.o.valid.eq(delay(m, self.i.valid, clocks)),
            Value.cast(self.o.control).eq(delay(m, Value.cast(self.i.control), clocks)),
        ]
        return m
