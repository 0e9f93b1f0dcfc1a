"""Max pooling over two or three spatial dimensions, with the positions of the winners."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from extremum.model.checks import Integers, as_tensor, element_count, integers, spread, tensor_sizes
from extremum.model.fast.pooling import PoolingKernel
from extremum.model.spatial import SpatialDimension
from extremum.model.types import UINT32, DataType, index_dtype, nan_mode

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

__all__ = ["EmptyWindowWarning", "Pooling", "SpatialDimension"]

INDEX_TYPES = ("uint32", "uint64", "int64")
INDEX_LAYOUTS = ("tensor", "plane", "column_major")


class EmptyWindowWarning(RuntimeWarning):
    """Some windows lie wholly in padding: their value is the lowest, their index all ones.

    Attributes
    ----------
    count : int
        Number of such windows.
    """

    def __init__(self, count: int) -> None:
        """Say how many windows it is about."""
        super().__init__(f"{count} pooling windows lie wholly in padding")
        self.count = count

    def __reduce__(self) -> tuple[type, tuple[int]]:
        """Travel between processes by the count."""
        return type(self), (self.count,)


@dataclass(frozen=True)
class Pooling:
    """One max pooling, checked: of which tensor, with which windows, giving what.

    Attributes
    ----------
    sizes : tuple of int
        (N, C, H, W) or (N, C, D, H, W).
    data_type : DataType
    window, strides, start_padding, end_padding, dilations : tuple of int
        One for each spatial dimension.
    return_indices : bool
        Whether positions are given beside the values.
    index_type : dtype
        Type of a position: uint32, uint64 or int64.
    index_layout : {"tensor", "plane", "column_major"}
        What a position counts; see `index_weights`.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or none.

    Raises
    ------
    TypeError, ValueError
        If any of it breaks a rule. The message gives the rule, then the bad value.

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
    index_type: np.dtype = UINT32
    index_layout: str = "tensor"
    nan: str = "propagate"

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
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
        """Build a pooling from what a user writes: one integer stands for all dimensions.

        Raises
        ------
        TypeError, ValueError
            If any of it breaks a rule.
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
        """Check every rule, also for those who call the constructor."""
        sizes = _pooled_sizes(self.sizes)
        checked: dict[str, object] = {
            "sizes": sizes,
            "data_type": DataType.from_dtype(self.data_type),
            "return_indices": bool(self.return_indices),
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
        if self.index_layout not in INDEX_LAYOUTS:
            raise ValueError(
                f"index_layout must be one of {', '.join(INDEX_LAYOUTS)}, not {self.index_layout!r}"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        padded = (*sizes[:2], *(dimension.padded for dimension in self.spatial))
        # There are never more windows than padded elements, so this bounds the outputs too.
        element_count("padded tensor", padded)

    @cached_property
    def spatial(self) -> tuple[SpatialDimension, ...]:
        """The pooled dimensions, ([D,] H, W)."""
        columns = zip(
            self.sizes[2:],
            self.window,
            self.strides,
            self.dilations,
            self.start_padding,
            self.end_padding,
            strict=True,
        )
        return tuple(SpatialDimension(*column) for column in columns)

    @cached_property
    def output_sizes(self) -> tuple[int, ...]:
        """Sizes of the values, and of the indices."""
        return (*self.sizes[:2], *(dimension.outputs for dimension in self.spatial))

    @cached_property
    def index_weights(self) -> tuple[int, ...]:
        """Weight of each axis of the input; a position is the sum of coordinate times weight.

        - ``"tensor"``: row-major over the whole tensor.
        - ``"plane"``: the same within the spatial dimensions; N and C weigh 0.
        - ``"column_major"``: as ``"tensor"``, but within the spatial dimensions the first one
          varies fastest.

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
        """Number of windows that lie wholly in padding; it does not depend on the data."""
        met = math.prod(
            dimension.outputs - len(dimension.empty_windows) for dimension in self.spatial
        )
        return math.prod(self.output_sizes) - math.prod(self.sizes[:2]) * met

    def evaluate(
        self, x: ArrayLike, *, stacklevel: int = 2
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Pool `x`.

        Parameters
        ----------
        x : array_like
            Of `sizes` and `data_type`; any memory layout and byte order. It is not changed.
        stacklevel : int
            Which caller the warning names; 2 is the one of this method.

        Returns
        -------
        values : ndarray
            Fresh and C-contiguous, of `output_sizes`; each has the bits of the element that wins.
        indices : ndarray
            Their positions, of the same sizes, if `return_indices`.

        Raises
        ------
        TypeError, ValueError
            If `x` has another type or other sizes.

        Warns
        -----
        EmptyWindowWarning
            Once, if some windows lie wholly in padding.
        """
        tensor = as_tensor(x)
        if DataType.from_dtype(tensor.dtype) is not self.data_type:
            raise TypeError(f"x must have type {self.data_type.value}, not {tensor.dtype}")
        if tensor.shape != self.sizes:
            raise ValueError(f"x must have sizes {self.sizes}, not {tensor.shape}")
        return self.pool(tensor, stacklevel=stacklevel + 1)

    def pool(
        self, tensor: np.ndarray, *, stacklevel: int = 2
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Pool without a check what `as_tensor` returned; see `evaluate` for the results.

        The tensor must have the type `data_type` and the sizes `sizes`.
        """
        values, indices = self._kernel.pool(tensor)
        if self.empty_windows:
            warnings.warn(EmptyWindowWarning(self.empty_windows), stacklevel=stacklevel)
        return values if indices is None else (values, indices)

    @cached_property
    def _kernel(self) -> PoolingKernel:
        # Pyright knows this class under two names, because `extremum` is a folder of links to it.
        return PoolingKernel(self)  # pyright: ignore[reportArgumentType]


def _pooled_sizes(sizes: object) -> tuple[int, ...]:
    checked = tensor_sizes(sizes)
    if len(checked) not in (4, 5):
        raise ValueError(f"rank for pooling must be 4 or 5, not {len(checked)}")
    return checked
