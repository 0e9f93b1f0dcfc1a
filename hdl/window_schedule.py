"""The control of every word: which windows its slot gives, found without looking at elements."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl import output_schedule
from extremum.hdl.advance import Advance, AdvancePort, AdvanceSignature
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.counter import ModuloCounter
from extremum.hdl.job_kinds import job_kind
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import register
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import Timed, timing_parameters
from extremum.hdl.words import control_layout


def latency(config: CoreConfig) -> int:
    """Return the clocks from a slot to its control."""
    outward_delay = job_kind(config).dimension_delay * max(len(config.axes) - 1, 0)
    registers = timing_parameters(config).control_clocks
    return output_schedule.latency(config) + outward_delay + registers


def group_latency(config: CoreConfig) -> int:
    """Return the clocks from a slot to what is told of its group.

    Nobody needs it before the result, so the groups are counted as late as the words come.
    """
    parameters = timing_parameters(config)
    waits = parameters.word_clocks if config.has_windows else 0
    return latency(config) + parameters.control_clocks + waits


def gives_number(config: CoreConfig) -> bool:
    """Return whether the schedule gives the number of a window in its row.

    Then the reducer needs no counter of its own: :func:`extremum.hdl.reduction.is_ordinal_given`.
    """
    has_ordinal = config.has_reduction and config.index_width > 0
    return has_ordinal and not timing_parameters(config).counts_ahead


class WindowSchedule(wiring.Component):
    """Walks over the slots of a job, and tells what windows are given in them.

    Latency: :func:`latency` clocks, and :func:`group_latency` to ``last_group`` and ``done``.
    Throughput: one slot per clock, taken always.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    job : In(job_layout(config))
        Registers of the next job.
    advance : In(AdvanceSignature())
        The signals that begin a job and go on from slot to slot.
    end : In(1)
        The slot is the job's last.
    plane_end : Out(1)
        The slot is the last of its plane or volume. It has a meaning only if all dimensions are
        walked in the same clock (``dimension_delay`` of the kind of jobs is 0).
    control : Out(control_layout(config))
        Control of the slot.
    result : Out(1)
        The slot gives a result; this is told ``control_clocks`` after ``control``.
    last_group : Out(1)
        The slot's result belongs to the last group.
    done : Out(1)
        The slot's result is the job's last.
    number : Out
        The number of the window among those reduced to one result, from 0 on; told with
        ``control``. Only if :func:`gives_number`.
    """

    job: data.View
    advance: AdvancePort
    end: Signal
    plane_end: Signal
    control: data.View
    result: Signal
    last_group: Signal
    done: Signal
    number: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "advance": In(AdvanceSignature()),
                "end": In(1),
                "plane_end": Out(1),
                "control": Out(control_layout(config)),
                "result": Out(1),
                "last_group": Out(1),
                "done": Out(1),
            }
            | ({"number": Out(config.index_width)} if gives_number(config) else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, control = self.config, self.control
        kind, control_clock = job_kind(config), latency(config)
        control_clocks = timing_parameters(config).control_clocks
        emit_clock = control_clock - control_clocks
        width_advance = advance = Advance.of(self.advance)
        emits, finals, gaps, ends = [], [], [], []
        for number, axis in enumerate(config.axes):
            name, clock = DIMENSIONS[axis], kind.dimension_delay * number
            m.submodules[name] = line = output_schedule.OutputSchedule(config, axis)
            m.d.comb += line.job.eq(self.job)
            advance.drive(m, line.advance)
            line_clock = clock + output_schedule.latency(config)
            emit, final = (Timed(m, flag, line_clock) for flag in (line.emit, line.final))
            present, shift = (
                Timed(m, field, line_clock + control_clocks) for field in (line.present, line.shift)
            )
            m.d.comb += [
                control[f"emit_{name}"].eq(emit.at(control_clock)),
                control[f"final_{name}"].eq(final.at(control_clock)),
                control[f"present_{name}"].eq(present.at(control_clock)),
                control[f"shift_{name}"].eq(shift.at(control_clock)),
            ]
            emits.append(emit.at(emit_clock))
            finals.append(final.at(emit_clock))
            if config.padding:
                gaps.append(~present.at(control_clock).any())
            ends.append(line.last)
            advance = kind.outward(m, advance, line.last)
        token, slot = (
            Timed(m, flag).at(emit_clock) for flag in (width_advance.token, width_advance.slot)
        )
        given = slot & Cat(*emits).all()
        token, step, window, closes = (
            Timed(m, flag, emit_clock).moved_to(control_clock)
            for flag in (token, token | given, given, Cat(*finals).all())
        )
        first, last = self._count(m, token.value, step.value)
        m.d.comb += [
            self.plane_end.eq(Cat(*ends).all()),
            control.empty.eq(Cat(*gaps).any()),
            control.first.eq(first),
            control.last.eq(last),
            self.result.eq(
                Timed(m, window.value & last, control_clock).at(control_clock + control_clocks)
            ),
        ]
        closing = closes.value & last
        self._groups(
            m,
            token,
            Timed(m, closing, control_clock),
            Timed(m, token.value | (window.value & closing), control_clock),
        )
        return m

    def _groups(self, m: Module, token: Timed, closing: Timed, step: Timed) -> None:
        """Tell of a slot's result whether it is of the last group, and whether it is the last.

        ``closing`` is set if a result of this slot would be its group's last. ``step`` is set if
        the slot gives this result, or with a token.
        """
        clock = group_latency(self.config)
        if not self.config.has_windows:
            end = Timed(m, self.end)
            done = closing if job_kind(self.config).is_endless else end
            m.d.comb += [self.done.eq(done.at(clock)), self.last_group.eq(done.at(clock))]
            return
        new_groups = register(self.config, self.job, "groups")
        groups_less_one = shadow(
            m, timing_parameters(self.config), new_groups, token.at(clock), "groups"
        )
        groups = ModuloCounter(m, timing_parameters(self.config), groups_less_one, "group")
        groups.run(token.at(clock), step.at(clock), new_groups)
        m.d.comb += [
            self.last_group.eq(groups.last),
            self.done.eq(groups.last & closing.at(clock)),
        ]

    def _count(self, m: Module, token: Value, step: Value) -> tuple[Value, Value]:
        """Return whether a window is the first, and the last, of those reduced to one result.

        ``step`` goes on to the next window, which after a token is the first of the next job.
        """
        new_length = register(self.config, self.job, "length")
        length_less_one = shadow(m, timing_parameters(self.config), new_length, token, "length")
        windows = ModuloCounter(m, timing_parameters(self.config), length_less_one, "window")
        windows.run(token, step, new_length)
        if gives_number(self.config):
            m.d.comb += self.number.eq(windows.number)
        if isinstance(windows.last, Const):
            return windows.last, windows.last
        first = Signal(init=1)
        with m.If(step):
            m.d.sync += first.eq(token | windows.last)
        return first, windows.last
