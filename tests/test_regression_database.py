"""The database of the regression: which results count for the present gateware and bench."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from extremum.tb.regression.database import Database
from extremum.tb.regression.lots import Lot, close_rigs, run_lot
from extremum.tb.regression.pool import CORES_MOST, TARGETS, target_of
from extremum.tb.regression.revision import Revision, revision

pytest_plugins = ["few_cases"]


@pytest.fixture(autouse=True)
def own_simulations():
    """Keep the simulations of a test from the next one."""
    close_rigs()
    yield
    close_rigs()


@pytest.mark.usefixtures("few")
def test_earlier_results_count_where_the_netlists_are_the_same(tmp_path):
    """Figures count core by core; bins, which are not told by core, if the whole revision does."""
    path, result = tmp_path / "results.sqlite", run_lot(Lot("native", 0, 0))
    for gateware, cores in (("a", (0,)), ("b", (0, 1)), ("c", (1,))):
        database = Database(path, Revision(gateware, "bench", "core"))
        number = database.begin(0, "none", {})
        for core in cores:
            assert database.add(number, Lot("native", core, 0), result)
        database.close()
    names = TARGETS[0].name, TARGETS[1].name
    for earlier, counted, lots_counted, whole in (
        ({}, ["now"], 0, 0),
        ({"a": names, "b": names[:1], "ac": names}, ["now", "a", "b"], 2, 1),
        ({"a": names[1:], "b": names, "now": names}, ["now", "b"], 2, 2),
        ({"b": names[1:], "c": names[:1]}, ["now", "b"], 1, 0),
    ):
        database = Database(path, Revision("now", "bench", "core"), earlier)
        assert database.counted() == counted
        figures, bins = database.figures(), database.bins()
        assert figures.get("native", {"cases": 0})["cases"] == lots_counted * result.figures.cases
        assert bins == {name: whole * count for name, count in result.bins.items() if whole}
        assert database.done() == set()
        database.close()


@pytest.mark.usefixtures("few")
def test_a_database_of_an_earlier_version_is_continued(tmp_path):
    """Its bins, which are of no known bench, count for nothing."""
    path = tmp_path / "results.sqlite"
    with closing(sqlite3.connect(path)) as earlier:
        earlier.execute("create table bins (gateware text, backend text, bin text, count integer)")
        earlier.execute("insert into bins values (?, 'native', 'a: b', 3)", (revision().gateware,))
        earlier.commit()
    database = Database(path, revision())
    assert database.bins() == {}
    assert database.add(1, Lot("native", 0, 0), run_lot(Lot("native", 0, 0)))
    assert "a: b" not in database.bins()
    database.close()


@pytest.mark.usefixtures("few")
def test_what_another_bench_has_run_counts_for_nothing_but_its_failures(tmp_path):
    """Nobody knows whether it compared as this one does."""
    path, result = tmp_path / "results.sqlite", run_lot(Lot("native", 0, 0))
    lots = Lot("native", 0, 0), Lot("native", 0, 1)
    database = Database(path, Revision("now", "other", "core"))
    number = database.begin(0, "none", {})
    assert database.add(number, lots[0], replace(result, failures=[(7, "wrong")]))
    assert database.bins() == result.bins
    database.close()
    database = Database(path, Revision("now", "bench", "core"), {"now": [TARGETS[0].name]})
    assert (database.bins(), database.done()) == ({}, set())
    amounts = database.figures()["native"]
    assert (amounts["cases"], amounts["differences"]) == (0, 1)
    (failure,) = database.failures()
    assert (failure.seed, failure.is_current) == (7, False)
    number = database.begin(0, "none", {})
    assert database.add(number, lots[1], result)
    assert database.bins() == result.bins
    assert database.figures()["native"]["cases"] == result.figures.cases
    # What fails in one of two passes with the same lot is a failure.
    assert not database.add(number, lots[1], replace(result, failures=[(8, "wrong")]))
    assert {each.seed for each in database.failures()} == {7, 8}
    assert database.figures()["native"]["cases"] == result.figures.cases
    database.close()


@pytest.mark.usefixtures("few")
def test_an_earlier_difference_counts_where_the_netlist_is_the_same(tmp_path):
    """What was wrong in a core that has changed since is told by no later pass."""
    path = tmp_path / "results.sqlite"
    first, second = (TARGETS[number].name for number in (0, 1))
    database = Database(path, Revision("a", "bench", "core"))
    number = database.begin(0, "none", {})
    for core in (0, 1):
        result = run_lot(Lot("native", core, 0))
        seeds = [core, -1 - core, CORES_MOST - 1]  # the last: of a core that there is no more
        failed = replace(result, failures=[(seed, f"wrong in {seed}") for seed in seeds])
        assert database.add(number, Lot("native", core, 0), failed)
    assert [failure.seed for failure in database.failures()] == [-2, -1, 0, 1, CORES_MOST - 1]
    database.close()
    drawn = target_of(-1).name  # of which no netlists are kept
    for names, seeds in (
        ((first,), [0]), ((second,), [1]), ((first, second), [0, 1]), ((first, drawn), [0]),
    ):  # fmt: skip
        database = Database(path, Revision("now", "bench", "core"), {"a": names})
        assert [failure.seed for failure in database.failures()] == seeds
        assert database.figures()["native"]["differences"] == len(seeds)
        database.close()
