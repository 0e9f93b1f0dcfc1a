"""How much the tests try: in `make test` a part, so that it takes minutes; all in `make test-all`.

What is left out of `make test` are more cases of the same kind. Every test runs in it, with one
case at least, unless a proof, the random regression, or another test asks much the same.
"""

import math
import os

import pytest

EXAMPLES = int(os.environ.get("EXTREMUM_EXAMPLES", "40"))
"""Random examples of a test of the whole accelerator; other numbers follow it."""
if EXAMPLES < 1:
    pytest.exit(f"EXTREMUM_EXAMPLES must be at least 1, not {EXAMPLES}", returncode=4)

ALL = 160
"""Examples from which on every test tries as much as it can."""


def some(count):
    """Return how many of so many random examples are tried: a quarter, unless more is asked for."""
    return max(1, math.ceil(count * min(1, EXAMPLES / ALL)))


def mostly_slow(cases, quick):
    """Return the cases of a test; those that are not in ``quick`` run in `make test-all` alone."""
    return [case if case in quick else _late(case) for case in cases]


def _late(case):
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
