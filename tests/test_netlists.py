"""Whether evidence of earlier sources holds: the netlists, and the revisions that had the same."""

import json

import pytest

from extremum.tb import netlists
from extremum.tb.regression.pool import target_named
from extremum.tb.regression.revision import revision

OLD, MIDDLE, NOW = ({"gateware": n, "core": f"{n}c"} for n in ("a", "b", "c"))


@pytest.fixture(name="present")
def present_revision():
    now = revision()
    return {"gateware": now.gateware, "core": now.core}


def test_a_revision_with_the_same_netlists_is_kept():
    before = {"revision": MIDDLE, "netlists": {"x": "1"}, "same": [OLD]}
    found = netlists.compared(before, {"x": "1", "new": "2"}, NOW)
    assert found == {"revision": NOW, "netlists": {"x": "1", "new": "2"}, "same": [OLD, MIDDLE]}
    assert netlists.compared(found, {"x": "1", "new": "2"}, NOW)["same"] == [OLD, MIDDLE]


@pytest.mark.parametrize("now", [{"x": "2"}, {}, {"y": "1"}])
def test_another_netlist_ends_the_line(now):
    before = {"revision": MIDDLE, "netlists": {"x": "1"}, "same": [OLD]}
    assert netlists.compared(before, now, NOW)["same"] == []


def test_only_what_is_told_of_the_present_sources_counts(tmp_path, present):
    assert netlists.same_revisions(tmp_path) == set()
    written = {"revision": present, "netlists": {}, "same": [OLD]}
    (tmp_path / "netlists.json").write_text(json.dumps(written))
    assert netlists.same_revisions(tmp_path) == {"a", "ac"}
    (tmp_path / "netlists.json").write_text(json.dumps(written | {"revision": NOW}))
    assert netlists.same_revisions(tmp_path) == set()


def test_a_netlist_is_told_by_its_core():
    """The digest is the same each time, and another for another core or with the block around."""
    core, other = (target_named(name).config for name in ("endless1", "small-endless1"))
    assert netlists.digest(core, "none") == netlists.digest(core, "none")
    assert len({netlists.digest(core, "none"), netlists.digest(core, "axi"),
                netlists.digest(other, "none")}) == 3  # fmt: skip
