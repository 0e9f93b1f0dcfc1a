"""The plots of the report: what is good looks good, and what is bad does not."""

import pytest

pytest.importorskip("matplotlib")

from extremum.tb.report import plots


def parts_of(monkeypatch, draw, evidence):
    """Return what is drawn beside each other, as labels with colours and lengths."""
    drawn = {}

    def stacked(axes, names, parts):
        drawn.update({label: (colour, list(lengths)) for label, colour, lengths in parts})

    monkeypatch.setattr(plots, "_stacked", stacked)
    draw(evidence)
    return drawn


def test_killed_mutants_look_good_and_new_survivors_bad(monkeypatch):
    block = {
        "mutants": 15, "killed": 5, "equivalent": 4, "explained": 3, "open": ["a", "b"],
        "surviving": ["c"],
    }  # fmt: skip
    drawn = parts_of(monkeypatch, plots.mutants, {"key": block})
    assert {label: lengths for label, (_, lengths) in drawn.items()} == {
        "killed": [5], "proved equivalent": [4], "explained": [3], "open": [2],
        "new survivors": [1],
    }  # fmt: skip
    assert drawn["killed"][0] == plots.GOOD
    assert drawn["new survivors"][0] == plots.BAD
    assert len({colour for colour, _ in drawn.values()}) == len(drawn)


@pytest.mark.parametrize(
    ("status", "bounded", "kind"),
    [("proved", False, 0), ("proved", True, 1), ("failed", False, 2), ("failed", True, 2)],
)
def test_a_proof_that_failed_is_drawn_as_one(status, bounded, kind):
    assert plots._kind({"status": status, "bounded": bounded}) == kind
