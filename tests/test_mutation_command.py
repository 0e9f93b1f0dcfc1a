"""``python -m extremum.tb.mutation``: what becomes of survivors and of the evidence of before."""

import pytest

from extremum.tb.mutation import __main__ as command

LIVED = "key.py:7 an adder: inv of A[0]"


@pytest.fixture
def written(monkeypatch):
    """What the command lists as open, and what it writes, where each block has one survivor.

    The evidence of `key` is of 900 mutants, that of `fold` of 100.
    """
    before = {"gateware": {"key": {"asked": 900}, "fold": {"asked": 100}}}
    written = {"listed": [], "evidence": []}

    def run(blocks, **_):
        outcome = {"mutants": 9, "killed": 6, "equivalent": 1, "explained": 1, "open": []}
        return {block: outcome | {"surviving": [LIVED]} for block in blocks}

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(command, "_read", lambda: before)
    monkeypatch.setattr(command, "_write", written["evidence"].append)
    monkeypatch.setattr(command, "accept", lambda *listed: written["listed"].append(listed))
    monkeypatch.setattr(command, "refuse_unwritable", lambda *_: None)
    monkeypatch.setattr(command, "open_survivors", lambda *_: set())
    return written


def run(monkeypatch, *arguments):
    """Run the command; return its exit status."""
    monkeypatch.setattr("sys.argv", ["mutation", *arguments])
    return command.main()


def test_new_survivors_fail(written, monkeypatch, capsys):
    assert run(monkeypatch, "key", "fold") == 1
    assert written == {"listed": [], "evidence": []}
    told = capsys.readouterr().out
    assert told.count(f"    survives: {LIVED}\n") == 2
    assert told.endswith("0 passed, 2 failed\n")


def test_survivors_are_accepted_but_for_those_of_evidence_that_stays(written, monkeypatch, capsys):
    """Those of `key` are of a smaller sample than its evidence is, and stay new ones."""
    assert run(monkeypatch, "key", "fold", "--accept") == 1
    assert written["listed"] == [({"fold": [LIVED]},)]
    (evidence,) = written["evidence"]
    assert {block: (told["open"], told["surviving"]) for block, told in evidence.items()} == {
        "fold": ([LIVED], [])
    }
    told = capsys.readouterr().out
    assert "the evidence about mutants of key stays: it is of 900, and this run is of 500" in told
    assert told.endswith("1 passed, 1 failed\n")


def test_a_larger_sample_replaces_the_evidence(written, monkeypatch, capsys):
    assert run(monkeypatch, "key", "--accept", "--mutants", "900") == 0
    assert [set(evidence) for evidence in written["evidence"]] == [{"key"}]
    assert "stays" not in capsys.readouterr().out


def test_the_quick_form_accepts_without_evidence(written, monkeypatch):
    assert run(monkeypatch, "key", "--quick", "--accept") == 0
    assert written == {"listed": [({"key": [LIVED]}, command.QUICK)], "evidence": []}


def test_what_the_quick_form_lists_must_live(written, monkeypatch, capsys):
    """Its sample is the same in each run."""
    listed = {f"key: {LIVED}", "key: gone", "fold: of another block"}
    monkeypatch.setattr(command, "open_survivors", lambda *_: listed)
    assert run(monkeypatch, "key", "--quick", "--accept") == 1
    assert capsys.readouterr().out.count("does not survive") == 1


def test_mutants_of_another_netlist_are_not_tried_again(monkeypatch):
    before = {"open": [], "surviving": [], "revision": "0" * 12}
    monkeypatch.setattr(command, "_is_present", lambda block, digest: True)
    assert command._those_that_lived("key", [], before) == []
    monkeypatch.setattr(command, "_is_present", lambda block, digest: False)
    with pytest.raises(SystemExit, match="mutate key anew, without --again"):
        command._those_that_lived("key", [], before)
