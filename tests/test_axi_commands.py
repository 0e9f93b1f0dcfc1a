"""Commands of the AXI block against a model: which words fit, and which jobs they start."""

import random

import pytest
from gateware import Circuit, run, watch

from extremum.hdl.axi.commands import (
    NUMBER_BITS,
    CommandQueue,
    JobStarter,
    is_misfit,
)
from extremum.hdl.axi.register_map import (
    START_COMMAND,
    WORD_BITS,
    BlockError,
    command_number,
    word_range,
    written_bits,
)
from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import is_position
from extremum.tb.cores import CORES

CONFIG = CoreConfig(lanes=2, max_window=(1, 1, 1), coordinate_width=4)

ANSWER = 8
"""The most clocks from the offer of a job until the core takes it, here."""


@pytest.mark.parametrize("core", CORES)
def test_a_word_fits_if_it_is_in_range(core):
    """Each register takes the words at the ends of its range, and none beyond; the start any."""
    config = CORES[core]
    asked = [(START_COMMAND, word, False) for word in (0, 1, (1 << WORD_BITS) - 1)]
    for name, bits in written_bits(config).items():
        low, high = (
            -(1 << bits.width - 1) if bits.signed else 0,
            (1 << bits.width - bits.signed) - 1,
        )
        assert is_position(name) or low <= word_range(name, bits)[0]
        for value in {low - 1, low, 0, 1, high, high + 1, 1 << WORD_BITS - 1, (1 << WORD_BITS) - 1}:
            word = value % (1 << WORD_BITS)
            told = word - (1 << WORD_BITS) if bits.signed and word >> WORD_BITS - 1 else word
            misfit = not (is_position(name) or low <= told <= high)
            asked.append((command_number(name), word, misfit))
    assert sum(misfit for _, _, misfit in asked) > 10

    def logic(m, circuit):
        return {"misfit": is_misfit(m, config, circuit.number, circuit.word)}

    circuit = Circuit({"number": NUMBER_BITS, "word": WORD_BITS}, logic)
    clocks = [{"number": number, "word": word} for number, word, _ in asked]
    seen = watch(circuit, clocks, circuit.outputs, settle=1)[1:]
    found = [bool(clock["misfit"]) for clock in seen]
    assert found == [misfit for _, _, misfit in asked]


@pytest.mark.parametrize("core", CORES)
def test_the_space_in_the_queue_is_known(core):
    """Commands come out as they went in; however full the queue is, none is lost."""
    queue, rng = CommandQueue(CORES[core]), random.Random(core)
    width = len(queue.o_value)
    given: list[tuple[int, ...]] = []
    taken: list[tuple[int, ...]] = []
    frees = set()

    async def bench(context):
        for clock in range(30 * queue.depth):
            free = context.get(queue.free)
            assert free == queue.depth - (len(given) - len(taken))
            frees.add(free)
            # Now the queue fills, and now it is emptied.
            fills = clock // (3 * queue.depth) % 2
            write = free > 0 and rng.random() < (0.9 if fills else 0.3)
            ready = rng.random() < (0.3 if fills else 0.9)
            command = (rng.getrandbits(NUMBER_BITS), rng.getrandbits(WORD_BITS), rng.getrandbits(1))
            for name, value in zip(("number", "value", "misfit"), command, strict=True):
                context.set(getattr(queue, name), value)
            context.set(queue.write, write)
            context.set(queue.ready, ready)
            if ready and context.get(queue.valid):
                names = ("o_number", "o_value", "o_misfit")
                taken.append(tuple(context.get(getattr(queue, name)) for name in names))
            if write:
                number, word, misfit = command
                given.append((number, word % (1 << width), misfit))
            await context.tick()

    run(queue, bench)
    assert taken == given[: len(taken)]
    assert frees == set(range(queue.depth + 1))


