"""How many random examples the benches of `tb` try: never none."""

import pytest

from extremum.tb.bench import EXAMPLES, examples


@pytest.mark.parametrize(("wanted", "tried"), [("1", 1), ("13", 1), ("40", 3), ("400", 30)])
def test_some_are_tried_whatever_is_wanted(monkeypatch, wanted, tried):
    monkeypatch.setenv(EXAMPLES, wanted)
    assert examples(3) == tried


@pytest.mark.parametrize("wanted", ["0", "-3"])
def test_none_cannot_be_wanted(monkeypatch, wanted):
    monkeypatch.setenv(EXAMPLES, wanted)
    with pytest.raises(ValueError, match=f"must be at least 1, not {wanted}"):
        examples(3)
