"""One computation on an accelerator, and its comparison with the golden model, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from extremum.host.checks import tensor_for
from extremum.host.errors import SimulationError
from extremum.model import Pooling, Reduction

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        Coordinate of the first element that differs, in row-major order.
    expected, got
        That element as the golden model and as the accelerator gives it.
    count, elements
        How many elements differ, and how many there are.
    """

    output: str
    coordinate: tuple[int, ...]
    expected: np.generic
    got: np.generic
    count: int
    elements: int


@dataclass(frozen=True)
class Check:
    """What an accelerator gave, and whether it is right.

    Parameters
    ----------
    outputs
        The resulting arrays by name: ``"positions"`` of ARGMIN and ARGMAX, else ``"values"``, and
        ``"indices"`` of a pooling that was asked for them.
    report
        The accelerator's report.
    compared
        Whether the outputs were compared with those of the golden model.
    difference
        The first difference; None if there is none, or if nothing was compared.
    """

    outputs: dict[str, NDArray[Any]]
    report: Report
    compared: bool
    difference: Difference | None = None


def compute(
    problem: Reduction | Pooling, x: NDArray[Any], accelerator: Accelerator, *, compare: bool = True
) -> Check:
    """Run a problem on an accelerator, and compare the result with that of the golden model.

    Raises
    ------
    SimulationError
        The simulator failed, or its results have other sizes or types than they should.
    """
    tensor = tensor_for(problem, x)
    result, report = accelerator.run_reported(problem, tensor, warns=False)
    outputs = _named(problem, result)
    golden = _named(problem, problem.compute(tensor)) if compare else {}
    differences = (first_difference(name, golden[name], outputs[name]) for name in golden)
    first = next((difference for difference in differences if difference), None)
    return Check(outputs, report, compare, first)


def first_difference(output: str, expected: NDArray[Any], got: NDArray[Any]) -> Difference | None:
    """Return how two arrays differ, or None. They are compared by bits: NaN payloads count.

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
    """Return an array or an element viewed as unsigned integers of the same width."""
    return x.view(f"u{x.dtype.itemsize}")


def _named(
    problem: Reduction | Pooling, result: NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    if isinstance(result, tuple):
        return dict(zip(("values", "indices"), result, strict=True))
    gives_index = isinstance(problem, Reduction) and problem.function.gives_index
    return {"positions" if gives_index else "values": result}
