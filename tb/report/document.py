"""Rewrites the parts of a document that are made of the evidence, and writes the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from extremum.tb.report.markdown import bullets, table
from extremum.tb.report.section import ReportError, Section, Told

PART = re.compile(r"(<!-- report: ([\w-]+) -->\n).*?(<!-- /report -->)", re.DOTALL)
SHORT = ("regression", "formal", "mutation")
"""Names of the sections whose summaries stand in the README, too."""
LIMITS_TITLE = "## What is not shown"
"""The heading of the document under which the limits are."""


def parts(told: Mapping[Section, Told]) -> dict[str, str]:
    """Return the Markdown of every part of the document, by its name."""
    rows = (
        [
            section.title, section.claim, each.summary, ", ".join(each.problems) or "nothing",
            f"`{section.target}`" if each.is_there else section.target,
        ]
        for section, each in told.items()
    )  # fmt: skip
    limits = (limit for each in told.values() for limit in each.limits)
    return {
        "summary": table(["evidence", "question", "answer", "against it", "command"], rows),
        "limits": bullets(limits),
        **{section.name: each.text for section, each in told.items()},
    }


def short_parts(told: Mapping[Section, Told]) -> dict[str, str]:
    """Return the Markdown of the one part of the README: what the main evidence says."""
    chosen = ((section, each) for section, each in told.items() if section.name in SHORT)
    return {
        "short": bullets(
            f"{section.title} (`{section.target}`): {each.summary}." for section, each in chosen
        )
    }


def rewritten(document: str, made: Mapping[str, str]) -> str:
    """Return a document with its parts as they are made.

    Raises
    ------
    ReportError
        The document lacks one of them, has it twice, or has one that nothing makes.
    """
    there = [match[2] for match in PART.finditer(document)]
    if sorted(there) != sorted(made):
        raise ReportError(
            f"the document must have the parts {', '.join(sorted(made))}, "
            f"not {', '.join(sorted(there))}"
        )
    return PART.sub(lambda match: f"{match[1]}\n{made[match[2]]}\n\n{match[3]}", document)


def page(
    told: Mapping[Section, Told], folder: Path, document: str, notes: Mapping[str, str]
) -> str:
    """Return the report as a page that needs nothing but itself.

    Parameters
    ----------
    told
        What each section tells.
    folder
        Where the evidence is, for the plots.
    document
        The rewritten document, whose section on what is not shown is taken over.
    notes
        What was tested and when, by name.

    Raises
    ------
    ReportError
        The document has no such section.
    """
    _, found, rest = document.partition(f"\n{LIMITS_TITLE}\n")
    if not found:
        raise ReportError(f'the document has no heading "{LIMITS_TITLE}"')
    limits = re.sub(r"<!--.*?-->\n", "", rest.partition("\n## ")[0])
    sections = []
    for section, each in told.items():
        data = section.data(folder) if each.is_there else None
        plots = [(caption, Markup(draw(data))) for caption, draw in section.plots if data]
        sections.append({"section": section, "told": each, "plots": plots})
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["markdown"] = _html
    source = (files("extremum.tb.report") / "page.html.jinja").read_text()
    return environment.from_string(source).render(sections=sections, limits=limits, notes=notes)


def _html(text: str) -> Markup:
    """Return Markdown as HTML, without its links, which lead out of the page."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    for rule in ("link_open", "link_close"):
        reader.add_render_rule(rule, _nothing)
    return Markup(reader.render(text))


def _nothing(*_: Any) -> str:
    return ""
