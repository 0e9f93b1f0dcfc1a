"""Mutates the Python of the model, the plan and the driver with Cosmic Ray, a sample of each.

``python -m extremum.tb.mutation.software`` adds what it found to ``docs/evidence/mutation.json``.
It works on a copy of the files that Git knows. A survivor that is in neither file of survivors
fails; its block is ``model``, ``plan`` or ``driver``.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from extremum.tb.mutation.explained import accept, open_survivors, reason, rules
from extremum.tb.mutation.planted import EVIDENCE, copy

SEED = 14
SECONDS_OF_A_MUTANT = 900
"""Time after which a mutant is given up: many times what its tests take on an idle machine."""

SCRIPT = """
for some in "not hypothesis" hypothesis; do
    {python} -m pytest -q -x -p no:cacheprovider -m "not regress and $some" {tests}
    case $? in 0 | 5) ;; *) exit 1 ;; esac
done
"""
"""Tests of fixed examples come first: they take seconds, and random ones take minutes.

Pytest ends with status 5 if there are none.
"""

CONFIG = """
[cosmic-ray]
module-path = {modules}
timeout = {timeout}
excluded-modules = []
test-command = "sh {script}"
[cosmic-ray.distributor]
name = "local"
"""


@dataclass(frozen=True)
class Package:
    """Files that are mutated, and the tests that should find the mutants."""

    modules: tuple[str, ...]
    tests: str


PACKAGES = {
    "model": Package(
        ("model/pooling.py", "model/reduction.py", "model/spatial.py", "model/support.py",
         "model/functions.py", "model/fast"),
        "tests/test_model_reduction.py tests/test_model_pooling.py tests/test_model_spatial.py "
        "tests/test_model_order.py tests/test_model_rows.py tests/test_model_sliding.py "
        "tests/test_model_tiles.py tests/test_model_errors.py tests/test_model_support.py",
    ),
    "plan": Package(
        ("host/plan",),
        "tests/test_rows.py tests/test_registers.py tests/test_plan_jobs.py tests/test_plan.py "
        "tests/test_tiles.py tests/test_plan_huge.py",
    ),
    "driver": Package(("host/driver",), "tests/test_driver.py tests/test_dataflow.py"),
}  # fmt: skip
"""What is mutated, by name."""


def _command(folder: Path, *arguments: str) -> str:
    """Run Cosmic Ray in a folder; return what it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", *arguments],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ran.stdout


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


def sample(session: Path, count: int, seed: int = SEED) -> int:
    """Leave so many mutants in a session, drawn at random; return how many there were.

    Those of annotations are not counted.
    """
    with sqlite3.connect(session) as base:
        specs = base.execute(
            "SELECT job_id, module_path, start_pos_row, start_pos_col FROM mutation_specs "
            "ORDER BY module_path, operator_name, occurrence"
        ).fetchall()
        modules = {path for _, path, _, _ in specs}
        notes = {
            path: places_of_annotations((session.parent / path).read_text()) for path in modules
        }
        real = [job for job, path, *place in specs if tuple(place) not in notes[path]]
        kept = set(random.Random(seed).sample(real, min(count, len(real))))
        for job, *_ in specs:
            if job in kept:
                continue
            base.execute("DELETE FROM mutation_specs WHERE job_id = ?", (job,))
            base.execute("DELETE FROM work_items WHERE job_id = ?", (job,))
    return len(real)


@dataclass
class Outcomes:
    """What became of the mutants of a session.

    Attributes
    ----------
    killed
        How many failed a test.
    timed_out
        How many were given up, which says nothing of them.
    surviving
        The names of the others, with their places.
    """

    killed: int = 0
    timed_out: int = 0
    surviving: dict[str, str] = field(default_factory=dict)


def outcomes(session: Path) -> Outcomes:
    """Return what became of the mutants of a session."""
    found = Outcomes()
    with sqlite3.connect(session) as base:
        rows = base.execute(
            "SELECT s.module_path, s.operator_name, s.occurrence, s.start_pos_row, r.test_outcome, "
            "r.output "
            "FROM mutation_specs s LEFT JOIN work_results r ON s.job_id = r.job_id"
        ).fetchall()
    for path, operator, occurrence, line, outcome, output in rows:
        if str(output).strip() == "timeout":
            found.timed_out += 1
        elif str(outcome).upper().endswith("KILLED"):
            found.killed += 1
        else:
            code = (session.parent / path).read_text().splitlines()[line - 1].strip()
            found.surviving[f"{path}:{line} {operator}#{occurrence}"] = f"{path}: {code}"
    return found


def mutate(name: str, package: Package, count: int, folder: Path) -> dict[str, Any]:
    """Mutate a package in a copy of the tree; return what became of its mutants."""
    started = time.monotonic()
    modules = json.dumps([str(path) for path in package.modules])
    python = f"env PYTHONPATH={folder / 'typings'} {sys.executable}"
    (folder / f"{name}.sh").write_text(SCRIPT.format(python=python, tests=package.tests))
    (folder / f"{name}.toml").write_text(
        CONFIG.format(modules=modules, timeout=SECONDS_OF_A_MUTANT, script=f"{name}.sh")
    )
    _command(folder, "init", f"{name}.toml", f"{name}.sqlite")
    _command(folder, "baseline", f"{name}.toml")
    there = sample(folder / f"{name}.sqlite", count)
    _command(folder, "exec", f"{name}.toml", f"{name}.sqlite")
    became = outcomes(folder / f"{name}.sqlite")
    surviving = dict(sorted(became.surviving.items()))
    some, known = rules(), open_survivors()
    explained = {
        key: why
        for key, place in surviving.items()
        if (why := reason(some, name, place, key)) is not None
    }
    left = [key for key in surviving if key not in explained]
    return {
        "mutants": there,
        "tried": min(there, count),
        "killed": became.killed,
        "timed_out": became.timed_out,
        "explained": len(explained),
        "explained_by": dict(sorted(Counter(explained.values()).items())),
        "open": [key for key in left if f"{name}: {key}" in known],
        "surviving": [key for key in left if f"{name}: {key}" not in known],
        "seconds": round(time.monotonic() - started, 1),
    }


def _write(found: dict[str, Any]) -> None:
    """Put what became of the mutants of some packages into the evidence."""
    whole = json.loads(EVIDENCE.read_text()) if EVIDENCE.exists() else {}
    whole["software"] = whole.get("software", {}) | found
    whole["tools"] = whole.get("tools", {}) | {"cosmic-ray": version("cosmic-ray")}
    EVIDENCE.parent.mkdir(parents=True, exist_ok=True)
    EVIDENCE.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m extremum.tb.mutation.software", description=__doc__
    )
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(PACKAGES)}")
    parser.add_argument("--sample", type=int, default=60, help="mutants of each package")
    parser.add_argument("--accept", action="store_true", help="list new survivors as open ones")
    given = parser.parse_args(arguments)
    found = {}
    with tempfile.TemporaryDirectory(prefix="extremum-software-") as name:
        copy(Path.cwd(), Path(name))
        for package in given.packages or PACKAGES:
            found[package] = mutate(package, PACKAGES[package], given.sample, Path(name))
            told = found[package]
            print(f"{package}: {told['killed']} of {told['tried']} killed, {told['seconds']} s")
            for key in told["surviving"]:
                print(f"    survives: {key}", flush=True)
            _write(found)
    if given.accept:
        accept({block: told["open"] + told["surviving"] for block, told in found.items()})
    failed = sum(bool(told["surviving"]) for told in found.values())
    print(f"{len(found) - failed} passed, {failed} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
