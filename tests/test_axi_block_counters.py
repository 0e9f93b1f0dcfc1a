"""The counters of the AXI block, with what the ports of its parts did in every clock."""

import random
from collections import Counter

import pytest
from clocked_block import ClockedBlock, carry_out

from extremum.hdl.axi import block as block_module
from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.block import AxiBlock
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.model import DataType, Pooling, Reduction
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import tensor

STORAGE = {"max_window": (1, 2, 3), "max_line": 8, "max_plane": 1, "coordinate_width": 5}
CONFIGS = {
    "registers at the outputs": CoreConfig((DataType.INT8,), **STORAGE),
    "buffers at the outputs": CoreConfig((DataType.INT8,), lanes=2, **STORAGE),
    "small": CoreConfig((DataType.INT8,), **STORAGE, pipelining="small"),
}
ADDRESSES = {
    name: regs.COUNTER_BASE + regs.WORD_BYTES * number
    for number, (name, _) in enumerate(regs.COUNTERS)
}
START = regs.command_address(regs.START_COMMAND)
VALUES, INDICES = "m_axis_value_t", "m_axis_index_t"
PROBLEMS = (
    Pooling.of((1, 2, 3, 5), DataType.INT8, (2, 3), end_padding=(3, 1)),
    Reduction.of("argmin", (9, 2), DataType.INT8, 1),
)
"""Many results follow each other, among them those of empty windows."""
EMPTY = (1 << 32) - 1


@pytest.fixture(name="parts")
def parts_of_blocks(monkeypatch):
    """Keep the parts of the block that is elaborated next, by the names of their classes."""
    parts = {}

    def keep(name):
        sound = getattr(block_module, name)

        def kept(*arguments, **options):
            parts[name] = sound(*arguments, **options)
            return parts[name]

        monkeypatch.setattr(block_module, name, kept)

    for name in ("Core", "CommandQueue", "JobStarter", "InputPackets"):
        keep(name)
    return parts


class Expected:
    """What the counters must hold, counted from the ports, one clock after the other.

    What enters and leaves the block is counted at its own ports, and the clocks in which something
    waits at those of the parts between which it waits.
    """

    def __init__(self, context, block, parts):
        self._context, self._block, self._parts = context, block, parts
        self._clocks = Counter()

    def look(self):
        """Look at a clock."""
        get, parts = self._context.get, self._parts
        core = parts["Core"]
        is_busy = (
            get(parts["CommandQueue"].valid)
            or get(parts["JobStarter"].busy)
            or get(parts["InputPackets"].busy)
            or get(core.status.busy)
            or any(self._block.level(f"{stream}valid") for stream in (VALUES, INDICES))
        )
        self._clocks["CYCLES"] += bool(is_busy)
        self._clocks["STALLS_IN"] += get(core.i.ready) and not get(core.i.valid)
        self._clocks["STALLS_OUT"] += get(core.o.valid) and not get(core.o.ready)

    def counts(self):
        """Return what the counters must hold if all that was sent has passed."""
        given = self._block.given
        words = [beat["data"] for beat in given[INDICES]]
        lanes = range(0, 64, 32)
        assert len(given[VALUES]) == len(words)
        return dict(self._clocks) | {
            "BEATS_IN": self._block.accepted["s_axis_t"],
            "BEATS_OUT": len(words),
            "JOBS": sum(beat["last"] for beat in given[INDICES]),
            "EMPTY_WINDOWS": sum(word >> lane & EMPTY == EMPTY for word in words for lane in lanes),
        }


class Sender:
    """Writes the commands of jobs, and offers the beats of their packets one by one."""

    def __init__(self, block, rests):
        self._block, self._rests = block, rests
        self._beats, self._written = [], {}

    def add(self, job, x):
        """Offer the packet of a job behind those that are there."""
        board = Scoreboard(job.config)
        board.add(job, x)
        *first, last = board.beats
        self._beats += [*((beat, 0) for beat in first), (last, 1)]

    def look(self):
        """Offer a beat if there is one, unless the source rests."""
        if self._beats and not self._block.level("s_axis_tvalid") and not self._rests():
            data, last = self._beats.pop(0)
            self._block.offer("s_axis_t", data=data, last=last)

    async def start(self, job):
        """Write what has changed, and start the job."""
        changed = job_words(job).items() - self._written.items()
        self._written |= job_words(job)
        for address, word in [*changed, (START, 1)]:
            while not await self._block.read(regs.STATUS) >> 8:
                pass
            await self._block.write(address, word)


@pytest.mark.parametrize("name", CONFIGS)
def test_counters_hold_what_has_happened(name, parts):
    """To the clock: without stalls, with those of one output, and with those of all ports."""
    config, rng = CONFIGS[name], random.Random(name)
    simulated = AxiBlock(config)

    async def bench(context):
        rates: dict[str, float] = {}
        block = ClockedBlock(context, simulated)
        expected = Expected(context, block, parts)
        sender = Sender(block, lambda: rng.random() < rates["s_axis_t"])

        def look():
            sender.look()
            expected.look()

        await block.reset()
        block.look, block.ready = look, lambda channel: rng.random() >= rates.get(channel, 0)
        started, counts = 0, {}
        for stalls in ((0, 0, 0), (0, 0.6, 0), (0.4, 0.2, 0.8)):
            rates |= dict(zip(("s_axis_t", VALUES, INDICES), stalls, strict=True))
            for problem in PROBLEMS:
                x = tensor(rng, DataType.INT8, problem.sizes)
                for job in plan(problem, config).jobs:
                    sender.add(job, x)
                    await sender.start(job)
                    started += 1
            while await block.read(regs.STATUS) & 1:
                pass
            counts = expected.counts()
            assert counts["JOBS"] == started
            found = {counter: await block.read(address) for counter, address in ADDRESSES.items()}
            assert found == counts, stalls
        assert min(counts.values()) > 5

    carry_out(simulated, bench)
