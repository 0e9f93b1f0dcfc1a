"""The simulated hardware is the golden model, bit for bit, on every backend."""

import os
import signal
import warnings
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_vectors import vectors
from reference import assert_equal_bits
from simulation import BACKENDS
from strategies import (
    DIRECTIONS,
    INDEX_TYPES,
    LAYOUTS,
    NAN_MODES,
    TYPES,
    axes_of,
    memory_layouts,
    poolings,
    sizes,
    special_values,
    tensors,
)

from extremum import model
from extremum.host.accelerator import Accelerator
from extremum.host.errors import SimulationError, ToolError
from extremum.model.onnx import (
    arg_arguments,
    lifted_sizes,
    max_pool_arguments,
    squeeze_axes,
)
from extremum.tb.cores import CORES

EXAMPLES = int(os.environ.get("EXTREMUM_EXAMPLES", "40"))
REDUCTIONS = ("argmin", "argmax", "reduce_min", "reduce_max")
GRID = [[1, 2, 3], [3, 0, 4], [2, 5, 2]]

pytestmark = pytest.mark.parametrize("simulator", BACKENDS)


@pytest.fixture(scope="module")
def hardware():
    """Accelerators that stay for as long as the tests of this file run, by core and simulator."""
    with ExitStack() as stack:
        running = {}

        def get(core, simulator, **stalls):
            key = (core, simulator, *sorted(stalls.items()))
            if key not in running:
                running[key] = stack.enter_context(make(core, simulator, **stalls))
            return running[key]

        yield get


def make(core, simulator, **options):
    config = CORES[core]
    return Accelerator(
        config.data_types,
        lanes=config.lanes,
        backend=simulator,
        max_window=config.max_window,
        max_dilation=config.max_dilation,
        max_line=config.max_line,
        max_plane=config.max_plane,
        coordinate_width=config.coordinate_width,
        **options,
    )


def check(accelerator, function, x, *args, **kwargs):
    """The same call gives the same bits, the same warning, and a report that adds up."""
    with warnings.catch_warnings(record=True) as expected_warnings:
        warnings.simplefilter("always")
        expected = getattr(model, function)(x, *args, **kwargs)
    with warnings.catch_warnings(record=True) as actual_warnings:
        warnings.simplefilter("always")
        actual = getattr(accelerator, function)(x, *args, **kwargs)
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple)
        for a, e in zip(actual, expected, strict=True):
            assert_equal_bits(a, e)
    else:
        assert_equal_bits(actual, expected)
    told = [(w.category, str(w.message)) for w in expected_warnings]
    assert [(w.category, str(w.message)) for w in actual_warnings] == told
    report = accelerator.report
    counts = [int(message.split()[0]) for _, message in told]
    assert report.empty_windows == sum(counts)
    if report.cycles is not None and not any(accelerator._stalls.values()):
        assert abs(report.cycles - report.predicted_cycles) <= 4
    return actual


def rows_of(name, nan=True):
    """Every special value of a type against every other."""
    special = special_values(name, nan)
    a, b = np.repeat(special, len(special)), np.tile(special, len(special))
    return np.stack([a, b], axis=1)


# Types, operators, modes.


@pytest.mark.parametrize("nan", NAN_MODES)
@pytest.mark.parametrize("function", REDUCTIONS)
@pytest.mark.parametrize("name", TYPES)
def test_every_type_and_reduction(hardware, simulator, name, function, nan):
    """All pairs of special values, so that every tie and every NaN is met from both sides."""
    accelerator = hardware("every_type", simulator)
    x = rows_of(name)
    directions = DIRECTIONS if function.startswith("arg") else (None,)
    for direction in directions:
        options = {} if direction is None else {"axis_direction": direction}
        check(accelerator, function, x, 1, nan=nan, **options)


@pytest.mark.parametrize("nan", NAN_MODES)
@pytest.mark.parametrize("name", TYPES)
def test_every_type_and_pooling(hardware, simulator, name, nan):
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(1)
    special = special_values(name)
    x = special[rng.integers(0, len(special), (2, 2, 7, 9))]
    check(accelerator, "max_pooling", x, 3, strides=2, start_padding=1, end_padding=1, nan=nan)
    check(accelerator, "max_pooling", x, (2, 3), dilations=(1, 2), return_indices=True, nan=nan)
    volume = special[rng.integers(0, len(special), (1, 2, 3, 4, 4))]
    check(accelerator, "max_pooling", volume, 2, start_padding=1, return_indices=True, nan=nan)


