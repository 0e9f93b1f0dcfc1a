"""Folders by paths that every tool takes.

Make takes a space for the end of a name, the C++ preprocessor takes a quotation mark for that of a
text, and a path that is not UTF-8 can be written into no source. But the cache, and the tools
themselves, may lie in a folder of any name.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.util import Finalize
from pathlib import Path

__all__ = ["is_plain", "link_to", "plain"]

_PLAIN = re.compile(r"[\w/.+-]+", re.ASCII)


def is_plain(path: Path) -> bool:
    """Return whether every tool takes a path."""
    return _PLAIN.fullmatch(str(path)) is not None


_links: dict[Path, Path] = {}
"""The links of this process, or of the one that it is a forked copy of, by what they lead to."""


def link_to(folder: Path) -> Path:
    """Return a plain path of a folder that is only read: its own, or that of a link.

    The link is removed at the end of the process that made it, unless that ends by force. A forked
    copy that goes on after it makes another one.
    """
    if is_plain(folder):
        return folder
    if folder not in _links or not _links[folder].is_symlink():
        place, owner = Path(tempfile.mkdtemp(prefix="extremum-", dir=_temporary())), os.getpid()
        _links[folder] = place / "folder"
        _links[folder].symlink_to(folder, target_is_directory=True)

        def remove() -> None:
            if os.getpid() == owner:  # and not a forked copy
                shutil.rmtree(place, ignore_errors=True)

        atexit.register(remove)
        # The processes of multiprocessing end without what is registered there.
        Finalize(None, remove, exitpriority=0)
    return _links[folder]


@contextmanager
def plain(folder: Path) -> Iterator[Path]:
    """Give a folder to make files in: one itself, if its path is plain, or a temporary one.

    What is in the temporary one in the end is moved into the other.
    """
    if is_plain(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory(
        prefix="extremum-",
        dir=_temporary(),
        ignore_cleanup_errors=True,  # after a failure another program may still write here
    ) as name:
        place = Path(name)
        yield place
        for made in place.iterdir():
            shutil.move(made, folder)


def _temporary() -> str:
    """Return a folder for temporary files whose path is plain."""
    usual = tempfile.gettempdir()
    return usual if is_plain(Path(usual)) else "/tmp"
