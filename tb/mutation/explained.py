"""The mutants that live: rules that explain them, and the list of those that are still open."""

from __future__ import annotations

import linecache
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files("extremum.tb.mutation")))
ROOT = Path(str(files("extremum.hdl"))).parent

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
        ``reset of encoder\\.line.*``: see :func:`places`.
    mutants
        A regular expression that the whole name of a mutant matches.
    reason
        Why nobody can tell it from the design.
    """

    block: str
    at: str
    mutants: str
    reason: str


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
        Rule(entry["block"], entry["at"], entry.get("mutants", ".*"), entry["reason"])
        for entry in tomllib.loads(text).get("survivor", [])
    ]
    for rule in found:
        if len(rule.reason.split()) < 4:
            raise ValueError(f"the rule for {rule.at!r} has no reason")
    return found


def reason(rules: Sequence[Rule], block: str, place: str, key: str) -> str | None:
    """Return why a mutant, at a place and with a key, lives; None if no rule explains it."""
    for rule in rules:
        if rule.block == block and re.fullmatch(rule.at, place) and re.fullmatch(rule.mutants, key):
            return rule.reason
    return None


def places(flat: str) -> dict[str, str]:
    """Return where each cell of a flattened design comes from, by its name.

    That is the file and the code, ``hdl/fold.py: tail = ...``. A multiplexer that Yosys made for a
    condition has none; it is told by the register that it leads to: ``reset of fold.line$4``, or
    ``choice of ...``. Behind a register stands what made it: ``choice of fold.tail @ hdl/...``.
    """
    code: dict[str, str] = {}
    ports: dict[str, dict[str, str]] = {}
    kinds: dict[str, str] = {}
    source, cell = "", ""
    for line in flat.splitlines():
        words = line.split()
        if words[:2] == ["attribute", "\\src"]:
            source = words[2].strip('"')
        elif words[:1] == ["cell"]:
            cell = words[2]
            kinds[cell], ports[cell], code[cell] = words[1], {}, _code(source)
            source = ""
        elif words[:1] == ["connect"] and line.startswith("    "):
            ports[cell][words[1]] = " ".join(words[2:])
        elif words[:1] in (["wire"], ["memory"]):
            source = ""
    users = {
        net: (name, port)
        for name, own in ports.items()
        for port, net in own.items()
        if port in ("\\A", "\\B", "\\D", "\\DATA") and kinds[name] in ("$dff", "$mux", "$pmux")
    }

    def place(name: str) -> str:
        if code[name] or kinds[name] != "$mux":
            return code[name]
        net = ports[name].get("\\Y", "")
        for _ in range(20):
            user, _ = users.get(net, ("", ""))
            if not user:
                return ""
            if kinds[user] == "$dff":
                what = "reset" if ports[name]["\\S"] in ("\\rst", "\\reset") else "choice"
                register = ports[user]["\\Q"].replace("\\", "")
                return f"{what} of {register} @ {code[user]}"
            net = ports[user].get("\\Y", "")
        return ""

    return {name: place(name) for name in ports}


def _code(source: str) -> str:
    """Return the code at a source ``path/hdl/file.py:line``, with the name of its file."""
    match = re.match(r".*?(hdl/[\w/]+\.py):(\d+)", source)
    if match is None:
        return ""
    return f"{match[1]}: {linecache.getline(str(ROOT / match[1]), int(match[2])).strip()}"


def open_survivors(name: str = OPEN) -> set[str]:
    """Return the survivors, ``block: key``, that a list holds, which may be missing."""
    path = FOLDER / name
    return set(path.read_text().splitlines()) if path.exists() else set()


def accept(survivors: Mapping[str, Sequence[str]], name: str = OPEN) -> None:
    """Put survivors of some blocks into a list, in place of those that it holds of them."""
    others = {each for each in open_survivors(name) if each.partition(": ")[0] not in survivors}
    found = {f"{block}: {key}" for block, keys in survivors.items() for key in keys}
    (FOLDER / name).write_text("".join(f"{each}\n" for each in sorted(others | found)))
