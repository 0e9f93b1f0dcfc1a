"""The formats of the element types, against what NumPy knows about its own types."""

import numpy as np
import pytest
from strategies import FLOATS, TYPES

from extremum.model import DataType, ElementFormat
from extremum.model.types import FORMATS


@pytest.mark.parametrize("name", TYPES)
def test_formats_agree_with_numpy(name):
    data_type = DataType(name)
    element = data_type.format
    assert FORMATS[np.dtype(name)] is element
    assert element.width == 8 * np.dtype(name).itemsize
    assert (data_type.is_float, data_type.is_signed) == (name in FLOATS, name[0] != "u")
    if name in FLOATS:
        known = np.finfo(name)
        assert (element.exponent, element.mantissa) == (known.nexp, known.nmant)
        bits = np.array([element.infinity, element.sign], f"u{element.width // 8}").view(name)
        assert bits[0] == np.inf
        assert bits[1] == 0
        assert np.signbit(bits[1])
        assert data_type.lowest == -np.inf
        assert data_type.highest == np.inf
    else:
        assert (element.exponent, element.infinity) == (0, 0)
        assert data_type.lowest == np.iinfo(name).min
        assert data_type.highest == np.iinfo(name).max
    assert data_type.lowest.dtype == name


def test_a_format_fills_its_width():
    """The bits of sign, exponent and mantissa must add up, or the format is refused."""
    bfloat16 = ElementFormat(16, exponent=8, mantissa=7, signed=True)
    assert (bfloat16.infinity, bfloat16.lowest) == (0x7F80, 0xFF80)
    with pytest.raises(ValueError, match=r"^sign, exponent and mantissa must fill the width, not "):
        ElementFormat(16, exponent=8, mantissa=8, signed=True)