def test_index_types_and_layouts(hardware, simulator):
    accelerator = hardware("every_type", simulator)
    x = np.arange(48, dtype=np.int16).reshape(2, 2, 3, 4) % 7
    for index_type in INDEX_TYPES:
        check(accelerator, "argmax", x, (1, 3), index_type=index_type)
    for index_type in ("uint32", "uint64", "int64"):
        for layout in LAYOUTS:
            options = {"index_type": index_type, "index_layout": layout, "return_indices": True}
            check(accelerator, "max_pooling", x, 2, start_padding=(0, 3), **options)


# The examples of the contract, and of ONNX.


@pytest.mark.parametrize("name", TYPES)
def test_worked_examples(hardware, simulator, name):
    accelerator = hardware("every_type", simulator)
    x = np.array(GRID, name)
    for function, axes, expected in (
        ("argmin", 0, [[0, 1, 2]]),
        ("argmin", 1, [[0], [1], [0]]),
        ("argmin", (0, 1), [[4]]),
        ("argmax", 0, [[1, 2, 1]]),
        ("argmax", 1, [[2], [2], [1]]),
        ("argmax", (0, 1), [[7]]),
    ):
        actual = getattr(accelerator, function)(x, axes)
        assert_equal_bits(actual, np.array(expected, np.uint32))
    for function, row in (("argmin", [1, 2, 3, 2, 1]), ("argmax", [3, 2, 1, 2, 3])):
        x = np.array(row, name)
        assert getattr(accelerator, function)(x).tolist() == [0]
        last = getattr(accelerator, function)(x, axis_direction="decreasing")
        assert last.tolist() == [4]


@pytest.mark.parametrize("operator", ["argmax", "argmin"])
def test_onnx_arg(hardware, simulator, operator):
    accelerator = hardware("every_type", simulator)
    cases = vectors(operator)
    assert len(cases) == 16
    for vector in cases:
        arguments = arg_arguments(**vector.attributes)
        y = getattr(accelerator, operator)(vector.inputs[0], **arguments)
        keepdims = vector.attributes["keepdims"]
        assert_equal_bits(squeeze_axes(y, arguments["axes"], keepdims), vector.outputs[0])


def test_onnx_max_pool(hardware, simulator):
    accelerator = hardware("every_type", simulator)
    cases = vectors("maxpool")
    assert len(cases) == 19
    for vector in cases:
        (x,) = vector.inputs
        arguments = max_pool_arguments(x.shape, **vector.attributes)
        lifted = x.reshape(lifted_sizes(x.shape))
        results = accelerator.max_pooling(lifted, **arguments, return_indices=True)
        for actual, expected in zip(results, vector.outputs, strict=False):
            assert_equal_bits(actual.squeeze(2) if x.ndim == 3 else actual, expected)


# Shapes and memory.


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank(hardware, simulator, rank):
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(rank)
    shape = tuple(rng.permutation([5, 3, 2, 2, 1, 2, 2, 1][:rank]))
    x = rng.integers(-3, 3, shape).astype(np.int32)
    check(accelerator, "argmax", x)
    check(accelerator, "argmin", x, -1)
    check(accelerator, "reduce_max", x, tuple(range(0, rank, 2)))
    check(accelerator, "argmax", x, tuple(range(rank - 1, -1, -2)), axis_direction="decreasing")


def test_memory_layouts(hardware, simulator):
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(3)
    base = rng.integers(0, 9, (4, 6, 8)).astype(np.float32)
    for x in (
        np.broadcast_to(base[:, :1], (4, 6, 8)),
        base[::-1, ::2, ::-3],
        base.T,
        np.asfortranarray(base),
        base.astype(">f4"),
        np.broadcast_to(np.float32(3), (2, 3, 4)),
    ):
        before = x.tobytes()
        check(accelerator, "argmax", x, (0, 2))
        check(accelerator, "reduce_min", x)
        check(accelerator, "max_pooling", x[None], 2, return_indices=True)
        assert x.tobytes() == before


