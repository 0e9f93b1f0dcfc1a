"""A fixture for tests of the random regression: what its cases run on."""

import pytest

from extremum.tb.regression.run import Rig


@pytest.fixture(name="rig", scope="module")
def native_rig():
    """Simulate natively, and keep the simulations for the tests of a file."""
    with Rig("native") as rig:
        yield rig
