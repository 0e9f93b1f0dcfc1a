"""`extremum.torch` against PyTorch, where that is installed."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import tensors

torch = pytest.importorskip("torch", reason="torch is not installed")

import extremum.torch as ours  # noqa: E402 (it needs torch)
from extremum.model import EmptyWindowWarning  # noqa: E402

POOLS = {2: (ours.max_pool2d, torch.nn.functional.max_pool2d),
         3: (ours.max_pool3d, torch.nn.functional.max_pool3d)}  # fmt: skip


def assert_same(actual, expected):
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert torch.equal(actual, expected)


@settings(max_examples=60)
@given(data=st.data())
def test_poolings(data):
    spatial = data.draw(st.sampled_from([2, 3]))
    sizes = tuple(
        data.draw(st.integers(1, 7)) for _ in range(spatial + data.draw(st.integers(1, 2)))
    )
    window = [data.draw(st.integers(1, min(3, size))) for size in sizes[-spatial:]]
    options = {
        "stride": data.draw(st.none() | st.just([]) | st.integers(1, 3)),
        "padding": [data.draw(st.integers(0, size // 2)) for size in window],
        "dilation": data.draw(st.integers(1, 2)),
        "ceil_mode": data.draw(st.booleans()),
        "return_indices": data.draw(st.booleans()),
    }
    x = torch.from_numpy(data.draw(tensors(sizes, "float32", nan=False)))
    mine, theirs = POOLS[spatial]
    try:
        expected = theirs(x, window, **options)
    except RuntimeError:  # a dilated window is larger than the padded input
        with pytest.raises(ValueError, match=r"window extent must not exceed"):
            mine(x, window, **options)
        return
    actual = mine(x, window, **options)
    if options["return_indices"]:
        assert_same(actual[0], expected[0])
        # A window of padding alone has no position here, and any in PyTorch.
        empty = actual[1] < 0
        assert bool((actual[0][empty] == -math.inf).all())
        assert_same(actual[1], torch.where(empty, -1, expected[1]))
    else:
        assert_same(actual, expected)


@pytest.mark.parametrize("name", ["argmax", "argmin", "amax", "amin"])
@settings(max_examples=40)
@given(data=st.data())
def test_reductions(name, data):
    sizes = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    kind = data.draw(st.sampled_from(["float32", "int8", "uint8", "int32", "int64", "int16"]))
    x = torch.from_numpy(data.draw(tensors(sizes, kind, nan=name.startswith("arg"))))
    options = {"keepdim": data.draw(st.booleans())}
    if data.draw(st.booleans()):
        options["dim"] = data.draw(st.integers(-len(sizes), len(sizes) - 1))
    assert_same(getattr(ours, name)(x, **options), getattr(torch, name)(x, **options))


def test_a_tensor_whose_elements_are_negated_when_they_are_read():
    x = torch.tensor([[1 + 2j, 3 - 4j]]).conj().imag
    assert x.is_neg()
    assert_same(ours.argmax(x, 1), torch.argmax(x, 1))
    assert_same(ours.amax(x, 1), torch.amax(x, 1))


def test_several_dimensions():
    x = torch.arange(24, dtype=torch.int16).reshape(2, 3, 4)
    assert_same(ours.amax(x, (0, -1)), torch.amax(x, (0, -1)))


@pytest.mark.parametrize("name", ["argmax", "argmin", "amax", "amin"])
@pytest.mark.parametrize("options", [{}, {"keepdim": True}, {"dim": 0}, {"dim": -1}])
def test_scalars(name, options):
    x = torch.tensor(-7, dtype=torch.int16)
    assert_same(getattr(ours, name)(x, **options), getattr(torch, name)(x, **options))


def test_windows_that_stand_out():
    """Rounded up, there is a window also where less than a stride of the input is missing."""
    x = torch.arange(-4.0, 0).reshape(1, 2, 2)
    options = {"stride": 2, "ceil_mode": True}
    assert_same(ours.max_pool2d(x, 3, **options), torch.nn.functional.max_pool2d(x, 3, **options))


def test_what_is_refused():
    x = torch.zeros((1, 1, 4, 4))
    with pytest.raises(ValueError, match=r"^input must not require a gradient"):
        ours.max_pool2d(x.requires_grad_(), 2)
    with pytest.raises(TypeError, match=r"not ndarray$"):
        ours.argmax(np.zeros(3))
    with pytest.raises(TypeError, match=r"float64"):
        ours.argmax(torch.zeros(3, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"^padding must be at most half of kernel_size 2, not 2$"):
        ours.max_pool2d(x.detach(), 2, padding=2)
    wrong: dict[str, Any] = {"accelerator": "native"}
    with pytest.raises(TypeError, match=r"^accelerator must be an Accelerator or None, not 'nativ"):
        ours.amax(torch.zeros(3), **wrong)
    wrong = {"dim": (0, 1)}
    with pytest.raises(TypeError, match=r"^dim must be an integer or None, not \(0, 1\)$"):
        ours.argmax(torch.zeros(3, 3), **wrong)
    with pytest.raises(ValueError, match=r"^input must have 4 or 5 dimensions, not 3$"):
        ours.max_pool3d(torch.zeros((1, 2, 2)), 1)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_tangent_is_refused():
    """It is a gradient that goes with the values, and would be lost without a word."""
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(torch.zeros(2), torch.ones(2))
        with pytest.raises(ValueError, match=r"^input must have no tangent"):
            ours.amax(dual)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(3, dtype=torch.bfloat16),
        torch.zeros(3, dtype=torch.bool),
        torch.zeros(3, dtype=torch.complex64),
        torch.zeros(3, dtype=torch.complex64).conj(),
        torch.zeros(3).to_sparse(),
        torch.zeros(3, device="meta"),
    ],
    ids=["bfloat16", "bool", "complex", "conjugated", "sparse", "meta"],
)
def test_tensors_whose_elements_are_not_taken(tensor):
    with pytest.raises(TypeError, match=r"^input must be a dense tensor of a type of DataType: "):
        ours.amax(tensor)


def test_a_tensor_without_memory_is_refused():
    """NumPy would read memory that nobody has written, or end the process."""
    freed, shrunk = torch.ones(2, 4), torch.ones(1 << 20)
    views = [freed, freed[1:], freed[:, 1:2], shrunk, shrunk[:3]]
    freed.untyped_storage().resize_(0)
    shrunk.untyped_storage().resize_(8)
    for tensor in views:
        with pytest.raises(TypeError, match=r"^input must be a tensor with elements in memory"):
            ours.amax(tensor)
    assert ours.amax(shrunk[:2]) == shrunk[:2].amax()
    whole = torch.ones(2, 4, 4)
    for tensor in (whole, whole[1:]):
        with pytest.raises(TypeError, match=r"^input must be a tensor with elements in memory"):
            torch.func.functionalize(lambda x: ours.max_pool2d(x, 2))(tensor)


def test_tensors_that_share_their_memory():
    """All that is asked for is there, if it is a part of the storage, or repeats it."""
    base = torch.arange(12.0)
    for tensor in (
        base[5], base[3:], base[1::4], base.expand(3, 12), base.as_strided((3, 2), (2, 5), 1),
        torch.from_numpy(np.arange(6)[2:]), torch.frombuffer(bytearray(16), offset=4,
                                                               dtype=torch.float32),
    ):  # fmt: skip
        assert ours.amax(tensor.reshape(-1)) == tensor.amax()
        if tensor.ndim:
            assert torch.equal(ours.amax(tensor, -1), tensor.amax(-1))


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace.*:DeprecationWarning")
def test_a_trace_is_refused():
    """It would keep the result as a constant, and give it for every other input."""
    with pytest.raises(ValueError, match=r"^input must not be traced"):
        torch.jit.trace(lambda x: ours.max_pool2d(x, 2), torch.zeros(1, 2, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ours.max_pool2d(x, 0), "kernel_size must be at least 1, not 0"),
        (lambda x: ours.max_pool2d(x, (2, -1)), "kernel_size must be at least 1, not (2, -1)"),
        (lambda x: ours.max_pool2d(x, 2, (2, 0)), "stride must be at least 1, not (2, 0)"),
        (lambda x: ours.max_pool2d(x, 2, 2, -1), "padding must be at least 0, not -1"),
        (lambda x: ours.max_pool2d(x, 2, 2, 0, 0), "dilation must be at least 1, not 0"),
        (
            lambda x: ours.amax(x, 4),
            "dim must be in [-4, 3] for a tensor of 4 dimensions, not 4",
        ),
        (
            lambda x: ours.argmin(x[0, 0, 0, 0], 1),
            "dim must be in [-1, 0] for a tensor of 0 dimensions, not 1",
        ),
        (lambda x: ours.amax(x, (0, -4)), "dim must not name a dimension twice, as (0, -4) does"),
        (lambda x: ours.amax(x[:0]), "input must have an element, and its sizes are (0, 2, 4, 4)"),
    ],
)
def test_a_message_has_the_name_and_the_value_that_were_given(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(torch.zeros(1, 2, 4, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8])
def test_torch_compile_leaves_the_functions_as_they_are(dtype):
    """What it makes of NumPy's functions is not always the same."""
    x = torch.arange(120).reshape(2, 3, 4, 5).to(dtype)

    @torch.compile(backend="eager")
    def compiled(x):
        y = x + 1
        pooled = ours.max_pool2d(y, 2, return_indices=True)
        return ours.amax(y), ours.amin(y, (0, 2)), ours.argmax(y), *pooled

    y = x + 1
    expected = (
        torch.amax(y), torch.amin(y, (0, 2)), torch.argmax(y),
        *torch.nn.functional.max_pool2d(y, 2, return_indices=True),
    )  # fmt: skip
    for own, theirs in zip(compiled(x), expected, strict=True):
        assert_same(own, theirs)


