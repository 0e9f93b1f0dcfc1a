"""Holes, the points that no case executes, and the explanations why.

A hole has a name that does not depend on the numbers of lines: its file, its kind, the text of the
source line and the detail, as in ``hdl/queue.py | branch | m.d.sync += full.eq(1) | taken``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from extremum.host.replaced_files import write_whole
from extremum.tb.code_coverage.points import KINDS, Point

HERE = Path(__file__).parent
EXPLAINED, OPEN = HERE / "holes.toml", HERE / "open.txt"


def name_of(point: Point, root: Path) -> str:
    """Return a point's name; ``root`` is the folder that ``hdl`` is in."""
    path, _, line = point.source.partition(":")
    text = ""
    if line and (root / path).exists():
        text = (root / path).read_text().splitlines()[int(line) - 1].strip()
    return " | ".join(filter(None, (path, point.kind, text or line, point.detail)))


@dataclass
class Report:
    """What is covered, what is not, and which of that is explained.

    Attributes
    ----------
    files
        By file and kind: how many points are hit, how many there are, how many of the others are
        waived by an explanation, and how many are listed as open.
    new
        Names of holes that are neither explained nor listed as open.
    stale
        Explanations, and holes listed as open, that no hole matches.
    fresh
        Those that do match.
    """

    files: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    new: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    fresh: list[str] = field(default_factory=list)

    @property
    def kinds(self) -> dict[str, dict[str, int]]:
        """The figures of all files together, by kind."""
        total = {kind: _figures() for kind in KINDS}
        for figures in self.files.values():
            for kind, counts in figures.items():
                for name, count in counts.items():
                    total[kind][name] += count
        return total


def _figures() -> dict[str, int]:
    return {"hit": 0, "open": 0, "total": 0, "waived": 0}


def report(
    counts: Mapping[Point, int], root: Path, explained: Iterable[str], listed: Collection[str]
) -> Report:
    """Compare the holes with their explanations.

    Parameters
    ----------
    counts
        How often each point was executed.
    root
        The folder that ``hdl`` is in.
    explained
        Names of explained holes. A ``*`` stands for any text.
    listed
        Names of holes that are listed as open.
    """
    made = Report()
    patterns = {each: re.compile(re.escape(each).replace(r"\*", ".*")) for each in explained}
    met: set[str] = set()
    for point, count in sorted(counts.items()):
        figures = made.files.setdefault(point.file, {}).setdefault(point.kind, _figures())
        figures["total"] += 1
        if count:
            figures["hit"] += 1
            continue
        name = name_of(point, root)
        matching = [each for each, pattern in patterns.items() if pattern.fullmatch(name)]
        met.update(matching)
        if matching:
            figures["waived"] += 1
        elif name in listed:
            figures["open"] += 1
            met.add(name)
        elif name not in made.new:
            made.new.append(name)
    known = dict.fromkeys([*patterns, *listed])
    made.stale = [each for each in known if each not in met]
    made.fresh = [each for each in known if each in met]
    return made


def explanations(path: Path = EXPLAINED) -> dict[str, str]:
    """Return the names of explained holes, and the reason of each.

    Raises
    ------
    ValueError
        An entry lacks its reason.
    """
    entries = tomllib.loads(path.read_text()).get("hole", [])
    for entry in entries:
        if not entry.get("reason", "").strip():
            raise ValueError(f"an explanation must have a reason, unlike that of {entry['points']}")
    return {point: entry["reason"] for entry in entries for point in entry["points"]}


def open_holes() -> list[str]:
    """Return the names of the holes that are listed as open."""
    return [line for line in OPEN.read_text().splitlines() if line and not line.startswith("#")]


def accept(names: Iterable[str], path: Path = OPEN) -> None:
    """List holes as open, in place of those that were listed."""
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    text = "\n".join([*head, *sorted(set(names))]) + "\n"
    write_whole(path, text.encode())
