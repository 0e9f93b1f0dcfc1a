"""The report of incomplete or damaged results: a line names the file, and nothing is written."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest
from bench_files import BENCH, bench_modules

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="no matplotlib")

NAMES = ("cycles", "block_clocks", "fpga", "simulation", "model")


@pytest.fixture
def report(tmp_path, monkeypatch):
    """Return the script, which reads and writes copies of the published results and documents."""
    folder = tmp_path / "bench"
    shutil.copytree(BENCH / "results", folder / "results")
    (script,) = bench_modules("report")
    monkeypatch.setattr(sys, "argv", ["report.py"])
    for name, path in {"RESULTS": "bench/results", "REPORT": "bench/RESULTS.md",
                       "README": "README.md"}.items():  # fmt: skip
        monkeypatch.setattr(script, name, tmp_path / path)
    for path in (script.REPORT, script.README):
        shutil.copy(BENCH.parent / path.relative_to(tmp_path), path)
    for plot in script.RESULTS.glob("*.svg"):
        plot.write_text("as before")
    return script


def kept(folder: Path):
    """Return what all files have."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def first(name):
    """Return what leaves one record of a part."""
    return lambda found: found | {name: found[name][:1]}


def without(name):
    """Return what leaves out a part."""
    return lambda found: {key: value for key, value in found.items() if key != name}


def changed(**values):
    """Return what changes the first record of a file."""
    return lambda found: [found[0] | values, *found[1:]]


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("cycles", lambda found: found[:1], "89 of 90 are not measured"),
        ("cycles", lambda found: [each for each in found if each["pipelining"] == "fast"],
         "45 of 90 are not measured"),
        ("block_clocks", lambda found: found[:1], "89 of 90 are not measured"),
        ("fpga", lambda found: found[:1], "63 of 64 are not measured"),
        ("fpga", lambda found: found[1:], "1 of 64 are not measured, such as argmax-float32"),
        ("fpga", lambda found: [each for each in found if each["device"] != "ecp5-85k"],
         "are not measured"),
        ("fpga", lambda found: None, "64 of 64 are not measured"),
        ("fpga", lambda found: {}, "64 of 64 are not measured"),
        ("simulation", lambda found: {"first_use": found["first_use"]}, "rates: 3 of 3"),
        ("simulation", without("memory"), "memory: 4 of 4"),
        ("simulation", without("rates"), "rates: 3 of 3"),
        ("simulation", first("workloads"), "workloads: 14 of 15"),
        ("model", first("small_calls"), "small_calls: 4 of 5"),
    ],
)  # fmt: skip
def test_a_report_of_incomplete_results(report, tmp_path, capsys, name, change, told):
    path = report.RESULTS / f"{name}.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    before = kept(tmp_path)
    assert report.main() == 2
    line = capsys.readouterr().err
    assert line.startswith(f"report: {name}.json: ")
    assert told in line
    bench = "cycles" if name == "block_clocks" else name
    assert line.endswith(f"; `make bench-{bench}` measures all\n")
    assert line.count("\n") == 1
    assert kept(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, lambda found: [1]) for name in NAMES),
        *((name, lambda found: {"a": [{}]}) for name in ("cycles", "fpga")),
        ("cycles", changed(cycles=None)),
        ("cycles", changed(bound=0)),
        ("block_clocks", changed(faults=3)),
        ("fpga", changed(seeds=3)),
        ("fpga", changed(series=["lanes"])),
        ("simulation", first("first_use")),
        ("model", without("versions")),
    ],
)
def test_a_report_of_results_of_another_form(report, tmp_path, capsys, name, change):
    path = report.RESULTS / f"{name}.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    before = kept(tmp_path)
    assert report.main() == 2
    line = capsys.readouterr().err
    assert line.startswith(f"report: {name}.json")
    assert line.count("\n") == 1
    assert kept(tmp_path) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_report_of_truncated_results(report, tmp_path, capsys, name):
    path = report.RESULTS / f"{name}.json"
    path.write_text(path.read_text()[:100])
    before = kept(tmp_path)
    assert report.main() == 2
    assert capsys.readouterr().err.startswith(f"report: {path} cannot be read")
    assert kept(tmp_path) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_report_without_a_file_of_results(report, monkeypatch, name):
    """Its sections are left out; the rest, and the parts of the README, are as before."""
    for plot in ("cycles", "fmax", "front", "growth", "rates"):
        monkeypatch.setattr(report.plots, plot, lambda *_: None)
    readme = report.README.read_text()
    (report.RESULTS / f"{name}.json").unlink()
    lines = report.REPORT.read_text().splitlines()
    assert report.main() == 0
    assert set(report.REPORT.read_text().splitlines()) < set(lines)
    assert report.README.read_text() == readme
