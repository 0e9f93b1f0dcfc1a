"""`extremum doctor`: every tool, what was found, what is needed, and how to get it.

It imports the standard library alone, since it is asked for when packages are missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from extremum.host import cache, yosys_startup
from extremum.host.tools import BACKEND_TOOLS, TOOLS

__all__ = ["DEFAULT_BACKEND", "Finding", "examine", "is_ready", "report"]

DEFAULT_BACKEND = "native"
COLUMNS = ("tool", "purpose", "found", "needed", "status", "install")


@dataclass(frozen=True)
class Finding:
    """One tool as it is on this machine.

    Parameters
    ----------
    tool, purpose, needed, install
        As in `extremum.host.tools.Tool`.
    found
        The version; None if missing.
    status
        ``"ok"``, ``"missing"``, ``"too old"`` or ``"too new"``.
    required
        Whether the default backend needs it.
    """

    tool: str
    purpose: str
    found: str | None
    needed: str
    status: str
    install: str
    required: bool


def examine() -> list[Finding]:
    """Look for every tool."""
    required = {"numpy", "click", "rich", *BACKEND_TOOLS[DEFAULT_BACKEND]}
    findings = []
    for tool in TOOLS.values():
        found = tool.find()
        findings.append(
            Finding(
                tool.name,
                tool.purpose,
                found,
                tool.needed,
                tool.status(found),
                tool.install,
                tool.name in required,
            )
        )
    return findings


def is_ready(findings: Sequence[Finding]) -> bool:
    """Return whether all that the default backend needs is there."""
    return all(finding.status == "ok" for finding in findings if finding.required)


def report(*, as_json: bool = False) -> tuple[str, bool]:
    """Return what was found, as a table or as JSON, and whether the default backend can run."""
    findings = examine()
    ready = is_ready(findings)
    return json.dumps(_as_dict(findings)) if as_json else _table(findings), ready


def _as_dict(findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "command": "doctor",
        "backend": DEFAULT_BACKEND,
        "ready": is_ready(findings),
        "cache": cache.problem() or yosys_startup.problem(),
        "tools": [asdict(finding) for finding in findings],
    }


def _table(findings: Sequence[Finding]) -> str:
    """Write a row for each tool, and what the default backend lacks."""
    rows = [COLUMNS] + [
        tuple(str(getattr(finding, name) or "-") for name in COLUMNS) for finding in findings
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lacking = [f.tool for f in findings if f.required and f.status != "ok"]
    verdict = f"lacks: {', '.join(lacking)}" if lacking else "has all that it needs"
    told = [*lines, "", f"The default backend, {DEFAULT_BACKEND}, {verdict}."]
    if problem := cache.problem():
        told += ["", f"New cores cannot be kept: {problem}."]
    if problem := yosys_startup.problem():
        told += ["", f"New cores cannot be generated: {problem}."]
    return "\n".join(told)
