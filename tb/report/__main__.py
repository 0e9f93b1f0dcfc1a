"""Tells what the evidence says: in two documents, and on a page with plots.

The documents are ``docs/verification.md``, and the README, which has the main figures.

``python -m extremum.tb.report`` ends with the line ``N passed, N failed``: a kind of evidence
passes if it is there, speaks of the present sources, leaves nothing out, and nothing in it speaks
against its claim.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from extremum.host.replaced_files import write_together
from extremum.tb.evidence import EvidenceError, known_form
from extremum.tb.report.complete import left_out
from extremum.tb.report.consistent import contradictions
from extremum.tb.report.document import page, parts, rewritten, short_parts
from extremum.tb.report.provenance import notes, stale
from extremum.tb.report.section import ReportError, Section, Told
from extremum.tb.report.sections import SECTIONS


def told_of(folder: Path) -> dict[Section, Told]:
    """Return what all evidence in a folder tells, with all that speaks against it.

    Raises
    ------
    ReportError, EvidenceError
        A file is not of the form that is known.
    """
    told = {}
    for section in SECTIONS:
        each = section.told(folder)
        with known_form(f"{section.file}.json"):
            against = (
                *stale(section, folder),
                *left_out(section, folder),
                *contradictions(section, folder),
            )
        told[section] = replace(each, problems=(*each.problems, *against))
    return told


def main() -> int:
    """Write the report, print a line for each kind of evidence; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m extremum.tb.report", description=__doc__)
    parser.add_argument("--evidence", type=Path, default=Path("docs/evidence"), metavar="FOLDER")
    parser.add_argument("--document", type=Path, default=Path("docs/verification.md"))
    parser.add_argument("--readme", type=Path, default=Path("README.md"))
    parser.add_argument("--page", type=Path, default=Path("build/verification.html"))
    given = parser.parse_args()
    named = {"--page": given.page, "--document": given.document, "--readme": given.readme}
    for (one, path), (other, second) in combinations(named.items(), 2):
        if path.resolve() == second.resolve():
            parser.error(f"{one} and {other} name the same file: {path}")
    if not given.evidence.is_dir():
        parser.error(f"--evidence names no folder: {given.evidence}")
    try:
        told = told_of(given.evidence)
        with known_form(f"a file in {given.evidence}"):
            made_with = notes(given.evidence)
        document = rewritten(given.document.read_text(), parts(told))
        readme = rewritten(given.readme.read_text(), short_parts(told))
        text = page(told, given.evidence, document, made_with)
        write_together(
            [
                (given.page, text.encode()),
                (given.document, document.encode()),
                (given.readme, readme.encode()),
            ],
            makes_folders=True,
        )
    except (OSError, ReportError, EvidenceError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    for section, each in told.items():
        print(f"{section.title:26} {'; '.join(each.problems) or 'passed'}")
    for name, note in made_with.items():
        if "; of " in note:
            print(f"{name}: {note}")
    print(f"{given.document}, {given.readme} and {given.page} are written.")
    failed = sum(bool(each.problems) for each in told.values())
    print(f"{len(told) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
