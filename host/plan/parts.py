"""How an axis of the work, such as the slices of a tensor, is cut into parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol


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
