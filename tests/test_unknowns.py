"""X on idle payloads and in memories, in the simulator that has four states."""

import re

import pytest
from simulation import NEEDS_ICARUS, UNKNOWNS, run_bench

from extremum.host import cache
from extremum.tb.cores import CORES

pytestmark = NEEDS_ICARUS

RUNS = [
    pytest.param(bus, core, marks=() if (bus, core) == ("axi", "reduction") else pytest.mark.slow)
    for bus in ("none", "axi")
    for core in CORES
]
"""The blocks; the quick tests run one of them."""


def unknown_memories(verilog):
    """Return the Verilog without the initial values of the memory: it begins with X."""
    start = verilog.find("module extremum_memory")
    if start < 0:
        return verilog
    rest, count = re.subn(r"  initial begin\n.*?\n  end\n\n", "", verilog[start:], flags=re.DOTALL)
    assert count == 1
    return verilog[:start] + rest


@pytest.mark.parametrize(("bus", "core"), RUNS)
def test_nothing_unknown_comes_out(bus, core, tmp_path):
    verilog = unknown_memories(cache.verilog(CORES[core], bus=bus))
    run_bench("icarus", core, UNKNOWNS[bus], tmp_path, bus=bus, verilog=verilog)


FAULTS = {
    "none": (".beat_wanted(i__ready),", "assign i__ready = i__payload[0];"),
    "axi": (".irq(irq),", "assign irq = s_axis_tdata[0];"),
}
"""Where an output is made, and what makes it follow a payload that may mean nothing."""


@pytest.mark.slow
@pytest.mark.parametrize(("bus", "core"), [("none", "image"), ("axi", "reduction")])
def test_what_follows_an_idle_payload_is_found(bus, core, tmp_path):
    made, instead = FAULTS[bus]
    verilog = cache.verilog(CORES[core], bus=bus)
    assert verilog.count(made) == 1
    verilog = verilog.replace(made, made[: made.index("(")] + "(),")
    verilog = verilog.replace("endmodule", f"  {instead}\nendmodule", 1)
    assert verilog.index("module extremum_") < verilog.index(instead)
    with pytest.raises(AssertionError, match=r"is unknown|Watchdog|StreamRuleError"):
        run_bench("icarus", core, UNKNOWNS[bus], tmp_path, bus=bus, verilog=verilog)
