"""What evidence was made with, and whether what it speaks of is still what there is.

Gateware may change as long as its netlists do not. Software may not: there is nothing beneath its
sources that could be compared. Nor may the golden model, where results were held against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extremum.tb.evidence import read_evidence
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.proofs import all_proofs
from extremum.tb.mutation.blocks import DESIGN_OF
from extremum.tb.netlists import earlier_revisions, names_for_faults
from extremum.tb.regression.pool import TARGETS
from extremum.tb.regression.revision import revision
from extremum.tb.report.section import Section
from extremum.tb.source_digest import changed_since

OF_SOFTWARE = ("formal", "software", "fuzz")
"""Names of the sections whose evidence speaks of software."""

OF_SOFTWARE_ALONE = ("software", "fuzz")
"""Those whose evidence speaks of no gateware."""

AGAINST_THE_MODEL = ("regression", "codecoverage", "faults")
"""Names of the files whose results were compared with the golden model, and that name no source."""


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
            elif _stale(spoken_of, folder, with_model=path.stem in AGAINST_THE_MODEL):
                which = f"and {present} is the present one"
            else:
                which = "whose netlists are those of the present one"
            found[path.name] += f"; of the gateware {', '.join(sorted(spoken_of))}, {which}"
        if sources := _sources_of(whole):
            changed = ", ".join(changed_since(sources))
            found[path.name] += "; of software that has " + (
                f"changed: {changed}" if changed else "not changed"
            )
    return found


def stale(section: Section, folder: Path) -> tuple[str, ...]:
    """Return what is wrong if a section's evidence is of sources that have changed since."""
    whole = read_evidence(folder / f"{section.file}.json")
    found: list[str] = []
    if section.data(folder) is None:  # that is told by the section
        return ()
    spoken_of = _spoken_of(whole, section.part)
    if not spoken_of and section.name not in OF_SOFTWARE_ALONE:
        found.append("of gateware that it does not name")
    if old := _stale(spoken_of, folder, with_model=section.file in AGAINST_THE_MODEL):
        found.append(f"of another gateware: {', '.join(sorted(old))}")
    if section.file == "regression" and (
        (bench := whole.get("revision", {}).get("bench")) != revision().bench
    ):
        found.append(f"of another bench than the present one: {bench or 'it names none'}")
    if section.name in OF_SOFTWARE:
        sources = _sources_of(whole, section.part)
        if not sources:
            found.append("of sources that it does not name")
        elif changed := changed_since(sources):
            found.append(f"of sources that have changed: {', '.join(changed)}")
    return tuple(found)


def _spoken_of(whole: Mapping[str, Any], part: str | None = None) -> dict[str, set[str]]:
    """Return the digests of the gateware that a file names, and the netlists that each stands for.

    The planted bugs, and the mutants of each block of the gateware, have digests of their own.
    ``part`` is the part of the file that is asked about; None stands for all of them.
    """
    found: dict[str, set[str]] = {}
    for each in (whole, *([whole.get("planted", {})] if part in (None, "planted") else [])):
        if digest := each.get("revision", {}).get("gateware"):
            found.setdefault(digest, set()).update(_netlists_of(each))
    for name, block in (whole.get("gateware", {}) if part in (None, "gateware") else {}).items():
        if digest := block.get("revision"):
            found.setdefault(digest, set()).add(f"mutated {DESIGN_OF[name]}")
    return found


def _netlists_of(evidence: Mapping[str, Any]) -> set[str]:
    """Return the names of the netlists that evidence speaks of.

    The regression runs on all cores of its pool, and on others that are drawn at random, of which
    no netlists are kept: what it found on these is of the gateware that it names, and no other one.
    """
    if drawn := evidence.get("random_cores"):
        names = {target.name for target in TARGETS}
        return names | ({"cores drawn at random"} if drawn.get("cores") else set())
    if (cases := evidence.get("cases")) is not None:  # of the code coverage: how many on each core
        return set(cases)
    if evidence.get("kind") == "formal":
        proofs = [proof for proof in all_proofs() if isinstance(proof, Proof)]
        return {f"proof {proof.name}" for proof in proofs}
    return set(names_for_faults())


def _sources_of(whole: Mapping[str, Any], part: str | None = None) -> dict[str, str]:
    """Return the digests of the sources of software that a file, or one part of it, names.

    If a package of mutated software names none, nothing is known of all.
    """
    if part in (None, "software") and (packages := whole.get("software")):
        named = [package.get("sources", {}) for package in packages.values()]
        return {name: each for one in named for name, each in one.items()} if all(named) else {}
    return whole.get("sources", {})


def _stale(spoken_of: Mapping[str, set[str]], folder: Path, *, with_model: bool) -> set[str]:
    """Return those digests of which some netlist is no longer the present one.

    With ``with_model`` also those of which the golden model is no longer the present one.
    """
    now, earlier = revision(), earlier_revisions(folder, with_model=with_model)
    return {
        digest
        for digest, netlists in spoken_of.items()
        if digest not in (now.gateware, now.core)
        and not netlists <= earlier.get(digest, frozenset())
    }
