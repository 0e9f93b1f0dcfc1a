"""Tells the user which file cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["told_as_unwritable"]


@contextmanager
def told_as_unwritable() -> Iterator[None]:
    """Turn an error that names a file which cannot be written into one line for the user."""
    try:
        yield
    except OSError as error:
        told = f"cannot write {error.filename}: {error.strerror or error}"
        raise click.ClickException(told) from error
