"""The datapath: what lies between the slots that are admitted and the beats that leave."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data

from extremum.hdl import fold, key, packer, position, reduction, sliding_window, window_schedule
from extremum.hdl.admission import Admission
from extremum.hdl.advance import Advance
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.latency import (
    beat_clocks,
    pipeline_latency,
    result_latency,
    walk_clock,
    word_clock,
)
from extremum.hdl.timing import Timed, copied, copy_count, timing_parameters
from extremum.hdl.words import Words, feed, pass_through

__all__ = ["Datapath"]


class Datapath:
    """Adds to a core's module what turns elements into winners, and winners into results.

    Every clock is counted from the one in which the slot enters.

    Parameters
    ----------
    m
        The module to add the parts to, as its submodules.
    config
        Configuration of the core.
    admission
        What lets slots enter, and is told what has become of them.
    job : job_layout(config)
        The registers of the job.
    elements : input_layout(config)
        The beat that enters with a slot.
    marks_lanes
        Whether an output beat tells which of its lanes hold a result.
    go
        Whether the pipeline moves on, if it can stop.
    """

    def __init__(
        self,
        m: Module,
        config: CoreConfig,
        admission: Admission,
        job: data.View,
        elements: data.View,
        *,
        marks_lanes: bool,
        go: Value | None = None,
    ):
        self._m = m
        self._config = config
        self._admission = admission
        self._job = job
        self._marks_lanes = marks_lanes
        m.submodules.windows = self._schedule = window_schedule.WindowSchedule(config)
        self._words = self._keys_of(elements)
        self._winners, self._tap_bits = self._winners_of(self._words, go)

    def _keys_of(self, elements: data.View) -> Words:
        """Return the keys of each beat, with the control of its slot."""
        m, config, admission, schedule = self._m, self._config, self._admission, self._schedule
        beat, walked = beat_clocks(config), walk_clock(config)
        m.submodules.encoder = encoder = key.KeyEncoder(config)
        advance = Advance.of(admission.advance)
        advance.later(m, walked - beat).drive(m, schedule.advance)
        m.d.comb += [
            schedule.job.eq(self._job),
            schedule.end.eq(Timed(m, admission.end).at(walked)),
            admission.plane_end.eq(schedule.plane_end),
            admission.result_known.eq(schedule.result),
            encoder.job.eq(self._job),
            encoder.token.eq(advance.token),
            Value.cast(encoder.elements).eq(Timed(m, Value.cast(elements)).at(beat)),
        ]
        return Words(
            token=Timed(m, advance.token, beat),
            valid=Timed(m, advance.slot, beat),
            control=Timed(m, schedule.control, walked + window_schedule.latency(config)),
            lanes=Timed(m, encoder.keys, beat + key.latency(config)),
            step=Timed(m, advance.step, beat),
        ).moved_to(word_clock(config))

    def _winners_of(self, words: Words, go: Value | None) -> tuple[Words, dict[str, int]]:
        """Return the winner of each window, or of each row, and the bits of its tap numbers."""
        m, config, job = self._m, self._config, self._job
        begun = words
        tap_bits: dict[str, int] = {}
        for axis in config.axes:
            window = sliding_window.SlidingWindow(config, axis, tap_bits)
            m.submodules[f"{DIMENSIONS[axis]}_window"] = window
            if go is not None:
                m.d.comb += window.go.eq(go)
            words = pass_through(m, window, words, job, sliding_window.latency(config, axis))
            tap_bits = window.o_tap_bits
        if config.can_fold:
            m.submodules.fold = folded = fold.Fold(config, tap_bits)
            words = pass_through(m, folded, words, job, fold.latency(config))
            tap_bits = folded.o_tap_bits
        if config.has_reduction:
            m.submodules.reducer = reducer = reduction.Reducer(config, tap_bits)
            if reduction.is_ordinal_given(config):
                m.d.comb += reducer.number.eq(self._schedule.number)
            if reduction.has_early(config):
                early, first = words.token.clock - 1, begun.control.value.first
                m.d.comb += [
                    reducer.early_first.eq(self._gives(begun, first).at(early)),
                    reducer.early_other.eq(self._gives(begun, ~first).at(early)),
                ]
            words = pass_through(m, reducer, words, job, reduction.latency(config))
        return words, tap_bits

    def _gives(self, words: Words, flag: Value) -> Timed:
        """Return whether a word with ``flag`` set gives a window in every dimension.

        It is valid in the clock in which the word goes into the first stage of windows.
        """
        control = words.control.value
        emits = (control[f"emit_{DIMENSIONS[axis]}"] for axis in self._config.axes)
        return Timed(self._m, words.valid.value & flag & Cat(*emits).all(), words.valid.clock)

    def give(self, beat_given: Value, beat: Value) -> None:
        """Put the value and the position of every result into output beats.

        Parameters
        ----------
        beat_given
            Driven: whether there is an output beat.
        beat
            Driven: its bits, as those of ``output_layout``.
        """
        m, config, admission, schedule = self._m, self._config, self._admission, self._schedule
        winners, end = self._winners, pipeline_latency(config)
        found = winners.token.clock + result_latency(config)
        early = found - packer.clocks_ahead(config)
        # Which group and which result is the last is known at the head of the pipeline already, so
        # these two flags wait for the result.
        known = walk_clock(config) + window_schedule.group_latency(config)
        last_group, done = (
            Timed(m, flag, known).at(early) for flag in (schedule.last_group, schedule.done)
        )
        empty = Timed(m, winners.control.value.empty, winners.control.clock)
        m.submodules.packer = packing = packer.Packer(config, marks_lanes=self._marks_lanes)
        m.d.comb += [
            packing.job.eq(self._job),
            packing.token.eq(winners.token.at(early)),
            packing.valid.eq(winners.valid.at(early)),
            packing.last_group.eq(last_group),
            packing.done.eq(done),
            beat_given.eq(packing.o_valid),
            beat.eq(Value.cast(packing.o)),
            admission.job_entered.eq(
                Timed(m, admission.slot & admission.end).at(end)
                if timing_parameters(config).holds_one_job
                else winners.token.at(end)
            ),
            admission.empty_given.eq(winners.valid.at(found) & empty.at(found)),
            admission.beat_shared.eq(packing.packed),
        ]
        if config.has_values:
            values = self._values(found)
            for lane in range(config.lanes):
                value = values.word_select(lane, config.element_width)
                m.d.comb += packing.results[lane].value.eq(value)
        if config.index_width:
            indices = self._indices(found)
            empties = self._empties(found)
            for lane, index in enumerate(indices):
                is_empty = empties[lane // timing_parameters(config).lanes_of_copy]
                all_ones = is_empty.replicate(config.index_width)
                m.d.comb += packing.results[lane].index.eq(index | all_ones)

    def _empties(self, clock: int) -> list[Value]:
        """Return the copies, valid in a clock, of whether the winner's window has no element."""
        control, count = self._source_of_copies.control, self._copies
        empty = Timed(self._m, control.value.empty, control.clock)
        return copied(self._m, empty, clock, count, "empty")

    @property
    def _copies(self) -> int:
        """The number of copies of what is wanted in all lanes."""
        return copy_count(timing_parameters(self._config), self._config.lanes)

    @property
    def _source_of_copies(self) -> Words:
        """The words whose flags are copied: copies are made ahead of the winner."""
        return self._winners if self._copies == 1 else self._words

    def _values(self, found: int) -> Value:
        """Return the elements that won, of all lanes; valid in the clock of the results."""
        m, winners = self._m, self._winners
        m.submodules.decoder = decoder = key.KeyDecoder(self._config, self._tap_bits)
        clock = winners.token.clock
        tokens = copied(m, self._source_of_copies.token, clock, self._copies, "token")
        m.d.comb += [
            decoder.job.eq(self._job),
            decoder.token.eq(Cat(tokens)),
            decoder.empty.eq(Cat(self._empties(clock))),
            decoder.lanes.eq(winners.lanes.value),
        ]
        decoded = clock + key.restore_latency(self._config)
        return Timed(m, Value.cast(decoder.values), decoded).at(found)

    def _indices(self, found: int) -> list[Value]:
        """Return the index of every lane's winner: its position in the tensor, or in its row.

        In a pooling the ordinal is 0, and in a reduction the generated position is 0, so the index
        is the OR of the two. It is valid in the clock of the results.
        """
        m, config, words, winners = self._m, self._config, self._words, self._winners
        indices: list[Value] = [Value.cast(0)] * config.lanes
        if config.has_windows:
            m.submodules.position = generator = position.PositionGenerator(config, self._tap_bits)
            feed(m, generator, winners, self._job)
            gives = self._gives(words, words.control.value.last)
            ahead = winners.token.clock - position.clocks_ahead(config)
            m.d.comb += [
                generator.early_token.eq(words.token.at(ahead)),
                generator.early_valid.eq(gives.at(ahead)),
                Value.cast(generator.early_control).eq(Value.cast(words.control.at(ahead))),
            ]
            summed = winners.token.clock + position.latency(config)
            positions = Timed(m, Value.cast(generator.positions), summed).at(found)
            indices = [
                positions.word_select(lane, config.index_width) for lane in range(config.lanes)
            ]
        if config.has_reduction:
            for lane in range(config.lanes):
                winner = winners.lanes.value[lane]
                ordinal = Value.cast(winner.ordinal)
                if config.can_fold:
                    ordinal = ordinal | Value.cast(winner.tap_lane)
                ordinal = Timed(m, ordinal, winners.lanes.clock).at(found)
                indices[lane] = indices[lane] | ordinal
        return indices
