"""Digests of sources: what changes them, and what does not."""

import pytest

from extremum.tb.source_digest import changed_since, digests_of, source_digest

SOURCE = '''"""What it is."""


def half(x: int) -> int:
    """Halve."""
    return x // 2  # rounds down
'''
SAME = "def half(x: int) -> int:\n  return (x // 2)\n"
TYPED = '''
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from numbers import Real

@overload
def half(x: float) -> float: ...
@overload
def half(x: Real) -> Real: ...

def half(x: Real) -> Real:
    """Halve."""
    return x // 2
'''
OTHERWISE = """
if TYPE_CHECKING:
    def half(x): ...
else:
    def half(x):
        return x // 2
"""
CLASSES = """
import typing
class Pump:
    size: int = 1
    kind: typing.ClassVar[int] = 2
    async def run(self, clocks: int) -> None:
        done: bool = False
"""
SAME_CLASSES = """
from typing import Any
import typing
class Pump:
    size: Any = 1
    kind: typing.ClassVar[Any] = 2
    async def run(self, clocks):
        done: int = False
"""

SOURCE_OF_C = """/* A pump. */
#define PUMP /* nothing */

int pump;  // of water
char *text = "/* a  text */";
char quote = '"', slash[] = "\\"// ";  // text = "//";
"""
SAME_OF_C = r"""
// What pumps.
// It has two lines.
#define PUMP

  int pump; /* a " quote
  */
char *text = "/* a  text */";
char quote = '"', slash[] = "\"// ";"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "host" / "plan").mkdir(parents=True)
    (tmp_path / "host" / "plan" / "half.py").write_text(SOURCE)
    (tmp_path / "host" / "plan" / "pump.py").write_text(CLASSES)
    (tmp_path / "host" / "pump.cpp").write_text(SOURCE_OF_C)
    (tmp_path / "host" / "notes.txt").write_text("words")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "is_same"),
    [
        ("plan/half.py", SAME, True),
        ("plan/half.py", TYPED, True),
        ("plan/half.py", TYPED.replace("x: Real", "x: Real = 1"), False),
        ("plan/half.py", TYPED.replace("if TYPE_CHECKING", "if TYPE"), False),
        ("plan/half.py", TYPED.replace("@overload", "@other"), False),
        ("plan/half.py", OTHERWISE, True),
        ("plan/half.py", OTHERWISE.replace("//", "/"), False),
        ("plan/pump.py", SAME_CLASSES, True),
        ("plan/pump.py", SAME_CLASSES.replace("typing.ClassVar", "typing.Final"), False),
        ("plan/pump.py", SAME_CLASSES.replace("import typing", "import types"), False),
        ("plan/pump.py", SAME_CLASSES.replace("1", "2"), False),
        ("plan/pump.py", SAME_CLASSES.replace("False", "True"), False),
        ("notes.txt", "other words", True),
        ("plan/half.py", SOURCE.replace("x // 2", "x / 2"), False),
        ("pump.cpp", SAME_OF_C, True),
        ("pump.cpp", SAME_OF_C.replace("int pump", "int pumps"), False),
        ("pump.cpp", SAME_OF_C.replace("PUMP\n\n", "PUMP"), False),
        ("pump.cpp", SAME_OF_C.replace("a  text", "a text"), False),
        ("pump.cpp", SAME_OF_C.replace("/* a  text */", ""), False),
        ("pump.cpp", SAME_OF_C.replace('"// "', '""'), False),
        ("pump.hpp", "", False),
    ],
)
def test_what_changes_a_digest(tree, name, text, is_same):
    before = source_digest(["host"], root=tree)
    assert len(before) == 12
    (tree / "host" / name).write_text(text)
    assert (source_digest(["host"], root=tree) == before) == is_same


def test_a_file_of_another_name_is_another_source(tree):
    before = source_digest(["host"], root=tree)
    (tree / "host" / "pump.cpp").rename(tree / "host" / "pumps.cpp")
    assert source_digest(["host"], root=tree) != before


def test_a_folder_is_left_out(tree):
    before = source_digest(["host"], without="host/plan", root=tree)
    (tree / "host" / "plan" / "half.py").write_text("half = 2\n")
    assert source_digest(["host"], without="host/plan", root=tree) == before
    (tree / "host" / "pump.cpp").write_text("")
    assert source_digest(["host"], without="host/plan", root=tree) != before


def test_files_have_digests_of_their_own(tree):
    names = ["host/pump.cpp", "host/plan/half.py"]
    found = digests_of(names, root=tree)
    assert list(found) == names
    assert len(set(found.values())) == 2
    with pytest.raises(FileNotFoundError, match=r"gone\.py"):
        digests_of(["host/gone.py"], root=tree)


def test_a_file_that_is_named_counts_whatever_it_is(tree):
    before = source_digest(["host", "host/notes.txt"], root=tree)
    (tree / "host" / "notes.txt").write_text("other words")
    assert source_digest(["host", "host/notes.txt"], root=tree) != before


def test_what_has_changed_is_named():
    found = digests_of(["model/support.py", "drivers/c/extremum.h", "model/fast"])
    assert changed_since(found) == []
    changes = {"drivers/c/extremum.h": "0" * 12, "host/gone.py": "0" * 12}
    assert changed_since(found | changes) == ["drivers/c/extremum.h", "host/gone.py"]
