"""The cache with anything in it: what is kept there is right, or the cache is refused."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from extremum.host import cache
from extremum.host.errors import CacheError
from extremum.tb.fuzz.target import Target, require

CONTENT = {"core.v": b"module core;\n" * 30, "build/part": b"\x7fELF" + bytes(range(256))}
"""The files of the entry, by their paths."""

PLACES = ("", "core.v", "build", "build/part", cache.LOCK, "sums.json", "other")
"""What is damaged, relative to the entry."""


def _make(folder: Path) -> None:
    for name, content in CONTENT.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _folder(path: Path, _: bytes) -> None:
    _remove(path)
    path.mkdir()


def _loop(path: Path, _: bytes) -> None:
    _remove(path)
    path.symlink_to(path)


def _dangling(path: Path, _: bytes) -> None:
    _remove(path)
    path.symlink_to("nowhere")


def _text(path: Path, content: bytes) -> None:
    _remove(path)
    path.write_bytes(content)


def _cut(path: Path, content: bytes) -> None:
    if path.is_file():
        path.write_bytes(path.read_bytes()[: len(content)])


def _flip(path: Path, content: bytes) -> None:
    if path.is_file() and content:
        whole = bytearray(path.read_bytes())
        for byte in content:
            if whole:
                whole[byte * 7 % len(whole)] ^= 1 << byte % 8
        path.write_bytes(whole)


DAMAGES: dict[str, Callable[[Path, bytes], None]] = {
    "removed": lambda path, _: _remove(path),
    "a folder": _folder,
    "a loop": _loop,
    "a dangling link": _dangling,
    "any content": _text,
    "cut off": _cut,
    "bits flipped": _flip,
}


def damages() -> st.SearchStrategy[Any]:
    """Return what happens to the files of the cache, one after the other."""
    sums = st.sampled_from(
        [b"{}", b"[]", b"null", b'{"core.v": 1}', b'{"\\u0000": ""}', b"[" * 50_000]
    )
    content = st.one_of(st.binary(max_size=40), sums)
    one = st.tuples(st.sampled_from(PLACES), st.sampled_from(sorted(DAMAGES)), content)
    return st.lists(one, min_size=1, max_size=4)


def use_damaged(drawn: list[tuple[str, str, bytes]]) -> str:
    """Damage an entry, then ask for it: it comes with its content, or the cache is refused."""
    with tempfile.TemporaryDirectory(prefix="extremum-fuzz-") as name:
        before = os.environ.get(cache.VARIABLE)
        os.environ[cache.VARIABLE] = name
        try:
            folder = cache.kept("thing", "key", _make)
            for place, damage, content in drawn:
                path = folder / place
                if path.parent.is_dir():
                    DAMAGES[damage](path, content)
            cache.entries()
            found = cache.kept("thing", "key", _make)
            for file, content in CONTENT.items():
                require((found / file).read_bytes() == content, f"{file} is damaged")
            cache.prune()
            cache.clear()
        finally:
            if before is None:
                del os.environ[cache.VARIABLE]
            else:
                os.environ[cache.VARIABLE] = before
    return "right"


TARGETS = (
    Target(
        "cache contents",
        "files of the cache damaged, replaced by folders or links, or removed: they are made "
        "again, or CacheError",
        damages,
        use_damaged,
        (CacheError,),
    ),
)
