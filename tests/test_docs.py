"""The documents hold: their blocks run, and what they name is there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import click
import pytest
from documents import BLOCKS, DOCUMENTS, ROOT, Block, Notebook, missing_tool

from extremum.hdl import CoreConfig
from extremum.host import cache
from extremum.host.cli.commands import commands
from extremum.host.plan import plan
from extremum.model import DataType, Pooling
from extremum.tb.mutation.planted import known_files

CLI = click.Context(commands)
COMMANDS = {
    name: command
    for name in commands.list_commands(CLI)
    if (command := commands.get_command(CLI, name))
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LEFT_OUT = [block for block in BLOCKS if block.is_left_out]
TEXT = [*DOCUMENTS, ROOT / "CHANGELOG.md"]
HISTORY = {ROOT / "CHANGELOG.md", *(ROOT / "docs" / "decisions").glob("*.md")}
"""Documents that may name what is no longer there."""


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    """The notebooks of the documents, by path; what a block needs was done by those before it."""
    opened: dict[Path, Notebook] = {}

    def notebook(path: Path) -> Notebook:
        if path not in opened:
            opened[path] = Notebook(path, tmp_path_factory.mktemp(path.stem))
        return opened[path]

    return notebook


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_blocks_do_as_they_show(block: Block, notebooks) -> None:
    if tool := missing_tool(block):
        pytest.skip(f"{tool} is not installed")
    problem = notebooks(block.path).problem(block)
    assert not problem, f"{block.name}\n{problem}"


def test_few_blocks_are_not_run() -> None:
    """Each block that is left alone has a reason, and their number is known."""
    assert [block.name for block in LEFT_OUT if not block.reason] == []
    assert len(LEFT_OUT) == 7


@pytest.fixture(scope="module")
def targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", TEXT, ids=lambda path: path.name)
def test_targets_that_are_named_exist(path: Path, targets: set[str]) -> None:
    named = set(re.findall(r"`make\s+([\w-]+)", path.read_text()))
    assert named <= targets
    if path.name == "README.md":
        assert named


@pytest.mark.parametrize("block", LEFT_OUT, ids=lambda block: block.name)
def test_commands_that_are_not_run_exist(block: Block, targets: set[str]) -> None:
    """The targets of make are there, and the command line knows the options."""
    for command, _ in block.commands:
        program, *arguments = shlex.split(command.removeprefix(".venv/bin/"), comments=True)
        if program == "make":
            assert {word for word in arguments if "=" not in word} <= targets, command
        if program == "extremum":
            found = COMMANDS[arguments[0]]
            found.make_context(arguments[0], arguments[1:]).close()


@pytest.mark.parametrize("path", sorted({*TEXT} - HISTORY), ids=lambda path: path.name)
def test_options_that_are_named_exist(path: Path) -> None:
    """Only inline code is looked at here, since the blocks are run."""
    known = {"--help", "--version", *(
        option
        for command in COMMANDS.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    )}  # fmt: skip
    # Of nextpnr, Verilator and FuseSoC.
    foreign = {
        "--tmg-ripup",
        "--placer-heap-timingweight",
        "--lint-only",
        "--binary",
        "-fno-const-bit-op-tree",
        "--timing",
        "--cores-root",
        "--target",
        "--freq",
    }
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for code in re.findall(r"`([^`]+)`", text):
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code):
            assert option in known | foreign, f"{path.name}: `{code}`"


@pytest.mark.parametrize("path", TEXT, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if not target.startswith(("http:", "https:")):
            file, _, anchor = target.partition("#")
            linked = path.parent / file if file else path
            assert linked.exists(), f"{path.name} links to {target}"
            if anchor:
                assert anchor in anchors(linked), f"{path.name} links to {target}"


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("path", sorted({*TEXT} - HISTORY), ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    found = re.findall(
        r"`((?:model|hdl|host|tb|tests|bench|docs|examples)/[\w./*]*)", path.read_text()
    )
    for name in found:
        assert list(ROOT.glob(name.rstrip("./"))), f"{path.name} names {name}"


@pytest.mark.parametrize("folder", ["hdl", "hdl/axi", "hdl/timing", "host"])
def test_the_architecture_names_every_file(folder: str) -> None:
    """In full, or by its name alone in the row or in the table of its folder."""
    text = (ROOT / "docs/architecture.md").read_text()
    named = {name for name in re.findall(r"`([\w./]+\.py)`", text) if "/" in name}
    row = re.search(rf"^\| `{folder}/` \|.*", text, re.MULTILINE)
    table = re.search(rf"^\| file (?:of|in) `{folder}/` \|.*?^$", text, re.MULTILINE | re.DOTALL)
    if near := row or table:
        named |= {f"{folder}/{name}" for name in re.findall(r"`(\w+\.py)`", near[0])}
    files = {f"{folder}/{path.name}" for path in (ROOT / folder).glob("*.py")}
    assert not files - named - {f"{folder}/__init__.py"}


def test_the_glossary_is_in_order() -> None:
    terms = re.findall(r"^\*\*([^*]+)\*\*", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert terms == sorted(set(terms), key=str.casefold)
    assert len(terms) > 40


BENCH = ROOT / "examples" / "plain_verilog" / "pool3x3_tb.v"
FAULTS = {
    "H_WINDOW +: 8] = 3": ("H_WINDOW +: 8] = 4", "refused with error 2"),
    "W_HEAD +: 9] = 1": ("W_HEAD +: 9] = 2", "result 0 is 5 at 7, not 1 at 7"),
    "GROUP_STEP +: 32] = 1": ("GROUP_STEP +: 32] = 2", "result 24 is 5 at 31, not 5 at 30"),
    "SLOTS +: 32] = 55": ("SLOTS +: 32] = 54", "only 47 results of 48 came"),
    ".status(status)": (".status()", "the job was refused"),
}
"""For lines of the bench: a wrong one in its place, and the complaint."""


@pytest.fixture(scope="module")
def core_in_verilog(tmp_path_factory) -> Path:
    config = CoreConfig(
        (DataType.INT8,),
        operators=("max-pool",),
        max_window=(1, 3, 3),
        max_dilation=(1, 1, 1),
        max_line=32,
        coordinate_width=8,
    )
    path = tmp_path_factory.mktemp("core") / "extremum_core.v"
    path.write_text(cache.verilog(config))
    return path


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog is not installed")
@pytest.mark.parametrize("right", FAULTS)
def test_the_bench_in_verilog_finds_a_wrong_job(
    right: str, core_in_verilog: Path, tmp_path: Path
) -> None:
    wrong, complaint = FAULTS[right]
    source = BENCH.read_text()
    assert source.count(right) == 1
    bench, program = tmp_path / "bench.v", tmp_path / "bench"
    bench.write_text(source.replace(right, wrong))
    subprocess.run(["iverilog", "-g2012", "-o", program, bench, core_in_verilog], check=True)
    ran = subprocess.run(["vvp", program], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert complaint in ran.stdout


def test_the_job_in_verilog_is_that_of_the_plan() -> None:
    """Every register that the bench writes, and its place, are those of the host."""
    problem = Pooling.of((1, 2, 4, 6), "int8", 3, start_padding=1, end_padding=1)
    config = CoreConfig(
        (DataType.INT8,),
        operators=("max-pool",),
        max_window=(1, 3, 3),
        max_dilation=(1, 1, 1),
        max_line=32,
        coordinate_width=8,
    )
    (job,) = plan(problem, config).jobs
    source = BENCH.read_text()
    places = {name: int(bit) for name, bit in re.findall(r"(\w+) = (\d+)[,;]", source)}
    payload = 0
    for name, width, value in re.findall(r"job\[(\w+) \+: (\d+)\] = ([-\d ]+);", source):
        number = eval(value)  # such as 55 - 1
        payload |= (number & ((1 << int(width)) - 1)) << places[name]
    assert payload == job.registers.to_bits(config)


NEW_TYPE = """
import numpy as np
from extremum import model
from extremum.hdl import CoreConfig, generate
from extremum.model import DataType, reference

