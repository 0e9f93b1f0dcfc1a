"""Runs the mutants of a build: the trials first, then the proofs, then the file of survivors."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extremum.tb.mutation import axi_trials, core_trials, yosys
from extremum.tb.mutation.columns import MOST_TRIALS, Columns, reached
from extremum.tb.mutation.compiled_design import CompiledDesign, Trial
from extremum.tb.mutation.designs import Design
from extremum.tb.mutation.explained import Rule, reason
from extremum.tb.mutation.proof import SECONDS, Prover, netlist_of

SAMPLED_ROUNDS, SAMPLES = range(100, 102), 512
"""Rounds of trials from which proofs draw states, and how many they draw."""

SAMPLED_CLOCKS = 100_000
"""Clocks of the longest of these trials: longer ones would take much memory, and show no more."""


@dataclass
class Outcome:
    """What became of the mutants of a block.

    Attributes
    ----------
    mutants
        How many there are.
    killed
        Of them: killed, by the kind of trial and the output that was wrong, ``"stalls: o__valid"``.
    equivalent
        Proved to be equivalent.
    explained
        Explained by a rule, by its reason.
    open
        Keys of those that the file lists as not explained yet.
    surviving
        Keys of the others, which must be none.
    seconds
        Time that the trials and proofs took.
    """

    mutants: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    equivalent: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    open: list[str] = field(default_factory=list)
    surviving: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return it as what JSON holds."""
        return {
            "mutants": self.mutants,
            "killed": self.killed.total(),
            "killed_by": dict(sorted(self.killed.items())),
            "equivalent": self.equivalent,
            "explained": self.explained.total(),
            "explained_by": dict(sorted(self.explained.items())),
            "open": sorted(self.open),
            "surviving": sorted(self.surviving),
            "seconds": round(self.seconds, 1),
        }


def valids(design: Design) -> dict[str, tuple[str, ...]]:
    """Return the outputs that say whether others count, with those."""
    return axi_trials.VALIDS if design.bus == "axi" else core_trials.VALIDS


def trials(design: Design, model: CompiledDesign, rounds: range) -> Iterator[Trial]:
    """Yield the trials of a design, in the order in which they are tried."""
    made_by = axi_trials if design.bus == "axi" else core_trials
    return made_by.trials(model, design.config, rounds)


class Campaign:
    """All mutants of one build, from the compiled model to what became of each.

    Parameters
    ----------
    design
        The design.
    mutants
        For each block: its mutants.
    tell
        Is called with what happens, a line at a time.
    """

    def __init__(
        self,
        design: Design,
        mutants: Mapping[str, Sequence[yosys.Mutant]],
        tell: Callable[[str], None] = print,
    ) -> None:
        self._design, self._tell = design, tell
        named = [(block, mutant) for block, some in mutants.items() for mutant in some]
        self._all = [mutant for _, mutant in named]
        self._block = {number: block for number, (block, _) in enumerate(named, 1)}
        self.alive = dict(enumerate(self._all, 1))
        self.outcomes = {block: Outcome(len(some)) for block, some in mutants.items()}
        self.model = CompiledDesign(design, self._all)

    def _told(self, block: str, started: float) -> None:
        self.outcomes[block].seconds += time.monotonic() - started

    def narrow(self) -> None:
        """Compile the mutants that are alive anew: without the others the design is faster."""
        if self.alive:
            self._block = {new: self._block[old] for new, old in enumerate(self.alive, 1)}
            self._all = list(self.alive.values())
            self.alive = dict(enumerate(self._all, 1))
            self.model = CompiledDesign(self._design, self._all)

    def kill(self, rounds: range, until: float) -> bool:
        """Try trials until none is left or the time is over; return whether it was enough.

        Raises
        ------
        RuntimeError
            The design without a fault differs from its own recording.
        """
        for trial in trials(self._design, self.model, rounds):
            if self.model.replay(0, trial) is not None:
                raise RuntimeError("the recording is not repeatable")
            before = len(self.alive)
            for number in list(self.alive):
                started = time.monotonic()
                block = self._block[number]
                difference = self.model.replay(number, trial)
                if difference is not None:
                    wrong = self.model.differing(trial, *difference)
                    self.outcomes[block].killed[f"{trial.kind}: {wrong}"] += 1
                    del self.alive[number]
                self._told(block, started)
            clocks, killed = len(trial.inputs), before - len(self.alive)
            self._tell(f"  {trial.kind}, {clocks} clocks: {killed} killed, {len(self.alive)} left")
            if not self.alive:
                break
            if time.monotonic() > until:
                return False
        return True

    def prove(self, until: float) -> None:
        """Prove survivors equivalent, until the time is over."""
        if not self.alive:
            return
        netlist = netlist_of(self._design, self._all)
        sampled = trials(self._design, self.model, SAMPLED_ROUNDS)
        short = (trial for trial in sampled if len(trial.inputs) <= SAMPLED_CLOCKS)
        recorded = list(itertools.islice(short, MOST_TRIALS))
        occurring = reached(netlist, Columns(netlist), self.model.inputs, recorded, SAMPLES)
        reset = ("aresetn", 0) if self._design.bus == "axi" else ("rst", 1)
        prover = Prover(netlist, len(self._all), valids(self._design), reset, occurring)
        for seconds, number in [(some, each) for some in SECONDS for each in self.alive]:
            if time.monotonic() > until:
                self._tell("  the time for proofs is over")
                break
            if number not in self.alive:
                continue
            started = time.monotonic()
            block = self._block[number]
            if prover.is_equivalent(number, seconds):
                self.outcomes[block].equivalent += 1
                del self.alive[number]
            self._told(block, started)
        prover.close()
        self._tell(f"  proofs: {len(self.alive)} left")

    def explain(self, rules: Sequence[Rule], known: Container[str] = ()) -> None:
        """Look the survivors up among the rules and in the list, and keep those in neither."""
        for number, mutant in self.alive.items():
            block = self._block[number]
            outcome = self.outcomes[block]
            why = reason(rules, block, mutant.place, mutant.name)
            if why is not None:
                outcome.explained[why] += 1
            elif f"{block}: {mutant.key}" in known:
                outcome.open.append(mutant.key)
            else:
                outcome.surviving.append(mutant.key)
