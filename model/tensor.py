"""Tensors in raw memory: how their elements lie in a buffer, and views of them."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import numpy as np

from extremum.model.checks import integer, integers, tensor_sizes
from extremum.model.types import DataType

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from numpy.typing import DTypeLike, NDArray

__all__ = ["BufferTensorDesc", "BytesLike", "bytes_of", "check_apart"]

BytesLike: TypeAlias = "ReadableBuffer | NDArray[Any]"
"""A bytes-like object or an array: before Python 3.12, NumPy does not say that arrays are both."""

SWAP = "swap the bytes of its elements"
FOREIGN_ORDER = ">" if sys.byteorder == "little" else "<"
"""What the format of a buffer has in front of numbers in the other byte order."""


@dataclass(frozen=True)
class BufferTensorDesc:
    """How a tensor lies in a buffer: DirectML's DML_BUFFER_TENSOR_DESC.

    The fields are those of the structure, in Python's spelling. Its Flags are left out, because
    they only tell who owns the memory.

    Attributes
    ----------
    data_type : DataType
        The constructor also takes whatever names a NumPy type, such as ``"int8"``.
    sizes : tuple of int
        1 to 8 sizes, none of which is 0, of fewer than 2^32 elements together.
    strides : tuple of int, or None
        The distance in memory, in elements, of neighbours along each dimension. None means packed
        in row-major order. A stride of 0 repeats elements, a larger one than packed leaves gaps.
    total_tensor_size_in_bytes : int
        At least up to the end of the last element, rounded up to a multiple of four. None means
        just that, and the attribute then reads as this number.
    guaranteed_base_offset_alignment : int
        0, or a power of two of at least the element's size.

    Raises
    ------
    TypeError, ValueError
        If a field breaks a rule. The message names the rule, then the value.

    Examples
    --------
    Five elements of a byte need eight bytes. A stride of 0 repeats a row.

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
    # The constructor replaces None, so the attribute is an int.
    total_tensor_size_in_bytes: int = None  # pyright: ignore[reportAssignmentType]
    guaranteed_base_offset_alignment: int = 0

    if TYPE_CHECKING:
        # The constructor takes more types than the attributes then have.
        def __init__(
            self,
            data_type: DataType | DTypeLike,
            sizes: Sequence[SupportsIndex],
            strides: Sequence[SupportsIndex] | None = None,
            total_tensor_size_in_bytes: SupportsIndex | None = None,
            guaranteed_base_offset_alignment: SupportsIndex = 0,
        ) -> None: ...

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
        """Number of dimensions."""
        return len(self.sizes)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.data_type.dtype.itemsize

    @property
    def element_strides(self) -> tuple[int, ...]:
        """The strides in elements; those of a packed layout if `strides` is None."""
        if self.strides is not None:
            return self.strides
        return tuple(math.prod(self.sizes[axis + 1 :]) for axis in range(self.rank))

    @property
    def least_size(self) -> int:
        """Bytes up to the end of the last element, rounded up to a multiple of four.

        DML_BUFFER_TENSOR_DESC demands at least this as TotalTensorSizeInBytes.
        """
        last = sum((n - 1) * s for n, s in zip(self.sizes, self.element_strides, strict=True))
        return -(-(last + 1) * self.itemsize // 4) * 4

    @property
    def repeats_an_element(self) -> bool:
        """Whether two coordinates share one place in the buffer, which no output tensor may have.

        The answer is exact for strides of any size, and takes at most a second for the sizes and
        strides that take longest.

        Examples
        --------
        Rows of three elements that lie two apart overlap in one element.

        >>> BufferTensorDesc(DataType.INT8, (2, 3), strides=(2, 1)).repeats_an_element
        True
        >>> BufferTensorDesc(DataType.INT8, (2, 3), strides=(3, 1)).repeats_an_element
        False
        """
        steps = [
            (stride, n) for n, stride in zip(self.sizes, self.element_strides, strict=True) if n > 1
        ]
        return any(stride == 0 for stride, _ in steps) or _offsets_meet(sorted(steps))

    def view(self, buffer: BytesLike, name: str = "buffer") -> NDArray[Any]:
        """View the elements of the tensor in a buffer.

        Parameters
        ----------
        buffer : bytes-like or ndarray
            Contiguous memory of at least `total_tensor_size_in_bytes`.
        name : str
            What messages call the buffer.

        Returns
        -------
        ndarray
            A view of the buffer, of `sizes`; writable if the buffer is.

        Raises
        ------
        TypeError
            If `buffer` is neither bytes-like nor an array in native byte order, is masked, or holds
            objects.
        ValueError
            If it is not contiguous, or too small.
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
            # A stride that no element uses may be too large for NumPy.
            strides=[
                stride * self.itemsize if n > 1 else 0
                for n, stride in zip(self.sizes, self.element_strides, strict=True)
            ],
        )


def _offsets_meet(steps: list[tuple[int, int]]) -> bool:
    """Tell whether two different coordinates have the same offset, the sum of coordinate * stride.

    Two coordinates have the same offset if their differences d, of which axis i has d_i with
    ``-n_i < d_i < n_i``, are not all 0 and ``sum(d_i * stride_i) == 0``. Nothing is enumerated for
    the longest axis: its term must be the negative sum of the others, which shows by division. The
    sums of the other axes are split into two sets, so that of eight axes of 16 elements one set
    has 31**3 and the other 31**4 sums. Only the smaller set is kept in memory.

    Parameters
    ----------
    steps : list of (stride, n)
        The axes in ascending order of their strides; all strides are positive, all n above 1.
    """
    # The usual layouts nest: each stride is longer than all that the smaller ones reach together.
    reach = 0
    for stride, n in steps:
        if stride <= reach:
            break
        reach += (n - 1) * stride
    else:
        return False
    *others, (stride, n) = sorted(steps, key=lambda step: step[1])
    reach = (n - 1) * stride
    tried: list[range] = []
    kept: list[range] = []
    for step, count in reversed(others):
        smaller = min((tried, kept), key=lambda ranges: math.prod(map(len, ranges)))
        last = (count - 1) * step
        # The negative of a solution is another one, so one axis needs no negative differences.
        smaller.append(range(-last if tried else 0, last + 1, step))
    sums: dict[int, list[int]] = {}
    for kept_sum in sorted(map(sum, product(*kept))):
        sums.setdefault(kept_sum % stride, []).append(kept_sum)
    solutions = 0
    for tried_sum in map(sum, product(*tried)):
        matching = sums.get(-tried_sum % stride, [])
        solutions += bisect_right(matching, reach - tried_sum)
        solutions -= bisect_left(matching, -reach - tried_sum)
        # One solution has all differences 0, and stands for a coordinate and itself.
        if solutions > 1:
            return True
    return False


def bytes_of(buffer: object, name: str = "buffer") -> NDArray[np.uint8]:
    """View the memory of a bytes-like object or array as bytes.

    Returns
    -------
    ndarray of uint8
        A view, which is writable if the buffer is.

    Raises
    ------
    TypeError
        If `buffer` is neither bytes-like nor an array, is not in native byte order, holds objects,
        or is a masked array.
    ValueError
        If it is not contiguous.
    """
    if isinstance(buffer, np.ndarray) and not buffer.dtype.isnative:
        raise TypeError(f"{name} must be in native byte order, not {buffer.dtype}: {SWAP}")
    memory = _memory_of(buffer, name)
    if FOREIGN_ORDER in memory.format:
        raise TypeError(f"{name} must be in native byte order, not {memory.format}: {SWAP}")
    if isinstance(memory.obj, np.ma.MaskedArray):
        raise TypeError(f"{name} must be a plain array, not a masked one: fill it with filled()")
    if "O" in memory.format and np.asarray(memory).dtype.hasobject:
        raise TypeError(f"{name} must hold numbers, not Python objects")
    if not memory.c_contiguous:
        raise ValueError(f"{name} must be contiguous, not strided {memory.strides}")
    return np.frombuffer(memory, np.uint8)


def _memory_of(buffer: Any, name: str) -> memoryview:
    """Return the memory of what is bytes-like or an array, and refuse anything else."""
    try:
        return memoryview(buffer)
    except (TypeError, ValueError):
        is_array = isinstance(buffer, np.ndarray)
        if is_array and not buffer.dtype.hasobject:
            # Python has no buffers of dates and times, nor of the types of other packages.
            shown: Any = buffer.view(f"V{buffer.dtype.itemsize}")
            return memoryview(shown)
        kind = f"one of {buffer.dtype}" if is_array else type(buffer).__name__
        raise TypeError(f"{name} must be bytes-like or a NumPy array, not {kind}") from None


def check_apart(x: NDArray[Any], outputs: Sequence[NDArray[Any]]) -> None:
    """Check that the memory of no output overlaps that of the input or of another output.

    Parameters
    ----------
    x : ndarray
        The bytes of the input.
    outputs : sequence of ndarray
        The bytes of each output.

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
