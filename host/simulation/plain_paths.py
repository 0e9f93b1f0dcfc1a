"""Folders by paths that every tool takes.

Make takes a space for the end of a name, the C++ preprocessor takes a quotation mark for that of a
text, and a path that is not UTF-8 can be written into no source. But the cache may lie in a folder
of any name.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["plain"]

_PLAIN = re.compile(r"[\w/.+-]+", re.ASCII)


@contextmanager
def plain(folder: Path) -> Iterator[Path]:
    """Give a folder to make files in: one itself, if its path is plain, or a temporary one.

    What is in the temporary one in the end is moved into the other.
    """
    if _PLAIN.fullmatch(str(folder)):
        yield folder
        return
    usual = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(
        prefix="extremum-",
        dir=usual if _PLAIN.fullmatch(usual) else "/tmp",
        ignore_cleanup_errors=True,  # after a failure another program may still write here
    ) as name:
        place = Path(name)
        yield place
        for made in place.iterdir():
            shutil.move(made, folder)
