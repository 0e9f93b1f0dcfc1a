"""The example job of a package: its registers, its beats, and what the golden model expects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.host.package.candidates import candidates
from extremum.host.package.example_data import example_tensor
from extremum.host.plan import plan
from extremum.host.plan.expected import in_result_beats, winners
from extremum.host.plan.jobs import Job
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.host.simulation.packing import pack_beats
from extremum.model import Pooling, Reduction

__all__ = ["MOST_BEATS", "Example", "example_job"]

MOST_BEATS = 1 << 15
"""Beats of the longest job that a testbench holds."""


@dataclass(frozen=True)
class Example:
    """A job with its data.

    Parameters
    ----------
    problem
        The operator.
    job
        The one job that computes it.
    beats
        The input beats, (beats, bytes of a beat), uint8, lane 0 in the lowest bytes.
    values
        The bits of the winners, (output beats, lanes). They are 0 in a lane without a result.
    positions
        Their positions, (output beats, lanes), in the same way.
    valid
        Which lanes have a result, (output beats, lanes).
    """

    problem: Reduction | Pooling
    job: Job
    beats: np.ndarray
    values: np.ndarray
    positions: np.ndarray
    valid: np.ndarray

    @property
    def ahead(self) -> int:
        """Result beats, from the first on, of windows of padding alone.

        A block without job registers gives them without waiting for an element: as soon as one
        tensor is over, for the next one.
        """
        if not isinstance(self.problem, Pooling):
            return 0
        empty = np.zeros((1,) * len(self.problem.spatial), bool)
        for axis, line in enumerate(self.problem.spatial):
            empty = empty | line.empty.reshape([-1 if n == axis else 1 for n in range(empty.ndim)])
        return int(empty.reshape(-1).argmin())

    @property
    def title(self) -> str:
        """The operator in a line."""
        problem = self.problem
        text = f"of {problem.data_type.value} {problem.sizes}"
        if isinstance(problem, Reduction):
            return f"{problem.function.name.lower()} {text} over axes {problem.axes}"
        parts = [f"max pooling {text}, window {problem.window}, strides {problem.strides}"]
        if any(problem.start_padding) or any(problem.end_padding):
            parts.append(f"padding {problem.start_padding} and {problem.end_padding}")
        if any(dilation > 1 for dilation in problem.dilations):
            parts.append(f"dilations {problem.dilations}")
        return ", ".join(parts)


def example_job(config: CoreConfig) -> Example | None:
    """Return a small job of a core; None if no operator that is tried is one small job of it.

    The same core has always the same example.
    """
    for problem in candidates(config):
        job = _only_job(problem, config)
        if job is not None and job.beats_in <= MOST_BEATS:
            return _carried_out(problem, job)
    return None


def _only_job(problem: Reduction | Pooling, config: CoreConfig) -> ReductionJob | SlidingJob | None:
    """Return the one job that computes an operator; None if this core needs another way."""
    try:
        jobs = plan(problem, config).jobs
        if len(jobs) != 1:
            return None
        (job,) = jobs
        job.registers.to_bits(config)
    except (ValueError, OverflowError):
        return None
    return job if isinstance(job, (ReductionJob, SlidingJob)) else None


def _carried_out(problem: Reduction | Pooling, job: ReductionJob | SlidingJob) -> Example:
    """Return a job with a tensor and the results of the golden model."""
    config = job.config
    x = example_tensor(problem)
    won, where = winners(problem, x)
    values, positions, valid = in_result_beats(job, won, where, np.ones(won.shape, bool))
    return Example(
        problem,
        job,
        pack_beats(job.gather(x), config),
        values.view(f"u{values.itemsize}"),
        positions & np.uint32((1 << config.index_width) - 1),
        valid,
    )
