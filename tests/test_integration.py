"""`docs/integration.md` tells of the block what the gateware does: its registers, its waveform."""

import importlib.util
import re
from pathlib import Path

import pytest

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register import Access
from extremum.hdl.axi.register_map import BlockError
from extremum.host.fpga.presets import PRESETS

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (DOCS / "integration.md").read_text()
MAPS = [regs.register_map(PRESETS[name]) for name in ("pool2x2-int8", "programmable-int8x4")]
"""The register maps of a small block and of a large one."""


def rows(title):
    """Return the cells of the rows of the table whose first column has this title."""
    table = TEXT.partition(f"| {title} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table if row[0] == "|"]


@pytest.mark.parametrize("registers", MAPS, ids=["small", "large"])
def test_the_registers_are_those_of_the_map(registers):
    """Every register is in a row, and every row has one."""
    by_address = {register.address: register for register in registers}
    seen = set()
    for addresses, names, access, text in rows("address"):
        bounds = [int(number, 16) for number in re.findall("0x[0-9a-f]+", addresses)]
        found = [by_address[at] for at in by_address if bounds[0] <= at <= bounds[-1]]
        seen.update(register.address for register in found)
        for register in found:
            is_fixed = register.address >= regs.COMMAND_BASE and not register.is_writable
            expected = {field.access for field in register.fields}
            assert is_fixed or {Access(access)} == expected, register.name
        named = re.findall("`([A-Z_]+)`", names)
        if len(bounds) == 1:
            assert [register.name for register in found] == named
            assert names == "`START`" or found[0].text == text
        elif named:
            assert [found[0].name, found[-1].name] == named
    assert seen == set(by_address)


def test_every_error_of_the_block_is_explained():
    codes = {0}
    for code, *_ in rows("code"):
        numbers = [int(number) for number in re.findall(r"\d+", code)]
        codes.update(range(numbers[0], numbers[-1] + 1))
        if name := re.search("`([A-Z_]+)`", code):
            assert BlockError[name[1]] == numbers[0]
    assert codes == set(BlockError)


@pytest.fixture(scope="module")
def drawing():
    """The module that draws the waveform."""
    pytest.importorskip("wavedrom")
    spec = importlib.util.spec_from_file_location("draw_waveform", DOCS / "draw_waveform.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_waveform_is_that_of_the_block(drawing):
    """`make waveform` draws it anew."""
    assert drawing.figure() == drawing.FIGURE.read_text()


@pytest.mark.parametrize(("pipelining", "clocks"), [("fast", 9), ("small", 10), ("balanced", 10)])
def test_a_first_beat_waits_for_start_as_long_as_is_told(drawing, pipelining, clocks):
    """Two beats wait in the buffer; the third is taken when the core has the first."""
    seen = drawing.simulate(pipelining)
    (start,) = (at for at, now in enumerate(seen) if now["s_axil_wvalid"] & now["s_axil_wready"])
    taken = [at for at, now in enumerate(seen) if now["s_axis_tvalid"] & now["s_axis_tready"]]
    assert taken[2] - start == clocks
