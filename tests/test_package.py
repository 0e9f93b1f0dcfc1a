"""The package of a block: names, testbench, lint, IP-XACT, configuration. One small block here;
`test_package_tools.py` has five, and more tools."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from packages import EXAMPLES, icarus, run, schema_of, settings_of, write
from simulation import NEEDS_ICARUS

from extremum.hdl import CoreConfig
from extremum.hdl.axi.register_map import ADDRESS_BITS
from extremum.hdl.plain_verilog import plain_names, relative_sources
from extremum.host.cli.job_registers import registers_dict
from extremum.host.fpga.presets import PRESETS
from extremum.host.package.candidates import candidates
from extremum.host.package.configuration import parse, toml_text
from extremum.host.package.example import MOST_BEATS, example_job
from extremum.host.package.files import COMPONENTS
from extremum.host.package.identity import ip_version
from extremum.host.package.names import default_name
from extremum.host.package.ports import interfaces, ports_of
from extremum.host.package.readme import readme
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import block_verilog
from extremum.host.package.waivers import REASONS
from extremum.model import DataType, Pooling, Reduction

NAME = "pool2x2_int8"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The package of a small programmable block."""
    path = tmp_path_factory.mktemp("package")
    write(settings_of(NAME), path)
    return path


@pytest.fixture(scope="module")
def verilog(folder) -> str:
    return (folder / f"{NAME}.v").read_text()


def test_all_modules_carry_the_name(verilog):
    modules = re.findall(r"^module (\S+?)\b", verilog, re.MULTILINE)
    assert modules[0] == NAME
    assert len(modules) == len(set(modules)) > 10
    assert all(module.startswith(f"{NAME}_") for module in modules[1:])
    assert f"{NAME}_memory" in modules
    assert "extremum_memory" not in verilog


def test_names_are_plain_and_known_to_a_reader(verilog):
    assert "\\" not in verilog
    for part in ("width_window", "height_window", "windows_height", "width_window_storage"):
        assert f"module {NAME}_core_{part}" in verilog
    assert not re.search(r"window[0-9]", verilog)


def test_plain_names_are_distinct_identifiers():
    """None is one that stands in the text already, and none is a keyword."""
    text = r"reg a_1, o__lanes_2; wire \a$1 , \a.1 , \o__lanes[2] , \final , \1x , \$ , \b.c ;"
    assert plain_names(text + " ") == {
        "a$1": "a_1_2", "a.1": "a_1_3", "o__lanes[2]": "o__lanes_2_2", "final": "final_signal",
        "1x": "n1x", "$": "n", "b.c": "b_c",
    }  # fmt: skip


def test_the_header_tells_version_configuration_and_hash(verilog):
    settings = settings_of(NAME)
    header = verilog[: verilog.index("module ")]
    assert f"{NAME}: programmable AXI block, written by extremum " in header
    assert "// SPDX-License-Identifier: Apache-2.0\n" in header
    assert f"Configuration {settings.hash}:" in header
    commented = "".join(line.removeprefix("//   ") + "\n" for line in header.splitlines()[3:])
    assert parse(commented.partition("(*")[0]).config == settings.config


def test_vivado_recognises_the_interfaces(verilog):
    ports = ports_of(verilog, NAME)
    for port in ports:
        (info,) = re.findall(
            rf'X_INTERFACE_INFO = "([^"]*)" \*\)(?:\n  \(\*[^\n]*)*\n  {port.direction} '
            rf"(?:\[\d+:0\] )?{port.name};",
            verilog,
        )
        definition, interface, logical = info.split()
        assert interface == port.interface
        if port.name not in ("aclk", "aresetn", "irq"):
            assert port.name == f"{interface}_{logical.lower()}"
            assert definition.startswith("xilinx.com:interface:a")
    assert list(interfaces(ports)) == ["s_axis", "m_axis_value", "s_axil"]
    assert "ASSOCIATED_BUSIF s_axis:m_axis_value:s_axil, ASSOCIATED_RESET aresetn" in verilog
    parameters = re.findall(r'X_INTERFACE_PARAMETER = "(\w+ \w+)"', verilog)
    assert sorted(parameters) == [
        "POLARITY ACTIVE_LOW", "PROTOCOL AXI4LITE", "SENSITIVITY LEVEL_HIGH",
    ]  # fmt: skip


def test_lint(folder):
    """With the waivers there is no warning; each of them has a reason, and is for this file."""
    command = ("verilator", "--lint-only", "-Wall", f"{NAME}.v")
    status, told = run(folder, *command, f"{NAME}.vlt")
    assert (status, "%" in told) == (0, False), told
    status, told = run(folder, *command)
    assert status != 0
    broken = set(re.findall(r"%Warning-(\w+):", told))
    assert {"PROCASSINIT", "UNUSEDSIGNAL"} <= broken <= set(REASONS)
    waived = (folder / f"{NAME}.vlt").read_text()
    for folder_of in ("", r"\*/"):
        pattern = rf'lint_off -rule (\w+) -file "{folder_of}pool2x2_int8.v"'
        assert re.findall(pattern, waived) == list(REASONS)


