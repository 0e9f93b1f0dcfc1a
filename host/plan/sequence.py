"""The jobs of a plan as a sequence that is never laid out: each is made when it is asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, overload

from extremum.host.plan.jobs import Job


class Parts(Protocol):
    """The parts that one axis of the work is cut into, such as runs of slices."""

    def __len__(self) -> int:
        """Return how many parts there are."""
        ...

    def __getitem__(self, number: int, /) -> Any:
        """Return a part."""
        ...

    def kinds(self) -> Iterator[tuple[Any, int]]:
        """Return one part of every kind, and how many parts are like it.

        Parts are alike if they differ in nothing but where they begin.
        """
        ...


@dataclass(frozen=True)
class Steps:
    """A count cut into equal steps; the last one may be shorter.

    Parameters
    ----------
    total
        What is cut, such as a number of slices.
    step
        Length of a step, at least 1.
    """

    total: int
    step: int

    def __len__(self) -> int:
        whole, rest = divmod(self.total, self.step)
        return whole + (rest > 0)

    def __getitem__(self, number: int) -> range:
        return range(number * self.step, min((number + 1) * self.step, self.total))

    def kinds(self) -> Iterator[tuple[range, int]]:
        """Return a whole step and the shorter one, as far as there are such, and their numbers."""
        whole, rest = divmod(self.total, self.step)
        if whole:
            yield self[0], whole
        if rest:
            yield self[whole], 1


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
