"""Explains why Yosys cannot start, so that no Verilog can be made.

Amaranth brings Yosys as WebAssembly, which wasmtime compiles and runs. For that wasmtime needs a
folder in the user's cache that it can write, and more than 4 GiB of addresses.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from extremum.host import cache_files
from extremum.host.errors import CacheError, SynthesisError

_REFUSED = re.compile(r"cache directory(?:: (.+))?", re.IGNORECASE)
"""What Yosys says if it cannot make the folder, or finds none for a user who has no home."""

_NO_MEMORY = re.compile(r"Cannot allocate memory")
"""What it says where it may not have the addresses that it reserves for its memory."""


def problem() -> str | None:
    """Say in one line why Yosys cannot start; None if it can, as far as this folder goes.

    The folder is looked for as on Linux; on other systems nothing is said before Yosys is started.
    """
    if sys.platform != "linux":
        return None
    given = os.environ.get("XDG_CACHE_HOME", "")
    parent = given if os.path.isabs(given) else os.path.expanduser("~/.cache")
    folder = Path(parent, "wasmtime")
    can_start = os.path.isdir(folder) or cache_files.reason_against(folder) is None
    return None if can_start else _told(str(folder))


@contextmanager
def explained() -> Iterator[None]:
    """Run Yosys within this.

    Raises
    ------
    CacheError
        Yosys cannot make its folder. The message names it and what can be done.
    SynthesisError
        Yosys may not have as many addresses as it reserves.
    """
    from amaranth.back.verilog import YosysError  # noqa: PLC0415 - `doctor` does without it

    try:
        yield
    except (YosysError, subprocess.CalledProcessError) as error:
        said = f"{error}\n{getattr(error, 'stderr', '')}"
        if found := _REFUSED.search(said):
            raise CacheError(_told(found[1] or "the user's folder for caches")) from error
        if _NO_MEMORY.search(said):
            raise SynthesisError(
                "Yosys reserves more than 4 GiB of addresses, which this process may not have: "
                "raise its limit (ulimit -v)"
            ) from error
        raise


def _told(folder: str) -> str:
    """Return the message about a folder that cannot be made."""
    told = f"Yosys keeps what it compiled of itself in {folder}, which cannot be made"
    return f"{told}: set XDG_CACHE_HOME to a folder that can be written"
