"""Reads and writes the files of results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from extremum.host.replaced_files import write_together
from extremum.tb.evidence import EvidenceError, known_form

__all__ = ["RESULTS", "Records", "kept_results", "read_results", "write_results"]

RESULTS = Path(__file__).parent / "results"
"""The folder of the results."""

Records = list[dict[str, Any]]
"""What a file of results has, or a part of it: a row of a table each."""


def read_results(path: Path) -> Any:
    """Return what a file of results has: a list of records, or several of them by name.

    The list is empty if nothing was measured.

    Raises
    ------
    EvidenceError
        The file is not JSON. The message names it.
    """
    try:
        return json.loads(path.read_text()) if path.exists() else []
    except ValueError as error:  # no text, or no JSON
        raise EvidenceError(f"{path} cannot be read, and is left as it is: {error}") from None


def kept_results(path: Path, form: Callable[[Any], Any]) -> Any:
    """Return what was measured before, in the form in which a bench goes on with it.

    Raises
    ------
    EvidenceError
        The file has another form: the bench must not write it, since what it has would be lost.
    """
    found = read_results(path)
    with known_form(path):
        return form(found)


def write_results(path: Path, found: Any) -> None:
    """Write results to a file, whole or not at all: what was measured before stays if it fails."""
    text = json.dumps(found, indent=1) + "\n"
    write_together([(path, text.encode())], makes_folders=True)
