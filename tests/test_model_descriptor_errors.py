"""Every rule of the descriptors has a message, which names the rule and then the value."""

from typing import Any

import numpy as np
import pytest
from descriptors import PLAIN, tensor

from extremum.model import (
    ArgMaxOperatorDesc,
    ArgMinOperatorDesc,
    BufferTensorDesc,
    DataType,
    MaxPooling2OperatorDesc,
    ReduceFunction,
    ReduceOperatorDesc,
)

HALVES: Any = np.zeros(40, np.float16)
WITH_OBJECTS: Any = np.zeros(3, [("a", "M8[s]"), ("b", "O")])
MASKED: Any = np.ma.zeros(40, np.float16)
MORE = ": give more padding, or a smaller window"


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"data_type": "float64"}, TypeError, "data type must be one of float32, "),
        ({"sizes": (2, 0)}, ValueError, "sizes must be at least 1, not (2, 0)"),
        ({"sizes": ()}, ValueError, "rank must be 1 to 8, not 0"),
        ({"sizes": (1,) * 9}, ValueError, "rank must be 1 to 8, not 9"),
        (
            {"sizes": (2**16, 2**16)},
            ValueError,
            "tensor must have fewer than 2^32 elements, not 4294967296 (65536, 65536)",
        ),
        ({"sizes": (2.0, 3)}, TypeError, "sizes must be integers, not (2.0, 3)"),
        ({"strides": (3,)}, ValueError, "strides must be as many as sizes, 2, not (3,)"),
        ({"strides": (-3, 1)}, ValueError, "strides must be at least 0, not (-3, 1)"),
        ({"strides": (3, 1.0)}, TypeError, "strides must be integers, not (3, 1.0)"),
        (
            {"total_tensor_size_in_bytes": 10},
            ValueError,
            "total_tensor_size_in_bytes must be at least 12, not 10",
        ),
        (
            {"strides": (10, 1), "total_tensor_size_in_bytes": 24},
            ValueError,
            "total_tensor_size_in_bytes must be at least 28, not 24",
        ),
        (
            {"total_tensor_size_in_bytes": 12.0},
            TypeError,
            "total_tensor_size_in_bytes must be an integer, not 12.0",
        ),
        (
            {"guaranteed_base_offset_alignment": 1},
            ValueError,
            "guaranteed_base_offset_alignment must be 0 or a power of two of at least 2, not 1",
        ),
        (
            {"guaranteed_base_offset_alignment": 6},
            ValueError,
            "guaranteed_base_offset_alignment must be 0 or a power of two of at least 2, not 6",
        ),
    ],
)
def test_messages_of_a_tensor(fields, error, message):
    with pytest.raises(error) as caught:
        BufferTensorDesc(**{"data_type": DataType.INT16, "sizes": (2, 3), **fields})
    assert str(caught.value).startswith(message)


X, Y = tensor("float32", 2, 3, 4), tensor("uint32", 2, 1, 4)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"axes": ()}, ValueError, "axes must name at least one axis, not ()"),
        ({"axes": (3,)}, ValueError, "axes must be in [0, 2] for rank 3, not (3,)"),
        ({"axes": (-1,)}, ValueError, "axes must be in [0, 2] for rank 3, not (-1,)"),
        ({"axes": (1, 1)}, ValueError, "axes must not repeat, not (1, 1)"),
        ({"axes": 1}, TypeError, "axes must be a sequence of integers, not 1"),
        ({"axes": (1.0,)}, TypeError, "axes must be integers, not (1.0,)"),
        (
            {"output_tensor": tensor("uint32", 2, 4)},
            ValueError,
            "output_tensor must have sizes (2, 1, 4), not (2, 4)",
        ),
        (
            {"output_tensor": tensor("uint32", 2, 3, 4)},
            ValueError,
            "output_tensor must have sizes (2, 1, 4), not (2, 3, 4)",
        ),
        (
            {"output_tensor": tensor("float32", 2, 1, 4)},
            TypeError,
            "output_tensor must be UINT32, UINT64, INT32 or INT64, not FLOAT32",
        ),
        (
            {"output_tensor": tensor("uint32", 2, 1, 4, strides=(0, 4, 1))},
            ValueError,
            "strides of output_tensor must address each element once, "
            "not (0, 4, 1) for sizes (2, 1, 4)",
        ),
        (
            {"input_tensor": None},
            TypeError,
            "input_tensor must be a BufferTensorDesc, not NoneType",
        ),
        ({"output_tensor": 3}, TypeError, "output_tensor must be a BufferTensorDesc, not int"),
    ],
)
@pytest.mark.parametrize("cls", [ArgMinOperatorDesc, ArgMaxOperatorDesc, ReduceOperatorDesc])
def test_messages_of_a_reduction(cls, fields, error, message):
    plain = {"input_tensor": X, "output_tensor": Y, "axes": (1,)}
    if cls is ReduceOperatorDesc:
        plain["function"] = ReduceFunction.ARGMAX
    with pytest.raises(error) as caught:
        cls(**{**plain, **fields})
    assert str(caught.value) == message


