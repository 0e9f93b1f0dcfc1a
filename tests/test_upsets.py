"""What the target `faults` tells of upsets, and takes for a failure, on upsets that are planted."""

import json
import re

import pytest
from amaranth.hdl import Shape
from simulation import NEEDS_ICARUS, run_bench

from extremum.hdl.ports import input_layout, job_layout, output_layout, status_layout
from extremum.host import cache
from extremum.tb.cores import CORES
from extremum.tb.faults.upsets import COUNT, RECORDS, VERILOG, Cure, Effect, Upset, problem_of

CORE = CORES["reduction"]


def upset(effect, cure, register="queue.valid"):
    return Upset(register, 0, 7, effect, False, cure)


@pytest.mark.parametrize("effect", Effect)
def test_every_upset_must_end(effect):
    assert not problem_of([upset(effect, Cure.SOFT_RESET)], Cure.SOFT_RESET)
    assert "no reset helped" in problem_of([upset(effect, Cure.NOTHING)], Cure.SOFT_RESET)


def test_a_hang_of_the_block_must_end_by_soft_reset():
    assert not problem_of([upset(Effect.WRONG, Cure.RESET)], Cure.SOFT_RESET)
    told = problem_of([upset(Effect.HANGING, Cure.RESET)], Cure.SOFT_RESET)
    assert "these hangs were not ended by a soft reset" in told
    assert not problem_of([upset(Effect.HANGING, Cure.RESET)], Cure.RESET)


def test_only_a_hang_of_the_register_port_may_need_more_than_a_soft_reset():
    """The write that asks for the soft reset has to pass this port."""
    port = upset(Effect.HANGING, Cure.RESET, "lite.has_data")
    assert not problem_of([port], Cure.SOFT_RESET)
    assert problem_of([upset(Effect.HANGING, Cure.RESET, "core.lite.next")], Cure.SOFT_RESET)
    assert problem_of([upset(Effect.HANGING, Cure.NOTHING, "lite.has_data")], Cure.SOFT_RESET)
    assert problem_of([upset(Effect.HANGING, Cure.SOFT_RESET, "lite.has_data")], Cure.RESET)


AROUND_CORE = f"""
module extremum_core (
    input clk, input rst,
    input job__valid, input [{Shape.cast(job_layout(CORE)).width - 1}:0] job__payload,
    output job__ready,
    input i__valid, input [{input_layout(CORE).size - 1}:0] i__payload, output i__ready,
    output o__valid, output [{output_layout(CORE).size - 1}:0] o__payload, input o__ready,
    output [{status_layout().size - 1}:0] status
);
  reg harmless = 0, busy = 0, hangs = 0, wrong = 0;
  always @(posedge clk)
    harmless <= harmless & ~rst;
  always @(posedge clk)
    busy <= busy & ~rst;
  always @(posedge clk)
    hangs <= hangs & ~rst;
  always @(posedge clk)
    wrong <= wrong & ~rst;

  reg [5:0] rests = 0;
  reg rested = 0;
  always @(posedge clk) begin
    rests <= (hangs | wrong) & ~told[0] ? rests + 1 : 0;
    rested <= ~rst & (rested | &rests);
  end
  wire waits = hangs & rested;
  wire job_ready;
  wire [{output_layout(CORE).size - 1}:0] result;
  wire [{status_layout().size - 1}:0] told;
  inner core (
    .clk(clk), .rst(rst),
    .job__valid(job__valid & ~waits), .job__payload(job__payload), .job__ready(job_ready),
    .i__valid(i__valid), .i__payload(i__payload), .i__ready(i__ready),
    .o__valid(o__valid), .o__payload(result), .o__ready(o__ready), .status(told)
  );
  assign job__ready = job_ready & ~waits;
  assign o__payload = result ^ (wrong & rested);
  assign status = told | busy;
endmodule
"""
"""A core with four more flip-flops. Two of them do harm when it has been idle for a while."""


def planted(bus, registers, verilog, folder, monkeypatch):
    """Upset flip-flops that `registers` holds of a changed block; return what came of each."""
    (folder / "registers.v").write_text(registers)
    monkeypatch.setenv(VERILOG, str(folder / "registers.v"))
    monkeypatch.setenv(RECORDS, str(folder / "records.json"))
    monkeypatch.setenv(COUNT, "8")
    bench = "faults.core" if bus == "none" else "faults.block"
    run_bench("icarus", "reduction", bench, folder, bus=bus, verilog=verilog)
    upsets = json.loads((folder / "records.json").read_text())["upsets"]
    return {(each["register"], each["effect"], each["cure"]) for each in upsets}


@NEEDS_ICARUS
def test_what_shows_in_the_next_job_of_a_core_is_latent(tmp_path, monkeypatch):
    """So is a core that stays busy."""
    verilog, count = re.subn(r"(?m)^module extremum_core\b", "module inner", cache.verilog(CORE))
    assert count == 1
    seen = planted("none", AROUND_CORE, verilog + AROUND_CORE, tmp_path, monkeypatch)
    assert seen == {
        ("harmless", "masked", "reset"),
        ("busy", "latent", "reset"),
        ("hangs", "latent", "reset"),
        ("wrong", "latent", "reset"),
    }


IN_BLOCK = """
module extremum_axi (aclk);
  wire over = ~aresetn | soft_reset;
  reg harmless = 0, wrong = 0;
  always @(posedge aclk)
    harmless <= harmless & ~over;
  always @(posedge aclk)
    wrong <= wrong & ~over;
  reg [4:0] rests = 0;
  reg rested = 0;
  always @(posedge aclk) begin
    rests <= wrong & idle ? rests + 1 : 0;
    rested <= ~over & (rested | &rests);
  end
endmodule
"""
"""Two more flip-flops of a block. One of them does harm when it has been idle for a while."""


@NEEDS_ICARUS
@pytest.mark.slow
def test_what_shows_in_the_next_job_of_a_block_is_latent(tmp_path, monkeypatch):
    verilog = cache.verilog(CORE, bus="axi")
    more = "".join(IN_BLOCK.splitlines(keepends=True)[2:])
    start = re.search(r"(?m)^module extremum_axi\b", verilog)
    assert start
    top = verilog[start.start() :].replace("endmodule\n", more, 1)
    data = r"(?m)^  assign m_axis_index_tdata = (.*);$"
    top, count = re.subn(data, r"  assign m_axis_index_tdata = \1 ^ (wrong & rested);", top)
    assert count == 1
    verilog = verilog[: start.start()] + top
    seen = planted("axi", IN_BLOCK, verilog, tmp_path, monkeypatch)
    assert seen == {("harmless", "masked", "soft reset"), ("wrong", "latent", "soft reset")}
