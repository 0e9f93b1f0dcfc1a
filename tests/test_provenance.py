"""Evidence of other gateware, or of other software, is told from that of the present one."""

import pytest
from evidence import (
    BLOCK,
    DOCUMENT,
    FAULTS,
    FORMAL,
    FUZZ,
    MUTATION,
    REGRESSION,
    SOURCES,
    run,
    write,
)

from extremum.tb.evidence import read_evidence
from extremum.tb.mutation.blocks import BLOCKS
from extremum.tb.netlists import EVIDENCE, golden_model
from extremum.tb.regression.revision import Revision
from extremum.tb.report.provenance import notes, stale
from extremum.tb.report.sections import SECTIONS


def of_earlier_gateware(folder, *, same):
    """Write evidence in which one block's mutants are of the earlier gateware aaaa.

    ``same`` are the netlists that it has in common with the present one.
    """
    block, present = BLOCKS[0], "0123456789ab"
    mutated = MUTATION["gateware"] | {block: BLOCK | {"revision": "aaaa"}}
    earlier = [{"revision": {"gateware": "aaaa"}, "same": same}]
    revisions = {"gateware": present, "core": present}
    netlists = {"revision": revisions, "netlists": {}, "earlier": earlier}
    write(folder, mutation=MUTATION | {"gateware": mutated}, netlists=netlists)


@pytest.mark.parametrize("same", [[], ["mutated windows"], ["mutated rows"]])
def test_evidence_of_another_gateware_fails(same, tmp_path, monkeypatch, capsys):
    """Unless the netlist that it speaks of is still the same."""
    present = Revision("0123456789ab", "", "0123456789ab")
    for module in ("extremum.tb.netlists", "extremum.tb.report.provenance"):
        monkeypatch.setattr(f"{module}.revision", lambda: present)
    of_earlier_gateware(tmp_path, same=same)
    (tmp_path / "document.md").write_text(DOCUMENT.read_text())
    is_right = same == ["mutated rows"]
    assert run(tmp_path, tmp_path / "document.md", tmp_path / "page.html") == (not is_right)
    printed = capsys.readouterr().out
    assert ("of another gateware: aaaa" in printed) == (not is_right)
    failed = int(not is_right)
    assert printed.endswith(f"{len(SECTIONS) - failed} passed, {failed} failed\n")
    told = notes(tmp_path)
    end = "whose netlists are those of the present one" if is_right else "is the present one"
    assert f"{end}; of software" in told["mutation.json"]
    assert "0123456789ab, aaaa, " in told["mutation.json"]
    assert told["regression.json"].endswith("0123456789ab, which is the present one")


@pytest.mark.parametrize(
    ("missing", "drawn", "model", "stale_too"),
    [
        (None, 0, None, set()),
        ("balanced-every_type", 0, None, {"regression", "coverage"}),
        (
            "image",
            0,
            None,
            {"regression", "coverage", "code-coverage", "faults", "planted"},
        ),
        ("proof pooling-groups-balanced", 0, None, {"formal"}),
        (None, 3, None, {"regression", "coverage"}),
        (None, 0, "another model", {"regression", "coverage", "code-coverage", "faults"}),
    ],
)
def test_evidence_of_earlier_gateware(tmp_path, monkeypatch, missing, drawn, model, stale_too):
    """Whether it holds depends on the cores that it is of, and on the golden model.

    The regression runs balanced cores, too, and some that are drawn at random.
    """
    present, names = "present", set(read_evidence(EVIDENCE)["netlists"])
    for module in ("extremum.tb.netlists", "extremum.tb.report.provenance"):
        monkeypatch.setattr(
            f"{module}.revision", lambda: Revision(present, "ba9876543210", present)
        )
    earlier = {"revision": {"gateware": "0123456789ab"}, "model": model or golden_model(),
               "same": sorted(names - {missing})}  # fmt: skip
    revisions = {"gateware": present, "core": present}
    regression = REGRESSION | {"random_cores": {"cores": drawn, "cases": drawn, "jobs": drawn}}
    write(
        tmp_path,
        regression=regression,
        netlists={"revision": revisions, "netlists": {}, "earlier": [earlier]},
    )
    found = {section.name for section in SECTIONS if stale(section, tmp_path)}
    assert found == stale_too
    told = notes(tmp_path)["regression.json"]
    assert ("and present is the present one" in told) == ("regression" in stale_too)


