"""Proves that a mutant is equivalent to the design: for all inputs and for ever.

Two copies of the design run side by side on the same inputs, one with the fault. Let D be a set of
flip-flops, and for each of them let a *cube* be given: values of some *marks*, which are the
flip-flops that a reset sets, among them all that mark a payload as valid. Two states are *close* if
each flip-flop in which they differ is in D, and the marks have the values of its cube. If from any
two close states

- all outputs that count are equal, and
- the next states are close,

then, since both copies begin in the same state, they never differ at an output. D and the cubes are
found by letting pairs of close states pass a clock: a flip-flop in which they come to differ is put
into D, and its cube keeps the values that the marks have whenever it differs. First the pairs are
drawn from states that occur in trials, then a SAT solver looks for more until there are none. That
is induction over time without a bound.

So a register that differs only while its word is not valid does no harm. What is not shown that way
may still be equivalent: of states that cannot be reached only those are excluded that break an
invariant of :mod:`extremum.tb.mutation.invariants`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from extremum.host import cache
from extremum.tb.mutation import aig, yosys
from extremum.tb.mutation.columns import ONES, Columns, literals, packed, unpacked
from extremum.tb.mutation.designs import Design
from extremum.tb.mutation.invariants import constants

SECONDS = (1.0, 8.0)
"""Seconds of the processor after which a proof is given up: at the first attempt, which all mutants
get before one gets a second, and at the second."""

COLUMNS = 256
"""Pairs of states that pass a clock together."""

LOGIC = (
    "memory_map", "opt -fast", "techmap", "opt -fast", "dffunmap",
    "dfflegalize -cell $_DFF_P_ 01", "aigmap", "opt_clean", "setundef -zero",
    "write_aiger -ascii -zinit -symbols design.aag",
)  # fmt: skip
"""Commands of Yosys that make an AIGER file of a flat design."""


def netlist_of(design: Design, mutants: Sequence[yosys.Mutant]) -> aig.Netlist:
    """Return a design with its mutants as a netlist."""
    text = yosys.flat(design)

    def make(folder: Any) -> None:
        yosys.write_mutated(folder, text, mutants, *LOGIC)
        (folder / "flat.il").unlink()

    folder = cache.kept("mutation-aig", yosys.put_in(text, mutants, *LOGIC), make)
    return aig.read((folder / "design.aag").read_text())


@dataclass
class Close:
    """Which states are close: for each flip-flop and mark, what the mark is where it differs.

    Attributes
    ----------
    zero, one
        Whether the mark may be 0, or 1: bool, a row for each flip-flop, a column for each mark.
    """

    zero: np.ndarray
    one: np.ndarray

    def members(self) -> np.ndarray:
        """Return the numbers of the flip-flops that may differ."""
        return np.flatnonzero((self.zero | self.one).any(axis=1))

    def allows(self, members: np.ndarray, marks: np.ndarray) -> np.ndarray:
        """Return which members may differ in each column of marks."""
        must = (self.one & ~self.zero)[members].astype(np.float32)
        must_not = (self.zero & ~self.one)[members].astype(np.float32)
        return must @ (~marks).astype(np.float32) + must_not @ marks.astype(np.float32) == 0

    def join(self, apart: np.ndarray, marks: np.ndarray) -> bool:
        """Put in columns where flip-flops differ; return whether that is new."""
        rows = np.flatnonzero(apart.any(axis=1))
        where = apart[rows].astype(np.float32)
        one = where @ marks.T.astype(np.float32) > 0
        zero = where @ (~marks).T.astype(np.float32) > 0
        new = bool((one & ~self.one[rows]).any() or (zero & ~self.zero[rows]).any())
        self.one[rows] |= one
        self.zero[rows] |= zero
        return new


class Prover:
    """Proves mutants of one compiled design equivalent.

    Parameters
    ----------
    netlist
        The design with its mutants, numbered from 1 on.
    count
        How many there are.
    valids
        For each output that says whether others count: those.
    reset
        The input that resets the design, and its value while it does.
    reached
        States that occur, with inputs: :func:`extremum.tb.mutation.columns.reached`.
    """

    def __init__(
        self,
        netlist: aig.Netlist,
        count: int,
        valids: dict[str, tuple[str, ...]],
        reset: tuple[str, int],
        reached: tuple[np.ndarray, np.ndarray],
    ) -> None:
        from pysat.solvers import Solver  # noqa: PLC0415 - an extra of its own

        self._netlist = netlist
        self._solver: Any = Solver(name="cadical195")
        self._logic = logic = aig.Logic(self._solver)
        self._columns = Columns(netlist)
        self._selector = [
            netlist.inputs[f"{yosys.SELECTOR}[{place}]"] // 2
            for place in range(yosys.SELECTOR_BITS)
        ]
        self._chosen = aig.selected(netlist, self._selector, count + 1)
        given = {literal // 2: logic.free() for literal in netlist.inputs.values()}
        given |= {state // 2: logic.free() for state, _ in netlist.latches}
        self._constants = constants(netlist, self._columns, dict.fromkeys(self._selector, 0))
        given |= self._constants
        given |= {node: bits & 1 for node, bits in self._chosen.items()}
        self._free = [node for node, literal in given.items() if literal > 1]
        self._plain = plain = aig.Evaluation(netlist, logic, given)
        conditions = {name: valid for valid, names in valids.items() for name in names}
        self._outputs = []
        for name, literal in netlist.outputs.items():
            valid = conditions.get(name.partition("[")[0])
            counts = 1 if valid is None else netlist.outputs[valid]
            self._outputs.append((literal, counts))
        # Marks are the states that a reset makes constant.
        name, value = reset
        kept = plain.changed({netlist.inputs[name] // 2: value})

        def under_reset(literal: int) -> int:
            node = literal // 2
            return kept[node] ^ (literal & 1) if node in kept else plain.of(literal)

        self._marks = np.array(
            [n for n, (_, following) in enumerate(netlist.latches) if under_reset(following) < 2],
            int,
        )
        self._mark_literals = [
            (plain.of(netlist.latches[n][0]), plain.of(netlist.latches[n][1])) for n in self._marks
        ]
        self._flips = [logic.free() for _ in netlist.latches]
        nodes, bits = reached
        self._reached = np.zeros((self._columns.nodes, bits.shape[1] // 64 * 64), bool)
        self._reached[nodes] = bits[:, : self._reached.shape[1]]
        self._rng = np.random.default_rng(1)

    def is_equivalent(self, number: int, seconds: float = SECONDS[-1]) -> bool:
        """Return whether a mutant is proved to be equivalent in so many seconds."""
        until = time.process_time() + seconds
        shape = len(self._netlist.latches), len(self._marks)
        close = Close(np.zeros(shape, bool), np.zeros(shape, bool))
        # States that occur, and any that the two copies may differ in.
        grows = True
        while grows and time.process_time() < until:
            grows = False
            for first in range(0, self._reached.shape[1], COLUMNS):
                some = self._reached[:, first : first + COLUMNS]
                passed = self._pass(number, close, some)
                if passed is None:
                    return False
                grows |= passed
        while time.process_time() < until:
            example = self._example(number, close)
            if example is None:
                return not self._differs(number, close)
            grows = self._pass(number, close, *self._around(example, close.members()))
            if grows is None:
                return False
            assert grows, "the solver's example is one"
        return False

    def close(self) -> None:
        """Free the solver."""
        self._solver.delete()

    def _pass(
        self, number: int, close: Close, given: np.ndarray, flips: np.ndarray | None = None
    ) -> bool | None:
        """Let close states pass a clock; return whether D or a cube grows, None for a fault.

        ``flips`` tells which members of D differ where they may; if not given that is random.
        """
        columns, rng = self._columns, self._rng
        values = packed(given)
        values[self._selector] = 0
        marks = given[columns.states[self._marks]]
        members = close.members()
        if flips is None:
            rates = rng.choice((0.02, 0.5, 1.0), given.shape[1]).astype(np.float32)
            flips = rng.random((len(members), given.shape[1]), np.float32) < rates
        mutated = values.copy()
        mutated[columns.states[members]] ^= packed(flips & close.allows(members, marks))
        for place, node in enumerate(self._selector):
            mutated[node] = ONES if number >> place & 1 else 0
        columns.evaluate(values)
        columns.evaluate(mutated)
        outputs, counts = np.array(self._outputs, int).T
        wrong = literals(values, outputs) ^ literals(mutated, outputs)
        if (wrong & literals(values, counts)).any():
            return None
        following = columns.next_states(values)
        apart = following ^ columns.next_states(mutated)
        return close.join(unpacked(apart), unpacked(following[self._marks]))

    def _around(self, example: list[int], members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return an example as a column, and beside it others that are like it in most bits."""
        rng, logic = self._rng, self._logic
        literals = [self._plain.of(2 * node) for node in self._free]
        literals += [self._flips[latch] for latch in members]
        told = [logic.told(literal, example) for literal in literals]
        blank = np.array([value is None for value in told])
        rates = np.concatenate([[0], rng.choice((0.003, 0.02, 0.1, 0.4), 63)]).astype(np.float32)
        rates = np.where(blank[:, None], np.float32(0.5), rates)
        bits = (rng.random(rates.shape, np.float32) < rates) ^ np.array(told, bool)[:, None]
        found = np.zeros((self._columns.nodes, 64), bool)
        found[self._free] = bits[: len(self._free)]
        found[[node for node, value in self._constants.items() if value]] = True
        return found, bits[len(self._free) :]

    def _mutated(self, number: int, close: Close) -> dict[int, int]:
        """Return the literals of the nodes that are others in the copy with the fault."""
        logic, plain = self._logic, self._plain
        forced = {
            node: bits >> number & 1
            for node, bits in self._chosen.items()
            if (bits ^ bits >> number) & 1
        }
        for latch in close.members():
            own = self._netlist.latches[latch][0]
            allowed = self._in_cube(close, latch, 0)
            forced[own // 2] = logic.differ(plain.of(own), logic.both(self._flips[latch], allowed))
        return plain.changed(forced)

    def _in_cube(self, close: Close, latch: int, which: int) -> int:
        """Return the literal that the marks, or their next values, are in a latch's cube."""
        found = 1
        for mark in np.flatnonzero(close.one[latch] != close.zero[latch]):
            literal = self._mark_literals[mark][which]
            found = self._logic.both(found, literal ^ int(close.zero[latch, mark]))
        return found

    def _differ(self, literal: int, mutated: dict[int, int]) -> int:
        """Return the literal that a literal of the netlist differs between the copies."""
        other = mutated.get(literal // 2)
        if other is None:
            return 0
        return self._logic.differ(self._plain.of(literal), other ^ (literal & 1))

    def _example(self, number: int, close: Close) -> list[int] | None:
        """Return an example of close states whose next states are not close; None if none is."""
        logic, mutated = self._logic, self._mutated(number, close)
        members, wrong = set(close.members()), []
        for latch, (_, following) in enumerate(self._netlist.latches):
            apart = self._differ(following, mutated)
            if apart and latch in members:
                apart = logic.both(apart, self._in_cube(close, latch, 1) ^ 1)
            wrong.append(apart)
        return logic.example(logic.either(wrong))

    def _differs(self, number: int, close: Close) -> bool:
        """Return whether an output that counts can differ between close states."""
        logic, mutated = self._logic, self._mutated(number, close)
        wrong = [
            logic.both(self._plain.of(counts), self._differ(literal, mutated))
            for literal, counts in self._outputs
        ]
        return logic.example(logic.either(wrong)) is not None
