"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["replacing", "write_whole"]


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file to be written, such that it is there whole or is what it was before.

    What is written goes to a new file in the same folder, which takes the place of the other at the
    end: a full disk leaves neither half a file nor less than there was. A symbolic link stays, and
    the file that it names is replaced. A file keeps its permissions.

    Written directly are a device, a file with several names, one of another user, and one in a
    folder that takes no new files.

    Raises
    ------
    OSError
        The file cannot be written, or not all of it. Its file name is `path`.
    """
    try:
        with _opened(Path(path)) as file:
            yield file
    except OSError as error:
        error.filename = str(path)
        raise


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file, as `replacing` does."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a new file beside that of a path, to be moved there at the end, or the file itself."""
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{secrets.token_hex(8)}.partial")
    number = None
    if _may_be_replaced(path, target):
        with suppress(PermissionError):
            number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    if number is None:
        with path.open("wb") as file:
            yield file
        return
    try:
        with os.fdopen(number, "wb") as file:
            yield file
        if target.exists():
            partial.chmod(stat.S_IMODE(target.stat().st_mode))
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _may_be_replaced(path: Path, target: Path) -> bool:
    """Tell whether a path, which leads to `target`, names a file of our own, or none.

    A file with several names, or of another user, would not be the same file afterwards. And names
    of open files, such as /dev/fd/3, may lead to one that has no name any more.
    """
    if not path.exists():
        return True
    found = path.stat()
    is_own = found.st_uid == os.geteuid() and os.access(path, os.W_OK)
    is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
    return is_own and is_plain and target.exists() and path.samefile(target)