def test_a_position_where_pytorch_loses_the_depth():
    """Of a window of the lowest numbers alone, in the format `channels_last_3d`."""
    x = torch.full((1, 2, 2, 1, 1), -torch.inf)
    x[0, 0, 0] = 3
    for each in (x, x.contiguous(memory_format=torch.channels_last_3d)):
        values, positions = ours.max_pool3d(each, 1, return_indices=True)
        assert positions.flatten().tolist() == [0, 1, 0, 1]
        assert_same(values, x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel_size": (2.7, 2)}, r"^kernel_size must be integers, not \(2\.7, 2\)$"),
        ({"kernel_size": "22"}, r"^kernel_size must be a sequence of integers, not '22'$"),
        ({"kernel_size": 2.0}, r"^kernel_size must be an integer, not 2\.0$"),
        ({"kernel_size": 2, "stride": [1.9, 1]}, r"^stride must be integers, not"),
        ({"kernel_size": 2, "ceil_mode": None}, r"^ceil_mode must be True or False, not None$"),
    ],
)
def test_no_number_is_rounded(options, message):
    with pytest.raises(TypeError, match=message):
        ours.max_pool2d(torch.zeros((1, 1, 4, 4)), **options)


def test_numbers_of_numpy_are_numbers():
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    two, three, both = np.int64(2), np.int64(3), np.array([1, 2])
    pooled = ours.max_pool2d(x, two, both)  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert_same(pooled, ours.max_pool2d(x, 2, (1, 2)))
    found = ours.argmax(x, three)  # pyright: ignore[reportArgumentType]
    assert_same(found, ours.argmax(x, 3))


def test_a_warning_names_the_line_of_the_caller():
    x = torch.zeros((1, 1, 1, 1))
    with pytest.warns(EmptyWindowWarning) as caught:
        ours.max_pool2d(x, 2, 1, 1, 2)
    assert [each.filename for each in caught] == [__file__]
