"""All targets of the fuzzing, and how Hypothesis runs one of them."""

from __future__ import annotations

import itertools
import time
import warnings
from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed

from extremum.tb.fuzz import c_driver, caches, command_line, devices, networks, pumps, tensors
from extremum.tb.fuzz.target import Target

TARGETS = {
    target.name: target
    for module in (command_line, networks, tensors, caches, devices, pumps, c_driver)
    for target in module.TARGETS
}
"""The targets by their names."""

BATCH = 100
"""Examples that Hypothesis draws at a time, between two looks at the clock."""


def explore(target: Target, seconds: float, seed: int, *, shrink: bool = True) -> Counter[str]:
    """Give a target inputs for a time; return how often it did what.

    Raises
    ------
    Exception, HangError
        What the target may not do, with the smallest input that Hypothesis found in its notes.
    """
    end, seen = time.monotonic() + seconds, Counter[str]()
    for number in itertools.count():
        seen += check(target, BATCH, seed + number, end, shrink=shrink)
        if time.monotonic() >= end:
            return seen
    raise AssertionError("unreachable")


def check(
    target: Target, examples: int, seed: int, end: float = float("inf"), *, shrink: bool = True
) -> Counter[str]:
    """Give a target so many inputs, as long as it is not ``end``; return what it did.

    If ``shrink``, a smaller input is looked for behind the first that fails.

    Raises what :func:`explore` does.
    """
    seen = Counter[str]()

    @with_seed(seed)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(target.strategy())
    def give(value: object) -> None:
        if time.monotonic() < end:
            seen[target.try_input(value)] += 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        give()
    return seen
