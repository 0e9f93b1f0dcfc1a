"""What a job is: its registers, which elements make its beats, and where its results go.

There are three kinds: reductions (:mod:`extremum.host.plan.reduction_jobs`), windows that slide
over a tile (:mod:`extremum.host.plan.sliding_jobs`), and windows that the host gathers
(:mod:`extremum.host.plan.gathered_jobs`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.latency import latency
from extremum.host.plan.registers import Schedule
from extremum.host.plan.results import Results
from extremum.host.plan.rows import Rows


def span(what: str, numbers: range) -> str:
    """Name a range of numbered things: "slice 3", "slices 3 to 5"."""
    if len(numbers) == 1:
        return f"{what} {numbers[0]}"
    return f"{what}s {numbers[0]} to {numbers[-1]}"


class Job(ABC):
    """One run of the core: what it is told, what it is fed, and what its results mean."""

    kind: ClassVar[str]
    problem: Any  # a Reduction or a Pooling, as the kind has it
    config: CoreConfig

    @property
    @abstractmethod
    def registers(self) -> JobRegisters:
        """The registers that stand on the core's job port."""

    @property
    def schedule(self) -> Schedule:
        """The slots that decide how long the job takes. A reduction has one for each beat."""
        last = self.beats_in - 1
        return Schedule(0, last, last)

    @property
    @abstractmethod
    def summary(self) -> str:
        """The job in a few words, for a list of jobs."""

    @cached_property
    @abstractmethod
    def rows(self) -> Rows:
        """How the elements of the slices lie in beats."""

    @property
    def beats_in(self) -> int:
        """Input beats."""
        return self.rows.beats

    @property
    @abstractmethod
    def beats_out(self) -> int:
        """Output beats."""

    @property
    def cycles(self) -> int:
        """Predicted clocks, without stalls, from the first beat taken to the last one moved."""
        return self.schedule.cycles(latency(self.config))

    @property
    @abstractmethod
    def together(self) -> int:
        """Output beats that belong together: :meth:`scatter` takes multiples of so many."""

    @abstractmethod
    def slices(self, x: np.ndarray) -> np.ndarray:
        """Return the elements of each slice, of shape (slices, elements); a view if possible."""

    def gather(self, x: np.ndarray) -> np.ndarray:
        """Return the input beats, of shape (beats_in, lanes), taken from the tensor."""
        return self.rows.into_beats(self.slices(x))

    def pieces(self, x: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the input beats piece by piece, so that few of them are in memory at a time."""
        return self.rows.pieces(self.slices(x))

    @abstractmethod
    def scatter(
        self, values: np.ndarray, positions: np.ndarray, results: Results, start: int = 0
    ) -> None:
        """Put output beats, two arrays of shape (beats, lanes), into the results.

        ``start`` is the number of the first of these beats in the job. Both ``start`` and the
        number of beats are multiples of :attr:`together`.
        """


def scattering(job: Job, results: Results) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return a function that puts a job's results where they belong, as they come.

    It takes values and positions, (beats, lanes), in multiples of ``job.together`` beats.
    """
    given = 0

    def take(values: np.ndarray, positions: np.ndarray) -> None:
        nonlocal given
        job.scatter(values, positions, results, given)
        given += len(values)

    return take
