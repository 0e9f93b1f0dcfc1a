"""The plots of the evidence, in the page on verification.

``make report`` writes what the files of evidence tell between markers of that page, and draws the
same on a page of its own. For the site, the drawings are put behind the markers.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from extremum.tb.report.sections import SECTIONS

PAGE, EVIDENCE = "docs/verification", "docs/evidence"


def add_plots(app: Sphinx, docname: str, source: list[str]) -> None:
    """Draw the plots of every section of the report that has some, where its text begins."""
    if docname != PAGE:
        return
    for section in SECTIONS:
        marker = f"<!-- report: {section.name} -->\n"
        data = section.data(Path(app.srcdir) / EVIDENCE)
        if data is None or not section.plots:
            continue
        if marker not in source[0]:
            raise ValueError(f"{PAGE}.md has no part {section.name}")
        figures = [
            # Markdown takes HTML up to an empty line.
            f'<figure class="evidence">{"".join(draw(data).splitlines())}'
            f"<figcaption>{escape(caption)}</figcaption></figure>\n"
            for caption, draw in section.plots
        ]
        source[0] = source[0].replace(marker, "\n".join([marker, *figures, ""]))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register what is above with Sphinx."""
    app.connect("source-read", add_plots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
