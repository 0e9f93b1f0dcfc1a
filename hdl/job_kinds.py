"""The kinds of jobs: those that are queued, that end with their plane, that come singly, and that
never end.

How the core tells that a job ends, and when the next one may begin, depends on what its fixed
registers leave open. Each kind is a class with the same interface, and :func:`job_kind` is the only
place that chooses it:

- :class:`QueuedJobs`: the slots of a job are counted ahead of the pipeline. This is what a core
  does in general.
- :class:`PlaneJobs`: a job is one plane, or one volume, without padding, so its lines tell
  its end.
- :class:`SingleJobs`: a job begins when the one before has left. This is what a small or
  balanced core does.
- :class:`EndlessJobs`: all registers of a reduction are fixed, and rows follow each other forever.
"""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import data

from extremum.hdl import slots
from extremum.hdl.advance import Advance, AdvancePort
from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import ends_with_plane
from extremum.hdl.registers import is_endless
from extremum.hdl.timing import delay, fanout_copy, timing_parameters


class OfferedJob(Protocol):
    """The signals of :class:`extremum.hdl.job_port.CheckedJobPort` that a kind of job uses."""

    may_offer: Signal
    offered: Signal
    taken: Signal


class AdmissionPorts(Protocol):
    """The signals of :class:`extremum.hdl.admission.Admission` that a kind of job uses."""

    job: data.View
    beat_here: Signal
    beat_wanted: Signal
    slot: Signal
    end: Signal
    plane_end: Signal
    advance: AdvancePort


class JobKind(Protocol):
    """The interface of a kind of jobs: it tells how jobs begin and end."""

    is_endless: bool
    """Whether the core has no separate jobs: then rows end, but no job does."""

    dimension_delay: int
    """Clocks by which the control of a dimension is behind that of the dimension within it."""

    def begin_latency(self) -> int:
        """Return by how many clocks counting the slots of a job delays its first slot."""
        ...

    def outward(self, m: Module, advance: Advance, line_ends: Value) -> Advance:
        """Return what the control of the next dimension outward is told."""
        ...

    def admit(
        self, m: Module, gate: AdmissionPorts, port: OfferedJob, has_credit: Value
    ) -> tuple[Advance, Value]:
        """Add the logic that lets slots in.

        Parameters
        ----------
        m
            Module to add the logic to.
        gate
            The admission, whose outputs that let slots in are driven here.
        port
            The checked job port: it tells whether a job may begin, and is told when one does.
        has_credit
            Whether there is a credit, so that a slot may enter.

        Returns
        -------
        (Advance, Value)
            The signals for the control of the innermost dimension, which come as many clocks after
            the slot entered as the kind has registers there: 1 in a fast core, and in the others
            :func:`beat_clocks`; and whether a job is under way.
        """
        ...

    def has_ended(self, m: Module, gate: AdmissionPorts, go: Value) -> Value:
        """Return whether the slot that entered in the clock before was its job's last.

        ``go`` tells whether a slot may enter at all, in a core whose pipeline can stop; such a core
        must call this outside of that pipeline.
        """
        ...


class _OfCore:
    """What all kinds have in common: they are made for a core.

    Parameters
    ----------
    config
        Configuration of the core.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config


class _EndIsTold(_OfCore):
    """What jobs have in common whose last slot is known when it enters."""

    def has_ended(self, m: Module, gate: AdmissionPorts, go: Value) -> Value:
        """Return whether the slot that entered in the clock before was its job's last."""
        return delay(m, gate.slot & gate.end & go, 1)


class QueuedJobs(_EndIsTold):
    """Jobs whose slots are counted ahead, in a queue."""

    is_endless = False
    dimension_delay = 1

    def begin_latency(self) -> int:
        """Return the clocks of the slot schedule."""
        return slots.latency(self._config)

    def outward(self, m: Module, advance: Advance, line_ends: Value) -> Advance:
        """Return signals that let the next dimension go on in the clock after a line ended."""
        return advance.outward(m, line_ends)

    def admit(
        self, m: Module, gate: AdmissionPorts, port: OfferedJob, has_credit: Value
    ) -> tuple[Advance, Value]:
        """Let in the slots that the queue holds, and a token in front of each job's first slot."""
        m.submodules.slots = queued = slots.SlotSchedule(self._config)
        active, pending, token = Signal(name="active"), Signal(name="pending"), Signal(name="token")
        # The slots of a job take longer to come through the queue than its token would, so the
        # token waits for a clock.
        late_taken = delay(m, queued.taken, 1)
        m.d.sync += pending.eq(late_taken | (pending & ~token))
        m.d.comb += [
            queued.job.eq(gate.job),
            queued.offered.eq(port.offered),
            queued.ready.eq(has_credit & (gate.beat_here | ~queued.wanted)),
            port.taken.eq(queued.taken),
            port.may_offer.eq(~(pending | late_taken)),
            gate.beat_wanted.eq(queued.valid & queued.wanted & has_credit),
            gate.slot.eq(queued.valid & has_credit & (gate.beat_here | ~queued.wanted)),
            gate.end.eq(queued.last),
        ]
        final = gate.slot & queued.last
        # The token goes with the last slot of the job before, or at once if no job is under way.
        m.d.comb += token.eq(pending & (~active | final))
        m.d.sync += active.eq(token | (active & ~final))
        begin = fanout_copy(m, token)
        return Advance(
            token=delay(m, token, 1),
            begin=begin,
            restart=begin,
            step=delay(m, token | gate.slot, 1),
            slot=delay(m, gate.slot, 1),
        ), active


