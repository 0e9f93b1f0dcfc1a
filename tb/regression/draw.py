"""Draws a case from a seed: constrained random, with a bias to the corners.

All choices come from one generator that is started from the seed and the size of the case, so the
same seed gives the same case on every machine.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from extremum.tb.regression.case import Batch, Case, Item, Rests
from extremum.tb.regression.faults import FAULTS
from extremum.tb.regression.operators import drawn_operator, jobs_of
from extremum.tb.regression.pool import is_random, target_of
from extremum.tb.regression.target import Target
from extremum.tb.regression.tensors import FILLS

SCALES = {"native": 1.0, "verilator": 0.01, "icarus": 0.004}
"""How long the long jobs are on each backend: the others are slower by two orders of magnitude."""

LONGEST = 1 << 20
"""Beats of the longest job, about, at scale 1."""

FEWEST = 1 << 16
"""Beats of the shortest of the long jobs at scale 1."""


RANDOM_SCALE = 1 / 32
"""How long the long jobs of a core drawn at random are, beside those of the pool."""

MOST_AGAIN = 30
"""How often a core of one operator, which has no long jobs, repeats its job in their place."""

OFTEN = (6, 2, 2, 2, 1)
"""How often each of the faults is drawn: the core has many reasons to refuse registers."""


def drawn_case(seed: int, backend: str = "native") -> Case:
    """Return the case of a seed, in the size that suits a backend."""
    target = target_of(seed)
    source = random.Random(f"{seed} {SCALES[backend]}")
    batches: list[Batch] = []
    for _ in range(source.randint(1, 4)):
        batches.append(_batch(source, target, None))
        if batches[-1].reset_after is not None:
            # What a reset leaves behind would show in the jobs that follow.
            batches.append(Batch([_item(source, target, None)], seed=source.getrandbits(30)))
    scale = SCALES[backend]
    # Wide cores are slow to simulate, and take many elements in a beat.
    scale *= min(1.0, 2 / target.config.lanes)
    if is_random(target):
        scale *= RANDOM_SCALE
    beats = max(1, int(scale * FEWEST * (LONGEST / FEWEST) ** source.random()))
    batches.insert(source.randint(0, len(batches)), _batch(source, target, beats))
    if batches[-1].reset_after is not None:
        batches.append(Batch([_item(source, target, None)], seed=source.getrandbits(30)))
    return Case(target.name, batches)


def _batch(source: random.Random, target: Target, beats: int | None) -> Batch:
    """Return a batch of short jobs, among which is one of so many beats, if that is asked for."""
    count = source.choice((1, 1, 2, 3, 5, 8)) if beats is None else source.choice((1, 1, 2, 4))
    items = [_item(source, target, None) for _ in range(count)]
    if beats is not None:
        long = _item(source, target, beats)
        items[source.randrange(count)] = long
        if target.only:
            (job,) = jobs_of(long, target.config)
            items += [long] * min(MOST_AGAIN, beats // job.beats_in)
    is_faulty = target.bus == "axi" and target.has_jobs and beats is None and source.random() < 0.3
    is_jam = target.bus == "axi" and beats is None and not is_faulty and source.random() < 0.2
    if is_faulty:
        items = _with_faults(source, items)
    elif is_jam:
        # The very same job needs no register, so that starts queue up behind results that wait.
        items = [replace(items[0], jobs=1)] * source.randint(4, 8)
    batch: dict[str, Any] = {"items": items, "seed": source.getrandbits(30)}
    if is_faulty:
        batch["accesses"] = source.choice((0, 20, 80))
    if source.random() < 0.55:
        # In the other batches the clocks are predicted exactly.
        jobs = [job for item in items for job in jobs_of(item, target.config)]
        lasts = {
            "input": sum(job.beats_in for job in jobs),
            "output": sum(job.cycles for job in jobs),
            "job": len(jobs),
        }
        for side, last in lasts.items():
            if side != "job" or target.bus == "none":
                batch[f"{side}_stalls"] = _stalls(source, last, long=beats is not None)
        if source.random() < 0.5:
            # What waits for a sink is known if no source rests.
            batch |= {f"{side}_stalls": 0 for side in ("input", "job")}
    if is_jam:
        batch["output_stalls"] = [[source.randint(0, 80), 0], [600, 100], [1, 0]]
    if source.random() < (0.35 if is_faulty else 0.2):
        jobs = [job for item in items for job in jobs_of(item, target.config)]
        # A job that fails is soon over.
        last = 20 if is_faulty else sum(job.cycles for job in jobs)
        batch |= _reset(source, target, last)
    return Batch(**batch)


def _item(source: random.Random, target: Target, beats: int | None) -> Item:
    if target.only:
        operator, arguments = target.only[0], json.loads(target.only[1])
    else:
        operator, arguments = drawn_operator(source, target.config, beats)
    bad = target.bus == "none" and target.has_jobs and source.random() < 0.08
    return Item(
        operator,
        arguments,
        fill=source.choice(tuple(FILLS)),
        fill_seed=source.getrandbits(30),
        jobs=source.randint(1, 5),
        first=source.randrange(64),
        refused=source.randrange(64) if bad else None,
    )


def _with_faults(source: random.Random, items: list[Item]) -> list[Item]:
    """Return items of a block with faults in most of them."""
    return [
        replace(
            item,
            fault=source.choices(FAULTS, OFTEN)[0],
            fault_number=source.randrange(1 << 16),
            # So that jobs which fail follow each other, too.
            jobs=source.choice((1, item.jobs)),
        )
        if source.random() < 0.7
        else item
        for item in items
    ]


def _stalls(source: random.Random, last: int, *, long: bool) -> Rests:
    """Return how one side of a stream rests: at a rate, or at the places where streams fail.

    ``last`` is the number of the last item of a source, beats or jobs, by which its phases count;
    and of results, whose phases count by clocks, about the clock of the last one. Where the jobs
    are long the side rests less.
    """
    near = min(6, last // 4)
    kind = source.random()
    if kind < 0.25:
        return 0
    if kind < 0.6:
        return source.choice((3, 30) if long else (3, 30, 50, 80, 95))
    if kind < 0.7:  # at the first beats
        return [[source.randint(1, source.choice((60, 400))), 100], [1, 0]]
    if kind < 0.8:  # in the middle
        return [
            [max(1, last // 2 + source.randint(-near, near)), 0],
            [source.randint(1, 60), 100],
            [1, 0],
        ]
    if kind < 0.9:  # at the last items, a few before them
        return [
            [max(1, last - source.randint(1, 1 + near)), 0],
            [source.randint(1, 60), 100],
            [1, 0],
        ]
    if kind < 0.95:  # for so long that everything fills
        return [[source.randint(0, max(0, min(80, last - 1))), 0], [1200, 100], [1, 0]]
    turns = [[source.randint(1, 40), source.choice((0, 100, 0, 50, 95))] for _ in range(30)]
    return [*turns, [1, 0]]


def _reset(source: random.Random, target: Target, last: int) -> dict[str, int]:
    """Return when a reset ends a batch, and how long it is."""
    clock = source.choice(
        (source.randint(0, 12), source.randint(0, 80), source.randint(0, last + 80), last)
    )
    soft = target.bus == "axi" and target.has_jobs and source.random() < 0.5
    return {"reset_after": clock, "reset_clocks": 0 if soft else source.choice((1, 1, 2, 5))}
