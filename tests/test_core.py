"""Runs the benches of `tb` on the core, under cocotb, in both simulators."""

import pytest
from simulation import NEEDS_ICARUS, run_bench

from extremum.tb.cores import CORES

BENCHES = ("back_to_back", "backpressure", "reset", "refusal", "rate")


QUICK = {
    "verilator": {"image": BENCHES},
    "icarus": {"reduction": ("reset", "backpressure")},
}
"""What runs in the quick tests: every bench, and each simulator. All runs in `make test-all`."""


def runs(simulator):
    """Yield the benches on each core."""
    for core in CORES:
        for bench in BENCHES:
            marks = [NEEDS_ICARUS] if simulator == "icarus" else []
            if bench not in QUICK[simulator].get(core, ()):
                marks.append(pytest.mark.slow)
            yield pytest.param(bench, core, simulator, marks=marks)


@pytest.mark.parametrize(("bench", "core", "simulator"), [*runs("verilator"), *runs("icarus")])
def test_bench(bench, core, simulator, tmp_path):
    run_bench(simulator, core, bench, tmp_path)
