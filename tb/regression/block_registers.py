"""The registers of an AXI block by name, and accesses to them that the driver never makes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register import Register
from extremum.hdl.config import CoreConfig
from extremum.host.errors import DeviceError
from extremum.host.simulation.cocotb_block import CocotbBlock
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.regression.work import Difference

COUNTERS = tuple(name for name, _ in regs.COUNTERS)
DONE, ERROR, IDLE = 0b001, 0b010, regs.IDLE
"""The bits of the events in IRQ_ENABLE and IRQ_STATUS."""
ALL_EVENTS = DONE | ERROR | IDLE

PASS_CLOCKS = 100
"""Clocks after which cleared counters read as zero, and the interrupt tells of an event."""


class BlockRegisters:
    """Reads and writes the registers of a block, and compares what is known of them.

    Parameters
    ----------
    block
        The block, whose streams move on in each access.
    config
        Configuration of its core.
    """

    def __init__(self, block: NativeBlock | CocotbBlock, config: CoreConfig) -> None:
        self.block, self.config = block, config
        self._map = {register.name: register for register in regs.register_map(config)}
        self._known = {register.address: register for register in self._map.values()}
        self.enabled = 0

    def field(self, register: str, name: str = "value") -> int:
        """Return a field of a register."""
        found: Register = self._map[register]
        field = found.field(name)
        return field.of(self.block.read(found.address))

    def write(self, register: str, word: int) -> None:
        """Write a register as a whole."""
        self.block.write(self._map[register].address, word)

    def counters(self) -> dict[str, int]:
        """Return what the counters hold."""
        return {name: self.field(name) for name in COUNTERS}

    def enable(self, events: int) -> None:
        """Let these events raise the interrupt, and no others."""
        self.write("IRQ_ENABLE", events)
        self.enabled = events
        if (found := self.block.read(regs.IRQ_ENABLE)) != events:
            raise Difference(f"IRQ_ENABLE holds {found:#b}, and {events:#b} was written")

    def check(self, register: str, name: str, expected: int) -> None:
        """Compare a field.

        Raises
        ------
        Difference
            It holds another number.
        """
        if (found := self.field(register, name)) != expected:
            raise Difference(f"{register}.{name} is {found}, expected {expected}")

    def check_refused(self, access: Callable[[], object], what: str) -> None:
        """Make an access that the block must answer with SLVERR."""
        try:
            access()
            self.block.read(regs.STATUS)  # a write is answered behind it
        except DeviceError as error:
            if "refused" not in str(error):
                raise
            return
        raise Difference(f"the block took {what}")

    def check_interrupt(self, events: int) -> None:
        """Compare the interrupt with the events that have happened and are not cleared."""
        self.block.pass_clocks(PASS_CLOCKS)
        if isinstance(self.block, NativeBlock):
            expected = bool(self.enabled & events)
            if self.block.interrupt != expected:
                raise Difference(f"the interrupt is {not expected}: {events=}, {self.enabled=}")

    def disturb(self, source: random.Random, *, is_idle: bool) -> str:
        """Make an access that changes nothing of the jobs; return its name in the coverage.

        While jobs run, registers that change with them are read and not compared.
        """
        name, act = source.choice(list(self._accesses(source, is_idle=is_idle)))
        act()
        return name

    def _accesses(
        self, source: random.Random, *, is_idle: bool
    ) -> Iterator[tuple[str, Callable[[], None]]]:
        every = range(0, 1 << regs.ADDRESS_BITS, regs.WORD_BYTES)
        known, word = self._known, source.getrandbits(32)
        constants = [
            r for r in known.values()
            if r.is_readable and not r.is_writable and r.name not in (*COUNTERS, "STATUS", "ERROR")
        ]  # fmt: skip
        constant = source.choice(constants)
        yield "read of a constant", lambda: self._expect(constant.address, constant.reset)
        counter = source.choice(COUNTERS)
        yield "read of a counter", lambda: self._expect_same(counter, is_idle=is_idle)
        yield "read of the status", lambda: self._expect_status(is_idle=is_idle)
        unread = source.choice([a for a in every if a not in known or not known[a].is_readable])
        yield (
            "read where nothing can be read",
            lambda: self.check_refused(lambda: self.block.read(unread), f"a read at {unread:#x}"),
        )
        kept = source.choice([a for a in every if a not in known or not known[a].is_writable])
        yield (
            "write where nothing can be written",
            lambda: self.check_refused(
                lambda: self.block.write(kept, word), f"a write at {kept:#x}"
            ),
        )
        yield "write of the enabled events", lambda: self.enable(source.randint(0, ALL_EVENTS))
        block = self.block
        if isinstance(block, NativeBlock):
            names = [*regs.written_bits(self.config)]
            numbers = [*map(regs.command_number, names), regs.START_COMMAND]
            address = regs.command_address(source.choice(numbers))
            strobes = source.randint(1, 14)
            yield (
                "write of a part of a command",
                lambda: self.check_refused(
                    lambda: block.write(address, word, strobes), f"a part at {address:#x}"
                ),
            )
            yield "write without a byte", lambda: block.write(address, word, 0)

    def _expect(self, address: int, word: int) -> None:
        if (found := self.block.read(address)) != word:
            raise Difference(f"the word at {address:#x} is {found:#x}, expected {word:#x}")

    def _expect_status(self, *, is_idle: bool) -> None:
        status = self._map["STATUS"]
        word = self.block.read(status.address)
        found = {field.name: field.of(word) for field in status.fields}
        if found["can_start"] != (found["queue_free"] > 0) or (is_idle and found["busy"]):
            raise Difference(f"STATUS tells {found}, {is_idle=}")

    def _expect_same(self, counter: str, *, is_idle: bool) -> None:
        first, second = self.field(counter), self.field(counter)
        if is_idle and first != second:
            raise Difference(f"{counter} went from {first} to {second} in an idle block")


class Counts:
    """What the counters of a block must hold, as far as a job's plan tells.

    Parameters
    ----------
    registers
        The block's registers.

    Attributes
    ----------
    expected : dict
        By how much each counter must have grown at the next check.
    """

    def __init__(self, registers: BlockRegisters) -> None:
        self.expected = dict.fromkeys(("BEATS_IN", "BEATS_OUT", "JOBS"), 0)
        self._registers, self._is_cleared = registers, False
        self._base = dict(self.expected)

    def begin(self) -> None:
        """Count from what the counters of the idle block hold now."""
        counted = self._registers.counters()
        self._base, self._is_cleared = {name: counted[name] for name in self.expected}, False
        self.expected = dict.fromkeys(self.expected, 0)

    def check(self) -> None:
        """Compare the counters of an idle block; cleared while jobs ran, they may hold less.

        Raises
        ------
        Difference
            One of them is wrong.
        """
        counted = self._registers.counters()
        for name, expected in self.expected.items():
            base = 0 if self._is_cleared else self._base[name]
            found = (counted[name] - base) % (1 << 32)
            if found > expected or (found < expected and not self._is_cleared):
                raise Difference(f"the block counted {found} {name}, expected {expected}")
        self.begin()

    def check_ended(self, *, are_cleared: bool) -> int | None:
        """Compare the counters behind a reset that has ended jobs, or has cleared them, too.

        Returns
        -------
        int or None
            The jobs counted since the last check; None if the counters have been cleared since.

        Raises
        ------
        Difference
            One of them holds more than it may.
        """
        counted = self._registers.counters()
        is_cleared = are_cleared or self._is_cleared
        grown = {
            name: (counted[name] - (0 if is_cleared else self._base[name])) % (1 << 32)
            for name in self.expected
        }
        for name, expected in self.expected.items():
            most = 0 if are_cleared else expected
            if grown[name] > most:
                raise Difference(f"the block counted {grown[name]} {name}, at most {most} may be")
        return None if is_cleared else grown["JOBS"]

    def clear(self) -> None:
        """Clear the counters of the idle block, and see that they are zero."""
        self._registers.write("CONTROL", 0b10)
        self._registers.block.pass_clocks(PASS_CLOCKS)
        counted = self._registers.counters()
        if any(counted.values()):
            raise Difference(f"the counters were cleared, and hold {counted}")
        self.begin()

    def clear_while_counting(self) -> None:
        """Clear the counters while jobs run."""
        self._registers.write("CONTROL", 0b10)
        self._is_cleared = True
