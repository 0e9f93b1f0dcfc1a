"""The end of the pipeline, where results are packed into output beats."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout, output_layout
from extremum.hdl.registers import register
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import Timed, copied, copy_count, own_copy, timing_parameters


def clocks_ahead(config: CoreConfig) -> int:
    """Return by how many clocks the place of a result is known before the result."""
    parameters = timing_parameters(config)
    return parameters.control_clocks + parameters.take_clocks if config.lanes > 1 else 0


LATENCY = 1
"""Clocks from a result to the beat that it completes."""


@dataclass(frozen=True)
class _LaneControl:
    """What decides which lanes of a beat a result fills, and which it clears.

    ``place`` is the lane that the result of a fold fills; the other fields are those of
    :class:`Packer` and of the job registers.
    """

    valid: Value
    last_group: Value
    tail: Value
    fold: Value
    place: Value


class Packer(wiring.Component):
    """Puts results into output beats.

    Without a fold, a beat takes one result of each lane at once. In a fold all lanes have the same
    result, and the results of consecutive rows fill a beat one after the other.

    Latency: :data:`LATENCY` clock from ``results``. Throughput: one result of each lane per clock,
    taken always.

    Parameters
    ----------
    config
        Configuration of the core.
    marks_lanes
        Whether the beat tells which lanes hold a result.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    token : In(1)
        The next job's results come next.
    valid : In(1)
        There is a result, which is on ``results`` :func:`clocks_ahead` clocks later.
    last_group : In(1)
        The result belongs to the last group of slices.
    done : In(1)
        The result is the job's last.
    results : In(ArrayLayout)
        Value and index of each lane.
    packed : Out(1)
        The result shares its beat with the next one.
    o_valid : Out
        A beat is complete, once for each copy of such a flag that the lanes have.
    o : Out(output_layout(config, marks_lanes=marks_lanes))
        The beat. It stays until the next result.
    """

    job: data.View
    token: Signal
    valid: Signal
    last_group: Signal
    done: Signal
    results: data.View
    packed: Signal
    o_valid: Signal
    o: data.View

    def __init__(self, config: CoreConfig, *, marks_lanes: bool = False):
        self.config = config
        self.marks_lanes = marks_lanes
        self.fields = {
            str(name): member.shape.elem_shape
            for name, member in output_layout(config)
            if isinstance(member.shape, data.ArrayLayout)
        }
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(1),
                "valid": In(1),
                "last_group": In(1),
                "done": In(1),
                "results": In(data.ArrayLayout(data.StructLayout(self.fields), config.lanes)),
                "packed": Out(1),
                "o_valid": Out(copy_count(timing_parameters(config), config.lanes)),
                "o": Out(output_layout(config, marks_lanes=marks_lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, parameters = self.config, timing_parameters(self.config)
        tail, fold = (
            shadow(m, parameters, register(config, self.job, name), self.token, name)
            for name in ("tail", "fold")
        )
        place, full = self._place(m, fold)
        # Clock 0 is that of the results; the flags that belong to them come earlier.
        early = -clocks_ahead(config)
        valid, done = Timed(m, self.valid, early).at(0), Timed(m, self.done, early).at(0)
        control = _LaneControl(self.valid, self.last_group, tail, fold, place)
        told, controls = self._controls(m, early, control)
        # The beat is not reset, so that the flip-flops' reset input can clear lanes without a
        # result.
        o = Signal(output_layout(config, marks_lanes=self.marks_lanes), reset_less=True)
        m.d.comb += [self.packed.eq(self.valid & ~full), self.o.eq(o)]
        given = valid & Timed(m, full, early).at(0)
        if len(self.o_valid) == 1:
            m.d.sync += self.o_valid.eq(given)
        else:
            m.d.comb += self.o_valid.eq(
                Cat(own_copy(m, given, f"o_valid{n}") for n in range(len(self.o_valid)))
            )
        with m.If(valid):
            m.d.sync += o.last.eq(done)
        for lane in range(config.lanes):
            self._fill(m, o, lane, controls[lane // parameters.lanes_of_copy], told)
        return m

    def _place(self, m: Module, fold: Value) -> tuple[Signal, Value]:
        """Return the lane that the result of a fold fills, and whether that completes a beat."""
        place, full = Signal(range(self.config.lanes)), Const(1, 1)
        if self.config.can_fold:
            full = ~fold | self.done | (place == self.config.lanes - 1)
            with m.If(self.token):
                m.d.sync += place.eq(0)
            with m.Elif(self.valid):
                m.d.sync += place.eq(Mux(full, 0, place + 1))
        return place, full

    def _fill(self, m: Module, o: data.View, lane: int, own: _LaneControl, clock: int) -> None:
        """Write a result into a lane of the beat, or clear it; ``own`` is valid in ``clock``."""
        config = self.config
        live = ~own.last_group | (own.tail > lane) if config.lanes > 1 else Const(1)
        here: Value = own.valid
        if config.can_fold:
            # In a fold, a result also clears the lanes behind it, which later results may fill.
            live = Mux(own.fold, own.place == lane, live)
            here = own.valid & (~own.fold | (own.place <= lane))
        live_now, takes = (Timed(m, flag, clock).at(0) for flag in (live, here))
        fields = {name: Value.cast(self.results[lane][name]) for name in self.fields}
        if self.marks_lanes:
            fields["filled"] = Const(1, 1)
        # Where lanes lie far apart, what clears one is a register of its own, without a gate on its
        # way.
        has_flags = config.lanes > 1 and timing_parameters(config).take_clocks
        with m.If(takes):
            for name, field in fields.items():
                m.d.sync += o[name][lane].eq(field if has_flags else Mux(live_now, field, 0))
        if has_flags:
            with m.If(Timed(m, here & ~live, clock).at(0)):
                m.d.sync += [o[name][lane].eq(0) for name in fields]

    def _controls(
        self, m: Module, clock: int, control: _LaneControl
    ) -> tuple[int, list[_LaneControl]]:
        """Return the copies of what decides on the lanes, and the clock in which they are valid.

        ``control`` is valid in ``clock``, and so is a single copy. Several are valid a clock later.
        """
        config, parameters = self.config, timing_parameters(self.config)
        count = copy_count(parameters, config.lanes)
        if count == 1:
            return clock, [control]

        def copied_flag(flag: Value, name: str) -> list[Value]:
            return copied(m, Timed(m, flag), 1, count, name)

        def copied_register(name: str) -> list[Value]:
            value = register(config, self.job, name)
            return [shadow(m, parameters, value, token, name) for token in tokens]

        tokens = copied_flag(self.token, "token")
        bits = [copied_flag(bit, f"place{n}_") for n, bit in enumerate(control.place)]
        parts = zip(
            copied_flag(control.valid, "valid"), copied_flag(control.last_group, "last_group"),
            copied_register("tail"), copied_register("fold"),
            [Cat(place) for place in zip(*bits, strict=True)], strict=True,
        )  # fmt: skip
        return clock + 1, [_LaneControl(*part) for part in parts]
