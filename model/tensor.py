"""Tensors in raw memory: how elements lie in a buffer, and views of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .checks import integer, integers, tensor_sizes
from .types import DataType

__all__ = ["BufferTensorDesc", "bytes_of", "check_apart"]


@dataclass(frozen=True)
class BufferTensorDesc:
    """A tensor in a buffer, as DirectML's DML_BUFFER_TENSOR_DESC says it.

    Attributes
    ----------
    data_type : DataType
    sizes : tuple of int
        1 to 8 of them, none zero, fewer than 2^32 elements together.
    strides : tuple of int, or None
        In elements; None is packed row-major, 0 repeats an element, a larger stride than packed
        leaves a gap.
    total_tensor_size_in_bytes : int
        At least what the last element needs, rounded up to four bytes; None takes just that.
    guaranteed_base_offset_alignment : int
        0, or a power of two not below the element's size.

    Raises
    ------
    TypeError, ValueError
        If any of it breaks a rule. The message gives the rule, then the bad value.

    Examples
    --------
    Five bytes need eight, and a row can be repeated by a stride of 0.

    >>> BufferTensorDesc(DataType.INT8, (5,)).total_tensor_size_in_bytes
    8
    >>> desc = BufferTensorDesc(DataType.INT8, (2, 3), strides=(0, 1))
    >>> desc.view(bytes([1, 2, 3, 0]))
    array([[1, 2, 3],
           [1, 2, 3]], dtype=int8)
    """

    data_type: DataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    # None is replaced by the least size: the attribute always reads as a number.
    total_tensor_size_in_bytes: int = None  # pyright: ignore[reportAssignmentType]
    guaranteed_base_offset_alignment: int = 0

    def __post_init__(self) -> None:
        """Check every rule."""
        object.__setattr__(self, "data_type", DataType.from_dtype(self.data_type))
        object.__setattr__(self, "sizes", tensor_sizes(self.sizes))
        if self.strides is not None:
            strides = integers("strides", self.strides)
            if len(strides) != self.rank:
                raise ValueError(f"strides must be as many as sizes, {self.rank}, not {strides}")
            object.__setattr__(self, "strides", strides)
        total = self.total_tensor_size_in_bytes
        total = self.least_size if total is None else integer("total_tensor_size_in_bytes", total)
        if total < self.least_size:
            raise ValueError(
                f"total_tensor_size_in_bytes must be at least {self.least_size}, not {total}"
            )
        object.__setattr__(self, "total_tensor_size_in_bytes", total)
        name = "guaranteed_base_offset_alignment"
        alignment = integer(name, self.guaranteed_base_offset_alignment)
        if alignment and (alignment < self.itemsize or alignment & (alignment - 1)):
            raise ValueError(
                f"{name} must be 0 or a power of two of at least {self.itemsize}, not {alignment}"
            )
        object.__setattr__(self, name, alignment)

    @property
    def rank(self) -> int:
        """Number of sizes."""
        return len(self.sizes)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.data_type.dtype.itemsize

    @property
    def element_strides(self) -> tuple[int, ...]:
        """The strides in elements, packed ones written out."""
        if self.strides is not None:
            return self.strides
        return tuple(math.prod(self.sizes[axis + 1 :]) for axis in range(self.rank))

    @property
    def least_size(self) -> int:
        """Bytes up to the end of the last element, rounded up to a multiple of four."""
        last = sum((n - 1) * s for n, s in zip(self.sizes, self.element_strides, strict=True))
        return -(-(last + 1) * self.itemsize // 4) * 4

    @property
    def repeats_an_element(self) -> bool:
        """Whether two coordinates share one place in the buffer, as no output may."""
        steps = sorted(
            (s, n) for n, s in zip(self.sizes, self.element_strides, strict=True) if n > 1
        )
        if any(stride == 0 for stride, _ in steps):
            return True
        # The usual layouts nest: each stride steps over all that the smaller ones reach.
        reach, nested = 0, True
        for stride, n in steps:
            nested &= stride > reach
            reach += (n - 1) * stride
        if nested:
            return False
        offsets = np.zeros(1, np.int64)
        for stride, n in steps:
            offsets = (offsets[:, None] + np.arange(n) * stride).reshape(-1)
        offsets.sort()
        return bool((offsets[1:] == offsets[:-1]).any())

    def view(self, buffer: object, name: str = "buffer") -> np.ndarray:
        """View the logical elements in a buffer; writable if the buffer is.

        Parameters
        ----------
        buffer : bytes-like or ndarray
            Contiguous memory of at least `total_tensor_size_in_bytes`.
        name : str
            What messages call it.

        Raises
        ------
        TypeError, ValueError
            If it is no such memory, or too small.
        """
        memory = bytes_of(buffer, name)
        if memory.size < self.total_tensor_size_in_bytes:
            raise ValueError(
                f"{name} must hold at least {self.total_tensor_size_in_bytes} bytes, "
                f"not {memory.size}"
            )
        return np.ndarray(
            self.sizes,
            self.data_type.dtype,
            memory.data,
            strides=[stride * self.itemsize for stride in self.element_strides],
        )


def bytes_of(buffer: object, name: str = "buffer") -> np.ndarray:
    """View the memory of a bytes-like object or array as bytes, writable if it is.

    Raises
    ------
    TypeError
        If it has no memory to view, or an array holds its elements in foreign byte order.
    ValueError
        If it is not contiguous.
    """
    if isinstance(buffer, np.ndarray) and not buffer.dtype.isnative:
        raise TypeError(f"{name} must be in native byte order, not {buffer.dtype}")
    try:
        memory = memoryview(buffer)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        kind = type(buffer).__name__
        raise TypeError(f"{name} must be bytes-like or a NumPy array, not {kind}") from None
    if not memory.c_contiguous:
        raise ValueError(f"{name} must be contiguous, not strided {memory.strides}")
    return np.frombuffer(memory, np.uint8)


def check_apart(x: np.ndarray, outputs: Sequence[np.ndarray]) -> None:
    """Check that no output's memory overlaps the input's or another output's.

    Parameters
    ----------
    x : ndarray
        Bytes of the input.
    outputs : sequence of ndarray
        Bytes of each output.

    Raises
    ------
    ValueError
        If two overlap.
    """
    for i, output in enumerate(outputs):
        if np.may_share_memory(output, x):
            raise ValueError("out must not overlap the input")
        if any(np.may_share_memory(output, other) for other in outputs[:i]):
            raise ValueError("out must not overlap another output")
