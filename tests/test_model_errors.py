"""Every rule of the functions has a message, which names the rule and then the value."""

import inspect
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
    argmax,
    argmin,
    as_tensor,
    max_pooling,
    reduce_max,
    reduce_min,
)

TEN = "float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8"
CONVERT = ": convert x with astype, for example to float32"
GIVE = ": give x a type, for example by np.array(x, np.float32)"
X = np.zeros((1, 2, 4, 5), np.int8)
VECTOR = np.zeros(3, np.int8)


def huge(*sizes):
    """Return a large tensor that takes no memory, because it repeats one element."""
    return np.broadcast_to(np.int8(0), sizes)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.zeros(3), TypeError, f"data type must be one of {TEN}, not float64{CONVERT}"),
        (np.zeros(3, bool), TypeError, f"data type must be one of {TEN}, not bool{CONVERT}"),
        (np.zeros(3, "c8"), TypeError, f"data type must be one of {TEN}, not complex64{CONVERT}"),
        (np.array([None]), TypeError, f"data type must be one of {TEN}, not object{CONVERT}"),
        (["a"], TypeError, f"data type must be one of {TEN}, not str32{GIVE}"),
        ([0.5], TypeError, f"data type must be one of {TEN}, not float64{GIVE}"),
        ([1, 2**63], TypeError, f"data type must be one of {TEN}, not float64{GIVE}"),
        ([], ValueError, "sizes must be at least 1, not (0,)"),
        (
            np.zeros(3, "m8[s]"),
            TypeError,
            f"data type must be one of {TEN}, not timedelta64[s]{CONVERT}",
        ),
        (
            np.ma.masked_array([1, 2]),
            TypeError,
            "x must be a plain array, not a masked one: fill it with x.filled",
        ),
        (np.int8(1), ValueError, "rank must be 1 to 8, not 0"),
        (np.zeros((1,) * 9, np.int8), ValueError, "rank must be 1 to 8, not 9"),
        (np.zeros((2, 0), np.int8), ValueError, "sizes must be at least 1, not (2, 0)"),
        (
            huge(2**16, 2**16),
            ValueError,
            "tensor must have fewer than 2^32 elements, not 4294967296 (65536, 65536)",
        ),
    ],
)
def test_the_tensor(x, error, message):
    for function in (as_tensor, argmin, argmax, reduce_min, reduce_max):
        with pytest.raises(error) as caught:
            function(x)
        assert str(caught.value) == message
    with pytest.raises(error) as caught:
        max_pooling(x, 1)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"axes": ()}, ValueError, "axes must name at least one axis, not ()"),
        ({"axes": 4}, ValueError, "axes must be in [-4, 3] for rank 4, not (4,)"),
        ({"axes": (0, 4)}, ValueError, "axes must be in [-4, 3] for rank 4, not (0, 4)"),
        ({"axes": (0, -5)}, ValueError, "axes must be in [-4, 3] for rank 4, not (0, -5)"),
        ({"axes": (1, 1)}, ValueError, "axes must not repeat, not (1, 1)"),
        ({"axes": (3, -1)}, ValueError, "axes must not repeat, not (3, -1)"),
        ({"axes": 1.0}, TypeError, "axes must be an integer, not 1.0"),
        ({"axes": [np.float32(1)]}, TypeError, "axes must be integers, not (1.0,)"),
        ({"axes": True}, TypeError, "axes must be an integer, not True"),
        ({"axes": "01"}, TypeError, "axes must be a sequence of integers, not '01'"),
        ({"axes": [[0]]}, TypeError, "axes must be integers, not ([0],)"),
        ({"axes": np.array([[0, 1]])}, TypeError, "axes must be integers, not (array([0, 1]),)"),
        ({"axes": {0, 1}}, TypeError, "axes must be a sequence of integers, not {0, 1}"),
        ({"axes": {0: 1}}, TypeError, "axes must be a sequence of integers, not {0: 1}"),
        ({"nan": "first"}, ValueError, "nan must be propagate or ignore, not 'first'"),
    ],
)
def test_every_reduction(arguments, error, message):
    for function in (argmin, argmax, reduce_min, reduce_max):
        with pytest.raises(error) as caught:
            function(X, **arguments)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"axis_direction": "down"},
            ValueError,
            "axis_direction must be increasing or decreasing, not 'down'",
        ),
        (
            {"axis_direction": 2},
            ValueError,
            "axis_direction must be increasing or decreasing, not 2",
        ),
        (
            {"axis_direction": True},
            ValueError,
            "axis_direction must be increasing or decreasing, not True",
        ),
        (
            {"index_type": "int16"},
            TypeError,
            "index_type must be one of uint32, uint64, int32, int64, not int16",
        ),
        (
            {"index_type": float},
            TypeError,
            "index_type must be one of uint32, uint64, int32, int64, not float64",
        ),
        (
            {"index_type": "nonsense"},
            TypeError,
            "index_type must be one of uint32, uint64, int32, int64, not nonsense",
        ),
        (
            {"index_type": None},
            TypeError,
            "index_type must be one of uint32, uint64, int32, int64, not None",
        ),
        (
            {"index_type": ["int64"]},
            TypeError,
            "index_type must be one of uint32, uint64, int32, int64, not ['int64']",
        ),
        ({"nan": ["ignore"]}, ValueError, "nan must be propagate or ignore, not ['ignore']"),
        (
            {"nan": np.array(["ignore", "no"])},
            ValueError,
            "nan must be propagate or ignore, not array(['ignore', 'no'], dtype='<U6')",
        ),
    ],
)
def test_argmin_and_argmax(arguments, error, message):
    for function in (argmin, argmax):
        with pytest.raises(error) as caught:
            function(X, **arguments)
        assert str(caught.value) == message