def test_more_messages_of_reductions():
    with pytest.raises(
        ValueError, match=r"^function must be one of ARGMAX, ARGMIN, MAX, MIN, not S"
    ):
        ReduceOperatorDesc("SUM", X, Y, (1,))  # pyright: ignore
    with pytest.raises(
        TypeError, match=r"^output_tensor must have the input's type FLOAT32, not U"
    ):
        ReduceOperatorDesc(ReduceFunction.MAX, X, Y, (1,))
    with pytest.raises(
        ValueError, match=r"^axis_direction must be increasing or decreasing, not 2"
    ):
        ArgMaxOperatorDesc(X, Y, (1,), 2)  # pyright: ignore
    big = tensor("int8", 2**31 + 1)
    with pytest.raises(ValueError, match=r"^an int32 index needs at most 2\^31 reduced elements"):
        ArgMaxOperatorDesc(big, tensor("int32", 1), (0,))
    assert ArgMaxOperatorDesc(big, tensor("uint32", 1), (0,)).operator().count == 2**31 + 1


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"strides": (0, 2)}, ValueError, "strides must be at least 1, not (0, 2)"),
        ({"window_size": (2, 0)}, ValueError, "window_size must be at least 1, not (2, 0)"),
        ({"dilations": (0, 1)}, ValueError, "dilations must be at least 1, not (0, 1)"),
        ({"start_padding": (-1, 0)}, ValueError, "start_padding must be at least 0, not (-1, 0)"),
        ({"end_padding": 1}, TypeError, "end_padding must be a sequence of integers, not 1"),
        (
            {"strides": (2, 2, 2)},
            ValueError,
            "strides must have one value for each of 2 spatial dimensions, not (2, 2, 2)",
        ),
        (
            {"window_size": (5, 2)},
            ValueError,
            f"window extent must not exceed the padded size 4, not 5{MORE}",
        ),
        ({"input_tensor": tensor("float16", 2, 4, 5)}, ValueError, "rank for pooling must be 4 or"),
        (
            {"output_tensor": tensor("float32", 1, 2, 2, 2)},
            TypeError,
            "output_tensor must have the input's type FLOAT16, not FLOAT32",
        ),
        (
            {"output_tensor": tensor("float16", 1, 2, 2)},
            ValueError,
            "output_tensor must have sizes (1, 2, 2, 2), not (1, 2, 2)",
        ),
        (
            {"output_tensor": tensor("float16", 1, 1, 2, 2)},
            ValueError,
            "output_tensor must have sizes (1, 2, 2, 2), not (1, 1, 2, 2)",
        ),
        (
            {"output_tensor": tensor("float16", 1, 2, 1, 2)},
            ValueError,
            "output_tensor must have size 2 on axis 2, not 1",
        ),
        (
            {"output_tensor": tensor("float16", 1, 2, 2, 4)},
            ValueError,
            "output_tensor must have size 2 to 3 on axis 3, not 4",
        ),
        (
            {"output_tensor": tensor("float16", 1, 2, 2, 3)},
            ValueError,
            "output_indices_tensor must have sizes (1, 2, 2, 3), not (1, 2, 2, 2)",
        ),
        (
            {"output_indices_tensor": tensor("int64", 1, 2, 2, 2)},
            TypeError,
            "output_indices_tensor must be UINT32 or UINT64, not INT64",
        ),
        (
            {"output_indices_tensor": "no"},
            TypeError,
            "output_indices_tensor must be a BufferTensorDesc, not str",
        ),
        (
            {"output_indices_tensor": tensor("uint32", 1, 2, 2, 2, strides=(0, 4, 1, 1))},
            ValueError,
            "strides of output_indices_tensor must address each element once, "
            "not (0, 4, 1, 1) for sizes (1, 2, 2, 2)",
        ),
    ],
)
def test_messages_of_a_pooling(fields, error, message):
    with pytest.raises(error) as caught:
        MaxPooling2OperatorDesc(**{**PLAIN, **fields})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("out_kind", ["read-only", "input", "twice"])
