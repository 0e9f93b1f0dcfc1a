"""The C driver plans what the Python package plans, and refuses what it refuses."""

import os
import random
import re
import sys

import pytest
from amounts import EXAMPLES
from c_compiler import SANITIZERS, compiler, run
from c_operators import POOLING, REDUCTION

from extremum.hdl.config import CoreConfig
from extremum.model import DataType
from extremum.tb.c_driver.comparison import REFUSALS, UNREACHED, Comparison
from extremum.tb.c_driver.operators import (
    LAYOUTS,
    huge_configs,
)
from extremum.tb.c_driver.structures import (
    ERRORS,
    FOLDER,
    NAMES,
    Core,
    JobStruct,
    PlanStruct,
    load,
    pooling_struct,
    reduction_struct,
)


def test_every_error_is_that_of_a_message_or_of_the_driver_alone():
    assert REFUSALS.keys() | UNREACHED == set(ERRORS)
    assert not REFUSALS.keys() & UNREACHED


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("c_driver")


@pytest.fixture(scope="module")
def sanitized(folder):
    """The driver as a library under the sanitizers of undefined behaviour and of addresses."""
    path = folder / "sanitized.so"
    flags = ["-std=c99", "-O1", "-g", "-shared", "-fPIC"]
    run(compiler(), *flags, *SANITIZERS, FOLDER / "extremum.c", "-o", path)
    return path


@pytest.fixture(scope="module")
def driver(folder):
    path = folder / "extremum.so"
    run(compiler(), *["-std=c99", "-O1", "-shared", "-fPIC"], FOLDER / "extremum.c", "-o", path)
    return load(path)


