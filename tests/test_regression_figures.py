"""What the regression counts: seeds of lots, cases, figures, bins, and what is told of them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from extremum.tb.coverage import POINTS
from extremum.tb.regression import evidence
from extremum.tb.regression.database import Database
from extremum.tb.regression.lots import LOT_CASES, Lot, LotResult
from extremum.tb.regression.pool import CORES_MOST, TARGETS
from extremum.tb.regression.random_cores import random_target, seeds_of
from extremum.tb.regression.revision import Revision
from extremum.tb.regression.work import Figures


def test_seeds_of_lots():
    """They tell their core, and no two lots have one in common."""
    cases = LOT_CASES["native"]
    first, second = Lot("native", 5, 0), Lot("native", 5, 1)
    assert first.seeds == [5 + CORES_MOST * number for number in range(cases)]
    assert second.seeds == [5 + CORES_MOST * (cases + number) for number in range(cases)]
    assert second.target is TARGETS[5]
    for number in (0, 1, 6):
        drawn = Lot("native", -1 - number, 0)
        assert drawn.is_random
        assert drawn.seeds == seeds_of(number)[:cases]
        assert drawn.target == random_target(number)


def test_cores_drawn_at_random_are_not_drawn_again(tmp_path):
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    number = database.begin(0, "none", {})
    lots = {Lot("native", core, of_core) for core, of_core in ((0, 3), (-1, 0), (-2, 0), (-8, 0))}
    for lot in lots:
        assert database.add(number, lot, LotResult(Figures(cases=1), {}))
    assert database.done() == lots
    database.close()


def test_cases_with_a_difference_count_as_cases(tmp_path):
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    number = database.begin(0, "none", {})
    figures = Figures(cases=6, jobs=50, clocks=9000, beats=7000)
    result = LotResult(figures, {}, [(0, "wrong"), (64, "wrong"), (128, "wrong")], 7.0)
    assert database.add(number, Lot("native", 0, 0), result)
    found = database.figures()["native"]
    assert (found["cases"], found["differences"]) == (9, 3)
    assert [found[name] for name in ("jobs", "clocks", "beats")] == [50, 9000, 7000]
    database.end(number, 2.0)
    told = evidence.evidence(database)
    assert told["total"] == {
        "cases": 9, "jobs": 50, "clocks": 9000, "beats": 7000, "differences": 3, "lots_retried": 0,
    }  # fmt: skip
    of_backend = told["backends"]["native"]
    assert of_backend["seconds"] == 7
    assert of_backend["cases_per_second_of_a_worker"] == 1.29
    assert of_backend["beats_per_second_of_a_worker"] == 1000
    (done,) = told["passes"]
    assert (done["seconds"], done["cases_per_second"], done["beats_per_second"]) == (2, 4.5, 3500)
    database.close()


def test_lots_that_took_no_time(tmp_path):
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    number = database.begin(0, "none", {})
    assert database.add(number, Lot("native", 0, 0), LotResult(Figures(cases=6, beats=90), {}))
    told = evidence.evidence(database)["backends"]["native"]
    assert told["seconds"] == 0
    assert told["cases_per_second_of_a_worker"] == 6
    assert told["beats_per_second_of_a_worker"] == 90
    database.close()


def test_a_pass_that_was_killed_has_no_rates(tmp_path):
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    database.begin(0, "none", {"python": "3"})
    (done,) = evidence.evidence(database)["passes"]
    rates = ("seconds", "cases_per_second", "beats_per_second")
    assert [done[name] for name in rates] == [None] * 3
    assert done["versions"] == {"python": "3"}
    database.close()


def test_bins_that_were_met_and_those_that_cannot_be(tmp_path):
    """A bin that was counted and is none of the bins, as of another version, is not missing."""
    database = Database(tmp_path / "lots", Revision("gateware", "bench", "core"))
    number = database.begin(0, "none", {})
    point = next(point for point in POINTS if len(set(point.reasons.values())) < len(point.reasons))
    met, *others = [f"{point.name}: {', '.join(places)}" for places in point.bins]
    result = LotResult(Figures(), {met: 3, "no bin": 1, others[0]: 0})
    assert database.add(number, Lot("native", 0, 0), result)
    missing = evidence.missing(database)
    assert met not in missing
    assert "no bin" not in missing
    assert set(others) < set(missing)
    told = evidence.evidence(database)["coverage"]
    assert told["met"] == 1
    assert told["bins"] == 1 + len(missing)
    shown = told["points"][point.name]
    assert shown["met"] == 1
    assert shown["impossible"] == Counter(point.reasons.values())
    database.close()


def test_versions_of_what_is_not_installed(monkeypatch):
    monkeypatch.setattr(evidence, "PACKAGES", ("numpy", "no-package-of-this-name"))
    told = evidence.versions()
    assert told["numpy"] == np.__version__
    assert told["no-package-of-this-name"] == "none"


def test_a_database_in_a_folder_that_is_missing(tmp_path):
    database = Database(tmp_path / "no" / "such" / "lots", Revision("gateware", "bench", "core"))
    assert database.figures() == {}
    database.close()


def test_evidence_of_other_sources_holds_nothing_of_these(tmp_path):
    path = tmp_path / "evidence.json"
    revision = Revision("gateware", "bench", "core")
    database = Database(tmp_path / "lots", revision)
    number = database.begin(0, "none", {})
    assert database.add(number, Lot("native", 0, 0), LotResult(Figures(cases=6), {}))
    path.write_text(json.dumps(evidence.evidence(database)))
    database.close()
    assert evidence.amounts(path, revision) == {"cases": 6, "differences": 0}
    other = Revision("gateware", "other", "core")
    assert evidence.amounts(path, other) == {"cases": 0, "differences": 0}
