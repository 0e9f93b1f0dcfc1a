"""Whether evidence of earlier sources holds: the netlists, and the revisions that had the same."""

import json
from dataclasses import replace

import pytest
from amaranth.hdl import Signal

from extremum.hdl.axi import buffers
from extremum.tb import netlists
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.proofs import all_proofs
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


def test_upsets_speak_of_fast_and_small_cores():
    names = netlists.names_for_faults()
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


def test_a_proof_has_a_netlist_of_its_own(monkeypatch):
    """It has the widths of the proof, and its claims, so a change of either makes it another."""
    proofs = {proof.name: proof for proof in all_proofs() if isinstance(proof, Proof)}
    kept = json.loads(netlists.EVIDENCE.read_text())["netlists"]
    assert {name for name in kept if name.startswith("proof ")} == {f"proof {n}" for n in proofs}
    proof = proofs["buffer-output"]
    assert netlists.digest_of_proof(proof) == kept["proof buffer-output"]
    sound = buffers.OutputBuffer.elaborate

    def other(self, platform):
        m = sound(self, platform)
        m.d.comb += Signal(name="more").eq(self.i_valid)
        return m

    with monkeypatch.context() as patch:
        patch.setattr(buffers.OutputBuffer, "elaborate", other)
        assert netlists.digest_of_proof(proof) != kept["proof buffer-output"]
    claims = replace(proof, state=lambda p: (proof.state(p), p.claim("more", p.input("more"))))
    assert netlists.digest_of_proof(claims) != kept["proof buffer-output"]


def test_what_has_changed_is_told_until_it_is_accepted(tmp_path, monkeypatch, capsys):
    path = tmp_path / "netlists.json"
    monkeypatch.setattr(netlists, "EVIDENCE", path)
    found = {"x": "1", "y": "1"}
    monkeypatch.setattr(netlists, "digests", found.items)
    assert netlists.main([]) == 0
    first = path.read_text()
    found["y"] = "2"
    found["z"] = "1"
    for _ in range(2):
        assert netlists.main([]) == 1
        assert "y: the netlist has changed\nnothing is written: " in capsys.readouterr().out
        assert path.read_text() == first
    assert netlists.main(["--accept"]) == 0
    assert json.loads(path.read_text())["netlists"] == found
    assert netlists.main([]) == 0
    del found["x"]
    assert netlists.main([]) == 1
    told = capsys.readouterr().out
    assert "x: the netlist is gone" in told
    assert told.endswith("2 passed, 1 failed\n")
