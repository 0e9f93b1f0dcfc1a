"""The registers of the block behind the AXI4-Lite port: identification, status, events, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.commands import NUMBER_BITS
from extremum.hdl.axi.lite import WORD_ADDRESS_BITS, WordBus
from extremum.hdl.axi.register_map import COMMANDS, WORD_BITS, WORD_BYTES, BlockError
from extremum.hdl.config import CoreConfig


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
    command, number, value : Out
        A command for the queue.
    free : In
        Space in the queue.
    busy : In(1)
        A command waits, or a job is under way.
    done, failed : In(1)
        A job has ended; a job failed.
    code, register, job : In
        Why it failed, the number of the register whose value does not fit, and the job's number.
    soft_reset, clear_counters : Out(1)
        What a write to CONTROL asks for.
    counter_read, counter_number, counter_done, counter_value
        A read of a counter, see :class:`extremum.hdl.axi.counters.CounterBank`.
    irq : Out(1)
        The interrupt.
    """

    bus: Any
    command: Signal
    number: Signal
    value: Signal
    free: Signal
    busy: Signal
    done: Signal
    failed: Signal
    code: Signal
    register: Signal
    job: Signal
    soft_reset: Signal
    clear_counters: Signal
    counter_read: Signal
    counter_number: Signal
    counter_done: Signal
    counter_value: Signal
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
                "free": In(range(regs.command_queue_depth(config) + 1)),
                "busy": In(1),
                "done": In(1),
                "failed": In(1),
                "code": In(BlockError),
                "register": In(NUMBER_BITS),
                "job": In(regs.JOB_BITS),
                "soft_reset": Out(1),
                "clear_counters": Out(1),
                "counter_read": Out(1),
                "counter_number": Out(3),
                "counter_done": In(1),
                "counter_value": In(WORD_BITS),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The words that were written last, for reading back.
        words = len(regs.written_bits(self.config))
        m.submodules.written = written = Memory(
            shape=WORD_BITS,
            depth=1 << bits_for(words - 1),
            init=[],
            attrs={"ram_style": "distributed"},
        )
        port, store = written.read_port(domain="comb"), written.write_port()
        bus = self.bus
        overflow = self._commands(m)
        # The address and the data of a write stay for the clock in which it goes to the queue.
        m.d.sync += [
            store.addr.eq(self._place(bus.write_address)),
            port.addr.eq(self._place(bus.read_address)),
        ]
        m.d.comb += [
            self.number.eq(bus.write_address),
            self.value.eq(bus.write_data),
            store.data.eq(bus.write_data),
            store.en.eq(self.command & (self.number != regs.START_COMMAND)),
        ]
        enable, events = self._events(m, overflow)
        live = self._live(m, enable, events, overflow)
        self._reads(m, live, port.data)
        return m

    def _place(self, address: Value) -> Value:
        """Return the place in the memory of a word that is written for a job."""
        number = address[:NUMBER_BITS]
        places = {
            regs.command_number(name): place
            for place, name in enumerate(regs.written_bits(self.config))
        }
        return Cat(
            Const(
                sum((place >> bit & 1) << own for own, place in places.items()), COMMANDS
            ).bit_select(number, 1)
            for bit in range(bits_for(len(places) - 1))
        )

    def _addresses(self, condition: Callable[[regs.Register], bool]) -> list[int]:
        """Return the addresses of the registers that meet a condition."""
        return [address for address, register in self._map.items() if condition(register)]

    def _at(self, address: int) -> Value:
        """Return whether the word at an address is written."""
        return self.bus.write & (self.bus.write_address == address // WORD_BYTES)

    def _commands(self, m: Module) -> Value:
        """Send writes of commands on, a clock later; return whether there is no space for one."""
        bus = self.bus
        writable = _flag(bus.write_address, self._addresses(lambda word: word.is_writable))
        is_command = bus.write_address >= regs.COMMAND_BASE // WORD_BYTES
        # A write follows another after two clocks at the soonest, so ``free`` has seen it.
        fits = self.free != 0
        # A command is a whole word; without any byte, a write has no effect.
        is_whole = bus.write_strobes.all()
        is_partial = bus.write_strobes.any() & ~is_whole
        asked = bus.write & is_command & writable & is_whole
        overflow = Signal(name="overflow")
        m.d.sync += [self.command.eq(asked & fits), overflow.eq(asked & ~fits)]
        refuses = is_command & (is_partial | (is_whole & ~fits))
        m.d.comb += bus.write_error.eq(~writable | refuses)
        control = self._at(regs.CONTROL) & bus.write_strobes[0]
        m.d.sync += [
            self.soft_reset.eq(control & bus.write_data[0]),
            self.clear_counters.eq(control & bus.write_data[1]),
        ]
        return overflow

    def _events(self, m: Module, overflow: Value) -> tuple[Signal, Signal]:
        """Add the interrupt; return what enables it, and the events that have happened."""
        bus, count = self.bus, len(regs.EVENTS)
        enable, events = Signal(count, name="irq_enable"), Signal(count, name="irq_status")
        with m.If(self._at(regs.IRQ_ENABLE) & bus.write_strobes[0]):
            m.d.sync += enable.eq(bus.write_data)
        clears = self._at(regs.IRQ_STATUS) & bus.write_strobes[0]
        clear = Mux(clears, bus.write_data[:count], 0)
        # An event in the clock in which it is cleared is not lost.
        happened = Cat(self.done, self.failed | overflow)
        m.d.sync += [
            events.eq((events & ~clear) | happened),
            self.irq.eq((events & enable).any()),
        ]
        return enable, events

    def _live(self, m: Module, enable: Signal, events: Signal, overflow: Value) -> dict[int, Value]:
        """Return the words that are neither constant nor in a memory, by address."""
        code, register, job = (
            Signal.like(signal, name=f"error_{name}")
            for name, signal in (
                ("code", self.code), ("register", self.register), ("job", self.job)
            )
        )  # fmt: skip
        # The first error is kept until the flag in IRQ_STATUS is cleared.
        with m.If(~events[1]):
            with m.If(self.failed):
                m.d.sync += [code.eq(self.code), register.eq(self.register), job.eq(self.job)]
            with m.Elif(overflow):
                m.d.sync += [code.eq(BlockError.QUEUE_FULL), job.eq(self.job)]
        return {
            regs.STATUS: Cat(self.busy, self.free != 0, Const(0, 6), self.free),
            regs.IRQ_ENABLE: enable,
            regs.IRQ_STATUS: events,
            regs.ERROR: Cat(code, Const(0, 8 - len(code)), register),
            regs.ERROR_JOB: job,
        }

    def _reads(self, m: Module, live: Mapping[int, Value], written: Value) -> None:
        """Answer reads in two clocks; those of counters take longer."""
        bus, address = self.bus, self.bus.read_address
        constants = {
            register.address: register.reset
            for register in self._map.values()
            if register.is_readable and not register.is_writable and register.address not in live
        }
        is_counter, is_written = Signal(name="is_counter"), Signal(name="is_written")
        begun, is_known = Signal(name="begun"), Signal(name="is_known")
        m.d.sync += [
            begun.eq(bus.read),
            # The address is stable, so these are known a clock after it is.
            is_counter.eq(address[3:] == regs.COUNTER_BASE // WORD_BYTES >> 3),
            is_written.eq(
                _flag(
                    address,
                    self._addresses(
                        lambda word: word.is_writable and word.address >= regs.COMMAND_BASE
                    ),
                )
            ),
            bus.read_error.eq(~_flag(address, self._addresses(lambda word: word.is_readable))),
        ]
        m.d.comb += [
            is_known.eq(bus.read & begun),
            self.counter_read.eq(is_known & is_counter),
            self.counter_number.eq(address),
            bus.read_done.eq(Mux(is_counter, self.counter_done, is_known)),
        ]
        # Bit by bit: a table of whole words would become a block memory, which is slow to read.
        constant = Signal(WORD_BITS, name="constant")
        m.d.sync += constant.eq(
            Cat(
                _flag(address, [place for place, word in constants.items() if word >> bit & 1])
                for bit in range(WORD_BITS)
            )
        )
        # At most one of these words is not zero.
        words: list[Value] = [
            constant, Mux(is_counter, self.counter_value, 0), Mux(is_written, written, 0)
        ]  # fmt: skip
        for place, value in live.items():
            is_here = Signal(name=f"is_{place:03x}")
            m.d.sync += is_here.eq(address == place // WORD_BYTES)
            words.append(Mux(is_here, value, 0))
        with m.If(is_known):
            m.d.sync += bus.read_data.eq(reduce(or_, words))


def _flag(address: Value, addresses: Iterable[int]) -> Value:
    """Return whether a word address is that of one of some byte addresses."""
    words = sum(1 << byte_address // WORD_BYTES for byte_address in set(addresses))
    return Const(words, 1 << WORD_ADDRESS_BITS).bit_select(address, 1)
