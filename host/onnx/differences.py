"""How outputs of a network differ: tensors of any type, text, sequences and maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from extremum.host.comparison import Difference, first_difference

__all__ = ["output_difference"]


def output_difference(name: str, expected: Any, got: Any) -> Difference | None:
    """Return the first difference of two outputs, or None. Numbers are compared by their bits.

    Parameters
    ----------
    name
        The output; an element of a sequence or of a map is named ``name[key]``.
    expected, got
        The output as it should be, and as it is: arrays, or lists, dictionaries and None, as
        `extremum.onnx.values.as_python` gives them.
    """
    if isinstance(expected, list | dict) and type(expected) is type(got):
        keys = range(len(expected)) if isinstance(expected, list) else expected
        same = len(expected) == len(got) if isinstance(got, list) else set(expected) == set(got)
        if same:
            pairs = (output_difference(f"{name}[{k}]", expected[k], got[k]) for k in keys)
            return next((found for found in pairs if found is not None), None)
        return _one(name, _outline(expected), _outline(got))
    a, b = np.asarray(expected), np.asarray(got)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return _one(name, _outline(a), _outline(b))
    if a.dtype.kind not in "OU":
        return first_difference(name, a, b)
    differs = np.asarray(a != b, bool)
    count = int(np.count_nonzero(differs))
    if not count:
        return None
    first = tuple(int(c) for c in np.argwhere(differs)[0])
    return Difference(name, first, np.str_(a[first]), np.str_(b[first]), count, a.size)


def _one(name: str, expected: str, got: str) -> Difference:
    """Return a difference of two outputs whose elements cannot be compared one by one."""
    return Difference(name, (), np.str_(expected), np.str_(got), 1, 1)


def _outline(x: Any) -> str:
    """Return type and sizes of an output as text."""
    if isinstance(x, np.ndarray):
        return f"{x.dtype} {x.shape}"
    return f"{type(x).__name__} of {len(x)}"