@NEEDS_ICARUS
def test_the_bench_passes_and_finds_what_is_wrong(folder, tmp_path):
    bench, block = (folder / f"{NAME}_tb.v").read_text(), str(folder / f"{NAME}.v")
    status, told = icarus(folder, f"{NAME}_tb", f"{NAME}_tb.v", f"{NAME}.v")
    assert (status, told[:5]) == (0, "PASS:"), told
    faults = [
        (r"(_tdata\[3\] = 8'h)..", r"\g<1>7f", "m_axis_value_tdata of beat 3"),
        (r"(_tkeep\[5\] = 1'h)1", r"\g<1>0", "m_axis_value_tkeep of beat 5"),
        (r"RESULTS = 6;", "RESULTS = 7;", "m_axis_value_tlast of beat 5"),
        (r"32'h\w+(\);  // CONFIG_HASH)", r"32'h12345678\1", "expected 12345678"),
        (r"32'h\w+(\);  // WIDTH_PERIOD)", r"32'h00000004\1", "m_axis_value"),
        (r"32'h\w+(\);  // HEIGHT_PERIOD)", r"32'h00000004\1", "not over after|01c"),
        (r"32'h\w+(\);  // STATUS\.busy)", r"32'h00000001\1", "014 holds"),
        (r"32'h\w+(\);  // IRQ_STATUS\.done)", r"32'h00000000\1", "the interrupt stays"),
        (r"sent < BEATS\n", "sent < BEATS - 1\n", "not over after .* beats were taken"),
    ]
    (most,) = re.findall(r"MOST_CLOCKS = (\d+);", bench)
    assert int(most) < 100_000
    for number, (pattern, replacement, complaint) in enumerate(faults):
        changed, count = re.subn(pattern, replacement, bench)
        assert count == 1, pattern
        (tmp_path / f"{number}.v").write_text(changed)
        status, told = icarus(tmp_path, f"{NAME}_tb", f"{number}.v", block)
        assert status != 0, pattern
        assert re.search(complaint, told), (pattern, told)
        assert "PASS" not in told


@NEEDS_ICARUS
@pytest.mark.parametrize("part", ["width", "height"])
def test_the_bench_finds_a_block_that_does_not_compare(folder, verilog, tmp_path, part):
    """One of the two taps always wins, or one does whenever it is there."""
    start = verilog.index(f"module {NAME}_core_{part}_window(")
    module = verilog[start : verilog.index("endmodule", start)]
    (choice,) = re.findall(r"assign (\w+) = (\w+) \? (line_\w+) : (line_\w+);", module)
    chosen, wins, left, right = choice
    (is_there,) = re.findall(rf"assign {wins} = (line_\w+) & \w+;", module)
    faults = [f"{chosen} = {left}", f"{chosen} = {right}", f"{wins} = {is_there}"]
    for number, fault in enumerate(faults):
        name = fault.partition(" ")[0]
        changed, count = re.subn(rf"assign {name} = [^;]*;", f"assign {fault};", module)
        assert count == 1
        (tmp_path / f"{number}.v").write_text(verilog.replace(module, changed))
        bench = str(folder / f"{NAME}_tb.v")
        status, told = icarus(tmp_path, f"{NAME}_tb", bench, f"{number}.v")
        assert status != 0, fault
        assert "FAIL" in told


@pytest.mark.parametrize("edition", COMPONENTS)
def test_ip_xact(folder, edition):
    schema = etree.XMLSchema(etree.parse(str(schema_of(edition))))
    text = (folder / COMPONENTS[edition]).read_text()
    tree = etree.ElementTree(etree.fromstring(text.encode()))
    assert schema.validate(tree), schema.error_log.last_error
    found = tree.xpath("//*[local-name()='busInterface']/*[local-name()='name']/text()")
    assert found == ["aclk", "aresetn", "s_axis", "m_axis_value", "s_axil", "irq"]
    ports = tree.xpath("//*[local-name()='ports']/*[local-name()='port']/*[1]/text()")
    verilog = (folder / f"{NAME}.v").read_text()
    assert ports == [port.name for port in ports_of(verilog, NAME)]
    mapped = tree.xpath("//*[local-name()='physicalPort']/*/text()")
    assert sorted(mapped) == sorted(ports)
    (reference,) = tree.xpath("//*[local-name()='slave']/*[local-name()='memoryMapRef']/@*")
    names = tree.xpath("//*[local-name()='memoryMap']/*[local-name()='name']/text()")
    assert [reference] == names
    told = dict(re.findall(r">(POLARITY|ASSOCIATED_\w+)</[^>]*>\s*<[^>]*>([^<]*)<", text))
    assert told == {
        "ASSOCIATED_BUSIF": "s_axis:m_axis_value:s_axil", "ASSOCIATED_RESET": "aresetn",
        "POLARITY": "ACTIVE_LOW",
    }  # fmt: skip
    (told,) = tree.xpath("//*[local-name()='addressBlock']/*[local-name()='range']/text()")
    assert int(told.replace("'h", "0x"), 16) == 1 << ADDRESS_BITS


