"""Reads and writes the files of results, and the two documents that show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from extremum.host.replaced_files import write_together

__all__ = ["read_results", "write_results"]


def read_results(path: Path) -> Any:
    """Return what a file of results has: a list of records, or several of them by name.

    The list is empty if nothing was measured.
    """
    return json.loads(path.read_text()) if path.exists() else []


def write_results(path: Path, found: Any) -> None:
    """Write results to a file, whole or not at all: what was measured before stays if it fails."""
    text = json.dumps(found, indent=1) + "\n"
    write_together([(path, text.encode())], makes_folders=True)
