"""Checks the site: every link within it leads somewhere, and it loads nothing from another host.

``python docs/check_site.py FOLDER`` prints each fault, then ``N pages, N links, N faults``.
The exit status is 1 if there are faults.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src", "img": "src", "source": "src", "iframe": "src", "embed": "src",
    "object": "data", "video": "src", "audio": "src", "use": "href", "image": "href",
}  # fmt: skip
"""What a browser fetches by itself: elements, and the attribute that holds the address."""

LOADED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "manifest", "search"}
"""Relations of ``link`` whose target a browser fetches, or that must be on the site."""


class Page(HTMLParser):
    """What a page holds: its anchors, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take up one element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "form" and given.get("action"):
            self.links.append(given["action"])
        elif tag == "link" and LOADED_LINKS & set(given.get("rel", "").split()):
            self.loaded.append(given["href"])
        elif LOADED.get(tag) in given:
            self.loaded.append(given[LOADED[tag]])


def check(site: Path) -> tuple[int, int, list[str]]:
    """Check all pages of a site and its style sheets.

    Returns
    -------
    tuple of int, int and list of str
        Pages; links and loaded files; faults, each with its page and its address.
    """
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    faults, count = [], 0
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for address in page.links:
            count += 1
            if not is_elsewhere(address) and (fault := fault_of(address, path, site, pages)):
                faults.append(f"{name}: {address}: {fault}")
        for address in page.loaded:
            count += 1
            if is_elsewhere(address):
                faults.append(f"{name}: {address}: is loaded from another host")
            elif fault := fault_of(address, path, site, pages):
                faults.append(f"{name}: {address}: {fault}")
    for path in sorted(site.rglob("*.css")):
        for address in re.findall(r"(?:url\(|@import )\s*[\"']?([^\"')]+)", path.read_text()):
            if is_elsewhere(address):
                faults.append(f"{path.relative_to(site)}: {address}: is loaded from another host")
    return len(pages), count, faults


def is_elsewhere(address: str) -> bool:
    """Tell whether an address names a host, or a program such as that for mail."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def fault_of(address: str, path: Path, site: Path, pages: dict[Path, Page]) -> str:
    """Return what is wrong with an address within the site, seen from a page; "" if nothing is."""
    parts = urlsplit(address)
    if parts.scheme == "data":
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site.resolve()):
        return "is outside of the site"
    if not target.is_file():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "there is no such anchor"
    return ""


def main() -> int:
    """Check the site that the command line names; return the exit status."""
    pages, links, faults = check(Path(sys.argv[1]))
    print(*faults, f"{pages} pages, {links} links, {len(faults)} faults", sep="\n")
    return int(bool(faults) or not pages)


if __name__ == "__main__":
    sys.exit(main())
