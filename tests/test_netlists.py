"""Whether evidence of earlier sources holds: the netlists, and the revisions that had the same."""

import json

import pytest

from extremum.tb import netlists
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.revision import revision

OLD, MIDDLE, NOW, LATER = ({"gateware": n, "core": f"{n}c"} for n in ("a", "b", "c", "d"))


@pytest.fixture(name="present")
def present_revision():
    now = revision()
    return {"gateware": now.gateware, "core": now.core}


def earlier(revision, *names, model="m"):
    return {"revision": revision, "model": model, "same": list(names)}


def test_what_has_the_same_netlist_is_kept():
    before = {
        "revision": MIDDLE,
        "model": "n",
        "netlists": {"x": "1", "y": "1", "z": "1"},
        "earlier": [earlier(OLD, "x", "y")],
    }
    now = {"x": "1", "y": "2", "z": "1", "new": "1"}
    found = netlists.compared(before, now, NOW, "p")
    kept = [earlier(OLD, "x"), earlier(MIDDLE, "x", "z", model="n")]
    assert found == {"revision": NOW, "model": "p", "netlists": now, "earlier": kept}
    assert netlists.compared(found, now, NOW, "p") == found
    # A netlist that comes back is that of a revision in between, but no longer of those before.
    back = netlists.compared(found, now | {"y": "1"}, LATER, "p")["earlier"]
    assert back == [*kept, earlier(NOW, "x", "z", "new", model="p")]


@pytest.mark.parametrize("now", [{"x": "2"}, {}, {"y": "1"}])
def test_other_netlists_end_the_line(now):
    before = {"revision": MIDDLE, "netlists": {"x": "1"}, "earlier": [earlier(OLD, "x")]}
    assert netlists.compared(before, now, NOW, "m")["earlier"] == []
    first = {"revision": NOW, "model": "m", "netlists": now, "earlier": []}
    assert netlists.compared({}, now, NOW, "m") == first


def test_only_what_is_told_of_the_present_sources_counts(tmp_path, present):
    assert netlists.earlier_revisions(tmp_path) == {}
    written = {"revision": present, "netlists": {}, "earlier": [earlier(OLD, "x")]}
    (tmp_path / "netlists.json").write_text(json.dumps(written))
    assert netlists.earlier_revisions(tmp_path) == {"a": {"x"}, "ac": {"x"}}
    (tmp_path / "netlists.json").write_text(json.dumps(written | {"revision": NOW}))
    assert netlists.earlier_revisions(tmp_path) == {}


def test_what_was_held_against_another_golden_model_counts_no_more(tmp_path, present):
    """And what does not tell of which model it is neither."""
    now = netlists.golden_model()
    untold = {"revision": LATER, "same": ["w"]}
    kept = [earlier(OLD, "x"), earlier(MIDDLE, "y", model=now), untold]
    written = {"revision": present, "model": now, "netlists": {}, "earlier": kept}
    (tmp_path / "netlists.json").write_text(json.dumps(written))
    assert netlists.earlier_revisions(tmp_path, with_model=True) == {"b": {"y"}, "bc": {"y"}}
    assert netlists.earlier_revisions(tmp_path).keys() == {"a", "ac", "b", "bc", "d", "dc"}


def test_proofs_speak_of_fast_and_small_cores():
    names = netlists.proved()
    assert {"every_type", "mutated rows"} <= names
    assert "mutated small.rows" not in names
    assert "small-pool2" in names
    assert not any("balanced-" in name for name in names)
    assert names <= set(json.loads(netlists.EVIDENCE.read_text())["netlists"])


def test_a_netlist_is_told_by_its_core():
    """The digest is the same each time, and another for another core or with the block around."""
    core, other = (target_named(name).config for name in ("endless1", "small-endless1"))
    assert netlists.digest(core, "none") == netlists.digest(core, "none")
    assert len({netlists.digest(core, "none"), netlists.digest(core, "axi"),
                netlists.digest(other, "none")}) == 3  # fmt: skip