def test_an_int32_index_too_small():
    message = "an int32 index needs at most 2^31 reduced elements, not 2147483649"
    for function in (argmin, argmax):
        with pytest.raises(ValueError, match="int32") as caught:
            function(huge(2**31 + 1), index_type="int32")
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"window": (2, 0)}, ValueError, "window must be at least 1, not (2, 0)"),
        ({"window": 0}, ValueError, "window must be at least 1, not (0, 0)"),
        ({"strides": (0, 1)}, ValueError, "strides must be at least 1, not (0, 1)"),
        ({"dilations": (1, 0)}, ValueError, "dilations must be at least 1, not (1, 0)"),
        ({"start_padding": -1}, ValueError, "start_padding must be at least 0, not (-1, -1)"),
        ({"end_padding": (0, -2)}, ValueError, "end_padding must be at least 0, not (0, -2)"),
        ({"window": 2.0}, TypeError, "window must be an integer, not 2.0"),
        ({"strides": [1, 1.5]}, TypeError, "strides must be integers, not (1, 1.5)"),
        ({"dilations": None}, TypeError, "dilations must be a sequence of integers, not None"),
        ({"end_padding": True}, TypeError, "end_padding must be an integer, not True"),
        (
            {"window": (2, 2, 2)},
            ValueError,
            "window must have one value for each of 2 spatial dimensions, not (2, 2, 2)",
        ),
        (
            {"start_padding": (1,)},
            ValueError,
            "start_padding must have one value for each of 2 spatial dimensions, not (1,)",
        ),
        ({"window": 5}, ValueError, "window extent must not exceed the padded size 4, not 5"),
        (
            {"window": 3, "dilations": 3, "start_padding": 1, "end_padding": (1, 0)},
            ValueError,
            "window extent must not exceed the padded size 6, not 7",
        ),
        (
            {"index_type": "int32"},
            TypeError,
            "index_type must be one of uint32, uint64, int64, not int32",
        ),
        (
            {"index_layout": "rows"},
            ValueError,
            "index_layout must be one of tensor, plane, column_major, not 'rows'",
        ),
        (
            {"index_layout": np.array(["plane", "no"])},
            ValueError,
            "index_layout must be one of tensor, plane, column_major, not "
            "array(['plane', 'no'], dtype='<U5')",
        ),
        ({"return_indices": "no"}, TypeError, "return_indices must be True or False, not 'no'"),
        ({"return_indices": 1}, TypeError, "return_indices must be True or False, not 1"),
        ({"return_indices": None}, TypeError, "return_indices must be True or False, not None"),
        ({"nan": None}, ValueError, "nan must be propagate or ignore, not None"),
        (
            {"start_padding": (2**16, 2**16)},
            ValueError,
            "padded tensor must have fewer than 2^32 elements, not 8591114280 (1, 2, 65540, 65541)",
        ),
    ],
)
def test_pooling(arguments, error, message):
    with pytest.raises(error) as caught:
        max_pooling(X, **{"window": 2, **arguments})
    assert str(caught.value) == message


