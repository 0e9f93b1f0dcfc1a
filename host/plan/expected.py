"""What a job must give according to the golden model, for whoever checks a core against it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from extremum.host.checks import tensor_for
from extremum.host.plan.reduction_jobs import ReductionJob
from extremum.host.plan.results import Results
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import Pooling, ReduceFunction, Reduction

__all__ = ["in_result_beats", "numbers_of_results", "winners"]


def winners(problem: Reduction | Pooling, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the winning values and their positions, whichever of both the operator returns.

    Parameters
    ----------
    problem
        The operator.
    x
        A tensor of its type and sizes.

    Returns
    -------
    values : ndarray
        Of the operator's output sizes, and the tensor's type.
    positions : ndarray
        Of the same sizes, uint32. Those of a pooling are in its index layout.
    """
    if isinstance(problem, Pooling):
        both = replace(problem, return_indices=True, index_type=np.dtype(np.uint32))
        values, positions = both.compute(tensor_for(both, x))
        return np.asarray(values), np.asarray(positions)
    least = problem.function.is_minimum
    function = ReduceFunction.ARGMIN if least else ReduceFunction.ARGMAX
    arg = replace(problem, function=function, index_type=np.dtype(np.uint32))
    positions = np.asarray(arg.evaluate(x))
    kept = [axis for axis in range(x.ndim) if axis not in problem.axes]
    rows = x.transpose(*kept, *problem.axes).reshape(-1, problem.count)
    values = rows[np.arange(len(rows)), positions.reshape(-1)]
    return values.reshape(positions.shape), positions


def numbers_of_results(job: ReductionJob | SlidingJob) -> np.ndarray:
    """Return which result of a job belongs to each output of its operator.

    Returns
    -------
    ndarray
        Of the operator's output sizes: the number of the beat times the lanes, plus the lane; -1 at
        an output that another job gives.
    """
    lanes = job.config.lanes
    numbers = np.arange(job.beats_out * lanes).reshape(-1, lanes)
    found = np.full(job.problem.output_sizes, -1, np.int64)
    job.scatter(numbers, numbers, Results(job.problem, found, None))
    return found


def in_result_beats(job: ReductionJob | SlidingJob, *outputs: np.ndarray) -> list[np.ndarray]:
    """Return what belongs to the operator's outputs where a job gives them: in beats and lanes.

    Parameters
    ----------
    job
        The job.
    outputs
        Arrays of the operator's output sizes.

    Returns
    -------
    list of ndarray
        For each of them (beats, lanes), of the same type. Lanes without a result are 0.
    """
    number = numbers_of_results(job)
    is_given = number >= 0
    beats = [np.zeros((job.beats_out, job.config.lanes), output.dtype) for output in outputs]
    for placed, output in zip(beats, outputs, strict=True):
        placed.reshape(-1)[number[is_given]] = output[is_given]
    return beats
