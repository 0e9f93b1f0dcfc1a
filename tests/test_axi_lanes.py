"""Which lanes of the block's result beats hold a result, against the numbers of each job."""

import random

import pytest
from gateware import run

from extremum.hdl.axi.output_packets import JOBS, ResultLanes
from extremum.hdl.config import CoreConfig

CONFIG = CoreConfig(lanes=4, max_window=(1, 1, 1))


@pytest.mark.parametrize("rate", [0, 0.5])
def test_lanes_are_marked_for_every_beat(rate):
    """Jobs of full beats, and beats behind them; as many wait as there is space for."""
    marks, rng = ResultLanes(CONFIG), random.Random(rate)
    jobs = []
    for _ in range(60):
        full = rng.choice((0, 0, 1, 1, *range(2, 6), *range(14, 20), *range(30, 36), 257))
        rest = rng.choice((0, 0, 1, 2, 7, 30))
        jobs.append((full, rng.randint(1, CONFIG.lanes), full + (rest or not full)))
    # Of some jobs more full beats are told than come.
    jobs += [(told, 1, 1 + told % 7) for told in (2, 17, 40, 1 << 8, 1 << 32 - 1, (1 << 32) - 1)]
    rng.shuffle(jobs)
    beats = [
        ((1 << CONFIG.lanes) - 1 if beat < full else (1 << lanes) - 1, beat == count - 1)
        for full, lanes, count in jobs
        for beat in range(count)
    ]
    ahead = [0]

    async def accept(context):
        """Offer jobs one after another, as soon as may be."""
        for full, lanes, _ in jobs:
            context.set(marks.packet.full_beats, full)
            context.set(marks.packet.result_lanes, lanes)
            await context.tick().repeat(4)
            while not context.get(marks.may_start):
                # One job has left the queue, and is at its beats, or has ended in the last clock.
                assert ahead[0] in (JOBS, JOBS + 1)
                await context.tick()
            context.set(marks.accepted, 1)
            await context.tick()
            ahead[0] += 1
            context.set(marks.accepted, 0)

    async def bench(context):
        await context.tick().repeat(100)
        idle = 0
        for lanes, last in beats:
            context.set(marks.beat, 0)
            while not context.get(marks.valid) or rng.random() < rate:
                idle += 1
                context.set(marks.last, rng.getrandbits(1))
                await context.tick()
            context.set(marks.beat, 1)
            context.set(marks.last, last)
            assert context.get(marks.lanes) == lanes
            await context.tick()
            ahead[0] -= last
        context.set(marks.beat, 0)
        assert not context.get(marks.valid)
        assert context.get(marks.may_start)
        if not rate:
            assert idle < 10 * len(jobs)

    run(marks, bench, accept)
