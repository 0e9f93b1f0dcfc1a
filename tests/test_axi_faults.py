"""The benches of `tb/axi` find a block that breaks a rule of its streams."""

from functools import partial

import pytest
from amounts import mostly_slow
from simulation import NEEDS_ICARUS, run_bench

from extremum.hdl.verilog import TOPS, generate
from extremum.host.package.ports import ports_of
from extremum.host.simulation import cocotb_block, cocotb_simulator
from extremum.tb.cores import CORES
from extremum.tb.coverage import Tally
from extremum.tb.regression.case import Batch, Case, Item
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.work import Difference

CORE, TOP = "reduction", TOPS["axi"]
STREAM = "m_axis_value"

FAULTS = {
    "data that depends on ready": (
        f"""
  assign {STREAM}_tdata = {STREAM}_tready ? inner_{STREAM}_tdata : ~inner_{STREAM}_tdata;
""",
        f"{STREAM}: data of an offer changed",
    ),
    "TLAST that comes late": (
        f"""
  reg waited = 0;
  always @(posedge aclk) waited <= {STREAM}_tvalid && !{STREAM}_tready;
  assign {STREAM}_tlast = inner_{STREAM}_tlast && (waited || {STREAM}_tready);
""",
        f"{STREAM}: last of an offer changed",
    ),
    "an offer that is taken back": (
        f"""
  reg waited = 0;
  always @(posedge aclk) waited <= {STREAM}_tvalid && !{STREAM}_tready;
  assign {STREAM}_tvalid = inner_{STREAM}_tvalid && !waited;
  assign inner_{STREAM}_tready = {STREAM}_tready && !waited;
""",
        f"{STREAM}: an offer was taken back",
    ),
    "an offer that is unknown": (
        f"""
  reg moved = 0;
  always @(posedge aclk) moved <= {STREAM}_tvalid && {STREAM}_tready;
  assign {STREAM}_tvalid = inner_{STREAM}_tvalid ? 1 : moved ? 1'bx : 0;
""",
        f"{STREAM}: tvalid is X",
    ),
    "a beat behind the last packet": (
        f"""
  // One beat more behind the eighth packet, without TLAST.
  reg [3:0] packets = 0;
  wire more = packets == 8;
  always @(posedge aclk)
    if ({STREAM}_tvalid && {STREAM}_tready && (more || {STREAM}_tlast)) packets <= packets + 1;
  assign {STREAM}_tvalid = inner_{STREAM}_tvalid || more;
  assign {STREAM}_tlast = inner_{STREAM}_tlast && !more;
  assign inner_{STREAM}_tready = {STREAM}_tready && !more;
""",
        "beats came behind the last packet",
    ),
    "an answer that changes": (
        """
  reg waited = 0;
  always @(posedge aclk) waited <= s_axil_rvalid && !s_axil_rready;
  assign s_axil_rdata = inner_s_axil_rdata ^ waited;
""",
        "s_axil: data of an offer changed",
    ),
}
"""What stands in a module around the block, and what the benches must say of it."""


def around(fault):
    """Return the block's Verilog with a module around it that breaks a rule."""
    verilog = generate(CORES[CORE], bus="axi")
    ports = ports_of(verilog, TOP)
    lines = [f"module {TOP}({', '.join(port.name for port in ports)});"]
    for port in ports:
        lines += [f"  {port.direction} {port.range}{port.name};"]
        lines += [f"  wire {port.range}inner_{port.name};"]
        inner = f"inner_{port.name}"
        target, source = (inner, port.name) if port.direction == "input" else (port.name, inner)
        if f"assign {target} =" not in fault:
            lines += [f"  assign {target} = {source};"]
    given = ", ".join(f".{port.name}(inner_{port.name})" for port in ports)
    lines += [f"  inner_block block({given});", fault, "endmodule"]
    return verilog.replace(f"module {TOP}(", "module inner_block(") + "\n".join(lines)


@NEEDS_ICARUS
@pytest.mark.parametrize("name", mostly_slow(FAULTS, ["data that depends on ready"]))
def test_a_broken_rule_is_found(name, tmp_path):
    fault, complaint = FAULTS[name]
    bench = "axi.masters" if "s_axil" in fault else "axi.streams"
    with pytest.raises(AssertionError, match="tests failed") as found:
        run_bench("icarus", CORE, bench, tmp_path, bus="axi", verilog=around(fault))
    assert complaint in str(found.value)


@NEEDS_ICARUS
@pytest.mark.parametrize(
    "name",
    ["data that depends on ready", "an offer that is taken back", "an offer that is unknown"],
)
def test_the_random_regression_finds_it_too(name, monkeypatch):
    fault, complaint = FAULTS[name]
    compiled = partial(cocotb_simulator.compile_core, verilog=around(fault))
    monkeypatch.setattr(cocotb_block, "compile_core", compiled)
    arguments = {"function": "argmax", "sizes": [9, 3], "data_type": "float32", "axes": 1}
    batch = Batch([Item("reduction", arguments)], output_stalls=60)
    with Rig("icarus") as rig, pytest.raises(Difference, match=complaint):
        run_case(Case(f"axi-{CORE}", [batch]), rig, Tally())


@pytest.mark.slow
@NEEDS_ICARUS
def test_what_stands_around_breaks_nothing_itself(tmp_path):
    run_bench("icarus", CORE, "axi.streams", tmp_path, bus="axi", verilog=around(""))
