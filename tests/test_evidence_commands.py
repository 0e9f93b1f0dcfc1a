"""What the commands refuse that gather evidence: before they run, and before a file is written."""

import json
import os
import shlex
import shutil
import signal
import sys
from collections import Counter

import pytest

from extremum.host.errors import ToolError
from extremum.tb import netlists
from extremum.tb.code_coverage import __main__ as code_coverage
from extremum.tb.command import end, is_kept
from extremum.tb.evidence import read_evidence, require_writable
from extremum.tb.faults import __main__ as faults
from extremum.tb.formal import __main__ as formal
from extremum.tb.formal import run as formal_run
from extremum.tb.fuzz import __main__ as fuzz
from extremum.tb.mutation import __main__ as mutation
from extremum.tb.mutation import planted, software
from extremum.tb.report import __main__ as report


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (netlists.main, "--output x.json", "unrecognized arguments"),
        (code_coverage.main, "nosuch", "there is no core 'nosuch'"),
        (code_coverage.main, "--cases 0", "--cases: must be at least 1, not 0"),
        (code_coverage.main, "volume --accept", "--accept needs all cores of the sample"),
        (faults.main, "--upsets 0", "--upsets: must be at least 1, not 0"),
        (faults.main, "--upsets few", "--upsets: must be a whole number, not few"),
        (faults.main, "--evidence .", ". cannot be written: Is a directory"),
        (fuzz.main, "--minutes nan", "--minutes: must be a number of minutes, 0 or more, not nan"),
        (fuzz.main, "--minutes 0", "--minutes must be above 0"),
        (formal.main, "--output .", ". cannot be written: Is a directory"),
        (mutation.main, "--again", "--again needs the evidence of an earlier run"),
        (mutation.main, "--mutants 0", "--mutants: must be at least 1, not 0"),
        (mutation.main, "--budget -1", "--budget: must be a number of minutes, 0 or more, not -1"),
        (software.main, "--sample 0", "--sample: must be at least 1, not 0"),
        (software.main, "--only (", "'(' is no regular expression: missing ), unterminated"),
        (report.main, "--evidence nosuch", "--evidence names no folder: nosuch"),
        (software.main, "", "its sources must be a working tree of Git"),
        (planted.main, "", "its sources must be a working tree of Git"),
        (formal.main, "key-order ''", "there is no proof ''"),
        (software.main, "nosuch", "there is no package nosuch"),
        (report.main, "--page v.md --document ./v.md", "name the same file: v.md"),
    ],
)
def test_refusals(monkeypatch, tmp_path, capsys, command, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planted, "ROOT", tmp_path)
    monkeypatch.setattr(mutation, "EVIDENCE", tmp_path / "none.json")
    monkeypatch.setattr(sys, "argv", ["command", *shlex.split(arguments)])
    with pytest.raises(SystemExit) as caught:
        command()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("terminable")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_told_in_one_line(capsys, how):
    def interrupted():
        if how == signal.SIGINT:
            raise KeyboardInterrupt
        signal.raise_signal(how)
        return 0

    with pytest.raises(SystemExit) as caught:
        end(interrupted)
    assert caught.value.code == 130
    assert capsys.readouterr().err == "interrupted; the next run begins anew\n"
    with pytest.raises(SystemExit) as caught:
        end(lambda: 1)
    assert caught.value.code == 1


OTHER_FORMS = [
    (faults, {"blocks": [{}]}, ""),
    (formal_run, {"proofs": [{}]}, ""),
    (mutation, {"gateware": {"key": 3}}, ""),
    (netlists, {"netlists": 3, "earlier": []}, ""),
    (software, {}, "--again plan"),
    (software, {"software": {"plan": {}}}, "--again plan"),
]


