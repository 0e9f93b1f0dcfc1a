"""Every rule of the checked objects has a message, which names the rule and then the value."""

import pickle
from typing import Any

import numpy as np
import pytest

from extremum.model import (
    AxisDirection,
    DataType,
    EmptyWindowWarning,
    FeatureLevel,
    Pooling,
    ReduceFunction,
    Reduction,
    SpatialDimension,
)

MORE = ": give more padding, or a smaller window"
TEN = "float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8"
X = np.zeros((1, 2, 4, 5), np.int8)


def test_an_object_takes_only_its_own_tensor():
    reduction = Reduction.of("argmax", (3,), "int8")
    pooling = Pooling.of(X.shape, "int8", 2)
    for problem, sizes in ((reduction, "(3,)"), (pooling, "(1, 2, 4, 5)")):
        with pytest.raises(TypeError) as caught:
            problem.evaluate(np.zeros(problem.sizes, np.uint8))
        assert str(caught.value) == "x must have type int8, not uint8"
        with pytest.raises(ValueError, match="sizes") as caught:
            problem.evaluate(np.zeros((2, 2), np.int8))
        assert str(caught.value) == f"x must have sizes {sizes}, not (2, 2)"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"function": "SUM"},
            ValueError,
            "function must be one of ARGMAX, ARGMIN, MAX, MIN, not SUM",
        ),
        (
            {"function": "SUM\nX"},
            ValueError,
            "function must be one of ARGMAX, ARGMIN, MAX, MIN, not 'SUM\\nX'",
        ),
        ({"axes": (1, 0)}, ValueError, "axes of a Reduction must ascend, not (1, 0)"),
        ({"axes": (-1,)}, ValueError, "axes must be at least 0, not (-1,)"),
        ({"sizes": ()}, ValueError, "rank must be 1 to 8, not 0"),
        ({"sizes": 4}, TypeError, "sizes must be a sequence of integers, not 4"),
        ({"data_type": None}, TypeError, f"data type must be one of {TEN}, not None"),
        ({"data_type": "half"}, None, ""),
        (
            {"axis_direction": AxisDirection.DECREASING, "function": ReduceFunction.MAX},
            ValueError,
            "axis_direction of MAX must be increasing",
        ),
        (
            {"index_type": np.dtype("int64"), "function": ReduceFunction.MIN},
            ValueError,
            "index_type is for ARGMIN and ARGMAX, not for MIN",
        ),
        ({"nan": "no"}, ValueError, "nan must be propagate or ignore, not 'no'"),
    ],
)
def test_the_constructor_of_a_reduction_checks_too(arguments, error, message):
    plain = {"function": "argmax", "sizes": (2, 3), "data_type": "int8", "axes": (0, 1)}
    if error is None:
        assert Reduction(**{**plain, **arguments}).data_type is DataType.FLOAT16
        return
    with pytest.raises(error) as caught:
        Reduction(**{**plain, **arguments})
    assert str(caught.value) == message


def test_the_constructor_of_a_pooling_checks_too():
    plain = dict.fromkeys(("window", "strides", "dilations"), (1, 1))
    plain |= dict.fromkeys(("start_padding", "end_padding"), (0, 0))
    with pytest.raises(ValueError, match=r"^dilations must be at least 1, not \(1, 0\)$"):
        Pooling(X.shape, DataType.INT8, **{**plain, "dilations": (1, 0)})
    with pytest.raises(TypeError, match=r"^strides must be a sequence of integers, not 1$"):
        Pooling(X.shape, DataType.INT8, **{**plain, "strides": 1})  # pyright: ignore
    assert Pooling([1, 2, 4, 5], "int8", **plain) == Pooling.of(X.shape, np.int8, 1)  # pyright: ignore


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 1), ValueError, "size must be at least 1, not 0"),
        ((3, 0), ValueError, "window must be at least 1, not 0"),
        ((3, 1, 0), ValueError, "stride must be at least 1, not 0"),
        ((3, 1, 1, 0), ValueError, "dilation must be at least 1, not 0"),
        ((3, 1, 1, 1, -1), ValueError, "start_padding must be at least 0, not -1"),
        ((3, 1, 1, 1, 0, -1), ValueError, "end_padding must be at least 0, not -1"),
        ((3, 1.0), TypeError, "window must be an integer, not 1.0"),
        (
            (3, 3, 1, 2),
            ValueError,
            f"window extent must not exceed the padded size 3, not 5{MORE}",
        ),
    ],
)
def test_a_spatial_dimension(arguments, error, message):
    with pytest.raises(error) as caught:
        SpatialDimension(*arguments)
    assert str(caught.value) == message


def test_names_of_the_enums():
    assert DataType.from_dtype(">f2") is DataType.from_dtype(DataType.FLOAT16)
    assert [t.dtype.name for t in DataType] == TEN.split(", ")
    assert [t.is_signed for t in DataType] == [True] * 6 + [False] * 4
    assert AxisDirection.INCREASING == 0
    assert AxisDirection.DECREASING == 1
    assert AxisDirection.of("Decreasing") is AxisDirection.of(1) is AxisDirection.DECREASING
    assert AxisDirection.of(np.uint8(0)) is AxisDirection.INCREASING
    others: list[Any] = [True, np.bool_(True), np.int8(2), np.timedelta64(1, "s")]
    others.append(np.timedelta64(1))
    for other in others:
        with pytest.raises(ValueError, match=r"^axis_direction must be increasing or decreasing, "):
            AxisDirection.of(other)
    assert ReduceFunction.of("ArgMin") is ReduceFunction.ARGMIN
    with pytest.raises(ValueError, match=r"^feature level must be one of 1_0, .*, not \[\]$"):
        FeatureLevel.of([])  # pyright: ignore
    with pytest.raises(ValueError, match=r"^feature level must be one of 1_0, .*, not '7_0'$"):
        FeatureLevel.of("7_0")


def test_feature_levels_are_ordered():
    names = ["1_0", "2_0", "2_1", "3_0", "3_1", "4_0", "4_1"]
    names += ["5_0", "5_1", "5_2", "6_0", "6_1", "6_2", "6_3", "6_4"]
    assert [str(level) for level in FeatureLevel] == names
    assert sorted(FeatureLevel, reverse=True) == list(FeatureLevel)[::-1]
    assert FeatureLevel.LEVEL_5_2 < FeatureLevel.LEVEL_6_0 <= FeatureLevel.of("6_0")
    with pytest.raises(TypeError):
        _ = FeatureLevel.LEVEL_6_0 < "6_1"


def test_the_warning_travels():
    copy = pickle.loads(pickle.dumps(EmptyWindowWarning(3)))
    assert copy.count == 3
    assert str(copy) == "3 pooling windows lie wholly in padding"


@pytest.mark.parametrize(("stacklevel", "function"), [(2, "inner"), (3, "outer")])
def test_the_warning_names_the_caller_that_is_asked_for(stacklevel, function):
    problem = Pooling.of((1, 1, 1, 1), "int8", 1, start_padding=1)

    def inner():
        problem.evaluate(np.zeros((1, 1, 1, 1), np.int8), stacklevel=stacklevel)

    def outer():
        inner()

    with pytest.warns(EmptyWindowWarning) as caught:
        outer()
    calls = {"inner": inner, "outer": outer}[function].__code__
    assert calls.co_firstlineno < caught[0].lineno <= calls.co_firstlineno + 1