class Block:
    """What stands around a starter: the core, the packets, and a model of the registers."""

    def __init__(self, context, starter, rng):
        self._context, self._starter, self._rng = context, starter, rng
        self.registers = dict.fromkeys(written_bits(CONFIG), 0)
        self.misfit: int | None = None
        self.counts = {"accepted": 0, "refused": 0, "misfit": 0}

    async def clock(self, **ports):
        """Set ports for a clock, and let it pass; the others rest."""
        context, starter = self._context, self._starter
        for name in ("valid", "job_ready", "dropped"):
            context.set(getattr(starter, name), ports.get(name, 0))
        assert context.get(starter.drop) == ports.get("is_drop", 0)
        await context.tick()

    def shown(self):
        """Return the registers as the core sees them."""
        context, starter = self._context, self._starter
        return {name: context.get(starter.job[name.replace(".", "_")]) for name in self.registers}

    async def take(self, number, value, misfit):
        """Give a command, and wait until it has been carried out."""
        context, starter, rng = self._context, self._starter, self._rng
        context.set(starter.number, number)
        context.set(starter.value, value)
        context.set(starter.misfit, misfit)
        assert context.get(starter.ready)
        await self.clock(valid=1)
        # The port tells nothing when no command waits.
        context.set(starter.number, START_COMMAND)
        context.set(starter.misfit, 1)
        context.set(starter.value, rng.getrandbits(len(starter.value)))
        if number == START_COMMAND:
            await self._start()
        elif misfit:
            self.misfit = number if self.misfit is None else self.misfit
        else:
            names = {command_number(name): name for name in self.registers}
            name = names[number]
            self.registers[name] = value % (1 << written_bits(CONFIG)[name].width)

    async def _start(self):
        """A job is offered in the next clock, and refused instead if a word did not fit."""
        context, starter = self._context, self._starter
        assert context.get(starter.busy)
        assert not context.get(starter.ready)
        await self.clock()
        if self.misfit is None:
            await self._offer()
        else:
            assert context.get(starter.register) == self.misfit
            self.misfit = None
            self.counts["misfit"] += 1
            await self._drop(BlockError.RANGE)

    async def _offer(self):
        context, starter, rng = self._context, self._starter, self._rng
        is_refused, answer = rng.random() < 0.3, rng.randrange(ANSWER)
        for clock in range(answer + 2):
            assert context.get(starter.busy)
            assert not context.get(starter.ready)
            assert context.get(starter.job_valid) == (clock <= answer)
            # The registers have taken the command before the start, and stay.
            assert self.shown() == self.registers
            told = is_refused if clock == answer + 1 else rng.getrandbits(1)
            context.set(starter.status.refused, told)
            await self.clock(job_ready=clock == answer)
        self.counts["refused" if is_refused else "accepted"] += 1
        if is_refused:
            code = rng.choice((BlockError.COUNT, BlockError.TAIL))
            context.set(starter.status.error, code)
            await self._drop(code)
        assert not context.get(starter.busy)

    async def _drop(self, error):
        context, starter, rng = self._context, self._starter, self._rng
        for left in reversed(range(rng.randint(1, 9))):
            assert context.get(starter.busy)
            assert not context.get(starter.ready)
            assert context.get(starter.error) == error
            await self.clock(dropped=left == 0, is_drop=1)
        assert not context.get(starter.busy)


def test_the_jobs_that_are_started():
    """Refused by the core, refused since a word did not fit, or taken: with the right registers."""
    starter, rng = JobStarter(CONFIG), random.Random(1)
    numbers = [command_number(name) for name in written_bits(CONFIG)]

    async def bench(context):
        block = Block(context, starter, rng)
        for _ in range(120):
            for number in rng.sample(numbers, rng.randint(0, 3)):
                word = rng.getrandbits(len(starter.value))
                await block.take(number, word, rng.random() < 0.15)
                if rng.random() < 0.2:
                    await block.clock()
            await block.take(START_COMMAND, 1, False)
        assert min(block.counts.values()) > 10

    run(starter, bench)
