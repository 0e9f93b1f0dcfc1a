"""Comparison of arrays bit for bit."""

import numpy as np


def assert_equal_bits(actual, expected):
    """Assert that two arrays have the same type, sizes and bits, also of NaNs and of zeros."""
    assert isinstance(actual, np.ndarray), type(actual)
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    bits = f"u{expected.dtype.itemsize}"
    a = np.ascontiguousarray(actual).view(bits)
    b = np.ascontiguousarray(expected).view(bits)
    wrong = np.argwhere(a != b)
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise AssertionError(
            f"{len(wrong)} of {a.size} differ, first at {place}: "
            f"{actual[place]} ({a[place]:#x}), expected {expected[place]} ({b[place]:#x})"
        )