@pytest.mark.parametrize(
    ("path", "told"), [(os.environ["PATH"], "fatal: invalid gitfile"), ("", "git: No such file")]
)
@pytest.mark.skipif(shutil.which("git") is None, reason="needs Git")
def test_what_git_says_is_told(monkeypatch, tmp_path, capsys, path, told):
    """As it does of a working tree that belongs to another user."""
    (tmp_path / ".git").write_text("nothing")
    monkeypatch.setattr(planted, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["command"])
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("GIT_DIR", raising=False)
    with pytest.raises(SystemExit) as caught:
        planted.main()
    assert caught.value.code == 2
    assert told in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(("module", "found", "arguments"), OTHER_FORMS)
def test_evidence_of_another_form_is_told_in_one_line(
    monkeypatch, tmp_path, capsys, module, found, arguments
):
    """Before anything is run, and nothing is lost."""
    path = tmp_path / "evidence.json"
    path.write_text(json.dumps(found))
    monkeypatch.setattr(module, "EVIDENCE", path)
    monkeypatch.setattr(netlists, "digests", dict)
    monkeypatch.setattr(software, "refuse_no_tree", lambda parser: None)
    monkeypatch.setattr(software, "copy", lambda root, folder: None)
    given = ["--evidence", str(path)] if module is faults else arguments.split()
    monkeypatch.setattr(sys, "argv", ["command", *given])
    with pytest.raises(SystemExit) as caught:
        end(formal.main if module is formal_run else module.main)
    assert caught.value.code == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "is not of the form that is known" in told or "needs the evidence" in told
    assert json.loads(path.read_text()) == found


@pytest.mark.parametrize("damaged", [b'{"minutes": 10', b"[]", b"\xff"])
@pytest.mark.parametrize("module", [faults, fuzz, mutation, netlists])
def test_damaged_evidence_is_told_in_one_line(monkeypatch, tmp_path, capsys, module, damaged):
    path = tmp_path / "evidence.json"
    path.write_bytes(damaged)
    monkeypatch.setattr(module, "EVIDENCE", path)
    if module is faults:  # its option was made with the default path
        monkeypatch.setattr(sys, "argv", ["command", "--evidence", str(path)])
    else:
        monkeypatch.setattr(sys, "argv", ["command"])
    with pytest.raises(SystemExit) as caught:
        end(module.main)
    assert caught.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{path} is no evidence, restore or remove it: ")
    assert told.count("\n") == 1
    assert path.read_bytes() == damaged


def test_no_evidence_yet(tmp_path):
    assert read_evidence(tmp_path / "nosuch.json") == {}


def test_evidence_of_more_stays(capsys):
    assert is_kept("upsets", 200, 199)
    told = "the evidence about upsets stays: it is of 200, and this run is of 199\n"
    assert capsys.readouterr().out == told
    assert not is_kept("upsets", 200, 200)
    assert not is_kept("upsets", 0, 1)


@pytest.mark.parametrize(
    ("before", "now"),
    [({}, {}), ({"sources": {"host": "other"}}, {}), ({"sources": {}}, {"surviving": ["c"]})],
)
def test_fewer_mutants_replace_those_of_other_sources_and_survivors_count(
    monkeypatch, tmp_path, before, now
):
    monkeypatch.setattr(software, "EVIDENCE", tmp_path / "mutation.json")
    monkeypatch.setattr(software, "version", lambda name: "1")
    plan = {"tried": 60, "mutants": 3000, "surviving": [], "sources": {}} | now
    software._write({"plan": {"tried": 900, "mutants": 3000, "surviving": []} | before})
    assert software._write({"plan": plan}) == {"plan": plan}


