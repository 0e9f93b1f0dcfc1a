"""Pieces of Markdown: numbers, paragraphs, lists and tables."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

WIDTH = 100
"""Characters of a line of prose."""


def number(value: float | None) -> str:
    """Return a number as it is printed: integers whole, others with decimals, None as a dash."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.{1 if value >= 10 else 2}f}"


def count(value: int, noun: str) -> str:
    """Return a number with its noun, which takes an ``s`` unless there is one of it."""
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def share(part: int, whole: int) -> str:
    """Return a percentage, rounded down, so that only a whole is 100 %."""
    return f"{math.floor(1000 * part / whole) / 10:g} %" if whole else "none"


def paragraph(*sentences: str) -> str:
    """Return sentences as wrapped prose."""
    return _wrapped(" ".join(filter(None, sentences)))


def bullets(items: Iterable[str]) -> str:
    """Return a list of sentences."""
    return "\n".join(_wrapped(item, "- ", "  ") for item in items)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; a column that holds numbers alone is aligned to the right."""
    rows = [list(row) for row in rows]
    rule = [
        "---:" if all(isinstance(row[n], int | float | None) for row in rows) else "---"
        for n in range(len(columns))
    ]
    lines = [list(columns), rule, *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    return value.replace("|", "\\|") if isinstance(value, str) else number(value)


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
