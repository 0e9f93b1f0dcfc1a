"""The scoreboard compares a core's results with those of the golden model, after a run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import output_layout
from extremum.host.plan.expected import in_result_beats, winners
from extremum.host.plan.gathered_jobs import GatheredJob
from extremum.host.plan.jobs import Job
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.results import Results
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.host.simulation.agents import PortRun
from extremum.model import ReduceFunction, Reduction


class ScoreboardError(AssertionError):
    """The results of the core are not those that were expected."""


class Scoreboard:
    """Collects jobs, their input beats, and the results that they must give, in order.

    Unused bits of an input beat are random: those of lanes without a slice, and the upper bits of a
    lane that is wider than the element. The core must not depend on them.

    Parameters
    ----------
    config
        Configuration of the core.
    seed
        Seed of the unused bits.
    """

    def __init__(self, config: CoreConfig, seed: int = 0) -> None:
        self.config = config
        self.jobs: list[int] = []
        self.beats: list[int] = []
        self.expected: list[int] = []
        self.slots = 0
        self._names: list[tuple[int, str]] = []
        self._random = random.Random(seed)

    def add(self, job: Job, x: NDArray[Any]) -> None:
        """Expect the results of a job on a tensor."""
        self.jobs.append(job.registers.to_bits(self.config))
        beats = noisy_beats(job, x, self._random).view(np.uint8).reshape(job.beats_in, -1)
        self.beats += [int.from_bytes(beat.tobytes(), "little") for beat in beats]
        self.expected += _results(job, x)
        self.slots += job.registers.slots
        self._names.append((len(self.expected), f"job {len(self.jobs)}, {job!r}"))

    def refuse(self, job: int) -> None:
        """Expect a job, given as a payload, to be refused: it takes no beat and gives no result."""
        self.jobs.append(job)

    def run(self, **options: Any) -> PortRun:
        """Return the run of all jobs; ``options`` are its stalls and its seed."""
        watchdog = self.slots + 2000
        return PortRun(self.jobs, self.beats, len(self.expected), watchdog, **options)

    def check(self, results: Sequence[int], taken: int | None = None) -> None:
        """Compare: every result must be in its place, none may be missing, and none come twice.

        Parameters
        ----------
        results
            The payloads of the output, in the order in which they came.
        taken
            How many beats the core took; None if nobody counted.

        Raises
        ------
        ScoreboardError
            A result differs, is missing or too many; or beats were left over.
        """
        for number, (actual, expected) in enumerate(zip(results, self.expected, strict=False)):
            if actual != expected:
                job = next(name for stop, name in self._names if number < stop)
                raise ScoreboardError(
                    f"result {number} is {actual:#x}, expected {expected:#x}, of {job}"
                )
        if len(results) != len(self.expected):
            raise ScoreboardError(f"{len(results)} results came, expected {len(self.expected)}")
        if taken is not None and taken != len(self.beats):
            raise ScoreboardError(f"{taken} beats were taken, expected {len(self.beats)}")


def noisy_beats(job: Job, x: NDArray[Any], rng: random.Random) -> NDArray[Any]:
    """Return a job's input beats, with random bits wherever the core must not look.

    Returns
    -------
    ndarray
        (beats, lanes), unsigned integers as wide as a lane.
    """
    beats = job.gather(x)
    config, size = job.config, beats.dtype.itemsize
    lane_bytes = config.element_width // 8
    lane, whole = f"<u{lane_bytes}", config.lanes
    if size == lane_bytes and job.registers.tail == whole:
        return np.ascontiguousarray(beats).view(lane)
    shape = (len(beats), config.lanes, lane_bytes)
    noise = np.frombuffer(rng.randbytes(len(beats) * config.lanes * lane_bytes), np.uint8)
    block = noise.reshape(shape).copy()
    registers = job.registers
    if registers.fold:
        last = slice(registers.length - 1, None, registers.length)
    else:
        last = slice(len(beats) - len(beats) // registers.groups, None)
    block[..., :size] = np.ascontiguousarray(beats).view(np.uint8).reshape(*shape[:2], size)
    block[last, registers.tail :] = noise.reshape(shape)[last, registers.tail :]
    return block.view(lane).reshape(shape[:2])


Won = tuple[np.ndarray, np.ndarray]
"""What :func:`extremum.host.plan.expected.winners` returns: values and positions."""


def expected_beats(job: Job, x: NDArray[Any], won: Won | None = None) -> Won:
    """Return the values and the positions that a job must give.

    Parameters
    ----------
    job
        The job.
    x
        The operator's tensor.
    won
        The operator's winners, for whoever has them: several jobs may share them.

    Returns
    -------
    values : ndarray
        (beats, lanes), of the tensor's type. Lanes without a result are 0.
    positions : ndarray
        (beats, lanes), uint32, cut to the core's ``index_width``.
    """
    if isinstance(job, GatheredJob):
        values, positions = _expected_rows(job, x)
        _check_gathering(job, values, positions, winners(job.problem, x) if won is None else won)
    elif isinstance(job, (ReductionJob, SlidingJob)):
        won = winners(job.problem, x) if won is None else won
        values, positions = in_result_beats(job, *won)
    else:
        raise TypeError(f"a {job.kind} job has no expected results here")
    return values, positions & np.uint32((1 << job.config.index_width) - 1)


def _check_gathering(
    job: GatheredJob, values: NDArray[Any], positions: NDArray[Any], won: Won
) -> None:
    """Check that the rows are those of the operator's windows: their winners are the operator's.

    Raises
    ------
    ScoreboardError
        The host has gathered other elements, or tells other positions of them.
    """
    best, where = (array.copy() for array in won)
    job.scatter(values, positions, Results(job.problem, best, where))
    for name, given, right in (("value", best, won[0]), ("position", where, won[1])):
        if given.tobytes() != right.tobytes():
            raise ScoreboardError(f"a row that the host gathered has another {name}, of {job!r}")


def _results(job: Job, x: NDArray[Any]) -> list[int]:
    """Return the payloads that a job must give."""
    values, positions = expected_beats(job, x)
    bits, indices = values.view(f"u{x.itemsize}").tolist(), positions.tolist()
    layout = output_layout(job.config)
    payloads = []
    for beat in range(job.beats_out):
        fields = {"value": bits[beat], "index": indices[beat], "last": beat == job.beats_out - 1}
        present: dict[int | str, Any] = {name: fields[str(name)] for name, _ in layout}
        payloads.append(layout.const(present).as_bits())
    return payloads


def _expected_rows(job: GatheredJob, x: NDArray[Any]) -> Won:
    """Return what the core must give for the rows of a job, which are a reduction of their own."""
    rows = _rows(job, x)
    problem = Reduction.of(ReduceFunction.ARGMAX, rows.shape, x.dtype, 1, nan=job.problem.nan)
    results = job.beats_out, job.config.lanes
    values, positions = np.zeros(results, x.dtype), np.zeros(results, np.uint32)
    for beats, row_results in zip((values, positions), winners(problem, rows), strict=True):
        beats.reshape(-1)[: job.rows.count] = row_results.reshape(-1)
    return values, positions


def _rows(job: GatheredJob, x: NDArray[Any]) -> NDArray[Any]:
    """Return the rows that a job's beats carry."""
    rows, beats = job.rows, job.gather(x)
    if rows.fold:
        return beats.reshape(rows.count, -1)[:, : rows.length]
    grouped = beats.reshape(rows.groups, rows.length, rows.lanes).swapaxes(1, 2)
    return grouped.reshape(-1, rows.length)[: rows.count]
