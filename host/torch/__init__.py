"""Max pooling, argmax, argmin, amax and amin of PyTorch's tensors, on the golden model or a core.

The functions have the signatures of `torch.nn.functional.max_pool2d`, `max_pool3d`, `torch.argmax`,
`torch.argmin`, `torch.amax` and `torch.amin`, without `out`, and one argument more: the accelerator
that computes, or None for the golden model. Results have the device of the input. There are no
gradients: an input that wants one is refused. `torch.compile` leaves these functions as they are,
and `torch.jit.trace`, which would keep a result as a constant, is refused.

Values and positions are those of PyTorch on the CPU, but for four cases. Of several NaNs in a
window PyTorch names the last, this the first. The position of a window that lies wholly in padding,
which a dilation may bring about, is some number in PyTorch, and -1 here. Where `max_pool3d` takes a
tensor in the format `channels_last_3d`, and all elements of a window are the lowest of their type,
PyTorch's position may be in another plane; here it is that of the first of them. Of zeros of both
signs, which are equal, the first is taken here, and any in PyTorch. Results are contiguous in
memory, also those of a tensor in the format `channels_last`. A tensor without elements is refused,
and one of more than 8 dimensions.
"""

# PyTorch need not be installed where types are checked.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import torch

from extremum.host.checks import frames_inside
from extremum.model import DataType, Pooling, ReduceFunction, Reduction, checks
from extremum.model.onnx import max_pool_arguments, squeeze_axes

if TYPE_CHECKING:
    from extremum.host.accelerator import Accelerator

__all__ = ["amax", "amin", "argmax", "argmin", "max_pool2d", "max_pool3d"]

Sizes = int | Sequence[int]
Dims = int | Sequence[int]