def test_the_components_and_the_script_have_one_version(folder):
    """It has two numbers, as Vivado's versions have."""
    found = [
        etree.parse(str(folder / name)).xpath("/*/*[local-name()='version']/text()")
        for name in COMPONENTS.values()
    ]
    found.append(
        re.findall(r"^set_property version (\S+)", (folder / "package_ip.tcl").read_text(), re.M)
    )
    assert found[1:] == found[:-1] == [[ip_version()]] * 2
    assert re.fullmatch(r"\d+\.\d+", ip_version())


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (NAME, "marks the last beat of each job; if it comes early or late, `ERROR` tells"),
        (
            "argmax_1000_int8",
            "not looked at: each job takes as many beats as it needs, so a packet",
        ),
    ],
)
def test_the_readme_tells_what_tlast_means(name, told):
    settings = settings_of(name)
    ports = ports_of(block_verilog(settings), name)
    text = readme(settings, ports, None, ["a.v"])
    rows = dict(re.findall(r"^\| `(\w+_tlast)` \| \w+ \| 1 \| (.+) \|$", text, re.MULTILINE))
    assert rows.pop("s_axis_tlast").startswith(told)
    assert set(rows.values()) == {"the last beat of each job's results"}


def test_the_template_connects_every_port(folder, verilog):
    template = (folder / f"{NAME}_template.v").read_text()
    for port in ports_of(verilog, NAME):
        assert f".{port.name}({port.name})" in template
        assert f"wire {port.range}{port.name};  // {port.direction}" in template


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_configuration_is_read_back_equal(path):
    asked = parse(path.read_text())
    for bus, device in (("axi", None), ("none", "ecp5-85k")):
        settings = Settings(asked.config, "again", bus, device=device)
        read = parse(toml_text(settings))
        assert (read.config, read.name) == (settings.config, "again")
        assert (read.bus, read.device) == (bus, device)


def test_the_order_of_fixed_registers_means_nothing():
    config = PRESETS["pool3x3-int8-indices"]
    turned = replace(config, fixed=config.fixed[::-1])
    assert Settings(turned, "a") == Settings(config, "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lanez = 2", "there is no parameter lanez: it must be one of data_types, lanes"),
        ("[package]\nnmae = 'a'", "there is no parameter package.nmae: it must be one of name"),
        ("package = 3", "package must be a table, not 3"),
        ("[package]\nname = 3", "package.name must be a string, not 3"),
        ("[package]\nname = '2x'", "name must be a letter and up to 63"),
        ("[package]\nbus = 'ahb'", "package.bus must be none or axi, not 'ahb'"),
        ("data_types = 'int8'", "data_types must be a list, not 'int8'"),
        ("data_types = ['int7']", "data type must be one of"),
        ("max_window = 3", "max_window must be a list, not 3"),
        ("max_window = [3, 3]", "max_window must be (depth, height, width), not (3, 3)"),
        ("lanes = true", "lanes must be an integer, not True"),
        ("padding = 1", "padding must be true or false, not 1"),
        ("operators = ['reduce-max']", "max-pool, each once, not ('reduce-max',)"),
        ("[packge]\nname = 'a'", "there is no parameter packge: it must be one of data_types"),
        ("fixed = 3", "fixed must be a table of job registers, not 3"),
        ("[fixed]\nlength = 'long'", "job register length must be an integer, not 'long'"),
        ("[fixed]\nslots = true", "job register slots must be an integer, not True"),
        ("[fixed]\nsize = 1", "there is no job register 'size'"),
    ],
)
def test_configurations_that_are_refused(text, message):
    with pytest.raises((TypeError, ValueError)) as refusal:
        parse(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("core", "bus", "name"),
    [
        ("pool2x2-int8", "axi", "extremum_pool2x2_int8"),
        (None, "axi", "extremum_axi"),
        (None, "none", "extremum_core"),
    ],
)
def test_names_by_default(core, bus, name):
    assert default_name(core, bus) == name


def test_settings_that_are_refused():
    config = PRESETS["argmax-int8"]
    for name in ("", "2x", "a-b", "a b", "ä", "a" * 65):
        with pytest.raises(ValueError, match="name must be a letter"):
            Settings(config, name)
    with pytest.raises(ValueError, match="bus must be none or axi, not 'apb'"):
        Settings(config, "a", "apb")


