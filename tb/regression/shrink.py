"""Makes a case that fails smaller, as long as it still fails."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from extremum.host.errors import ToolError
from extremum.tb.coverage import Tally
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.work import Difference

SECONDS = 30.0
"""After so long the smallest case that was found is taken."""

SIMPLE_FILLS = ("ramp", "zeros", "sparse", "few")


def shrink(case: Case, rig: Rig) -> Case:
    """Return a case that is no larger, and fails too.

    Fewer batches and jobs are tried first, then none of the stalls and resets, then smaller
    geometries and simpler options. Whatever fails is taken for the fault that is looked for.

    Parameters
    ----------
    case
        A case that fails.
    rig
        The simulations to run it on.
    """
    end = time.monotonic() + SECONDS
    while True:
        for smaller in _smaller(case):
            if time.monotonic() > end:
                return case
            if failure(smaller, rig) is not None:
                case = smaller
                break
        else:
            return case


def failure(case: Case, rig: Rig) -> str | None:
    """Run a case; return how it fails, or None if it does not, or is none that a core can run."""
    try:
        run_case(case, rig, Tally())
    except Difference as error:
        return str(error)
    except ToolError:
        raise
    except Exception:
        # Such as an assertion of a bench: it is told as it is, and nothing smaller is looked for.
        return None
    return None


def _smaller(case: Case) -> Iterator[Case]:
    for batches in _fewer(case.batches):
        yield replace(case, batches=batches)
    for number, batch in enumerate(case.batches):
        for changed in _smaller_batches(batch):
            batches = list(case.batches)
            batches[number] = changed
            yield replace(case, batches=batches)


def _fewer(things: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield each thing alone, then the halves, then all but one."""
    if len(things) < 2:
        return
    for thing in things:
        yield [thing]
    half = len(things) // 2
    if len(things) > 3:
        yield list(things[:half])
        yield list(things[half:])
    for left_out in range(len(things)):
        yield [thing for number, thing in enumerate(things) if number != left_out]


def _smaller_batches(batch: Batch) -> Iterator[Batch]:
    for items in _fewer(batch.items):
        yield replace(batch, items=items)
    if batch.reset_after is not None:
        yield replace(batch, reset_after=None, reset_clocks=1)
        yield replace(batch, reset_after=batch.reset_after // 2)
    sides = ("input_stalls", "output_stalls", "job_stalls")
    if batch.has_stalls:
        yield replace(batch, **dict.fromkeys(sides, 0))
    for side in sides:
        if getattr(batch, side):
            yield replace(batch, **{side: 0})
    if batch.accesses:
        yield replace(batch, accesses=0)
    if batch.seed:
        yield replace(batch, seed=0)
    for number, item in enumerate(batch.items):
        for changed in _smaller_items(item):
            items = list(batch.items)
            items[number] = changed
            yield replace(batch, items=items)


def _smaller_items(item: Item) -> Iterator[Item]:
    if item.refused is not None:
        yield replace(item, refused=None)
    if item.fault is not None:
        yield replace(item, fault=None, fault_number=0)
        for number in range(min(3, item.fault_number)):
            yield replace(item, fault_number=number)
    for arguments in _smaller_arguments(item.arguments):
        yield replace(item, arguments=arguments)
    if item.jobs > 1:
        yield replace(item, jobs=1)
    if item.first:
        yield replace(item, first=0)
    if item.fill in SIMPLE_FILLS:
        simpler = SIMPLE_FILLS[: SIMPLE_FILLS.index(item.fill)]
    else:
        simpler = SIMPLE_FILLS
    for fill in simpler:
        yield replace(item, fill=fill, fill_seed=0)
    for seed in range(min(3, item.fill_seed)):
        yield replace(item, fill_seed=seed)


PLAIN = {
    "start_padding": 0,
    "end_padding": 0,
    "dilations": 1,
    "strides": 1,
    "window": 1,
}
"""The numbers that the lists of a pooling shrink towards."""

SIMPLE = {
    "nan": "propagate",
    "index_layout": "tensor",
    "axis_direction": "increasing",
    "return_indices": False,
}


def _smaller_arguments(arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    def toward(value: int, least: int) -> list[int]:
        return sorted({least, (value + least) // 2, value - 1} - {value}) if value > least else []

    for name, least in ({"sizes": 1} | PLAIN).items():
        numbers = arguments.get(name, [])
        for place, value in enumerate(numbers):
            for smaller in toward(value, least):
                changed = list(numbers)
                changed[place] = smaller
                yield arguments | {name: changed}
    if "function" in arguments and len(arguments["sizes"]) > 1:
        for axis in range(len(arguments["sizes"])):
            if arguments["sizes"][axis] == 1:
                axes = [a - (a > axis) for a in arguments["axes"] if a != axis]
                sizes = [s for a, s in enumerate(arguments["sizes"]) if a != axis]
                yield arguments | {"sizes": sizes, "axes": axes}
    for name, value in SIMPLE.items():
        if arguments.get(name, value) != value:
            yield arguments | {name: value}
