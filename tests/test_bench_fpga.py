"""Figures of FPGAs belong to netlists, and the bench tells when these have changed."""

import argparse

import pytest
from bench_files import bench_modules

from extremum.tb.netlists import digest

fpga, results_files = bench_modules("fpga", "results_files")
RESULTS = {result["name"]: result for result in results_files.read_results(fpga.RESULTS)}
BLOCK = next(block for block in fpga.blocks() if block.name == "argmax-int8")


def test_results_of_the_present_netlists(capsys):
    """Blocks without a result are no fault, since a measurement may fail."""
    assert fpga.check([BLOCK], RESULTS) == 0
    assert fpga.check([BLOCK], {}) == 0
    assert capsys.readouterr() == (
        "1 of 1 results of FPGAs are of the present netlists\n"
        "0 of 0 results of FPGAs are of the present netlists\n",
        "",
    )


@pytest.mark.parametrize("result", [{}, {"netlist": "0123456789ab"}])
def test_results_of_other_netlists(capsys, result):
    """They are named, also if they do not tell of which netlist they are."""
    assert fpga.check([BLOCK], {BLOCK.name: result}) == 1
    now = digest(BLOCK.config, BLOCK.bus)
    assert capsys.readouterr() == (
        "0 of 1 results of FPGAs are of the present netlists\n",
        f"argmax-int8: measured {result.get('netlist')}, it is {now} now\n",
    )


def test_results_that_cannot_be_read(tmp_path, capsys):
    """Nothing is measured, since the other results of the file would be lost."""
    damaged = tmp_path / "fpga.json"
    damaged.write_text("[{")
    with pytest.raises(SystemExit) as end:
        results_files.kept_results(argparse.ArgumentParser("fpga"), damaged)
    assert end.value.code == 2
    assert f"fpga: error: {damaged} cannot be read" in capsys.readouterr().err
    assert results_files.kept_results(argparse.ArgumentParser(), tmp_path / "none.json") == []


def test_every_result_tells_its_netlist():
    assert {len(result["netlist"]) for result in RESULTS.values()} == {12}
