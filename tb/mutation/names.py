"""Names of cells, for people and for files: where a cell comes from, and which one there it is."""

from __future__ import annotations

import linecache
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

from extremum.tb.mutation.blocks import path_of

ROOT = Path(str(files("extremum.hdl"))).parent


def names(flat: str) -> dict[str, str]:
    """Return names of the cells of a flattened design that hold none of Amaranth's numbers.

    A name is the part that the cell is in, its kind, and its number among the cells of this kind in
    the part that come from the same place (:func:`places`): ``control.and0``. So it stays when
    other code of the part changes.
    """
    found: dict[str, str] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    lines = map(str.split, flat.splitlines())
    kinds = {words[2]: words[1] for words in lines if words[:1] == ["cell"]}
    for cell, place in places(flat).items():
        kind, path = kinds[cell].removeprefix("$"), path_of(cell)
        number = counts[place, path, kind]
        counts[place, path, kind] += 1
        found[cell] = f"{path}.{kind}{number}" if path else f"{kind}{number}"
    return found


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
