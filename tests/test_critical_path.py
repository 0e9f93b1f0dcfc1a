"""The critical path of a placement, in the names of the sources."""

import json

import pytest
from fpga_reports import END, HOPS_ECP5, NETLIST_ECP5, NETLIST_ICE40, PATH_ECP5, path, report, step

from extremum.host.fpga.critical_path import CriticalPath, SourceNames


def test_the_critical_path_in_the_names_of_the_sources():
    asynchronous = path(step("logic", 99.0, END), start="<async>")
    short = path(step("clk-to-q", 0.5, END), step("routing", 0.1, END), step("setup", 0.1, END))
    found = CriticalPath.of(report([asynchronous, short, PATH_ECP5]), SourceNames(NETLIST_ECP5))
    assert [hop.name for hop in found.hops] == [hop.name for hop in HOPS_ECP5]
    for hop, wanted in zip(found.hops, HOPS_ECP5, strict=True):
        assert (hop.logic, hop.routing) == pytest.approx((wanted.logic, wanted.routing))
    assert found.logic == pytest.approx(1.7)
    assert found.routing == pytest.approx(3.3)


def test_a_critical_path_is_the_same_after_json():
    told = json.loads(json.dumps(CriticalPath(HOPS_ECP5).as_dict()))
    assert (told["from"], told["to"]) == (HOPS_ECP5[0].name, HOPS_ECP5[-1].name)
    assert (told["logic_ns"], told["routing_ns"]) == (1.7, 3.3)
    assert CriticalPath.from_dict(told) == CriticalPath(HOPS_ECP5)


def test_a_report_without_a_path_between_registers():
    with pytest.raises(ValueError, match="no path from a register to a register"):
        CriticalPath.of(report([path(start="<async>")]), SourceNames(NETLIST_ECP5))


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("core.reducer.best_TRELLIS_FF_Q_12", "core.reducer.best"),
        ("core.reducer.best_LUT4_C_Z_PFUMX_ALUT_Z_L6MUX21_Z_D0", "core.reducer.best"),
        ("core.a.b_SB_DFFSR_Q_1_R_SB_LUT4_O_LC", "core.a.b"),
        ("core.o_fifo.storage.0.2", "core.o_fifo.storage"),
        ("core.lanes[0].value_TRELLIS_FF_Q", "core.lanes[0].value"),
        ("core.register$14_TRELLIS_FF_Q_3", "core.register$14"),
        ("i__valid$19_LUT4_A_Z_PFUMX_ALUT", "i__valid"),
        ("$nextpnr_ICESTORM_LC_44", "carry chain"),
    ],
)
def test_the_signal_nearest_to_a_cell(name, signal):
    assert SourceNames.nearest(name) == signal


def test_registers_of_an_ice40_are_found_in_the_cells_they_are_packed_into():
    names = SourceNames(NETLIST_ICE40)
    own = "core.first[1] (core.py:9)"
    assert names.register("core.first_SB_DFFESR_Q_3_DFFLC") == own
    assert names.register("core.first_SB_DFFESR_Q_3_D_SB_LUT4_O_LC") == own
    assert names.register("core.line.0_RAM") == "core.line"
