"""The accelerator as an object: its signatures, its arguments, whom its warnings name."""

import inspect
import os
import re
import resource
import warnings
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accelerators import check
from simulation import SIMULATORS

from extremum import model
from extremum.hdl.config import CoreConfig
from extremum.host import Accelerator
from extremum.host.checks import check_simulation
from extremum.host.comparison import compute
from extremum.host.errors import WaveformError
from extremum.host.team import Team
from extremum.model import DataType, EmptyWindowWarning, Pooling

FUNCTIONS = ("argmin", "argmax", "reduce_min", "reduce_max", "max_pooling")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_those_of_the_model(name):
    ours = inspect.signature(getattr(Accelerator, name))
    parameters = list(ours.parameters.values())[1:]
    assert ours.replace(parameters=parameters) == inspect.signature(getattr(model, name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_keyword_is_answered_with_the_right_one_and_the_class_that_was_called(name):
    wrong, right = ("kernel_size", "window") if name == "max_pooling" else ("axis", "axes")
    with Accelerator(backend="model") as accelerator, pytest.raises(TypeError) as caught:
        getattr(accelerator, name)(np.zeros((1, 1, 2, 2), np.float32), **{wrong: 1})
    assert str(caught.value) == f"Accelerator.{name}() takes {right}, not {wrong}"
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_windows": (1, 3, 3)}, TypeError, "unexpected keyword argument 'max_windows'"),
        ({"input_stalls": True}, ValueError, "input_stalls must be a whole number of percent"),
        ({"output_stalls": 100}, ValueError, "output_stalls must be a whole number of percent"),
        ({"seed": "1"}, ValueError, "seed must be an integer"),
        ({"seed": -1}, ValueError, "seed must be an integer"),
    ],
)
def test_bad_arguments_are_refused_by_the_constructor(arguments, error, message):
    with pytest.raises(error, match=message):
        Accelerator(**arguments)


@pytest.mark.parametrize("kind", [Accelerator, Team])
@pytest.mark.parametrize("problem", ["argmax", None, Pooling])
def test_what_is_no_operator_is_refused(kind, problem):
    message = r"^problem must be a Reduction or a Pooling, not"
    with (
        kind(CoreConfig(), backend="model") as accelerator,
        pytest.raises(TypeError, match=message),
    ):
        accelerator.run(problem, np.zeros(3, np.float32))


def test_a_configuration_in_place_of_its_parts():
    config = CoreConfig((DataType.INT8,), 2, max_window=(1, 1, 1), operators=("argmax",))
    with Accelerator(config, backend="model") as accelerator:
        assert accelerator.config is config
        check(accelerator, "argmax", np.array([1, 3, 3], np.int8))
    with pytest.raises(TypeError, match=r"^lanes, padding must not be given beside a CoreConfig"):
        Accelerator(config, lanes=2, padding=True)


def test_every_parameter_of_a_configuration_is_one_of_the_accelerator():
    parameters = inspect.signature(Accelerator).parameters
    assert {field.name for field in fields(CoreConfig)} <= set(parameters)
    other: dict[str, Any] = {
        "lanes": 4,
        "max_window": (1, 3, 3),
        "max_dilation": (1, 1, 1),
        "max_line": 32,
        "max_plane": 64,
        "coordinate_width": 8,
        "operators": ("max-pool",),
        "index_width": 16,
        "padding": False,
        "fixed": (("width.stride", 2),),
        "pipelining": "balanced",
    }
    made = Accelerator("int8", backend="model", **other).config
    assert made == CoreConfig((DataType.INT8,), **other)
    assert all(getattr(made, name) != getattr(CoreConfig(), name) for name in other)


def test_by_default_it_is_the_setting_that_simulates_fastest():
    """A whole configuration brings its own setting, and a setting that is given counts."""
    assert Accelerator("int8", backend="model").config.pipelining == "small"
    assert Accelerator("int8", pipelining="fast", backend="model").config.pipelining == "fast"
    assert Accelerator(CoreConfig(), backend="model").config.pipelining == "fast"


def test_only_descriptors_can_be_executed():
    for wrong in ("argmax", model.ArgMaxOperatorDesc):
        with pytest.raises(TypeError, match="desc must be an operator descriptor"):
            Accelerator(backend="model").execute(wrong, b"")  # pyright: ignore[reportArgumentType]


