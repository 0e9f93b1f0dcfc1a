"""The simulators that tests run on, and the start of a cocotb bench."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from amounts import EXAMPLES
from cocotb_tools.check_results import get_results

from extremum.hdl.verilog import TOPS
from extremum.host.simulation.cocotb_simulator import compile_core
from extremum.tb.cores import CORE, CORES

NEEDS_ICARUS = pytest.mark.skipif(not shutil.which("iverilog"), reason="no Icarus Verilog")

SIMULATORS = ("verilator", pytest.param("icarus", marks=NEEDS_ICARUS))

BACKENDS = ("native", *SIMULATORS)
"""The backends of an accelerator that simulate the gateware."""

ONE_COCOTB = (
    "native",
    *(
        ("icarus", pytest.param("verilator", marks=pytest.mark.slow))
        if shutil.which("iverilog")
        else ("verilator",)
    ),
)
"""The same backends, for tests in which Icarus and Verilator can only behave alike.

`make test` runs these on Icarus, which compiles a core in a second where Verilator takes twenty,
and `make test-all` on Verilator as well. Without Icarus, both run them on Verilator.
"""

UNKNOWNS = {"none": "unknowns", "axi": "axi.unknowns"}
"""The bench of each bus that looks for X at the outputs."""

NATIVE_BLOCK = pytest.param("native axi", marks=pytest.mark.slow)
"""The native simulation of the AXI block: a backend and a bus, as :func:`chosen` takes them."""

BLOCKS = (
    NATIVE_BLOCK,
    pytest.param("verilator axi", marks=pytest.mark.slow),
    pytest.param("icarus axi", marks=[NEEDS_ICARUS, pytest.mark.slow]),
)
"""The AXI block on every backend."""

NATIVE_FIRST = (
    "native",
    pytest.param("verilator", marks=pytest.mark.slow),
    pytest.param("icarus", marks=[NEEDS_ICARUS, pytest.mark.slow]),
    NATIVE_BLOCK,
)
"""The same backends, and the AXI block, for tests of many operators.

In the quick tests these run on the native backend alone, because `test_native.py` compares it with
the others job by job, and the benches of `tb` run on the others.
"""

LONGEST = 60 * max(10, EXAMPLES)
"""Seconds after which a bench is given up."""


def chosen(simulator):
    """Return the accelerator's arguments for ``"icarus"``, or for ``"icarus axi"``: with a bus."""
    backend, _, bus = simulator.partition(" ")
    return {"backend": backend, "bus": bus or "none"}


def run_bench(simulator, core, module, folder, *, bus="none", verilog=None):
    """Run a bench of `tb` on a core; fail if a test of it fails, or if there is none.

    ``verilog`` replaces the text of the core or the block.
    """
    request = {
        "simulator": simulator,
        "build_dir": str(compile_core(CORES[core], simulator, bus=bus, verilog=verilog)),
        "top": TOPS[bus],
        "test_dir": str(folder),
        "module": f"extremum.tb.{module}",
        "environment": {CORE: core, "COCOTB_ANSI_OUTPUT": "0"},
    }
    # In a process of its own: cocotb's runner ends the process that it runs in when a test fails,
    # with status 0 if the simulator left no results.
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    process = [sys.executable, "-m", "extremum.host.simulation.cocotb_process"]
    ran = subprocess.run(
        [*process, "simulate", json.dumps(request)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        timeout=LONGEST,
        check=False,
    )
    log = ran.stdout.decode(errors="replace")
    results = folder / "results.xml"
    assert results.exists(), f"{module} left no results:\n{log}"
    tests, failures = get_results(results)
    assert tests > 0, f"no test in {module}:\n{log}"
    assert failures == 0, f"{failures} of {tests} tests failed:\n{log}"
    assert ran.returncode == 0, f"the simulator ended with status {ran.returncode}:\n{log}"
