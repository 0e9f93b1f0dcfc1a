"""Proves that a mutant is equivalent to the design: for all inputs and for ever.

Two copies of the design run side by side on the same inputs, one with the fault. Let D be a set of
flip-flops. If from any two states that agree outside of D

- all outputs that count are equal, and
- the next states agree outside of D,

then, since both copies begin in the same state, they never differ at an output. D is found by
adding the flip-flops in which the two copies come to differ, until there are no more; that the
outputs are equal is shown last. This is induction over time without a bound. What is not shown that
way may still be equivalent: the states that cannot be reached are not excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from extremum.host import cache
from extremum.tb.mutation import aig, yosys
from extremum.tb.mutation.designs import Design

MOST_ROUNDS = 12
"""Times that D is made larger before a proof is given up."""

LOGIC = (
    "memory_map", "opt -fast", "techmap", "opt -fast", "dffunmap",
    "dfflegalize -cell $_DFF_P_ 01", "aigmap", "opt_clean", "setundef -zero",
    "write_aiger -ascii -zinit -symbols design.aag",
)  # fmt: skip
"""Commands of Yosys that make an AIGER file of a flat design."""


class Prover:
    """Proves mutants of one compiled design equivalent.

    Parameters
    ----------
    design
        The design.
    mutants
        Its mutants, numbered from 1 on.
    valids
        For each output that says whether others count: those.
    """

    def __init__(
        self,
        design: Design,
        mutants: Sequence[yosys.Mutant],
        valids: dict[str, tuple[str, ...]],
    ) -> None:
        from pysat.solvers import Solver  # noqa: PLC0415 - an extra of its own

        text = yosys.flat(design)

        def make(folder: Path) -> None:
            yosys.write_mutated(folder, text, mutants, *LOGIC)
            (folder / "flat.il").unlink()

        folder = cache.kept("mutation-aig", yosys.put_in(text, mutants, *LOGIC), make)
        self._netlist = netlist = aig.read((folder / "design.aag").read_text())
        self._solver: Any = Solver(name="cadical195")
        self._logic = logic = aig.Logic(self._solver)
        selector = [
            netlist.inputs[f"{yosys.SELECTOR}[{place}]"] // 2
            for place in range(yosys.SELECTOR_BITS)
        ]
        self._chosen = aig.selected(netlist, selector, len(mutants) + 1)
        given = {literal // 2: logic.free() for literal in netlist.inputs.values()}
        given |= {state // 2: logic.free() for state, _ in netlist.latches}
        given |= {node: bits & 1 for node, bits in self._chosen.items()}
        self._plain = aig.Evaluation(netlist, logic, given)
        conditions = {name: valid for valid, names in valids.items() for name in names}
        self._outputs = []
        for name, literal in netlist.outputs.items():
            valid = conditions.get(name.partition("[")[0])
            counts = 1 if valid is None else self._plain.of(netlist.outputs[valid])
            self._outputs.append((literal, counts))

    def is_equivalent(self, number: int) -> bool:
        """Return whether a mutant is proved to be equivalent."""
        netlist, logic, plain = self._netlist, self._logic, self._plain
        forced = {
            node: bits >> number & 1
            for node, bits in self._chosen.items()
            if (bits ^ bits >> number) & 1
        }
        free: dict[int, int] = {}
        for _ in range(MOST_ROUNDS):
            new = plain.changed(forced | free)

            def differs(literal: int, new: dict[int, int] = new) -> int:
                other = new.get(literal // 2)
                if other is None:
                    return 0
                return logic.differ(plain.of(literal), other ^ (literal & 1))

            wrong = [logic.both(counts, differs(literal)) for literal, counts in self._outputs]
            if logic.example(logic.either(wrong)) is not None:
                return False
            apart = {
                state // 2: difference
                for state, following in netlist.latches
                if state // 2 not in free and (difference := differs(following))
            }
            example = logic.example(logic.either(apart.values()))
            if example is None:
                return True
            for node, difference in apart.items():
                if logic.is_in(difference, example):
                    free[node] = logic.free()
        return False

    def close(self) -> None:
        """Free the solver."""
        self._solver.delete()
