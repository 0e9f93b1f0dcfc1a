"""The trials of a core: random jobs with stalls, resets and refusals, and the golden model."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import ends_with_plane
from extremum.host.plan.jobs import Job
from extremum.tb.mutation.compiled_design import CompiledDesign, Recorder, Trial
from extremum.tb.mutation.core_jobs import (
    deep,
    fits,
    large,
    line,
    long_reduction,
    many,
    near_equal,
    padded,
    random_jobs,
    tiled,
)
from extremum.tb.refusal import bad_payloads
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


def _filled(config: CoreConfig, seed: int, jobs: Sequence[tuple[Job, np.ndarray]]) -> Scoreboard:
    """Return a scoreboard that expects the results of some jobs."""
    board, rng = Scoreboard(config, seed), random.Random(f"dilations {seed}")
    for job, x in jobs:
        board.add(job, x)
        if ends_with_plane(config) and job.registers.width.window == 1:
            # The dilation of a window of one tap is no fault, and says nothing.
            dilation = rng.randrange(1, 1 << config.coordinate_width)
            width = replace(job.registers.width, dilation=dilation)
            board.jobs[-1] = replace(job.registers, width=width).to_bits(config)
    return board


def _one(model: CompiledDesign, kind: str, seed: int, config: CoreConfig) -> Trial:
    """Record one trial of a kind."""
    rng = random.Random(f"{kind} {seed}")
    recorder, by_plane = Recorder(model), ends_with_plane(config)
    modes: tuple[int | str, ...] = (0, 30, 80, "bursts")
    rests = {
        "stalls": Rests(rng.choice(modes), rng.choice(modes), rng.choice((30, 80))),
        "bursts": Rests(0, rng.choice((0, "bursts")), "bursts"),
        "resets": Rests(rng.choice(modes), rng.choice(modes), rng.choice(modes)),
    }.get(kind, Rests())
    if kind not in ("jobs", "long") and rests == Rests() and rng.random() < 0.5:
        # Jobs that come late find the core idle.
        rests = Rests(rng.choice((60, 97, "bursts")), rng.choice((0, 30)), rng.choice((0, 30)))
    if kind == "resets":
        for _ in range(8):
            jobs = random_jobs(rng, config, 4)
            if config.max_window[0] > 1 and not by_plane and rng.random() < 0.6:
                jobs = [rng.choice((deep, large, many, many))(rng, config) for _ in range(3)]
                jobs = [each for each in jobs if fits(each[0])]
            board = _filled(config, seed, jobs)
            play(recorder, board, rng, rests, stop=rng.randrange(1, 40 + len(board.beats)))
    if kind == "refused":
        good = random_jobs(rng, config, 8)
        bad = [payload for payload, _ in bad_payloads(good[0][0].registers, config)]
        board = Scoreboard(config, seed)
        for number, payload in enumerate(bad):
            if rng.random() < 0.6:
                board.add(*good[number % len(good)])
            board.refuse(payload)
        play(recorder, board, rng, Rests(rng.choice((0, 50)), 0, rng.choice((0, 50))))
    if kind == "long":
        jobs = [long_reduction(rng, config) for _ in range(3)]
    elif kind == "near":
        jobs = [near_equal(rng, config) for _ in range(20)]
    elif kind == "many":
        jobs = [rng.choice((many, many, large, line, line))(rng, config) for _ in range(25)]
    elif kind == "planes":
        jobs = [deep(rng, config) for _ in range(20)]
    elif kind == "padding":
        jobs = [padded(rng, config) for _ in range(20)]
    elif kind == "tiles":
        jobs = [tiled(rng, config) for _ in range(20)]
    else:
        jobs = random_jobs(rng, config, 14 if kind != "refused" else 3)
        if kind in ("stalls", "bursts") and config.has_windows and not by_plane:
            jobs += [rng.choice((padded, line))(rng, config) for _ in range(6)]
    play(recorder, _filled(config, seed, [each for each in jobs if fits(each[0])]), rng, rests)
    return recorder.trial(kind, VALIDS)


KINDS = (
    "jobs", "near", "planes", "padding", "tiles", "many", "long", "stalls", "bursts", "resets",
    "refused",
)  # fmt: skip
"""The kinds of trials, in the order in which they are tried."""

WINDOWED = ("planes", "padding", "tiles", "many")
"""Those for cores that slide windows."""

PLANES = ("jobs", "stalls", "bursts", "resets", "refused")
"""Those for cores whose jobs end with their plane."""


def trials(
    model: CompiledDesign, config: CoreConfig, rounds: range, kinds: Sequence[str] = KINDS
) -> Iterator[Trial]:
    """Yield recorded trials of all kinds, one of each in every round."""
    for seed in rounds:
        for kind in kinds:
            if kind in WINDOWED and not config.has_windows:
                continue
            if kind not in PLANES and ends_with_plane(config):
                continue
            yield _one(model, kind, seed, config)
