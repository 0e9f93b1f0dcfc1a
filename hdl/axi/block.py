"""The AXI block: the core between AXI4-Stream and AXI4-Lite ports."""

from __future__ import annotations

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    DomainRenamer,
    Module,
    Mux,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.axi import outputs
from extremum.hdl.axi.buffers import InputBuffer
from extremum.hdl.axi.commands import CommandQueue, JobStarter
from extremum.hdl.axi.control import BlockControl
from extremum.hdl.axi.counters import CounterBank
from extremum.hdl.axi.input_packets import InputPackets
from extremum.hdl.axi.lite import AxiLitePort, AxiLiteSignature
from extremum.hdl.axi.register_map import JOB_BITS, BlockError
from extremum.hdl.axi.streams import (
    has_input_buffer,
    has_output_buffers,
    is_programmable,
    marks_lanes,
    port_widths,
)
from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.hdl.timing import delay


def block_members(config: CoreConfig) -> dict[str, wiring.Member]:
    """Return the ports of a core's block, by name."""
    members: dict[str, wiring.Member] = {"aclk": In(1), "aresetn": In(1)}
    for name, width in port_widths(config).items():
        if width:
            flow, back = (In, Out) if name == "s_axis" else (Out, In)
            members |= {
                f"{name}_tdata": flow(width),
                f"{name}_tkeep": flow(width // 8),
                f"{name}_tlast": flow(1),
                f"{name}_tvalid": flow(1),
                f"{name}_tready": back(1),
            }
    if is_programmable(config):
        for name, member in AxiLiteSignature().flip().members.items():
            members[f"s_axil_{name}"] = member
        members["irq"] = Out(1)
    return members


class AxiBlock(wiring.Component):
    """A core with AXI ports, in one of two forms.

    A core that has job registers becomes a *programmable* block: they are written on AXI4-Lite,
    and each job takes one packet on ``s_axis`` and gives one on each output stream. If all
    registers are fixed it becomes a *dataflow* block, which has streams alone.

    All outputs come from registers: those of a buffer at the stream, or those of the core where
    these are as good (:mod:`extremum.hdl.axi.streams`). A stall of one output stream holds the
    other as soon as the buffer in front of it is full, with one beat or two
    (:mod:`extremum.hdl.axi.outputs`); nothing is lost. In the
    programmable block, a soft reset ends all jobs; a beat that is offered on an output stream stays
    until it is taken.

    Latency: that of the core, and a clock for each buffer on the way
    (:func:`extremum.hdl.axi.latency.buffer_latency`). Throughput: that of the core.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    aclk : In(1)
        The clock; its rising edge counts.
    aresetn : In(1)
        Reset, active low, synchronous.
    s_axis_*
        The elements. Lane 0 is in the lowest bytes. TKEEP is not looked at, since a job knows how
        many lanes of its last beat carry elements.
    m_axis_value_*, m_axis_index_*
        Winners and their positions, if the core gives them.
    s_axil_*
        The registers, see :mod:`extremum.hdl.axi.register_map`.
    irq : Out(1)
        An enabled event has happened and is not cleared.
    """

    aclk: Signal
    aresetn: Signal
    s_axis_tdata: Signal
    s_axis_tlast: Signal
    s_axis_tvalid: Signal
    s_axis_tready: Signal
    irq: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(block_members(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = ClockDomain(local=True)
        if is_programmable(self.config):
            self._programmable(m)
        else:
            self._dataflow(m)
        return m

    def _dataflow(self, m: Module) -> None:
        """Put the core between the streams; a reset ends all at once.

        The block counts the beats of its jobs, and does not look at TLAST.
        """
        config = self.config
        reset = Signal(name="reset", init=1, reset_less=True)
        m.d.sync += reset.eq(~self.aresetn)
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(reset)]
        m.submodules.core = core = Core(
            config,
            closed_in_reset=not has_input_buffer(config),
            marks_lanes=marks_lanes(config),
        )
        valid, beat, ready = core.i.valid, Value.cast(core.i.payload), core.i.ready
        if has_input_buffer(config):
            m.submodules.source = source = InputBuffer(len(self.s_axis_tdata))
            m.d.comb += [
                valid.eq(source.o_valid), beat.eq(source.o_data), source.o_ready.eq(ready)
            ]  # fmt: skip
            valid, beat, ready = source.i_valid, source.i_data, source.i_ready
        m.d.comb += [
            valid.eq(self.s_axis_tvalid),
            beat.eq(self.s_axis_tdata),
            self.s_axis_tready.eq(ready),
        ]
        if has_output_buffers(config):
            outputs.give_by_buffers(m, self, core)
        else:
            outputs.give_directly(m, self, core)

    def _domains(self, m: Module, soft_reset: Value) -> Signal:
        """Add the clock domains that a soft reset resets, one after the other.

        ``input``, the buffer of ``s_axis``, is reset first, so that it keeps every beat that is
        taken after the write of the soft reset was answered. ``jobs``, the core and what serves it,
        follows a clock later. ``counted``, the events that are counted, stays in reset until the
        last event of the ended jobs has passed. ``aresetn`` resets all three at once. Each reset
        goes to many flip-flops, so it comes from a register.

        Returns
        -------
        Signal
            Set while jobs are being ended, from the first of these resets until the end of the
            last. What happens in these clocks ends no job, is no error, and is not counted, so
            counters that the same write clears stay zero.
        """
        names = ("reset", "input_reset", "jobs_reset", "late_reset", "ends")
        reset, input_reset, jobs_reset, late_reset, ends = (
            Signal(name=name, init=1, reset_less=True) for name in names
        )
        m.d.sync += [
            reset.eq(~self.aresetn),
            input_reset.eq(~self.aresetn | soft_reset),
            jobs_reset.eq(~self.aresetn | input_reset),
            late_reset.eq(jobs_reset),
            ends.eq(~self.aresetn | soft_reset | input_reset | jobs_reset | late_reset),
        ]
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(reset)]
        resets = {"input": input_reset, "jobs": jobs_reset, "counted": ends}
        for domain, domain_reset in resets.items():
            m.domains += ClockDomain(domain, local=True)
            m.d.comb += [ClockSignal(domain).eq(self.aclk), ResetSignal(domain).eq(domain_reset)]
        return ends

    def _programmable(self, m: Module) -> None:
        """Add the core with the registers, the commands and the packets."""
        config = self.config
        soft_reset = Signal(name="soft_reset")
        ends = self._domains(m, soft_reset)
        m.submodules.core = core = DomainRenamer("jobs")(
            Core(config, marks_lanes=marks_lanes(config), tells_intake=True)
        )
        beat = Cat(self.s_axis_tdata, self.s_axis_tlast)
        source = InputBuffer(len(beat))
        m.submodules.source = DomainRenamer("input")(source)
        m.d.comb += [
            source.i_valid.eq(self.s_axis_tvalid),
            source.i_data.eq(beat),
            self.s_axis_tready.eq(source.i_ready),
        ]
        m.submodules.lite = lite = AxiLitePort()
        m.submodules.control = control = BlockControl(config)
        queue, starter, packets = CommandQueue(config), JobStarter(config), InputPackets()
        for name, part in {"commands": queue, "starter": starter, "packets": packets}.items():
            m.submodules[name] = DomainRenamer("jobs")(part)
        for name, member in AxiLiteSignature().members.items():
            ours, theirs = getattr(self, f"s_axil_{name}"), getattr(lite.axi, name)
            m.d.comb += theirs.eq(ours) if member.flow is Out else ours.eq(theirs)
        wiring.connect(m, lite.bus, control.bus)
        m.d.comb += [
            soft_reset.eq(control.soft_reset),
            self.irq.eq(control.irq),
            queue.write.eq(control.command),
            queue.number.eq(control.number),
            queue.value.eq(control.value),
            queue.misfit.eq(control.misfit),
            control.free.eq(queue.free),
            starter.valid.eq(queue.valid),
            starter.number.eq(queue.o_number),
            starter.value.eq(queue.o_value),
            starter.misfit.eq(queue.o_misfit),
            queue.ready.eq(starter.ready),
            core.job.payload.eq(starter.job),
            core.job.valid.eq(starter.job_valid),
            starter.job_ready.eq(core.job.ready),
            starter.status.eq(core.status),
            packets.intake.eq(core.intake),
            packets.drop.eq(starter.drop),
            starter.dropped.eq(packets.dropped),
            packets.i_valid.eq(source.o_valid),
            packets.i_last.eq(source.o_data[-1]),
            source.o_ready.eq(packets.i_ready),
            core.i.valid.eq(packets.o_valid),
            Value.cast(core.i.payload).eq(source.o_data[:-1]),
            packets.o_ready.eq(core.i.ready),
        ]
        left = core.o.valid & core.o.ready
        taken = outputs.give_by_buffers(m, self, core, ends)
        self._observe(
            m, core, control,
            queue=queue, starter=starter, packets=packets, left=left, taken=taken, ends=ends,
        )  # fmt: skip

    def _observe(
        self,
        m: Module,
        core: Core,
        control: BlockControl,
        *,
        queue: CommandQueue,
        starter: JobStarter,
        packets: InputPackets,
        left: Value,
        taken: list[Value],
        ends: Value,
    ) -> None:
        """Tell the registers what happens: errors, ends of jobs, and what is counted."""
        job_left = outputs.job_left(m, self.config, taken, ends)
        # `busy` leaves out a command that is still inside the memory of the queue, and comes a
        # clock late. No read can see this: the earliest one after the answer to START comes later.
        widths = port_widths(self.config)
        busy = (
            queue.valid | starter.busy | packets.busy | core.status.busy
            | Cat(getattr(self, f"{name}_tvalid") for name, width in widths.items()
                  if width and name != "s_axis").any()
        )  # fmt: skip
        m.d.comb += [
            control.busy.eq(delay(m, busy, 1)),
            control.idle.eq(delay(m, queue.is_empty & ~busy, 1)),
            control.done.eq((job_left | packets.dropped) & ~ends),
            control.register.eq(starter.register),
        ]  # fmt: skip
        self._errors(m, control, starter, packets, ends)
        empty_windows = self._empty_windows(m, core, left)
        events = (
            control.busy,
            packets.i_valid & packets.i_ready,
            left,
            core.i.ready & ~packets.o_valid,
            core.o.valid & ~core.o.ready,
            job_left + packets.dropped,
            empty_windows,
        )
        m.submodules.counters = counters = CounterBank([1, 1, 1, 1, 1, 2, self.config.lanes])
        for number, event in enumerate(events):
            late = Signal.like(getattr(counters, f"events_{number}"), name=f"event_{number}")
            m.d.counted += late.eq(event)
            m.d.comb += getattr(counters, f"events_{number}").eq(late)
        m.d.comb += [
            counters.clear.eq(control.clear_counters),
            control.counter_number.eq(counters.number),
            control.counter_place.eq(counters.place),
            control.counter_byte.eq(counters.byte),
        ]

    def _errors(
        self,
        m: Module,
        control: BlockControl,
        starter: JobStarter,
        packets: InputPackets,
        ends: Value,
    ) -> None:
        """Tell why a job failed, and which: jobs are numbered in the order of their packets."""
        # The error is known late in the clock, so it is passed on in the next one. Errors of jobs
        # that a soft reset is ending are not told, since the number of the job is already 0 again.
        failed, code = Signal(name="failed"), Signal.like(control.code, name="code")
        of_packet = Mux(packets.late, BlockError.TLAST_LATE, BlockError.TLAST_EARLY)
        m.d.sync += [
            failed.eq((packets.refused | packets.early | packets.late) & ~ends),
            # No job is refused in the clock in which one ends, which is known sooner.
            code.eq(Mux(packets.intake.ended, of_packet, starter.error)),
        ]
        # In the clock in which the registers are told, the job is still the one that failed.
        job, is_over = Signal(JOB_BITS, name="job"), Signal(name="is_over")
        m.d.sync += is_over.eq(packets.intake.ended | packets.dropped)
        with m.If(ends):
            m.d.sync += job.eq(0)
        with m.Elif(is_over):
            m.d.sync += job.eq(job + 1)
        m.d.comb += [control.failed.eq(failed), control.code.eq(code), control.job.eq(job)]

    def _empty_windows(self, m: Module, core: Core, left: Value) -> Value:
        """Return how many results of the beat that left two clocks ago are of empty windows."""
        empties: list[Value] = []
        if self.config.index_width:
            late_left = delay(m, left, 1)
            empties = [
                delay(m, late_left & _late_all(m, Value.cast(index)), 1)
                for index in core.o.payload.index
            ]
        return sum(empties, Const(0, bits_for(self.config.lanes)))


def _late_all(m: Module, word: Value) -> Value:
    """Return whether a word was all ones a clock ago; its nibbles were found to be so then."""
    return delay(m, Cat(word[low : low + 4].all() for low in range(0, len(word), 4)), 1).all()
