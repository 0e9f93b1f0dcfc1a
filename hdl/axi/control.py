"""The registers of the block behind the AXI4-Lite port: identification, status, events, errors."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.commands import NUMBER_BITS, is_misfit
from extremum.hdl.axi.counters import BYTE_BITS, COUNTERS_PER_BANK
from extremum.hdl.axi.lite import WordBus
from extremum.hdl.axi.register import Register
from extremum.hdl.axi.register_map import WORD_BITS, WORD_BYTES, BlockError
from extremum.hdl.axi.tables import is_one_of, look_up
from extremum.hdl.config import CoreConfig
from extremum.hdl.timing import delay

READ_CLOCKS = 2
"""Clocks from the address of a read until the first byte of its word may be taken."""


class BlockControl(wiring.Component):
    """Answers reads and writes of registers, and sends commands on to the queue.

    Parameters
    ----------
    config
        Configuration of the core.

    Members
    -------
    bus : In(WordBus())
        Reads and writes.
    command, number, value, misfit : Out
        A command for the queue.
    free : In
        Space in the queue.
    busy : In(1)
        A command waits, or a job is under way.
    idle : In(1)
        No command waits, and no job is under way. It is 0 in the second clock behind a ``command``
        at the latest: in that clock the next write may be carried out.
    done, failed : In(1)
        The results of a job have left; a job failed.
    code, register, job : In
        Why it failed, the number of the register whose value does not fit, and the job's number.
    soft_reset, clear_counters : Out(1)
        What a write to CONTROL asks for. The former is told late in the clock in which the write is
        answered, the latter in the next clock.
    counter_number, counter_place, counter_byte : In
        The bytes of the counters, see :class:`extremum.hdl.axi.counters.CounterBank`.
    irq : Out(1)
        The interrupt.
    """

    bus: Any
    command: Signal
    number: Signal
    value: Signal
    misfit: Signal
    free: Signal
    busy: Signal
    idle: Signal
    done: Signal
    failed: Signal
    code: Signal
    register: Signal
    job: Signal
    soft_reset: Signal
    clear_counters: Signal
    counter_number: Signal
    counter_place: Signal
    counter_byte: Signal
    irq: Signal

    def __init__(self, config: CoreConfig):
        self.config = config
        self._map = {register.address: register for register in regs.register_map(config)}
        super().__init__(
            {
                "bus": In(WordBus()),
                "command": Out(1),
                "number": Out(NUMBER_BITS),
                "value": Out(WORD_BITS),
                "misfit": Out(1),
                "free": In(range(regs.command_queue_depth(config) + 1)),
                "busy": In(1),
                "idle": In(1),
                "done": In(1),
                "failed": In(1),
                "code": In(BlockError),
                "register": In(NUMBER_BITS),
                "job": In(regs.JOB_BITS),
                "soft_reset": Out(1),
                "clear_counters": Out(1),
                "counter_number": In(range(COUNTERS_PER_BANK)),
                "counter_place": In(range(WORD_BYTES)),
                "counter_byte": In(BYTE_BITS),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A write takes effect in the clock after it was asked for, while its address and its data
        # stay: it is asked for late in the clock.
        written = Signal(name="written")
        m.d.sync += written.eq(self.bus.write)
        overflow = self._commands(m, written)
        enable, events, clear = self._events(m, written, overflow)
        has_error = events[1] & ~clear[1]
        self._reads(m, self._live(m, enable, events, has_error, overflow))
        return m

    def _words(self, condition: Callable[[Register], bool]) -> list[int]:
        """Return the word addresses of the registers that meet a condition."""
        return [a // WORD_BYTES for a, register in self._map.items() if condition(register)]

    def _names(self, address: Value, condition: Callable[[Register], bool]) -> Value:
        """Return whether the address of a word names a register that meets a condition."""
        return is_one_of(address, self._words(condition), range(1 << len(address)))

    def _at(self, m: Module, address: int) -> Value:
        """Return, a clock after it is asked for, whether a write names a word's lowest byte."""
        bus = self.bus
        return delay(m, (bus.write_address == address // WORD_BYTES) & bus.write_strobes[0], 1)

    def _commands(self, m: Module, written: Value) -> Value:
        """Send writes of commands on; return whether there was no space for one, a clock late."""
        bus = self.bus
        writable = self._names(bus.write_address, lambda register: register.is_writable)
        is_command = bus.write_address >= regs.COMMAND_BASE // WORD_BYTES
        # A write follows another after two clocks at the soonest, so ``free`` has seen it.
        fits = self.free != 0
        # A command is a whole word; without any byte, a write has no effect.
        is_whole = bus.write_strobes.all()
        is_partial = bus.write_strobes.any() & ~is_whole
        is_refused, is_asked, fitted, overflow = (
            Signal(name=name) for name in ("is_refused", "is_asked", "fitted", "overflow")
        )
        number = bus.write_address[:NUMBER_BITS]
        m.d.sync += [
            is_refused.eq(~writable | (is_command & is_partial)),
            is_asked.eq(writable & is_command & is_whole),
            fitted.eq(fits),
        ]
        m.d.comb += bus.write_error.eq(is_refused | (is_asked & ~fitted))
        control = written & self._at(m, regs.CONTROL)
        m.d.comb += [
            self.number.eq(number),
            self.value.eq(bus.write_data),
            self.misfit.eq(is_misfit(m, self.config, number, bus.write_data)),
            self.command.eq(written & is_asked & fitted),
        ]
        m.d.sync += overflow.eq(written & is_asked & ~fitted)
        resets = control & bus.write_data[0]
        m.d.comb += self.soft_reset.eq(resets)
        m.d.sync += [
            self.clear_counters.eq(control & bus.write_data[1]),
            # The queue is reset two clocks after ``soft_reset``. A command that was written in that
            # clock would be lost, and ``free`` is right again only a clock later. So writes wait
            # for two clocks.
            bus.write_waits.eq(resets | delay(m, resets, 1)),
        ]
        return overflow

    def _events(self, m: Module, written: Value, overflow: Value) -> tuple[Signal, Signal, Value]:
        """Add the interrupt; return what enables it, the events, and those being cleared."""
        bus, count = self.bus, len(regs.EVENTS)
        enable = Signal(count, name="irq_enable")
        events = Signal(count, name="irq_status", init=self._map[regs.IRQ_STATUS].reset)
        with m.If(written & self._at(m, regs.IRQ_ENABLE)):
            m.d.sync += enable.eq(bus.write_data)
        clear: Value = Mux(written & self._at(m, regs.IRQ_STATUS), bus.write_data[:count], 0)
        # An event in the clock in which it is cleared is not lost.
        happened = Cat(self.done, self.failed | overflow, self.idle)
        m.d.sync += [
            events.eq((events & ~clear) | happened),
            self.irq.eq((events & enable).any()),
        ]
        return enable, events, clear

    def _live(
        self, m: Module, enable: Signal, events: Signal, has_error: Value, overflow: Value
    ) -> dict[int, Sequence[Value]]:
        """Return the bytes of the words that are neither constants nor counters, by address."""
        code, register, job = (
            Signal.like(signal, name=f"error_{name}")
            for name, signal in (
                ("code", self.code), ("register", self.register), ("job", self.job)
            )
        )  # fmt: skip
        # The first error is kept until the flag in IRQ_STATUS is cleared.
        is_first = ~has_error & (self.failed | overflow)
        with m.If(is_first):
            m.d.sync += [
                code.eq(Mux(self.failed, self.code, BlockError.QUEUE_FULL)),
                register.eq(self.register),
                job.eq(self.job),
            ]
        # RANGE alone names a register. With other errors the number is left out where the word is
        # read: whether an error is written is known too late in the clock to decide more by it.
        names_register = delay(m, code == BlockError.RANGE, 1)
        return {
            regs.ERROR: (code, Mux(names_register, register, 0), job),
            regs.STATUS: (Cat(self.busy, self.free != 0), self.free),
            regs.IRQ_ENABLE: (enable,),
            regs.IRQ_STATUS: (events,),
        }

    def _reads(self, m: Module, live: Mapping[int, Sequence[Value]]) -> None:
        """Answer reads: a word comes byte by byte, the lowest first.

        The counters are read in step with the visits of the counter bank: a byte is taken when it
        passes by. All other words use the same rhythm: their byte of a place is taken in the clock
        in which the byte of that place passes by, of whichever counter.
        """
        bus, address = self.bus, self.bus.read_address
        is_counter, shifts = Signal(name="is_counter"), Signal(name="shifts")
        # The place whose byte will pass in the next clock.
        place = (self.counter_place + 1)[: len(self.counter_place)]
        live_byte, constant_byte = (
            Signal(BYTE_BITS, name=name) for name in ("live_byte", "constant_byte")
        )
        # The address is stable: some clocks later, what depends on it is known.
        is_known = Signal(READ_CLOCKS, name="is_known")
        m.d.sync += [
            is_known.eq(Mux(bus.read, Cat(bus.read, is_known[:-1]), 0)),
            is_counter.eq(address[3:] == regs.COUNTER_BASE // WORD_BYTES >> 3),
            bus.read_error.eq(~self._names(address, lambda register: register.is_readable)),
            live_byte.eq(self._live_byte(m, place, live)),
            constant_byte.eq(self._constant_byte(m, place, live)),
        ]
        is_lowest = self.counter_place == 0
        is_first = is_lowest & (~is_counter | (self.counter_number == address[:3]))
        takes = is_known[-1] & ~bus.read_done & (shifts | is_first)
        is_last = takes & (self.counter_place == WORD_BYTES - 1)
        # What is taken goes through registers, since it moves all bits of the word on.
        byte, taken = Signal(BYTE_BITS, name="byte"), Signal(name="taken")
        m.d.sync += [
            shifts.eq(takes & ~is_last),
            byte.eq(Mux(is_counter, self.counter_byte, live_byte | constant_byte)),
            taken.eq(takes),
            bus.read_done.eq(is_last),
        ]
        with m.If(taken):
            m.d.sync += bus.read_data.eq(Cat(bus.read_data[BYTE_BITS:], byte))

    def _live_byte(self, m: Module, place: Value, live: Mapping[int, Sequence[Value]]) -> Value:
        """Return a byte of a word that changes but is no counter, else zero.

        Which byte it is, is decided a clock before, in which the place is one less.
        """
        index = Cat(place, self.bus.read_address)
        every = range(1 << len(place))
        read = [word << len(place) | n for word in self._words(_has_own_byte) for n in every]
        bits: Value = Const(0, BYTE_BITS)
        for address, parts in live.items():
            for number, part in enumerate(parts):
                is_here = Signal(name=f"is_{address:02x}_{number}")
                m.d.sync += is_here.eq(
                    is_one_of(index, [address + (number - 1) % WORD_BYTES], read)
                )
                bits = bits | Mux(is_here, part, 0)
        return bits

    def _constant_byte(self, m: Module, place: Value, live: Container[int]) -> Value:
        """Return a byte of a word that is a constant, and zero for a word that is ``live``.

        Many words are equal. So each that differs has a number, which is known a clock behind the
        address, and the table of bytes has each once.
        """
        words = {
            word: 0 if word * WORD_BYTES in live else self._map[word * WORD_BYTES].reset
            for word in self._words(_has_own_byte)
        }
        different = sorted(set(words.values()))
        numbers = {word: different.index(value) for word, value in words.items()}
        number = Signal(range(len(different)), name="constant")
        m.d.sync += number.eq(look_up(self.bus.read_address, numbers, len(number)))
        rows = {
            n << len(place) | byte: value >> BYTE_BITS * byte & 0xFF
            for n, value in enumerate(different)
            for byte in range(1 << len(place))
        }
        return look_up(Cat(place, number), rows, BYTE_BITS)


def _has_own_byte(register: Register) -> bool:
    """Return whether a read takes the register's bytes from here, and not from the counters."""
    first, count = regs.COUNTER_BASE, WORD_BYTES * COUNTERS_PER_BANK
    return register.is_readable and not first <= register.address < first + count
