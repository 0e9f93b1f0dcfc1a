"""All sections of the report, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from extremum.tb.report import campaign, mutants, proofs, robustness
from extremum.tb.report.section import Section


def _drawn(name: str, data: Any) -> str:
    """Draw a plot; matplotlib is imported only then."""
    return getattr(import_module("extremum.tb.report.plots"), name)(data)


def _plot(name: str, part: str | None = None) -> Callable[[Any], str]:
    draw = partial(_drawn, name)
    return draw if part is None else lambda data: draw(data[part])


SECTIONS = (
    Section(
        "regression", "Random regression", "Do random jobs give the results of the golden model?",
        "regression", "make regress", campaign.regression,
        plots=(
            (
                "Beats of all passes, on any gateware, and cases per second of each, on so many "
                "workers (w). Passes on slow simulators have few beats.",
                _plot("history", "passes"),
            ),
            (
                "Speed of a worker on each backend, on the gateware that the evidence names. The "
                "scales are logarithmic. An average over small cores and large ones.",
                _plot("rates", "backends"),
            ),
        ),
    ),
    Section(
        "coverage", "Functional coverage", "Did these jobs meet every situation that was named?",
        "regression", "make regress", campaign.coverage, "coverage",
        (("Bins of each point, by how often they were met.", _plot("coverage")),),
    ),
    Section(
        "code-coverage", "Code coverage", "Did random jobs run all of the gateware's source?",
        "codecoverage", "make coverage", robustness.code_coverage,
        plots=(("What was hit of each kind of point.", _plot("code_coverage")),),
    ),
    Section(
        "formal", "Proofs", "Which properties hold for all inputs?",
        "formal", "make formal", proofs.formal,
        plots=(
            ("Seconds of each proof, on a logarithmic scale, the longest first.", _plot("proofs")),
        ),
    ),
    Section(
        "mutation", "Mutants of the gateware", "Would the tests find a fault?",
        "mutation", "make mutation", mutants.gateware, "gateware",
        (("Mutants of each block, by what became of them.", _plot("mutants")),),
    ),
    Section(
        "software", "Mutants of the software", "Would the tests find a fault in the software?",
        "mutation", "python -m extremum.tb.mutation.software", mutants.software, "software",
    ),
    Section(
        "planted", "Planted bugs", "Which test finds a fault first, and how soon?",
        "mutation", "python -m extremum.tb.mutation.planted", mutants.planted, "planted",
    ),
    Section(
        "faults", "Upsets", "What comes of a flip-flop that loses its state?",
        "faults", "make faults", robustness.faults,
    ),
    Section(
        "fuzz", "Fuzzing", "Is any input of the software answered by a crash?",
        "fuzz", "make fuzz", robustness.fuzz,
    ),
)  # fmt: skip
