"""The vocabulary of the operators: element types, directions, functions and feature levels."""

from __future__ import annotations

from enum import Enum, IntEnum
from functools import total_ordering
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "UINT32",
    "AxisDirection",
    "DataType",
    "FeatureLevel",
    "ReduceFunction",
    "index_dtype",
    "nan_mode",
]

UINT32 = np.dtype("uint32")
"""The index type that every operator has."""


class DataType(Enum):
    """Element type of a tensor; the value is the name of the NumPy type.

    Examples
    --------
    >>> DataType.from_dtype(">f4")
    <DataType.FLOAT32: 'float32'>
    >>> DataType.INT8.dtype
    dtype('int8')
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT64 = "int64"
    INT32 = "int32"
    INT16 = "int16"
    INT8 = "int8"
    UINT64 = "uint64"
    UINT32 = "uint32"
    UINT16 = "uint16"
    UINT8 = "uint8"

    @classmethod
    def from_dtype(cls, dtype: DTypeLike | DataType) -> DataType:
        """Find the member for anything that names a NumPy type; byte order does not matter.

        Raises
        ------
        TypeError
            If the type is none of the ten.
        """
        # Every call of an operator asks, mostly for one of these.
        if isinstance(dtype, np.dtype) and (member := _MEMBERS.get(dtype)):
            return member
        if isinstance(dtype, DataType):
            return dtype
        name = _type_name(dtype)
        if name not in cls._value2member_map_:
            names = ", ".join(member.value for member in cls)
            raise TypeError(f"data type must be one of {names}, not {name}")
        return cls(name)

    @property
    def dtype(self) -> np.dtype:
        """The NumPy type, in native byte order."""
        return np.dtype(self.value)

    @property
    def is_float(self) -> bool:
        """Whether the type has NaN, infinities and two zeros."""
        return self.dtype.kind == "f"

    @property
    def is_signed(self) -> bool:
        """Whether the type has negative values."""
        return self.dtype.kind != "u"

    @property
    def lowest(self) -> np.generic:
        """The identity of max: minus infinity, or the lowest integer.

        This is the value of a pooling window that meets no element.
        """
        return self.dtype.type(-np.inf if self.is_float else np.iinfo(self.dtype).min)


class AxisDirection(IntEnum):
    """Which of several equal elements gives the index: the first or the last."""

    INCREASING = 0
    DECREASING = 1

    @classmethod
    def of(cls, direction: str | int | AxisDirection) -> AxisDirection:
        """Take a member, its number, or its name in any case.

        Raises
        ------
        ValueError
            If there is no such direction.
        """
        if isinstance(direction, str) and direction.upper() in cls.__members__:
            return cls[direction.upper()]
        if isinstance(direction, cls) or (type(direction) is int and direction in (0, 1)):
            return cls(direction)
        raise ValueError(f"axis_direction must be increasing or decreasing, not {direction!r}")


class ReduceFunction(Enum):
    """What a reduction gives: the position of an extreme element, or its value."""

    ARGMAX = "argmax"
    ARGMIN = "argmin"
    MAX = "max"
    MIN = "min"

    @classmethod
    def of(cls, function: str | ReduceFunction) -> ReduceFunction:
        """Take a member or its name in any case.

        Raises
        ------
        ValueError
            If there is no such function; DirectML's others (SUM, AVERAGE, ...) are none.
        """
        if isinstance(function, cls):
            return function
        if isinstance(function, str) and function.upper() in cls.__members__:
            return cls[function.upper()]
        names = ", ".join(cls.__members__)
        raise ValueError(
            f"function must be one of {names}, not {getattr(function, 'name', function)}"
        )

    @property
    def gives_index(self) -> bool:
        """Whether the result is a position (ARGMAX, ARGMIN) and not a value."""
        return self in (ReduceFunction.ARGMAX, ReduceFunction.ARGMIN)

    @property
    def is_minimum(self) -> bool:
        """Whether the smallest element wins (ARGMIN, MIN)."""
        return self in (ReduceFunction.ARGMIN, ReduceFunction.MIN)


@total_ordering
class FeatureLevel(Enum):
    """DirectML feature level: each is a strict superset of the one before it.

    Examples
    --------
    >>> FeatureLevel.LEVEL_2_1 < FeatureLevel.of("3_0")
    True
    >>> str(FeatureLevel.LEVEL_6_4)
    '6_4'
    """

    LEVEL_1_0 = "1_0"
    LEVEL_2_0 = "2_0"
    LEVEL_2_1 = "2_1"
    LEVEL_3_0 = "3_0"
    LEVEL_3_1 = "3_1"
    LEVEL_4_0 = "4_0"
    LEVEL_4_1 = "4_1"
    LEVEL_5_0 = "5_0"
    LEVEL_5_1 = "5_1"
    LEVEL_5_2 = "5_2"
    LEVEL_6_0 = "6_0"
    LEVEL_6_1 = "6_1"
    LEVEL_6_2 = "6_2"
    LEVEL_6_3 = "6_3"
    LEVEL_6_4 = "6_4"

    @classmethod
    def of(cls, level: str | FeatureLevel) -> FeatureLevel:
        """Take a member or its text, such as ``"3_0"``.

        Raises
        ------
        ValueError
            If there is no such level.
        """
        if isinstance(level, cls):
            return level
        if level not in cls._value2member_map_:
            names = ", ".join(member.value for member in cls)
            raise ValueError(f"feature level must be one of {names}, not {level!r}")
        return cls(level)

    def __lt__(self, other: object) -> bool:
        """Compare by major, then minor number, which the text does as it stands."""
        if not isinstance(other, FeatureLevel):
            return NotImplemented
        return self.value < other.value

    def __str__(self) -> str:
        """Give the text, such as ``3_0``."""
        return self.value


_MEMBERS = {member.dtype: member for member in DataType}
_NAMES = {(member.dtype.kind, member.dtype.itemsize): member.value for member in DataType}


def _type_name(dtype: object) -> str:
    if isinstance(dtype, DataType):
        return dtype.value
    # NumPy reads None as float64, which nobody means who leaves a type out.
    if dtype is None:
        return "None"
    try:
        known = np.dtype(dtype)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except (TypeError, ValueError):
        return str(dtype)
    # The name of a type is slow to come by, and every call of an operator asks for one.
    return _NAMES.get((known.kind, known.itemsize)) or known.name


def index_dtype(index_type: DTypeLike | DataType, allowed: tuple[str, ...]) -> np.dtype:
    """Check the type of an index tensor and give it in native byte order.

    Raises
    ------
    TypeError
        If the type is not among the names in `allowed`.
    """
    name = _type_name(index_type)
    if name not in allowed:
        raise TypeError(f"index_type must be one of {', '.join(allowed)}, not {name}")
    return np.dtype(name)


def nan_mode(nan: str) -> str:
    """Check the NaN mode.

    Raises
    ------
    ValueError
        If it is neither ``"propagate"`` nor ``"ignore"``.
    """
    if nan not in ("propagate", "ignore"):
        raise ValueError(f"nan must be propagate or ignore, not {nan!r}")
    return nan
