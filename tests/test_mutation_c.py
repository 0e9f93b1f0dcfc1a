"""The mutants of C: which there are, and which of them are other programs."""

import shutil

import pytest

from extremum.tb.mutation.c_source import changes, is_another_program, mutated, numbered

SOURCE = b"""\
#include "limits.h"

int most(int a, int b)
{
    if (a < b && !(b == MOST)) {
        a = b + 1u;
    }
    for (int i = 0; i < a; i++) {
        i += 0;
    }
    return a > 0 ? a : b;
}
"""


def test_each_change_is_at_its_place():
    found = {(change.operator, change.line, SOURCE[change.first : change.last].decode())
             for change in changes(SOURCE)}  # fmt: skip
    assert found == {
        ("condition false", 5, "(a < b && !(b == MOST))"),
        ("condition true", 5, "(a < b && !(b == MOST))"),
        ("replace && by ||", 5, "&&"),
        ("replace < by <=", 5, "<"),
        ("replace < by >=", 5, "<"),
        ("no !", 5, "!"),
        ("replace == by !=", 5, "=="),
        ("replace == by <=", 5, "=="),
        ("replace == by >=", 5, "=="),
        ("no statement", 6, "a = b + 1u;"),
        ("replace + by -", 6, "+"),
        ("number + 1", 6, "1u"),
        ("number - 1", 6, "1u"),
        ("number + 1", 8, "0"),
        ("replace < by <=", 8, "<"),
        ("replace < by >=", 8, "<"),
        ("replace ++ by --", 8, "++"),
        ("no statement", 9, "i += 0;"),
        ("replace += by -=", 9, "+="),
        ("number + 1", 9, "0"),
        ("condition false", 11, "a > 0"),
        ("condition true", 11, "a > 0"),
        ("replace > by >=", 11, ">"),
        ("replace > by <=", 11, ">"),
        ("number + 1", 11, "0"),
    }


def test_a_change_is_named_by_its_number_among_those_of_its_kind():
    places = [(c.operator, number) for c, number in numbered(SOURCE) if "< by <=" in c.operator]
    assert places == [("replace < by <=", 0), ("replace < by <=", 1)]
    assert mutated(SOURCE, "replace < by <=", 1) == SOURCE.replace(b"i < a", b"i <= a")
    assert mutated(SOURCE, "number + 1", 0) == SOURCE.replace(b"1u", b"(1u + 1)")
    assert mutated(SOURCE, "condition true", 0) == SOURCE.replace(
        b"(a < b && !(b == MOST))", b"(1)"
    )
    assert mutated(SOURCE, "no statement", 1) == SOURCE.replace(b"i += 0;", b";")


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_what_is_compiled_to_the_same_or_to_nothing_is_no_mutant(tmp_path):
    (tmp_path / "limits.h").write_text("#define MOST 9\n")

    def differs(operator, number):
        return is_another_program(SOURCE, mutated(SOURCE, operator, number), tmp_path)

    assert differs("replace < by <=", 0)
    assert not differs("no statement", 1)  # which does nothing
    assert not is_another_program(SOURCE, SOURCE.replace(b"return", b"retur"), tmp_path)
    with pytest.raises(RuntimeError, match="cannot be compiled without a mutant"):
        is_another_program(SOURCE[:-2], SOURCE, tmp_path)
