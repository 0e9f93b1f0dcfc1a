"""The README of a package: what it says of ports, of the way through the core, and of tools."""

import re
from dataclasses import replace

import pytest
from packages import settings_of

from extremum.hdl.axi.latency import latency as block_latency
from extremum.hdl.axi.register_map import START_COMMAND, command_address
from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import latency
from extremum.host.fpga.presets import PRESETS
from extremum.host.package.example import example_job
from extremum.host.package.ports import Port, ports_of
from extremum.host.package.readme import KEEP_TEXT, LAST_TEXTS, PORT_TEXTS, readme
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import block_verilog
from extremum.model import DataType


def told_of_ports(text):
    """Return what a README says of each port: direction, bits, and a text."""
    rows = re.findall(r"^\| `(\w+)` \| (input|output) \| (\d+) \| (.*) \|$", text, re.MULTILINE)
    return {name: (way, int(bits), told) for name, way, bits, told in rows}


@pytest.mark.parametrize("name", ["pool2x2_int8", "programmable_int8x4", "argmax_1000_int8"])
def test_an_interface_is_explained_at_its_first_port(name):
    settings = settings_of(name)
    ports = ports_of(block_verilog(settings), name)
    told = told_of_ports(readme(settings, ports, None, []))
    assert [*told] == [port.name for port in ports]
    assert {key: row[:2] for key, row in told.items()} == {
        port.name: (port.direction, port.width) for port in ports
    }
    texts = {key: text for key, (_, _, text) in told.items() if "_tlast" not in key}
    assert texts.pop("s_axis_tkeep") == KEEP_TEXT
    assert told["s_axis_tlast"][2] == LAST_TEXTS[settings.has_registers]
    first = {port.interface: port.name for port in reversed(ports)}
    empty = (1 << settings.config.index_width) - 1
    marks = f"; 0x{empty:x} marks an empty window" if settings.config.has_values else ""
    for key, text in texts.items():
        (interface,) = (port.interface for port in ports if port.name == key)
        expected = PORT_TEXTS[interface].format(empty=marks) if first[interface] == key else ""
        assert text == expected, key


SMALL = replace(PRESETS["pool2x2-int8"], pipelining="small")
JOB = (Port("job__payload", "input", 100),)


@pytest.mark.parametrize(
    ("config", "bus", "ports", "depends"),
    [
        (SMALL, "none", JOB, SMALL.padding),
        (replace(SMALL, padding=True), "none", JOB, True),
        (replace(SMALL, padding=False), "none", JOB, False),
        (replace(SMALL, padding=True, pipelining="balanced"), "none", JOB, True),
        (replace(SMALL, padding=True, pipelining="fast"), "none", JOB, False),
        (replace(SMALL, padding=True), "none", (), False),
        (replace(SMALL, padding=True), "axi", JOB, False),
        (
            CoreConfig((DataType.INT8,), max_window=(1, 1, 1), pipelining="small"),
            "none",
            JOB,
            False,
        ),
    ],
)
def test_it_tells_whether_ready_depends_on_the_job(config, bus, ports, depends):
    text = readme(Settings(config, "a", bus), ports, None, [])
    assert ("but `i__ready` on `job__payload`" in text) == depends
    assert ("same clock.\n" in text) == (not depends)


@pytest.mark.parametrize("pipelining", ["small", "fast"])
def test_the_latency_of_a_block_is_told_beside_that_of_its_core(pipelining):
    config = replace(SMALL, pipelining=pipelining)
    core, whole = latency(config), block_latency(config, "axi")
    assert whole > core
    text = readme(Settings(config, "a", "none"), (), None, [])
    assert f"Latency: {core} clocks from a beat to the result that it completes.\n" in text
    text = readme(Settings(config, "a", "axi"), (), None, [])
    told = (
        f"{whole} clocks from a beat to the result that it completes, {core} of them in the core."
    )
    assert f"Latency: {told}\n" in text


@pytest.mark.parametrize("bus", ["none", "axi"])
def test_only_a_block_is_an_ip_of_vivado(bus):
    text = readme(Settings(SMALL, "a", bus), (), None, ["a.v"])
    assert ("$ vivado -mode batch" in text) == (bus == "axi")
    assert ("Lint, and an IP for Vivado" in text) == (bus == "axi")
    assert ("\nLint:\n" in text) == (bus == "none")


def test_the_start_is_the_last_of_what_the_example_writes():
    settings = settings_of("pool2x2_int8")
    example = example_job(settings.config)
    text = readme(settings, (), example, ["a.v"])
    rows = re.findall(r"^\| (0x\w+) \| `(\w+)` \| (\S+) \| (0x\w+) \|$", text, re.MULTILINE)
    assert rows[-1] == (f"0x{command_address(START_COMMAND):03x}", "START", "1", "0x00000001")
    assert len({address for address, *_ in rows}) == len(rows) == 6


@pytest.mark.parametrize(("lanes", "told"), [(1, "1 element per"), (2, "2 elements per")])
def test_it_tells_how_many_elements_a_beat_has(lanes, told):
    text = readme(Settings(replace(SMALL, lanes=lanes), "a"), (), None, [])
    assert f", {told} beat." in text


@pytest.mark.parametrize(
    ("measured", "device", "memories", "told"),
    [
        ("ecp5-85k", None, 1, "tools infer the memories, and it may be larger and slower."),
        ("ice40-up5k", None, 1, "it may ask for memories that the part has not."),
        ("ecp5-85k", None, 0, None),
        ("ecp5-85k", "ecp5-85k", 1, None),
    ],
)
def test_it_tells_where_the_measured_block_has_other_memories(measured, device, memories, told):
    """A package without a device leaves its memories to the tools."""
    cost = {"device": measured, "comb": 9, "ff": 8, "block_ram": memories, "fmax_mhz": 99.6}
    text = readme(Settings(SMALL, "a", device=device), (), None, [], cost)
    assert "| 9 | 8 | " + str(memories) + " | 100 |\n" in text
    start = f"\nThat is what `--device {measured}` writes. As the Verilog stands here,\n"
    assert (start in text) == (told is not None)
    if told:
        assert f"{start}{told}\n" in text
