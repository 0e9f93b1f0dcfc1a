"""One max pooling as an object: checked once, then computed, planned or built in hardware."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from extremum.model.checks import (
    Integers,
    as_tensor_of,
    boolean,
    element_count,
    integers,
    spread,
    tensor_sizes,
)
from extremum.model.fast.pooling import PoolingKernel
from extremum.model.keywords import suggests_keywords
from extremum.model.spatial import SpatialDimension
from extremum.model.types import UINT32, DataType, index_dtype, nan_mode

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["EmptyWindowWarning", "Pooling", "SpatialDimension"]

INDEX_TYPES = ("uint32", "uint64", "int64")
INDEX_LAYOUTS = ("tensor", "plane", "column_major")


class EmptyWindowWarning(RuntimeWarning):
    """Says that some windows lie wholly in padding.

    The value of such a window is the lowest of the type, its position is all ones.

    Attributes
    ----------
    count : int
        Number of these windows.
    """

    def __init__(self, count: int) -> None:
        """Write the message from the number of windows."""
        super().__init__(f"{count} pooling windows lie wholly in padding")
        self.count = count

    def __reduce__(self) -> tuple[type, tuple[int]]:
        """Pickle the count, because the default would pickle the message."""
        return type(self), (self.count,)


@dataclass(frozen=True)
class Pooling:
    """One max pooling: of a tensor of which sizes and type, with which windows, to what result.

    The object is checked when it is made, by the rules of DirectML's pages
    DML_MAX_POOLING_OPERATOR_DESC, DML_MAX_POOLING1_OPERATOR_DESC and
    DML_MAX_POOLING2_OPERATOR_DESC. The functions of arrays, the descriptors, the plans of the host
    and the gateware all work on such an object.

    Attributes
    ----------
    sizes : tuple of int
        (N, C, H, W) or (N, C, D, H, W).
    data_type : DataType
    window, strides, start_padding, end_padding, dilations : tuple of int
        One number for each spatial dimension.
    return_indices : bool
        Whether the result has positions beside the values.
    index_type : dtype
        Type of a position: uint32, uint64 or int64.
    index_layout : {"tensor", "plane", "column_major"}
        What a position counts; see `index_weights`.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or loses to every number.

    Raises
    ------
    TypeError, ValueError
        If an attribute breaks a rule. The message names the rule, then the value.

    Examples
    --------
    >>> problem = Pooling.of((1, 1, 4, 4), "int8", window=2, strides=2, return_indices=True)
    >>> problem.output_sizes
    (1, 1, 2, 2)
    """

    sizes: tuple[int, ...]
    data_type: DataType
    window: tuple[int, ...]
    strides: tuple[int, ...]
    start_padding: tuple[int, ...]
    end_padding: tuple[int, ...]
    dilations: tuple[int, ...]
    return_indices: bool = False
    index_type: np.dtype[Any] = UINT32
    index_layout: str = "tensor"
    nan: str = "propagate"

    @classmethod
    @suggests_keywords
    def of(
        cls,
        sizes: Sequence[SupportsIndex],
        data_type: DataType | DTypeLike,
        window: Integers,
        *,
        strides: Integers = 1,
        start_padding: Integers = 0,
        end_padding: Integers = 0,
        dilations: Integers = 1,
        return_indices: bool = False,
        index_type: DTypeLike = "uint32",
        index_layout: str = "tensor",
        nan: str = "propagate",
    ) -> Pooling:
        """Make a pooling from what a user writes.

        Parameters
        ----------
        sizes : sequence of int
        data_type : DataType or dtype_like
        window, strides, start_padding, end_padding, dilations : int or sequence of int
            One number for each spatial dimension, or one for all.
        return_indices, index_type, index_layout, nan
            As the attributes, or their names.

        Returns
        -------
        Pooling

        Raises
        ------
        TypeError, ValueError
            If a parameter breaks a rule.
        """
        checked = _pooled_sizes(sizes)
        spatial = len(checked) - 2
        return cls(
            checked,
            DataType.from_dtype(data_type),
            spread("window", window, spatial),
            spread("strides", strides, spatial),
            spread("start_padding", start_padding, spatial),
            spread("end_padding", end_padding, spatial),
            spread("dilations", dilations, spatial),
            return_indices,
            index_dtype(index_type, INDEX_TYPES),
            index_layout,
            nan,
        )

    def __post_init__(self) -> None:
        """Check every rule, whether the object is made by `of` or by the constructor."""
        sizes = _pooled_sizes(self.sizes)
        checked: dict[str, object] = {
            "sizes": sizes,
            "data_type": DataType.from_dtype(self.data_type),
            "return_indices": boolean("return_indices", self.return_indices),
            "index_type": index_dtype(self.index_type, INDEX_TYPES),
            "nan": nan_mode(self.nan),
        }
        for name in ("window", "strides", "dilations", "start_padding", "end_padding"):
            values = integers(name, getattr(self, name), 0 if "padding" in name else 1)
            if len(values) != len(sizes) - 2:
                raise ValueError(
                    f"{name} must have one value for each of {len(sizes) - 2} spatial dimensions, "
                    f"not {values}"
                )
            checked[name] = values
        if not isinstance(self.index_layout, str) or self.index_layout not in INDEX_LAYOUTS:
            raise ValueError(
                f"index_layout must be one of {', '.join(INDEX_LAYOUTS)}, not {self.index_layout!r}"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        padded = (*sizes[:2], *(dimension.padded for dimension in self.spatial))
        # A tensor has no more windows than padded elements, so this bounds the outputs too.
        element_count("padded tensor", padded)

    @cached_property
    def spatial(self) -> tuple[SpatialDimension, ...]:
        """The pooled dimensions, ([D,] H, W)."""
        columns = zip(
            self.sizes[2:], self.window, self.strides, self.dilations,
            self.start_padding, self.end_padding, strict=True,
        )  # fmt: skip
        return tuple(SpatialDimension(*column) for column in columns)

    @cached_property
    def output_sizes(self) -> tuple[int, ...]:
        """Sizes of the values and of the indices."""
        return (*self.sizes[:2], *(dimension.outputs for dimension in self.spatial))

    @cached_property
    def index_weights(self) -> tuple[int, ...]:
        """What a step along each axis of the input adds to a position, by `index_layout`.

        A position is the sum of coordinate times weight.

        - ``"tensor"`` counts the whole tensor in row-major order, as DML_MAX_POOLING2_OPERATOR_DESC
          and ONNX MaxPool do.
        - ``"plane"`` counts each plane from 0, as PyTorch does: N and C have weight 0.
        - ``"column_major"`` counts the whole tensor, and within each plane the first spatial
          dimension fastest, as ONNX MaxPool does with storage_order = 1.

        Examples
        --------
        >>> Pooling.of((1, 2, 3, 4), "int8", 1, index_layout="column_major").index_weights
        (24, 12, 1, 3)
        """
        spatial = self.sizes[2:]
        plane = math.prod(spatial)
        if self.index_layout == "column_major":
            inner = tuple(math.prod(spatial[:axis]) for axis in range(len(spatial)))
        else:
            inner = tuple(math.prod(spatial[axis + 1 :]) for axis in range(len(spatial)))
        outer = (0, 0) if self.index_layout == "plane" else (self.sizes[1] * plane, plane)
        return (*outer, *inner)

    @cached_property
    def empty_windows(self) -> int:
        """Number of windows that lie wholly in padding, whatever the elements are."""
        met = math.prod(len(dimension.met_windows) for dimension in self.spatial)
        return math.prod(self.output_sizes) - math.prod(self.sizes[:2]) * met

    def evaluate(
        self, x: ArrayLike, *, stacklevel: int = 2
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Pool `x`.

        Parameters
        ----------
        x : array_like
            A tensor of `sizes` and `data_type`, in any memory layout and byte order. It is not
            changed.
        stacklevel : int
            Which caller a warning names; 2 is the caller of this method.

        Returns
        -------
        values : ndarray
            The winning elements with their bits, of `output_sizes`; fresh and C-contiguous.
        indices : ndarray
            Their positions, of the same sizes; only with `return_indices`.

        Raises
        ------
        TypeError, ValueError
            If `x` has another type or other sizes.

        Warns
        -----
        EmptyWindowWarning
            If some windows lie wholly in padding; one warning for all of them.
        """
        result = self.compute(as_tensor_of(x, self.data_type, self.sizes))
        self.warn_of_empty_windows(stacklevel=stacklevel + 1)
        return result

    def compute(self, tensor: NDArray[Any]) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Pool what `as_tensor_of` returned, without a check and without a warning.

        The tensor must have the type `data_type` and the sizes `sizes`. The results are those of
        `evaluate`.
        """
        values, indices = self._kernel.pool(tensor)
        return values if indices is None else (values, indices)

    def warn_of_empty_windows(self, *, stacklevel: int = 2) -> None:
        """Warn of the windows that lie wholly in padding, if there are any.

        A `stacklevel` of 2 names the caller of this method.
        """
        if self.empty_windows:
            warnings.warn(EmptyWindowWarning(self.empty_windows), stacklevel=stacklevel)

    @cached_property
    def _kernel(self) -> PoolingKernel:
        # Pyright knows this class under two names, because `extremum` is a folder of links to it.
        return PoolingKernel(self)  # pyright: ignore[reportArgumentType]


def _pooled_sizes(sizes: object) -> tuple[int, ...]:
    """Check sizes, and that there are two or three spatial dimensions."""
    checked = tensor_sizes(sizes)
    if len(checked) not in (4, 5):
        raise ValueError(
            f"rank for pooling must be 4 or 5, not {len(checked)}: reshape to (N, C, H, W) or "
            "(N, C, D, H, W)"
        )
    return checked
