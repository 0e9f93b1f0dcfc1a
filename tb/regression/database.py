"""The results of a regression in one SQLite file, which a later pass continues.

A lot is written with its bins and its failures in one transaction, under a key that can be there
only once. So a lot whose worker died is simply not there, and one that ran twice is counted once.
Only the process that hands out the lots writes.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extremum.tb.regression.lots import Lot, LotResult
from extremum.tb.regression.pool import CORES_MOST, TARGETS, target_of
from extremum.tb.regression.random_cores import number_named
from extremum.tb.regression.revision import Revision

SCHEMA = """
create table if not exists passes (
    pass integer primary key, started real, seconds real, workers integer, scheduler text,
    gateware text, bench text, versions text
);
create table if not exists lots (
    gateware text, bench text, backend text, core text, number integer, pass integer,
    cases integer, jobs integer, clocks integer, beats integer, seconds real, attempts integer,
    primary key (gateware, bench, backend, core, number)
);
create table if not exists bins_met (
    gateware text, bench text, backend text, bin text, count integer,
    primary key (gateware, bench, backend, bin)
);
create table if not exists failures (
    gateware text, bench text, backend text, seed integer, pass integer, message text,
    smallest text, primary key (gateware, bench, backend, seed)
);
"""

EARLIER_TABLES = {"bins": ["gateware", "backend", "bin", "count"]}
"""Tables of an earlier version, which are left alone: their bins are of no known bench."""


def _tables(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the names of the columns of each table."""
    names = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'")]
    return {
        name: [row[0] for row in db.execute("select name from pragma_table_info(?)", (name,))]
        for name in names
    }


def _check_schema(db: sqlite3.Connection) -> None:
    """Raise a DatabaseError if tables are there that are not the regression's."""
    with closing(sqlite3.connect(":memory:")) as own:
        own.executescript(SCHEMA)
        expected = _tables(own)
    for name, columns in _tables(db).items():
        if columns not in (expected.get(name), EARLIER_TABLES.get(name)):
            raise sqlite3.DatabaseError(f"its table {name!r} is none of the regression's")


@dataclass(frozen=True)
class Failure:
    """A case that failed.

    Parameters
    ----------
    backend, seed
        Which case it is.
    message
        What was different.
    smallest
        The smallest case that was found to fail, as JSON; or None.
    is_current
        Whether this bench has run it. To another one the seed may be another case.
    """

    backend: str
    seed: int
    message: str
    smallest: str | None
    is_current: bool


