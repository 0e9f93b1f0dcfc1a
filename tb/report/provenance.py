"""What evidence was made with, and whether the gateware is still the one that it speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extremum.tb.evidence import read_evidence
from extremum.tb.mutation.blocks import DESIGN_OF
from extremum.tb.netlists import earlier_revisions, proved
from extremum.tb.regression.revision import revision
from extremum.tb.report.section import Section


def notes(folder: Path) -> dict[str, str]:
    """Return what each file of evidence in a folder was made with, by the name of the file."""
    now = revision()
    present = " or ".join(sorted({now.gateware, now.core}))
    found = {}
    for path in sorted(folder.glob("*.json")):
        whole = read_evidence(path)
        versions = whole.get("versions", whole.get("tools", {}))
        found[path.name] = ", ".join(f"{name} {v}" for name, v in sorted(versions.items()))
        if spoken_of := _spoken_of(whole):
            if not spoken_of.keys() - {now.gateware, now.core}:
                which = "which is the present one"
            elif _stale(spoken_of, folder):
                which = f"and {present} is the present one"
            else:
                which = "whose netlists are those of the present one"
            found[path.name] += f"; of the gateware {', '.join(sorted(spoken_of))}, {which}"
    return found


def stale(section: Section, folder: Path) -> tuple[str, ...]:
    """Return what is wrong if a section's evidence is of gateware that has changed since."""
    whole = read_evidence(folder / f"{section.file}.json")
    old = _stale(_spoken_of(whole, section.part), folder)
    return (f"of another gateware: {', '.join(sorted(old))}",) if old else ()


def _spoken_of(whole: Mapping[str, Any], part: str | None = "gateware") -> dict[str, set[str]]:
    """Return the digests of the gateware that a file names, and the netlists that each stands for.

    The mutants of each block of the gateware, one part of a file, have a digest of their own.
    """
    found: dict[str, set[str]] = {}
    if digest := whole.get("revision", {}).get("gateware"):
        found[digest] = set(proved())
    for name, block in (whole.get("gateware", {}) if part == "gateware" else {}).items():
        if digest := block.get("revision"):
            found.setdefault(digest, set()).add(f"mutated {DESIGN_OF[name]}")
    return found


def _stale(spoken_of: Mapping[str, set[str]], folder: Path) -> set[str]:
    """Return those digests of which some netlist is no longer the present one."""
    now, earlier = revision(), earlier_revisions(folder)
    return {
        digest
        for digest, netlists in spoken_of.items()
        if digest not in (now.gateware, now.core)
        and not netlists <= earlier.get(digest, frozenset())
    }
