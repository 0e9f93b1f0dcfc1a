"""Reads and writes the files of evidence that the targets leave, and the report shows."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from extremum.host.replaced_files import write_together
from extremum.tb.source_digest import ROOT

__all__ = [
    "FOLDER",
    "EvidenceError",
    "known_form",
    "read_evidence",
    "require_writable",
    "write_evidence",
]

FOLDER = ROOT / "docs" / "evidence"
"""The folder of the evidence of the sources that this process runs, wherever it runs."""


class EvidenceError(ValueError):
    """A file of evidence cannot be read: it is damaged, or was written by something else."""


@contextmanager
def known_form(file: Path | str) -> Iterator[None]:
    """Turn what goes wrong with a file of another form into an :class:`EvidenceError`."""
    try:
        yield
    except EvidenceError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        told = f"{file} is not of the form that is known, restore or remove it: {error!r}"
        raise EvidenceError(told) from error


def read_evidence(path: Path) -> dict[str, Any]:
    """Return what a file of evidence holds: an object of JSON; nothing if there is no file.

    Raises
    ------
    EvidenceError
        The file holds something else. The message names it, and says what to do.
    """
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:  # no text, or no JSON
        raise EvidenceError(f"{path} is no evidence, restore or remove it: {error}") from None
    if not isinstance(found, dict):
        raise EvidenceError(f"{path} is no evidence, restore or remove it: it is not an object")
    return found


def require_writable(path: Path) -> None:
    """Raise an OSError if a file cannot be written, before time is spent on its content.

    Nothing is left of the try: neither an empty file nor folders that were missing.
    """
    if path.is_fifo() or path.is_socket():  # opening a pipe waits for whoever reads it
        raise OSError(errno.EINVAL, "it is no file", str(path))
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        with path.open("a"):
            pass
        if is_new:
            path.unlink()
    finally:
        for folder in missing:
            with suppress(OSError):  # not made, or another process has put something there
                folder.rmdir()


def write_evidence(path: Path, found: Mapping[str, Any], *, sort_keys: bool = True) -> None:
    """Write what was found to a file as JSON, whole or not at all.

    Parameters
    ----------
    path
        The file. Folders that are missing are made.
    found
        What the file shall hold.
    sort_keys
        Whether keys are written in their order, or in that of `found`.

    Raises
    ------
    OSError
        The file cannot be written. What was there before is there still, but for the few kinds of
        files that :func:`~extremum.host.replaced_files.write_together` writes directly.
    """
    text = json.dumps(found, indent=1, sort_keys=sort_keys, ensure_ascii=False)
    write_together([(path, f"{text}\n".encode())], makes_folders=True)
