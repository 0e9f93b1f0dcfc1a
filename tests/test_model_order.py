"""The golden model's keys, which NumPy compares as the contract compares elements."""

import numpy as np
import pytest
from equal_bits import assert_equal_bits

from extremum.model.fast.order import (
    bits_follow_value,
    comparable,
    exact_key,
    from_exact_key,
    has_negative_nan,
    order_key,
)


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_keys_of_all_kinds_of_floats(name):
    """The keys of all half floats, and of single floats over the whole range, are in order."""
    bits = np.arange(2**16, dtype=np.uint32)
    if name == "float32":
        bits = np.concatenate([bits * 65537, bits << 16, bits])
    x = bits.astype(f"u{np.dtype(name).itemsize}").view(name)
    number = ~np.isnan(x)
    ordered = np.argsort(x[number].astype(np.float64), kind="stable")
    for minimum in (False, True):
        for nan in ("propagate", "ignore"):
            key = order_key(x, nan=nan, minimum=minimum).astype(np.int64)
            along = key[number][ordered]
            values = x[number][ordered].astype(np.float64)
            assert ((along[1:] > along[:-1]) == (values[1:] > values[:-1])).all()
            assert (along[1:] >= along[:-1]).all()
            wins_by_greatest = (nan == "propagate") != minimum
            assert (key[~number] == key[~number][0]).all()
            if wins_by_greatest:
                assert key[~number][0] > along[-1]
            else:
                assert key[~number][0] < along[0]
    plain = number & ~((x == 0) & np.signbit(x))
    assert bits_follow_value(x[plain])
    for odd in x[~plain]:
        assert not bits_follow_value(np.array([1, odd], x.dtype))


def test_exact_keys_of_all_half_floats():
    """They are ordered as the values, and the elements follow from them, with the signs of zeros.

    In one array all elements are positive, whose bits are their keys. In another, the only one with
    a sign is -0.
    """
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    positive = x[(x > 0) & ~np.isnan(x)]
    for some in (x[~np.isnan(x)], positive, np.append(positive, x[1 << 15]), x[:0]):
        key = exact_key(some)
        assert key.dtype == np.int16
        ordered = np.lexsort((~np.signbit(some), some.astype(np.float64)))
        assert (np.diff(key[ordered].astype(int)) > 0).all()
        assert_equal_bits(from_exact_key(key, some.dtype), some)


def test_integers_are_their_own_keys():
    x = np.array([1, 2], np.uint64)
    assert order_key(x) is x
    assert comparable(x, nan="ignore") is x
    assert exact_key(x) is x
    assert from_exact_key(x, x.dtype) is x
    assert bits_follow_value(x)


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_nan_with_a_sign_is_found_among_all_half_floats(name):
    """Infinities are none, and no NaN is overlooked, whatever its payload."""
    bits = np.arange(2**16, dtype=np.uint16).view(np.float16)
    x = bits.astype(name)
    is_one = np.isnan(x) & np.signbit(x)
    assert [has_negative_nan(element) for element in x.reshape(-1, 1)] == is_one.tolist()
    assert not has_negative_nan(x[~is_one])
    assert has_negative_nan(x)
