"""One dimension of the sliding window: the winner of the taps along it."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl import storage
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.counter import ModuloCounter
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.shadow import precomputed, shadow
from extremum.hdl.timing import Timed, copied, copy_count, registered, timing_parameters
from extremum.hdl.winner import Tap, tree, tree_latency
from extremum.hdl.words import WordPort, Words, WordStream, candidate_layout


def _storage_latency(config: CoreConfig, axis: int) -> int:
    """Return the clocks from a word to the older words that this dimension has stored."""
    parameters = timing_parameters(config)
    is_part = copy_count(parameters, config.lanes) > 1
    return storage.latency(config.max_spacing[axis], parameters, is_part=is_part)


def latency(config: CoreConfig, axis: int) -> int:
    """Return the clocks of one dimension's stage: the storage, the presence of taps, the tree."""
    if config.max_window[axis] == 1:
        return 0
    parameters = timing_parameters(config)
    tree_clocks = tree_latency(parameters, config.max_window[axis])
    return (
        _storage_latency(config, axis)
        + parameters.tap_clocks
        + tree_clocks
        + parameters.stage_clocks
    )


class SlidingWindow(wiring.Component):
    """Slides a window over one dimension, as ``extremum.model.max_pooling`` does over all.

    The winner of a box is found one dimension after the other: first the winner of each line, then
    of each plane, then of the box. So the stage of the width feeds that of the height, which feeds
    that of the depth. Each stage stores the words that it is given: the first stores single
    elements, the second lines of winners, the third planes of winners.

    Latency: :func:`latency` clocks. Throughput: one word per clock, taken always.

    Parameters
    ----------
    config
        Configuration of the core.
    axis
        The dimension, as an index into ``DIMENSIONS``.
    tap_bits
        Bits of the tap numbers that the words carry already.

    Attributes
    ----------
    o_tap_bits
        Bits of the tap numbers that the results carry.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    i : In(WordStream)
        A word for each slot in which the dimensions within give a window.
    go : In(1)
        As in :class:`extremum.hdl.storage.DelayLine`, and only where that has it.
    o : Out(WordStream)
        A word for each window.
    """

    job: data.View
    i: WordPort
    go: Signal
    o: WordPort

    def __init__(self, config: CoreConfig, axis: int, tap_bits: dict[str, int]):
        self.config = config
        self.axis = axis
        self.name = DIMENSIONS[axis]
        self.window = config.max_window[axis]
        self.i_layout = candidate_layout(config, tap_bits)
        # The number of the winning tap is needed only if positions leave the core.
        self.has_number = self.window > 1 and config.index_width > 0
        number = {self.name: bits_for(self.window - 1)} if self.has_number else {}
        self.o_tap_bits = tap_bits | number
        self.o_layout = candidate_layout(config, self.o_tap_bits)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(WordStream(config, self.i_layout)),
                "o": Out(WordStream(config, self.o_layout)),
            }
            | storage.go_member(timing_parameters(config))
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words, clocks = Words.of(m, self.i), latency(self.config, self.axis)
        gives = self.i.valid & self.i.control[f"emit_{self.name}"]
        passed = words.lanes if self.window == 1 else None
        words.drive(
            m, self.o, clocks,
            valid=Timed(m, gives), step=Timed(m, self.i.token | gives), lanes=passed,
        )  # fmt: skip
        if self.window == 1:
            return m
        winners: list[Timed] = []
        for taps in self._taps(m):
            winners += tree(m, timing_parameters(self.config), taps).lanes
        for lane, value in enumerate(winners):
            m.d.comb += Value.cast(self.o.lanes[lane]).eq(value.at(clocks))
            if self.has_number:
                # So far the number is counted from the slot's own tap. From here on it is counted
                # from the window's last tap, which in an early window comes ``shift`` taps later.
                number = data.View(self.o_layout, value.at(clocks))[f"tap_{self.name}"]
                shifted = number + self.o.control[f"shift_{self.name}"]
                m.d.comb += self.o.lanes[lane][f"tap_{self.name}"].eq(shifted)
        return m

    def _taps(self, m: Module) -> list[list[Tap]]:
        """Return the candidates of the window, in scan order, once for each part of the lanes."""
        config = self.config
        word = Timed(m, Value.cast(self.i.lanes))
        width = len(word.value)
        spacing_less_one = register(config, self.job, f"{self.name}.spacing")
        m.submodules.storage = line = self._storage(
            spacing_less_one.value if isinstance(spacing_less_one, Const) else None
        )
        m.d.comb += [
            line.token.eq(self.i.token),
            line.spacing_less_one.eq(spacing_less_one),
            line.valid.eq(self.i.valid),
            line.step.eq(self.i.step),
            line.i.eq(word.value),
        ]
        if timing_parameters(config).holds_one_job:
            m.d.comb += line.go.eq(self.go)
        if config.max_spacing[self.axis] > timing_parameters(config).register_spacing:
            m.d.comb += line.last_row.eq(self._is_last_row(m))
        newest_first = registered(
            m, Cat(word.at(line.latency), line.o), line.latency, name="newest_first",
            clocks=timing_parameters(config).tap_clocks,
        )  # fmt: skip
        clock = newest_first.clock
        return [
            [
                self._tap(
                    Timed(m, newest_first.value.word_select(tap, width), clock),
                    Timed(m, present[tap], clock),
                    tap, lanes,
                )
                for tap in reversed(range(self.window))
            ]
            for lanes, present in zip(self._parts(), self._present(m, clock), strict=True)
        ]  # fmt: skip

    def _parts(self) -> list[range]:
        """Return the lanes of each part, whose flags are copies of its own."""
        lanes, of_part = range(self.config.lanes), timing_parameters(self.config).lanes_of_copy
        return [lanes[first : first + of_part] for first in lanes[::of_part]]

    def _present(self, m: Module, clock: int) -> list[Value]:
        """Return for each part of the lanes a bit for each tap: whether it is an element."""
        flags = Timed(m, Value.cast(self.i.control[f"present_{self.name}"]))
        count = len(self._parts())
        if count == 1:
            return [flags.at(clock)]
        taps = (
            copied(m, Timed(m, flag), clock, count, f"present{tap}_")
            for tap, flag in enumerate(flags.value)
        )
        return [Cat(part) for part in zip(*taps, strict=True)]

    def _storage(
        self, fixed_spacing_less_one: int | None
    ) -> storage.DelayLine | storage.DelayLineInParts:
        """Return what stores the words, in as many parts as the lanes have copies of a flag."""
        config, parameters = self.config, timing_parameters(self.config)
        taps, max_spacing = self.window - 1, config.max_spacing[self.axis]
        widths = [self.i_layout.size * len(lanes) for lanes in self._parts()]
        if len(widths) == 1:
            return storage.DelayLine(
                widths[0], taps, max_spacing, fixed_spacing_less_one, parameters=parameters
            )
        return storage.DelayLineInParts(
            widths, taps, max_spacing, fixed_spacing_less_one, parameters=parameters
        )

    def _is_last_row(self, m: Module) -> Value:
        """Return whether a word is in the last row of the storage, so the next is in the first.

        The storage has as many rows as there are words in ``dilation`` slots of this dimension.
        Such a slot ends with the last window of the dimensions within.
        """
        within = (axis for axis in self.config.axes if axis > self.axis)
        ends_slot = Cat(*(self.i.control[f"final_{DIMENSIONS[axis]}"] for axis in within)).all()
        token = self.i.token
        dilation = register(self.config, self.job, f"{self.name}.dilation")
        new_less_one = precomputed(
            m, timing_parameters(self.config), lambda dilation: dilation - 1, dilation
        )
        if not isinstance(new_less_one, Const):
            new_less_one = new_less_one[: len(dilation)]
        less_one = shadow(m, timing_parameters(self.config), new_less_one, token, "dilation")
        slots = ModuloCounter(m, timing_parameters(self.config), less_one, "slot")
        slots.run(token, token | (self.i.valid & ends_slot), new_less_one)
        return ends_slot & slots.last

    def _tap(self, word: Timed, present: Timed, number: int, lanes: range) -> Tap:
        """Return some lanes of a stored word as a candidate that knows the number of its tap."""
        size = self.i_layout.size
        tap_number = Const(number, self.o_tap_bits[self.name] if self.has_number else 0)
        candidates = [
            Timed(word.m, Cat(word.value[lane * size : (lane + 1) * size], tap_number), word.clock)
            for lane in lanes
        ]
        return Tap(present, self.o_layout, candidates)