@pytest.mark.parametrize(
    ("core", "shape", "arguments", "note"),
    [
        ("every_type", (1, 2, 30, 40), {"window": 3}, "tiles"),
        ("every_type", (1, 1, 1, 200), {"window": (1, 3), "strides": (1, 2)}, "coordinate_width"),
        ("every_type", (1, 1, 5, 9, 9), {"window": 2, "strides": (2, 1, 1)}, "max_plane"),
        (
            "every_type",
            (1, 1, 4, 4),
            {"window": 1, "start_padding": 70, "end_padding": 70, "strides": 3},
            "1 tile:",
        ),
        ("every_type", (2, 2, 9, 9), {"window": (4, 2), "start_padding": (2, 0)}, "max_window"),
        ("every_type", (1, 2, 9, 12), {"window": 2, "dilations": (1, 5)}, "max_dilation"),
        ("every_type", (1, 1, 30, 4), {"window": 2, "dilations": (20, 1)}, "lines of at most 1"),
        ("every_type", (1, 1, 70, 2), {"window": (1, 1), "strides": (65, 1)}, "coordinate_width"),
        ("image", (2, 3, 4, 5, 6), {"window": (1, 2, 2), "strides": (2, 1, 1)}, "depth"),
        ("image", (1, 2, 9, 90), {"window": (2, 4), "start_padding": (1, 2)}, "max_line"),
        ("volume", (1, 2, 5, 6, 7), {"window": (3, 2, 3), "dilations": (2, 3, 1)}, "tiles"),
        ("reduction", (1, 1, 6, 6), {"window": 2}, "gathered"),
        ("reduction", (1, 1, 6, 6), {"window": 1}, None),
    ],
    ids=str,
)
def test_beyond_the_core(hardware, simulator, core, shape, arguments, note):
    accelerator = hardware(core, simulator)
    config = CORES[core]
    rng = np.random.default_rng(4)
    x = rng.integers(0, 4, shape).astype(config.data_types[0].dtype)
    check(accelerator, "max_pooling", x, **arguments, return_indices=True)
    notes = accelerator.report.notes
    assert note in notes[0] if note else not notes


def test_jobs_beyond_the_slot_counter(hardware, simulator, monkeypatch):
    """A counter of 32 bits is not filled here: the plan is made to believe in a smaller one."""
    monkeypatch.setattr("extremum.host.plan.MAX_SLOTS", 100)
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(5)
    x = rng.integers(0, 5, (20, 31)).astype(np.uint16)
    check(accelerator, "argmin", x, 1)
    assert accelerator.report.jobs == 3
    x = rng.integers(0, 5, (9, 3, 5, 6)).astype(np.uint16)
    check(accelerator, "max_pooling", x, 2, start_padding=1, return_indices=True)
    assert accelerator.report.jobs > 2


def test_gathered_in_several_jobs(hardware, simulator, monkeypatch):
    monkeypatch.setattr("extremum.host.plan.GATHERED_ELEMENTS", 200)
    accelerator = hardware("image", simulator)
    x = np.random.default_rng(6).integers(0, 5, (2, 3, 9, 9)).astype(np.int8)
    check(accelerator, "max_pooling", x, 5, start_padding=2, end_padding=9, return_indices=True)
    assert accelerator.report.jobs > 3


def test_windows_of_padding_alone(hardware, simulator):
    """Values, indices, the warning, and jobs that have nothing to do."""
    for core in ("every_type", "image", "volume", "reduction"):
        accelerator = hardware(core, simulator)
        dtype = CORES[core].data_types[0].dtype
        x = np.ones((1, 2, 2, 2), dtype)
        for options in (
            {"window": 2, "start_padding": 3},
            {"window": 1, "start_padding": 9, "end_padding": 8, "strides": 2},
            {"window": 2, "dilations": 3, "start_padding": 1, "end_padding": 1},
        ):
            check(accelerator, "max_pooling", x, **options, return_indices=True)
            check(accelerator, "max_pooling", x, **options)
    # Not one window meets an element: there is no job to run in a core that gathers.
    x = np.ones((1, 1, 1, 1), np.int64)
    accelerator = hardware("reduction", simulator)
    check(accelerator, "max_pooling", x, 2, strides=2, dilations=2, start_padding=1, end_padding=1)
    assert accelerator.report.jobs == 0
    assert accelerator.report.cycles == 0
    assert accelerator.report.utilization is None


