"""What is given in a slot: the control of every word, known before its data is looked at."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl import schedule
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.counter import Cycle
from extremum.hdl.flow import control_layout, delay, held, twin
from extremum.hdl.ports import job_layout
from extremum.hdl.registers import ends_with_plane, is_endless, register


def _behind(config: CoreConfig) -> int:
    """Return by how many clocks a dimension is behind the one within it.

    If lines tell the end of a job, they tell it at once.
    """
    return int(not ends_with_plane(config))


def latency(config: CoreConfig) -> int:
    """Return the clocks from a slot to its control."""
    return schedule.latency(config) + 1 + _behind(config) * max(len(config.axes) - 1, 0)


class WindowSchedule(wiring.Component):
    """Walks over the slots of a job, and tells what windows are given in them.

    Latency: :func:`latency` clocks. Throughput: one slot per clock, taken always.

    Parameters
    ----------
    config
        Of the core.

    Members
    -------
    job : In(job_layout(config))
        The next job's registers.
    token : In(1)
        The next job's first slot comes next.
    begin : In(1)
        The same, told apart for what is quick.
    slot : In(1)
        A slot is here.
    step : In(1)
        One of both: told apart, since much is enabled by it.
    end : In(1)
        It is the job's last.
    plane_end : Out(1)
        It is the last of its plane or volume.
    control : Out(control_layout(config))
        Of the slot.
    result : Out(1)
        A clock later: the slot gives a result.
    last_group : Out(1)
        With it: that is of the last group.
    done : Out(1)
        With it: that is the job's last.
    """

    job: data.View
    token: Signal
    begin: Signal
    slot: Signal
    step: Signal
    end: Signal
    plane_end: Signal
    control: data.View
    result: Signal
    last_group: Signal
    done: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "token": In(1),
                "begin": In(1),
                "slot": In(1),
                "step": In(1),
                "end": In(1),
                "plane_end": Out(1),
                "control": Out(control_layout(config)),
                "result": Out(1),
                "last_group": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, control = self.config, self.control
        behind, clocks = _behind(config), latency(config)
        token, begin, step = self.token, self.begin, self.step
        emits, finals, gaps, ends = [], [], [], []
        for number, axis in enumerate(config.axes):
            name, late = DIMENSIONS[axis], behind * number
            m.submodules[name] = line = schedule.OutputSchedule(config, axis)
            rest = clocks - 1 - late - schedule.latency(config)
            emit, final, present, shift = (
                delay(m, getattr(line, field), rest)
                for field in ("emit", "final", "present", "shift")
            )
            m.d.comb += [
                line.job.eq(self.job),
                line.token.eq(token),
                line.begin.eq(begin),
                line.slot.eq(self.slot),
                line.step.eq(step),
                control[f"emit_{name}"].eq(delay(m, emit, 1)),
                control[f"final_{name}"].eq(delay(m, final, 1)),
                control[f"present_{name}"].eq(present),
                control[f"shift_{name}"].eq(shift),
            ]
            if behind:
                step = delay(m, token | (step & line.last), 1)
                token, begin = delay(m, token, 1), twin(m, token)
            else:
                # Here a token comes with the plane's last slot, or without a slot.
                step = step & (~self.slot | line.last)
            ends.append(line.last)
            emits.append(emit)
            finals.append(final)
            if config.padding:
                gaps.append(~present.any())
        token, slot = (delay(m, flag, clocks - 1) for flag in (self.token, self.slot))
        given = slot & Cat(*emits).all()
        token, step, window = (delay(m, flag, 1) for flag in (token, token | given, given))
        closes = delay(m, Cat(*finals).all(), 1)
        m.d.comb += [
            self.plane_end.eq(Cat(*ends).all()),
            control.empty.eq(Cat(*gaps).any()),
        ]
        first, last = self._count(m, token, step)
        m.d.comb += [
            control.first.eq(first),
            control.last.eq(last),
            self.result.eq(delay(m, window & last, 1)),
        ]
        self._groups(m, token, closes & last, window & closes & last)
        return m

    def _groups(self, m: Module, token: Value, closes: Value, closed: Value) -> None:
        """Tell, a clock late, whether this is the last group, and the job's last result."""
        late_token, late_closes = delay(m, token, 1), delay(m, closes, 1)
        if not self.config.has_windows:
            end = delay(m, self.end, latency(self.config) + 1)
            end = late_closes if is_endless(self.config) else end
            m.d.comb += [self.done.eq(end), self.last_group.eq(end)]
            return
        new_groups = register(self.config, self.job, "groups")
        groups = Cycle(m, held(m, new_groups, late_token, "groups"), "group")
        groups.run(late_token, delay(m, token | closed, 1), new_groups)
        m.d.comb += [
            self.last_group.eq(groups.last),
            self.done.eq(groups.last & late_closes),
        ]

    def _count(self, m: Module, token: Value, step: Value) -> tuple[Value, Value]:
        """Return whether a window is the first, the last of those reduced to one result.

        ``step``: the next window follows, with a token that of the next job.
        """
        new_length = register(self.config, self.job, "length")
        windows = Cycle(m, held(m, new_length, token, "length"), "window")
        windows.run(token, step, new_length)
        if isinstance(windows.last, Const):
            return windows.last, windows.last
        first = Signal(init=1)
        with m.If(step):
            m.d.sync += first.eq(token | windows.last)
        return first, windows.last
