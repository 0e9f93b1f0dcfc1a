"""Tests that need tools for synthesis: a mark that skips them, and how many registers are kept."""

import importlib.util
import json

import pytest
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] (not in the stubs)
from amaranth.hdl import Cat, Module, Signal

from extremum.host.fpga import toolchain


def needs(*tools: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test unless all these packages of PyPI are installed."""
    missing = [tool for tool in tools if not importlib.util.find_spec(tool.replace("-", "_"))]
    return pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)}")


def flip_flops(folder, logic, *, width=1):
    """Return how many flip-flops Yosys keeps, if all that ``logic(m, flag)`` returns is used."""
    m, flag = Module(), Signal(width, name="flag")
    flags = Cat(*logic(m, flag))
    o = Signal(len(flags), name="o")
    m.d.comb += o.eq(flags)
    (folder / "design.il").write_text(rtlil.convert(m, ports=[flag, o]))
    script = "read_rtlil design.il; synth -flatten; write_json design.json"
    toolchain.call(toolchain.YOSYS, ["-q", "-p", script], folder)
    (top,) = json.loads((folder / "design.json").read_text())["modules"].values()
    return sum("DFF" in cell["type"] for cell in top["cells"].values())
