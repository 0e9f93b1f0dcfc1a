"""`make report`: the document agrees with the evidence, and what is missing or wrong is told."""

from __future__ import annotations

import importlib.util
import json
import re
from html.parser import HTMLParser

import pytest
from evidence import (
    BLOCK,
    CODE_COVERAGE,
    DOCUMENT,
    FAULTS,
    FORMAL,
    FUZZ,
    MUTATION,
    README,
    REGRESSION,
    ROOT,
    run,
    write,
)

from extremum.tb.mutation.blocks import BLOCKS
from extremum.tb.report import mutants
from extremum.tb.report.__main__ import told_of
from extremum.tb.report.complete import left_out
from extremum.tb.report.document import parts, rewritten, short_parts
from extremum.tb.report.section import ReportError
from extremum.tb.report.sections import SECTIONS

EVIDENCE = ROOT / "docs" / "evidence"


def tell(folder):
    """Return what each section tells of the evidence in a folder."""
    return {section: section.told(folder) for section in SECTIONS}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page on the whole evidence; the plots take a second."""
    if not importlib.util.find_spec("matplotlib"):
        pytest.skip("no matplotlib")
    folder = tmp_path_factory.mktemp("report")
    write(folder)
    (folder / "document.md").write_text(DOCUMENT.read_text())
    assert run(folder, folder / "document.md", folder / "made" / "page.html") == 0
    return (folder / "made" / "page.html").read_text()


def test_the_document_is_what_the_evidence_says():
    """Run `make report` if this fails: evidence, or what it speaks of, has changed."""
    pytest.importorskip("onnx")
    told, document, readme = told_of(EVIDENCE), DOCUMENT.read_text(), README.read_text()
    assert rewritten(document, parts(told)) == document, "run `make report`"
    assert rewritten(readme, short_parts(told)) == readme, "run `make report`"


def test_the_evidence_leaves_nothing_out():
    """A proof, a target or a bin that is new has to be run before the report passes."""
    pytest.importorskip("onnx")
    assert {section.name: left_out(section, EVIDENCE) for section in SECTIONS} == {
        section.name: () for section in SECTIONS
    }


LESS = {
    "regression": (
        lambda found: found["total"].update(cases=0) or found["coverage"]["points"].popitem(),
        {"regression": "no case was run", "coverage": "bins left out, such as"},
    ),
    "formal": (
        lambda found: (
            found["proofs"].pop(), found["proofs"][0]["faults"].clear(),
            found["proofs"][0]["covered"].clear(), found["sources"].pop("model"),
        ),
        {"formal": "1 source left out, such as model"},
    ),
    "mutation": (
        lambda found: (found["software"].pop("plan"), found["planted"]["bugs"].pop()),
        {"software": "1 package left out, such as plan", "planted": "1 bug left out, such as"},
    ),
    "mutation of the model": (
        lambda found: found["software"]["model"]["sources"].pop("model/fast"),
        {"software": "1 source left out, such as model/fast"},
    ),
    "faults": (lambda found: found["blocks"].pop(0), {"faults": "1 block left out, such as red"}),
    "fuzz": (
        lambda found: found.update(
            targets=[target for target in found["targets"] if target["name"] != "npy files"]
        ),
        {"fuzz": "1 target left out, such as npy files"},
    ),
    "fuzz of less": (
        lambda found: found["sources"].pop("hdl"), {"fuzz": "1 source left out, such as hdl"},
    ),
}  # fmt: skip
"""Files of evidence by the first word, what makes less of each, and what is told then."""


@pytest.mark.parametrize("name", LESS)
def test_evidence_that_leaves_something_out_is_told(tmp_path, name):
    pytest.importorskip("onnx")
    file, (less, expected) = name.split()[0], LESS[name]
    found = json.loads((EVIDENCE / f"{file}.json").read_text())
    less(found)
    (tmp_path / f"{file}.json").write_text(json.dumps(found))
    told = {section.name: left_out(section, tmp_path) for section in SECTIONS}
    assert {name for name, problems in told.items() if problems} == expected.keys()
    for section, problem in expected.items():
        assert problem in told[section][0]
    if file == "formal":
        kinds = [problem.split(" left out")[0] for problem in told["formal"]]
        assert kinds[:2] == ["1 source", "1 proof"]
        assert kinds[2].endswith(("planted fault", "planted faults"))
        assert kinds[3] == "1 cover"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("bounded", False, "for another length of time"),
        ("depth", 99, "of another depth"),
        ("claim", "All is right.", "of another claim"),
    ],
)
def test_another_proof_of_the_same_name_is_told(tmp_path, name, value, said):
    found = json.loads((EVIDENCE / "formal.json").read_text())
    for proof in found["proofs"]:
        proof[name] = value
    (tmp_path / "formal.json").write_text(json.dumps(found))
    (section,) = (each for each in SECTIONS if each.name == "formal")
    (told,) = left_out(section, tmp_path)
    assert f"proofs {said}, such as" in told


def test_documents_are_written_together_or_not_at_all(tmp_path, monkeypatch, capsys):
    write(tmp_path)
    document = tmp_path / "document.md"
    document.write_text(DOCUMENT.read_text())

    def fail(contents, **options):
        raise OSError(28, "No space left on device", str(document))

    monkeypatch.setattr("extremum.tb.report.__main__.write_together", fail)
    assert run(tmp_path, document, tmp_path / "page.html") == 1
    assert "No space left on device" in capsys.readouterr().err
    assert document.read_text() == DOCUMENT.read_text()


@pytest.mark.parametrize("name", ["fuzz", "netlists", "another"])
def test_a_file_that_is_no_evidence_is_told_in_one_line(tmp_path, capsys, name):
    write(tmp_path)
    (tmp_path / f"{name}.json").write_text("[]")
    (tmp_path / "document.md").write_text(DOCUMENT.read_text())
    assert run(tmp_path, tmp_path / "document.md", tmp_path / "page.html") == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_what_the_evidence_says_is_told(tmp_path):
    write(tmp_path)
    told = tell(tmp_path)
    assert not any(each.problems for each in told.values())
    text = " ".join("\n".join(parts(told).values()).split())
    for sentence in (
        "1,000 cases, 9,000 jobs, 12,000 beats: 0 differences",
        "3 of 3 bins met. None is missing.",
        "2 of 2 properties proved",
        "| 2 clocks |",
        "98 of 100 points hit, 2 waived with a reason",
        "| line | 100 | 98 | 2 | 0 | 100 % |",
        "| a \\| b | `hdl/key.py` | unit tests of the part |",
        "56 of 60 mutants killed by a test and 3 by the time, 1 explained, 0 open; a sample",
        "200 upsets: 2 latent, 148 masked, 50 wrong result",
        "| image | 900 | 200 | 2 | 148 | 50 | 199 | 1 | 0 | 3 | passed |",
        "1,000 inputs to 1 target, in 10.0 minutes: 0 failures",
        "order-bounded (`hdl/key.py`) is proved for the first 2 clocks",
    ):
        assert sentence in text


def test_new_survivors_are_open_ones():
    block = BLOCK | {"killed": 477, "open": ["one"], "surviving": ["another", "a third"]}
    told = mutants.gateware({"key": block})
    assert told.summary.endswith("477 killed, 18 proved equivalent, 2 explained, 3 open")
    assert told.problems[:2] == ("1 open mutant", "2 new survivors")


def _changed(whole, *path, value):
    """Return evidence with another value at a place."""
    whole = json.loads(json.dumps(whole))
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return whole


@pytest.mark.parametrize(
    ("file", "whole", "problems"),
    [
        (
            "regression",
            _changed(REGRESSION, "total", "differences", value=2),
            {"regression": "2 differences"},
        ),
        (
            "regression",
            _changed(REGRESSION, "coverage", "missing", value=["stalls: job, never"]),
            {"coverage": "1 bin missing"},
        ),
        (
            "formal",
            _changed(FORMAL, "proofs", 0, "status", value="failed"),
            {"formal": "order-ever is not proved"},
        ),
        (
            "formal",
            _changed(FORMAL, "proofs", 0, "faults", 0, "found", value=None),
            {"formal": "order-ever: a planted fault is not found"},
        ),
        (
            "mutation",
            MUTATION | {"gateware": {"key": BLOCK | {"open": ["a"], "surviving": ["b", "c"]}}},
            {"mutation": f"1 open mutant; 2 new survivors; {len(BLOCKS) - 1} blocks left out"},
        ),
        (
            "mutation",
            _changed(MUTATION, "gateware", "key", "explained_by", value={"it was so": 2}),
            {"mutation": "2 mutants of key explained by a reason that is gone"},
        ),
        (
            "mutation",
            _changed(MUTATION, "software", "plan", "tried", value=0),
            {"software": "no mutant of plan was tried"},
        ),
        (
            "mutation",
            _changed(MUTATION, "gateware", "key", "mutants", value=0),
            {"mutation": "no mutant of key was tried"},
        ),
        (
            "mutation",
            _changed(MUTATION, "planted", "bugs", 0, "caught_by", value=None),
            {"planted": "1 planted bug not caught"},
        ),
        (
            "codecoverage",
            _changed(CODE_COVERAGE, "kinds", "line", "waived", value=1),
            {"code-coverage": "1 hole"},
        ),
        (
            "faults",
            _changed(FAULTS, "blocks", 0, "result", value="failed"),
            {"faults": "image: failed"},
        ),
        (
            "faults",
            _changed(FAULTS, "blocks", 0, "cures", "masked", value={"nothing": 1}),
            {"faults": "1 upset that no reset ends"},
        ),
        ("faults", _changed(FAULTS, "blocks", 0, "count", value=0), {"faults": "image: no upset"}),
        ("fuzz", _changed(FUZZ, "targets", 0, "result", value="failed"), {"fuzz": "npy: failed"}),
        ("fuzz", FUZZ | {"only": ["npy"]}, {"fuzz": "only npy was fuzzed"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) and len(value) == 1 else "",
)
def test_what_speaks_against_a_claim_is_told(tmp_path, file, whole, problems):
    write(tmp_path, **{file: whole})
    told = tell(tmp_path)
    assert {
        section.name: "; ".join(each.problems) for section, each in told.items() if each.problems
    } == problems
    (problem,) = problems.values()
    assert f"| {problem.replace('; ', ', ')} |" in parts(told)["summary"]


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ("regression", "functional coverage"),
        ("mutation", "planted bugs"),
        ("formal", "proofs"),
        ("codecoverage", "code coverage"),
        ("faults", "upsets"),
        ("fuzz", "fuzzing"),
    ],
)
def test_a_missing_file_is_told(tmp_path, file, title):
    write(tmp_path, **{file: None})
    told = tell(tmp_path)
    sentence = (
        f"Nothing is shown of {title}: docs/evidence/{file}.json would hold it, and there is no "
        "such file"
    )
    (missing,) = (name for name, each in told.items() if sentence in each.limits[0])
    made = {name: " ".join(text.split()) for name, text in parts(told).items()}
    assert {name for name, text in made.items() if sentence in text} == {missing.name, "limits"}
    assert not told[missing].is_there
    assert told[missing].problems == ("no evidence",)


def test_a_missing_part_of_a_file_is_told(tmp_path):
    write(tmp_path, mutation={"gateware": MUTATION["gateware"]})
    text = " ".join(parts(tell(tmp_path))["planted"].split())
    assert 'mutation.json would hold it, and "planted" is not in it' in text


def test_missing_evidence_fails_and_is_on_the_page(tmp_path, capsys):
    (tmp_path / "document.md").write_text(DOCUMENT.read_text())
    assert run(tmp_path, tmp_path / "document.md", tmp_path / "page.html") == 1
    printed = capsys.readouterr().out
    assert printed.endswith(f"\n0 passed, {len(SECTIONS)} failed\n")
    page = (tmp_path / "page.html").read_text()
    assert page.count("Nothing is shown of fuzzing") == 2, "in its section, and in the limits"
    assert "<svg" not in page


@pytest.mark.parametrize(
    ("file", "found", "told"),
    [
        ("fuzz", {"targets": [{"name": "npy"}]}, "is not of the form that is known"),
        ("mutation", [], "is no evidence, restore or remove it: it is not an object"),
        ("regression", [1], "is no evidence, restore or remove it: it is not an object"),
        ("regression", REGRESSION | {"revision": []}, "not of the form that is known"),
        ("regression", REGRESSION | {"coverage": {"points": {"x": {"bins": {}}}}}, "not of the f"),
        ("netlists", {"versions": []}, "is not of the form that is known"),
    ],
)
def test_evidence_of_another_form_is_refused(tmp_path, capsys, file, found, told):
    """In a line that names it, and all files stay as they were."""
    write(tmp_path, **{file: found})
    document, page = tmp_path / "document.md", tmp_path / "page.html"
    document.write_text(DOCUMENT.read_text())
    assert run(tmp_path, document, page) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("report: ")
    assert told in line
    assert document.read_text() == DOCUMENT.read_text()
    assert not page.exists()


def test_a_document_without_a_part_is_refused():
    document = "<!-- report: a -->\nold\n<!-- /report -->\n"
    assert rewritten(document, {"a": "new"}) == "<!-- report: a -->\n\nnew\n\n<!-- /report -->\n"
    for made in ({}, {"b": ""}, {"a": "", "b": ""}):
        with pytest.raises(ReportError, match="must have the parts"):
            rewritten(document, made)


class References(HTMLParser):
    """Collects all that a page refers to, and the anchors in it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.anchors: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("src", "srcset", "href", "xlink:href", "data", "action", "poster"):
                self.found.append(value or "")
            if name == "id":
                self.anchors.add(value or "")


def test_the_page_needs_nothing_else(page):
    references = References()
    references.feed(page)
    assert not references.tags & {"link", "script", "iframe", "img", "object", "base"}
    assert references.found
    assert all(each.startswith("#") for each in references.found)
    assert {each.removeprefix("#") for each in references.found} <= references.anchors
    assert all(each.startswith("#") for each in re.findall(r"url\((.*?)\)", page))
    assert "http" not in page
    assert "@import" not in page


def test_the_page_has_the_tables_and_the_plots(page):
    assert "Keys are in order." in page
    assert page.count("<svg") == sum(len(section.plots) for section in SECTIONS)
    assert "No block has run on a board." in page
    assert "of the gateware 0123456789ab, which is the present one" in page
