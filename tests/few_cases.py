"""A fixture for tests of the random regression: lots of few and short cases."""

import pytest

from extremum.tb.regression import lots as lots_module


@pytest.fixture(name="few")
def few_cases(monkeypatch):
    """Make lots of two short cases each."""
    monkeypatch.setattr(lots_module, "LOT_CASES", {"native": 2})
    monkeypatch.setattr("extremum.tb.regression.draw.LONGEST", 2000)
    monkeypatch.setattr("extremum.tb.regression.draw.FEWEST", 500)
