"""`extremum doctor`: every tool, what was found, what is needed, and how to get it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from extremum.host import cache
from extremum.host.cli.printing import print_rich
from extremum.host.tools import BACKEND_TOOLS, TOOLS

__all__ = ["Finding", "as_dict", "examine", "is_ready", "print_findings"]

DEFAULT_BACKEND = "native"
COLOURS = {"ok": "green", "missing": "red", "too old": "red", "too new": "red"}


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
    """Tell whether all that the default backend needs is there."""
    return all(finding.status == "ok" for finding in findings if finding.required)


def as_dict(findings: Sequence[Finding]) -> dict[str, Any]:
    """Give the findings as plain data."""
    return {
        "command": "doctor",
        "backend": DEFAULT_BACKEND,
        "ready": is_ready(findings),
        "cache": cache.problem(),
        "tools": [asdict(finding) for finding in findings],
    }


def print_findings(findings: Sequence[Finding]) -> None:
    """Print a table, and whether the default backend can run."""
    table = Table(box=None, pad_edge=False)
    for column in ("tool", "purpose", "found", "needed", "status", "install"):
        table.add_column(column, no_wrap=column == "install")
    for finding in findings:
        colour = COLOURS[finding.status] if finding.required or finding.found else "yellow"
        table.add_row(
            finding.tool,
            finding.purpose,
            finding.found or "-",
            finding.needed,
            f"[{colour}]{finding.status}[/]",
            finding.install.replace("[", r"\["),
        )
    print_rich(table)
    if problem := cache.problem():
        print_rich(f"\nNew cores cannot be kept: {problem}.")
    lacking = [f.tool for f in findings if f.required and f.status != "ok"]
    print_rich(
        f"\nThe default backend, {DEFAULT_BACKEND}, lacks: {', '.join(lacking)}."
        if lacking
        else f"\nThe default backend, {DEFAULT_BACKEND}, has all that it needs."
    )
