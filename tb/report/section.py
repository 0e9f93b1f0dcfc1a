"""A section of the report: which file it is made from, and what it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extremum.tb.evidence import known_form, read_evidence
from extremum.tb.report.markdown import paragraph


class ReportError(Exception):
    """A document is not of the form that the report knows."""


@dataclass(frozen=True)
class Told:
    """What a section tells.

    Parameters
    ----------
    summary
        Its figures, in a few words.
    text
        All of it, in Markdown.
    problems
        What speaks against the claim of the section, each in a few words; empty if nothing does.
    limits
        Sentences that say what the evidence does not show.
    is_there
        Whether there is evidence.
    """

    summary: str
    text: str
    problems: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    is_there: bool = True


@dataclass(frozen=True)
class Section:
    """A kind of evidence.

    Parameters
    ----------
    name
        Names the part of the document between markers.
    title
        Its heading in the page.
    claim
        What the evidence is for: a question.
    file
        The file of evidence is ``FILE.json``.
    target
        The command that writes the file.
    tell
        Makes the section of what the file holds.
    part
        The entry of the file that belongs to this section; None for the whole file.
    plots
        Captions and functions that draw the same evidence, as SVG.
    """

    name: str
    title: str
    claim: str
    file: str
    target: str
    tell: Callable[[Any], Told]
    part: str | None = None
    plots: tuple[tuple[str, Callable[[Any], str]], ...] = ()

    def data(self, folder: Path) -> Any:
        """Return the evidence, or None if there is none.

        Raises
        ------
        EvidenceError
            The file is no evidence.
        """
        whole = read_evidence(folder / f"{self.file}.json")
        return (whole if self.part is None else whole.get(self.part)) or None

    def told(self, folder: Path) -> Told:
        """Return what the evidence in a folder tells; if there is none, a sentence that says so.

        Raises
        ------
        ReportError
            The file lacks a field that it should have.
        """
        data = self.data(folder)
        if data is None:
            place = f"docs/evidence/{self.file}.json"
            is_file = (folder / f"{self.file}.json").exists()
            lack = f'"{self.part}" is not in it' if is_file else "there is no such file"
            title = self.title[0].lower() + self.title[1:]
            missing = (
                f"Nothing is shown of {title}: {place} would hold it, and {lack}; the command "
                f"{self.target} writes it."
            )
            return Told("no evidence", paragraph(missing), ("no evidence",), (missing,), False)
        with known_form(f"{self.file}.json"):
            return self.tell(data)