def test_warnings_name_the_caller():
    """A warning must point at the user's line, and not at one in this package."""
    x = np.zeros((1, 1, 2, 2), np.int8)
    accelerator = Accelerator(("int8",), backend="model")
    problem = Pooling.of(x.shape, x.dtype, 1, start_padding=1)
    sizes = {"data_type": DataType.INT8, "sizes": x.shape}
    output = {"data_type": DataType.INT8, "sizes": problem.output_sizes}
    desc = model.MaxPoolingOperatorDesc(
        input_tensor=model.BufferTensorDesc(**sizes),
        output_tensor=model.BufferTensorDesc(**output),
        strides=(1, 1),
        window_size=(1, 1),
        start_padding=(1, 1),
        end_padding=(0, 0),
    )
    for call in (
        lambda: accelerator.max_pooling(x, 1, start_padding=1),
        lambda: accelerator.run(problem, x),
        lambda: accelerator.execute(desc, x),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [(w.category, w.filename) for w in caught] == [(EmptyWindowWarning, __file__)]


def test_warnings_of_others_are_left_alone():
    """All threads of a process share the filters of warnings."""
    x, filters = np.zeros((1, 1, 2, 2), np.int8), []
    problem = Pooling.of(x.shape, x.dtype, 1, start_padding=1)
    before = list(warnings.filters)
    with (
        Accelerator(
            ("int8",), backend="model", progress=lambda now: filters.append(list(warnings.filters))
        ) as accelerator,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        before = list(warnings.filters)
        assert compute(problem, x, accelerator).report.empty_windows == 5
        assert accelerator.run_reported(problem, x, warns=False)[1].empty_windows == 5
        with pytest.raises(EmptyWindowWarning):
            accelerator.run_reported(problem, x)
    assert filters
    assert all(each == before for each in filters)


def test_library_code_changes_no_filters():
    for package in ("model", "hdl", "host"):
        folder = Path(str(files(f"extremum.{package}")))
        for path in folder.rglob("*.py"):
            if "cli" not in path.relative_to(folder).parts:  # which is a program, of one thread
                assert "catch_warnings" not in path.read_text(), path


def test_code_that_is_no_module_may_have_empty_windows():
    """Its globals have no name, as those of a notebook or a template may have none."""
    accelerator = Accelerator("uint8", backend="model")
    known = {"a": accelerator, "x": np.zeros((1, 1, 2, 2), "uint8")}
    with pytest.warns(EmptyWindowWarning):
        exec("y = a.max_pooling(x, 1, start_padding=1)", known)
    assert known["y"].shape == (1, 1, 3, 3)


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
        (
            {"input_stalls": 100},
            ValueError,
            r"^input_stalls must be a whole number of percent from 0",
        ),
        ({"output_stalls": -1}, ValueError, r"^output_stalls must be a whole number of percent"),
        ({"output_stalls": 0.5}, ValueError, r"^output_stalls must be a whole number of percent"),
        (
            {"watchdog": 0},
            ValueError,
            r"^watchdog must be a whole number of clocks, at least 1, not 0$",
        ),
        ({"watchdog": 1 << 64}, ValueError, r"^watchdog must be at most 18446744073709551615 cl"),
        (
            {"wave_window": (1, 1 << 64), "backend": "native", "waves": "x.vcd"},
            ValueError,
            r"^wave_window must end at clock 18446744073709551615 or before$",
        ),
        (
            {"watchdog": True},
            ValueError,
            r"^watchdog must be a whole number of clocks, at least 1, not T",
        ),
        ({"data_types": None}, TypeError, r"^data type must be one of .*, not None$"),
        ({"data_types": np.dtype("f8")}, TypeError, r"^data type must be one of .*, not float64$"),
        ({"operators": ["argmax"]}, ValueError, r"each once and in a tuple, not \['argmax'\]$"),
        ({"operators": ([],)}, ValueError, r"^operators must be one or more of argmin"),
        (
            {"wave_window": 5, "backend": "native", "waves": "x.vcd"},
            ValueError,
            r"^wave_window must be \(first, last\) clocks, not 5$",
        ),
        (
            {"wave_window": (5, "a"), "backend": "native", "waves": "x.vcd"},
            ValueError,
            r"^wave_window must be \(first, last\) clocks, not \(5, 'a'\)$",
        ),
        ({"wave_window": (1, 2), "backend": "icarus"}, ValueError, r"^wave_window needs the back"),
        ({"wave_window": (1, 2), "backend": "native"}, ValueError, r"^wave_window needs waves"),
        (
            {"wave_window": (2, 1), "backend": "native", "waves": "x.vcd"},
            ValueError,
            r"^wave_window must be \(first, last\) clocks, not \(2, 1\)$",
        ),
        ({"backend": "model", "waves": "x.vcd"}, ValueError, r"^waves need a simulator"),
        ({"backend": "model", "input_stalls": 1}, ValueError, r"^input_stalls need a simulator"),
        ({"backend": "model", "output_stalls": 9}, ValueError, r"^output_stalls need a simulator"),
        ({"backend": "model", "watchdog": 9}, ValueError, r"^a watchdog needs a simulator"),
        ({"waves": "a\0b.vcd"}, ValueError, r"^waves must name a file, not 'a\\x00b.vcd'$"),
        ({"waves": 5}, TypeError, r"^waves must name a file, not 5$"),
        (
            {"waves": "x.npy", "backend": "native"},
            ValueError,
            r"^waves must name a .vcd file, not ",
        ),
        ({"waves": b"x.vcd"}, TypeError, r"^waves must name a file, not b'x.vcd'$"),
        ({"progress": 5}, TypeError, r"^progress must be a function of one argument, not 5$"),
        ({"data_types": "i4,,"}, TypeError, r"^data type must be one of .*, not i4,,$"),
        ({"max_windows": (1, 1, 1)}, TypeError, "max_windows"),
    ],
    ids=str,
)
def test_bad_parameters(options, error, message):
    with pytest.raises(error, match=message):
        Accelerator(**{"data_types": ("int8",), "backend": "verilator"} | options)


