"""The results of one job of a block as they come, compared at once."""

from __future__ import annotations

import numpy as np

from extremum.tb.regression.work import Difference, Todo, compare, name_of


class Received:
    """Takes the results of a job and compares each with the golden model.

    Parameters
    ----------
    todo
        The job.

    Attributes
    ----------
    beats : int
        Beats that have come.
    """

    def __init__(self, todo: Todo) -> None:
        self._todo = todo
        self._best, self._where = todo.expected()
        self.beats = 0

    def __call__(self, values: np.ndarray, positions: np.ndarray) -> None:
        """Compare the next results; they are exact, so none can be in a wrong place."""
        start, self.beats = self.beats, self.beats + len(values)
        bits = (f"u{self._best.itemsize}", name_of(self._todo.job))
        best, where = self._best[start : self.beats], self._where[start : self.beats]
        compare(values.view(bits[0]), best.view(bits[0]), "value", bits[1])
        compare(positions, where, "position", bits[1])

    def finish(self) -> None:
        """Check that all results have come.

        Raises
        ------
        Difference
            Some are missing.
        """
        if self.beats != self._todo.job.beats_out:
            name = name_of(self._todo.job)
            raise Difference(f"{self.beats} of {self._todo.job.beats_out} results came, of {name}")