class Database:
    """The file, opened for one revision of the sources.

    Parameters
    ----------
    path
        The file; it is made if it does not exist.
    revision
        The sources that are tested. Results of others stay in the file, and are told apart.
    earlier
        By the digest of earlier gateware: the names of the cores whose netlists it had already.

    Raises
    ------
    ValueError
        The file is not one of the regression's, or cannot be written.
    """

    def __init__(
        self, path: Path, revision: Revision, earlier: Mapping[str, Collection[str]] | None = None
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            # SQLite would put files of its own beside a device.
            raise ValueError(f"{path}: it is not a file")
        self.path, self.revision = path, revision
        self._earlier = earlier or {}
        try:
            self._db = sqlite3.connect(path)
        except sqlite3.Error as error:
            raise ValueError(f"{path}: {error}") from error
        try:
            _check_schema(self._db)
            self._db.execute("pragma journal_mode = wal")
            self._db.executescript(SCHEMA)
        except sqlite3.Error as error:
            self._db.close()
            raise ValueError(f"{path}: {error}") from error
        self._key = (revision.gateware, revision.bench)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def begin(self, workers: int, scheduler: str, versions: Mapping[str, str]) -> int:
        """Begin a pass, and return its number."""
        row = (time.time(), workers, scheduler, *self._key, json.dumps(dict(versions)))
        with self._db:
            made = self._db.execute(
                "insert into passes (started, seconds, workers, scheduler, gateware, bench,"
                " versions) values (?, 0, ?, ?, ?, ?, ?)",
                row,
            )
        assert made.lastrowid is not None
        return made.lastrowid

    def end(self, number: int, seconds: float) -> None:
        """Note how long a pass took."""
        with self._db:
            self._db.execute("update passes set seconds = ? where pass = ?", (seconds, number))

    def done(self) -> set[Lot]:
        """Return the lots of this revision that have been run."""
        cores = {target.name: core for core, target in enumerate(TARGETS)}
        rows = self._db.execute(
            "select backend, core, number from lots where gateware = ? and bench = ?", self._key
        )
        done = set()
        for backend, name, number in rows:
            drawn = number_named(name)
            done.add(Lot(backend, cores[name] if drawn is None else -1 - drawn, number))
        return done

    def add(self, number: int, lot: Lot, result: LotResult, attempts: int = 1) -> bool:
        """Write what came of a lot; return False if it was there before, and nothing is counted.

        Parameters
        ----------
        number
            The pass.
        lot, result
            What was run, and what came of it.
        attempts
            How often it was begun: more than once if a worker died.
        """
        figures = result.figures
        with self._db:
            made = self._db.execute(
                "insert or ignore into lots values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *self._key, lot.backend, lot.target.name, lot.number, number,
                    figures.cases + len(result.failures), figures.jobs, figures.clocks,
                    figures.beats, result.seconds, attempts,
                ),
            )  # fmt: skip
            # Also of a lot that was there: what fails once is a failure.
            self._db.executemany(
                "insert or ignore into failures values (?, ?, ?, ?, ?, ?, null)",
                [(*self._key, lot.backend, seed, number, told) for seed, told in result.failures],
            )
            if not made.rowcount:
                return False
            self._db.executemany(
                "insert into bins_met values (?, ?, ?, ?, ?) on conflict do update"
                " set count = count + excluded.count",
                [(*self._key, lot.backend, *each) for each in result.bins.items()],
            )
        return True

    def set_smallest(self, failure: Failure, smallest: str) -> None:
        """Note the smallest case that fails as this one does."""
        with self._db:
            self._db.execute(
                "update failures set smallest = ? where gateware = ? and bench = ?"
                " and backend = ? and seed = ?",
                (smallest, *self._key, failure.backend, failure.seed),
            )

    def counted(self) -> list[str]:
        """Return the gateware, and the earlier ones of which some results hold for it.

        The results of a core hold if it has the same netlist now, and the present bench found them.
        """
        return [self.revision.gateware, *sorted(self._run_before())]

    def _run_before(self) -> dict[str, bool]:
        """Return the earlier gateware of which some results hold, and whether all of them do."""
        rows = self._db.execute(
            "select distinct gateware, core from lots where bench = ?", (self.revision.bench,)
        ).fetchall()
        rows = [row for row in rows if number_named(row[1]) is None]
        run = {gateware: {core for each, core in rows if each == gateware} for gateware, _ in rows}
        return {
            gateware: run[gateware] <= set(names)
            for gateware, names in self._earlier.items()
            if gateware != self.revision.gateware and run.get(gateware, set()) & set(names)
        }

    def _of_cores(self) -> str:
        """Return the cores whose results hold, and the gateware, for ``json_each`` of SQLite.

        Of the cores drawn at random no netlists are kept, so they hold for the present gateware.
        """
        names = (*(target.name for target in TARGETS), *self._drawn())
        present = [[self.revision.gateware, name] for name in names]
        before = [[each, name] for each in self._run_before() for name in self._earlier[each]]
        return json.dumps(present + before)

    def _drawn(self) -> list[str]:
        """Return the cores drawn at random that ran on the present gateware."""
        rows = self._db.execute(
            "select distinct core from lots where gateware = ? and bench = ? order by core",
            self._key,
        )
        return [name for (name,) in rows if number_named(name) is not None]

    def drawn(self) -> dict[str, int]:
        """Return how many cores were drawn at random, and their cases and jobs, on all backends."""
        names = self._drawn()
        sums = self._db.execute(
            "select coalesce(sum(cases), 0), coalesce(sum(jobs), 0) from lots"
            " where gateware = ? and bench = ? and core in (select value from json_each(?))",
            (*self._key, json.dumps(names)),
        ).fetchone()
        return {"cores": len(names), "cases": sums[0], "jobs": sums[1]}

    def _whole(self) -> str:
        """Return the gateware of which all results hold, for ``json_each`` of SQLite."""
        whole = [gateware for gateware, is_whole in self._run_before().items() if is_whole]
        return json.dumps([self.revision.gateware, *whole])

    def failures(self) -> list[Failure]:
        """Return the failures that count, on any bench, by backend and seed."""
        rows = self._db.execute(
            "select gateware, backend, seed, message, smallest, bench = ? from failures"
            " where gateware in (select value from json_each(?)) order by backend, seed",
            (self.revision.bench, json.dumps([self.revision.gateware, *sorted(self._earlier)])),
        )
        found = [(gateware, Failure(*row)) for gateware, *row in rows]
        return [failure for gateware, failure in found if self._holds(gateware, failure.seed)]

    def _holds(self, gateware: str, seed: int) -> bool:
        """Return whether what a case has shown of some gateware holds for the present one.

        Of the cores drawn at random, whose seeds are negative, no netlists are kept; and a core
        that there is no more has none.
        """
        if gateware == self.revision.gateware:
            return True
        if seed < 0 or seed % CORES_MOST >= len(TARGETS):
            return False
        return target_of(seed).name in self._earlier[gateware]

    def bins(self) -> dict[str, int]:
        """Return how often each bin was met, on all backends.

        Bins are not told apart by core, so those of earlier gateware count if all of it holds.
        """
        rows = self._db.execute(
            "select bin, sum(count) from bins_met"
            " where bench = ? and gateware in (select value from json_each(?)) group by bin",
            (self.revision.bench, self._whole()),
        )
        return dict(rows)

    def figures(self) -> dict[str, dict[str, Any]]:
        """Return the figures by backend, of what the present bench has run; see :meth:`counted`.

        Differences are those that any bench has found.
        """
        rows = self._db.execute(
            "select backend, sum(cases), sum(jobs), sum(clocks), sum(beats), sum(seconds),"
            " sum(attempts > 1), count(distinct core) from lots"
            " where bench = ? and json_array(gateware, core) in (select value from json_each(?))"
            " group by backend order by backend",
            (self.revision.bench, self._of_cores()),
        )
        names = ("cases", "jobs", "clocks", "beats", "seconds", "lots_retried", "cores")
        found = {backend: dict(zip(names, sums, strict=True)) for backend, *sums in rows}
        differences = Counter(failure.backend for failure in self.failures())
        nothing = dict.fromkeys(names, 0)
        return {
            backend: found.get(backend, nothing) | {"differences": differences[backend]}
            for backend in sorted({*found, *differences})
        }

    def passes(self) -> list[dict[str, Any]]:
        """Return all passes in the file, of every revision, with what each of them ran."""
        rows = self._db.execute(
            "select p.pass, p.started, p.seconds, p.workers, p.scheduler, p.gateware, p.bench,"
            " p.versions, coalesce(sum(l.cases), 0), coalesce(sum(l.beats), 0),"
            " coalesce(sum(l.attempts > 1), 0),"
            " (select count(*) from failures f where f.pass = p.pass)"
            " from passes p left join lots l on l.pass = p.pass group by p.pass order by p.pass"
        )
        names = (
            "pass", "started", "seconds", "workers", "scheduler", "gateware", "bench", "versions",
            "cases", "beats", "lots_retried", "differences",
        )  # fmt: skip
        return [dict(zip(names, row, strict=True)) for row in rows]