def compare(library, comparison, count, seed):
    """Compare so many operators in a process with the sanitizers; count what came of them."""
    environment = os.environ | {
        "LD_PRELOAD": run(compiler(), "-print-file-name=libasan.so").strip(),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    program = ["-m", "extremum.tb.c_driver.comparison"]
    said = run(sys.executable, *program, library, comparison, count, seed, env=environment)
    return {what: int(times) for what, times in re.findall(r"^(.+) (\d+)$", said, re.MULTILINE)}


def test_the_plans_are_those_of_the_package(sanitized):
    seen = compare(sanitized, "small", 50 * EXAMPLES, EXAMPLES)
    assert seen["reduction"] + seen["pooling"] == 50 * EXAMPLES
    assert seen["OK"] > 10 * EXAMPLES
    assert seen["many jobs"] > EXAMPLES


def test_the_plans_of_huge_tensors_are_those_of_the_package(sanitized):
    seen = compare(sanitized, "huge", 10 * EXAMPLES, EXAMPLES)
    assert seen["OK"] > EXAMPLES
    assert seen["many jobs"] > 0


def test_no_numbers_lead_to_undefined_behaviour(sanitized):
    seen = compare(sanitized, "anything", 100 * EXAMPLES, EXAMPLES)
    assert seen["OK"] > EXAMPLES


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_thousand_plans_are_those_of_the_package(sanitized, seed):
    seen = compare(sanitized, "small", 50_000, seed)
    assert REFUSALS.keys() <= seen.keys(), "some error was never given"
    assert seen["OK"] > 10_000
    assert seen["no jobs"] > 0


@pytest.mark.slow
def test_more_plans_of_huge_tensors_are_those_of_the_package(sanitized):
    compare(sanitized, "huge", 10_000, 3)


CONFIG = CoreConfig((DataType.INT8,), lanes=2)


@pytest.mark.parametrize(
    "changed",
    [
        {"sizes": [2**32 - 1], "axes": [0]},
        {"sizes": [65537, 65535]},
        {"sizes": [2**16, 2**16]},
        {"sizes": [2**31], "axes": [0], "index_type": "int32"},
        {"sizes": [2**31 + 1], "axes": [0], "index_type": "int32"},
        {"sizes": [1], "axes": [0]},
        {"sizes": [1] * 8, "axes": [-8, 7, 3]},
        {"sizes": [2] * 8, "axes": [-8, 7, 3, 1]},
        {"axes": [1, -1]},
        {"axes": [-2, 0]},
        {"axes": [2]},
        {"axes": [-3]},
    ],
)
@pytest.mark.parametrize("lanes", [1, 3, 4])
def test_reductions_at_the_limits(driver, changed, lanes):
    config = CoreConfig((DataType.INT8,), lanes=lanes)
    Comparison(driver, random.Random(0)).compare(REDUCTION | changed, config)


def test_more_axes_than_there_is_room_for(driver):
    """What lies behind them in the structure is no axis."""
    struct = reduction_struct(REDUCTION | {"sizes": [1] * 8, "axes": [*range(8), 0]})
    struct.axis_direction = 99
    planned = PlanStruct()
    error = driver.extremum_plan_reduction(planned, Core.of(CONFIG), struct)
    assert ERRORS[error] == "AXIS_REPEATED"


def test_what_stands_behind_the_axes_is_no_axis(driver):
    struct = reduction_struct(REDUCTION)
    struct.axes[len(REDUCTION["axes"]) :] = [99] * 7
    planned = PlanStruct()
    assert ERRORS[driver.extremum_plan_reduction(planned, Core.of(CONFIG), struct)] == "OK"


@pytest.mark.parametrize(
    "changed",
    [
        {"sizes": [1, 1, 4, 4], "end_padding": [0, 2**30 - 5]},
        {"sizes": [1, 1, 4, 4], "end_padding": [0, 2**30 - 4]},
        {"sizes": [1, 1, 1, 4], "window": [1, 2], "start_padding": [0, 2**32 - 5]},
        {"sizes": [1, 1, 1, 4], "window": [1, 2], "start_padding": [0, 2**32 - 4]},
        {"sizes": [1, 1, 4, 4], "window": [5, 1]},
        {"sizes": [1, 1, 4, 4], "window": [5, 1], "end_padding": [1, 0]},
        {"window": [2**32 - 1, 1], "dilations": [2**32 - 1, 1]},
        {"sizes": [2**16, 2**12, 4, 4]},
        {"sizes": [1, 1, 2**16 - 1, 65537], "window": [1, 1]},
        {"sizes": [1, 1, 40, 40], "window": [3, 3], "dilations": [1, 2]},
        {"sizes": [1, 1, 40, 1], "strides": [2**15, 2**15], "window": [1, 1]},
    ],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_poolings_at_the_limits(driver, changed, layout):
    for config in huge_configs(random.Random(0))[:6]:
        Comparison(driver, random.Random(0)).compare(
            POOLING | changed | {"index_layout": layout}, config
        )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_core_whose_windows_slide_along_one_dimension(driver, axis):
    """Of two elements there at most, and of one along the other dimensions.

    Planes pass one by one through a core without windows in depth, so none can be left out.
    """
    along = [2 if axis == other else 1 for other in range(3)]
    config = CoreConfig((DataType.INT8,), max_window=(along[0], along[1], along[2]))
    comparison = Comparison(driver, random.Random(0))
    for window, strides, error in (
        (along, [1, 1, 1], "OK"),
        (along, along, "OK"),
        ([2, 2, 2], [1, 1, 1], "NEEDS_GATHERING"),
        (along, [2, 1, 1], "OK" if axis == 0 else "NEEDS_GATHERING"),
    ):
        cube = {"sizes": [1, 2, 4, 4, 4], "window": window, "strides": strides}
        cube |= {"start_padding": [0, 0, 0], "end_padding": [0, 0, 0], "dilations": [1, 1, 1]}
        comparison.compare(POOLING | cube, config)
        assert comparison.seen.pop(error) == 1


@pytest.mark.parametrize(
    ("window", "stride", "end", "size", "error"),
    [
        (3, 1, 0, 4, "OK"),
        (3, 1, 1, 4, "NEEDS_GATHERING"),
        (2, 2, 0, 5, "OK"),
        (2, 2, 1, 5, "NEEDS_GATHERING"),
        (3, 4, 2, 5, "NEEDS_GATHERING"),
        (3, 3, 2, 2, "OK"),
    ],
)
@pytest.mark.parametrize("fixed", [None, ("width.window", 3)])
def test_a_core_without_padding_needs_windows_inside(
    driver, window, stride, end, size, error, fixed
):
    """A fixed window keeps the taps behind the elements, which then lie in padding."""
    config = CoreConfig((DataType.INT8,), padding=False, fixed=(fixed,) if fixed else ())
    if fixed and (window, end) == (3, 2):
        error = "NEEDS_GATHERING"
    changed = {"window": [1, window], "strides": [1, stride], "end_padding": [0, end]}
    comparison = Comparison(driver, random.Random(0))
    comparison.compare(POOLING | changed | {"sizes": [1, 1, 1, size]}, config)
    assert comparison.seen[error] == 1


@pytest.mark.parametrize("fixed", [None, 0, 1])
@pytest.mark.parametrize("name", ["int16", "float16"])
def test_integers_take_any_fixed_nan_mode(driver, fixed, name):
    """They have no NaN."""
    pairs = () if fixed is None else (("ignore_nan", fixed),)
    config = CoreConfig((DataType.INT16, DataType.FLOAT16), fixed=pairs)
    comparison = Comparison(driver, random.Random(0))
    for nan in ("propagate", "ignore"):
        for arguments in (REDUCTION, POOLING):
            comparison.compare(arguments | {"data_type": name, "nan": nan}, config)
    assert comparison.seen["OK"] == 4


@pytest.mark.parametrize("width", [8, 6, 5, 4])
def test_positions_that_would_mark_an_empty_window_are_refused(driver, width):
    """The 32 positions of the pooling need six bits, since 31 in five bits is all ones."""
    config = CoreConfig((DataType.INT8,), index_width=width)
    comparison = Comparison(driver, random.Random(0))
    comparison.compare(POOLING, config)
    assert comparison.seen["OK" if width > 5 else "POSITIONS_TOO_LARGE"] == 1
    comparison.compare(REDUCTION | {"sizes": [3, 31]}, config)
    comparison.compare(REDUCTION | {"sizes": [3, 32]}, config)


def plan_pooling(driver, core, *strides):
    planned = PlanStruct()
    return planned, ERRORS[
        driver.extremum_plan_pooling(planned, core, pooling_struct(POOLING, *strides))
    ]


def plan_reduction(driver, core, *strides):
    planned = PlanStruct()
    return planned, ERRORS[
        driver.extremum_plan_reduction(planned, core, reduction_struct(REDUCTION, *strides))
    ]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("data_type_count", (0, 11)),
        ("lanes", (0, 65)),
        ("max_line", (0, 2**16 + 1)),
        ("max_plane", (0, 2**24 + 1)),
        ("coordinate_width", (3, 25)),
        ("index_width", (33,)),
        ("operators", (0, 8)),
    ],
)
def test_an_impossible_core_is_refused(driver, name, values):
    for value in values:
        core = Core.of(CONFIG)
        setattr(core, name, value)
        assert plan_pooling(driver, core)[1] == "BAD_CORE"
        assert plan_reduction(driver, core)[1] == "BAD_CORE"


