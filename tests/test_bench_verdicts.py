"""The benches tell a wrong result, clocks too many, and figures that miss their targets."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from bench_files import BENCH, bench_modules

from extremum.model import Reduction


def test_results_agree_bit_for_bit():
    (counts,) = bench_modules("clock_counts")
    problem = Reduction.of("max", (2, 2), "float32", 1)
    x = np.array([[0.0, -1], [1, 2]], np.float32)
    golden = problem.evaluate(x)
    assert counts.agrees(problem, x, golden)
    assert not counts.agrees(problem, x, golden * np.array([-1, 1], np.float32))  # -0 is not +0


@pytest.mark.parametrize(
    ("allowed", "cocotb", "agreement", "told"),
    [
        (100, None, True, []),
        (100, 100, True, []),
        (100, 101, True, ["cocotb counts 101"]),
        (100, 99, True, ["cocotb counts 99"]),
        (99, 100, True, ["1 clocks too many"]),
        (100, 100, False, ["a wrong result"]),
    ],
)
def test_what_is_wrong_in_a_run_is_told(allowed, cocotb, agreement, told):
    (cycles,) = bench_modules("cycles")
    report = SimpleNamespace(cycles=100, predicted_cycles=100)
    least = SimpleNamespace(allowed=allowed)
    assert list(cycles.faults(report, least, cocotb, agreement=agreement)) == told


def test_a_prediction_that_is_wrong_is_told():
    (cycles,) = bench_modules("cycles")
    report = SimpleNamespace(cycles=100, predicted_cycles=99)
    found = cycles.faults(report, SimpleNamespace(allowed=100), None, agreement=True)
    assert list(found) == ["a wrong prediction"]


def test_the_block_may_take_as_many_clocks_as_the_report_says():
    (clocks,) = bench_modules("block_clocks")
    assert clocks.BLOCK_CLOCKS == 8
    assert "take at most 1.02 B + 64 + 8 clocks" in (BENCH / "RESULTS.md").read_text()


@pytest.mark.parametrize("failing", [(), (0,), (3,)])
def test_one_workload_that_fails_fails_them_all(monkeypatch, failing):
    (workloads,) = bench_modules("workloads")
    statuses = iter(int(number in failing) for number in range(99))

    def run(*_, **__):
        status = next(statuses)
        return SimpleNamespace(returncode=status, stdout=json.dumps({"agreement": not status}))

    monkeypatch.setattr(workloads.subprocess, "run", run)
    monkeypatch.setattr("sys.argv", ["workloads"])
    assert workloads.main() == bool(failing)


@pytest.mark.parametrize("agreement", [True, False])
def test_a_workload_that_differs_fails_the_bench_of_simulation(monkeypatch, tmp_path, agreement):
    (simulation,) = bench_modules("simulation")
    monkeypatch.setattr(simulation, "RESULTS", tmp_path / "simulation.json")
    monkeypatch.setattr(simulation, "first_use", lambda lanes, setting: {"seconds": 1.0})
    monkeypatch.setattr(
        simulation, "whole", lambda workload, _: {"workload": workload["name"],
                                                  "agreement": agreement}
    )  # fmt: skip
    only = ["--skip-rates", "--skip-memory", "--only", "yolo_sppf"]
    monkeypatch.setattr("sys.argv", ["simulation", *only])
    assert simulation.main() == (not agreement)
    (row,) = json.loads((tmp_path / "simulation.json").read_text())["workloads"]
    assert set(row["sources"]) == {"hdl", "host/simulation"}


@pytest.mark.parametrize(
    ("figures", "levels"),
    [
        ({}, ["aim", "floor"]),
        ({"fmax_mhz": 199.9}, ["floor"]),
        ({"fmax_mhz": 149.9}, []),
        ({"comb": 301}, ["floor"]),
        ({"comb": 401}, []),
        ({"block_ram": 2}, []),
    ],
)
def test_a_target_is_of_clock_and_area(figures, levels):
    (sections,) = bench_modules("fpga_sections")
    target = {"aim": 200, "floor": 150, "aim_comb": 300, "floor_comb": 400, "block_ram": 1}
    record = {"fmax_mhz": 200.0, "comb": 300, "block_ram": 1} | figures
    reached = [level for level in ("aim", "floor") if sections.reached(record, target, level)]
    assert reached == levels


def test_bare_cores_stand_beside_bare_cores():
    """A block costs what it is in addition, and has a table of its own."""
    (sections,) = bench_modules("fpga_sections")
    records = json.loads((BENCH / "results" / "fpga.json").read_text())
    assert any(record["bus"] == "axi" and sections.is_other_setting(record) for record in records)
    assert ", AXI" not in "\n".join(sections.settings_section(records))


def test_what_a_workload_takes_is_its_simulation_and_its_check():
    (parts,) = bench_modules("readme_parts")
    found = json.loads((BENCH / "results" / "simulation.json").read_text())
    for row in found["workloads"]:
        row.update(simulation_seconds=1.0, check_seconds=2.0)
    text = " ".join(parts.simulation_part(found).split())
    assert "is simulated and checked in 3.00 s." in text
