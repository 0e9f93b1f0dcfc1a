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
        for end in ("killed", "explained"):
            if (by := each.get(f"{end}_by")) is not None:
                yield from _sum(f"mutants of {name}, {end}", each[end], sum(by.values()))


def _formal(data: dict[str, Any], _whole: dict[str, Any]) -> Iterator[str]:
    proofs = data["proofs"]
    yield from _sum("proofs", data["passed"] + data["failed"], len(proofs))
    failed = [proof for proof in proofs if proof["status"] != "proved"]
    yield from _sum("failed proofs", data["failed"], len(failed))
    for proof in proofs:
        if bool(proof["failures"]) != (proof in failed):
            yield f"{proof['name']}: {proof['status']}, with {len(proof['failures'])} failures"


def _code_coverage(data: dict[str, Any], _whole: dict[str, Any]) -> Iterator[str]:
    for kind, total in data["kinds"].items():
        of_kind = [file[kind] for file in data["files"].values() if kind in file]
        for name, count in total.items():
            yield from _sum(f"{kind}, {name}", count, sum(each[name] for each in of_kind))


def _faults(data: dict[str, Any], _whole: dict[str, Any]) -> Iterator[str]:
    yield from _results(data, "blocks")
    for each in data["blocks"]:
        yield from _sum(f"upsets of {each['block']}", each["count"], sum(each["effects"].values()))
        for effect, count in each["effects"].items():
            cures = each["cures"].get(effect, {})
            yield from _sum(f"upsets of {each['block']}, {effect}", count, sum(cures.values()))


def _fuzz(data: dict[str, Any], _whole: dict[str, Any]) -> Iterator[str]:
    yield from _results(data, "targets")


def _results(data: dict[str, Any], what: str) -> Iterator[str]:
    """Compare how many of something passed, and failed, with what is told of each."""
    passed = sum(each["result"] == "passed" for each in data[what])
    yield from _sum(f"{what} that passed", data["passed"], passed)
    yield from _sum(f"{what} that failed", data["failed"], len(data[what]) - passed)


_CHECKS: dict[str, Callable[[Any, dict[str, Any]], Iterator[str]]] = {
    "regression": _regression,
    "coverage": _coverage,
    "mutation": _mutants,
    "software": _mutants,
    "formal": _formal,
    "code-coverage": _code_coverage,
    "faults": _faults,
    "fuzz": _fuzz,
}
"""What looks for contradictions, by the name of the section."""
