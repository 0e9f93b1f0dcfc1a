"""A question to the regression, and its possible answers: the bins of the coverage."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

Rule = tuple[str, Callable[..., bool]]
"""Why bins are impossible, and which: a function of a bin's places on the axes."""


@dataclass(frozen=True)
class Point:
    """One question to the regression, and its possible answers.

    Parameters
    ----------
    name
        Its name.
    question
        What it asks, for the report.
    axes
        The axes by name, and the places on each.
    impossible
        Rules for bins that cannot be met.
    only
        The bins, if they are not the whole product of the axes.
    """

    name: str
    question: str
    axes: Mapping[str, tuple[str, ...]]
    impossible: tuple[Rule, ...] = ()
    only: tuple[tuple[str, ...], ...] = field(default=())

    @cached_property
    def reasons(self) -> dict[tuple[str, ...], str]:
        """The bins that cannot be met, and why."""
        return {
            places: why
            for places in self._all
            for why, holds in reversed(self.impossible)
            if holds(*places)
        }

    @cached_property
    def bins(self) -> tuple[tuple[str, ...], ...]:
        """The bins that shall be met."""
        return tuple(places for places in self._all if places not in self.reasons)

    @property
    def _all(self) -> tuple[tuple[str, ...], ...]:
        return self.only or tuple(itertools.product(*self.axes.values()))