@overload
def max_pool2d(
    input: torch.Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor: ...


@overload
def max_pool2d(
    input: torch.Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
    accelerator: Accelerator | None = None,
) -> tuple[torch.Tensor, torch.Tensor]: ...


@overload
def max_pool2d(
    input: torch.Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]: ...


def max_pool2d(
    input: torch.Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Do as `torch.nn.functional.max_pool2d`, on a tensor (N, C, H, W) or (C, H, W).

    Parameters
    ----------
    input
        Tensor of one of the ten types of the operators: no float64, no bfloat16.
    kernel_size, stride, padding, dilation, ceil_mode, return_indices
        As PyTorch has them. A position counts within its plane.
    accelerator
        What computes; the golden model, if None.

    Returns
    -------
    torch.Tensor or tuple of torch.Tensor
        Values, and positions as int64 if they are asked for.

    Raises
    ------
    TypeError, ValueError
        The input or an argument breaks a rule.
    """
    options = (kernel_size, stride, padding, dilation)
    return _pool(input, 2, options, ceil_mode, return_indices, accelerator)


@overload
def max_pool3d(
    input: torch.Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor: ...


@overload
def max_pool3d(
    input: torch.Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
    accelerator: Accelerator | None = None,
) -> tuple[torch.Tensor, torch.Tensor]: ...


@overload
def max_pool3d(
    input: torch.Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]: ...


def max_pool3d(
    input: torch.Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Do as `torch.nn.functional.max_pool3d`; see :func:`max_pool2d`."""
    options = (kernel_size, stride, padding, dilation)
    return _pool(input, 3, options, ceil_mode, return_indices, accelerator)


def argmax(
    input: torch.Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor:
    """Do as `torch.argmax`: the position of the greatest element, the first of equals, as int64."""
    return _reduce(ReduceFunction.ARGMAX, input, dim, keepdim, accelerator)


def argmin(
    input: torch.Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor:
    """Do as `torch.argmin`; see :func:`argmax`."""
    return _reduce(ReduceFunction.ARGMIN, input, dim, keepdim, accelerator)


def amax(
    input: torch.Tensor,
    dim: Dims = (),
    keepdim: bool = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor:
    """Do as `torch.amax`: the greatest element over some dimensions, or over all."""
    return _reduce(ReduceFunction.MAX, input, dim, keepdim, accelerator)


def amin(
    input: torch.Tensor,
    dim: Dims = (),
    keepdim: bool = False,
    *,
    accelerator: Accelerator | None = None,
) -> torch.Tensor:
    """Do as `torch.amin`; see :func:`amax`."""
    return _reduce(ReduceFunction.MIN, input, dim, keepdim, accelerator)


# Traced by `torch.compile`, NumPy's functions would be PyTorch's own, which differ.
@torch.compiler.disable
def _pool(
    tensor: torch.Tensor,
    spatial: int,
    options: tuple[Sizes, Sizes | None, Sizes, Sizes],
    ceil_mode: bool,
    return_indices: bool,
    accelerator: Accelerator | None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Pool a tensor with or without a batch."""
    x = _array(tensor)
    if x.ndim not in (spatial + 1, spatial + 2):
        raise ValueError(f"input must have {spatial + 1} or {spatial + 2} dimensions, not {x.ndim}")
    kernel_size, stride, padding, dilation = options
    window = _spread("kernel_size", kernel_size, spatial, 1)
    if stride is None or (isinstance(stride, tuple | list) and not stride):
        strides = window
    else:
        strides = _spread("stride", stride, spatial, 1)
    pads = _spread("padding", padding, spatial, 0)
    for size, pad in zip(window, pads, strict=True):
        if 2 * pad > size:
            raise ValueError(f"padding must be at most half of kernel_size {size}, not {pad}")
    batched = x if x.ndim == spatial + 2 else x[None]
    arguments = max_pool_arguments(
        batched.shape,
        kernel_shape=window,
        strides=strides,
        dilations=_spread("dilation", dilation, spatial, 1),
        pads=[*pads, *pads],
        ceil_mode=int(checks.boolean("ceil_mode", ceil_mode)),
    )
    arguments["index_layout"] = "plane"
    problem = Pooling.of(batched.shape, x.dtype, **arguments, return_indices=return_indices)
    results = _run(problem, batched, accelerator)
    listed = results if return_indices else (results,)
    made = [_tensor(y if x.ndim == spatial + 2 else y[0], tensor) for y in listed]
    return (made[0], made[1]) if return_indices else made[0]


@torch.compiler.disable
def _reduce(
    function: ReduceFunction,
    tensor: torch.Tensor,
    dim: Dims | None,
    keepdim: bool,
    accelerator: Accelerator | None,
) -> torch.Tensor:
    """Reduce a tensor; a scalar is one of a single element, of whose dimension nothing is kept."""
    x = _array(tensor)
    is_scalar = x.ndim == 0
    if function.gives_index and dim is not None and not checks.is_scalar(dim):
        raise TypeError(f"dim must be an integer or None, not {dim!r}")
    listed = () if dim is None else _dimensions(dim, x.ndim)
    options = {"index_type": "int64"} if function.gives_index else {}
    problem = Reduction.of(function, x.shape or (1,), x.dtype, listed or None, **options)
    keeps = checks.boolean("keepdim", keepdim) and not is_scalar
    y = _run(problem, x.reshape(problem.sizes), accelerator)
    return _tensor(squeeze_axes(y, problem.axes, int(keeps)), tensor)


def _run(problem: Reduction | Pooling, x: np.ndarray, accelerator: Accelerator | None) -> Any:
    """Compute a problem.

    Raises
    ------
    TypeError
        The accelerator is none.
    """
    if accelerator is not None:
        if not hasattr(accelerator, "run"):
            raise TypeError(f"accelerator must be an Accelerator or None, not {accelerator!r}")
        return accelerator.run(problem, x)
    if isinstance(problem, Reduction):
        return problem.evaluate(x)
    return problem.evaluate(x, stacklevel=frames_inside() + 1)


def _array(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor's elements.

    Raises
    ------
    TypeError
        It is no dense tensor of one of the ten types, or it has no memory of its own.
    ValueError
        It has no element, or it wants a gradient, or PyTorch records a trace.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"input must be a tensor, not {type(tensor).__name__}")
    if torch.jit.is_tracing():
        raise ValueError("input must not be traced: a trace would keep this result as a constant")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ValueError("input must not require a gradient: there is none; use input.detach()")
    if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
        raise ValueError("input must have no tangent: there are no gradients; use its primal")
    try:
        dense = tensor.detach().cpu().resolve_neg()
        x = dense.numpy()
        DataType.from_dtype(x.dtype)
    except (TypeError, RuntimeError) as error:
        told = f"{error}; input.float() is one, of most other types"
        raise TypeError(f"input must be a dense tensor of a type of DataType: {told}") from error
    if x.size == 0:
        raise ValueError(f"input must have an element, and its sizes are {x.shape}")
    if not _is_in_memory(dense):  # NumPy would read what is not the tensor's
        raise TypeError("input must be a tensor with elements in memory, which this one has not")
    return x


def _is_in_memory(tensor: torch.Tensor) -> bool:
    """Return whether the storage of a tensor that has elements holds all of them."""
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    end = (tensor.storage_offset() + last + 1) * tensor.element_size()
    try:
        storage = tensor.untyped_storage()
        storage.data_ptr()  # raises if there is no memory behind it, as under functionalize
        return storage.nbytes() >= end
    except RuntimeError:
        return False


def _tensor(y: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(y, order="C")).to(like.device)


def _spread(name: str, sizes: Sizes, spatial: int, least: int) -> tuple[int, ...]:
    """Return a number for each spatial dimension; one number stands for all of them."""
    listed = _integers(name, sizes, least)
    if len(listed) not in (1, spatial):
        raise ValueError(f"{name} must have one number or {spatial}, not {len(listed)}")
    return listed * spatial if len(listed) == 1 else listed


def _dimensions(dim: Dims, rank: int) -> tuple[int, ...]:
    """Return the dimensions that are named, counted from the first; a scalar has one."""
    listed, most = _integers("dim", dim, None), max(rank, 1)
    if not all(-most <= each < most for each in listed):
        raise ValueError(
            f"dim must be in [{-most}, {most - 1}] for a tensor of {rank} dimensions, not {dim}"
        )
    counted = tuple(each % most for each in listed)
    if len(set(counted)) < len(counted):
        raise ValueError(f"dim must not name a dimension twice, as {dim} does")
    return counted


def _integers(name: str, given: Sizes, least: int | None) -> tuple[int, ...]:
    """Return one integer, or several, as a tuple."""
    if checks.is_scalar(given):
        return (checks.integer(name, given, least),)
    return checks.integers(name, given, least)
