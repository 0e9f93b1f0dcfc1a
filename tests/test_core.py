"""The core under cocotb, in both simulators: see the benches in tb."""

import pytest
from simulation import SIMULATORS, run_bench

from extremum.tb.cores import CORES

BENCHES = ("queue", "backpressure", "reset", "refusal", "rate")


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("bench", BENCHES)
def test_bench(bench, core, simulator, tmp_path):
    run_bench(simulator, core, bench, tmp_path)
