"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers_from: int) -> str:
    """Return a table in Markdown, its columns from ``numbers_from`` on aligned to the right."""
    rows = list(rows) or [["not measured", *[""] * (len(columns) - 1)]]
    rule = ["---" if n < numbers_from else "---:" for n in range(len(columns))]
    lines = [columns, rule, *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
