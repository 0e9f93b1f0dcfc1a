"""The registers of the AXI block: reads in any clock, writes of parts of a word, events, errors."""

import itertools
import random

import pytest
from gateware import run

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.control import BlockControl
from extremum.hdl.axi.counters import VISIT_CLOCKS
from extremum.hdl.axi.register_map import WORD_BITS, WORD_BYTES, BlockError
from extremum.hdl.config import CoreConfig

CONFIG = CoreConfig(max_window=(1, 1, 1))
MAP = {register.address: register for register in regs.register_map(CONFIG)}
DEPTH = regs.command_queue_depth(CONFIG)
ALL = (1 << WORD_BYTES) - 1
COMMAND = next(address for address in MAP if address >= regs.COMMAND_BASE)
DONE, ERROR = 0b01, 0b10


class Bus:
    """Reads and writes the registers, as the AXI4-Lite port does.

    Parameters
    ----------
    context
        The simulator's.
    control
        The registers.
    """

    def __init__(self, context, control):
        self._context, self._control = context, control
        self.soft_reset = False

    async def clock(self, **ports):
        """Set some of the events for a clock, and let it pass."""
        context, control = self._context, self._control
        for name, value in ports.items():
            context.set(getattr(control, name), value)
        await context.tick()
        for name in ports:
            context.set(getattr(control, name), 0)

    async def write(self, address, word, strobes=ALL, **ports):
        """Write a word, and return whether it is an error; the ports are for the second clock.

        In this clock the write is carried out, and ``soft_reset`` keeps whether it asks for one.
        """
        context, bus = self._context, self._control.bus
        context.set(bus.write, 1)
        context.set(bus.write_address, address // WORD_BYTES)
        context.set(bus.write_data, word)
        context.set(bus.write_strobes, strobes)
        await context.tick()
        context.set(bus.write, 0)
        error = bool(context.get(bus.write_error))
        self.soft_reset = bool(context.get(self._control.soft_reset))
        await self.clock(**ports)
        return error

    async def read(self, address):
        """Read a word."""
        context, bus = self._context, self._control.bus
        context.set(bus.read, 1)
        context.set(bus.read_address, address // WORD_BYTES)
        clocks = 0
        while not context.get(bus.read_done):
            clocks += 1
            assert clocks < 2 * VISIT_CLOCKS
            await context.tick()
        error = context.get(bus.read_error)
        assert error == (address not in MAP or not MAP[address].is_readable)
        await context.tick()
        context.set(bus.read, 0)
        word = context.get(bus.read_data)
        await context.tick()
        assert context.get(bus.read_data) == word
        return word

    async def field(self, address, name):
        """Read a field of a word."""
        field = MAP[address].field(name)
        return field.of(await self.read(address))


COUNTS = [0x12345678 * (number + 3) % (1 << WORD_BITS) for number in range(len(regs.COUNTERS))]


def carry_out(bench):
    """Run a bench, which is given the bus, the simulator's context and the registers."""
    control = BlockControl(CONFIG)

    async def count(context):
        """Let the bytes of counters pass by that stand still."""
        passing = 0
        while True:
            number, place = divmod(passing % VISIT_CLOCKS, WORD_BYTES)
            context.set(control.counter_number, number)
            context.set(control.counter_place, place)
            word = COUNTS[number] if number < len(COUNTS) else 0
            context.set(control.counter_byte, word >> 8 * place & 0xFF)
            await context.tick()
            passing += 1

    async def begin(context):
        context.set(control.free, DEPTH)
        await bench(Bus(context, control), context, control)

    run(control, begin, count)


def test_a_read_begins_in_any_clock():
    """Every word of the map, and counters in every clock of their pass."""

    async def bench(bus, context, control):
        rng = random.Random(2)
        for address, register in MAP.items():
            if register.is_readable and address < regs.COUNTER_BASE and address != regs.STATUS:
                assert await bus.read(address) == register.reset
        # What software changes is known as soon as what never changes.
        for phase in range(8):
            await bus.write(regs.IRQ_ENABLE, 1 + phase % 3)
            await context.tick().repeat(1 + phase)
            assert await bus.read(regs.IRQ_ENABLE) == 1 + phase % 3
            assert await bus.read(0) == regs.ID
        for number, count in enumerate(COUNTS):
            for _ in range(VISIT_CLOCKS if number in (0, len(COUNTS) - 1) else 4):
                assert await bus.read(regs.COUNTER_BASE + WORD_BYTES * number) == count
                await context.tick().repeat(rng.randint(1, 9))

    carry_out(bench)


def test_what_status_tells():
    async def bench(bus, context, control):
        for free in {0, 1, 2, DEPTH // 2, DEPTH - 1, DEPTH}:
            for busy in (0, 1):
                context.set(control.free, free)
                context.set(control.busy, busy)
                told = [await bus.field(regs.STATUS, name) for name in ("busy", "can_start")]
                assert told == [busy, free > 0]
                assert await bus.field(regs.STATUS, "queue_free") == free
                assert await bus.write(COMMAND, 1) == (free == 0)

    carry_out(bench)


@pytest.mark.parametrize("strobes", range(ALL + 1))
def test_a_write_of_some_bytes(strobes):
    """A flag is written with its byte; of a command, a part is refused, and nothing is no write."""

    async def bench(bus, context, control):
        lowest = bool(strobes & 1)
        assert not await bus.write(regs.CONTROL, 0b11, strobes)
        assert bus.soft_reset == context.get(control.clear_counters) == lowest
        assert not context.get(control.soft_reset)
        await context.tick()
        assert not context.get(control.soft_reset | control.clear_counters)
        assert not await bus.write(regs.IRQ_ENABLE, 0b111, strobes)
        assert await bus.read(regs.IRQ_ENABLE) == (0b111 if lowest else 0)
        await bus.clock(done=1)
        assert not await bus.write(regs.IRQ_STATUS, 0b111, strobes)
        assert await bus.read(regs.IRQ_STATUS) == (0 if lowest else DONE | regs.IDLE)
        bus_ports = control.bus
        context.set(bus_ports.write, 1)
        context.set(bus_ports.write_address, COMMAND // WORD_BYTES)
        context.set(bus_ports.write_strobes, strobes)
        assert not context.get(control.command)
        await context.tick()
        context.set(bus_ports.write, 0)
        assert context.get(control.command) == (strobes == ALL)
        assert context.get(bus_ports.write_error) == (strobes not in (0, ALL))
        await context.tick()
        assert not context.get(control.command)

    carry_out(bench)


@pytest.mark.parametrize(("port", "flag"), [("done", DONE), ("failed", ERROR), ("idle", regs.IDLE)])
def test_an_event_around_its_clear(port, flag):
    """It is lost if it comes before the write takes effect; in this clock, or later, it is kept."""

    async def bench(bus, context, control):
        await bus.write(regs.IRQ_ENABLE, flag)
        for before in (False, True):
            for at in (-1, 0, 1, 2):
                await bus.write(regs.IRQ_STATUS, 0b111)
                await context.tick().repeat(2)
                assert not context.get(control.irq)
                if before:
                    await bus.clock(**{port: 1})
                    await context.tick().repeat(2)
                    assert context.get(control.irq)
                if at < 0:
                    await bus.clock(**{port: 1})
                if at == 0:
                    context.set(getattr(control, port), 1)
                    context.set(control.bus.write, 1)
                    context.set(control.bus.write_address, regs.IRQ_STATUS // WORD_BYTES)
                    context.set(control.bus.write_data, 0b111)
                    context.set(control.bus.write_strobes, ALL)
                    await bus.clock(**{port: 1})
                    context.set(control.bus.write, 0)
                    await context.tick()
                else:
                    await bus.write(regs.IRQ_STATUS, 0b111, **({port: 1} if at == 1 else {}))
                if at == 2:
                    await bus.clock(**{port: 1})
                await context.tick()
                assert context.get(control.irq) == (at > 0), (before, at)
                assert await bus.read(regs.IRQ_STATUS) == (flag if at > 0 else 0)

    carry_out(bench)


def test_any_enabled_event_raises_the_interrupt():
    """All subsets of events that have happened, with all subsets of enabled ones."""
    events = {"done": DONE, "failed": ERROR, "idle": regs.IDLE}
    every = range(1 << len(events))

    async def bench(bus, context, control):
        for pending, enabled in itertools.product(every, every):
            await bus.write(regs.IRQ_STATUS, every[-1])
            await bus.write(regs.IRQ_ENABLE, enabled)
            await context.tick().repeat(2)
            assert not context.get(control.irq)
            await bus.clock(**{port: int(bool(pending & bit)) for port, bit in events.items()})
            await context.tick().repeat(2)
            assert context.get(control.irq) == bool(pending & enabled), (pending, enabled)
            assert await bus.read(regs.IRQ_STATUS) == pending

    carry_out(bench)


def test_an_event_that_lasts_is_set_again():
    """One that has ended stays until it is cleared, and a 0 does not clear it."""

    async def bench(bus, context, control):
        for lasts, word, after in ((1, 0b111, 1), (0, 0b011, 1), (0, 0b100, 0), (0, 0b000, 0)):
            context.set(control.idle, lasts)
            await bus.write(regs.IRQ_STATUS, word)
            assert await bus.field(regs.IRQ_STATUS, "idle") == after

    carry_out(bench)


def test_writes_wait_while_the_queue_is_reset():
    """In the two clocks behind ``soft_reset``: in the second one the queue is reset by it."""

    async def bench(bus, context, control):
        for word, waits in ((0b00, []), (0b10, []), (0b01, [1, 1]), (0b11, [1, 1])):
            assert not await bus.write(regs.CONTROL, word)
            assert bus.soft_reset == (word & 1)
            for clock in range(4):
                assert context.get(control.bus.write_waits) == (waits[clock:] != []), clock
                assert not context.get(control.soft_reset)
                await context.tick()

    carry_out(bench)


def test_the_first_error_is_told_until_it_is_cleared():
    """An error in the clock of the clear is the first one behind it."""

    async def bench(bus, context, control):
        async def told():
            return [await bus.field(regs.ERROR, name) for name in ("code", "register", "job")]

        def error(code, register, job):
            return {"failed": 1, "code": code, "register": register, "job": job}

        await bus.write(regs.IRQ_STATUS, regs.IDLE)
        assert await told() == [0, 0, 0]
        # The register belongs to RANGE alone, whatever stands on the port.
        await bus.clock(**error(BlockError.TAIL, 5, 7))
        await bus.clock(**error(BlockError.RANGE, 3, 8))
        assert await told() == [BlockError.TAIL, 0, 7]
        await bus.write(regs.IRQ_STATUS, DONE)
        await bus.clock(**error(BlockError.RANGE, 3, 9))
        assert await told() == [BlockError.TAIL, 0, 7]
        await bus.write(regs.IRQ_STATUS, ERROR, **error(BlockError.RANGE, 5, 10))
        assert await bus.read(regs.IRQ_STATUS) == ERROR
        assert await told() == [BlockError.RANGE, 5, 10]
        await bus.write(regs.IRQ_STATUS, ERROR)
        assert await told() == [BlockError.RANGE, 5, 10]
        # What the ports of a job's error still hold is not that of a command without space.
        context.set(control.free, 0)
        context.set(control.code, BlockError.RANGE)
        context.set(control.register, 5)
        assert await bus.write(COMMAND, 1)
        assert await bus.read(regs.IRQ_STATUS) == ERROR
        assert (await told())[:2] == [BlockError.QUEUE_FULL, 0]

    carry_out(bench)


def test_a_job_fails_in_the_clock_in_which_a_command_finds_no_space():
    """The error of the job is told. The command is answered with an error all the same."""

    async def bench(bus, context, control):
        context.set(control.free, 0)
        job = {"failed": 1, "code": BlockError.TLAST_LATE, "job": 7}
        assert await bus.write(COMMAND, 1, **job)
        assert await bus.field(regs.IRQ_STATUS, "error")
        assert await bus.field(regs.ERROR, "code") == BlockError.TLAST_LATE
        assert await bus.field(regs.ERROR, "job") == 7

    carry_out(bench)
