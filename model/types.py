"""The vocabulary of the operators: element types, directions, functions and feature levels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property, total_ordering
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "FORMATS",
    "UINT32",
    "AxisDirection",
    "DataType",
    "ElementFormat",
    "FeatureLevel",
    "ReduceFunction",
    "index_dtype",
    "nan_mode",
]

UINT32 = np.dtype("uint32")
"""The index type that every operator accepts."""


@dataclass(frozen=True)
class ElementFormat:
    """How the bits of an element are divided into sign, exponent and mantissa.

    The fields lie in this order, the sign in the top bit. A format with an exponent is that of an
    IEEE-754 binary float: an exponent of all ones stands for infinity (mantissa 0) and NaN (any
    other mantissa). A format without an exponent is that of an integer, in two's complement if it
    is signed; all its bits but the sign count as mantissa.

    Attributes
    ----------
    width : int
        Number of bits.
    exponent : int
        Number of bits of the exponent; 0 for an integer.
    mantissa : int
        Number of stored bits of the mantissa.
    signed : bool
        Whether the top bit is a sign.

    Raises
    ------
    ValueError
        If the fields do not add up to the width.

    Examples
    --------
    >>> half = ElementFormat(width=16, exponent=5, mantissa=10, signed=True)
    >>> half.is_float, hex(half.infinity), hex(half.sign)
    (True, '0x7c00', '0x8000')
    """

    width: int
    exponent: int
    mantissa: int
    signed: bool

    def __post_init__(self) -> None:
        """Check that the fields fill the width."""
        if self.width != self.signed + self.exponent + self.mantissa:
            raise ValueError(f"sign, exponent and mantissa must fill the width, not {self}")

    @cached_property
    def is_float(self) -> bool:
        """Whether the format has infinities, NaN and a zero of each sign."""
        return self.exponent > 0

    @cached_property
    def sign(self) -> int:
        """The bits in which the sign alone is set; 0 if there is no sign."""
        return int(self.signed) << (self.width - 1)

    @cached_property
    def infinity(self) -> int:
        """The bits of positive infinity; every NaN has a greater magnitude.

        An integer format has no infinity, and gives 0.
        """
        return ((1 << self.exponent) - 1) << self.mantissa

    @cached_property
    def lowest(self) -> int:
        """The bits of the lowest value: minus infinity, or the lowest integer."""
        return self.sign | self.infinity

    @cached_property
    def highest(self) -> int:
        """The bits of the highest value: infinity, or the highest integer."""
        return self.infinity or (1 << self.mantissa) - 1


class DataType(Enum):
    """Element type of a tensor; the value is the name of the NumPy type.

    Every member is listed with its `ElementFormat`, which is all that the model and the gateware
    need to know about the bits. The functions and the gateware take every member. Which descriptor
    takes which type is told by `extremum.model.support` alone: a member that is added here is
    accepted by no descriptor until it is listed there.

    Attributes
    ----------
    format : ElementFormat
        Width, exponent, mantissa and sign of the element's bits.

    Examples
    --------
    >>> DataType.from_dtype(">f4")
    <DataType.FLOAT32: 'float32'>
    >>> DataType.INT8.dtype
    dtype('int8')
    >>> DataType.FLOAT16.format
    ElementFormat(width=16, exponent=5, mantissa=10, signed=True)
    """

    _value_: str
    format: ElementFormat

    FLOAT32 = "float32", ElementFormat(32, exponent=8, mantissa=23, signed=True)
    FLOAT16 = "float16", ElementFormat(16, exponent=5, mantissa=10, signed=True)
    INT64 = "int64", ElementFormat(64, exponent=0, mantissa=63, signed=True)
    INT32 = "int32", ElementFormat(32, exponent=0, mantissa=31, signed=True)
    INT16 = "int16", ElementFormat(16, exponent=0, mantissa=15, signed=True)
    INT8 = "int8", ElementFormat(8, exponent=0, mantissa=7, signed=True)
    UINT64 = "uint64", ElementFormat(64, exponent=0, mantissa=64, signed=False)
    UINT32 = "uint32", ElementFormat(32, exponent=0, mantissa=32, signed=False)
    UINT16 = "uint16", ElementFormat(16, exponent=0, mantissa=16, signed=False)
    UINT8 = "uint8", ElementFormat(8, exponent=0, mantissa=8, signed=False)

    def __new__(cls, name: str, format: ElementFormat) -> DataType:
        """Make a member from its name and format; the name alone becomes the value."""
        member = object.__new__(cls)
        member._value_ = name
        member.format = format
        return member

    @classmethod
    def from_dtype(cls, dtype: DTypeLike | DataType) -> DataType:
        """Find the member for anything that names a NumPy type; byte order does not matter.

        Raises
        ------
        TypeError
            If the type is none of the members.
        """
        # Every operator calls this, and nearly always with one of these types.
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
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type, in native byte order."""
        return np.dtype(self.value)

    @property
    def is_float(self) -> bool:
        """Whether the type has NaN, infinities and a zero of each sign."""
        return self.format.is_float

    @property
    def is_signed(self) -> bool:
        """Whether the type has negative values."""
        return self.format.signed

    @property
    def lowest(self) -> np.generic:
        """The lowest value of the type: minus infinity, or the lowest integer.

        This is the value of a pooling window that meets no element.
        """
        return self._element(self.format.lowest)

    @property
    def highest(self) -> np.generic:
        """The highest value of the type: infinity, or the highest integer."""
        return self._element(self.format.highest)

    def _element(self, bits: int) -> np.generic:
        return np.array([bits], f"u{self.format.width // 8}").view(self.dtype)[0]


