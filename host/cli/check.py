"""One computation on an accelerator, and its comparison with the golden model, bit for bit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from extremum.host.errors import SimulationError
from extremum.model import EmptyWindowWarning, Pooling, Reduction

if TYPE_CHECKING:
    from extremum.host.accelerator import Accelerator
    from extremum.host.report import Report

__all__ = ["Check", "Difference", "compute", "first_difference"]


@dataclass(frozen=True)
class Difference:
    """Where a result differs from the golden model's.

    Parameters
    ----------
    output
        ``"positions"``, ``"values"`` or ``"indices"``.
    coordinate
        Of the first element that differs, in row-major order.
    expected, got
        That element by the golden model and by the accelerator.
    count, elements
        How many elements differ, and of how many.
    """

    output: str
    coordinate: tuple[int, ...]
    expected: np.generic
    got: np.generic
    count: int
    elements: int


@dataclass(frozen=True)
class Check:
    """What an accelerator gave.

    Parameters
    ----------
    outputs
        Arrays by name: ``"positions"`` of ARGMIN and ARGMAX, ``"values"`` and ``"indices"``.
    report
        The accelerator's.
    compared
        Whether the golden model was asked.
    difference
        The first one; None if there is none, or if nothing was compared.
    """

    outputs: dict[str, np.ndarray]
    report: Report
    compared: bool
    difference: Difference | None = None


def compute(
    problem: Reduction | Pooling, x: np.ndarray, accelerator: Accelerator, *, compare: bool = True
) -> Check:
    """Run a problem on an accelerator.

    Raises
    ------
    SimulationError
        The simulator failed, or its results have other sizes or types than they should.
    """
    with warnings.catch_warnings():
        # The report counts the empty windows.
        warnings.simplefilter("ignore", EmptyWindowWarning)
        outputs = _named(problem, accelerator.run(problem, x))
        golden = _named(problem, problem.evaluate(x)) if compare else {}
    report = accelerator.report
    if report is None:
        raise SimulationError("the accelerator gave no report")
    differences = (first_difference(name, golden[name], outputs[name]) for name in golden)
    first = next((difference for difference in differences if difference), None)
    return Check(outputs, report, compare, first)


def first_difference(output: str, expected: np.ndarray, got: np.ndarray) -> Difference | None:
    """Compare two arrays by their bits, so that NaN payloads and signed zeros count.

    Raises
    ------
    SimulationError
        They have different sizes or types.
    """
    if (expected.shape, expected.dtype) != (got.shape, got.dtype):
        raise SimulationError(
            f"the {output} should be {expected.dtype} {expected.shape}, "
            f"but are {got.dtype} {got.shape}"
        )
    differs = bits(expected) != bits(got)
    count = int(np.count_nonzero(differs))
    if not count:
        return None
    first = np.unravel_index(int(differs.argmax()), differs.shape)
    coordinate = tuple(int(c) for c in first)
    return Difference(
        output, coordinate, expected[coordinate], got[coordinate], count, expected.size
    )


def bits(x: Any) -> Any:
    """View an array or an element as unsigned integers of the same width."""
    return x.view(f"u{x.dtype.itemsize}")


def _named(
    problem: Reduction | Pooling, result: np.ndarray | tuple[np.ndarray, np.ndarray]
) -> dict[str, np.ndarray]:
    if isinstance(result, tuple):
        return dict(zip(("values", "indices"), result, strict=True))
    gives_index = isinstance(problem, Reduction) and problem.function.gives_index
    return {"positions" if gives_index else "values": result}
