"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["Content", "write_together", "write_whole"]

Content = bytes | Callable[[BinaryIO], object]
"""What a file shall hold, or what writes it."""


def write_together(
    contents: Iterable[tuple[str | Path, Content]], *, makes_folders: bool = False
) -> None:
    """Write several files, such that either all are complete, or all are unchanged.

    What is written goes to new files in the same folders, which take the places of the others at
    the end: a full disk leaves neither half a file nor less than there was. A symbolic link stays,
    and the file that it names is replaced. A file keeps its permissions.

    Written directly, when the new files are complete, are a device, a file with several names, one
    of another user, and one in a folder that takes no new files. These may have changed although
    another file could not be written.

    If `makes_folders`, missing folders are made, and go again if the files are not written.

    Raises
    ------
    OSError
        A file cannot be written, or not all of it: the one that the error names.
    """
    moves: list[tuple[str | Path, Path, Path]] = []
    made: list[Path] = []
    try:
        directly: list[tuple[str | Path, Content]] = []
        for path, content in contents:
            if makes_folders:
                for folder in reversed(Path(path).parents):
                    if not folder.exists():
                        folder.mkdir()
                        made.append(folder)
            target = Path(os.path.realpath(path))
            partial = target.with_name(f".{secrets.token_hex(8)}.partial")
            moves.append((path, partial, target))
            with _named(path):
                if not _may_be_replaced(Path(path), target) or not _written(partial, content):
                    moves.pop()
                    directly.append((path, content))
        for path, content in directly:
            with _named(path), Path(path).open("wb") as file:
                _put(content, file)
        for path, partial, target in moves:
            with _named(path):
                if target.exists():
                    partial.chmod(stat.S_IMODE(target.stat().st_mode))
                partial.replace(target)
    except BaseException:
        for _, partial, _ in moves:
            with suppress(OSError):
                partial.unlink()
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()
        raise


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file, as `write_together` does."""
    write_together([(path, content)])


@contextmanager
def _named(path: str | Path) -> Iterator[None]:
    """Let errors name a file as the caller does."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _written(partial: Path, content: Content) -> bool:
    """Write a new file; return whether its folder takes one."""
    try:
        file = partial.open("xb")
    except PermissionError:
        return False
    with file:
        _put(content, file)
    return True


def _put(content: Content, file: BinaryIO) -> None:
    """Write what a file shall hold."""
    file.write(content) if isinstance(content, bytes) else content(file)


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
