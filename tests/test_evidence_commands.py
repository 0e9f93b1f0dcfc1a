"""What the commands refuse that gather evidence: before they run, and before a file is written."""

import sys

import pytest

from extremum.tb import netlists
from extremum.tb.code_coverage import __main__ as code_coverage
from extremum.tb.faults import __main__ as faults
from extremum.tb.fuzz import __main__ as fuzz
from extremum.tb.mutation import __main__ as mutation
from extremum.tb.mutation import software
from extremum.tb.report import __main__ as report


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (netlists.main, "--output x.json", "unrecognized arguments"),
        (code_coverage.main, "nosuch", "there is no core 'nosuch'"),
        (faults.main, "--upsets 0", "--upsets must be at least 1, not 0"),
        (fuzz.main, "--minutes nan", "--minutes must be above 0, not nan"),
        (fuzz.main, "--minutes 0", "--minutes must be above 0, not 0"),
        (mutation.main, "--again", "--again needs the evidence of an earlier run"),
        (software.main, "", "it runs in a working tree of Git"),
        (software.main, "nosuch", "there is no package nosuch"),
        (report.main, "--page v.md --document ./v.md", "name the same file: v.md"),
    ],
)
def test_refusals(monkeypatch, tmp_path, capsys, command, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["command", *arguments.split()])
    with pytest.raises(SystemExit) as caught:
        command()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
