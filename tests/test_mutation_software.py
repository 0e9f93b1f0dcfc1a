"""The machinery of mutants of Python: which there are, which are drawn, and what explains them."""

import re
import resource
import sqlite3
from pathlib import Path

import pytest

from extremum.tb.mutation import explained, software, warm
from extremum.tb.mutation.packages import PACKAGES, Package
from extremum.tb.mutation.software import (
    Mutant,
    mutants,
    places_of_annotations,
    sample,
    together,
)
from extremum.tb.mutation.warm import statements


def test_annotations_are_told_from_code():
    source = "def f(a: int | None = 1 | 2) -> str | None:\n    b: int | str = a | 4\n    return b\n"
    places = places_of_annotations(source)
    bars = [(1, column) for column, sign in enumerate(source.splitlines()[0]) if sign == "|"]
    assert [place in places for place in bars] == [True, False, True]
    bars = [(2, column) for column, sign in enumerate(source.splitlines()[1]) if sign == "|"]
    assert [place in places for place in bars] == [True, False]


def test_annotations_are_not_mutated(tmp_path, monkeypatch):
    (tmp_path / "part.py").write_text("def f(a: int | None) -> int:\n    return a | 2\n")
    monkeypatch.setattr(software.subprocess, "run", lambda *_, **__: None)
    with sqlite3.connect(tmp_path / "part.sqlite") as base:
        base.execute(
            "CREATE TABLE mutation_specs (module_path, operator_name, occurrence, start_pos_row, "
            "start_pos_col)"
        )
        rows = [("part.py", "bar", 0, 1, 13), ("part.py", "bar", 1, 2, 13)]
        base.executemany("INSERT INTO mutation_specs VALUES (?, ?, ?, ?, ?)", rows)
    found = mutants("part", Package(("part.py",), ()), tmp_path)
    assert found == [Mutant("part.py", "bar", 1, 2)]


def test_a_mutant_that_cannot_be_made_is_left_out(monkeypatch, tmp_path):
    """Cosmic Ray fails to replace an exception such as `json.JSONDecodeError`."""

    def fails(mutant, folder):
        raise AttributeError("'PythonNode' object has no attribute 'value'")

    mutant = Mutant("a.py", "core/ExceptionReplacer", 0, 1)
    monkeypatch.setattr(Mutant, "code", lambda *_: "pass\n")
    assert mutant.is_another_program(tmp_path)
    monkeypatch.setattr(Mutant, "code", fails)
    assert not mutant.is_another_program(tmp_path)


def warm_tests(folder, monkeypatch, test):
    """Return the tests of a file, of one test, that imports a function from `part.py`."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    Path("part.py").write_text("def value():\n    return 1\n")
    Path("test_part.py").write_text(f"import pytest\nfrom part import value\n\n{test}\n")
    tests = object.__new__(warm.Tests)  # which would measure them
    tests._statements, tests._reached, tests._passing = {"part.py": {}}, {}, set()
    tests.seconds, tests._memory = {"test_part.py::test_it": 0.1}, resource.RLIM_INFINITY
    return tests


MUTANT = ("part.py", 2, "def value():\n    return 2\n")


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("def test_it():\n    assert value() == 1", "killed"),
        ("def test_it():\n    assert value() > 0", "survived"),
        ("def test_it():\n    while value() == 2:\n        pass", "timed_out"),
        ("if value() == 1:\n\n    def test_it():\n        pass", "survived"),
    ],
)
def test_what_becomes_of_a_mutant(tmp_path, monkeypatch, test, outcome):
    """One that leaves no test to run is not killed by any."""
    tests = warm_tests(tmp_path, monkeypatch, test)
    monkeypatch.setattr(warm, "SLACK", 4.0 if outcome == "timed_out" else 600.0)
    assert tests.become(*MUTANT)["outcome"] == outcome
    assert Path("part.py").read_text() == "def value():\n    return 1\n"


def test_a_test_that_fails_without_the_mutant_kills_none(tmp_path, monkeypatch):
    tests = warm_tests(tmp_path, monkeypatch, "def test_it():\n    assert value() == 3")
    with pytest.raises(RuntimeError, match="the tests end with 1 in this order"):
        tests.become(*MUTANT)


@pytest.mark.parametrize("surviving", [[], ["part.py:1 bar#0"]])
def test_a_new_survivor_fails(monkeypatch, capsys, surviving):
    told = {"killed": 1, "tried": 2, "open": [], "surviving": surviving, "seconds": 1.0}
    for name, value in {
        "mutate": lambda *_: told,
        "copy": lambda *_: None,
        "refuse_no_tree": lambda _: None,
        "refuse_unwritable": lambda *_: None,
        "read_evidence": lambda _: {},
        "_write": lambda found: found,
    }.items():
        monkeypatch.setattr(software, name, value)
    assert software.main(["plan"]) == len(surviving)
    printed = capsys.readouterr().out
    assert printed.count("survives: part.py:1 bar#0") == len(surviving)
    assert printed.endswith(f"{1 - len(surviving)} passed, {len(surviving)} failed\n")


def test_a_line_belongs_to_the_smallest_statement_around_it():
    source = """\
@cache
def f(
    a,
):
    for b in (
        a,
    ):
        g(
            b,
        )
    try:
        pass
    except (
        ValueError
    ):
        pass
"""
    found = statements(source)
    spans = [(found[line][0], found[line][-1]) for line in range(1, 17)]
    loop, call, handler = [(5, 7)] * 3, [(8, 10)] * 3, [(13, 15)] * 3
    assert spans == [(1, 4)] * 4 + loop + call + [(11, 11), (12, 12)] + handler + [(16, 16)]


def test_survivors_that_are_tried_again_are_added_to_what_was_known():
    before = {
        "mutants": 99, "tried": 9, "killed": 5, "timed_out": 1, "explained": 1,
        "explained_by": {"a": 1}, "open": ["x"], "surviving": ["y"], "seconds": 10.5,
    }  # fmt: skip
    told = {
        "mutants": 99, "tried": 2, "killed": 1, "timed_out": 0, "explained": 1,
        "explained_by": {"a": 1}, "open": [], "surviving": [], "seconds": 2.0,
    }  # fmt: skip
    assert together(before, told) == {
        "mutants": 99, "tried": 9, "killed": 6, "timed_out": 1, "explained": 2,
        "explained_by": {"a": 2}, "open": [], "surviving": [], "seconds": 12.5,
    }  # fmt: skip


def test_a_larger_sample_holds_a_smaller_one():
    every = [Mutant("a.py", "core/NumberReplacer", number, 1) for number in range(50)]
    assert sample(every, 20)[:7] == sample(every, 7)
    assert sample(every, 7) != every[:7]
    assert sorted(sample(every, 90), key=lambda mutant: mutant.occurrence) == every


@pytest.mark.parametrize("package", PACKAGES)
def test_every_rule_for_software_is_about_code_that_there_is(package, request):
    """A change of the code may leave rules behind that explain nothing any more."""
    root = request.config.rootpath
    paths = [path for name in PACKAGES[package].modules for path in sorted(root.glob(f"{name}*"))]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    codes = {
        f"{file.relative_to(root).as_posix()}: {line.strip()}"
        for file in files
        for line in file.read_text().splitlines()
    }
    some = [rule for rule in explained.rules() if rule.block == package]
    assert some
    assert not [rule.at for rule in some if not any(re.fullmatch(rule.at, c) for c in codes)]
