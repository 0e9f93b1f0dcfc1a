"""The machinery of mutants of Python: which there are, which are drawn, and what explains them."""

import re

import pytest

from extremum.tb.mutation import (
    explained,
)
from extremum.tb.mutation.software import (
    PACKAGES,
    Mutant,
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
