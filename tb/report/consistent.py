"""Whether numbers of one file of evidence contradict each other.

A writer with a fault, a bad merge or an edit by hand leaves totals that differ from their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from extremum.tb.evidence import read_evidence
from extremum.tb.report.section import Section

__all__ = ["contradictions"]


def contradictions(section: Section, folder: Path) -> tuple[str, ...]:
    """Return what contradicts itself in a section's evidence, in a few words each."""
    data = section.data(folder)
    if data is None or section.name not in _CHECKS:  # the former is told by the section
        return ()
    whole = read_evidence(folder / f"{section.file}.json")
    return tuple(_CHECKS[section.name](data, whole))


def _sum(what: str, total: int, parts: int) -> Iterator[str]:
    if total != parts:
        yield f"{what}: {total} in all, {parts} in its parts"


def _regression(data: dict[str, Any], whole: dict[str, Any]) -> Iterator[str]:
    for name, total in data["total"].items():
        yield from _sum(name, total, sum(each[name] for each in data["backends"].values()))
    # Of an earlier gateware only the cores count whose netlists are the same.
    bench = whole["revision"]["bench"]
    run = sum(each["cases"] for each in data["passes"] if each["bench"] == bench)
    if run < data["total"]["cases"]:
        yield f"{data['total']['cases']} cases, and {run} in the passes of this bench"


def _coverage(data: dict[str, Any], _whole: dict[str, Any]) -> Iterator[str]:
    points = data["points"].items()
    for name, point in points:
        yield from _sum(f"bins met of {name}", point["met"], sum(map(bool, point["bins"].values())))
    yield from _sum("bins met", data["met"], sum(point["met"] for _, point in points))
    yield from _sum("bins", data["bins"], sum(len(point["bins"]) for _, point in points))


def _mutants(data: dict[str, Any], _whole: dict[str, Any]) -> Iterator[str]:
    for name, each in data.items():
        ends = sum(each.get(end, 0) for end in ("killed", "equivalent", "explained", "timed_out"))
        ends += len(each["open"]) + len(each["surviving"])
        yield from _sum(f"mutants of {name}", each.get("tried", each["mutants"]), ends)


def _formal(data: dict[str, Any], _whole: dict[str, Any]) -> Iterator[str]:
    yield from _sum("proofs", data["passed"] + data["failed"], len(data["proofs"]))


def _faults(data: dict[str, Any], _whole: dict[str, Any]) -> Iterator[str]:
    for each in data["blocks"]:
        yield from _sum(f"upsets of {each['block']}", each["count"], sum(each["effects"].values()))


_CHECKS: dict[str, Callable[[Any, dict[str, Any]], Iterator[str]]] = {
    "regression": _regression,
    "coverage": _coverage,
    "mutation": _mutants,
    "software": _mutants,
    "formal": _formal,
    "faults": _faults,
}
"""What looks for contradictions, by the name of the section."""
