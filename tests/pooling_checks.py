"""Checks of `max_pooling`: it warns of empty windows, and gives the bits of the reference."""

import warnings
from typing import Any

import numpy as np
from equal_bits import assert_equal_bits

from extremum.model import EmptyWindowWarning, Pooling, max_pooling, reference


def pool(x, count, **arguments) -> Any:
    """Pool, and check that there is one warning with the right count, or none if the count is 0."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = max_pooling(x, **arguments)
    assert [type(w.message) for w in caught] == [EmptyWindowWarning] * bool(count)
    for warning in caught:
        assert isinstance(warning.message, EmptyWindowWarning)
        assert warning.message.count == count
        assert warning.filename == __file__
    return result


def check_against_reference(x, geometry, layout, nan, index_type):
    plain = np.ascontiguousarray(x.astype(x.dtype.newbyteorder("=")))
    values, positions, empty = reference.pooling(plain, **geometry, layout=layout, nan=nan)
    before = x.tobytes()
    actual, indices = pool(
        x,
        empty,
        **geometry,
        return_indices=True,
        index_type=index_type,
        index_layout=layout,
        nan=nan,
    )
    assert_equal_bits(actual, values)
    assert_equal_bits(indices, reference.as_index(positions, index_type))
    alone = pool(x, empty, **geometry, nan=nan)
    assert_equal_bits(alone, values)
    assert alone.flags.c_contiguous
    assert x.tobytes() == before
    problem = Pooling.of(x.shape, x.dtype, **geometry, index_layout=layout)
    assert problem.output_sizes == values.shape
    assert problem.empty_windows == empty
    assert list(problem.index_weights) == reference.layout_weights(x.shape, layout)
