"""What a core in a block tells of its input: which job the beats belong to."""

import dataclasses
import random
from typing import Any

import pytest
from gateware import bits, run

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.host.plan import plan
from extremum.model import DataType, Pooling
from extremum.tb.cores import CORES
from extremum.tb.scoreboard import Scoreboard
from extremum.tb.sequences import jobs, tensor

PLANES = CoreConfig(
    (DataType.INT8,), max_window=(1, 2, 2), max_dilation=(1, 1, 1), max_line=8, coordinate_width=4,
    operators=("max-pool",), index_width=0, padding=False, fixed=(("groups", 1),),
)  # fmt: skip
"""A core that knows a clock late that a job has ended: each is one plane without padding."""


def planes(rng, config, count):
    """Yield poolings of one plane each, from a single element on."""
    while count:
        height, width = (rng.choice((1, 1, 2, 3, 5)) for _ in range(2))
        window = (rng.randint(1, min(2, height)), rng.randint(1, min(2, width)))
        (job,) = plan(Pooling.of((1, 1, height, width), "int8", window), config).jobs
        yield job, tensor(rng, DataType.INT8, (1, 1, height, width))
        count -= 1


@pytest.mark.parametrize("stalls", [0.0, 0.5])
@pytest.mark.parametrize("pipelining", ["small", "balanced", "fast"])
@pytest.mark.parametrize("name", ["image", "reduction", "planes"])
def test_the_beats_between_two_ends_are_those_of_a_job(name, pipelining, stalls):
    """A job's end is told once, behind its last beat and in front of the next job's first."""
    config = dataclasses.replace(CORES.get(name, PLANES), pipelining=pipelining)
    rng = random.Random(f"{name} {pipelining} {stalls}")
    core, board, needed = Core(config, tells_intake=True), Scoreboard(config), []
    for job, x in planes(rng, config, 30) if name == "planes" else jobs(rng, config, 12):
        board.add(job, x)
        needed.append(job.beats_in)
    todo = board.run()
    results: list[int] = []

    async def bench(context):
        sources: dict[Any, list[int]] = {core.i: list(todo.beats), core.job: list(todo.jobs)}
        offered: set[Any] = set()
        taken, ended = 0, 0
        while len(results) < todo.results or ended < len(needed):
            for port, words in sources.items():
                if words and port not in offered and rng.random() >= stalls:
                    offered.add(port)
                context.set(port.valid, port in offered)
                context.set(bits(port.payload), words[0] if port in offered else 0)
            ready = rng.random() >= stalls
            context.set(core.o.ready, ready)
            if context.get(core.intake.ended):
                assert taken == needed[ended]
                taken, ended = 0, ended + 1
            assert not taken or context.get(core.intake.active)
            if ready and context.get(core.o.valid):
                results.append(context.get(bits(core.o.payload)))
            moved = [port for port in offered if context.get(port.ready)]
            taken += core.i in moved
            await context.tick()
            for port in moved:
                offered.remove(port)
                sources[port].pop(0)
        for port in sources:
            context.set(port.valid, 0)
        for _ in range(8):
            assert not context.get(core.intake.ended)
            await context.tick()
        assert not context.get(core.intake.active)

    run(core, bench)
    board.check(results, len(todo.beats))
