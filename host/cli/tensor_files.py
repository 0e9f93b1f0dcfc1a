"""The files that the command line reads and writes."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import click
import numpy as np

from extremum.host.cli.unwritable import told_as_unwritable
from extremum.host.replaced_files import Content, write_together
from extremum.model import as_tensor

__all__ = [
    "as_npy", "bad_input", "file_of", "files_of_streams", "flag", "load", "may_be_written",
    "refuse_unwritable", "save",
]  # fmt: skip

WRITTEN = ("output", "indices", "waves", "report", "dataflow")
"""Options that name a file to write."""


@contextmanager
def bad_input() -> Iterator[None]:
    """Turn errors that the checks of model and core raise into one line for the user."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise click.ClickException(str(error)) from error


def load(path: str) -> np.ndarray:
    """Read the tensor in a .npy file.

    Raises
    ------
    click.ClickException
        The file cannot be read, holds no array, or holds one that no operator takes.
    """
    array = load_any(path)
    try:
        return as_tensor(array)
    except (TypeError, ValueError) as error:
        raise click.ClickException(f"{path}: {error}") from error


def load_any(path: str) -> np.ndarray:
    """Read the array in a .npy file, of any type and any number of dimensions.

    Raises
    ------
    click.ClickException
        The file cannot be read, or holds no array.
    """
    try:
        with Path(path).open("rb") as opened:
            # A pipe cannot be read twice, and NumPy reads arrays by their place in a file.
            file = opened if opened.seekable() else io.BytesIO(opened.read())
            if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
                raise click.ClickException(f"{path} is not a .npy file")
            file.seek(0)
            return _read_array(file, path)
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from error


def _read_array(file: BinaryIO, path: str) -> np.ndarray:
    """Read the array of a .npy file; what NumPy warns of in a header is no concern of the user."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.lib.format.read_array(file, allow_pickle=False)
    except OSError:
        raise
    except Exception as error:
        # NumPy evaluates the header as a Python literal and uses what it finds there. So a wrong
        # header ends in nearly any exception: TypeError, IndexError, OverflowError, TokenError, ...
        told = str(error) or type(error).__name__
        raise click.ClickException(f"{path} holds no readable array: {told}") from error


def file_of(path: str | Path) -> object:
    """Return what all names of a file have in common, links among them; of a new file its path.

    Raises
    ------
    click.ClickException
        The path is a link that leads to itself, or too long.
    """
    try:
        told = Path(path).stat()
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            raise click.ClickException(f"cannot follow {path}: {error.strerror}") from error
        return Path(path).resolve()
    # A device such as /dev/null keeps nothing, so that several may use it.
    return object() if stat.S_ISCHR(told.st_mode) else (told.st_dev, told.st_ino)


def files_of_streams() -> dict[object, str]:
    """Return the files that stdout and stderr go to, as :func:`file_of` does, with their names.

    What is told there would destroy what is written to such a file.
    """
    found: dict[object, str] = {}
    for name in ("stdout", "stderr"):
        # There is none if the caller has closed it, and none behind a stream in memory.
        with suppress(AttributeError, OSError, ValueError):
            told = os.fstat(getattr(sys, name).fileno())
            if stat.S_ISREG(told.st_mode):
                found[told.st_dev, told.st_ino] = name
    return found


def may_be_written(path: Path) -> bool:
    """Tell whether a file may be written, or files put into a folder."""
    return os.access(path, os.W_OK | os.X_OK if os.path.isdir(path) else os.W_OK)


def refuse_other_suffix(name: str, path: str, suffix: str) -> None:
    """Refuse a file to write that is named as one of another kind, which it would replace.

    Raises
    ------
    click.UsageError
        The message names the option.
    """
    if Path(path).suffix.lower() != suffix:
        raise click.UsageError(f"{flag(name)} must name a {suffix} file, not {path}")


def refuse_unwritable(options: Mapping[str, Any]) -> None:
    """Refuse files that cannot be written, or that would overwrite each other or the input.

    The files of stdout and stderr are refused as well, also as the input.

    Raises
    ------
    click.ClickException
        The message names the first such option.
    """
    taken = files_of_streams()
    if options.get("input") is not None:
        source = file_of(options["input"])
        if source in taken:
            raise click.ClickException(
                f"--input is the file of {taken[source]}: {options['input']}"
            )
        taken[source] = flag("input")
    for name in WRITTEN:
        if options.get(name) is None:
            continue
        # `Path` would raise what no name says: that a folder may not be looked into.
        path = Path(options[name])
        own = file_of(path)
        target = path if os.path.exists(path) else path.parent
        why = None
        if os.path.isdir(path) or str(options[name]).endswith(os.sep):
            why = "it is a folder"
        elif not os.path.isdir(path.parent):
            why = f"{path.parent} is no folder"
        elif not may_be_written(target):
            why = "it is not permitted"
        if why:
            raise click.ClickException(f"{flag(name)} cannot be written: {options[name]}: {why}")
        if path.is_fifo() or path.is_socket():
            raise click.ClickException(f"{flag(name)} needs a file, and {path} is a pipe")
        other = taken.setdefault(own, flag(name))
        if other != flag(name):
            raise click.ClickException(f"{flag(name)} is the file of {other}: {path}")


def save(outputs: Mapping[str, np.ndarray], options: Mapping[str, Any]) -> list[str]:
    """Write the outputs to the files of `--output` and `--indices`; return all files written.

    Either all are written, or none, unless one is written directly: see `write_together`.

    Raises
    ------
    click.ClickException
        A file cannot be written.
    """
    contents: dict[str, Content] = {}
    for name, array in outputs.items():
        path = options["indices" if name == "indices" else "output"]
        if path is not None:
            contents[path] = as_npy(array)
    with told_as_unwritable():
        write_together(contents.items())
    return [str(path) for path in contents] + (
        [options["waves"]] if options["waves"] is not None else []
    )


def as_npy(array: np.ndarray) -> Callable[[BinaryIO], None]:
    """Return what writes an array to a .npy file.

    NumPy writes to a file by a stream of its own, and does not notice that its last bytes found no
    space. So it gets something that is no file.
    """

    def write(file: BinaryIO) -> None:
        target: Any = SimpleNamespace(write=file.write)
        np.lib.format.write_array(target, array, allow_pickle=False)

    return write


def flag(name: str) -> str:
    """Return the option of a parameter as a user writes it."""
    return "--" + name.replace("_", "-")