class AxisDirection(IntEnum):
    """Which of several equal elements an argmin or argmax names.

    ``INCREASING`` names the first in row-major order, ``DECREASING`` the last. The numbers are
    those of DirectML's DML_AXIS_DIRECTION.

    Examples
    --------
    >>> AxisDirection.of("decreasing")
    <AxisDirection.DECREASING: 1>
    """

    INCREASING = 0
    DECREASING = 1

    @classmethod
    def of(cls, direction: str | int | np.integer[Any] | AxisDirection) -> AxisDirection:
        """Convert a member, its number, or its name in upper or lower case.

        Raises
        ------
        ValueError
            If there is no such direction.
        """
        if isinstance(direction, cls):
            return direction
        if isinstance(direction, str) and direction.upper() in cls.__members__:
            return cls[direction.upper()]
        is_number = isinstance(direction, np.integer) and not isinstance(direction, np.timedelta64)
        if (is_number or type(direction) is int) and direction in (0, 1):
            return cls(direction)
        raise ValueError(f"axis_direction must be increasing or decreasing, not {direction!r}")


class ReduceFunction(Enum):
    """What a reduction returns: the position of an extreme element, or its value.

    These are the four members of DML_REDUCE_FUNCTION that look for an extreme.
    """

    ARGMAX = "argmax"
    ARGMIN = "argmin"
    MAX = "max"
    MIN = "min"

    @classmethod
    def of(cls, function: str | ReduceFunction) -> ReduceFunction:
        """Convert a member, or its name in upper or lower case.

        Raises
        ------
        ValueError
            If it is none of the four. DML_REDUCE_FUNCTION has others (SUM, AVERAGE, ...), which
            this package does not compute.
        """
        if isinstance(function, cls):
            return function
        if isinstance(function, str) and function.upper() in cls.__members__:
            return cls[function.upper()]
        names = ", ".join(cls.__members__)
        other = _in_a_line(getattr(function, "name", function))
        raise ValueError(f"function must be one of {names}, not {other}")

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
    """A DML_FEATURE_LEVEL; each level supports whatever the one before it does.

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
        """Convert a member, or its text such as ``"3_0"``.

        Raises
        ------
        ValueError
            If there is no such level.
        """
        if isinstance(level, cls):
            return level
        if not isinstance(level, str) or level not in cls._value2member_map_:
            names = ", ".join(member.value for member in cls)
            raise ValueError(f"feature level must be one of {names}, not {level!r}")
        return cls(level)

    def __lt__(self, other: object) -> bool:
        """Compare the texts, which have one digit before and one after the underscore."""
        if not isinstance(other, FeatureLevel):
            return NotImplemented
        return self.value < other.value

    def __str__(self) -> str:
        """Return the text, such as ``3_0``."""
        return self.value


_MEMBERS = {member.dtype: member for member in DataType}
FORMATS = {member.dtype: member.format for member in DataType}
"""The format of each NumPy type in native byte order."""
# NumPy takes long to tell the name of a type, and `index_dtype` asks for one in every call.
_NAMES = {(member.dtype.kind, member.dtype.itemsize): member.value for member in DataType}


def _in_a_line(given: object) -> str:
    """Return what was given as a text of one line, for a message."""
    text = str(given)
    return text if text.isprintable() else repr(text)


def _type_name(dtype: object) -> str:
    if isinstance(dtype, DataType):
        return dtype.value
    # NumPy takes None for float64, but a caller who passes None has left the type out.
    if dtype is None:
        return "None"
    try:
        known = np.dtype(dtype)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except (TypeError, ValueError, SyntaxError):
        # NumPy parses a text with commas as Python, and lets its SyntaxError through.
        return _in_a_line(dtype)
    return _NAMES.get((known.kind, known.itemsize)) or known.name


def index_dtype(index_type: DTypeLike | DataType, allowed: tuple[str, ...]) -> np.dtype[Any]:
    """Check the type of an index tensor and return it in native byte order.

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
    if not isinstance(nan, str) or nan not in ("propagate", "ignore"):
        raise ValueError(f"nan must be propagate or ignore, not {nan!r}")
    return nan
