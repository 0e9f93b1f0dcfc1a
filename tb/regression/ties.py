"""Looks at some rows of a reduction, or at some windows: which elements are as good as the winner?

To look at all of them would take longer than to simulate them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from extremum.host.plan.gathered_jobs import GatheredJob
from extremum.host.plan.jobs import Job
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import Reduction
from extremum.tb.coverage import Tally
from extremum.tb.regression.tensors import classes

ROWS = 16
"""Rows or windows of a job that are looked at, at the most."""

ELEMENTS = 2048
"""Elements of the longest row that is looked at."""


def observe_ties(tally: Tally, job: Job, x: np.ndarray, kind: str, direction: str) -> None:
    """Count the ties, and the classes of the values that won, in some rows or windows of a job."""
    problem: Any = job.problem  # pyright: ignore[reportAttributeAccessIssue]
    least = isinstance(problem, Reduction) and problem.function.is_minimum
    won = []
    for row in _rows(job, x):
        places = np.flatnonzero(_winners(row, least=least, ignore=problem.nan == "ignore"))
        won.append(row[places[:1]])
        for tie in _ties(row, places, job.config.lanes if kind == "fold" else 0):
            tally.count("ties", kind, direction, tie)
    if won:
        for name, mask in classes(np.concatenate(won)).items():
            if mask.any():
                tally.count("values", x.dtype.name, name, "won")


def _winners(row: np.ndarray, *, least: bool, ignore: bool) -> np.ndarray:
    """Return which elements of a row are as good as its winner."""
    nan = np.isnan(row)
    if nan.all() or (nan.any() and not ignore):
        return nan
    return row == (row[~nan].min() if least else row[~nan].max())


def _ties(row: np.ndarray, places: np.ndarray, lanes: int) -> Iterator[str]:
    """Yield the kinds of a tie between the elements in these places; a fold has ``lanes``."""
    if len(places) == 1:
        yield "none"
        return
    if np.diff(places).min() == 1:
        yield "neighbours"
    if places[0] == 0 and places[-1] == len(row) - 1:
        yield "first and last"
    if len(places) == len(row):
        yield "all"
    if lanes:
        beats = len(np.unique(places // lanes))
        if beats < len(places):
            yield "within a beat"
        if beats > 1:
            yield "between beats"
    tied = row[places]
    if row.dtype.kind == "f" and len(np.unique(tied.view(f"u{row.itemsize}"))) > 1:
        yield "NaN of several payloads" if np.isnan(tied[0]) else "zeros of both signs"


def _rows(job: Job, x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield some rows of a reduction, or the elements of some windows."""
    if isinstance(job, ReductionJob):
        rows = job.slices(x)
        if rows.shape[1] <= ELEMENTS:
            yield from np.ascontiguousarray(rows[:: -(-len(rows) // ROWS)])
    elif isinstance(job, SlidingJob):
        outputs = [range(t.first, t.first + t.dimension.outputs) for t in job.tiles]
        yield from _windows(job, x, range(job.first, job.stop), outputs[-(x.ndim - 2) :])
    elif isinstance(job, GatheredJob):
        pairs = zip(job.problem.spatial, job.runs, strict=True)
        met = [line.met_windows[run.start : run.stop] for line, run in pairs]
        yield from _windows(job, x, job.slice_range, met)


def _windows(
    job: SlidingJob | GatheredJob, x: np.ndarray, slices: range, outputs: list[Any]
) -> Iterator[np.ndarray]:
    """Yield the elements of some windows, of those with these numbers in each dimension."""
    planes = x.reshape(-1, *x.shape[2:])
    some = [[*each[:1], *each[1 : -1 : max(1, len(each) // 2)], *each[-1:]] for each in outputs]
    chosen = [slices[0], slices[-1]] if len(slices) > 1 else [slices[0]]
    for plane, *window in itertools.islice(itertools.product(chosen, *some), ROWS):
        taps = []
        for number, line in zip(window, job.problem.spatial, strict=True):
            start = int(number) * line.stride - line.start_padding
            coordinates = start + np.arange(line.window) * line.dilation
            taps.append(coordinates[(coordinates >= 0) & (coordinates < line.size)])
        elements = planes[plane][np.ix_(*taps)].reshape(-1)
        if elements.size:
            yield elements
