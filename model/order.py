"""The one place that says which element beats which: ties, the two zeros, and NaN.

Two elements are equal, and the scan order decides, when neither beats the other. Numbers are
ordered as values, so +0 equals -0 and denormals count. Every NaN, of either sign and any payload,
is the same: under ``"propagate"`` it beats every number, under ``"ignore"`` every number beats it.
"""

from __future__ import annotations

import numpy as np

__all__ = ["bits_follow_value", "comparable", "from_key", "order_key"]


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
    bits = x.view(f"i{x.dtype.itemsize}")
    low, high = bits.min(), bits.max()
    infinity = _infinity(x.dtype)
    if low >= 0 and high <= infinity:
        return bits
    limits = np.iinfo(bits.dtype)
    # Floats are sign and magnitude; negating the magnitude of the negative ones orders them all
    # and gives both zeros the key 0. NaN has the magnitudes above infinity's.
    sign = bits >> np.array(8 * bits.itemsize - 1, bits.dtype)
    key = sign & bits.dtype.type(limits.max)
    key ^= bits
    key -= sign
    if high > infinity or _has_negative_nan(x):
        wins_by_greatest = (nan == "propagate") != minimum
        key[np.isnan(x)] = limits.max if wins_by_greatest else limits.min
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
    if x.dtype.kind == "f" and (
        x.dtype.itemsize == 2 or (nan == "ignore" and bool(np.isnan(x).any()))
    ):
        return order_key(x, nan=nan, minimum=minimum)
    return x


def bits_follow_value(x: np.ndarray) -> bool:
    """Tell whether equal elements of `x` have equal bits, so that a value needs no position.

    True for integers. For floats, only if no element is NaN or -0: then a maximum of values, or of
    keys, is exact to the bit.
    """
    if x.dtype.kind != "f":
        return True
    bits = x.view(f"i{x.dtype.itemsize}")
    low = bits.min()
    # -0 has the bits of the least integer, and NaN without a sign those above plus infinity's.
    return bool(
        low != np.iinfo(bits.dtype).min
        and bits.max() <= _infinity(x.dtype)
        and (low >= 0 or not _has_negative_nan(x))
    )


def at(x: np.ndarray, axis: int, index: slice | int) -> np.ndarray:
    """Index one axis of `x`: a view."""
    return x[(slice(None),) * axis + (index,)]


def _has_negative_nan(x: np.ndarray) -> bool:
    """As unsigned numbers, NaN with a sign is above minus infinity, and that above all others."""
    bits = x.view(f"u{x.dtype.itemsize}")
    return bool(bits.max() > np.array([-np.inf], x.dtype).view(bits.dtype)[0])


def _infinity(dtype: np.dtype) -> np.integer:
    """Bits of plus infinity: the magnitudes above it are NaN."""
    return np.array([np.inf], dtype).view(f"i{dtype.itemsize}")[0]
