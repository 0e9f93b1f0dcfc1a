"""The jobs of a plan as a sequence that is never laid out: each is made when it is asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from extremum.host.plan.jobs import Job
from extremum.host.plan.parts import Parts


@dataclass(frozen=True)
class Jobs(Sequence[Job]):
    """A job for every combination of the parts of some axes, the last axis fastest.

    A plan may have more jobs than memory can hold. This sequence takes no memory for them; sums
    over all jobs are computed from one job of every kind (:meth:`kinds`).

    Parameters
    ----------
    axes
        The axes of the work, and how each of them is cut.
    make
        Is called with a part of each axis, and returns the job.
    """

    axes: tuple[Parts, ...]
    make: Callable[..., Job]

    def __len__(self) -> int:
        return math.prod(len(axis) for axis in self.axes)

    @overload
    def __getitem__(self, number: int) -> Job: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Job]: ...

    def __getitem__(self, number: int | slice) -> Job | Sequence[Job]:
        if isinstance(number, slice):
            return tuple(self[each] for each in range(*number.indices(len(self))))
        rest = number + len(self) if number < 0 else number
        if not 0 <= rest < len(self):
            raise IndexError(f"there are {len(self)} jobs, and none of number {number}")
        parts = []
        for axis in reversed(self.axes):
            rest, place = divmod(rest, len(axis))
            parts.append(axis[place])
        return self.make(*reversed(parts))

    def kinds(self) -> Iterator[tuple[Job, int]]:
        """Return one job of every kind, and how many jobs take as many beats and clocks as it."""
        for kinds in itertools.product(*(axis.kinds() for axis in self.axes)):
            parts, numbers = zip(*kinds, strict=True)
            yield self.make(*parts), math.prod(numbers)