def test_the_greatest_parameters_are_taken():
    """The last clock that fits into 64 bits, and the first one."""
    last = (1 << 64) - 1
    for window in ((0, 0), (0, last), (last, last)):
        check_simulation("native", "x.vcd", window, last)
    check_simulation("native", None, None, 1)


@pytest.mark.parametrize("one", ["int8", np.int8, np.dtype("i1"), DataType.INT8])
def test_a_single_type(one):
    assert Accelerator(one, backend="model").config.data_types == (DataType.INT8,)


def test_a_core_whose_registers_are_fixed_to_others():
    fixed = (("length", 3), ("slots", 3))
    accelerator = Accelerator("int8", backend="model", max_window=(1, 1, 1), fixed=fixed)
    assert accelerator.argmax(np.array([1, 3, 2], np.int8)) == [1]
    with pytest.raises(ValueError, match=r"register length fixed to 3, and the job needs 8$"):
        accelerator.argmax(np.zeros(8, np.int8))


def test_the_model_as_a_backend():
    """Nothing is simulated, so there are no cycles; the rest of the report is there."""
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


def test_integers_of_numpy_are_those_of_python():
    numbers: dict[str, int] = {"input_stalls": 30, "output_stalls": 20, "seed": 7, "watchdog": 9999}
    of_numpy: dict[str, Any] = {name: np.int64(number) for name, number in numbers.items()}
    plain: dict[str, Any] = dict(numbers)
    x = np.arange(60, dtype=np.int8).reshape(3, 20)
    cycles = []
    for settings in (plain, of_numpy):
        with Accelerator("int8", lanes=4, **settings) as accelerator:
            assert accelerator.argmax(x, 1).ravel().tolist() == [19, 19, 19]
            assert accelerator.report
            cycles.append(accelerator.report.cycles)
    assert cycles[0] == cycles[1]


@pytest.mark.parametrize("backend", SIMULATORS)
def test_waves_in_a_folder_of_any_name(backend, tmp_path):
    """They are whole, and begin anew with each simulation."""
    folder = tmp_path / "größe $HOME 'a b'"
    folder.mkdir()
    path, ends = folder / "wave.vcd", []
    for _ in range(2):
        with Accelerator("int8", backend=backend, max_window=(1, 1, 1), waves=path) as accelerator:
            accelerator.argmax(np.arange(300, dtype=np.int16).astype(np.int8))
        times = re.findall(r"^#(\d+)$", path.read_text(), re.MULTILINE)
        ends.append((path.stat().st_size, int(times[-1])))
    assert ends[0] == ends[1]
    assert ends[0][1] > 300 * 1000  # picoseconds
    assert [found.name for found in folder.iterdir()] == ["wave.vcd"]


@pytest.mark.parametrize("backend", SIMULATORS)
def test_a_disk_that_fills_up_under_waves(backend, tmp_path):
    """It is told with the operator, or at the end; what fits is kept, and the simulator ends."""
    path = tmp_path / "wave.vcd"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    accelerator = Accelerator("int8", backend=backend, max_window=(1, 1, 1), waves=path)
    told = f"^{backend}: cannot write all waveforms to {re.escape(str(path))}: File too large$"

    def run():
        with accelerator:
            accelerator.argmax(np.arange(5, dtype=np.int8))
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
            try:
                accelerator.argmax(np.zeros(30_000, np.int8))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    with pytest.raises(WaveformError, match=told):
        run()
    assert path.stat().st_size == 100_000
    accelerator.close()


@pytest.mark.parametrize("backend", SIMULATORS)
def test_waves_into_a_device(backend, tmp_path):
    path = tmp_path / "wave.vcd"
    path.symlink_to(os.devnull)
    with Accelerator("int8", backend=backend, max_window=(1, 1, 1), waves=path) as accelerator:
        accelerator.argmax(np.arange(5, dtype=np.int8))
    assert path.is_symlink()


@pytest.mark.parametrize("backend", SIMULATORS)
def test_waves_into_no_folder(backend, tmp_path):
    path = tmp_path / "nowhere" / "wave.vcd"
    accelerator = Accelerator("int8", backend=backend, max_window=(1, 1, 1), waves=path)
    told = f"^{backend}: cannot write waveforms to {re.escape(str(path))}: No such file"
    for _ in range(2):
        with pytest.raises(WaveformError, match=told):
            accelerator.argmax(np.arange(5, dtype=np.int8))
