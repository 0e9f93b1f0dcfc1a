"""The one place that says which element beats which: ties, the two zeros, and NaN.

Two elements are equal, and the scan order decides, when neither beats the other. Numbers are
ordered as values, so +0 equals -0 and denormals count. Every NaN, of either sign and any payload,
is the same: under ``"propagate"`` it beats every number, under ``"ignore"`` every number beats it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

__all__ = [
    "bits_follow_value",
    "comparable",
    "from_key",
    "has_minus_zero",
    "has_nan",
    "highest",
    "lowest",
    "lowest_key",
    "order_key",
]

_SIGNED, _UNSIGNED = ({n: np.dtype(f"{kind}{n}") for n in (2, 4)} for kind in "iu")
"""Types of the bits of floats, by their size."""
_MINUS_ZERO = {n: -1 << 8 * n - 1 for n in (2, 4)}
"""Bits of -0 as an integer, by size: the least there is."""


def order_key(x: np.ndarray, *, nan: str = "propagate", minimum: bool = False) -> np.ndarray:
    """Map elements to integers that are ordered as the operators order the elements.

    Parameters
    ----------
    x : ndarray
        Any shape, one of the ten types, native byte order.
    nan : {"propagate", "ignore"}
        Whether NaN beats every number or none.
    minimum : bool
        Whether the smallest element wins. The winner of a minimum has the smallest key, the winner
        of a maximum the greatest; only the key of NaN depends on it.

    Returns
    -------
    ndarray
        `x` itself if it holds integers. Else signed integers of the same width, equal exactly
        where the elements are equal: a view of `x` if none of them is negative or NaN.

    Examples
    --------
    >>> order_key(np.array([-0.0, 0.0, -1e-45, np.nan], np.float32))
    array([         0,          0,         -1, 2147483647], dtype=int32)
    """
    if x.dtype.kind != "f":
        return x
    bits = x.view(_SIGNED[x.itemsize])
    greatest, (some_signs, some_nan) = highest(bits.dtype), _signs_and_nan(x)
    if not some_signs and not some_nan:
        return bits
    # Floats are sign and magnitude; negating the magnitude of the negative ones orders them all
    # and gives both zeros the key 0. NaN has the magnitudes above infinity's.
    sign = bits >> bits.dtype.type(8 * bits.itemsize - 1)
    key = sign & greatest
    key ^= bits
    key -= sign
    if some_nan:
        wins_by_greatest = (nan == "propagate") != minimum
        key[np.isnan(x)] = greatest if wins_by_greatest else lowest(bits.dtype)
    return key


def from_key(key: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Give back the elements from their keys, where the key says it all.

    The sign of a zero and the payload of a NaN are not in the key: 0 becomes +0, and a NaN becomes
    some NaN. `bits_follow_value` tells when neither occurs.

    Parameters
    ----------
    key : ndarray
        From `order_key` or `comparable`.
    dtype : dtype
        Type of the elements.

    Examples
    --------
    >>> x = np.array([-2.5, 0.0, np.inf], np.float16)
    >>> from_key(order_key(x), x.dtype)
    array([-2.5,  0. ,  inf], dtype=float16)
    """
    if key.dtype == dtype:
        return key
    if key.size and key.min() < 0:
        sign = key >> np.array(8 * key.itemsize - 1, key.dtype)
        key = key + sign
        sign &= np.iinfo(key.dtype).max
        key ^= sign
    return key.view(dtype)


def comparable(x: np.ndarray, *, nan: str = "propagate", minimum: bool = False) -> np.ndarray:
    """Give an array on which NumPy's argmax (argmin for a minimum) finds the winner.

    NumPy lets the first NaN win, as ``"propagate"`` does, so that `x` itself will do unless NaN has
    to lose. Half floats go by their key all the same: NumPy compares them one by one.
    """
    if x.dtype.kind == "f" and (x.dtype.itemsize == 2 or (nan == "ignore" and has_nan(x))):
        return order_key(x, nan=nan, minimum=minimum)
    return x


def bits_follow_value(x: np.ndarray) -> bool:
    """Tell whether equal elements of `x` have equal bits, so that a value needs no position.

    True for integers. For floats, only if no element is NaN or -0: then a maximum of values, or of
    keys, is exact to the bit.
    """
    return not (has_minus_zero(x) or has_nan(x))


def has_minus_zero(x: np.ndarray) -> bool:
    """Tell whether some element of `x` is -0."""
    if x.dtype.kind != "f":
        return False
    bits = x.view(_SIGNED[x.itemsize])
    # NumPy's argmin is faster than its min here.
    return bits.item(bits.argmin()) == _MINUS_ZERO[x.itemsize]


def has_nan(x: np.ndarray) -> bool:
    """Tell whether some element of `x` is NaN."""
    if x.dtype.kind != "f":
        return False
    # NumPy compares half floats one by one, their bits many at a time.
    return _signs_and_nan(x)[1] if x.itemsize == 2 else math.isnan(x.item(x.argmax()))


@lru_cache
def lowest(dtype: np.dtype) -> np.generic:
    """Give the identity of max: minus infinity, or the lowest integer."""
    return dtype.type(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min)


@lru_cache
def lowest_key(dtype: np.dtype) -> np.generic:
    """Give what `comparable` makes of the lowest number: any element beats it, or equals it."""
    return comparable(np.array([lowest(dtype)], dtype))[0]


@lru_cache
def highest(dtype: np.dtype) -> np.generic:
    """Give the identity of min: infinity, or the highest integer."""
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


def at(x: np.ndarray, axis: int, index: slice | int) -> np.ndarray:
    """Index one axis of `x`: a view."""
    return x[(slice(None),) * axis + (index,)]


def _signs_and_nan(x: np.ndarray) -> tuple[bool, bool]:
    """Tell whether some elements have a sign, and whether some are NaN."""
    signed, unsigned = x.view(_SIGNED[x.itemsize]), x.view(_UNSIGNED[x.itemsize])
    # NaN without a sign is above infinity, and with one, as an unsigned number, above minus
    # infinity, and that above all others.
    high, top = signed.item(signed.argmax()), unsigned.item(unsigned.argmax())
    return bool(high != top), bool(high > _infinity(x.dtype) or top > _infinity(x.dtype, -1, "u"))


@lru_cache
def _infinity(dtype: np.dtype, sign: int = 1, kind: str = "i") -> np.integer:
    """Bits of an infinity, as an integer: NaN has the magnitudes above it."""
    return np.array([sign * np.inf], dtype).view(f"{kind}{dtype.itemsize}")[0]
