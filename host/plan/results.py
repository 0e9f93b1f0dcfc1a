"""The arrays that an operator's results are put into, job by job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from extremum.model import Pooling, Reduction

EMPTY = np.uint32(0xFFFFFFFF)
"""Position of an empty window, as the core gives it."""

PIECE = 1 << 20
"""Positions that are looked at together."""


@dataclass(frozen=True)
class Results:
    """Values and positions of all outputs, as if every window were empty.

    Parameters
    ----------
    problem
        The operator.
    values
        Of the operator's type and output sizes.
    positions
        Of the same sizes, as the core counts them: uint32, all ones where a window is empty.
    """

    problem: Reduction | Pooling
    values: np.ndarray
    positions: np.ndarray

    @classmethod
    def blank(cls, problem: Reduction | Pooling) -> Results:
        """Return results in which every window is empty."""
        sizes = problem.output_sizes
        lowest = problem.data_type.lowest
        return cls(
            problem,
            np.full(sizes, lowest, problem.data_type.dtype),
            np.full(sizes, EMPTY, np.uint32),
        )

    @property
    def empty_windows(self) -> int:
        """How many windows held no element."""
        flat = self.positions.reshape(-1)
        pieces = (flat[start : start + PIECE] for start in range(0, flat.size, PIECE))
        return sum(int(np.count_nonzero(piece == EMPTY)) for piece in pieces)

    def finish(self) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return what the golden model returns."""
        problem = self.problem
        if isinstance(problem, Reduction):
            if problem.function.gives_index:
                return self.positions.astype(problem.index_type, copy=False)
            return self.values
        if not problem.return_indices:
            return self.values
        indices = self.positions.astype(problem.index_type, copy=False)
        if indices is not self.positions:  # whose mark is not all ones then
            indices[self.positions == EMPTY] = np.array(-1).astype(problem.index_type)
        return self.values, indices
