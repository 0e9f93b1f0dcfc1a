"""Tensors for the regression: many ties, extremes, every kind of NaN, at the price of NumPy.

Uniform random data hardly ever tie, so most fills draw from a few elements that reveal a wrong
order. A fill is repeatable from its name, its seed, the type and the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from extremum.model import DataType

Bits = np.ndarray
"""Elements as unsigned integers of their width."""


def landmarks(data_type: DataType) -> dict[str, tuple[int, ...]]:
    """Return the bit patterns of each class of values that a type has, by the name of the class.

    Floats: both zeros, infinities and the ends of the ranges of denormal and of normal numbers, and
    NaN of both signs, quiet and signalling, with the least and the greatest payload. Integers: the
    ends of the range, and what lies around zero and around the middle of the bit patterns.
    """
    form = data_type.format
    top = 1 << form.width - 1
    if not form.is_float:
        low, high = (top, top - 1) if form.signed else (0, 2 * top - 1)
        mask = 2 * top - 1
        half = 1 << form.width // 2
        return {
            "lowest": (low,),
            "above the lowest": (low + 1 & mask,),
            "below the highest": (high - 1 & mask,),
            "highest": (high,),
            "zero": (0,) if form.signed else (),
            "around the middle": (mask, 1) if form.signed else (top - 1, top, top + 1),
            "other": (half, half - 1, half + 1, 3 * half // 4 + 2),
        }
    infinity = ((1 << form.exponent) - 1) << form.mantissa
    quiet = infinity | 1 << form.mantissa - 1
    one = infinity >> 1 & infinity
    positive = {
        "zero": (0,),
        "denormal": (1, 2, (1 << form.mantissa) - 1),
        "least normal": (1 << form.mantissa,),
        "other": (one, one + 1),
        "greatest normal": (infinity - 1,),
        "infinity": (infinity,),
        "signalling NaN": (infinity + 1, quiet - 1),
        "quiet NaN": (quiet, quiet + 5, top - 1),
    }
    return {
        f"{sign}{name}": tuple(bits | flag for bits in patterns)
        for sign, flag in (("+", 0), ("-", top))
        for name, patterns in positive.items()
    }


def classes(x: np.ndarray) -> dict[str, np.ndarray]:
    """Return for each class of :func:`landmarks` which elements belong to it."""
    data_type = DataType.from_dtype(x.dtype)
    form = data_type.format
    bits = np.ascontiguousarray(x).view(f"u{x.itemsize}")
    found: dict[str, np.ndarray] = {}
    if not form.is_float:
        rest = np.ones(x.shape, bool)
        for name, patterns in landmarks(data_type).items():
            if name != "other" and patterns:
                found[name] = np.logical_or.reduce([bits == pattern for pattern in patterns])
                rest &= ~found[name]
        return found | {"other": rest}
    top, infinity = 1 << form.width - 1, ((1 << form.exponent) - 1) << form.mantissa
    quiet, least = infinity | 1 << form.mantissa - 1, 1 << form.mantissa
    size = bits & bits.dtype.type(top - 1)
    ranges = {
        "zero": size == 0,
        "denormal": (size > 0) & (size < least),
        "least normal": size == least,
        "other": (size > least) & (size < infinity - 1),
        "greatest normal": size == infinity - 1,
        "infinity": size == infinity,
        "signalling NaN": (size > infinity) & (size < quiet),
        "quiet NaN": size >= quiet,
    }
    minus = bits >= top
    for name, inside in ranges.items():
        found[f"+{name}"], found[f"-{name}"] = inside & ~minus, inside & minus
    return found


def _specials(data_type: DataType) -> np.ndarray:
    patterns = [bits for group in landmarks(data_type).values() for bits in group]
    return np.array(patterns, f"u{data_type.dtype.itemsize}")


def _any_bits(rng: np.random.Generator, dtype: np.dtype, count: int) -> Bits:
    raw = rng.bytes(count * dtype.itemsize)
    return np.frombuffer(raw, f"u{dtype.itemsize}").copy()


def _few(rng: np.random.Generator, data_type: DataType, count: int) -> Bits:
    """A few elements, often with one that differs from another in one bit."""
    specials = _specials(data_type)
    alphabet = rng.choice(specials, rng.integers(1, 5))
    if rng.random() < 0.3:
        alphabet = np.append(alphabet, _any_bits(rng, data_type.dtype, 1))
    if rng.random() < 0.5:
        flip = specials.dtype.type(1 << int(rng.integers(data_type.format.width)))
        alphabet = np.append(alphabet, alphabet[0] ^ flip)
    return alphabet[rng.integers(0, len(alphabet), count, np.uint8)]


def _specials_alone(rng: np.random.Generator, data_type: DataType, count: int) -> Bits:
    specials = _specials(data_type)
    return specials[rng.integers(0, len(specials), count, np.uint8)]


def _random_bits(rng: np.random.Generator, data_type: DataType, count: int) -> Bits:
    return _any_bits(rng, data_type.dtype, count)


def _same(rng: np.random.Generator, data_type: DataType, count: int) -> Bits:
    return np.full(count, rng.choice(_specials(data_type)))


def _sparse(rng: np.random.Generator, data_type: DataType, count: int) -> Bits:
    """One element almost everywhere, another one here and there: winners and ties far apart."""
    usual, rare = rng.choice(_specials(data_type), 2)
    share = rng.choice((1 / 4, 1 / 16, 1 / 128))
    return np.where(rng.random(count, np.float32) < share, rare, usual)


def _ramp(rng: np.random.Generator, data_type: DataType, count: int) -> Bits:
    """Each element beats the one before it, or loses to it: the winner changes all the time."""
    step = int(rng.choice((1, 3, 255, 257)))
    start = int(rng.integers(1 << 16))
    rise = (np.arange(count, dtype=np.uint64) * np.uint64(step) + np.uint64(start)).astype(
        f"u{data_type.dtype.itemsize}"
    )
    return rise if rng.random() < 0.5 else ~rise


def _zeros(rng: np.random.Generator, data_type: DataType, count: int) -> Bits:
    """Both zeros of a float, which tie; an integer's zero and its neighbour."""
    top = data_type.format.width - 1 if data_type.format.is_float else 0
    return rng.integers(0, 2, count, np.uint8).astype(f"u{data_type.dtype.itemsize}") << top


def _nans(rng: np.random.Generator, data_type: DataType, count: int) -> Bits:
    """NaN of many payloads, all of which tie, and some other elements among them."""
    if not data_type.format.is_float:
        return _few(rng, data_type, count)
    marks = landmarks(data_type)
    nans = [bits for name, group in marks.items() if "NaN" in name for bits in group]
    others = rng.choice(_specials(data_type), 3)
    alphabet = np.concatenate([np.array(nans, others.dtype), others[: rng.integers(0, 4)]])
    return alphabet[rng.integers(0, len(alphabet), count, np.uint8)]


FILLS: dict[str, Callable[[np.random.Generator, DataType, int], Bits]] = {
    "few": _few,
    "specials": _specials_alone,
    "bits": _random_bits,
    "same": _same,
    "sparse": _sparse,
    "ramp": _ramp,
    "zeros": _zeros,
    "nans": _nans,
}
"""The fills by name: each gives a number of elements of a type."""


def tensor(fill: str, seed: int, data_type: DataType, sizes: tuple[int, ...]) -> np.ndarray:
    """Return a tensor of a type and sizes, filled by one of :data:`FILLS`."""
    rng = np.random.default_rng(seed)
    bits = FILLS[fill](rng, data_type, math.prod(sizes))
    return bits.view(data_type.dtype).reshape(sizes)
