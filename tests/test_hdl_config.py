"""Which configurations of a core are accepted, and which are refused with which message."""

import re
from typing import Any

import numpy as np
import pytest

from extremum.hdl.config import CoreConfig
from extremum.model import DataType

INT8 = (DataType.INT8,)


def test_integers_of_numpy_are_those_of_python():
    """Also where they are told apart, as in a message, a file or a digest."""
    plain: dict[str, Any] = {
        "lanes": 4, "max_window": (1, 3, 3), "max_dilation": (1, 2, 2), "max_line": 8,
        "max_plane": 16, "coordinate_width": 5, "index_width": 8, "padding": False,
        "fixed": (("slots", 9),),
    }  # fmt: skip

    def of_numpy(value):
        if isinstance(value, tuple):
            return tuple(map(of_numpy, value))
        return value if isinstance(value, str) else np.array(value)[()]

    given: dict[str, Any] = {name: of_numpy(value) for name, value in plain.items()}
    assert not isinstance(given["lanes"], int)
    assert repr(CoreConfig(INT8, **given)) == repr(CoreConfig(INT8, **plain))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"data_types": ()}, ValueError, "one or more types, each once, not none"),
        ({"data_types": INT8 * 2}, ValueError, "data_types must name one or more types, each once"),
        ({"data_types": list(INT8)}, TypeError, "data_types must be a tuple of DataType members"),
        ({"data_types": ("int8",)}, TypeError, "data_types must hold DataType members, not 'int8'"),
        ({"operators": ()}, ValueError, "operators must be one or more of argmin"),
        ({"operators": ("max",)}, ValueError, "operators must be one or more of"),
        ({"operators": "argmax"}, ValueError, "operators must be one or more of"),
        ({"operators": ("argmax", "argmax")}, ValueError, "argmin, argmax, max-pool, each once"),
        ({"index_width": 33}, ValueError, "index_width must be from 0 to 32, not 33"),
        ({"index_width": -1}, ValueError, "index_width must be from 0 to 32, not -1"),
        ({"index_width": 8.0}, TypeError, "index_width must be an integer, not 8.0"),
        (
            {"index_width": 0, "operators": ("argmin", "argmax")},
            ValueError,
            "index_width must be at least 1 where no values leave the core, not 0: without "
            "max-pool in operators, positions are all that it gives",
        ),
        ({"padding": 0}, TypeError, "padding must be True or False, not 0"),
        (
            {"max_window": [1, 3, 3]},
            TypeError,
            "max_window must be (depth, height, width) in a tuple, not [1, 3, 3]",
        ),
        (
            {"max_dilation": (1, 1)},
            TypeError,
            "max_dilation must be (depth, height, width), not (1, 1)",
        ),
        ({"fixed": {"slots": 1}}, TypeError, "fixed must be a tuple of (register, value), not"),
        ({"fixed": ("slots", 1)}, TypeError, "fixed must be a tuple of (register, value), not"),
    ],
)
def test_what_is_refused(changes, error, message):
    arguments: dict[str, Any] = {"data_types": INT8, **changes}
    with pytest.raises(error, match=f"{re.escape(message)}"):
        CoreConfig(**arguments)


@pytest.mark.parametrize(
    ("parameter", "low", "high"),
    [
        ("lanes", 1, 64),
        ("max_line", 1, 1 << 16),
        ("max_plane", 1, 1 << 24),
        ("coordinate_width", 4, 24),
        ("index_width", 0, 32),
    ],
)
def test_ranges(parameter, low, high):
    for value in (low, high):
        arguments: dict[str, Any] = {"data_types": INT8, parameter: value}
        assert getattr(CoreConfig(**arguments), parameter) == value
    for value in (low - 1, high + 1):
        arguments = {"data_types": INT8, parameter: value}
        message = f"^{parameter} must be from {low} to {high}, not {value}$"
        with pytest.raises(ValueError, match=message):
            CoreConfig(**arguments)


def test_the_default_limits():
    """A user who names no limit gets these, as the documents say."""
    config = CoreConfig()
    assert (config.data_types, config.lanes) == ((DataType.FLOAT32,), 1)
    assert config.max_window == (3, 7, 7)
    assert config.max_dilation == (1, 2, 2)
    assert (config.max_line, config.max_plane) == (256, 3136)
    assert (config.coordinate_width, config.index_width) == (16, 32)
    assert config.operators == ("argmin", "argmax", "max-pool")
    assert config.padding
    assert config.fixed == ()


@pytest.mark.parametrize(
    ("max_window", "axes"),
    [((1, 1, 1), ()), ((1, 1, 2), (2, 1)), ((1, 2, 1), (2, 1)), ((2, 1, 1), (2, 1, 0))],
)
def test_dimensions_are_scheduled_where_a_window_slides(max_window, axes):
    assert CoreConfig(INT8, max_window=max_window).axes == axes


@pytest.mark.parametrize(
    ("operators", "values", "reduction"),
    [
        (("argmin",), False, True),
        (("argmax", "max-pool"), True, True),
        (("max-pool",), True, False),
    ],
)
def test_operators_decide_what_there_is(operators, values, reduction):
    config = CoreConfig(INT8, lanes=4, operators=operators)
    assert (config.has_values, config.has_reduction) == (values, reduction)
    assert config.can_fold == reduction


def test_operators_in_another_order_are_the_same_core():
    """So it has the same hash, and is compiled once."""
    one = CoreConfig(INT8, operators=("max-pool", "argmin"))
    other = CoreConfig(INT8, operators=("argmin", "max-pool"))
    assert one == other
    assert one.operators == other.operators == ("argmin", "max-pool")