def test_source_lines_are_kept_and_name_no_folder():
    """They are the same on every machine, wherever the packages are installed."""
    config = CoreConfig((DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",))
    settings = Settings(config, "a", "none", source=True)
    sources = set(re.findall(r'src = "([^"]*):\d+"', block_verilog(settings)))
    assert "extremum/hdl/core.py" in sources
    assert all(source.startswith(("extremum/", "amaranth/")) for source in sources)
    assert "src" not in block_verilog(replace(settings, source=False))
    other = 'attribute \\src "/elsewhere/design.py:3|/elsewhere/top.py:4"'
    assert relative_sources(other) == 'attribute \\src "design.py:3|top.py:4"'


@pytest.mark.parametrize("name", PRESETS)
def test_an_example_is_found_for_every_core_that_has_a_short_job(name):
    config, example = PRESETS[name], example_job(PRESETS[name])
    if dict(config.fixed).get("length", 0) > MOST_BEATS:
        assert example is None
        text = readme(Settings(config, "a"), (), None, ["a.v"])
        assert "no testbench" in text
    else:
        assert example is not None
        assert example.job.beats_in == len(example.beats) <= MOST_BEATS
        assert example.valid.any(axis=1).all()


@pytest.mark.parametrize("fixed", [(), (("decreasing", 0), ("length", 9))])
def test_the_readme_of_a_bare_core_has_the_registers_of_its_job_port(fixed):
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",), fixed=fixed
    )  # fmt: skip
    settings, example = Settings(config, "a", "none"), example_job(config)
    assert example is not None
    text = readme(settings, (), example, ["a.v"])
    told = registers_dict(example.job)
    listed = dict(re.findall(r"^\| `([\w.]+)` \| (-?\d+) \|$", text, re.MULTILINE))
    assert listed == {name: str(value) for name, value in told["registers"].items()}
    assert f"`{told['payload'].removeprefix('0x')}` in hexadecimal" in text


ONE_ROW = CoreConfig(
    (DataType.INT8,), max_window=(1, 3, 1), operators=("max-pool",), index_width=0,
    fixed=(("height.spacing", 1),),
)  # fmt: skip
"""Windows of one column: the rows that a window needs lie next to each other in the input."""


@pytest.mark.parametrize("bus", ["none", "axi"])
def test_a_memory_that_is_not_needed_is_not_there(bus):
    """Every module but the top is instantiated, so tools find one top."""
    text = block_verilog(Settings(ONE_ROW, "row", bus))
    modules = re.findall(r"^module (\w+)", text, re.MULTILINE)
    assert not any(
        "memory" in name for name in modules if "queue" not in name and "storage" in name
    )
    used = set(re.findall(r"^  (row_\w+)(?: #\(.*?\))? \w+ ?\(", text, re.MULTILINE | re.DOTALL))
    assert set(modules) - used == {"row"}


def test_the_distance_of_stored_taps_tells_how_many_windows_a_line_has():
    example = example_job(ONE_ROW)
    assert example is not None
    assert example.problem.output_sizes[-1] == 1
    config = CoreConfig(
        max_window=(2, 3, 3), max_dilation=(1, 2, 1),
        fixed=(("depth.spacing", 12), ("height.spacing", 8), ("height.dilation", 2)),
    )  # fmt: skip
    example = example_job(config)
    assert example is not None
    assert example.problem.output_sizes[-2:] == (3, 4)


def test_examples_keep_what_is_fixed():
    config = CoreConfig(
        (DataType.UINT8, DataType.FLOAT16), 4, (1, 1, 1), operators=("argmin", "argmax"),
        fixed=(("data_type", 1), ("minimum", 1), ("decreasing", 1), ("ignore_nan", 1),
               ("fold", 1), ("length", 3), ("tail", 2)),
    )  # fmt: skip
    example = example_job(config)
    assert example is not None
    problem = example.problem
    assert isinstance(problem, Reduction)
    assert (problem.function.value, problem.axis_direction.name) == ("argmin", "DECREASING")
    assert (problem.data_type, problem.nan, problem.sizes) == (DataType.FLOAT16, "ignore", (1, 10))
    window = CoreConfig(
        (DataType.INT8,), 1, (1, 3, 3), (1, 2, 2), max_line=8, operators=("max-pool",),
        fixed=(("width.window", 2), ("width.dilation", 2), ("width.head", 1), ("width.size", 9)),
    )  # fmt: skip
    first = next(candidates(window))
    assert isinstance(first, Pooling)
    assert [values[-1] for values in (first.window, first.dilations, first.start_padding)] == [
        2, 2, 1,
    ]  # fmt: skip
    assert first.sizes[-1] == 9
