"""``python -m extremum.tb.mutation.rules``: tries every mutant that a rule explains.

The campaign draws a sample of mutants, and looks up those that survive. So a rule that explains too
much may hide a gap of the trials: it is right for the mutant that it was written for, and wrong for
others that it means, too. Here all of these are tried, not only those of the sample. If one
is killed, the rule is too wide or its reason is wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from extremum.tb.command import end
from extremum.tb.mutation import yosys
from extremum.tb.mutation.blocks import BLOCKS, BUILDS, NOT_MUTATED, block_of, cells
from extremum.tb.mutation.campaign import trials
from extremum.tb.mutation.compiled_design import CompiledDesign
from extremum.tb.mutation.designs import DESIGNS, Design, scaled
from extremum.tb.mutation.explained import Rule, rules
from extremum.tb.mutation.names import names, places
from extremum.tb.report.markdown import count

ROUNDS = 4
NARROW = 16
"""Bits of the widest port of which mutants that depend on another bit are tried.

There are too many of those of wider ports: they are tried for rules that mean no others.
"""
WIDEST = 1 << 16
"""More bits than any port has."""


def widths(flat: str) -> dict[str, dict[str, int]]:
    """Return the ports of each cell of a flattened design, with the bits of what is connected."""
    wires: dict[str, int] = {}
    found: dict[str, dict[str, int]] = {}
    cell = ""
    for line in flat.splitlines():
        words = line.split()
        if words[:1] == ["wire"]:
            wires[words[-1]] = int(words[words.index("width") + 1]) if "width" in words else 1
        elif words[:1] == ["cell"]:
            cell = words[2]
            found[cell] = {}
        elif words[:1] == ["connect"] and line.startswith("    "):
            port = words[1].removeprefix("\\")
            found[cell][port] = sum(_bits(wires, words[2:]))
    return found


def _bits(wires: Mapping[str, int], words: Sequence[str]) -> Iterator[int]:
    """Yield the bits of the parts of a signal, as RTLIL writes it."""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if match := re.fullmatch(r"(\d+)'.*", word):
            yield int(match[1])
        elif word in wires:
            if match := re.fullmatch(r"\[(\d+)(?::(\d+))?\]", after):
                yield int(match[1]) - int(match[2] or match[1]) + 1
            else:
                yield wires[word]


def every(
    cell: str, ports: Mapping[str, int], place: str, name: str, narrow: int = NARROW
) -> Iterator[yosys.Mutant]:
    """Yield the mutants of a cell; those that depend on another bit only of narrow ports.

    Parameters
    ----------
    cell
        The cell.
    ports
        Its ports, with their bits.
    place, name
        See :class:`extremum.tb.mutation.yosys.Mutant`.
    narrow
        Bits of the widest narrow port.
    """
    for port, width in ports.items():
        if port in NOT_MUTATED:
            continue
        for bit in range(width):
            modes = [(mode, -1) for mode in ("inv", "const0", "const1")]
            if width <= narrow:
                others = (other for other in range(width) if other != bit)
                modes += [(mode, other) for other in others for mode in ("cnot0", "cnot1")]
            for mode, control in modes:
                yield yosys.Mutant(cell, port, bit, mode, control, "", place, name)


def meant(
    design: Design, flat: str, block: str, narrow: int
) -> Iterator[tuple[Rule, yosys.Mutant]]:
    """Yield the mutants of a block of a flattened design that a rule means, each with its rules.

    Those that depend on another bit are left out at ports of more than ``narrow`` bits.
    """
    where, called, ports = places(flat), names(flat), widths(flat)
    of_block = [rule for rule in rules() if rule.block == block]
    for cell in cells(flat):
        if block_of(cell, design) != block:
            continue
        here = [rule for rule in of_block if re.fullmatch(rule.at, where[cell.name])]
        if not here:
            continue
        named = where[cell.name], called[cell.name]
        for mutant in every(cell.name, ports[cell.name], *named, narrow):
            yield from ((rule, mutant) for rule in here if re.fullmatch(rule.mutants, mutant.name))


def attack(name: str, blocks: Sequence[str], rounds: int) -> tuple[Counter[Rule], list[str]]:
    """Try the mutants of some blocks of a design that rules mean.

    Returns
    -------
    (Counter, list of str)
        How many mutants each rule means, and what there is to say of those that were killed.
    """
    design = DESIGNS[name]
    killed: list[str] = []
    with scaled(design):
        flat = yosys.flat(design)
        tried = [pair for block in blocks for pair in meant(design, flat, block, NARROW)]
        tried_rules = {rule for rule, _ in tried}
        wide = (pair for block in blocks for pair in meant(design, flat, block, WIDEST))
        tried += [pair for pair in wide if pair[0] not in tried_rules]
        counts = Counter(rule for rule, _ in tried)
        print(f"{', '.join(blocks)}: {count(len(tried), 'mutant')} to try", file=sys.stderr)
        if not tried:
            return counts, killed
        alive = dict(enumerate(tried, 1))
        model = CompiledDesign(design, [mutant for _, mutant in tried])
        for trial in trials(design, model, range(rounds)):
            for number, (rule, mutant) in list(alive.items()):
                if model.replay(number, trial) is not None:
                    del alive[number]
                    why = " ".join(rule.reason.split())
                    killed.append(f"{rule.block}: {mutant.key} by {trial.kind}, though: {why}")
    return counts, killed


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m extremum.tb.mutation.rules", description=__doc__
    )
    parser.add_argument("blocks", nargs="*", metavar="BLOCK", help=f"of {', '.join(BLOCKS)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of trials")
    given = parser.parse_args()
    if unknown := set(given.blocks) - {*BLOCKS}:
        parser.error(f"there is no block {', '.join(sorted(unknown))}")
    if given.rounds < 1:
        parser.error(f"--rounds is {given.rounds}: at least one round of trials tries a mutant")
    wanted = given.blocks or BLOCKS
    failed = passed = 0
    meaningless = [rule for rule in rules() if rule.block in wanted]
    for name, some in BUILDS:
        blocks = [block for block in some if block in wanted]
        if not blocks:
            continue
        counts, killed = attack(name, blocks, given.rounds)
        told = f"{count(counts.total(), 'mutant')} of {count(len(counts), 'rule')}"
        print(f"{', '.join(blocks)}: {told}", flush=True)
        meaningless = [rule for rule in meaningless if rule not in counts]
        for line in killed:
            print(f"  killed: {line}", flush=True)
        wrong = {line.rpartition("though: ")[2] for line in killed}
        # Counted are reasons, of which several rules may share one.
        failed += len(wrong)
        passed += len({" ".join(rule.reason.split()) for rule in counts} - wrong)
    for rule in meaningless:
        print(f"no mutant of {rule.block} is at {rule.at} and called {rule.mutants}")
    failed += len(meaningless)
    print(f"{passed} passed, {failed} failed")
    return int(bool(failed))


if __name__ == "__main__":
    end(main)
