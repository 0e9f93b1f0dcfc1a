"""README.md as the front page of the site: its navigation, and the name ``index.html``.

On a code host README.md is read as it is, so the tree of contents, which only Sphinx understands,
is added while it is read: the sections are those of ``contents`` in ``conf.py``.
"""

from __future__ import annotations

import shutil
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata


def add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Append the sections of the navigation to the front page."""
    if docname == app.config.root_doc:
        for caption, pages in app.config.contents.items():
            lines = ["", "", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
            source[0] += "\n".join(lines)


def copy_front_page(app: Sphinx, exception: Exception | None) -> None:
    """Give the front page the name that a server looks for; links within it hold there too."""
    if exception is None and app.builder.name == "html":
        shutil.copy(app.outdir / f"{app.config.root_doc}.html", app.outdir / "index.html")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register what is above with Sphinx."""
    contents: dict[str, Any] = {}
    app.add_config_value("contents", contents, "env", dict)
    app.connect("source-read", add_contents)
    app.connect("build-finished", copy_front_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
