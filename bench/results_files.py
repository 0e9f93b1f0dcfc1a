"""Reads and writes the files of results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from extremum.host.replaced_files import write_together

__all__ = ["RESULTS", "kept_results", "read_results", "write_results"]

RESULTS = Path(__file__).parent / "results"
"""The folder of the results."""


def read_results(path: Path) -> Any:
    """Return what a file of results has: a list of records, or several of them by name.

    The list is empty if nothing was measured.
    """
    return json.loads(path.read_text()) if path.exists() else []


def kept_results(parser: argparse.ArgumentParser, path: Path) -> Any:
    """Do what `read_results` does; end the program with one line if the file cannot be read."""
    try:
        return read_results(path)
    except (OSError, ValueError) as error:
        parser.error(f"{path} cannot be read, and is left as it is: {error}")


def write_results(path: Path, found: Any) -> None:
    """Write results to a file, whole or not at all: what was measured before stays if it fails."""
    text = json.dumps(found, indent=1) + "\n"
    write_together([(path, text.encode())], makes_folders=True)
