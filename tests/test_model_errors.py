"""Every rule of the functions has a message, which names the rule and then the value."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

from extremum.model import (
    Pooling,
    Reduction,
    argmax,
    argmin,
    as_tensor,
    max_pooling,
    reduce_max,
    reduce_min,
)
from extremum.model.keywords import suggests_keywords

TEN = "float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8"
MORE = ": give more padding, or a smaller window"
CONVERT = ": convert it with astype, for example to float32"
GIVE = ": give x a type, for example by np.array(x, np.float32)"
X: Any = np.zeros((1, 2, 4, 5), np.int8)
MASKED: Any = np.ma.masked_equal(X[0, 0, 0], 1)


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
        (
            [np.ma.masked_equal([1, 9], 9), [2, 3]],
            TypeError,
            "x must hold plain arrays, not masked ones: fill them with filled()",
        ),
        (
            ([[X[0, 0, 0]]], ([MASKED],)),
            TypeError,
            "x must hold plain arrays, not masked ones: fill them with filled()",
        ),
        (
            [memoryview(X[0, 0, 0]), memoryview(MASKED)],
            TypeError,
            "x must hold plain arrays, not masked ones: fill them with filled()",
        ),
        (
            memoryview(MASKED),
            TypeError,
            "x must hold plain arrays, not masked ones: fill them with filled()",
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
            {"index_type": "uint32\n"},
            TypeError,
            "index_type must be one of uint32, uint64, int32, int64, not 'uint32\\n'",
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
        (
            {"window": 5},
            ValueError,
            f"window extent must not exceed the padded size 4, not 5{MORE}",
        ),
        (
            {"window": 3, "dilations": 3, "start_padding": 1, "end_padding": (1, 0)},
            ValueError,
            f"window extent must not exceed the padded size 6, not 7{MORE}",
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
        (Pooling.of, "kernel_size", "Pooling.of() takes window, not kernel_size"),
        (Pooling.of, "dtype", "Pooling.of() takes data_type, not dtype"),
        (Reduction.of, "axis", "Reduction.of() takes axes, not axis"),
        (Reduction.of, "shape", "Reduction.of() takes sizes, not shape"),
    ],
)
def test_a_wrong_keyword_is_answered_with_the_right_one(function, keyword, message):
    arguments = {"window": 2} if function is max_pooling else {}
    with pytest.raises(TypeError) as caught:
        function(X, **arguments, **{keyword: 1})
    assert str(caught.value) == message
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_method_is_named_after_the_class_that_it_was_called_on():
    class Base:
        @suggests_keywords
        def method(self, axes): ...

        @classmethod
        @suggests_keywords
        def of(cls, axes): ...

    class Derived(Base): ...

    calls: Any = (
        (Derived().method, "Derived.method"),
        (Derived().of, "Derived.of"),
        (Derived.of, "Derived.of"),
        (Base().method, "Base.method"),
        (Derived.method, Base.method.__qualname__),
    )
    for function, name in calls:
        with pytest.raises(TypeError, match=rf"^{re.escape(name)}\(\) takes axes, not axis$"):
            function(axis=1)


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
