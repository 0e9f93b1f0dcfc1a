"""The entrance of the pipeline: jobs are checked, and slots let in one by one."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl import windows
from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.flow import delay
from extremum.hdl.ports import JobError, job_layout, status_layout
from extremum.hdl.queue import room
from extremum.hdl.registers import ends_with_plane, is_endless, job_shapes, register
from extremum.hdl.slots import SlotSchedule


def blind(config: CoreConfig) -> int:
    """Return how many slots are let in before the room that one takes is known.

    That takes its control, a clock to get here, a sum and a flag.
    """
    return 1 + windows.latency(config) + 3


class Entrance(wiring.Component):
    """Lets slots into the pipeline.

    A slot enters when a job is under way, the beat that it needs is here, and the result queue has
    room for every result that may come of the slots let in.

    Parameters
    ----------
    config
        Of the core.
    room
        Results that the queue holds.
    unknown
        Results that may come of the slots let in before the room that they take is known.

    Members
    -------
    job, job_valid, job_ready
        The job port.
    beat_here : In(1)
        A beat can be taken.
    beat_wanted : Out(1)
        It is taken if it is here.
    token : Out(1)
        A job's first slot is in the next clock or later; where a job ends with its plane, it may
        be in this clock.
    slot : Out(1)
        A slot enters.
    step : Out(1)
        A token, or a slot; where a job ends with its plane, the slot of the clock before.
    end : Out(1)
        It would be the job's last.
    promised, packed, left : In(1)
        A slot that was let in gives a result; a result shares its beat with the next one; a beat
        left the core.
    plane_end : In(1)
        The slot of the clock before, if there was one, was the last of a plane.
    job_entered : In(1)
        The token has reached the pipeline's end.
    empty_given : In(1)
        An empty window has been given.
    status : Out(status_layout())
        Status of the core.
    """

    job: data.View
    job_valid: Signal
    job_ready: Signal
    beat_here: Signal
    beat_wanted: Signal
    token: Signal
    slot: Signal
    step: Signal
    end: Signal
    promised: Signal
    packed: Signal
    left: Signal
    plane_end: Signal
    job_entered: Signal
    empty_given: Signal
    status: data.View

    def __init__(self, config: CoreConfig, room: int, unknown: int):
        self.config = config
        self.room = room
        self.unknown = unknown
        super().__init__(
            {
                "job": In(job_layout(config)),
                "job_valid": In(1),
                "job_ready": Out(1),
                "beat_here": In(1),
                "beat_wanted": Out(1),
                "token": Out(1),
                "slot": Out(1),
                "step": Out(1),
                "end": Out(1),
                "promised": In(1),
                "packed": In(1),
                "left": In(1),
                "plane_end": In(1),
                "job_entered": In(1),
                "empty_given": In(1),
                "status": Out(status_layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        free, outstanding = self._room(m)

        if is_endless(config):
            m.d.comb += [
                self.beat_wanted.eq(free),
                self.slot.eq(free & self.beat_here),
                self.step.eq(self.slot),
                self.token.eq(0),
            ]
            return m
        active, final, offered = Signal(), Signal(), Signal()
        if ends_with_plane(config):
            # Every slot needs a beat. Which was the last is known a clock later: in that clock the
            # next job begins, or no slot enters.
            pending, taken, may_offer = offered, self.token, Const(1, 1)
            valid, wanted = pending | (active & ~final), Const(1, 1)
            # A token that does not come with a last slot comes without one.
            late_slot = delay(m, self.slot, 1)
            m.d.comb += [
                final.eq(late_slot & self.plane_end),
                self.step.eq(late_slot | (pending & ~active)),
            ]
        else:
            m.submodules.slots = slots = SlotSchedule(config)
            m.d.comb += [
                slots.job.eq(self.job),
                slots.offered.eq(offered),
                slots.ready.eq(free & (self.beat_here | ~slots.wanted)),
                self.end.eq(slots.last),
                final.eq(self.slot & slots.last),
                self.step.eq(self.token | self.slot),
            ]
            # Its slots take longer to come than the token to be told.
            pending, taken, late_taken = Signal(), slots.taken, delay(m, slots.taken, 1)
            m.d.sync += pending.eq(late_taken | (pending & ~self.token))
            may_offer = ~(pending | late_taken)
            valid, wanted = slots.valid, slots.wanted
        entering = self._jobs(m, offered, taken, may_offer)
        # The token goes with the last slot of the job before, or when there is none.
        m.d.comb += [
            self.beat_wanted.eq(valid & wanted & free),
            self.slot.eq(valid & free & (self.beat_here | ~wanted)),
            self.token.eq(pending & (~active | final)),
        ]
        m.d.sync += active.eq(self.token | (active & ~final))

        m.d.comb += self.status.busy.eq(active | entering | outstanding)
        # The token is behind the last word of the job before.
        with m.If(self.job_entered):
            m.d.sync += self.status.empty.eq(0)
        with m.If(self.empty_given):
            m.d.sync += self.status.empty.eq(1)
        return m

    def _jobs(self, m: Module, offered: Signal, taken: Value, may_offer: Value) -> Value:
        """Tell whether a job may begin, and return whether one is on its way into the pipeline.

        When a job comes to the port its registers are looked at for a clock. It stays there until
        its token has left the pipeline. A core without a port offers its only job again as soon
        as it may.
        """
        if not job_shapes(self.config):
            m.d.comb += offered.eq(may_offer)
            return Const(0, 1)
        seen, refused, entering = Signal(), Signal(), Signal()
        is_faulty, fault = self._check(m)
        m.d.sync += [
            seen.eq(self.job_valid & ~(seen | offered | refused | entering)),
            offered.eq((seen & ~is_faulty) | (offered & ~taken)),
            refused.eq(seen & is_faulty),
            entering.eq((offered | entering) & ~self.job_entered),
        ]
        with m.If(seen):
            m.d.sync += [self.status.refused.eq(is_faulty), self.status.error.eq(fault)]
        m.d.comb += self.job_ready.eq(self.job_entered | refused)
        return entering

    def _room(self, m: Module) -> tuple[Value, Value]:
        """Return whether a slot may enter, and whether any has a result that has not left."""
        change = self.promised - self.packed - self.left
        is_free, none = room(m, change, self.room - self.unknown + 1)
        recent = Cat(delay(m, self.slot, clocks) for clocks in range(1, blind(self.config))).any()
        return is_free, ~none | recent

    def _check(self, m: Module) -> tuple[Value, Value]:
        """Return, a clock late, whether the registers on the job port are wrong, and what is."""
        config = self.config
        shapes = job_shapes(config)

        def value(name: str) -> Value:
            return register(config, self.job, name)

        def any_late(*flags: Value) -> Value:
            return delay(m, Cat(*flags).any(), 1) if flags else Const(0, 1)

        def above(part: str, limits: Sequence[int]) -> list[Value]:
            names = ((f"{DIMENSIONS[axis]}.{part}", limits[axis]) for axis in config.axes)
            return [_is_above(value(name), limit) for name, limit in names if name in shapes]

        def zero(*names: str) -> Value:
            return any_late(*(value(name) == 0 for name in names if name in shapes))

        counts = (
            zero(f"{DIMENSIONS[axis]}.window", f"{DIMENSIONS[axis]}.dilation")
            for axis in config.axes
        )
        furthest = [most - 1 for most in config.max_spacing]
        found = {
            JobError.COUNT: Cat(zero("tail"), *counts).any(),
            JobError.WINDOW: any_late(*above("window", config.max_window)),
            # Each of these is as long as a clock allows.
            JobError.SPACING: Cat(any_late(flag) for flag in above("spacing", furthest)).any(),
        }
        if "data_type" in shapes:
            found[JobError.DATA_TYPE] = any_late(value("data_type") >= len(config.data_types))
        if "tail" in shapes:
            found[JobError.TAIL] = any_late(value("tail") > config.lanes)
        fault: Value = Const(JobError.NONE, JobError)
        for error, is_found in reversed(found.items()):
            fault = Mux(is_found, Const(error, JobError), fault)
        return Cat(*found.values()).any(), fault


def _is_above(value: Value, limit: int) -> Value:
    """Return whether a number is above a limit; of a full one the bits above it tell."""
    bits = bits_for(limit)
    return value[bits:].any() if limit == (1 << bits) - 1 else value > limit
