"""One dimension of the sliding window: the winner of the taps along it."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl import storage
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.counter import Cycle
from extremum.hdl.flow import Flow, Words, candidate_layout, delay, derived, held
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.winner import Tap, tree, tree_latency


def latency(config: CoreConfig, axis: int) -> int:
    """Return the clocks of one dimension's stage: storage, choice of taps, tree."""
    if config.max_window[axis] == 1:
        return 0
    line = storage.latency(config.max_spacing[axis])
    return line + 1 + tree_latency(config.max_window[axis])


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
        Which dimension, as a number into ``DIMENSIONS``.
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
        A word for each slot that gives a window of the dimensions within.
    o : Out(Flow)
        A word for each window.
    """

    job: data.View
    i: Words
    o: Words

    def __init__(self, config: CoreConfig, axis: int, taps: dict[str, int]):
        self.config = config
        self.axis = axis
        self.window = config.max_window[axis]
        self.i_layout = candidate_layout(config, taps)
        # Where no position leaves the core nobody asks for the tap.
        self.has_number = self.window > 1 and config.index_width > 0
        self.o_taps = taps | (
            {DIMENSIONS[axis]: bits_for(self.window - 1)} if self.has_number else {}
        )
        self.o_layout = candidate_layout(config, self.o_taps)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(Flow(config, self.i_layout)),
                "o": Out(Flow(config, self.o_layout)),
            }
        )

    @property
    def latency(self) -> int:
        """Clocks from a word to the winner that it completes."""
        return latency(self.config, self.axis)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        name = DIMENSIONS[self.axis]
        control = data.View(
            self.i.control.shape(), delay(m, Value.cast(self.i.control), self.latency)
        )
        gives = self.i.valid & self.i.control[f"emit_{name}"]
        m.d.comb += [
            self.o.token.eq(delay(m, self.i.token, self.latency)),
            self.o.valid.eq(delay(m, gives, self.latency)),
            self.o.step.eq(delay(m, self.i.token | gives, self.latency)),
            self.o.control.eq(control),
        ]
        if self.window == 1:
            m.d.comb += Value.cast(self.o.lanes).eq(Value.cast(self.i.lanes))
            return m
        won = tree(m, self._taps(m))
        for lane, value in enumerate(won.lanes):
            m.d.comb += Value.cast(self.o.lanes[lane]).eq(value)
            if self.has_number:
                # From here on the tap's number is counted from the last tap of the window.
                number = data.View(self.o_layout, value)[f"tap_{name}"]
                shifted = number + control[f"shift_{name}"]
                m.d.comb += self.o.lanes[lane][f"tap_{name}"].eq(shifted)
        return m

    def _taps(self, m: Module) -> list[Tap]:
        """Return the candidates of the window, in scan order."""
        name = DIMENSIONS[self.axis]
        word = Value.cast(self.i.lanes)
        spacing = register(self.config, self.job, f"{name}.spacing")
        m.submodules.line = line = storage.DelayLine(
            len(word),
            self.window - 1,
            self.config.max_spacing[self.axis],
            spacing.value if isinstance(spacing, Const) else None,
        )
        m.d.comb += [
            line.token.eq(self.i.token),
            line.spacing.eq(spacing),
            line.valid.eq(self.i.valid),
            line.step.eq(self.i.step),
            line.i.eq(word),
        ]
        if line.latency:
            m.d.comb += line.last_row.eq(self._ends_round(m))
        newest_first = Signal(len(word) * self.window, reset_less=True)
        m.d.sync += newest_first.eq(Cat(delay(m, word, line.latency), line.o))
        present = delay(m, Value.cast(self.i.control[f"present_{name}"]), line.latency + 1)
        return [
            self._tap(newest_first.word_select(tap, len(word)), present[tap], tap)
            for tap in reversed(range(self.window))
        ]

    def _ends_round(self, m: Module) -> Value:
        """Return whether the rows of the storage come round with a word.

        With ``dilation`` slots they do. A slot ends with the last window of the dimensions within.
        """
        within = (axis for axis in self.config.axes if axis > self.axis)
        ends_slot = Cat(*(self.i.control[f"final_{DIMENSIONS[axis]}"] for axis in within)).all()
        token = self.i.token
        dilation = register(self.config, self.job, f"{DIMENSIONS[self.axis]}.dilation")
        new_less_one = derived(m, lambda dilation: dilation - 1, dilation)
        if not isinstance(new_less_one, Const):
            new_less_one = new_less_one[: len(dilation)]
        slots = Cycle(m, held(m, new_less_one, token, "dilation"), "slot")
        slots.run(token, token | (self.i.valid & ends_slot), new_less_one)
        return ends_slot & slots.last

    def _tap(self, word: Value, present: Value, number: int) -> Tap:
        """Return a stored word as a candidate that knows the number of its tap."""
        size = self.i_layout.size
        tap_number = Const(number, self.o_taps[DIMENSIONS[self.axis]] if self.has_number else 0)
        lanes = [
            Cat(word[lane * size : (lane + 1) * size], tap_number)
            for lane in range(self.config.lanes)
        ]
        return Tap(present, self.o_layout, [Value.cast(lane) for lane in lanes])
