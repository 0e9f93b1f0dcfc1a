"""The arrays that an operator's results are put into, job by job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import EMPTY_INDEX
from extremum.host.errors import SimulationError
from extremum.model import Pooling, Reduction

EMPTY = np.uint32(EMPTY_INDEX)
"""The position of an empty window. A core of any ``index_width`` is read as giving this one."""

PIECE = 1 << 20
"""Positions that are searched for :data:`EMPTY` at a time, so that few temporaries are needed."""


def last_position(problem: Reduction | Pooling) -> int:
    """Return the greatest position that an element of the operator's input can have."""
    if isinstance(problem, Reduction):
        return problem.count - 1
    columns = zip(problem.sizes, problem.index_weights, strict=True)
    return sum((size - 1) * weight for size, weight in columns)


def positions_fit(problem: Reduction | Pooling, config: CoreConfig) -> bool:
    """Return whether the core tells every position of the operator from an empty window.

    An index of all ones marks an empty window, so the last position must be smaller than that.
    Where positions do not fit, the values are right all the same.
    """
    return last_position(problem) < (1 << config.index_width) - 1


@dataclass(frozen=True)
class Results:
    """Values and positions of all outputs. Before the first job, every window is empty.

    Parameters
    ----------
    problem
        The operator.
    values
        Array of the operator's type and output sizes.
    positions
        Array of the same sizes, uint32, and :data:`EMPTY` where a window is empty. None if the
        core's index is too narrow for this operator's positions: what it gives means nothing then.
    """

    problem: Reduction | Pooling
    values: NDArray[Any]
    positions: NDArray[Any] | None

    @classmethod
    def blank(cls, problem: Reduction | Pooling, config: CoreConfig) -> Results:
        """Return results in which every window is empty, as if no job had run."""
        sizes = problem.output_sizes
        fit = positions_fit(problem, config)
        return cls(
            problem,
            np.full(sizes, problem.data_type.lowest, problem.data_type.dtype),
            np.full(sizes, EMPTY, np.uint32) if fit else None,
        )

    def pairs(
        self, values: NDArray[Any], positions: NDArray[Any]
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Return the results of some beats, each beside the array that they belong into."""
        yield values, self.values
        if self.positions is not None:
            yield positions, self.positions

    def count_empty_windows(self) -> int:
        """Return how many windows hold no element, which follows from the operator alone.

        Where the core gives positions, the windows that it marked as empty must be as many.

        Raises
        ------
        SimulationError
            The core marked more or fewer windows.
        """
        problem = self.problem
        empty = problem.empty_windows if isinstance(problem, Pooling) else 0
        if self.positions is not None:
            flat = self.positions.reshape(-1)
            pieces = (flat[start : start + PIECE] for start in range(0, flat.size, PIECE))
            marked = sum(int(np.count_nonzero(piece == EMPTY)) for piece in pieces)
            if marked != empty:
                raise SimulationError(
                    f"the core must mark {empty} windows as empty, and marked {marked}: its "
                    "results are wrong"
                )
        return empty

    def finish(self) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Return what the golden model returns.

        Where it returns positions, the plan has made sure that they fit the core's index.
        """
        problem = self.problem
        gives_index = (
            problem.function.gives_index
            if isinstance(problem, Reduction)
            else problem.return_indices
        )
        if not gives_index or self.positions is None:
            return self.values
        indices = self.positions.astype(problem.index_type, copy=False)
        if isinstance(problem, Reduction):
            return indices
        if indices is not self.positions:
            # In a wider type, the mark of an empty window is no longer all ones.
            indices[self.positions == EMPTY] = np.array(-1).astype(problem.index_type)
        return self.values, indices
