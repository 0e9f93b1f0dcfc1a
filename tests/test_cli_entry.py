"""The command `extremum` as a process: what it needs, what it imports, and its exit status."""

import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from command_line import run

from extremum.host.cli import commands as cli
from extremum.host.cli import main
from extremum.host.tools import TOOLS

pytestmark = pytest.mark.usefixtures("x")


@pytest.mark.parametrize(
    "arguments", [["run", "argmax"], ["demo"], ["doctor", "--verbose"], ["--version", "run"]]
)
def test_golden_model_alone(monkeypatch, capsys, arguments):
    for name in ("click", "rich"):
        monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], search=lambda: None))
    monkeypatch.setattr(sys, "argv", ["extremum", *arguments])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 4
    out, err = capsys.readouterr()
    assert not out
    (line,) = err.splitlines()
    assert line.startswith("extremum: the command line needs the extra sim")
    assert "pip install '.[sim]' in a checkout of extremum" in line


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_help_of_the_golden_model_alone(monkeypatch, capsys, arguments):
    """The help lists the same commands as that of the whole command line, and what they need."""
    monkeypatch.setitem(TOOLS, "click", replace(TOOLS["click"], search=lambda: None))
    monkeypatch.setattr(sys, "argv", ["extremum", *arguments])
    with pytest.raises(SystemExit) as caught:
        main.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, err) == (0, "")
    shown = dict(re.findall(r"^  (\w+) +(.*)$", out, re.MULTILINE))
    assert shown.keys() == cli.commands.commands.keys()
    told = CliRunner().invoke(cli.commands, ["--help"]).output
    for name, words in shown.items():
        assert re.search(rf"^  {name} +{re.escape(words)}$", told, re.MULTILINE), "it is cut"
    assert out.endswith(f"\nAll but doctor need the extra sim: {TOOLS['click'].install}\n")


@pytest.mark.parametrize("click", [True, False])
def test_version(monkeypatch, capsys, click):
    if not click:
        monkeypatch.setitem(TOOLS, "click", replace(TOOLS["click"], search=lambda: None))
    monkeypatch.setattr(sys, "argv", ["extremum", "--version"])
    with pytest.raises(SystemExit) as caught:
        main.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, err) == (0, "")
    assert out == f"extremum {version('extremum')}\n"


@pytest.mark.parametrize(("option", "found"), [((), "8.0"), (("--json",), None)])
def test_doctor_of_the_golden_model_alone(monkeypatch, capsys, option, found):
    monkeypatch.setitem(TOOLS, "click", replace(TOOLS["click"], search=lambda: found))
    monkeypatch.setattr(sys, "argv", ["extremum", "doctor", *option])
    with pytest.raises(SystemExit) as caught:
        main.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, err) == (4, "")
    assert TOOLS["click"].install in out
    assert ("too old" in out) == (found is not None)


@pytest.mark.parametrize("errors", ["strict", "ignore", "surrogateescape", "backslashreplace"])
def test_what_the_terminal_cannot_show_is_escaped(monkeypatch, errors):
    """Whatever Python chose to do with it."""
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=errors)
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(main, "_run", lambda _: print("\u00e9") or 0)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 0
    assert stdout.buffer.getvalue() == b"\\xe9\n"  # pyright: ignore[reportAttributeAccessIssue]


def test_another_stream_than_a_file_is_written_to(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(main, "_run", lambda _: print("told") or 3)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 3
    assert sys.stdout.getvalue() == "told\n"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("before", "word", "found"),
    [
        ([], "pl", "plan"),
        (["plan", "argmax"], "--ty", "--type"),
        (["plan", "argmax", "--sizes", "3", "--sizes", "4"], "--ty", "--type"),
    ],
)
def test_a_shell_completes_a_line_whatever_stands_there(before, word, found):
    completion = ShellComplete(cli.commands, {}, "extremum", "_EXTREMUM_COMPLETE")
    assert [each.value for each in completion.get_completions(before, word)] == [found]


def defaults_left_out(command: click.Command, *names: str, parent: Any = None):
    """Yield the options of a command, and of those below it, whose help does not tell a default."""
    context = click.Context(command, parent, names[-1] if names else "extremum")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from defaults_left_out(below, *names, name, parent=context)
    for option in command.params:
        if not isinstance(option, click.Option) or option.is_flag:
            continue
        if not isinstance(option.get_default(context), (str, int, float)):
            continue  # what Click has for none differs from version to version
        record = option.get_help_record(context)
        if record is not None and "[default: " not in record[1]:
            yield (*names, option.name)


def test_the_help_tells_every_default():
    assert [*defaults_left_out(cli.commands)] == []
    hidden = click.Command("c", params=[click.Option(["--a"], default=1, help="A number.")])
    assert [*defaults_left_out(hidden, "c")] == [("c", "a")]


def test_names_of_files_that_are_no_text():
    """They are shown with escapes, also where stdout takes nothing but text."""
    code = "from extremum.host.cli.main import main; main()"
    line = "run argmax --input x.npy --backend model --output"
    ran = subprocess.run(
        [sys.executable, "-c", code, *line.split(), b"\xff.npy"],
        env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},
        capture_output=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"\\udcff.npy" in ran.stdout
    assert b"\xff.npy" in os.listdir(b".")


def test_entry_point_imports_the_standard_library_alone():
    """Otherwise a missing package would end it with a traceback, before it can name the package."""
    code = (
        "import sys\n"
        "for name in ('numpy', 'click', 'rich', 'amaranth', 'cocotb'): sys.modules[name] = None\n"
        "import extremum.host.cli.main\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_entry_point_gives_its_status(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["extremum", "run", "argmax", "--input", "none.npy"])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 2
    assert capsys.readouterr().err == "extremum: cannot read none.npy: No such file or directory\n"


def test_version_and_help():
    status, out, _ = run("--version")
    assert status == 0
    assert re.fullmatch(r"extremum \d+\.\d+\.\d+(\.dev\d+)?", out[0])
    for line in ("--help", "run -h", "plan --help", "demo --help", "doctor --help"):
        status, out, err = run(line)
        assert (status, err) == (0, [])
        assert out[0].startswith("Usage: extremum ")
