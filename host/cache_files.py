"""What the cache asks of its folders: that they are private, writable, and hold what was put there.

The cache holds machine code that is loaded into the user's process. So nobody else may be able to
write there, and a file that was damaged is found by its checksum before it is used.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from extremum.host.errors import CacheError

PRIVATE = 0o700
"""Permissions of the folders that the cache makes: they are the user's alone."""

SUMS = "sums.json"
"""File of an entry that holds the checksums of its other files. It is written last."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_FOLDER = (errno.EEXIST, errno.ENOTDIR)
_NO_FILE = (errno.EISDIR, errno.ELOOP)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)

ELSEWHERE = "set EXTREMUM_CACHE to another folder"


class ReadOnlyCacheError(CacheError):
    """The cache may be read, but not be written."""


def explain(error: OSError, folder: Path) -> CacheError | None:
    """Return an error that says what is wrong with the cache's folder and what can be done.

    None if the error is of another kind.
    """
    if error.errno in _FULL:
        free = "free some space ('extremum cache --clear' empties the cache)"
        return CacheError(f"the disk of the cache {folder} is full: {free}, or {ELSEWHERE}")
    if error.errno in _NO_FOLDER:
        return CacheError(f"the cache {folder} is not a folder: remove that file, or {ELSEWHERE}")
    if error.errno == errno.ENAMETOOLONG:
        return CacheError(f"the name of the cache {folder} is too long: {ELSEWHERE}")
    if error.errno in _NO_FILE:
        return CacheError(f"{error.filename} in the cache is not a file: remove it, or {ELSEWHERE}")
    if error.errno in _READ_ONLY:
        told = f"the cache {folder} cannot be written ({error.strerror})"
        return ReadOnlyCacheError(f"{told}: change its permissions, or {ELSEWHERE}")
    return None


def _cannot_be_made(folder: Path) -> CacheError:
    """Return the error about a file system that has no new folders, such as /proc."""
    return CacheError(f"the cache {folder} cannot be made: {ELSEWHERE}")


def raise_explained(error: OSError, folder: Path) -> None:
    """Raise the error that :func:`explain` returns, if there is one."""
    if (told := explain(error, folder)) is not None:
        raise told from error


def refuse_shared(folder: Path) -> None:
    """Refuse a folder that another user may write.

    Raises
    ------
    CacheError
        Somebody other than the user and root owns the folder, or may write there.
    """
    found = folder.stat()
    if found.st_uid not in (0, os.getuid()):
        raise CacheError(
            f"the cache {folder} belongs to another user (number {found.st_uid}), who could put "
            f"programs there: {ELSEWHERE}"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        told = f"the cache {folder} may be written by other users, who could put programs there"
        if found.st_mode & stat.S_ISVTX or found.st_uid != os.getuid():
            # A folder such as /tmp, which is meant for all.
            raise CacheError(f"{told}: {ELSEWHERE}")
        raise CacheError(
            f"{told}: remove it (if nobody else used it, 'chmod go-w {folder}' will do), "
            f"or {ELSEWHERE}"
        )


def make_private(folder: Path) -> None:
    """Make a folder that is the user's alone, unless it exists; refuse one that others may write.

    Raises
    ------
    CacheError
        Others may write there, or it is not a folder and cannot be made.
    """
    while True:
        try:
            folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # another process has removed it just now
                refuse_shared(folder)
                return
        except FileNotFoundError as error:
            raise _cannot_be_made(folder) from error
        except OSError as error:
            if isinstance(error, FileExistsError) and not os.path.lexists(folder):
                continue  # another process has removed it just now
            raise_explained(error, folder)
            raise


def reason_against(folder: Path) -> str | None:
    """Say in one line why a folder cannot be made or written; None if it can.

    A folder is made there for a moment, since permissions do not tell all: nobody writes to /proc.
    """
    nearest = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    try:
        with TemporaryDirectory(dir=nearest):
            return None
    except FileNotFoundError:
        return str(_cannot_be_made(folder))
    except NotADirectoryError as error:
        return str(explain(error, nearest))
    except OSError as error:
        return str(explain(error, folder) or error)


def write_sums(folder: Path, besides: str) -> None:
    """Write the checksums of all files of an entry, but the one named ``besides``."""
    partial = folder / f"{SUMS}.partial"
    partial.write_text(json.dumps({name: _sum(folder / name) for name in _files(folder, besides)}))
    partial.rename(folder / SUMS)


def is_whole(folder: Path) -> bool:
    """Tell whether an entry has all of its files, as they were when it was made."""
    try:
        sums = json.loads((folder / SUMS).read_text())
        return bool(sums) and all(_sum(folder / name) == found for name, found in sums.items())
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return False


def empty(folder: Path, besides: str) -> None:
    """Remove what is in an entry, but the file named ``besides``; what stays, stays."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != besides:
            path.unlink(missing_ok=True)


def _files(folder: Path, besides: str) -> list[str]:
    """Return the names of all files, relative to the folder."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    names = sorted(map(str, paths))
    return [name for name in names if name not in (besides, SUMS, f"{SUMS}.partial")]


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
