"""The trials of a core: random jobs with stalls, resets and refusals, and the golden model."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job
from extremum.model import DataType, Pooling, Reduction
from extremum.tb import sequences
from extremum.tb.mutation.designs import COUNTER_BITS
from extremum.tb.mutation.model import Model, Recorder, Trial
from extremum.tb.refusal import bad_jobs
from extremum.tb.scoreboard import Scoreboard, ScoreboardError

VALIDS = {"o__valid": ("o__payload",)}
WATCHDOG = 6000


class Rest:
    """Tells clock by clock whether an agent rests.

    Parameters
    ----------
    rng
        Source of randomness.
    mode
        A percentage, or ``"bursts"``: long phases of rest and of work.
    """

    def __init__(self, rng: random.Random, mode: int | str) -> None:
        self._rng, self._mode, self._left, self._rests = rng, mode, 0, False

    def __call__(self) -> bool:
        """Return whether the agent rests in the next clock."""
        if isinstance(self._mode, int):
            return self._rng.random() * 100 < self._mode
        if not self._left:
            self._rests = not self._rests
            self._left = self._rng.choice((1, 2, 3, 7, 20, 150))
        self._left -= 1
        return self._rests


@dataclass(frozen=True)
class Rests:
    """How the job port, the source and the sink rest: modes of :class:`Rest`."""

    job: int | str = 0
    source: int | str = 0
    sink: int | str = 0


def play(
    recorder: Recorder,
    board: Scoreboard,
    rng: random.Random,
    rests: Rests,
    *,
    stop: int | None = None,
) -> None:
    """Send all that a scoreboard holds through a core, and check what comes.

    Parameters
    ----------
    recorder
        The core.
    board
        Jobs, beats and expected results.
    rng
        Source of stalls and of garbage.
    rests
        How the agents rest.
    stop
        Clock in which all ends by a reset of one clock. What came must be right so far.

    Raises
    ------
    ScoreboardError
        A result is wrong, missing or too many.
    """
    jobs, beats = deque(board.jobs), deque(board.beats)
    job_rests, beat_rests, sink_rests = (
        Rest(rng, mode) for mode in (rests.job, rests.source, rests.sink)
    )
    job_bits, beat_bits = (recorder.inputs[name].width for name in ("job__payload", "i__payload"))
    got: list[int] = []
    job = beat = False
    still = clock = 0

    def is_done() -> bool:
        return not jobs and not beats and len(got) >= len(board.expected)

    while still < (60 if is_done() else WATCHDOG) and clock != stop:
        job = job or (bool(jobs) and not job_rests())
        beat = beat or (bool(beats) and not beat_rests())
        ready = not sink_rests()
        out = recorder.clock(
            rst=0,
            job__valid=job,
            job__payload=jobs[0] if job else rng.getrandbits(job_bits),
            i__valid=beat,
            i__payload=beats[0] if beat else rng.getrandbits(beat_bits),
            o__ready=ready,
        )
        still += 1
        if job and out["job__ready"]:
            jobs.popleft()
            job, still = False, 0
        if beat and out["i__ready"]:
            beats.popleft()
            beat, still = False, 0
        if out["o__valid"]:
            still = 0
            if ready:
                got.append(out["o__payload"])
        clock += 1
    if stop is None:
        board.check(got, len(board.beats) - len(beats))
    else:
        if got != board.expected[: len(got)]:
            raise ScoreboardError("a result before the reset is wrong")
        recorder.clock(
            rst=1, job__valid=rng.getrandbits(1), job__payload=rng.getrandbits(job_bits),
            i__valid=rng.getrandbits(1), i__payload=rng.getrandbits(beat_bits),
            o__ready=rng.getrandbits(1),
        )  # fmt: skip


def _fits(job: Job) -> bool:
    """Return whether a job's registers fit into the scaled counters."""
    values = job.registers.values()
    return all(
        values[name] < 1 << COUNTER_BITS for name in ("slots", "volumes", "length", "groups")
    )


def random_jobs(rng: random.Random, config: CoreConfig, count: int) -> list[tuple[Job, np.ndarray]]:
    """Return random jobs that fit into the scaled counters."""
    return [each for each in sequences.jobs(rng, config, count) if _fits(each[0])]


