"""Evidence that contradicts itself is told by the report."""

import json

import pytest
from evidence import ROOT

from extremum.tb.report import consistent
from extremum.tb.report.consistent import contradictions
from extremum.tb.report.sections import SECTIONS

EVIDENCE = ROOT / "docs" / "evidence"

CONTRADICTING = [
    ("regression", "regression", lambda found: found["total"].update(beats=1), "beats: 1 in all"),
    ("regression", "regression", lambda found: found["backends"].pop("icarus"), "in its parts"),
    (
        "regression",
        "regression",
        lambda found: found["backends"]["icarus"].update(differences=7),
        "differences: 0 in all, 7 in its parts",
    ),
    ("regression", "regression", lambda found: found["passes"].clear(), "and 0 in the passes"),
    (
        "regression",
        "regression",
        lambda found: found["passes"][-1].update(bench="another"),
        "in the passes of this bench",
    ),
    (
        "regression",
        "coverage",
        lambda found: found["coverage"]["points"]["ties"].update(met=3),
        "bins met of ties: 3 in all",
    ),
    ("regression", "coverage", lambda found: found["coverage"].update(met=3), "bins met: 3 in all"),
    ("regression", "coverage", lambda found: found["coverage"].update(bins=3), "bins: 3 in all"),
    (
        "mutation",
        "mutation",
        lambda found: found["gateware"]["key"].update(mutants=1),
        "mutants of key: 1 in all",
    ),
    (
        "mutation",
        "mutation",
        lambda found: found["gateware"]["key"]["open"].append("one"),
        "mutants of key",
    ),
    (
        "mutation",
        "software",
        lambda found: found["software"]["plan"].update(killed=0),
        "mutants of plan",
    ),
    ("formal", "formal", lambda found: found["proofs"].pop(), "proofs: "),
    (
        "formal",
        "formal",
        lambda found: found["proofs"][3].update(status="failed"),
        "failed proofs: ",
    ),
    (
        "formal",
        "formal",
        lambda found: found.update(passed=found["passed"] - 1, failed=1),
        "failed proofs: 1 in all",
    ),
    (
        "formal",
        "formal",
        lambda found: found["proofs"][3]["failures"].append("it is wrong"),
        "proved, with 1 failures",
    ),
    (
        "mutation",
        "mutation",
        lambda found: found["gateware"]["key"]["killed_by"].update(more=1000),
        "mutants of key, killed: ",
    ),
    (
        "mutation",
        "software",
        lambda found: found["software"]["plan"]["explained_by"].clear(),
        "mutants of plan, explained: ",
    ),
    (
        "codecoverage",
        "code-coverage",
        lambda found: found["kinds"]["line"].update(total=1),
        "line, total: 1 in all",
    ),
    ("faults", "faults", lambda found: found["blocks"][0].update(count=1), "upsets of "),
    ("faults", "faults", lambda found: found["blocks"][0]["cures"].clear(), ", masked: "),
    ("faults", "faults", lambda found: found.update(passed=0, failed=3), "blocks that passed: 0"),
    (
        "faults",
        "faults",
        lambda found: found["blocks"][0].update(result="failed"),
        "blocks that failed: 0 in all, 1 in its parts",
    ),
    ("fuzz", "fuzz", lambda found: found["targets"].pop(), "targets that passed: "),
]
"""Files of evidence, sections, what makes one contradict itself, and what is told then."""


@pytest.mark.parametrize(("file", "name", "change", "told"), CONTRADICTING)
def test_evidence_that_contradicts_itself_is_told(tmp_path, file, name, change, told):
    found = json.loads((EVIDENCE / f"{file}.json").read_text())
    (section,) = (each for each in SECTIONS if each.name == name)
    assert contradictions(section, EVIDENCE) == ()
    change(found)
    (tmp_path / f"{file}.json").write_text(json.dumps(found))
    assert any(told in each for each in contradictions(section, tmp_path))


def test_what_looks_for_contradictions_is_named_as_sections_are():
    assert consistent._CHECKS.keys() <= {section.name for section in SECTIONS}
