"""Compares the schedule of slots ahead of the pipeline with a simple model of lines in lines."""

import math
import random
from dataclasses import replace
from functools import cache

import pytest
from amounts import mostly_slow, some
from gateware import bits, run
from lines import Line, small_dimensions

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.ports import job_layout
from extremum.hdl.slots import SlotSchedule, latency
from extremum.host.plan.registers import schedule
from extremum.model import SpatialDimension

VOLUMES = CoreConfig(max_window=(2, 3, 3), max_dilation=(4, 4, 4), coordinate_width=6)
PLANES = replace(VOLUMES, max_window=(1, 3, 4))
REDUCTIONS = CoreConfig(max_window=(1, 1, 1))
INSIDE = replace(PLANES, padding=False)
EARLY = 3
"""Clocks for which a job is on the port before it is offered."""


def job_of(lines, groups, more=0):
    """Return the registers of a pooling, and whether each of its slots needs a beat."""
    dimensions = [line.registers for line in lines]
    job = JobRegisters(
        slots=schedule(dimensions, groups).slots + more, volumes=groups, groups=groups,
        depth=dimensions[0], height=dimensions[1], width=dimensions[2],
    )  # fmt: skip
    wanted = []
    for slot in range(job.slots):
        rest, present = slot, True
        for r in reversed(dimensions):
            rest, place = divmod(rest, r.period)
            present &= r.lead <= place < r.lead + r.size
        wanted.append(present and rest < groups)
    return job, [(want, number == len(wanted) - 1) for number, want in enumerate(wanted)]


@cache
def sources(window):
    """Return small dimensions that a window of the core can slide over."""
    return (
        list(small_dimensions(4, window + 1, 4, 3, 3)) if window > 1 else [SpatialDimension(1, 1)]
    )


def draw(rng, config):
    """Return a random job; in a core without windows or padding every slot needs a beat."""
    if not config.padding or not config.has_windows:
        count = rng.choice((1, 2, 3, 40, 255, 256, 257, 300))
        last = [(True, number == count - 1) for number in range(count)]
        return JobRegisters(slots=count, volumes=count), last
    lines = [Line.of(rng.choice(sources(window))) for window in config.max_window]
    # Some jobs have a flush that is longer than one volume.
    more = rng.choice((0, 0, 2)) * math.prod(line.registers.period for line in lines)
    return job_of(lines, rng.randint(1, 3), more if more > 2 else 0)


def walk(config, jobs, rng, stalls):
    """Offer jobs as the admission does; return each slot taken and its clock, job by job."""
    component = SlotSchedule(config)
    taken: list[tuple[int, bool, bool]] = []
    begun = []
    size = job_layout(config).size

    async def bench(context):
        waiting, early, offered, clock = list(jobs), EARLY, False, 0
        total, before, shown = sum(len(slots) for _, slots in jobs), None, None
        while len(taken) < total:
            # A job stays on the port until its first slot is in front, and is looked at for some
            # clocks before it is offered.
            if before is not None and context.get(component.valid) and len(taken) >= before:
                before = None
            elif before is None and waiting and not offered:
                context.set(bits(component.job), waiting[0][0].to_bits(config))
                early -= 1
                offered = early < 0
            elif before is None and not offered:
                context.set(bits(component.job), rng.getrandbits(size))
            context.set(component.offered, offered)
            ready = rng.random() >= stalls
            context.set(component.ready, ready)
            slot = (context.get(component.wanted), context.get(component.last))
            if context.get(component.valid):
                assert shown in (None, slot)
                shown = None if ready else slot
                if ready:
                    taken.append((clock, *slot))
            else:
                assert shown is None
            if context.get(component.taken):
                assert offered
                begun.append(clock)
                offered, early = False, EARLY
                before = sum(len(slots) for _, slots in jobs[: len(begun) - 1])
                waiting.pop(0)
            await context.tick()
            clock += 1
            assert clock < 60 * total + 2000
        for _ in range(20):
            assert not context.get(component.valid)
            await context.tick()

    run(component, bench)
    return taken, begun


@pytest.mark.parametrize(
    "config", [VOLUMES, PLANES, REDUCTIONS, INSIDE], ids=["volumes", "planes", "rows", "inside"]
)
@pytest.mark.parametrize("stalls", mostly_slow([0, 0.3, 0.8], [0, 0.3]))
def test_every_slot_is_told_once_and_in_order(config, stalls):
    rng = random.Random(f"{config.max_window} {stalls}")
    jobs = [draw(rng, config) for _ in range(some(60))]
    taken, begun = walk(config, jobs, rng, stalls)
    assert [slot[1:] for slot in taken] == [slot for _, slots in jobs for slot in slots]
    assert len(begun) == len(jobs)
    if stalls:
        return
    start, before, followed = 0, 0, 0
    for clock, (_, slots) in zip(begun, jobs, strict=True):
        times = [time for time, *_ in taken[start : start + len(slots)]]
        # No clock is lost within a job.
        assert times == list(range(times[0], times[0] + len(slots)))
        if start == 0:
            assert times[0] == clock + latency(config) + 1
        elif before > EARLY + latency(config) + 2:
            # No clock is lost to the next job either, if the job before was so long that the next
            # one was offered in time.
            assert times[0] == taken[start - 1][0] + 1
            followed += 1
        start, before = start + len(slots), len(slots)
    assert followed


@pytest.mark.parametrize("config", [VOLUMES, PLANES], ids=["volumes", "planes"])
def test_every_slot_is_a_volume(config):
    """Jobs whose slots are volumes follow each other at once, or begin in an idle core."""
    line = Line.of(SpatialDimension(1, 1))
    jobs = [job_of([line] * 3, groups) for groups in (1, 4, 1, 30, 2, 2, 1, 1, 40, 5, 3)]
    assert all(wanted for _, slots in jobs for wanted, _ in slots)
    taken, _ = walk(config, jobs, random.Random(1), 0)
    assert [slot[1:] for slot in taken] == [slot for _, slots in jobs for slot in slots]


@pytest.mark.parametrize("config", [VOLUMES, PLANES], ids=["volumes", "planes"])
def test_a_flush_behind_volumes_of_one_slot(config):
    """A window of fixed size that is padded gives its last results behind such volumes."""
    line = Line.of(SpatialDimension(1, 1))
    shapes = ((1, 2), (1, 1), (2, 1), (1, 5), (3, 2), (1, 0), (1, 2), (40, 3), (1, 1))
    jobs = [job_of([line] * 3, groups, more) for groups, more in shapes]
    assert [wanted for wanted, _ in jobs[0][1]] == [True, False, False]
    for stalls in (0, 0.5):
        taken, _ = walk(config, jobs, random.Random(2), stalls)
        assert [slot[1:] for slot in taken] == [slot for _, slots in jobs for slot in slots]
