"""The core of one operator: it takes that operator in one job, and costs no more than it must."""

import random
from dataclasses import replace

import pytest
from amounts import some
from packages import icarus, write

from extremum.hdl.config import OPERATORS, PIPELINING, CoreConfig
from extremum.hdl.registers import job_shapes
from extremum.host.package.example import example_job
from extremum.host.package.settings import Settings
from extremum.host.plan import dataflow_core, plan
from extremum.host.plan.dataflow import fixed_to
from extremum.model import DataType, Pooling, Reduction
from extremum.tb.c_driver.operators import random_pooling, random_reduction

ANY_TYPE = CoreConfig(tuple(DataType))


def operators(count, seed):
    """Random operators that break no rule."""
    source = random.Random(seed)
    while count:
        arguments = source.choice((random_reduction, random_pooling))(source, ANY_TYPE)
        try:
            made = (Reduction if "function" in arguments else Pooling).of(**arguments)
        except (TypeError, ValueError):
            continue
        yield made, {"lanes": source.choice((1, 2, 3, 4, 8)),
                     "pipelining": source.choice(PIPELINING)}  # fmt: skip
        count -= 1


def takes_one_job(problem, config):
    """Whether a core carries out an operator in one job, which is neither cut nor gathered."""
    try:
        planned = plan(problem, replace(config, fixed=()))
    except ValueError:
        return False
    return len(planned.jobs) == 1 and not planned.notes


def test_it_takes_its_operator_in_one_job():
    for problem, given in operators(some(1000), 1):
        core = dataflow_core(problem, **given)
        assert not job_shapes(core)
        assert {name: getattr(core, name) for name in given} == given
        planned = plan(problem, core)
        planned.check_fixed()
        assert len(planned.jobs) == 1


@pytest.mark.parametrize(
    ("sizes", "window", "expected"),
    [
        ((4, 6), 1, (1, 1, 2)),
        ((4, 6), (2, 1), (1, 2, 1)),
        ((3, 4, 6), 1, (2, 1, 2)),
        ((3, 4, 6), (2, 1, 1), (2, 1, 1)),
    ],
)
def test_a_window_of_one_tap_slides_too(sizes, window, expected):
    """It needs a stage, of two taps as all that has one, and no more stages than it must have."""
    core = dataflow_core(Pooling.of((1, 1, *sizes), "int8", window, strides=2))
    assert core.max_window == expected


def test_no_limit_could_be_lower():
    """Of cores that slide the same windows, one with less of anything needs more than one job."""
    seen = set()
    for problem, given in operators(some(400), 2):
        core = dataflow_core(problem, **given)
        least = {"max_line": 1, "max_plane": 1, "coordinate_width": 4, "index_width": 1}
        for name, low in least.items():
            if getattr(core, name) > low:
                fewer = replace(core, fixed=(), **{name: getattr(core, name) - 1})
                assert not takes_one_job(problem, fewer), (problem, name)
                seen.add(name)
        if core.padding and core.has_windows:
            without = replace(core, fixed=(), padding=False, coordinate_width=24)
            assert not takes_one_job(problem, without)
            seen.add("padding")
        gives_index = problem.return_indices if isinstance(problem, Pooling) else (
            problem.function.gives_index
        )  # fmt: skip
        assert bool(core.index_width) == gives_index
        assert core.has_values == (isinstance(problem, Pooling) or not gives_index)
    assert seen == {"max_line", "max_plane", "coordinate_width", "index_width", "padding"}


def test_its_package_has_a_testbench_as_a_rule():
    """What the registers are fixed to tells the operator, but for taps that were left out."""
    found = [
        example_job(dataflow_core(problem, **given)) is not None
        for problem, given in operators(some(400), 3)
        if isinstance(problem, Pooling) or problem.count < 2**15
    ]
    assert sum(found) > 0.9 * len(found)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            Pooling.of((1, 1, 300, 300), "int8", 256),
            r"^max_window must be from 1 to 255, not \(1, 256, 256\)$",
        ),
        (
            Pooling.of((1, 1, 2, 2**25), "int8", (1, 2), end_padding=(0, 1)),
            r"^no core carries out this operator in one job, as a dataflow core must: cut into ",
        ),
        (
            Pooling.of((1, 1, 2**24, 1), "int8", (2, 1), strides=(2**24, 1)),
            r"must: gathered by the host: height stride 16777216 exceeds coordinate_width 24$",
        ),
    ],
)
def test_what_no_core_carries_out_in_one_job(problem, message):
    with pytest.raises(ValueError, match=message):
        dataflow_core(problem)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lanes": 65}, r"^lanes must be from 1 to 64, not 65$"),
        ({"pipelining": "slow"}, r"^pipelining must be one of"),
    ],
)
def test_parameters_that_are_wrong(given, message):
    with pytest.raises(ValueError, match=message):
        dataflow_core(Reduction.of("argmax", (3,), "int8"), **given)


@pytest.mark.parametrize("operators", [OPERATORS, ("max-pool",)])
@pytest.mark.parametrize("padding", [False, True])
def test_registers_that_others_make_superfluous_are_not_fixed(padding, operators):
    """Without padding, a fixed stride and window tell the last window, and one plane the slots."""
    config = CoreConfig(
        (DataType.INT8,), max_window=(1, 3, 3), padding=padding, operators=operators
    )
    problem = Pooling.of((1, 1, 9, 8), "int8", 3, strides=2)
    (job,) = plan(problem, config).jobs
    fixed = dict(fixed_to(job).fixed)
    counts_slots = padding or operators == OPERATORS
    assert ("slots" in fixed, "width.final" in fixed) == (counts_slots, padding)
    (job,) = plan(problem, replace(config, fixed=(("groups", 1),))).jobs
    assert dict(fixed_to(job).fixed) == fixed


@pytest.mark.parametrize(("bus", "ahead"), [("axi", 5), ("none", 5)])
def test_windows_of_padding_alone_may_come_ahead(tmp_path, bus, ahead):
    """Those of the next tensor, in the order of its results: here a row of four and one more."""
    core = dataflow_core(Pooling.of((1, 1, 3, 3), "int8", 2, start_padding=2))
    write(Settings(core, "z", bus), tmp_path)
    bench = (tmp_path / "z_tb.v").read_text()
    assert f"localparam AHEAD = {ahead};" in bench
    status, told = icarus(tmp_path, "z_tb", "z_tb.v", "z.v")
    assert status == 0
    assert told.startswith("PASS: 16 result beats are right")
    # One that may not come, and one that differs, are told.
    fewer = bench.replace(f"AHEAD = {ahead};", "AHEAD = 0;")
    (tmp_path / "fewer.v").write_text(fewer)
    assert "gives a beat too many" in icarus(tmp_path, "z_tb", "fewer.v", "z.v")[1]
    (tmp_path / "other.v").write_text(bench.replace("_seen % RESULTS]", "_seen % RESULTS + 1]"))
    assert "expected" in icarus(tmp_path, "z_tb", "other.v", "z.v")[1]


def test_the_benches_of_other_blocks_take_no_more_results(tmp_path):
    core = dataflow_core(Pooling.of((1, 1, 3, 3), "int8", 2, end_padding=2))
    write(Settings(core, "z", "axi"), tmp_path)
    assert "AHEAD" not in (tmp_path / "z_tb.v").read_text()
