"""The mutants that live: rules that explain them, and the list of those that are still open."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from extremum.host.replaced_files import write_whole

FOLDER = Path(str(files("extremum.tb.mutation")))
SURVIVORS = "survivors.toml"
"""Explanations of the mutants that are neither killed nor proved equivalent."""

OPEN = "open.txt"
"""The survivors that are not explained yet: work to do, but not new."""

QUICK = "quick.txt"
"""The survivors of the few mutants and trials of the quick form; most of them die in the long one.

The sample and the trials are the same in each run, so any other survivor is new.
"""


@dataclass(frozen=True)
class Rule:
    """Explains mutants of a block.

    Parameters
    ----------
    block
        Its name.
    at
        A regular expression that the whole place of a mutant matches, such as
        ``reset of encoder\\.line.*``: see :func:`extremum.tb.mutation.names.places`.
    mutants
        A regular expression that the whole name of a mutant at such a place matches, such as
        ``line\\.and0\\.A\\[0\\] const1``: see :func:`extremum.tb.mutation.names.names`.
    reason
        Why nobody can tell it from the design.
    """

    block: str
    at: str
    mutants: str
    reason: str

    def means(self, block: str, place: str, name: str) -> bool:
        """Return whether the rule is about a mutant of a block, at a place and with a name."""
        return bool(
            self.block == block
            and re.fullmatch(self.at, place)
            and re.fullmatch(self.mutants, name)
        )


def rules(text: str | None = None) -> list[Rule]:
    """Return the rules of the file of survivors.

    Raises
    ------
    ValueError
        A rule has no reason.
    """
    if text is None:
        text = (FOLDER / SURVIVORS).read_text()
    found = [
        Rule(block, at, mutants, entry["reason"])
        for entry in tomllib.loads(text).get("survivor", [])
        for block in entry.get("blocks") or [entry["block"]]
        for at, mutants in entry.get("where") or [(entry["at"], entry.get("mutants", ".*"))]
    ]
    for rule in found:
        if len(rule.reason.split()) < 4:
            raise ValueError(f"the rule for {rule.at!r} has no reason")
    return found


def reason(rules: Sequence[Rule], block: str, place: str, name: str) -> str | None:
    """Return why a mutant lives; None if no rule explains it."""
    return next((rule.reason for rule in rules if rule.means(block, place, name)), None)


def open_survivors(name: str = OPEN) -> set[str]:
    """Return the survivors, ``block: key``, that a list holds, which may be missing."""
    path = FOLDER / name
    return set(path.read_text().splitlines()) if path.exists() else set()


def accept(survivors: Mapping[str, Sequence[str]], name: str = OPEN) -> None:
    """Put survivors of some blocks into a list, in place of those that it holds of them."""
    others = {each for each in open_survivors(name) if each.partition(": ")[0] not in survivors}
    found = {f"{block}: {key}" for block, keys in survivors.items() for key in keys}
    text = "".join(f"{each}\n" for each in sorted(others | found))
    write_whole(FOLDER / name, text.encode())