def _filled(config: CoreConfig, seed: int, jobs: Sequence[tuple[Job, np.ndarray]]) -> Scoreboard:
    board = Scoreboard(config, seed)
    for job, x in jobs:
        board.add(job, x)
    return board


def long_reduction(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a reduction of nearly as many beats as the scaled counters can count.

    Its winner, or one of a few equals, may be anywhere.
    """
    kind = rng.choice(config.data_types)
    most = (1 << COUNTER_BITS) - 1
    rows = rng.choice((1, 1, 2, 5, 16))
    count = min(rng.choice((most, most - 1, 513, 700, 257)), most // rows)
    if rng.random() < 0.5:
        count *= config.lanes
    count = min(count, (1 << config.index_width) - 2)
    problem = Reduction.of(
        rng.choice(("argmin", "argmax")), (rows, count), kind, 1,
        axis_direction=rng.choice(("increasing", "decreasing")),
    )  # fmt: skip
    base = rng.choice((0, 1, 5))
    x = np.full(problem.sizes, base, kind.dtype)
    for row in range(rows):
        for _ in range(rng.choice((1, 2))):
            x[row, rng.choice((rng.randrange(count), count - 1, 0))] = base + rng.choice((-1, 1))
    return next((job, x) for job in plan(problem, config).jobs)


def _special(rng: random.Random, kind: DataType) -> int:
    """Return the bits of an element beside which an order or a NaN is decided."""
    width = kind.format.width
    top = 1 << width - 1
    choices = [0, top, top - 1, rng.getrandbits(width)]
    if kind.format.is_float:
        infinity = int(np.array(np.inf, kind.dtype).view(f"u{width // 8}"))
        choices += [infinity, infinity + top] * 2
    return rng.choice(choices)


def _deep(rng: random.Random, kind: DataType, most: int) -> Pooling:
    """Return a small pooling whose windows reach over planes, which random ones seldom do.

    Planes of one row and of one column, where the storage takes short cuts, come often.
    """
    height, width = rng.choice((1, 1, 2, 3)), rng.randint(1, 4)
    depth = rng.randint(2, 5)
    return Pooling.of(
        (1, rng.randint(1, 3), depth, height, width), kind,
        (rng.randint(2, most), rng.randint(1, min(3, height)), rng.randint(1, min(2, width))),
        strides=tuple(rng.choice((1, 1, 2)) for _ in range(3)),
        nan=rng.choice(("propagate", "ignore")), return_indices=rng.random() < 0.5,
    )  # fmt: skip


def deep(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job of windows over planes of elements that tie or take any value."""
    kind = rng.choice(config.data_types)
    problem = _deep(rng, kind, config.max_window[0])
    if rng.random() < 0.5:
        x = np.array([rng.choice((0, 1)) for _ in range(int(np.prod(problem.sizes)))], kind.dtype)
    else:
        x = np.frombuffer(
            rng.randbytes(int(np.prod(problem.sizes)) * kind.dtype.itemsize), kind.dtype
        )
    return plan(problem, config).jobs[0], x.reshape(problem.sizes)


def many(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job of many small volumes, or of one large one, so that every counter is filled."""
    kind = rng.choice(config.data_types)
    most = (1 << config.coordinate_width) - 1
    if rng.random() < 0.5:
        plane = rng.randint(1, 2), rng.randint(1, 2)
        sizes = (rng.choice((8, 9, 15, 16, 17, 40, 130)), rng.randint(1, 4), 1, *plane)
    else:
        large = [rng.randint(1, most), rng.randint(1, 6), rng.randint(1, 4)]
        sizes = (1, 1, *rng.sample(large, 3))
    elements = int(np.prod(sizes))
    window = [rng.randint(1, most) for most in config.max_window]
    start = [rng.choice((0, 0, 1, 6)) for _ in range(3)]
    end = [
        max(rng.choice((0, 0, 1, 3, 8)), taps - size - before)
        for taps, size, before in zip(window, sizes[2:], start, strict=True)
    ]
    problem = Pooling.of(
        sizes, kind, window, strides=[rng.choice((1, 1, 2, 5, 17)) for _ in range(3)],
        start_padding=start, end_padding=end,
        return_indices=elements < 1 << config.index_width - 1,
    )  # fmt: skip
    jobs = plan(problem, config).jobs
    if not len(jobs):
        return many(rng, config)
    x = np.frombuffer(rng.randbytes(elements * kind.dtype.itemsize), kind.dtype)
    return jobs[0], x.reshape(sizes)


def near_equal(rng: random.Random, config: CoreConfig) -> tuple[Job, np.ndarray]:
    """Return a job whose elements differ in one bit, of short rows or of windows.

    Beside an infinity these are NaNs whose payload is one bit.
    """
    kind = rng.choice(config.data_types)
    problem: Reduction | Pooling
    if config.max_window[0] > 1 and rng.random() < 0.3:
        problem = _deep(rng, kind, config.max_window[0])
    elif config.has_windows and rng.random() < 0.5:
        problem = sequences.pooling(rng, kind)
        while not len(plan(problem, config).jobs):
            problem = sequences.pooling(rng, kind)
    else:
        shape = (rng.randint(1, 40), rng.choice((1, 1, 2, 3, 4, 9)))
        function = rng.choice(("argmin", "argmax", "min", "max"))
        directions = ("increasing", "decreasing") if "arg" in function else ("increasing",)
        problem = Reduction.of(
            function, shape, kind, 1,
            nan=rng.choice(("propagate", "ignore")), axis_direction=rng.choice(directions),
        )  # fmt: skip
    width = kind.format.width
    base = _special(rng, kind)
    flips = rng.choice((0.3, 0.7, 1.0))
    words = [
        base ^ (rng.random() < flips) << rng.randrange(width)
        for _ in range(int(np.prod(problem.sizes)))
    ]
    raw = b"".join(word.to_bytes(width // 8, "little") for word in words)
    x = np.frombuffer(raw, kind.dtype).reshape(problem.sizes)
    return plan(problem, config).jobs[0], x


def _one(model: Model, rung: str, seed: int, config: CoreConfig) -> Trial:
    """Record one trial of a kind."""
    rng = random.Random(f"{rung} {seed}")
    recorder = Recorder(model)
    modes: tuple[int | str, ...] = (0, 30, 80, "bursts")
    rests = {
        "stalls": Rests(rng.choice(modes), rng.choice(modes), rng.choice((30, 80))),
        "bursts": Rests(0, rng.choice((0, "bursts")), "bursts"),
        "resets": Rests(rng.choice(modes), rng.choice(modes), rng.choice(modes)),
    }.get(rung, Rests())
    if rung == "resets":
        for _ in range(4):
            jobs = random_jobs(rng, config, 4)
            if config.max_window[0] > 1 and rng.random() < 0.6:
                jobs = [rng.choice((deep, many))(rng, config) for _ in range(3)]
                jobs = [each for each in jobs if _fits(each[0])]
            board = _filled(config, seed, jobs)
            play(recorder, board, rng, rests, stop=rng.randrange(1, 40 + len(board.beats)))
    if rung == "refused":
        good = random_jobs(rng, config, 8)
        bad = [registers for registers, _ in bad_jobs(good[0][0].registers, config)]
        board = Scoreboard(config, seed)
        for number, registers in enumerate(bad):
            if rng.random() < 0.6:
                board.add(*good[number % len(good)])
            board.refuse(registers.to_bits(config))
        play(recorder, board, rng, Rests(rng.choice((0, 50)), 0, rng.choice((0, 50))))
    if rung == "long":
        jobs = [long_reduction(rng, config)]
    elif rung == "near":
        jobs = [near_equal(rng, config) for _ in range(20)]
    elif rung == "many":
        jobs = [many(rng, config) for _ in range(8)]
    elif rung == "planes":
        jobs = [deep(rng, config) for _ in range(20)]
    else:
        jobs = random_jobs(rng, config, 14 if rung != "refused" else 3)
    play(recorder, _filled(config, seed, [each for each in jobs if _fits(each[0])]), rng, rests)
    return recorder.trial(rung, VALIDS)


RUNGS = ("jobs", "near", "planes", "many", "long", "stalls", "bursts", "resets", "refused")
"""The kinds of trials, in the order in which they are tried."""


def trials(
    model: Model, config: CoreConfig, rounds: range, rungs: Sequence[str] = RUNGS
) -> Iterator[Trial]:
    """Yield recorded trials of all kinds, one of each in every round."""
    for seed in rounds:
        for rung in rungs:
            if rung in ("planes", "many") and not config.has_windows:
                continue
            yield _one(model, rung, seed, config)