bits = np.random.default_rng(1).integers(0, 1 << 16, (20, 500), dtype=np.uint16)
x = bits.view(DataType.BFLOAT16.dtype)
for nan in ("propagate", "ignore"):
    for name in ("argmax", "argmin"):
        got = getattr(model, name)(x, axes=1, nan=nan)
        wanted, _ = reference.reduction(x, [1], minimum=name == "argmin", nan=nan)
        assert got.tolist() == wanted.tolist(), (name, nan)
zeros = bits << 15  # of both signs
numbers = bits & 0x3FFF
some_nan = np.where(bits < 999, bits | 0x7FC0, numbers)
for found in (bits, zeros, numbers, some_nan, some_nan | 0x8000):
    planes = found.view(DataType.BFLOAT16.dtype).reshape(1, 25, 20, 20)
    for nan in ("propagate", "ignore"):
        got = model.max_pooling(planes, 3, strides=2, nan=nan)
        line = {"strides": (2, 2), "start_padding": (0, 0), "end_padding": (0, 0)}
        wanted, *_ = reference.pooling(planes, (3, 3), **line, dilations=(1, 1), nan=nan)
        assert got.tobytes() == wanted.tobytes(), nan
generate(CoreConfig((DataType.BFLOAT16,), max_window=(1, 1, 1)))
print(model.__file__)
"""


def test_a_type_is_one_entry(tmp_path: Path) -> None:
    """Do in a copy what the guide says of bfloat16: then the model and the core take the type."""
    pytest.importorskip("ml_dtypes")
    guide = (ROOT / "docs" / "extending.md").read_text()
    member = re.search(r"^ +(BFLOAT16 = .*)$", guide, re.MULTILINE)
    assert member is not None
    for folder in ("model", "hdl"):
        shutil.copytree(ROOT / folder, tmp_path / "extremum" / folder)
    types = tmp_path / "extremum" / "model" / "types.py"
    source = types.read_text()
    for old, new in (
        ("import numpy as np\n", "import ml_dtypes\nimport numpy as np\n"),
        ("    INT64 = ", f"    {member[1]}\n    INT64 = "),
    ):
        assert source.count(old) == 1
        source = source.replace(old, new)
    types.write_text(source)
    ran = subprocess.run(
        # NumPy warns of NaNs that signal, in types that are not its own.
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", NEW_TYPE],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(tmp_path))


@pytest.fixture(scope="module")
def sources() -> list[str]:
    """The files that belong to the project."""
    try:
        if (ROOT / ".git").exists():  # and it is not in the tree of another project
            return known_files(ROOT)
        pytest.skip("only a checkout tells which files belong to the project")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only a checkout tells which files belong to the project")


BUILD = """
import os, sys
from setuptools import build_meta
os.mkdir(sys.argv[2])
getattr(build_meta, sys.argv[1])(sys.argv[2])
"""


def build(kind: str, sources: list[str], folder: Path, **environment: str) -> tuple[Path, str]:
    """Build a distribution in a copy of the sources; return it, and what was printed on stderr."""
    tree, out = folder / "tree", folder / "out"
    for name in sources:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    ran = subprocess.run(
        [sys.executable, "-c", BUILD, kind, str(out)],
        cwd=tree,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    (built,) = (path for path in out.iterdir() if path.is_file())
    return built, ran.stderr


def test_an_editable_installation_prints_no_warning(sources: list[str], tmp_path: Path) -> None:
    quiet = re.search(
        r"^QUIET := PYTHONWARNINGS='(.*)'$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert quiet is not None
    built, told = build("build_editable", sources, tmp_path, PYTHONWARNINGS=quiet[1])
    assert built.suffix == ".whl"
    assert "!!" not in told


def test_the_source_distribution_holds_the_sources(sources: list[str], tmp_path: Path) -> None:
    """It holds all but what serves a checkout alone: hidden files, and links for type checkers."""
    archive, _ = build("build_sdist", sources, tmp_path)
    version = PROJECT["project"]["version"]
    assert archive.name == f"extremum-{version}.tar.gz"
    with tarfile.open(archive) as packed:
        found = {member.name.partition("/")[2] for member in packed.getmembers() if member.isfile()}
    wanted = {name for name in sources if not name.startswith((".", "typings/"))}
    made = {"PKG-INFO", "setup.cfg"}
    assert {name for name in found if "egg-info" not in name} == wanted | made


def test_the_release_is_in_the_changelog() -> None:
    releases = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    version, is_development, _ = PROJECT["project"]["version"].partition(".dev")
    assert (version in releases) != bool(is_development)
    assert not is_development or releases[0] == "Unreleased"
    wheel = f"extremum-{PROJECT['project']['version']}-py3-none-any.whl"
    for name in ("README.md", "docs/command-line.md"):
        text = (ROOT / name).read_text()
        assert set(re.findall(r"extremum-[\d.]+(?:dev\d+)?-py3\S*?whl", text)) == {wheel}


def test_the_package_is_not_looked_for_in_an_index() -> None:
    """The package is in no index, so no instruction may install it by its bare name."""
    files = [
        *TEXT,
        *(path for folder in ("model", "hdl", "host") for path in (ROOT / folder).rglob("*.py")),
    ]
    for path in files:
        assert not re.search(r"pip install '?extremum['\[ `\n]", path.read_text()), path


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("interpreter", "environment"),
    [
        ("python3", ".venv"),
        ("python3.12", ".venv-python3.12"),
        ("/usr/local/bin/python3", ".venv-usr-local-bin-python3"),
    ],
)
def test_each_interpreter_has_its_own_environment(interpreter: str, environment: str) -> None:
    """Otherwise `make test PYTHON=...` would use the interpreter that .venv was made with."""
    ran = subprocess.run(
        ["make", "--always-make", "--dry-run", "test", f"PYTHON={interpreter}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = ran.stdout.splitlines()
    assert f"{interpreter} -m venv {environment}" in lines
    assert any(line.startswith(f"{environment}/bin/python -m pytest") for line in lines)
    assert any(line.startswith('echo "Installing') for line in lines)


def test_a_week_has_a_little_of_each_campaign() -> None:
    """As docs/verification.md says: the regression, proofs, mutants, fuzzing, upsets, all tests."""
    recipe = (ROOT / "Makefile").read_text().partition("\nweekly:")[2].partition("\n\n")[0]
    assert re.findall(r"\$\(MAKE\) ([\w-]+)", recipe) == [
        "regress-quick", "formal", "mutation", "fuzz", "faults", "test-all",
    ]  # fmt: skip