class _DimensionsTogether(_OfCore):
    """What jobs have in common all of whose dimensions go on in the same clock."""

    is_endless = False
    dimension_delay = 0

    def begin_latency(self) -> int:
        """Return 0: no slots are counted ahead."""
        return 0

    def outward(self, m: Module, advance: Advance, line_ends: Value) -> Advance:
        """Return signals that let the next dimension go on in the clock in which a line ends."""
        return advance.outward_at_once(line_ends)


class PlaneJobs(_DimensionsTogether):
    """Jobs of one plane, or of one volume, without padding.

    Every slot needs a beat. Which slot was the last is known a clock later: in that clock the next
    job begins, or no slot enters. So the token is a clock late too, and to make up for that all
    dimensions go on in the same clock.
    """

    def admit(
        self, m: Module, gate: AdmissionPorts, port: OfferedJob, has_credit: Value
    ) -> tuple[Advance, Value]:
        """Let in beats until the plane ends, then at once those of the next job, if offered."""
        active, token = Signal(name="active"), Signal(name="token")
        late_slot = delay(m, gate.slot, 1)
        final = late_slot & gate.plane_end
        valid = port.offered | (active & ~final)
        m.d.comb += [
            port.may_offer.eq(1),
            port.taken.eq(token),
            gate.beat_wanted.eq(valid & has_credit),
            gate.slot.eq(valid & has_credit & gate.beat_here),
            # The token goes with the last slot of the job before, or at once if no job is under
            # way.
            token.eq(port.offered & (~active | final)),
        ]
        m.d.sync += active.eq(token | (active & ~final))
        return Advance(
            token=token,
            begin=token,
            # While no job is under way the lines begin anew in every clock, so no gate asks whether
            # a job is offered. A token with a slot meets the end of the plane, where the lines
            # begin anew by themselves.
            restart=~late_slot,
            step=late_slot | ~active,
            slot=late_slot,
        ), active

    def has_ended(self, m: Module, gate: AdmissionPorts, go: Value) -> Value:
        """Return whether the slot that entered in the clock before was its job's last."""
        return gate.advance.slot & gate.plane_end


class EndlessJobs(_OfCore):
    """A reduction that repeats forever: every beat is taken while there is space for its result.

    A fast core counts that space as credits. Then ``i.ready`` is a register that says whether there
    is a credit, and the beat goes straight into a register: no gate stands at the input port
    (:func:`takes_by_registers`).
    """

    is_endless = True
    dimension_delay = 1

    def begin_latency(self) -> int:
        """Return 0: no job ever begins."""
        return 0

    def outward(self, m: Module, advance: Advance, line_ends: Value) -> Advance:
        """Return the signals unchanged, since a reduction has no dimensions."""
        return advance

    def admit(
        self, m: Module, gate: AdmissionPorts, port: OfferedJob, has_credit: Value
    ) -> tuple[Advance, Value]:
        """Let every beat in."""
        m.d.comb += [gate.beat_wanted.eq(has_credit), gate.slot.eq(has_credit & gate.beat_here)]
        slot, never = delay(m, gate.slot, beat_clocks(self._config)), Const(0, 1)
        return Advance(token=never, begin=never, restart=never, step=slot, slot=slot), never

    def has_ended(self, m: Module, gate: AdmissionPorts, go: Value) -> Value:
        """Return 0: no job ever ends."""
        return Const(0, 1)


class SingleJobs(_DimensionsTogether, _EndIsTold):
    """Jobs that are alone in the pipeline: one begins when the last slot of the other has left.

    All dimensions go on in the clock of the slot, so it is known at once which slots need a beat,
    and which is the last.
    """

    def admit(
        self, m: Module, gate: AdmissionPorts, port: OfferedJob, has_credit: Value
    ) -> tuple[Advance, Value]:
        """Let in the slots of a job, then its last; a token comes a clock before the first slot."""
        active, token, final = (Signal(name=name) for name in ("active", "token", "final"))
        advance = Advance(token, token, token, token | gate.slot, gate.slot)
        wanted, last = Const(1, 1), gate.plane_end
        if not ends_with_plane(self._config):
            m.submodules.slots = walk = slots.SlotWalk(self._config)
            m.d.comb += walk.job.eq(gate.job)
            advance.drive(m, walk.advance)
            wanted, last = walk.wanted, walk.last
        m.d.comb += [
            port.may_offer.eq(1),
            port.taken.eq(token),
            token.eq(port.offered & ~active),
            gate.beat_wanted.eq(active & wanted),
            gate.slot.eq(active & (gate.beat_here | ~wanted)),
            gate.end.eq(last),
            final.eq(gate.slot & last),
        ]
        m.d.sync += active.eq(token | (active & ~final))
        return advance.later(m, beat_clocks(self._config)), active


def takes_by_registers(config: CoreConfig) -> bool:
    """Return whether the core's ``ready`` is a register, and a beat goes straight into one."""
    return is_endless(config) and not timing_parameters(config).holds_one_job


def beat_clocks(config: CoreConfig) -> int:
    """Return the clocks of the register that takes an input beat, in front of the control."""
    parameters = timing_parameters(config)
    is_needed_at_once = parameters.holds_one_job and ends_with_plane(config)
    return 0 if is_needed_at_once else parameters.beat_clocks


def job_kind(config: CoreConfig) -> JobKind:
    """Return the kind of jobs of a core."""
    if is_endless(config):
        return EndlessJobs(config)
    if timing_parameters(config).holds_one_job:
        return SingleJobs(config)
    return PlaneJobs(config) if ends_with_plane(config) else QueuedJobs(config)