def test_a_boolean_of_numpy_is_one():
    for answer in (True, False):
        wanted: Any = np.bool_(answer)
        assert isinstance(max_pooling(X, 2, return_indices=wanted), tuple) is answer


@pytest.mark.parametrize(
    ("function", "keyword", "message"),
    [
        (argmax, "axis", "argmax() takes axes, not axis"),
        (reduce_min, "dim", "reduce_min() takes axes, not dim"),
        (argmin, "direction", "argmin() takes axis_direction, not direction"),
        (argmin, "select_last_index", "argmin() takes axis_direction, not select_last_index"),
        (argmax, "dtype", "argmax() takes index_type, not dtype"),
        (
            argmax,
            "keepdims",
            "argmax() takes no keepdims: the reduced axes stay, with size 1, and numpy.squeeze "
            "drops them",
        ),
        (reduce_max, "dtype", "reduce_max() takes x, axes, nan, not dtype"),
        (reduce_max, "window", "reduce_max() takes x, axes, nan, not window"),
        (max_pooling, "stride", "max_pooling() takes strides, not stride"),
        (max_pooling, "dilation", "max_pooling() takes dilations, not dilation"),
        (max_pooling, "kernel_size", "max_pooling() takes window, not kernel_size"),
        (max_pooling, "kernel_shape", "max_pooling() takes window, not kernel_shape"),
        (max_pooling, "window_size", "max_pooling() takes window, not window_size"),
        (max_pooling, "padding", "max_pooling() takes start_padding and end_padding, not padding"),
        (max_pooling, "pads", "max_pooling() takes start_padding and end_padding, not pads"),
        (max_pooling, "ceil_mode", "max_pooling() takes end_padding, not ceil_mode"),
        (max_pooling, "storage_order", "max_pooling() takes index_layout, not storage_order"),
        (max_pooling, "return_index", "max_pooling() takes return_indices, not return_index"),
    ],
)
def test_a_wrong_keyword_is_answered_with_the_right_one(function, keyword, message):
    arguments = {"window": 2} if function is max_pooling else {}
    with pytest.raises(TypeError) as caught:
        function(X, **arguments, **{keyword: 1})
    assert str(caught.value) == message
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_errors_of_right_keywords_are_left_alone():
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'window'"):
        max_pooling(X)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"^index_type must be one of "):
        argmax(X, index_type="int16")
    assert argmax.__name__ == "argmax"
    assert list(inspect.signature(argmax).parameters)[:2] == ["x", "axes"]


def test_rank_of_pooling():
    for rank in (1, 2, 3, 6):
        with pytest.raises(
            ValueError, match=f"^rank for pooling must be 4 or 5, not {rank}: reshape "
        ):
            max_pooling(np.zeros((1,) * rank, np.int8), 1)


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
            "window extent must not exceed the padded size 3, not 5",
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
