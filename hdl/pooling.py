"""One dimension of the sliding window: the winner of the taps along it."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.config import CoreConfig
from extremum.hdl.flow import Flow, Words, candidate_layout, delay, held
from extremum.hdl.job import AXES, job_layout
from extremum.hdl.schedule import Countdown, OutputSchedule
from extremum.hdl.storage import DelayLine
from extremum.hdl.winner import Tap, tree, tree_latency


def latency(config: CoreConfig, axis: int) -> int:
    """Return the clocks of one dimension's stage: schedule, choice of taps, tree."""
    return OutputSchedule.LATENCY + 1 + tree_latency(config.max_window[axis])


class SlidingWindow(wiring.Component):
    """Slides a window over one dimension, as ``extremum.model.max_pooling`` does over all.

    The winner of a box is the winner of its planes' winners, theirs that of their lines', so the
    width's stage feeds the height's, and that the depth's. Each stores what it is given: the
    first single elements, the second lines of winners, the third planes of them.

    Latency: :attr:`latency` clocks. Throughput: one word per clock, taken always.

    Parameters
    ----------
    config
        Of the core.
    axis
        Which dimension, as in ``AXES``.
    taps
        Bits of the tap numbers that the words carry already.

    Attributes
    ----------
    o_taps
        Bits of the tap numbers that the results carry.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    i : In(Flow)
        ``inner`` words for each slot.
    o : Out(Flow)
        ``inner`` winners for each window.
    """

    job: data.View
    i: Words
    o: Words

    def __init__(self, config: CoreConfig, axis: int, taps: dict[str, int]):
        self.config = config
        self.axis = axis
        self.window = config.max_window[axis]
        self.i_layout = candidate_layout(config, taps)
        self.o_taps = taps | {AXES[axis]: bits_for(self.window - 1)}
        self.o_layout = candidate_layout(config, self.o_taps)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(Flow(self.i_layout, config.lanes)),
                "o": Out(Flow(self.o_layout, config.lanes)),
            }
        )

    @property
    def latency(self) -> int:
        """Clocks from a word to the winner that it completes."""
        return latency(self.config, self.axis)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = self.job[AXES[self.axis]]

        # Control: to which slot the word belongs, and what is given in it.
        m.submodules.schedule = schedule = OutputSchedule(self.config, self.axis)
        inner = held(m, registers.inner, self.i.token, "inner")
        words = Countdown(m, len(inner), "word")
        with m.If(self.i.token):
            words.load(registers.inner)
        with m.Elif(self.i.valid & words.last):
            words.load(inner)
        with m.Elif(self.i.valid):
            words.step()
        m.d.comb += [
            schedule.registers.eq(registers),
            schedule.token.eq(self.i.token),
            schedule.step.eq(self.i.valid & words.last),
        ]

        # Data: delayed until the schedule has spoken.
        ahead = OutputSchedule.LATENCY
        word = delay(m, Value.cast(self.i.lanes), ahead)
        m.submodules.line = line = DelayLine(
            len(word), self.window - 1, self.config.max_spacing[self.axis]
        )
        valid = delay(m, self.i.valid, ahead)
        m.d.comb += [
            line.token.eq(delay(m, self.i.token, ahead)),
            line.spacing.eq(registers.spacing),
            line.step.eq(valid),
            line.i.eq(word),
        ]

        newest_first = Signal(len(word) * self.window, reset_less=True)
        present, given, empty = Signal(self.window), Signal(), Signal()
        m.d.sync += [
            newest_first.eq(Cat(line.i, line.o)),
            present.eq(schedule.present),
            given.eq(valid & schedule.emit),
            empty.eq(delay(m, self.i.empty, ahead) | ~schedule.present.any()),
        ]
        oldest_first = [
            self._tap(newest_first.word_select(tap, len(word)), present[tap], tap)
            for tap in reversed(range(self.window))
        ]
        won = tree(m, oldest_first)

        after = tree_latency(self.window)
        m.d.comb += [
            self.o.token.eq(delay(m, self.i.token, self.latency)),
            self.o.valid.eq(delay(m, given, after)),
            self.o.empty.eq(delay(m, empty, after)),
            Value.cast(self.o.lanes).eq(Cat(*won.lanes)),
        ]
        return m

    def _tap(self, word: Value, present: Value, number: int) -> Tap:
        """Return a stored word as a candidate that knows the number of its tap."""
        size = self.i_layout.size
        tap_number = Const(number, self.o_taps[AXES[self.axis]])
        lanes = [
            Cat(word[lane * size : (lane + 1) * size], tap_number)
            for lane in range(self.config.lanes)
        ]
        return Tap(present, self.o_layout, [Value.cast(lane) for lane in lanes])