# Random, and under stalls.


def draw_call(data, config):
    """A call of any operator that the contract accepts, on a core's types."""
    name = data.draw(st.sampled_from(config.data_types)).dtype.name
    nan = data.draw(st.sampled_from(NAN_MODES))
    if data.draw(st.booleans()):
        shape = data.draw(sizes(most=200))
        x = data.draw(memory_layouts(data.draw(tensors(shape, name))))
        function = data.draw(st.sampled_from(REDUCTIONS))
        options = {"axes": data.draw(axes_of(len(shape))), "nan": nan}
        if function.startswith("arg"):
            options["axis_direction"] = data.draw(st.sampled_from(DIRECTIONS))
            options["index_type"] = data.draw(st.sampled_from(INDEX_TYPES))
        return function, x, options
    shape, options = data.draw(poolings(max_size=7, most_padding=3))
    x = data.draw(memory_layouts(data.draw(tensors(shape, name))))
    options |= {
        "nan": nan,
        "return_indices": True,
        "index_layout": data.draw(st.sampled_from(LAYOUTS)),
        "index_type": data.draw(st.sampled_from(("uint32", "uint64", "int64"))),
    }
    return "max_pooling", x, options


@pytest.mark.parametrize("core", CORES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_random_calls(hardware, simulator, core, data):
    function, x, options = draw_call(data, CORES[core])
    check(hardware(core, simulator), function, x, **options)


@pytest.mark.parametrize("output_stalls", [0, 30, 80])
@pytest.mark.parametrize("input_stalls", [0, 30, 80])
@settings(max_examples=max(1, EXAMPLES // 8))
@given(data=st.data())
def test_random_stalls(simulator, input_stalls, output_stalls, hardware, data):
    stalls = {"input_stalls": input_stalls, "output_stalls": output_stalls, "seed": 3}
    accelerator = hardware("every_type", simulator, **stalls)
    function, x, options = draw_call(data, CORES["every_type"])
    check(accelerator, function, x, **options)


# Descriptors.


def test_execute_on_raw_buffers(hardware, simulator):
    """Strided, broadcast and padded buffers in, strided out, nothing else written."""
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(8)
    source = rng.integers(0, 256, 400, np.uint8)
    tensor = model.BufferTensorDesc(model.DataType.INT16, (2, 3, 4, 5), strides=(0, 25, 6, 1))
    reduced = model.BufferTensorDesc(model.DataType.UINT64, (2, 1, 4, 1), strides=(30, 9, 3, 2))
    pooled = model.BufferTensorDesc(model.DataType.INT16, (2, 3, 3, 4), strides=(80, 20, 5, 1))
    indices = model.BufferTensorDesc(model.DataType.UINT32, (2, 3, 3, 4))
    for desc in (
        model.ArgMaxOperatorDesc(tensor, reduced, (1, 3), model.AxisDirection.DECREASING),
        model.ArgMinOperatorDesc(tensor, reduced, (1, 3)),
        model.ReduceOperatorDesc(
            model.ReduceFunction.MAX,
            tensor,
            model.BufferTensorDesc(model.DataType.INT16, (2, 1, 1, 5)),
            (1, 2),
        ),
        model.MaxPoolingOperatorDesc(tensor, pooled, (1, 1), (2, 2), (0, 0), (0, 0)),
        model.MaxPooling1OperatorDesc(tensor, pooled, indices, (1, 1), (2, 2), (0, 0), (0, 0)),
        model.MaxPooling2OperatorDesc(
            tensor, pooled, indices, (1, 1), (2, 2), (1, 0), (0, 1), (2, 2)
        ),
    ):
        outputs = [
            np.full(out.total_tensor_size_in_bytes, 0xA5, np.uint8)
            for out in (desc.output_tensor, getattr(desc, "output_indices_tensor", None))
            if out is not None
        ]
        expected = [out.copy() for out in outputs]
        desc.evaluate(source, out=expected if len(expected) > 1 else expected[0])
        accelerator.execute(desc, source, out=outputs if len(outputs) > 1 else outputs[0])
        for actual, e in zip(outputs, expected, strict=True):
            assert actual.tobytes() == e.tobytes()
        for actual, e in zip(accelerator.execute(desc, source), desc.evaluate(source), strict=True):
            assert np.asarray(actual).tobytes() == np.asarray(e).tobytes()


# The report, and what can go wrong.


def test_report(hardware, simulator):
    with make("reduction", simulator) as accelerator:
        assert accelerator.report is None
        x = np.arange(4000, dtype=np.int64).reshape(4, 1000)
        accelerator.argmax(x, 1)
        report: Any = accelerator.report
        assert (report.jobs, report.beats_in, report.beats_out) == (1, 2000, 2)
        assert report.cycles == report.predicted_cycles
        assert report.utilization == 2000 / report.cycles
        assert 0.97 < report.utilization < 1
        assert (report.empty_windows, report.notes) == (0, ())
    # Closed, it starts again with the next operator.
    assert accelerator.argmax(x, 1).tolist() == [[999]] * 4
    accelerator.close()
    accelerator.close()


def test_stalls_cost_cycles_alone(hardware, simulator):
    x = np.arange(600, dtype=np.int64).reshape(2, 300)
    free = hardware("reduction", simulator)
    slow = hardware("reduction", simulator, input_stalls=80, output_stalls=30)
    check(free, "argmin", x, 1)
    check(slow, "argmin", x, 1)
    assert slow.report.predicted_cycles == free.report.predicted_cycles == free.report.cycles
    assert slow.report.cycles > 3 * free.report.cycles
    assert slow.report.beats_in == free.report.beats_in


def test_progress_is_told(simulator, monkeypatch):
    monkeypatch.setattr("extremum.host.native.SLICE_SECONDS", 0.0)
    told = []
    with make("reduction", simulator, progress=lambda *now: told.append(now)) as accelerator:
        x = np.zeros((2, 40_000), np.float32)
        accelerator.argmax(x, 1)
    report: Any = accelerator.report
    assert {total for _, total in told} == {report.predicted_cycles}
    clocks = [done for done, _ in told]
    assert len(clocks) > 2
    assert clocks == sorted(clocks)


def test_a_type_that_is_not_built_in(hardware, simulator):
    accelerator = hardware("image", simulator)
    message = r"^the core was built for INT8, not for FLOAT32: add it to data_types$"
    with pytest.raises(ValueError, match=message):
        accelerator.argmax(np.zeros(3, np.float32))


def test_a_simulator_that_dies(simulator):
    """The error says so, and the next operator starts a new simulation."""
    if simulator == "native":
        pytest.skip("it has no process of its own")
    died = []

    def kill(done, total):
        if not died:
            simulation: Any = accelerator._simulator
            died.append(simulation._process.pid)
            os.killpg(died[0], signal.SIGKILL)

    with make("reduction", simulator, progress=kill) as accelerator:
        x = np.zeros((2, 50_000), np.float32)
        with pytest.raises(SimulationError, match=rf"^{simulator} ended before its results came"):
            accelerator.argmax(x, 1)
        assert accelerator.report is None
        assert accelerator.argmax(x[:, :5], 1).tolist() == [[0], [0]]


def test_a_core_that_hangs(hardware, simulator, monkeypatch):
    """A result that never comes is given up, and the next operator is right."""
    x = np.arange(6, dtype=np.int64).reshape(2, 3)
    with make("reduction", simulator) as accelerator:
        with monkeypatch.context() as patch:
            patch.setattr("extremum.host.accelerator._WATCHDOG_CLOCKS", 100)
            patch.setattr("extremum.host.jobs.ReductionJob.beats_out", 2)
            with pytest.raises(SimulationError, match="nothing moved for"):
                accelerator.argmax(x, 1)
        assert accelerator.argmax(x, 1).tolist() == [[2], [2]]


def test_a_missing_tool(simulator, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with make("volume", simulator) as accelerator:
        named = {"icarus": "icarus"}.get(simulator, r"c\+\+|make|perl")
        with pytest.raises(ToolError, match=rf"({named}) is missing: .*install: "):
            accelerator.argmax(np.zeros(3, np.float16))
        assert accelerator.report is None


def test_waves(simulator, tmp_path):
    path = tmp_path / "wave.vcd"
    with Accelerator("int8", backend=simulator, max_window=(1, 1, 1), waves=path) as accelerator:
        accelerator.argmax(np.arange(5, dtype=np.int8))
    assert "$enddefinitions" in path.read_text()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"backend": "modelsim"},
            ValueError,
            r"^backend must be one of native, verilator, icarus, model, n",
        ),
        ({"lanes": 0}, ValueError, r"^lanes must be from 1 to 64, not 0$"),
        ({"lanes": 65}, ValueError, r"^lanes must be from 1 to 64, not 65$"),
        ({"lanes": 2.0}, TypeError, r"^lanes must be an integer, not 2\.0$"),
        ({"data_types": ()}, ValueError, r"^data_types must name one or more types, each once"),
        ({"data_types": ("int8", "i1")}, ValueError, r"^data_types must name one or more"),
        ({"data_types": "float64"}, TypeError, "float64"),
        ({"max_window": (3, 3)}, TypeError, r"^max_window must be \(depth, height, width\), not"),
        ({"max_window": (3, 3, 0)}, ValueError, r"^max_window must be from 1 to 255, not \(3, 3"),
        ({"max_dilation": [1, 1, 1]}, TypeError, r"^max_dilation must be \(depth, height, width"),
        ({"max_line": 0}, ValueError, r"^max_line must be from 1 to 65536, not 0$"),
        ({"max_plane": 2**25}, ValueError, r"^max_plane must be from 1 to 16777216, not"),
        ({"coordinate_width": 3}, ValueError, r"^coordinate_width must be from 4 to 24, not 3$"),
        ({"input_stalls": 100}, ValueError, r"^input_stalls must be a percentage from 0 to 99, n"),
        ({"output_stalls": -1}, ValueError, r"^output_stalls must be a percentage from 0 to 99"),
        ({"output_stalls": 0.5}, ValueError, r"^output_stalls must be a percentage from 0 to 99"),
        ({"watchdog": 0}, ValueError, r"^watchdog must be at least 1 clock, not 0$"),
        ({"wave_window": (1, 2), "backend": "icarus"}, ValueError, r"^wave_window needs the back"),
        ({"wave_window": (1, 2), "backend": "native"}, ValueError, r"^wave_window needs waves"),
        (
            {"wave_window": (2, 1), "backend": "native", "waves": "x.vcd"},
            ValueError,
            r"^wave_window must be \(first, last\) clocks, not \(2, 1\)$",
        ),
        ({"backend": "model", "waves": "x.vcd"}, ValueError, r"^waves need a simulator"),
        ({"max_windows": (1, 1, 1)}, TypeError, "max_windows"),
    ],
    ids=str,
)
def test_bad_parameters(simulator, options, error, message):
    with pytest.raises(error, match=message):
        Accelerator(**{"data_types": ("int8",), "backend": simulator} | options)


def test_the_model_as_a_backend(simulator):
    """No simulation, so no cycles; the rest of the report is there."""
    with Accelerator(("int8",), backend="model", lanes=2) as accelerator:
        assert accelerator.report is None
        x = np.arange(64, dtype=np.int8).reshape(1, 1, 8, 8)
        check(accelerator, "max_pooling", x, 2, start_padding=2, end_padding=1, return_indices=True)
        report: Any = accelerator.report
        assert report.cycles is None
        assert report.utilization is None
        assert report.predicted_cycles > 64
        assert (report.jobs, report.beats_in, report.beats_out) == (1, 64, 100)
        check(accelerator, "argmin", x, -1)
        with pytest.raises(ValueError, match="the core was built for INT8"):
            accelerator.argmin(np.zeros(3, np.int16))