def test_memory_that_may_not_be_written(out_kind):
    desc = MaxPooling2OperatorDesc(**PLAIN)
    memory = np.zeros(200, np.float16)
    values, indices = memory[50:58], np.zeros(8, np.uint32)
    message = "^out must not overlap the input$"
    if out_kind == "read-only":
        indices.flags.writeable = False
        message = "^out must be writable, not read-only$"
    elif out_kind == "input":
        values = memory[39:47]
    else:
        indices = memory[56:72]
        message = "^out must not overlap another output$"
    with pytest.raises(ValueError, match=message):
        desc.evaluate(memory[:40], out=(values, indices))
    assert not memory.any()


def test_messages_of_buffers():
    desc = MaxPooling2OperatorDesc(**PLAIN)
    good, values, indices = bytes(80), bytearray(16), bytearray(32)
    for error, message, inputs, out in (
        (TypeError, "inputs must be 1 buffer, not 0", (), None),
        (TypeError, "inputs must be 1 buffer, not 2", (good, good), None),
        (TypeError, "out must be 2 buffers, not 1", (good,), values),
        (TypeError, "out must be 2 buffers, not 3", (good,), (values, indices, indices)),
        (ValueError, "input must hold at least 80 bytes, not 79", (good[1:],), None),
        (ValueError, "out must hold at least 32 bytes, not 31", (good,), (values, indices[1:])),
        (ValueError, "out must be writable, not read-only", (good,), (bytes(16), indices)),
        (TypeError, "input must be bytes-like or a NumPy array, not list", ([1],), None),
        (
            ValueError,
            "input must be contiguous, not strided (4,)",
            (np.zeros(80, np.int16)[::2],),
            None,
        ),
        (
            TypeError,
            "input must be in native byte order, not >f2: swap the bytes of its elements",
            (np.zeros(40, ">f2"),),
            None,
        ),
        (
            TypeError,
            "input must be in native byte order, not >e: swap the bytes of its elements",
            (memoryview(HALVES.astype(">f2")),),
            None,
        ),
        (
            TypeError,
            "input must be in native byte order, not T{>e:a:}: swap the bytes of its elements",
            (memoryview(HALVES.astype(">f2").view([("a", ">f2")])),),
            None,
        ),
        (
            TypeError,
            f"input must be bytes-like or a NumPy array, not one of {WITH_OBJECTS.dtype}",
            (WITH_OBJECTS,),
            None,
        ),
        (
            TypeError,
            "input must be a plain array, not a masked one: fill it with filled()",
            (np.ma.zeros(40, np.float16),),
            None,
        ),
        (
            TypeError,
            "input must be a plain array, not a masked one: fill it with filled()",
            (memoryview(MASKED),),
            None,
        ),
        (
            ValueError,
            "input must be contiguous, not strided (16,)",
            (np.zeros(24, "M8[s]")[::2],),
            None,
        ),
    ):
        with pytest.raises(error) as caught:
            desc.evaluate(*inputs, out=out)  # pyright: ignore[reportArgumentType]
        assert str(caught.value) == message
    with pytest.raises(ValueError, match=r"^nan must be propagate or ignore, not 'no'$"):
        desc.evaluate(good, nan="no")


@pytest.mark.parametrize("kind", ["M8[s]", "m8[us]", "V8", "c8", "f8", "S8", "U2", "?, V7"])
def test_arrays_of_any_type_are_bytes(kind):
    """Python has no buffers of some of these types."""
    desc = ArgMaxOperatorDesc(tensor("int8", 8), tensor("uint32", 1), (0,))
    x, out = np.frombuffer(bytes([0, 1, 0, 3, 0, 0, 0, 2]), kind), np.zeros(1, "m8[s]")
    desc.evaluate(x, out=out[:1].view("V8"))
    assert out.tobytes() == bytes([3, *[0] * 7])
