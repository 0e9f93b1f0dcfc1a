"""Runs the benches of `tb/axi` on the AXI block, under cocotb, in both simulators."""

import pytest
from simulation import NEEDS_ICARUS, run_bench

from extremum.tb.cores import CORES

BENCHES = (
    "streams",
    "registers",
    "errors",
    "resets",
    pytest.param("masters", marks=pytest.mark.regress),
)

QUICK = {"verilator": ("image",), "icarus": ("reduction",)}
"""The cores whose blocks run in the quick tests; all run in `make test-all`."""

RUNS = [
    pytest.param(
        core,
        simulator,
        marks=[
            *([NEEDS_ICARUS] if simulator == "icarus" else []),
            *([] if core in QUICK[simulator] else [pytest.mark.regress]),
        ],
    )
    for simulator in QUICK
    for core in CORES
]


@pytest.mark.parametrize(("core", "simulator"), RUNS)
@pytest.mark.parametrize("bench", BENCHES)
def test_bench(bench, core, simulator, tmp_path):
    run_bench(simulator, core, f"axi.{bench}", tmp_path, bus="axi")
