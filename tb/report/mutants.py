"""Of the mutation: what became of the mutants, and what caught the planted bugs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extremum.tb.mutation.blocks import BLOCKS, is_of_axi_block
from extremum.tb.mutation.explained import rules
from extremum.tb.report.markdown import count, number, paragraph, share, table
from extremum.tb.report.section import Told

RUNGS = {
    "unit": "unit tests of the part",
    "core": "whole cores in Amaranth's simulator",
    "native": "native backend",
    "bench": "benches under cocotb",
}
"""What a bug meets first, second and so on, by its name in the evidence."""

COLUMNS = ("mutants", "killed", "proved equivalent", "explained", "open", "new survivors")


def outcomes(block: dict[str, Any]) -> tuple[int, ...]:
    """Return how many mutants of a block there are, and how many met each end; see COLUMNS."""
    return (
        block["mutants"], block["killed"], block["equivalent"], block["explained"],
        len(block["open"]), len(block["surviving"]),
    )  # fmt: skip


def gateware(evidence: dict[str, Any]) -> Told:
    """Tell what became of the mutants of each block of the gateware."""
    rows: list[tuple[Any, ...]] = [
        (name, *outcomes(block)) for name, block in sorted(evidence.items())
    ]
    sums = [sum(row[n] for row in rows) for n in range(1, len(COLUMNS) + 1)]
    mutants, killed, equivalent, explained, unexplained, new = sums
    summary = (
        f"{count(mutants, 'mutant')} of {count(len(rows), 'block')}: {number(killed)} killed, "
        f"{number(equivalent)} proved equivalent, {number(explained)} explained, "
        f"{number(unexplained + new)} open"
    )
    rounds = {name: block["rounds"] for name, block in evidence.items()}
    shares = [
        [f"`{name}`", *numbers, share(numbers[1], numbers[0] - numbers[2]), rounds[name]]
        for name, *numbers in rows
    ]
    shares.append(["all", *sums, share(killed, mutants - equivalent), None])
    of_core, of_block = (
        ", ".join(sorted({f"`{each['revision']}`" for name, each in evidence.items()
                          if is_of_axi_block(name) == is_axi}))
        for is_axi in (False, True)
    )  # fmt: skip
    text = [
        paragraph(
            f"Mutated were cores with the digest {of_core or 'of none'}, and AXI blocks of the "
            f"gateware with the digest {of_block or 'of none'}. "
            "An open mutant survives, and nobody knows yet whether it is equivalent or a gap of "
            "the tests. What is killed of the others leaves out what is proved equivalent, and "
            "counts all that is open as not killed. Each mutant that lives is tried in round after "
            "round of trials, until there are enough or the time is over; how many rounds were "
            "finished is in the last column."
        ),
        table(["block", *COLUMNS, "killed of the others", "rounds"], shares),
    ]
    left_out = sorted(set(BLOCKS) - evidence.keys())
    problems = _against(unexplained, new) + _without_reason(evidence)
    if left_out:
        problems += (f"{count(len(left_out), 'block')} left out",)
    problems += _untried(rows)
    least, most = (
        pick(rows, key=lambda row: row[2] / (row[1] - row[3] or 1)) for pick in (min, max)
    )
    limits = [
        f"The total of killed mutants hides that blocks differ: {_of(least)}, {_of(most)}.",
        "The designs that were mutated are of few lanes: three fast cores and the AXI blocks "
        "around a fast and a small core, part by part, and two small and two balanced cores as a "
        "whole. "
        "Logic that only another configuration has was not mutated.",
    ]
    if left_out:
        names = ", ".join(f"`{name}`" for name in left_out)
        limits.append(f"These blocks of the gateware have not been mutated: {names}.")
    if unexplained:
        limits.insert(
            0,
            f"{count(unexplained, 'mutant')} of {number(mutants)} survive without a proof or a "
            "reason: `tb/mutation/open.txt`. They are no evidence, and each may be a gap.",
        )
    return Told(summary, "\n\n".join(text), problems, tuple(limits))


def _against(unexplained: int, new: int) -> tuple[str, ...]:
    """Return what speaks against the tests: mutants that survive without a reason."""
    told = ((unexplained, "open mutant"), (new, "new survivor"))
    return tuple(count(number, noun) for number, noun in told if number)


def _untried(rows: Iterable[tuple[Any, ...]]) -> tuple[str, ...]:
    """Return of which blocks or packages, the first of each row, no mutant was tried."""
    return tuple(f"no mutant of {name} was tried" for name, tried, *_ in rows if not tried)


def _without_reason(evidence: dict[str, Any]) -> tuple[str, ...]:
    """Return which blocks have mutants that were explained by a reason that is no longer there."""
    present = {(rule.block, rule.reason.strip()) for rule in rules()}
    lost = {
        name: sum(
            mutants
            for reason, mutants in each.get("explained_by", {}).items()
            if (name, reason.strip()) not in present
        )
        for name, each in sorted(evidence.items())
    }
    return tuple(
        f"{count(mutants, 'mutant')} of {name} explained by a reason that is gone"
        for name, mutants in lost.items()
        if mutants
    )


def _of(row: tuple[Any, ...]) -> str:
    name, mutants, killed, equivalent, *_ = row
    return f"{share(killed, mutants - equivalent)} of `{name}`"


def software(evidence: dict[str, Any]) -> Told:
    """Tell what became of the mutants of the software, of which a sample was tried."""
    counted = ("mutants", "tried", "killed", "timed_out", "explained")
    rows: list[tuple[Any, ...]] = [
        (name, *(each[field] for field in counted), len(each["open"]), len(each["surviving"]))
        for name, each in sorted(evidence.items())
    ]
    tried, killed, late, explained, unexplained, new = (
        sum(row[n] for row in rows) for n in range(2, 8)
    )
    summary = (
        f"{number(killed)} of {count(tried, 'mutant')} killed by a test and {number(late)} by the "
        f"time, {number(explained)} explained, {number(unexplained + new)} open; a sample"
    )
    columns = [
        "package", "mutants", "tried", "killed", "timed out", "explained", "open", "new survivors",
    ]  # fmt: skip
    limits = (
        f"Of the {number(sum(row[1] for row in rows))} mutants of the software, a random sample of "
        f"{number(tried)} was tried.",
    )
    problems = (
        *_against(unexplained, new),
        *_untried((name, tried) for name, _, tried, *_ in rows),
    )
    return Told(summary, table(columns, rows), problems, limits)


def planted(evidence: dict[str, Any]) -> Told:
    """Tell which rung caught each planted bug, and after how many seconds."""
    bugs = evidence["bugs"]
    caught = [bug for bug in bugs if bug["caught_by"]]
    rungs = {name: sum(bug["caught_by"] == name for bug in caught) for name in RUNGS}
    told = ", ".join(f"{number(n)} by {RUNGS[name]}" for name, n in rungs.items() if n)
    summary = f"{len(caught)} of {count(len(bugs), 'planted bug')} caught"
    rows = (
        [
            bug["bug"], f"`{bug['file']}`", RUNGS.get(bug["caught_by"], "nothing"),
            f"`{bug['tests']}`" if bug["caught_by"] else "-", float(bug["seconds"]),
        ]
        for bug in bugs
    )  # fmt: skip
    text = [
        paragraph(f"{summary}: {told}." if told else f"{summary}."),
        table(["bug", "planted in", "caught by", "tests", "seconds"], rows),
    ]
    missed = len(bugs) - len(caught)
    problems = (f"{count(missed, 'planted bug')} not caught",) if missed else ()
    limits = (
        "The planted bugs were chosen by those who wrote the tests. Once a layer of tests had "
        "caught a bug, the later layers were not run on it.",
    )
    return Told(summary, "\n\n".join(text), problems, limits)
