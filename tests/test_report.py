"""`bench/report.py`: from figures to RESULTS.md and its plots."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="no matplotlib")

CYCLES = {
    "workload": "vgg16_pool1", "lanes": 4, "beats_in": 1000, "beats_out": 250, "cycles": 1020,
    "bound": 1000, "allowed": 1084, "utilization": 0.98, "predicted": 1021, "jobs": 1,
    "cocotb": 1020, "agreement": True, "faults": [],
}  # fmt: skip
BLOCK = {
    "name": "argmax-float32", "comb": 350, "lut4": 200, "ff": 300, "block_ram": 0,
    "fmax_mhz": 310.0, "seeds": [{"seed": 1, "fmax_mhz": 310.0}], "lanes": 1,
    "cycles_per_beat": 1.0, "elements_per_second": 310e6, "device": "ecp5-85k", "series": None,
    "critical_path": {"from": "core.a", "to": "core.b", "logic_ns": 1.5, "routing_ns": 1.7},
    "parameters": {"data_types": ["float32"], "lanes": 4, "max_window": [1, 1, 1], "fixed": {}},
}  # fmt: skip


@pytest.fixture
def report(tmp_path):
    """Run the report on records, in a folder of its own; return it and what was printed."""
    for name in ("report.py", "plots.py", "targets.toml"):
        shutil.copy(BENCH / name, tmp_path)
    (tmp_path / "results").mkdir()

    def run(**records):
        for name, found in records.items():
            (tmp_path / "results" / f"{name}.json").write_text(json.dumps(found))
        ran = subprocess.run(
            [sys.executable, "report.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return (tmp_path / "RESULTS.md").read_text(), ran.stdout

    return run


def test_what_is_measured_is_told(report, tmp_path):
    grown = BLOCK | {"name": "programmable-int8x4, lanes 4", "series": ["lanes", 4]}
    small = BLOCK | {"name": "argmax-int8 on ice40-up5k", "device": "ice40-up5k"}
    slow = BLOCK | {"name": "argmax-int8", "fmax_mhz": 300.0}
    text, told = report(cycles=[CYCLES], fpga=[BLOCK, slow, grown, small])
    assert "1 of 1 runs" in told
    assert "Of 2 blocks with a target on the ECP5-85F, 1 reach the aim and 1 the floor." in told
    assert all(line in text for line in told.splitlines())
    assert "| vgg16_pool1 | 4 | 1000 | 250 | 1000 | 1020 | 20 | 0.980 | 1021 |" in text
    (row,) = re.findall(r"\| argmax-float32 \| 31 \| 350 .*", text)
    assert "310 \\*" in row  # beyond the clock tree
    assert row.endswith("| 300, 350 COMB | 250, 400 COMB | aim |")
    assert re.search(r"\| argmax-int8 \| 31 \| 350 .*\| - \|", text)  # too large
    assert "| argmax-int8 on ice40-up5k | 31 | 350 | 200 | 300 | 0 | 310 |" in text
    assert "NVDLA" in text
    for plot in re.findall(r"\((results/.*?)\)", text):
        assert (tmp_path / plot).stat().st_size > 0


@pytest.mark.parametrize("name", ["cycles", "fpga"])
def test_one_half_will_do(report, name):
    records = {"cycles": [CYCLES], "fpga": [BLOCK]}
    text, _ = report(**{name: records[name]})
    assert ("## Clocks" in text) == (name == "cycles")
    assert ("## Blocks" in text) == (name == "fpga")


def test_equal_figures_give_equal_files(report, tmp_path):
    first = report(cycles=[CYCLES])
    plot = (tmp_path / "results" / "cycles.svg").read_bytes()
    assert report(cycles=[CYCLES]) == first
    assert (tmp_path / "results" / "cycles.svg").read_bytes() == plot
