"""Commands: writes of job registers and starts, worked off in order.

A command waits in a queue until all jobs started before it have been taken by the core. So the
registers of the next jobs can be written, and the jobs started, while one is running.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.axi.register_map import (
    COMMANDS,
    START_COMMAND,
    WORD_BITS,
    BlockError,
    command_number,
    command_queue_depth,
    written_bits,
)
from extremum.hdl.axi.tables import is_one_of
from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import job_layout, status_layout
from extremum.hdl.queue import Queue
from extremum.hdl.register_table import Bits, is_position
from extremum.hdl.timing import delay, timing_parameters

NUMBER_BITS = (COMMANDS - 1).bit_length()

LOW_NUMBER_BITS = NUMBER_BITS // 2
"""Bits of a command's number that are decoded apart from those above them."""


def value_bits(config: CoreConfig) -> int:
    """Return the bits of the widest register that is written for a job."""
    return max(bits.width for bits in written_bits(config).values())


def command_numbers(config: CoreConfig) -> list[int]:
    """Return the numbers of all commands: those of the written registers, and the start's."""
    return [*map(command_number, written_bits(config)), START_COMMAND]


def is_misfit(m: Module, config: CoreConfig, number: Value, word: Value) -> Value:
    """Return, a clock later, whether a word does not fit the register that a command names."""
    commands = command_numbers(config)
    classes: dict[Bits, list[int]] = {}
    for name, bits in written_bits(config).items():
        if not is_position(name) and bits.width < WORD_BITS:
            classes.setdefault(bits, []).append(command_number(name))
    return Cat(
        *(
            delay(m, is_one_of(number, members, commands), 1) & delay(m, ~_fits(word, bits), 1)
            for bits, members in classes.items()
        )
    ).any()


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
    number, value, misfit : In
        What it names, the word, and whether the word does not fit the register.
    free : Out
        Commands that there is space for.
    is_empty : Out(1)
        No command is in the queue, nor on its way through it.
    valid, o_number, o_value, o_misfit, ready
        The oldest command; it is taken in a clock in which ``valid`` and ``ready`` are set.
    """

    write: Signal
    number: Signal
    value: Signal
    misfit: Signal
    free: Signal
    is_empty: Signal
    valid: Signal
    o_number: Signal
    o_value: Signal
    o_misfit: Signal
    ready: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        self.depth = command_queue_depth(config)
        super().__init__(
            {
                "write": In(1),
                "number": In(NUMBER_BITS),
                "value": In(WORD_BITS),
                "misfit": In(1),
                "free": Out(range(self.depth + 1)),
                "is_empty": Out(1),
                "valid": Out(1),
                "o_number": Out(NUMBER_BITS),
                "o_value": Out(value_bits(config)),
                "o_misfit": Out(1),
                "ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        leaves = self.valid & self.ready
        free = Signal.like(self.free, name="commands_free", init=self.depth)
        with m.If(self.write ^ leaves):
            m.d.sync += free.eq(free + Mux(leaves, 1, -1))
        # The depth is a power of two, and only the whole of it has the highest bit.
        m.d.comb += [self.free.eq(free), self.is_empty.eq(free[-1])]
        command = Cat(self.value[: len(self.o_value)], self.number, self.misfit)
        kept = Cat(self.o_value, self.o_number, self.o_misfit)
        m.submodules.queue = queue = Queue(len(kept), self.depth, timing_parameters(self.config))
        m.d.comb += [
            queue.write.eq(self.write),
            queue.i.eq(command),
            queue.ready.eq(self.ready),
            self.valid.eq(queue.valid),
            kept.eq(queue.o),
        ]
        return m


class JobStarter(wiring.Component):
    """Carries out commands: keeps the job registers, and offers a job to the core for each start.

    A word that does not fit its register is not taken, and the next job is refused. A job that is
    refused, by the core or for this reason, gives no result, and its packet on ``s_axis`` is
    dropped, up to its TLAST. The next command waits for that.

    Throughput: a command in each clock, while no job waits to be taken.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    valid, number, value, misfit, ready
        The oldest command.
    job, job_valid, job_ready
        The core's job port.
    status : In(status_layout())
        The core's status.
    drop : Out(1)
        The packet behind those of the jobs under way is to be dropped, since its job was refused.
    dropped : In(1)
        The packet has been dropped.
    busy : Out(1)
        A job is being offered, or its packet is to be dropped.
    error : Out(BlockError)
        Why the job was refused, while ``drop`` is set.
    register : Out
        Number of the register whose value did not fit, the first one of several.
    """

    valid: Signal
    number: Signal
    value: Signal
    misfit: Signal
    ready: Signal
    job: data.View
    job_valid: Signal
    job_ready: Signal
    status: data.View
    drop: Signal
    dropped: Signal
    busy: Signal
    error: Signal
    register: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "number": In(NUMBER_BITS),
                "value": In(value_bits(config)),
                "misfit": In(1),
                "ready": Out(1),
                "job": Out(job_layout(config)),
                "job_valid": Out(1),
                "job_ready": In(1),
                "status": In(status_layout()),
                "drop": Out(1),
                "dropped": In(1),
                "busy": Out(1),
                "error": Out(BlockError),
                "register": Out(NUMBER_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # While ``busy``, a job has been started, is offered, or its packet is to be dropped.
        has_start, offers = Signal(name="has_start"), Signal(name="offers")
        has_misfit = Signal(name="has_misfit")
        m.d.comb += [
            self.busy.eq(has_start | offers | self.drop),
            self.ready.eq(~self.busy),
            self.error.eq(Mux(has_misfit, BlockError.RANGE, self.status.error)),
        ]
        # The command comes out of the queue late in the clock, so whether it is a start is used in
        # the next one.
        takes = self.valid & self.ready
        self._registers(m, takes)
        is_start = is_one_of(self.number, [START_COMMAND], command_numbers(self.config))
        m.d.sync += has_start.eq(takes & is_start)
        answered = delay(m, self.job_valid & self.job_ready, 1)
        with m.If(has_start):
            m.d.sync += [offers.eq(~has_misfit), self.job_valid.eq(~has_misfit)]
        with m.If(self.job_ready):
            m.d.sync += self.job_valid.eq(0)
        with m.If(answered):
            m.d.sync += offers.eq(0)
        with m.If((has_start & has_misfit) | (answered & self.status.refused)):
            m.d.sync += self.drop.eq(1)
        with m.If(self.dropped):
            m.d.sync += [self.drop.eq(0), has_misfit.eq(0)]
        with m.If(takes & self.misfit):
            m.d.sync += has_misfit.eq(1)
        # The first of several is kept.
        with m.If(~has_misfit):
            m.d.sync += self.register.eq(self.number)
        return m

    def _registers(self, m: Module, takes: Value) -> None:
        """Add the registers: each takes the word that names it, a clock after the command.

        Both halves of the number are decoded by then, so that each register needs but one gate.
        """
        word = delay(m, self.value, 1)
        written = written_bits(self.config)
        numbers = {name: divmod(command_number(name), 1 << LOW_NUMBER_BITS) for name in written}
        low, high = self.number[:LOW_NUMBER_BITS], self.number[LOW_NUMBER_BITS:]
        is_low = {half: delay(m, low == half, 1) for _, half in numbers.values()}
        is_high = {
            half: delay(m, takes & ~self.misfit & (high == half), 1) for half, _ in numbers.values()
        }
        for name in written:
            upper, lower = numbers[name]
            with m.If(is_high[upper] & is_low[lower]):
                m.d.sync += Value.cast(self.job[name.replace(".", "_")]).eq(word)


def _fits(value: Value, bits: Bits) -> Value:
    """Return whether a word, in two's complement if ``bits`` is signed, fits in so many bits."""
    if bits.signed:
        above = value[bits.width - 1 :]
        return ~above.any() | above.all()
    return ~value[bits.width :].any()
