"""The registers of the block: events and errors are kept, and commands are sent if there is space.

How a word is read byte by byte is not proved, nor that the number of a register is left out of
ERROR where no register is at fault; the claims are of the registers that are read.
"""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Cat, Mux, Signal, Value

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.commands import command_numbers
from extremum.hdl.axi.control import BlockControl
from extremum.hdl.axi.register_map import WORD_BYTES, BlockError
from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import Bits, is_position
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property

CONFIG = CoreConfig(
    (DataType.UINT8,), max_window=(1, 2, 2), max_dilation=(1, 1, 1), max_line=4,
    coordinate_width=4, index_width=8,
)  # fmt: skip


class _Writes:
    """The block, and its writes as the AXI4-Lite port asks for them.

    Attributes
    ----------
    block, inside
        The block, and what is in it.
    carried_out
        A write was asked for a clock ago, and takes effect in this one.
    is_command, is_whole
        What is written is a command, and all of its bytes are.
    had_space
        A clock ago there was space for a command.
    overflows
        A command is written and there was no space for it.
    """

    def __init__(self, p: Property):
        self.block = block = BlockControl(CONFIG)
        self.inside: Inside = p.add("control", block)
        bus = block.bus
        self.carried_out = p.before(bus.write)
        told = Cat(bus.write_address, bus.write_data, bus.write_strobes)
        p.assume(~self.carried_out | (~bus.write & (told == p.before(told))))
        p.assume(~(bus.write & bus.write_waits))
        # The queue has any space to begin with, and then loses a place by a command alone.
        free = block.free
        p.assume((p.age(1) == 0) | (free + p.before(block.command) >= p.before(free)))
        self.had_space = p.before(free != 0)
        self.is_command = self._is_one_of(map(regs.command_address, command_numbers(CONFIG)))
        self.is_whole = bus.write_strobes.all()
        self.overflows = self.carried_out & self.is_command & self.is_whole & ~self.had_space

    def _is_one_of(self, addresses: Iterable[int]) -> Value:
        """Return whether the word of one of some addresses is written."""
        return self.block.bus.write_address.matches(*(a // WORD_BYTES for a in addresses))

    @property
    def is_writable(self) -> Value:
        """Whether there is a register that may be written."""
        others = self._is_one_of((regs.CONTROL, regs.IRQ_ENABLE, regs.IRQ_STATUS))
        return self.is_command | others

    def flags(self, address: int, count: int) -> Value:
        """Return the flags of a register that are written as 1 in this clock."""
        return Mux(self.at(address), self.block.bus.write_data[:count], 0)

    def at(self, address: int) -> Value:
        """Return whether a register's lowest byte is written in this clock."""
        return self.carried_out & self._is_one_of([address]) & self.block.bus.write_strobes[0]


def events(p: Property) -> None:
    """State what events, the interrupt and errors are."""
    writes = _Writes(p)
    block, inside = writes.block, writes.inside
    count = len(regs.EVENTS)
    status = Signal(count, name="own_status", init=regs.IDLE)
    enable = Signal(count, name="own_enable")
    clear = p.show("clear", writes.flags(regs.IRQ_STATUS, count))
    overflowed = p.before(writes.overflows)
    fails = block.failed | overflowed
    happens = p.show("happens", Cat(block.done, fails, block.idle))
    p.m.d.sync += status.eq((status & ~clear) | happens)
    with p.m.If(writes.at(regs.IRQ_ENABLE)):
        p.m.d.sync += enable.eq(block.bus.write_data)
    p.claim("an event is kept until it is cleared, unless it comes again in that clock",
            inside.signal("irq_status") == status)  # fmt: skip
    p.claim("events are enabled by what was written", inside.signal("irq_enable") == enable)
    p.claim("the interrupt tells whether there was an enabled event a clock ago",
            block.irq == p.before((status & enable).any()))  # fmt: skip

    has_error = status[1] & ~clear[1]
    code, register, job = (
        Signal(len(Value.cast(port)), name=f"own_{name}")
        for name, port in (("code", block.code), ("register", block.register), ("job", block.job))
    )
    block_code = Value.cast(block.code)
    with p.m.If(fails & ~has_error):
        p.m.d.sync += [
            code.eq(Mux(block.failed, block_code, BlockError.QUEUE_FULL)),
            register.eq(block.register),
            job.eq(block.job),
        ]
    p.claim("the first error is told until it is cleared", inside.signal("error_code") == code)
    names_register = code == BlockError.RANGE
    p.claim("with its register, if it names one",
            ~names_register | (inside.signal("error_register") == register))  # fmt: skip
    p.invariant("the register", inside.signal("error_register") == register)
    p.invariant("a command that found no space", inside.signal("overflow") == overflowed)
    belongs = code != BlockError.QUEUE_FULL
    p.claim("and with its job", ~belongs | (inside.signal("error_job") == job))
    p.invariant("the job", inside.signal("error_job") == job)

    p.reached("an event comes while it is cleared", (status & clear & happens).any())
    p.reached("an error comes while the one before is cleared", fails & status[1] & clear[1])
    p.reached("a second error comes", block.failed & has_error & (block_code != code))
    p.reached("a job fails while a command finds no space", block.failed & overflowed)
    p.reached("two events interrupt", block.irq & ((status & enable) == 0b011))
    p.reached("the interrupt ends", p.before(block.irq) & ~block.irq)


def commands(p: Property) -> None:
    """State which writes are sent as commands, which are errors, and what a reset is."""
    writes = _Writes(p)
    block, bus = writes.block, writes.block.bus
    is_whole, is_command, had_space = writes.is_whole, writes.is_command, writes.had_space
    p.claim("a command is sent if its word is whole and there is space",
            block.command == (writes.carried_out & is_command & is_whole & had_space))  # fmt: skip
    p.claim("no command is sent without space", ~block.command | (block.free != 0))
    number, value = bus.write_address - regs.COMMAND_BASE // WORD_BYTES, bus.write_data
    told = (block.number == number) & (block.value == value)
    p.claim("a command has its own number and word", ~block.command | told)
    misfit = Cat(
        (number == regs.command_number(name)) & ~_fits(value, bits)
        for name, bits in regs.written_bits(CONFIG).items()
        if not is_position(name)
    ).any()
    p.claim("what does not fit its register is marked", ~block.command | (block.misfit == misfit))
    is_partial = bus.write_strobes.any() & ~is_whole
    is_error = ~writes.is_writable | (is_command & is_partial) | writes.overflows
    p.claim("a write is refused if nothing can be written there, or it is a part of a command, or "
            "finds no space", ~writes.carried_out | (bus.write_error == is_error))  # fmt: skip
    resets, clears = (writes.at(regs.CONTROL) & value[n] for n in range(2))
    p.claim("a soft reset is asked for by its flag", block.soft_reset == resets)
    p.claim("the counters are cleared by theirs", block.clear_counters == p.before(clears))
    p.claim("writes wait for two clocks behind a soft reset",
            bus.write_waits == (p.before(resets) | p.late(resets, 2)))  # fmt: skip

    p.reached("a command takes the last place", block.command & (block.free == 1))
    p.reached("a command finds no space", writes.overflows)
    p.reached("a command comes into the place that is left at last",
              block.command & p.late(block.command, 2) & (block.free == 1))  # fmt: skip
    p.reached("a word does not fit", block.command & block.misfit)
    p.reached("a write follows a soft reset", writes.carried_out & p.late(resets, 4))


def _fits(word: Value, bits: Bits) -> Value:
    """Return whether a register of some bits can hold a word."""
    low = word[: bits.width]
    return (word.as_signed() == low.as_signed()) if bits.signed else (word == low)


MODULE = "extremum.hdl.axi.control"
PROOFS = (
    Proof(
        "control-events", "hdl/axi/control.py",
        "An event is kept until it is cleared, and stays if it comes again in that clock; the "
        "interrupt is set while an enabled event is kept, a clock later; ERROR tells the first "
        "error, with its job and the register that it names, until that event is cleared.",
        events, depth=4, search=10,
        faults=(
            Fault("two events are no interrupt", MODULE,
                  "self.irq.eq((events & enable).any())", "self.irq.eq((events & enable).xor())"),
            Fault("an event that comes while it is cleared is lost", MODULE,
                  "events.eq((events & ~clear) | happened)",
                  "events.eq((events | happened) & ~clear)"),
            Fault("the second error takes the place of the first", MODULE,
                  "is_first = ~has_error & (self.failed | overflow)",
                  "is_first = self.failed | overflow"),
            Fault("an error that comes while the one before is cleared is not told", MODULE,
                  "has_error = events[1] & ~clear[1]", "has_error = events[1]"),
            Fault("a command without space hides the code of a job that fails", MODULE,
                  "code.eq(Mux(self.failed, self.code, BlockError.QUEUE_FULL))",
                  "code.eq(Mux(overflow, BlockError.QUEUE_FULL, self.code))"),
            Fault("the register of an error is that of a later one", MODULE,
                  "with m.If(is_first):",
                  "m.d.sync += register.eq(self.register)\n        with m.If(is_first):"),
        ),
        quick=True,
    ),
    Proof(
        "control-commands", "hdl/axi/control.py",
        "A command is sent, with its number and its word, if all of its bytes are written and the "
        "queue has space; a word that does not fit its register is marked; every other write to a "
        "command, and one to what cannot be written, is answered with an error; CONTROL resets and "
        "clears what its flags name, and writes wait behind a soft reset.",
        commands, depth=4, search=10,
        faults=(
            Fault("the last place of the queue is never used", MODULE,
                  "fits = self.free != 0", "fits = self.free > 1"),
            Fault("a command is sent without space", MODULE,
                  "self.command.eq(written & is_asked & fitted)",
                  "self.command.eq(written & is_asked)"),
            Fault("a part of a word is a command", MODULE,
                  "is_whole = bus.write_strobes.all()", "is_whole = bus.write_strobes.any()"),
            Fault("a word with a bit too many fits", "extremum.hdl.axi.commands",
                  "~value[bits.width :].any()", "~value[bits.width + 1 :].any()"),
            Fault("writes wait for one clock behind a soft reset", MODULE,
                  "bus.write_waits.eq(resets | delay(m, resets, 1))",
                  "bus.write_waits.eq(resets)"),
        ),
    ),
)  # fmt: skip
