"""`extremum.torch` on tensors of a stand-in for PyTorch, which need not be installed.

It shows how elements come in, whatever their strides, and how results go out; what PyTorch itself
computes is compared in `test_torch.py`.
"""

import importlib
import sys
import types

import numpy as np
import pytest

from extremum import model
from extremum.host import Accelerator
from extremum.model import EmptyWindowWarning

ELEMENTS = np.random.default_rng(0).integers(-9, 10, (4, 6, 10, 12)).astype(np.float32)
"""They tie often."""

VIEWS = {
    "packed": ELEMENTS,
    "strided": ELEMENTS[::2, 1::2, ::3, ::2],
    "channels last": np.moveaxis(np.ascontiguousarray(np.moveaxis(ELEMENTS, 1, -1)), -1, 1),
    "expanded": np.broadcast_to(ELEMENTS[:1], (3, 6, 10, 12)),
    "transposed": ELEMENTS.transpose(1, 0, 3, 2),
    "a part": ELEMENTS[1:, 2:, 3:, 5:],
}


class Tensor:
    """What `extremum.torch` asks of a tensor."""

    def __init__(self, elements, *, requires_grad=False, device="cpu"):
        self.elements, self.requires_grad, self.device = elements, requires_grad, device
        self.bytes_in_storage = 1 << 40

    def detach(self):
        return self._as_it_is(Tensor(self.elements, device=self.device))

    def cpu(self):
        return self._as_it_is(Tensor(self.elements, requires_grad=self.requires_grad))

    def _as_it_is(self, other):
        other.bytes_in_storage = self.bytes_in_storage
        return other

    def resolve_neg(self):
        return self

    def numpy(self):
        if self.requires_grad or self.device != "cpu":
            raise RuntimeError("PyTorch gives no elements of such a tensor")
        return self.elements

    shape = property(lambda self: self.elements.shape)

    def stride(self):
        return tuple(step // self.elements.itemsize for step in self.elements.strides)

    def storage_offset(self):
        return 0

    def element_size(self):
        return self.elements.itemsize

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: 1, nbytes=lambda: self.bytes_in_storage)

    def to(self, device):
        return Tensor(self.elements, device=device)


def from_numpy(array):
    """PyTorch takes no array with a negative stride, and warns of one that cannot be written."""
    assert isinstance(array, np.ndarray)
    assert min(array.strides, default=0) >= 0
    assert array.flags.writeable
    return Tensor(array)


@pytest.fixture(scope="module")
def torch():
    stand_in = types.ModuleType("torch")
    dual = types.SimpleNamespace(unpack_dual=lambda tensor: types.SimpleNamespace(tangent=None))
    vars(stand_in).update(
        Tensor=Tensor,
        from_numpy=from_numpy,
        is_grad_enabled=lambda: True,
        jit=types.SimpleNamespace(is_tracing=lambda: False),
        autograd=types.SimpleNamespace(forward_ad=dual),
        compiler=types.SimpleNamespace(disable=lambda function: function),
    )
    return stand_in


@pytest.fixture(scope="module")
def ours(torch):
    before = {name: sys.modules.pop(name, None) for name in ("torch", "extremum.torch")}
    sys.modules["torch"] = torch
    yield importlib.import_module("extremum.torch")
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.fixture(scope="module")
def core():
    with Accelerator(
        ("float32",), lanes=2, max_window=(1, 3, 3), max_dilation=(1, 1, 1)
    ) as accelerator:
        yield accelerator


def check(tensor, expected, elements, device="cpu"):
    """A result has the device of its input, lies packed, and shares no memory with it."""
    assert tensor.device == device
    given = tensor.elements
    assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
    assert np.array_equal(given, expected)
    assert given.flags.c_contiguous
    assert not np.shares_memory(given, elements)


@pytest.mark.parametrize("on_core", [False, True])
@pytest.mark.parametrize("view", VIEWS)
def test_elements_come_from_wherever_they_lie(ours, core, view, on_core):
    x, accelerator = VIEWS[view], core if on_core else None
    tensor = Tensor(x, device="cuda:0")
    values, indices = ours.max_pool2d(tensor, 2, return_indices=True, accelerator=accelerator)
    wanted = model.max_pooling(
        np.ascontiguousarray(x), 2, strides=2, return_indices=True, index_layout="plane"
    )
    check(values, wanted[0], x, "cuda:0")
    check(indices, wanted[1].astype(np.int64), x, "cuda:0")
    check(ours.max_pool2d(tensor, 2, accelerator=accelerator), wanted[0], x, "cuda:0")
    for name in ("argmax", "argmin", "amax", "amin"):
        theirs = getattr(np, name)
        for options in ({}, {"dim": 1}, {"dim": -1, "keepdim": True}):
            axis = {"axis": options.get("dim"), "keepdims": options.get("keepdim", False)}
            given = getattr(ours, name)(Tensor(x), accelerator=accelerator, **options)
            check(given, np.asarray(theirs(x, **axis)), x)


def test_gradients_are_refused_unless_they_are_off(ours, torch, monkeypatch):
    tensor = Tensor(ELEMENTS, requires_grad=True)
    with pytest.raises(ValueError, match=r"^input must not require a gradient"):
        ours.argmax(tensor)
    monkeypatch.setattr(torch, "is_grad_enabled", lambda: False)
    check(ours.argmax(tensor), np.asarray(np.argmax(ELEMENTS)), ELEMENTS)


@pytest.mark.parametrize("on_core", [False, True])
def test_a_warning_names_the_line_that_calls(ours, core, on_core):
    x = Tensor(np.zeros((1, 1, 1, 1), np.float32))
    with pytest.warns(EmptyWindowWarning) as told:
        ours.max_pool2d(x, 2, 1, 1, 2, accelerator=core if on_core else None)
    assert [warning.filename for warning in told] == [__file__]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda o, core: o.argmax(Tensor(np.zeros((0, 3), np.float32))),
            ValueError,
            "have an element",
        ),
        (lambda o, core: o.amax(Tensor(np.zeros(3, bool))), TypeError, "bool"),
        (lambda o, core: o.amax(Tensor(np.zeros(3))), TypeError, "float64"),
        (lambda o, core: o.amax(Tensor(np.zeros((1,) * 9, np.int8))), ValueError, "rank"),
        (lambda o, core: o.amax(Tensor(ELEMENTS), (0, -4)), ValueError, "twice, as .0, -4. does"),
        (
            lambda o, core: o.amax(Tensor(np.zeros(3, np.int8)), accelerator=core),
            ValueError,
            "add it to data_types",
        ),
        (lambda o, core: o.argmax(ELEMENTS), TypeError, "not ndarray"),
    ],
)
def test_what_is_refused(ours, core, call, kind, message):
    with pytest.raises(kind, match=message):
        call(ours, core)


def test_a_tensor_that_is_not_in_memory_is_refused(ours):
    """Its storage ends before its last element; one byte more would be enough."""
    tensor = Tensor(ELEMENTS[1:, 2:])
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    tensor.bytes_in_storage = 4 * (last + 1)
    assert ours.amax(tensor).elements == ELEMENTS[1:, 2:].max()
    tensor.bytes_in_storage -= 1
    with pytest.raises(TypeError, match=r"^input must be a tensor with elements in memory"):
        ours.amax(tensor)


def test_a_trace_is_refused(ours, torch, monkeypatch):
    monkeypatch.setattr(torch.jit, "is_tracing", lambda: True)
    with pytest.raises(ValueError, match=r"^input must not be traced"):
        ours.argmax(Tensor(ELEMENTS))
