"""Keys: integers that NumPy compares as the contract compares the elements.

The contract, which `extremum.model.reference` writes out, compares numbers by value, so that +0
equals -0. All NaN are equal to each other, whatever their sign and payload; they beat every number
under ``"propagate"`` and lose to every number under ``"ignore"``. `order_key` maps elements to
integers of which all this is true, and the other functions tell when the keys are not needed.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from extremum.model.types import FORMATS, DataType, ElementFormat

__all__ = [
    "bits_follow_value",
    "comparable",
    "exact_key",
    "from_exact_key",
    "has_minus_zero",
    "has_nan",
    "has_negative_nan",
    "highest",
    "lowest",
    "lowest_key",
    "order_key",
]

_SIGNED, _UNSIGNED = (
    {width: np.dtype(f"{kind}{width // 8}") for width in (8, 16, 32, 64)} for kind in "iu"
)
"""The integer types by their width, to view the bits of floats."""


def order_key(x: np.ndarray, *, nan: str = "propagate", minimum: bool = False) -> np.ndarray:
    """Map elements to integers that are ordered as the contract orders the elements.

    Parameters
    ----------
    x : ndarray
        Any shape, of a type of `DataType`, in native byte order.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or loses to every number.
    minimum : bool
        Whether the smallest element wins. The winner of a minimum has the smallest key, the winner
        of a maximum the greatest; only the key of NaN depends on it.

    Returns
    -------
    ndarray
        `x` itself if it holds integers. Otherwise signed integers of the same width, which are
        equal exactly if the elements are equal: a view of `x` if no element is negative or NaN.

    Examples
    --------
    Both zeros have the key 0.

    >>> order_key(np.array([-0.0, 0.0, -1e-45, np.nan], np.float32))
    array([         0,          0,         -1, 2147483647], dtype=int32)
    """
    element = FORMATS[x.dtype]
    if not element.is_float:
        return x
    bits = x.view(_SIGNED[element.width])
    greatest, (some_signs, some_nan) = highest(bits.dtype), _signs_and_nan(x, element)
    if not some_signs and not some_nan:
        return bits
    # Floats are stored as sign and magnitude. Negating the magnitudes of the negative ones orders
    # all numbers, and maps both zeros to 0. The magnitudes of NaN are above infinity's.
    sign = bits >> bits.dtype.type(element.width - 1)
    key = sign & greatest
    key ^= bits
    key -= sign
    if some_nan:
        wins_by_greatest = (nan == "propagate") != minimum
        key[np.isnan(x)] = greatest if wins_by_greatest else lowest(bits.dtype)
    return key


def exact_key(x: np.ndarray) -> np.ndarray:
    """Map elements to what NumPy compares many at a time, if no element is NaN with its sign set.

    The keys are ordered as the elements, but a zero with a sign comes before one without, and NaN
    above infinity. So where equal elements have equal bits, which `bits_follow_value` tells, each
    element follows from its key.

    Parameters
    ----------
    x : ndarray
        Any shape, of a type of `DataType`, in native byte order.

    Returns
    -------
    ndarray
        Signed integers of the same width if `x` holds half floats: a view of `x` if none is
        negative. Otherwise `x` itself.

    Examples
    --------
    >>> exact_key(np.array([-6e-8, -0.0, 0.0, 6e-8], np.float16))
    array([-2, -1,  0,  1], dtype=int16)
    """
    element = FORMATS[x.dtype]
    return _turned(x.view(np.int16)) if element.is_float and element.width == 16 else x


def from_exact_key(key: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the elements, of type `dtype`, that have these keys.

    Examples
    --------
    >>> x = np.array([-2.5, -0.0, np.inf], np.float16)
    >>> from_exact_key(exact_key(x), x.dtype)
    array([-2.5, -0. ,  inf], dtype=float16)
    """
    return key if key.dtype == dtype else _turned(key).view(dtype)


def _turned(bits: np.ndarray) -> np.ndarray:
    """Reverse the order of the negative integers, which for bits of floats is the wrong way round.

    Twice gives the same again.
    """
    if not bits.size or bits.item(bits.argmin()) >= 0:
        return bits
    turned = bits >> bits.dtype.type(8 * bits.itemsize - 1)
    turned &= highest(bits.dtype)
    turned ^= bits
    return turned


def comparable(x: np.ndarray, *, nan: str = "propagate", minimum: bool = False) -> np.ndarray:
    """Return an array in which NumPy's argmax, or argmin for a minimum, finds the winner.

    NumPy's functions return the first NaN, as ``"propagate"`` demands, so `x` itself serves unless
    NaN must lose. Half floats are always mapped to keys, because NumPy compares them one at a time
    and integers many at a time.
    """
    element = FORMATS[x.dtype]
    if element.is_float and (element.width == 16 or (nan == "ignore" and has_nan(x))):
        return order_key(x, nan=nan, minimum=minimum)
    return x


def bits_follow_value(x: np.ndarray) -> bool:
    """Tell whether equal elements of `x` have equal bits.

    This holds for integers, and for floats if no element is NaN or -0. The greatest value is then
    exact to the bit, whichever of several equal elements it comes from.
    """
    return not (has_minus_zero(x) or has_nan(x))


def has_minus_zero(x: np.ndarray) -> bool:
    """Tell whether some element of `x` is -0."""
    element = FORMATS[x.dtype]
    if not element.is_float:
        return False
    # The bits of -0 are those of the lowest signed integer. NumPy's argmin is faster than its min.
    bits = x.view(_SIGNED[element.width])
    return bits.item(bits.argmin()) == -element.sign


def has_nan(x: np.ndarray) -> bool:
    """Tell whether some element of `x` is NaN."""
    element = FORMATS[x.dtype]
    if not element.is_float:
        return False
    if element.width == 16:
        # NumPy compares half floats one at a time, but their bits many at a time.
        return _signs_and_nan(x, element)[1]
    return math.isnan(x.item(x.argmax()))


def has_negative_nan(x: np.ndarray) -> bool:
    """Tell whether some element of `x`, which holds floats, is NaN with its sign set."""
    # Taken as unsigned integers, only such NaN are greater than minus infinity.
    element = FORMATS[x.dtype]
    bits = x.view(_UNSIGNED[element.width])
    return bits.item(bits.argmax()) > element.lowest


@lru_cache
def lowest(dtype: np.dtype) -> np.generic:
    """Return the identity of max: minus infinity, or the lowest integer."""
    return DataType.from_dtype(dtype).lowest


@lru_cache
def lowest_key(dtype: np.dtype) -> np.generic:
    """Return the exact key of the lowest number, which every element beats or equals."""
    return exact_key(np.array([lowest(dtype)], dtype))[0]


@lru_cache
def highest(dtype: np.dtype) -> np.generic:
    """Return the identity of min: infinity, or the highest integer."""
    return DataType.from_dtype(dtype).highest


def _signs_and_nan(x: np.ndarray, element: ElementFormat) -> tuple[bool, bool]:
    """Tell whether some elements have their sign set, and whether some are NaN.

    Taken as signed integers, only NaN without a sign is greater than infinity. Taken as unsigned
    integers, only NaN with a sign is greater than minus infinity, and all elements with a sign are
    greater than all without.
    """
    signed, unsigned = x.view(_SIGNED[element.width]), x.view(_UNSIGNED[element.width])
    high, top = signed.item(signed.argmax()), unsigned.item(unsigned.argmax())
    return high != top, high > element.infinity or top > element.lowest
