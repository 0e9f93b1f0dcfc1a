"""Runs the benches of `tb/axi` on the AXI block, under cocotb, in both simulators."""

import pytest
from simulation import NEEDS_ICARUS, run_bench

from extremum.tb.cores import CORES

BENCHES = (
    "streams",
    "registers",
    "errors",
    "resets",
    "masters",
)

QUICK = {
    "verilator": ("image", ("streams", "registers", "errors", "resets")),
    "icarus": ("reduction", ("registers",)),
}
"""The core, and the benches of its block, that run in the quick tests of each simulator.

All run in `make test-all`.
"""


def runs(simulator):
    """Yield the benches on the block of each core."""
    quick_core, quick_benches = QUICK[simulator]
    for core in CORES:
        for bench in BENCHES:
            marks = [NEEDS_ICARUS] if simulator == "icarus" else []
            if core != quick_core or bench not in quick_benches:
                marks.append(pytest.mark.slow)
            yield pytest.param(bench, core, simulator, marks=marks)


@pytest.mark.parametrize(("bench", "core", "simulator"), [*runs("verilator"), *runs("icarus")])
def test_bench(bench, core, simulator, tmp_path):
    run_bench(simulator, core, f"axi.{bench}", tmp_path, bus="axi")
