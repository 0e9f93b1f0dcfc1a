"""Mutates the software, a sample of each of its parts that `packages.py` names.

``python -m extremum.tb.mutation.software`` adds what it found to ``docs/evidence/mutation.json``.
It works on a copy of the files that Git knows, where ``warm.py`` runs the tests. Cosmic Ray names
the mutants of Python, ``c_source.py`` those of C. A survivor that is in neither file of survivors
fails; its block is the name of the package, such as ``model``.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from extremum.tb.command import at_least, end, is_kept, refuse_unwritable
from extremum.tb.evidence import read_evidence, write_evidence
from extremum.tb.mutation import c_source
from extremum.tb.mutation.explained import accept, open_survivors, reason, rules
from extremum.tb.mutation.packages import PACKAGES, Package
from extremum.tb.mutation.planted import EVIDENCE, copy, refuse_no_tree
from extremum.tb.source_digest import ROOT, changed_since, digests_of

SEED = 14
CONFIG = """
[cosmic-ray]
module-path = {modules}
timeout = 1
excluded-modules = []
test-command = ""
[cosmic-ray.distributor]
name = "local"
"""
"""Cosmic Ray only lists the mutants and applies each."""


def places_of_annotations(source: str) -> set[tuple[int, int]]:
    """Return where a module has annotations: all pairs of a line and a column in them.

    They are never evaluated, so a change of ``int | None`` is no fault.
    """
    found: set[tuple[int, int]] = set()
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            note = getattr(node, name, None)
            if not isinstance(note, ast.expr):
                continue
            last = note.end_lineno or note.lineno
            for line in range(note.lineno, last + 1):
                first = note.col_offset if line == note.lineno else 0
                end = note.end_col_offset if line == last else len(lines[line - 1])
                found |= {(line, column) for column in range(first, end or 0)}
    return found


@dataclass(frozen=True)
class Mutant:
    """A mutant of a file, as Cosmic Ray or ``c_source.py`` names it."""

    path: str
    operator: str
    occurrence: int
    line: int

    @property
    def key(self) -> str:
        """Its name."""
        return f"{self.path}:{self.line} {self.operator}#{self.occurrence}"

    @property
    def is_c(self) -> bool:
        """Whether it is one of a source in C."""
        return self.path.endswith(".c")

    def is_another_program(self, folder: Path) -> bool:
        """Return whether it can be made, and of C whether it can be told from its source at all.

        Cosmic Ray fails to replace exceptions that are named with their module.
        """
        if not self.is_c:
            try:
                self.code(folder)
            except AttributeError:
                return False
            return True
        path = folder / self.path
        mutant = self.code(folder).encode()
        return c_source.is_another_program(path.read_bytes(), mutant, path.parent)

    def place(self, folder: Path) -> str:
        """Return its file with the code of its line."""
        code = (folder / self.path).read_text().splitlines()[self.line - 1].strip()
        return f"{self.path}: {code}"

    def code(self, folder: Path) -> str:
        """Return the text of its file with the fault."""
        if self.is_c:
            source = (folder / self.path).read_bytes()
            return c_source.mutated(source, self.operator, self.occurrence).decode()
        # These are imported by name, since few installations have Cosmic Ray.
        mutating = importlib.import_module("cosmic_ray.mutating")
        plugins = importlib.import_module("cosmic_ray.plugins")
        text = (folder / self.path).read_text()
        return mutating.mutate_code(
            text, plugins.get_operator(self.operator)(), self.occurrence
        )  # fmt: skip


def mutants(name: str, package: Package, folder: Path) -> list[Mutant]:
    """Return the mutants of a package in a copy of the tree, without those of annotations.

    Some of C cannot be compiled, or are compiled to what their source is; see
    :meth:`Mutant.is_another_program`.
    """
    if all(path.endswith(".c") for path in package.modules):
        return [
            Mutant(path, change.operator, number, change.line)
            for path in package.modules
            for change, number in c_source.numbered((folder / path).read_bytes())
        ]
    modules = json.dumps([str(path) for path in package.modules])
    (folder / f"{name}.toml").write_text(CONFIG.format(modules=modules))
    subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", "init", f"{name}.toml", f"{name}.sqlite"],
        cwd=folder, capture_output=True, check=True,
    )  # fmt: skip
    with sqlite3.connect(folder / f"{name}.sqlite") as base:
        specs = base.execute(
            "SELECT module_path, operator_name, occurrence, start_pos_row, start_pos_col "
            "FROM mutation_specs ORDER BY module_path, operator_name, occurrence"
        ).fetchall()
    modules = {path for path, *_ in specs}
    notes = {path: places_of_annotations((folder / path).read_text()) for path in modules}
    return [
        Mutant(path, operator, occurrence, line)
        for path, operator, occurrence, line, column in specs
        if (line, column) not in notes[path]
    ]


def sample(every: Sequence[Mutant], count: int) -> list[Mutant]:
    """Draw so many mutants at random. A larger sample holds a smaller one."""
    return random.Random(SEED).sample(every, len(every))[:count]


def run(package: Package, chosen: Sequence[Mutant], folder: Path) -> Iterator[dict[str, Any]]:
    """Run the tests on mutants in a copy of the tree; yield what became of each.

    Raises
    ------
    RuntimeError
        The tests fail without a mutant, or the process that runs them ends early.
    """
    paths = [
        each.relative_to(folder).as_posix()
        for path in package.modules
        for each in ((folder / path).rglob("*.py") if (folder / path).is_dir() else [folder / path])
    ]
    work = [{"path": m.path, "line": m.line, "code": m.code(folder)} for m in chosen]
    job = folder / "job.json"
    job.write_text(json.dumps({"paths": sorted(paths), "tests": package.tests, "mutants": work}))
    others = os.environ.get("PYTHONPATH", "")
    variables = os.environ | {"PYTHONPATH": f"{folder / 'typings'}{os.pathsep}{others}"}
    process = subprocess.Popen(
        [sys.executable, "-m", "extremum.tb.mutation.warm", job.name],
        cwd=folder, env=variables,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        lines = process.stdout
        told = json.loads(next(lines, "{}"))
        if told:
            print(f"{told['tests']} tests, measured in {told['seconds']} s", flush=True)
        yield from map(json.loads, lines)
    if process.returncode:
        raise RuntimeError(f"the process that runs the tests ends with {process.returncode}")


def mutate(
    name: str, package: Package, folder: Path, choose: Callable[[list[Mutant]], list[Mutant]]
) -> dict[str, Any]:
    """Mutate a package in a copy of the tree; return what became of the mutants that are chosen."""
    started = time.monotonic()
    sources = digests_of(package.modules, root=folder)
    every = mutants(name, package, folder)
    chosen = [mutant for mutant in choose(every) if mutant.is_another_program(folder)]
    places = {mutant.key: mutant.place(folder) for mutant in chosen}
    alive: dict[str, str] = {}
    ends: Counter[str] = Counter()
    results = run(package, chosen, folder) if chosen else ()
    for mutant, told in zip(chosen, results, strict=True):
        ends[told["outcome"]] += 1
        if told["outcome"] == "survived":
            alive[mutant.key] = places[mutant.key]
        print(
            f"{told['outcome']:9} {told['seconds']:6.2f} s, {told['ran']} of {told['tests']} tests "
            f"{mutant.key}", flush=True,
        )  # fmt: skip
    some, known = rules(), open_survivors()
    explained = {
        key: why
        for key, place in sorted(alive.items())
        if (why := reason(some, name, place, key)) is not None
    }
    left = [key for key in sorted(alive) if key not in explained]
    return {
        "mutants": len(every),
        "tried": len(chosen),
        "killed": ends["killed"],
        "timed_out": ends["timed_out"],
        "explained": len(explained),
        "explained_by": dict(sorted(Counter(explained.values()).items())),
        "open": [key for key in left if f"{name}: {key}" in known],
        "surviving": [key for key in left if f"{name}: {key}" not in known],
        "seconds": round(time.monotonic() - started, 1),
        "sources": sources,
    }


def together(before: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a package of which those that lived have been tried again."""
    reasons = Counter(before["explained_by"]) + Counter(told["explained_by"])
    names = ("killed", "timed_out", "explained", "seconds")
    sums = {name: round(before[name] + told[name], 1) for name in names}
    return told | sums | {"explained_by": dict(sorted(reasons.items())), "tried": before["tried"]}


