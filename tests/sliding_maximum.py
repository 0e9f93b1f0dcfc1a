"""The maximum of every window of one block, as a function."""

import numpy as np

from extremum.model.fast.maximum import SlidingMaximum


def slide_maximum(x, dimensions, maximum=None):
    """Return the maximum of every window over the last axes, a fresh array.

    `maximum` is the object that computes it; by default a new one.
    """
    lead = x.shape[: x.ndim - len(dimensions)]
    out = np.empty((*lead, *(dimension.outputs for dimension in dimensions)), x.dtype)
    maximum = maximum or SlidingMaximum(tuple(dimensions), x.shape, x.dtype)
    maximum.write(np.ascontiguousarray(x), out)
    return out