@pytest.mark.parametrize("bench", [None, "another"])
def test_cases_of_another_bench_fail(tmp_path, monkeypatch, bench):
    """It may have compared less than the present one does."""
    present = Revision("0123456789ab", "ba9876543210", "0123456789ab")
    monkeypatch.setattr("extremum.tb.report.provenance.revision", lambda: present)
    write(tmp_path, regression=REGRESSION | {"revision": {"gateware": "0123456789ab"} | (
        {"bench": bench} if bench else {})})  # fmt: skip
    found = {section.name: stale(section, tmp_path) for section in SECTIONS}
    told = (f"of another bench than the present one: {bench or 'it names none'}",)
    assert {name: each for name, each in found.items() if each} == {
        "regression": told, "coverage": told,
    }  # fmt: skip


def test_what_has_changed_stands_in_the_document(tmp_path):
    """Not only on the terminal of whoever wrote it."""
    write(tmp_path, fuzz=FUZZ | {"sources": SOURCES | {"model": "0" * 12}})
    (tmp_path / "document.md").write_text(DOCUMENT.read_text())
    assert run(tmp_path, tmp_path / "document.md", tmp_path / "page.html") == 1
    assert "| of sources that have changed: model |" in (tmp_path / "document.md").read_text()


def test_all_evidence_of_another_gateware_fails(tmp_path, monkeypatch):
    """Each kind that depends on the gateware; the software's mutants and fuzzing do not."""
    monkeypatch.setattr("extremum.tb.report.provenance.revision", lambda: Revision("a", "b", "c"))
    write(tmp_path)
    failed = {section.name for section in SECTIONS if stale(section, tmp_path)}
    assert failed == {section.name for section in SECTIONS} - {"software", "fuzz"}
    unnamed = {"revision": {"gateware": None}}
    planted = MUTATION | {"planted": MUTATION["planted"] | unnamed}
    write(tmp_path, faults=FAULTS | unnamed, mutation=planted)
    found = {section.name: stale(section, tmp_path) for section in SECTIONS}
    assert found["faults"] == found["planted"] == ("of gateware that it does not name",)
    told = notes(tmp_path)
    assert told["regression.json"].endswith("0123456789ab, and a or c is the present one")


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        ({}, "of sources that it does not name"),
        (SOURCES | {"model": "0" * 12}, "of sources that have changed: model"),
        (SOURCES | {"host/that/is/gone.py": "0" * 12}, "changed: host/that/is/gone.py"),
    ],
)
def test_evidence_of_other_software_fails(sources, told, tmp_path, capsys):
    plan = MUTATION["software"]["plan"]
    write(
        tmp_path,
        formal=FORMAL | {"sources": sources},
        fuzz=FUZZ | {"sources": sources},
        mutation=MUTATION | {"software": {"model": plan, "plan": plan | {"sources": sources}}},
    )
    (tmp_path / "document.md").write_text(DOCUMENT.read_text())
    assert run(tmp_path, tmp_path / "document.md", tmp_path / "page.html") == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.endswith(told)]
    assert [line.split("  ")[0] for line in lines if ".json: " not in line] == [
        section.title for section in SECTIONS if section.name in ("formal", "software", "fuzz")
    ]


def test_what_evidence_says_of_software_is_told(tmp_path):
    write(tmp_path, fuzz=FUZZ | {"sources": SOURCES | {"model": ""}})
    told = notes(tmp_path)
    assert told["mutation.json"].endswith("of software that has not changed")
    assert told["fuzz.json"].endswith("of software that has changed: model")
