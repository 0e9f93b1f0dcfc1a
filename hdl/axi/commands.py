"""Commands: writes of job registers and starts, worked off in order.

A command waits in a queue until all jobs started before it have been taken by the core. So the
registers of the next jobs can be written, and the jobs started, while one is running.
"""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.axi.register_map import (
    COMMANDS,
    START_COMMAND,
    WORD_BITS,
    BlockError,
    command_number,
    command_queue_depth,
    is_kept_less_one,
    packet_bits,
    written_bits,
)
from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout, status_layout
from extremum.hdl.queue import Queue
from extremum.hdl.register_table import Bits, is_position
from extremum.hdl.timing import timing_parameters

NUMBER_BITS = (COMMANDS - 1).bit_length()

SETTLE = 4
"""Clocks from the last write of a register to the offer: the writes are on their way so long."""

ANSWER = 4
"""Clocks from the offer of a job until the core has refused it, if it does."""


def packet_layout(config: CoreConfig) -> data.StructLayout:
    """Return the layout of the registers that describe a job's packets."""
    return data.StructLayout({name: bits.width for name, bits in packet_bits(config).items()})


class CommandQueue(wiring.Component):
    """Holds commands until they can be carried out.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    write : In(1)
        A command comes. Nobody writes while ``free`` is 0.
    number, value : In
        What it names, and the value of the register.
    free : Out
        Commands that there is space for.
    valid, o_number, o_value, ready
        The oldest command; it is taken in a clock in which ``valid`` and ``ready`` are set.
    """

    write: Signal
    number: Signal
    value: Signal
    free: Signal
    valid: Signal
    o_number: Signal
    o_value: Signal
    ready: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        self.depth = command_queue_depth(config)
        super().__init__(
            {
                "write": In(1),
                "number": In(NUMBER_BITS),
                "value": In(WORD_BITS),
                "free": Out(range(self.depth + 1)),
                "valid": Out(1),
                "o_number": Out(NUMBER_BITS),
                "o_value": Out(WORD_BITS),
                "ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = replace(timing_parameters(self.config), lookup_queue=self.depth)
        m.submodules.queue = queue = Queue(NUMBER_BITS + WORD_BITS, self.depth, parameters)
        used = Signal(range(self.depth + 1), name="used")
        m.d.sync += used.eq(used + self.write - (self.valid & self.ready))
        m.d.sync += self.free.eq(self.depth - used - self.write)
        m.d.comb += [
            queue.write.eq(self.write),
            queue.i.eq(Cat(self.number, self.value)),
            queue.ready.eq(self.ready),
            self.valid.eq(queue.valid),
            Cat(self.o_number, self.o_value).eq(queue.o),
        ]
        return m


class JobStarter(wiring.Component):
    """Carries out commands: keeps the job registers, and offers a job to the core for each start.

    A value that does not fit its register is not taken, and the next job is refused. A job that is
    refused, by the core or for this reason, gives no result, and its packet on ``s_axis`` is
    dropped, up to its TLAST.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    valid, number, value, ready
        The oldest command.
    job, job_valid, job_ready
        The core's job port.
    status : In(status_layout())
        The core's status.
    packet : Out(packet_layout(config))
        How the packets of the job look that is offered.
    expects : Out(1)
        The core has not refused the job, whose packet has not been expected yet: ``packet`` is
        valid, and stays.
    expected : In(1)
        Its packet is expected from the next clock on.
    may_start : In(1)
        A job may be offered.
    drop : Out(1)
        The next packet is dropped, since its job was refused.
    dropped : In(1)
        The packet has been dropped.
    busy : Out(1)
        A job is being offered, or its packet is dropped.
    accepted : Out(1)
        The core has taken the job, and will give its results.
    started : Out(1)
        A start is carried out.
    refused : Out(1)
        The job of the last start is refused.
    error : Out(BlockError)
        The reason.
    register : Out
        Number of the register whose value did not fit.
    """

    valid: Signal
    number: Signal
    value: Signal
    ready: Signal
    job: data.View
    job_valid: Signal
    job_ready: Signal
    status: data.View
    packet: data.View
    expects: Signal
    expected: Signal
    may_start: Signal
    drop: Signal
    dropped: Signal
    busy: Signal
    accepted: Signal
    started: Signal
    refused: Signal
    error: Signal
    register: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "number": In(NUMBER_BITS),
                "value": In(WORD_BITS),
                "ready": Out(1),
                "job": Out(job_layout(config)),
                "job_valid": Out(1),
                "job_ready": In(1),
                "status": In(status_layout()),
                "packet": Out(packet_layout(config)),
                "expects": Out(1),
                "expected": In(1),
                "may_start": In(1),
                "drop": Out(1),
                "dropped": In(1),
                "busy": Out(1),
                "accepted": Out(1),
                "started": Out(1),
                "refused": Out(1),
                "error": Out(BlockError),
                "register": Out(NUMBER_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        misfit = self._registers(m)
        has_misfit = Signal(name="has_misfit")
        with m.If(misfit & ~has_misfit):
            m.d.sync += has_misfit.eq(1)
        wait = Signal(range(max(SETTLE, ANSWER) + 1), name="wait")
        # While ``busy``: the last writes arrive, then the job is offered, or its packet dropped.
        settles, offers = Signal(name="settles"), Signal(name="offers")
        is_told = Signal(name="is_told")
        m.d.comb += [
            self.ready.eq(~self.busy),
            self.started.eq(self.valid & self.ready & (self.number == START_COMMAND)),
        ]
        settled = settles & (wait == 0)
        answered = offers & self.job_valid & self.job_ready
        is_misfit = settled & has_misfit
        m.d.comb += [
            self.refused.eq(is_misfit | (answered & self.status.refused)),
            self.error.eq(Mux(settles, BlockError.RANGE, self.status.error)),
            self.accepted.eq(answered & ~self.status.refused),
        ]
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(self.started):
            m.d.sync += [self.busy.eq(1), settles.eq(1), wait.eq(SETTLE)]
        with m.If(is_misfit):
            m.d.sync += has_misfit.eq(0)
        with m.If(settled & ~has_misfit & self.may_start):
            m.d.sync += [settles.eq(0), offers.eq(1), self.job_valid.eq(1), wait.eq(ANSWER)]
        # The core refuses a job soon or never, so that no beat is expected for a job it refuses.
        with m.If(offers & (wait == 0) & ~is_told):
            m.d.sync += [self.expects.eq(1), is_told.eq(1)]
        with m.If(self.expected):
            m.d.sync += self.expects.eq(0)
        with m.If(answered):
            m.d.sync += self.job_valid.eq(0)
        # A job that was accepted stays here until its packet is expected.
        with m.If(offers & ~self.job_valid & is_told & ~self.expects):
            m.d.sync += [offers.eq(0), self.busy.eq(0), is_told.eq(0)]
        with m.If(self.refused):
            m.d.sync += [settles.eq(0), offers.eq(0), self.drop.eq(1)]
        with m.If(self.dropped):
            m.d.sync += [self.drop.eq(0), self.busy.eq(0)]
        return m

    def _registers(self, m: Module) -> Value:
        """Add the registers, which commands write; return whether a value does not fit."""
        table = written_bits(self.config)
        numbers = {name: command_number(name) for name in table}
        # First clock: the value as the job port has it.
        less_one = _any_of(self.number, [numbers[name] for name in table if is_kept_less_one(name)])
        writes, number = Signal(name="writes"), Signal(NUMBER_BITS, name="written")
        value, is_zero = Signal(WORD_BITS, name="encoded"), Signal(name="is_zero")
        m.d.sync += [
            writes.eq(self.valid & self.ready & (self.number != START_COMMAND)),
            number.eq(self.number),
            value.eq(self.value - less_one),
            is_zero.eq(less_one & (self.value == 0)),
        ]
        # Second clock: whether it fits, and which register takes it.
        classes: dict[Bits, list[int]] = {}
        for name, bits in table.items():
            if not is_position(name) and bits.width < WORD_BITS:
                classes.setdefault(bits, []).append(numbers[name])
        beyond = [
            _any_of(number, members) & ~_fits(value, bits) for bits, members in classes.items()
        ]
        misfit = Signal(name="misfit")
        kept, last = Signal(WORD_BITS, name="fitting"), Signal(NUMBER_BITS, name="last_number")
        takes = Signal(len(table), name="takes")
        m.d.sync += [
            misfit.eq(writes & (is_zero | Cat(*beyond).any())),
            kept.eq(value),
            last.eq(number),
            takes.eq(Cat(writes & (number == own) for own in numbers.values())),
        ]
        # Third clock: the register takes it.
        for place, name in enumerate(table):
            target = (
                self.packet[name]
                if name in packet_bits(self.config)
                else (self.job[name.replace(".", "_")])
            )
            with m.If(takes[place] & ~misfit):
                m.d.sync += Value.cast(target).eq(kept)
        with m.If(misfit):
            m.d.sync += self.register.eq(last)
        return misfit


def _any_of(number: Value, members: list[int]) -> Value:
    """Return whether a number is one of some."""
    return Const(sum(1 << n for n in set(members)), COMMANDS).bit_select(number, 1)


def _fits(value: Value, bits: Bits) -> Value:
    """Return whether a word, in two's complement if ``bits`` is signed, fits in so many bits."""
    if bits.signed:
        above = value[bits.width - 1 :]
        return ~above.any() | above.all()
    return ~value[bits.width :].any()
