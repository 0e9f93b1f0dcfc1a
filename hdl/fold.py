"""The fold: lanes that carry consecutive elements of one reduction are reduced to one."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import Timed, copied, copy_count, domain, timing_parameters
from extremum.hdl.winner import Tap, tree, tree_latency
from extremum.hdl.words import WordPort, Words, WordStream, candidate_layout


def latency(config: CoreConfig) -> int:
    """Return the clocks of the fold: the tree, then the choice between folding and passing on."""
    if not config.can_fold:
        return 0
    parameters = timing_parameters(config)
    return tree_latency(parameters, config.lanes) + parameters.choose_clocks


class Fold(wiring.Component):
    """Puts the winner of all lanes into each lane in a job that folds; else passes the lanes on.

    In a fold, the lanes from ``tail`` on are absent in the last word of each row.

    Latency: :func:`latency` clocks. Throughput: one word per clock, taken always.

    Parameters
    ----------
    config
        Configuration of the core.
    tap_bits
        Bits of the tap numbers that the words carry already.

    Attributes
    ----------
    o_tap_bits
        Bits of the tap numbers that the results carry: ``"lane"`` is the winner's lane.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    i, o : WordStream
        Words.
    """

    job: data.View
    i: WordPort
    o: WordPort

    def __init__(self, config: CoreConfig, tap_bits: dict[str, int]):
        self.config = config
        self.i_layout = candidate_layout(config, tap_bits)
        self.o_tap_bits = tap_bits | {"lane": ceil_log2(config.lanes)}
        self.o_layout = candidate_layout(config, self.o_tap_bits)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(WordStream(config, self.i_layout)),
                "o": Out(WordStream(config, self.o_layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, words = self.config, Words.of(m, self.i)
        parameters, token = timing_parameters(config), words.token.at(0)
        in_tail = self._lanes_in_tail(m, token)
        decreasing = self._shadow(m, "decreasing", token)
        numbers = [Const(lane, self.o_tap_bits["lane"]) for lane in range(config.lanes)]
        taps = [
            Tap(
                Timed(m, ~self.i.control.last | in_tail[lane]),
                self.o_layout,
                [Timed(m, Cat(Value.cast(self.i.lanes[lane]), number))],
            )
            for lane, number in enumerate(numbers)
        ]
        won = tree(m, parameters, taps, decreasing)
        count, clocks = copy_count(parameters, config.lanes), parameters.choose_clocks
        tokens = copied(m, words.token, won.clock, count, "token")
        folds = [self._shadow(m, "fold", token) for token in tokens]
        passed = Value.cast(words.lanes.at(won.clock))
        for lane in range(config.lanes):
            own = Cat(passed.word_select(lane, self.i_layout.size), Const(0, len(numbers[0])))
            chosen = Signal(len(own), name=f"lane{lane}", reset_less=True)
            fold = folds[lane // parameters.lanes_of_copy]
            m.d[domain(clocks)] += chosen.eq(Mux(fold, won.lanes[0].value, own))
            m.d.comb += Value.cast(self.o.lanes[lane]).eq(chosen)
        words.drive(m, self.o, won.clock + clocks, lanes=None, step=None)
        return m

    def _lanes_in_tail(self, m: Module, token: Value) -> list[Value]:
        """Return for each lane whether it is present in the last word of a row.

        In a crowded core each lane keeps this as a flag, since the way from one register to all
        lanes takes as long as the comparison of their words.
        """
        lanes, parameters = range(self.config.lanes), timing_parameters(self.config)
        if copy_count(parameters, self.config.lanes) == 1:
            tail = self._shadow(m, "tail", token)
            return [tail > lane for lane in lanes]
        new = register(self.config, self.job, "tail")
        return [shadow(m, parameters, new > lane, token, f"in_tail{lane}") for lane in lanes]

    def _shadow(self, m: Module, name: str, token: Value) -> Value:
        return shadow(
            m, timing_parameters(self.config), register(self.config, self.job, name), token, name
        )
