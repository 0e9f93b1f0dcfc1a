"""Jobs for tests of the random regression: right ones, and such that fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from extremum.hdl.ports import JobError
from extremum.tb.coverage import Tally
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.observe import Offered
from extremum.tb.regression.operators import jobs_of
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.work import Figures

CORE, BLOCK = "reduction", "axi-reduction"
"""Names of a core and of a block that reduce."""

ROWS = Item(
    "reduction",
    {"function": "argmax", "sizes": [3, 40], "data_type": "float32", "axes": [1]},
)
FAILS = replace(ROWS, fault="early")
"""One that is right, and one whose TLAST comes too early."""

BEFORE, BEHIND, NEXT, LOOKED_AT = 1 << 8, 2 << 9, 3 << 9, 1 << 11
"""Bits of the number of a fault: a right job before it; one behind it, or whatever is next, without
a pause; and whether the error of one before it is looked at first."""

REDUCTION: dict[str, Any] = {"function": "argmax", "axes": [1]}
"""What is reduced how, unless a test says it."""


def counted(rig: Rig, target: str, batch: Batch) -> tuple[Figures, set[str]]:
    """Run a case of one batch; return its figures, and the names of the bins that it met."""
    tally = Tally()
    figures = run_case(Case(target, [batch]), rig, tally)
    return figures, set(tally.counts)


def offered(
    target: str,
    x: np.ndarray,
    number: int = 0,
    refused: JobError = JobError.NONE,
    **arguments: Any,
) -> Offered:
    """Return a job of an operator on a tensor: of a pooling if there is a window.

    Parameters
    ----------
    target
        Name of the core.
    x
        The tensor.
    number
        Place of the job among all of the operator.
    refused
        The reason why it must be refused.
    arguments
        What else `Reduction.of` or `Pooling.of` takes.
    """
    operator = "pooling" if "window" in arguments else "reduction"
    basic = {} if "window" in arguments else REDUCTION
    sizes = {"sizes": list(x.shape), "data_type": x.dtype.name}
    item = Item(operator, basic | sizes | arguments, jobs=999)
    return Offered(item, jobs_of(item, target_named(target).config)[number], x, refused)
