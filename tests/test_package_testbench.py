"""The testbench of a package, and the job that it carries out."""

import re
from dataclasses import replace

import pytest
from packages import icarus, settings_of, write
from simulation import NEEDS_ICARUS

from extremum.hdl.config import CoreConfig
from extremum.host.package import testbench as benches
from extremum.host.package.bench_text import sink
from extremum.host.package.example import example_job
from extremum.host.package.ports import ports_of
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import block_verilog
from extremum.host.plan import dataflow_core
from extremum.model import DataType, Pooling


@pytest.mark.parametrize("bus", ["none", "axi"])
@pytest.mark.parametrize("name", ["pool2x2_int8", "argmax_1000_int8"])
def test_the_testbench_declares_each_port_as_wide_as_it_is(name, bus):
    settings = settings_of(name, bus=bus)
    ports = ports_of(block_verilog(settings), name)
    example = example_job(settings.config)
    assert example is not None
    text = benches.testbench(settings, ports, example)
    declared = {
        port: int(high or 0) + 1
        for high, port in re.findall(
            r"^  (?:reg|wire) (?:\[(\d+):0\] )?(\w+)(?: = [^;]+)?;", text, re.MULTILINE
        )
    }
    assert {port.name: declared.get(port.name) for port in ports} == {
        port.name: port.width for port in ports
    }
    used = set(re.findall(r"\[(\d+):0\] address", text))
    widths = {port.width - 1 for port in ports if port.name == "s_axil_awaddr"}
    assert used == {str(width) for width in widths}
    empty = int(has_empty_windows(example.problem))
    has_status = any(port.name == "status" for port in ports)
    assert (f"if (status[5] !== {empty})" in text) == has_status


def has_empty_windows(problem):
    return isinstance(problem, Pooling) and problem.empty_windows > 0


@pytest.mark.parametrize("empty", [0, 1])
def test_the_testbench_of_a_core_looks_at_the_status_of_empty_windows(empty):
    """Windows of two lines, the first of which lie in padding alone, or do not."""
    fixed = (("height.window", 2), ("height.dilation", 1), ("height.head", 1 - 2 * empty),
             ("width.window", 1))  # fmt: skip
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 2, 2), operators=("max-pool",), fixed=fixed
    )
    settings, example = Settings(config, "a", "none"), example_job(config)
    assert example is not None
    assert has_empty_windows(example.problem) == empty
    ports = ports_of(block_verilog(settings), "a")
    assert f"if (status[5] !== {empty})" in benches.testbench(settings, ports, example)


@pytest.mark.parametrize("most", ["RESULTS", "RESULTS + AHEAD"])
def test_results_of_a_next_tensor_are_not_timed(most):
    lines = sink("o", "o__valid", "o__ready", [("o__data", "data[o_seen]")], most=most)
    (timed,) = (line.strip() for line in lines if "last_clock" in line)
    is_last = "if (o_seen <= RESULTS) " if "AHEAD" in most else ""
    assert timed == f"{is_last}last_clock = clocks;"
    assert any(f"if (o_seen == {most})" in line for line in lines)


@pytest.mark.parametrize(
    ("fixed", "told"),
    [
        ({"width.window": 2, "width.dilation": 2}, "dilations (1, 2)"),
        ({"height.window": 2, "height.dilation": 1, "width.window": 1}, ""),
    ],
)
def test_the_title_of_the_example_names_what_is_not_usual(fixed, told):
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 2, 2), max_dilation=(1, 2, 2), operators=("max-pool",),
        fixed=tuple(fixed.items()),
    )  # fmt: skip
    example = example_job(config)
    assert example is not None
    assert isinstance(example.problem, Pooling)
    assert ("dilations" in example.title) == bool(told)
    assert told in example.title


@pytest.mark.parametrize("bus", ["none", "axi"])
@pytest.mark.parametrize("is_dataflow", [True, False])
def test_the_testbench_expects_results_ahead_of_a_core_without_jobs_alone(bus, is_dataflow):
    """Only there may windows of the next tensor follow: nobody has to ask for it."""
    problem = Pooling.of((1, 2, 4, 6), "int8", (2, 1), start_padding=(2, 0))
    core = dataflow_core(problem)
    if not is_dataflow:
        core = replace(
            core, fixed=tuple(each for each in core.fixed if each[0] != "height.regular")
        )
    example = example_job(core)
    assert example is not None
    assert example.ahead == 6
    settings = Settings(core, "a", bus)
    text = benches.testbench(settings, ports_of(block_verilog(settings), "a"), example)
    assert ("localparam AHEAD = 6;" in text) == is_dataflow


@NEEDS_ICARUS
@pytest.mark.parametrize("bus", ["none", "axi"])
def test_the_testbench_waits_for_beats_behind_the_last_result(bus, tmp_path):
    """No window sees the last two of three planes, which are hundreds of beats."""
    problem = Pooling.of(
        (1, 3, 3, 6, 28), "uint16", (3, 5, 5), strides=(1, 4, 3), start_padding=(3, 0, 2),
        end_padding=(1, 1, 0), dilations=(3, 1, 1), return_indices=True,
    )  # fmt: skip
    write(Settings(dataflow_core(problem), "own", bus), tmp_path)
    status, told = icarus(tmp_path, "own_tb", "own_tb.v", "own.v")
    assert (status, "PASS: 27 result beats" in told) == (0, True), told