def _spoken_of(told: dict[str, Any]) -> int:
    """Return of how many mutants evidence speaks: of none where the sources have changed since."""
    is_old = "sources" not in told or changed_since(told["sources"])
    return 0 if is_old else told["tried"]


def _write(found: dict[str, Any]) -> dict[str, Any]:
    """Put what became of the mutants of some packages into the evidence, unless it is of more.

    What is of other sources, or is told of no sources, is replaced by less; and what says that all
    is well, by what has survivors.

    Returns
    -------
    dict
        What was put there: all mutants of a package, or as many as the evidence is of.
    """
    whole = read_evidence(EVIDENCE)
    old = whole.get("software", {})
    written = {
        name: told
        for name, told in found.items()
        if told["tried"] == told["mutants"]
        or told["surviving"]
        or name not in old
        or not is_kept(f"mutants of {name}", _spoken_of(old[name]), told["tried"])
    }
    whole["software"] = old | written
    tools = {"tree-sitter-c" if name == "c_driver" else "cosmic-ray" for name in found}
    whole["tools"] = whole.get("tools", {}) | {tool: version(tool) for tool in tools}
    write_evidence(EVIDENCE, whole)
    return written


def _pattern(text: str) -> str:
    """Read a regular expression from the command line."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m extremum.tb.mutation.software", description=__doc__
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(PACKAGES)}")
    parser.add_argument("--sample", type=at_least(1), default=60, help="mutants of each package")
    parser.add_argument(
        "--only",
        type=_pattern,
        default="",
        metavar="REGEX",
        help="all mutants with such a name; no file is written",
    )
    parser.add_argument("--again", action="store_true", help="only those that lived before")
    parser.add_argument("--accept", action="store_true", help="list new survivors as open ones")
    given = parser.parse_args(arguments)
    if unknown := set(given.packages) - set(PACKAGES):
        parser.error(f"there is no package {', '.join(sorted(unknown))}")
    refuse_no_tree(parser)
    if not given.only:
        refuse_unwritable(parser, EVIDENCE)
    evidence = read_evidence(EVIDENCE)
    found, written = {}, {}
    with tempfile.TemporaryDirectory(prefix="extremum-software-") as name:
        copy(ROOT, Path(name))
        for package in given.packages or PACKAGES:
            before = evidence.get("software", {}).get(package, {}) if given.again else {}
            if given.again and not before:
                parser.error(f"--again needs the evidence of an earlier run of {package}")

            def choose(every: list[Mutant], before: dict[str, Any] = before) -> list[Mutant]:
                if given.only:
                    return [mutant for mutant in every if re.search(given.only, mutant.key)]
                if given.again:
                    lived = before["open"] + before["surviving"]
                    again = [mutant for mutant in every if mutant.key in lived]
                    if changed_since(before["sources"]) or len(again) != len(lived):
                        parser.error("--again: the evidence is of other sources, mutate them anew")
                    return again
                return sample(every, given.sample)

            told = mutate(package, PACKAGES[package], Path(name), choose)
            told = found[package] = together(before, told) if given.again else told
            print(f"{package}: {told['killed']} of {told['tried']} killed, {told['seconds']} s")
            for key in told["surviving"]:
                print(f"    survives: {key}", flush=True)
            if not given.only:
                written |= _write({package: told})
    if given.only and not any(told["tried"] for told in found.values()):
        parser.error(f"--only {given.only!r} is in the name of no mutant")
    if given.accept:
        accept({block: told["open"] + told["surviving"] for block, told in written.items()})
    failed = sum(bool(told["surviving"]) for told in found.values())
    print(f"{len(found) - failed} passed, {failed} failed")
    return int(bool(failed))


if __name__ == "__main__":
    end(main)
