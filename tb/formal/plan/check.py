"""Compares the plan of a pooling with the definition: each window's elements and positions."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import DimensionRegisters
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job
from extremum.host.plan.planner import volume_of
from extremum.host.plan.registers import dimension_registers
from extremum.host.plan.results import Results
from extremum.host.plan.tiles import cut, storage_limits
from extremum.model import Pooling, SpatialDimension
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.line import rules
from extremum.tb.formal.plan.definition import Axis, windows
from extremum.tb.formal.plan.driver import GATHERED, planned_in_c, pooling_words
from extremum.tb.formal.plan.walk import POSITIONS, walk
from extremum.tb.formal.proof import Checked


def check(
    config: CoreConfig, planes: int, geometries: Iterable[Sequence[Axis]], fault: Fault | None
) -> Checked:
    """Check the plans of poolings in both languages, up to the first that is wrong.

    ``fault`` is planted into the driver in C, if it is one of that.
    """
    checked = Checked()
    words, planned = list[list[int]](), list[int]()
    shown = list[tuple[int, Sequence[Axis]]]()
    for axes in geometries:
        checked.cases += 1
        problem = _pooling(planes, axes)
        plans = plan(problem, config)
        jobs = list(plans.jobs)
        is_gathered = any(note.startswith("gathered by the host") for note in plans.notes)
        if is_gathered:
            wrong = _wrongly_gathered(problem, axes, config, checked.seen)
        else:
            wrong = _wrong(problem, planes, axes, jobs, checked.seen)
        if wrong is not None:
            checked.broken = f"{wrong}, of {planes} planes and {axes}"
            return checked
        words.append(pooling_words(planes, axes))
        shown.append((len(planned), axes))
        if is_gathered:
            planned.append(GATHERED)
            continue
        planned += [0, len(jobs)]
        for job in jobs:
            planned += job.registers.values().values()
    if fault is None or fault.is_in_c:
        in_c = planned_in_c(config, words, fault)
        if not np.array_equal(in_c, planned):
            axes = _first_different(in_c, np.array(planned), shown)
            checked.broken = f"the C driver plans otherwise, of {planes} planes and {axes}"
    return checked


def _pooling(planes: int, axes: Sequence[Axis]) -> Pooling:
    return Pooling.of(
        (1, planes, *(axis.size for axis in axes)), "uint8", [axis.window for axis in axes],
        strides=[axis.stride for axis in axes], dilations=[axis.dilation for axis in axes],
        start_padding=[axis.start for axis in axes], end_padding=[axis.end for axis in axes],
        return_indices=True,
    )  # fmt: skip


def _wrongly_gathered(
    problem: Pooling, axes: Sequence[Axis], config: CoreConfig, seen: Counter[str]
) -> str | None:
    """Return what is wrong if the host gathers the windows of a pooling, or None.

    They must be gathered in three cases: a tap meets padding in a core without it; a window has
    more taps than the core was built for; or the counters of the core are too short, however a
    dimension is cut into tiles. A line of a tile must also fit the storage.
    """
    seen["windows gathered by the host"] += 1
    meets_padding = not config.padding and any(axis.meets_padding for axis in axes)
    volume = volume_of(problem)
    most = [line.outputs for line in volume]
    most[-1] = min(storage_limits(volume, config))
    slides = all(
        _can_be_counted(*each, config) for each in zip(volume, most, range(3), strict=True)
    )
    if meets_padding or not slides:
        return None
    return "the windows are gathered, and the core could slide them"


def _can_be_counted(line: SpatialDimension, most: int, axis: int, config: CoreConfig) -> bool:
    """Return whether a dimension can be cut into tiles whose registers follow the rules.

    A tile has ``most`` outputs at the most; ``axis`` is the place of the dimension in a triple.
    """
    for tiles in range(-(-line.outputs // most), line.outputs + 1):
        edges = [line.outputs * number // tiles for number in range(tiles + 1)]
        found = [cut(line, first, stop - first) for first, stop in itertools.pairwise(edges)]
        registers = (dimension_registers([tile.dimension], [0]) for tile in found if tile)
        if all(_follows_rules(one, config, axis) for (one,) in registers):
            return True
    return False


def _follows_rules(one: DimensionRegisters, config: CoreConfig, axis: int) -> bool:
    """Return whether registers follow the rules that the proofs of the gateware assume."""
    return all(rules(vars(one), config, axis))


def _wrong(
    problem: Pooling, planes: int, axes: Sequence[Axis], jobs: list[Job], seen: Counter[str]
) -> str | None:
    """Return what is wrong with the jobs of a pooling, or None."""
    wanted = windows(planes, axes)
    found: list[list[int]] = [[] for _ in wanted]
    tensor = np.arange(np.prod(problem.sizes)).reshape(problem.sizes)
    for job in jobs:
        registers, lanes = job.registers, job.config.lanes
        results, beats, wrong = walk(registers, padding=job.config.padding)
        elements = job.gather(tensor)
        if beats != len(elements):
            wrong.append(f"a job takes {beats} beats, not {len(elements)}")
        if len(results) != job.beats_out:
            wrong.append(f"a job gives {len(results)} results, not {job.beats_out}")
        if wrong:
            return wrong[0]
        # Each lane of each result has a number, and tells what becomes of it.
        numbers = np.arange(1, 1 + len(results) * lanes, dtype=np.int64).reshape(-1, lanes)
        places = np.zeros(problem.output_sizes, np.int64)
        job.scatter(numbers, numbers, Results(problem, places, None))
        for output in np.flatnonzero(places):
            result, lane = divmod(int(places.flat[output]) - 1, lanes)
            group, taps = results[result]
            if lane >= (registers.tail if group == registers.groups - 1 else lanes):
                return f"result {output} is in a lane without one"
            for beat, position in taps:
                own = (position + lane * registers.lane_step) % POSITIONS
                if elements[beat, lane] != own:
                    return f"result {output} calls an element {own} that is another"
                found[output].append(own)
        if not all(
            _follows_rules(one, job.config, axis) for axis, one in enumerate(registers.dimensions)
        ):
            return "the registers of a dimension do not follow the rules"
        _note(seen, registers.dimensions)
    seen["cut into tiles"] += len(jobs) > 1
    seen["an empty window"] += [] in wanted
    seen["a tap left out"] += bool(jobs) and any(
        line.window < axis.window
        for line, axis in zip(jobs[0].registers.dimensions[-len(axes) :], axes, strict=True)
    )
    for output, (given, right) in enumerate(zip(found, wanted, strict=True)):
        if given != right:
            return f"result {output} is of the elements {given}, not {right}"
    return None


def _note(seen: Counter[str], dimensions: Iterable[DimensionRegisters]) -> None:
    """Count what kinds of schedules a job has."""
    for one in dimensions:
        seen["a window given early"] += one.shift > 0
        seen["a line that begins in padding"] += one.head < 0
        seen["a line with slots for windows alone"] += one.period > one.size


def _first_different(
    one: np.ndarray, other: np.ndarray, shown: list[tuple[int, Sequence[Axis]]]
) -> Sequence[Axis]:
    """Return the pooling in whose numbers two arrays differ first."""
    length = min(len(one), len(other))
    differs = np.flatnonzero(one[:length] != other[:length])
    first = int(differs[0]) if len(differs) else length
    return max((start, axes) for start, axes in shown if start <= first)[1]
