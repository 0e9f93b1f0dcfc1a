"""`extremum regress` as a command: where it comes from, and the options that it refuses."""

import importlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, suppress
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from extremum.host.cli import commands
from extremum.host.errors import ToolError
from extremum.tb.regression import campaign, command, evidence, pool
from extremum.tb.regression.command import regress
from extremum.tb.regression.database import Database

pytest_plugins = ["few_cases"]

ROOT = Path(__file__).parents[1]

SUMS = ("cases", "jobs", "clocks", "beats", "seconds", "lots_retried", "cores", "differences")


def test_the_command_line_takes_up_commands_from_entry_points(monkeypatch, capsys):
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    ((name, value),) = points[commands.PLUGINS].items()
    module, _, attribute = value.partition(":")
    assert getattr(importlib.import_module(module), attribute) is regress
    found = EntryPoints([EntryPoint(name, value, commands.PLUGINS)])
    monkeypatch.setattr(commands, "entry_points", found.select)
    assert commands.main(["--help"]) == 0
    assert "regress" in capsys.readouterr().out
    assert commands.main(["regress", "--case", "127"]) == 2
    assert f"seed modulo 128 must be below {len(pool.TARGETS)}" in capsys.readouterr().err


def case(target, **fields):
    """Return a case of one small reduction, as JSON."""
    item = {"operator": "reduction", "arguments": {"function": "argmax", "sizes": [2, 3]}} | fields
    return json.dumps({"target": target, "batches": [{"items": [item]}]})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--case", "\u00b2"), "this is no case"),
        (("--case", case("nix")), "core must be one of"),
        (("--case", '{"target":"image"}'), "the case lacks the field 'batches'"),
        (("--case", '{"target":"image","batches":[]}'), "a list that is not empty, not []"),
        (("--case", case("image", jobs=0)), "'jobs' must be a number from 1"),
        (("--case", case("image", fault="late")), "AXI blocks with registers, and image is none"),
        (("--case", case("axi-endless", fault="late")), "and axi-endless is none"),
        (("--case", "663", "--lots", "0", "--core", "volume"), "not with --core, --lots"),
        (("--hours", "0"), "not in the range"),
        (("--minutes", "nan"), "nan is no finite number"),
        (("--hours", "inf"), "inf is no finite number"),
        (("--workers", "-1"), "not in the range"),
        (("--core", "nix"), "--core must be of"),
        (("--backend", "nix"), "is not one of"),
        (("--lots", "0", "--workers", "0", "--database", "FOREIGN"), "file is not a database"),
        (("--lots", "0", "--workers", "0", "--database", "OTHER"), "none of the regression's"),
        (("--lots", "0", "--workers", "0", "--database", "/proc/no/x"), "No such file"),
        (
            ("--lots", "0", "--workers", "0", "--database", "/dev/null"),
            "/dev/null: it is not a file",
        ),
        (("--lots", str(1 << 63)), "is not in the range"),
        (("--lots", "0", "--evidence", "FOREIGN/x"), "File exists"),
        (("--lots", "0", "--evidence", "FOREIGN"), "FOREIGN is no evidence, restore or remove it"),
        (
            ("--lots", "0", "--database", "same", "--evidence", "./same"),
            "--evidence names a file of --database: same",
        ),
        (
            ("--lots", "0", "--database", "same", "--evidence", "./same-wal"),
            "--evidence names a file of --database: same-wal",
        ),
    ],
)
def test_a_wrong_option_is_told_in_one_line(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands, "entry_points", lambda **_: [])
    monkeypatch.setitem(commands.commands.commands, "regress", regress)
    (tmp_path / "FOREIGN").write_text("no database, but a text of many letters. " * 9)
    with closing(sqlite3.connect(tmp_path / "OTHER")) as other:
        other.execute("create table lots (mine)")
    monkeypatch.chdir(tmp_path)
    assert commands.main(["regress", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("extremum: ")
    assert told in line
    assert not os.path.exists("/dev/null-journal")


def test_an_interrupt_before_the_first_lot_leaves_the_evidence(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_pass", interrupted)
    monkeypatch.setattr(commands, "entry_points", lambda **_: [])
    monkeypatch.setitem(commands.commands.commands, "regress", regress)
    report = tmp_path / "evidence.json"
    report.write_text('{"of": "an earlier pass"}')
    line = ["regress", "--database", str(tmp_path / "lots"), "--evidence", str(report)]
    assert commands.main(line) == 130
    assert capsys.readouterr().err.endswith("extremum: interrupted\n")
    assert json.loads(report.read_text()) == {"of": "an earlier pass"}


def test_a_pass_without_a_case_leaves_the_evidence(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "entry_points", lambda **_: [])
    monkeypatch.setitem(commands.commands.commands, "regress", regress)
    report = tmp_path / "evidence.json"
    report.write_text('{"of": "an earlier pass"}')
    line = ["regress", "--lots", "0", "--workers", "0", "--evidence", str(report)]
    assert commands.main([*line, "--database", str(tmp_path / "lots")]) == 0
    assert json.loads(report.read_text()) == {"of": "an earlier pass"}


def scheduler_ends():
    with campaign._its_end_is_told():
        raise CancelledError


def database_fails():
    raise sqlite3.OperationalError("database or disk is full")


def tool_is_missing():
    raise ToolError("verilator is missing")


def terminated():
    signal.raise_signal(signal.SIGTERM)


@pytest.fixture
def twice(monkeypatch):
    """Let a second SIGTERM come while the evidence is written."""
    sound = evidence.write

    def write(*given):
        signal.raise_signal(signal.SIGTERM)
        sound(*given)

    monkeypatch.setattr(evidence, "write", write)


@pytest.mark.usefixtures("terminable", "few")
@pytest.mark.parametrize(
    ("what", "status", "told"),
    [
        (scheduler_ends, 2, "--scheduler: the scheduler has ended: CancelledError; "),
        (database_fails, 2, "database or disk is full"),
        (tool_is_missing, 4, "verilator is missing"),
        (terminated, 130, "interrupted"),
    ],
)
def test_whatever_ends_a_pass_leaves_what_was_run(
    what, status, told, tmp_path, monkeypatch, capsys
):
    class Ending(campaign._Local):
        """Its second lot never comes back."""

        def results(self):
            yield next(super().results())
            what()

    monkeypatch.setattr(campaign, "_Local", Ending)
    monkeypatch.setattr(commands, "entry_points", lambda **_: [])
    monkeypatch.setitem(commands.commands.commands, "regress", regress)
    report = tmp_path / "evidence.json"
    line = ["regress", "--workers", "0", "--core", "least", "--evidence", str(report)]
    assert commands.main([*line, "--database", str(tmp_path / "lots")]) == status
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("extremum: ")
    assert told in last
    assert json.loads(report.read_text())["backends"]["native"]["cases"] > 0


@pytest.mark.usefixtures("terminable", "twice")
def test_a_second_signal_does_not_lose_the_evidence(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign._Local, "results", lambda self: terminated())
    monkeypatch.setattr(Database, "figures", lambda self: {"native": dict.fromkeys(SUMS, 1)})
    monkeypatch.setattr(commands, "entry_points", lambda **_: [])
    monkeypatch.setitem(commands.commands.commands, "regress", regress)
    report = tmp_path / "evidence.json"
    line = ["regress", "--workers", "0", "--core", "least", "--evidence", str(report)]
    assert commands.main([*line, "--database", str(tmp_path / "lots")]) == 130
    assert json.loads(report.read_text())["total"]["cases"] == 1


def test_a_pass_in_a_thread(tmp_path, monkeypatch):
    """Only the main thread gets signals."""
    monkeypatch.setattr(commands, "entry_points", lambda **_: [])
    monkeypatch.setitem(commands.commands.commands, "regress", regress)
    line = ["regress", "--lots", "0", "--workers", "0", "--database", str(tmp_path / "lots")]
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(commands.main, line).result() == 0


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_told_in_one_line(tmp_path):
    """It reaches the workers, too, as Ctrl-C does, while they run lots. What was run counts."""
    database, told, report = (tmp_path / name for name in ("lots.sqlite", "told", "evidence.json"))
    program = "from extremum.host.cli.main import main; main()"
    line = ["regress", "--workers", "2", "--minutes", "30", "--database", str(database)]
    line += ["--evidence", str(report)]
    with told.open("w") as err:
        ran = subprocess.Popen(
            [sys.executable, "-c", program, *line], stdout=subprocess.DEVNULL, stderr=err,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, start_new_session=True,
        )  # fmt: skip
    try:
        finished = 0
        while not finished and ran.poll() is None:
            time.sleep(0.2)
            with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as found:
                ((finished,),) = found.execute("select count(*) from lots").fetchall()
        os.killpg(ran.pid, signal.SIGINT)
        assert ran.wait(60) == 130
    finally:
        with suppress(ProcessLookupError):
            os.killpg(ran.pid, signal.SIGKILL)
    lines = [line for line in told.read_text().splitlines() if line]
    assert lines[-1] == "extremum: interrupted"
    assert not [line for line in lines if "Traceback" in line or "Error" in line]
    assert json.loads(report.read_text())["backends"]["native"]["cases"] > 0
