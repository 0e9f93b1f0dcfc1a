"""What the tests of plans share: a core of small limits, and which outputs a plan computes."""

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.host.plan.results import Results
from extremum.model import DataType

SMALL = CoreConfig(
    (DataType.INT8,),
    lanes=3,
    max_window=(2, 3, 3),
    max_dilation=(1, 2, 2),
    max_line=4,
    max_plane=9,
    coordinate_width=5,
)


def covered(todo):
    """Return how often each output is written when every job writes its results once."""
    times = np.zeros(todo.problem.output_sizes, np.int64)
    for job in todo.jobs:
        values = np.zeros((job.beats_out, todo.config.lanes), todo.problem.data_type.dtype)
        results = Results.blank(todo.problem, todo.config)
        marked = np.full(times.shape, -1, np.int64)
        # The position of an output that is not written stays at its mark.
        where = Results(todo.problem, results.values, marked)
        job.scatter(values, np.zeros(values.shape, np.int64), where)
        times += marked != -1
    return times


def empties(problem):
    """Return which windows meet no element; they are the same for every slice."""
    empty = np.zeros(problem.output_sizes, bool)
    for axis, dimension in enumerate(problem.spatial, 2):
        shape = [-1 if a == axis else 1 for a in range(len(problem.sizes))]
        empty |= dimension.empty.reshape(shape)
    return empty
