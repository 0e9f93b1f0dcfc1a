"""Runs the benches of `tb` on the core, under cocotb, in both simulators."""

import pytest
from simulation import NEEDS_ICARUS, run_bench

from extremum.tb.cores import CORES

BENCHES = ("queue", "backpressure", "reset", "refusal", "rate")


SMALL = ("reduction",)
"""Cores that Icarus simulates in seconds; the others run there in `make test-all` alone."""

QUICK = ("image", "reduction", "every_type")
"""Cores that run on Verilator in the quick tests."""

RUNS = [
    *(
        pytest.param(core, "verilator", marks=[] if core in QUICK else [pytest.mark.regress])
        for core in CORES
    ),
    *(
        pytest.param(
            core, "icarus",
            marks=[NEEDS_ICARUS, *([] if core in SMALL else [pytest.mark.regress])],
        )
        for core in CORES
    ),
]  # fmt: skip


@pytest.mark.parametrize(("core", "simulator"), RUNS)
@pytest.mark.parametrize("bench", BENCHES)
def test_bench(bench, core, simulator, tmp_path):
    run_bench(simulator, core, bench, tmp_path)