@pytest.mark.parametrize("name", ["max_window", "max_dilation"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("value", [0, 256])
def test_an_impossible_window_of_a_core_is_refused(driver, name, axis, value):
    core = Core.of(CONFIG)
    getattr(core, name)[axis] = value
    assert plan_pooling(driver, core)[1] == "BAD_CORE"


@pytest.mark.parametrize(("groups", "error"), [(0, "BAD_CORE"), (1, "OK"), (2**32 + 1, "BAD_CORE")])
def test_an_impossible_number_of_groups_is_refused(driver, groups, error):
    core = Core.of(CONFIG)
    core.fixed = 1 << NAMES.index("groups")
    core.fixed_values[NAMES.index("groups")] = groups
    assert plan_pooling(driver, core)[1] == error


@pytest.mark.parametrize("axis", ["depth", "height", "width"])
def test_an_impossible_fixed_window_is_refused(driver, axis):
    """The planner counts with it before it is compared with any job's."""
    core, place = Core.of(CONFIG), NAMES.index(f"{axis}.window")
    core.fixed = 1 << place
    most = core.max_window[("depth", "height", "width").index(axis)]
    for window in (-1, 0, most + 1, 2**63 - 1):
        core.fixed_values[place] = window
        assert plan_pooling(driver, core)[1] == "BAD_CORE"
    for window in (1, most):
        core.fixed_values[place] = window
        assert plan_pooling(driver, core)[1] != "BAD_CORE"


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_any_register_may_be_fixed(driver, number):
    core, job = Core.of(CONFIG), JobStruct()
    core.fixed = 1 << number
    core.fixed_values[number] = job.registers[number] = 1
    job.input.lanes = core.lanes
    assert ERRORS[driver.extremum_check_job(core, job)] == "OK"
    job.registers[number] = 2
    assert ERRORS[driver.extremum_check_job(core, job)] == "REGISTER_FIXED"


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("stride", "error"),
    [
        (2**60, "OK"),
        (-(2**60), "OK"),
        (2**62, "STRIDES_TOO_LARGE"),
        (-(2**63), "STRIDES_TOO_LARGE"),
    ],
)
def test_strides_that_lead_too_far_are_refused(driver, which, stride, error):
    core = Core.of(CONFIG)
    strides: list[list[int] | None] = [None, None]
    strides[which] = [0, stride, 1, 1]
    assert plan_pooling(driver, core, *strides)[1] == error
    strides[which] = [stride // 2, 1]
    assert plan_reduction(driver, core, *strides)[1] == error


def test_the_stride_of_a_reduced_axis_in_the_output_leads_nowhere(driver):
    """There is one result along it."""
    (axis,) = REDUCTION["axes"]
    for which, error in ((0, "STRIDES_TOO_LARGE"), (1, "OK")):
        strides: list[list[int] | None] = [None, None]
        strides[which] = [2**62 if n == axis else 1 for n in range(len(REDUCTION["sizes"]))]
        assert plan_reduction(driver, Core.of(CONFIG), *strides)[1] == error


def test_strides_that_lead_too_far_together_are_refused(driver):
    core = Core.of(CONFIG)
    assert plan_pooling(driver, core, [0, 2**60, 2**57, 2**57])[1] == "OK"
    assert plan_pooling(driver, core, [0, 2**60, 2**58, 2**59])[1] == "STRIDES_TOO_LARGE"


def test_the_stride_of_a_single_element_may_be_anything(driver):
    planned, error = plan_pooling(
        driver, Core.of(CONFIG), [2**63 - 1, 16, 4, 1], [-(2**63), 4, 2, 1]
    )
    assert error == "OK"
    job = JobStruct()
    assert driver.extremum_next_job(planned, job)
    assert (job.input.over_slices.depth, job.input.over_elements.depth) == (1, 1)
    assert job.input.expanded()[0].tolist() == [[i, 16 + i] for i in range(16)]
    assert not driver.extremum_next_job(planned, job)


def test_every_error_has_its_own_words(driver):
    texts = [driver.extremum_error_text(code).decode() for code in range(len(ERRORS) + 1)]
    assert texts[-1] == "unknown error"
    assert len(set(texts)) == len(texts)
    assert all(texts)


SAME_WORDS = set(ERRORS[2 : ERRORS.index("STRIDES_TOO_LARGE")]) - {
    "BAD_DATA_TYPE",
    "BAD_INDEX_TYPE",
    "AXIS_OUT_OF_RANGE",
}
"""Rules of the golden model that the driver puts into the same words."""


@pytest.mark.parametrize("name", sorted(SAME_WORDS))
def test_a_broken_rule_has_the_words_of_the_golden_model(driver, name):
    text = driver.extremum_error_text(ERRORS.index(name)).decode()
    assert re.match(REFUSALS[name], text), text