def test_fewer_mutants_do_not_replace_those_of_a_block(monkeypatch, tmp_path, capsys):
    path = tmp_path / "mutation.json"
    for module in (mutation, software):
        monkeypatch.setattr(module, "EVIDENCE", path)
        monkeypatch.setattr(module, "version", lambda name: "1")  # the tests do without some tools
    plan, few, model, all_of_driver, driver = (
        {"tried": tried, "mutants": mutants, "surviving": [], "sources": {}}
        for tried, mutants in ((900, 3000), (60, 3000), (60, 5000), (810, 810), (824, 824))
    )
    software._write({"plan": plan, "driver": driver})
    written = software._write({"plan": few, "model": model, "driver": all_of_driver})
    assert written == {"model": model, "driver": all_of_driver}
    assert json.loads(path.read_text())["software"] == written | {"plan": plan}
    assert capsys.readouterr().out.count(" stays: ") == 1
    accepted = []
    monkeypatch.setattr(mutation, "accept", accepted.append)
    monkeypatch.setattr(mutation, "run", lambda blocks, **given: outcomes(blocks, given["kept"]))

    def outcomes(blocks, kept):
        numbers = {"mutants": 9, "killed": 8, "equivalent": 0, "explained": 0, "open": []}
        found = {block: numbers | {"asked": 20, "surviving": ["c"]} for block in blocks}
        mutation._write({block: each for block, each in found.items() if block not in kept})
        return found

    mutation._write({"key": {"asked": 500}})
    monkeypatch.setattr(sys, "argv", ["command", "--mutants", "20", "--accept", "key", "fold"])
    mutation.main()
    whole = mutation._read()
    assert "cosmic-ray" in whole["tools"]
    asked = {name: each["asked"] for name, each in whole["gateware"].items()}
    assert asked == {"key": 500, "fold": 20}
    assert accepted == [{"fold": ["c"]}]


def test_a_file_that_could_be_written_leaves_nothing(tmp_path):
    require_writable(tmp_path / "new" / "deep" / "file")
    with pytest.raises(OSError, match="name too long"):
        require_writable(tmp_path / "new" / ("n" * 300) / "file")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("content")
    require_writable(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "content"


def test_a_pipe_is_no_file_of_evidence(tmp_path):
    """To open it would wait for its reader."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is no file"):
        require_writable(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device", "a.json"), "a.json: No space left on device"),
        (ToolError("verilator is missing"), "verilator is missing"),
    ],
)
def test_what_stops_a_command_is_told_in_one_line(capsys, error, told):
    def failing():
        raise error

    with pytest.raises(SystemExit) as caught:
        end(failing)
    assert caught.value.code == 2
    assert capsys.readouterr().err == f"{told}\n"


@pytest.mark.parametrize("folder", ["", "../{}/"])
@pytest.mark.parametrize("result", ["passed", "failed"])
def test_evidence_of_more_stays_whatever_it_is_called(
    monkeypatch, tmp_path, capsys, folder, result
):
    """Unless it says that nothing fails, and this run fails."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "fuzz.json"
    file.write_text(json.dumps({"minutes": 10.0}))
    name = f"{folder.format(tmp_path.name)}fuzz.json"
    record = {"name": "one", "inputs": 1, "result": result, "seconds": 1}
    monkeypatch.setattr(fuzz, "_fuzz", lambda *_: record)
    monkeypatch.setattr(fuzz, "EVIDENCE", file)
    monkeypatch.setattr(sys, "argv", ["command", "--minutes", "1", "--evidence", str(name)])
    assert fuzz.main() == (result == "failed")
    found = json.loads(file.read_text())
    if result == "passed":
        assert "stays" in capsys.readouterr().out
        assert found == {"minutes": 10.0}
    else:
        assert (found["minutes"], found["failed"]) == (1, len(found["targets"]))


def test_cases_that_were_not_run_are_no_evidence(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(code_coverage, "drive", lambda name, *_: (1, Counter(), Counter()))
    monkeypatch.setattr(code_coverage.holes, "accept", lambda _: pytest.fail("holes are listed"))
    monkeypatch.setattr(sys, "argv", ["command", "--accept"])
    assert code_coverage.main() == 1
    assert "not all cases were run and right: no file is written" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
