"""The command ``extremum regress``, which the command line finds as an entry point."""

from __future__ import annotations

import math
import os
import re
import shlex
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import platformdirs
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from extremum.hdl.axi.streams import is_programmable
from extremum.host.tools import BACKEND_TOOLS, require
from extremum.tb.command import is_kept, terminated_as_interrupted
from extremum.tb.coverage import BINS, Tally
from extremum.tb.evidence import EvidenceError, require_writable
from extremum.tb.regression import evidence
from extremum.tb.regression.campaign import (
    Progress,
    SchedulerError,
    Settings,
    TellPass,
    run_pass,
)
from extremum.tb.regression.case import Case
from extremum.tb.regression.database import Database, Failure
from extremum.tb.regression.draw import SCALES, drawn_case
from extremum.tb.regression.pool import TARGETS, target_named, target_of
from extremum.tb.regression.random_cores import RANDOM
from extremum.tb.regression.revision import revision
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.work import Difference

AGREEMENT, MISMATCH = 0, 1

TOLD_SECONDS = 30
"""Seconds between two lines of progress where there is no terminal."""

BESIDE = ("-wal", "-shm", "-journal")
"""Ends of the names of files that SQLite keeps beside a database."""

LISTED = 20
"""Bins that are listed by name if they were not met."""

backend_option = click.option(
    "--backend",
    "backends",
    type=click.Choice(list(SCALES)),
    multiple=True,
    default=("native",),
    show_default=True,
    help="What simulates; may be given several times.",
)


TIME = click.FloatRange(0, min_open=True)

MOST_WORKERS = 256
"""A machine of more processors is one for a scheduler."""


def _finite(_context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse a time that is no number, or without an end."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no finite number", param=option)
    return value


def _given_beside(*names: str) -> str:
    """Return the options of the command line other than these, as a user writes them."""
    context = click.get_current_context()
    return ", ".join(
        option.opts[0]
        for option in context.command.params
        if option.name not in names
        and context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    )


@click.command(short_help="Run random cases, and compare them with the golden model.")
@click.option("--case", "text", help="Run one case alone: its seed, or a case as JSON.")
@backend_option
@click.option(
    "--core",
    "cores",
    multiple=True,
    help=f"Run these cores or blocks alone; {RANDOM!r}: cores drawn at random.",
)
@click.option("--hours", type=TIME, callback=_finite, help="Budget of time.")
@click.option(
    "--minutes", type=TIME, callback=_finite, help="Budget of time, beside that of --hours."
)
@click.option(
    "--lots", "most_lots", type=click.IntRange(0, sys.maxsize), help="End after so many lots."
)
@click.option(
    "--workers",
    type=click.IntRange(0, MOST_WORKERS),
    default=os.cpu_count() or 1,
    show_default="the processors",
    help="Worker processes; 0 runs all in this process.",
)
@click.option("--scheduler", help="Use the workers of this Dask scheduler: tcp://HOST:PORT.")
@click.option(
    "--database",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="SQLite file of the results, which is continued.",
    show_default="regression.sqlite in the user's folder for data",
)
@click.option(
    "--evidence",
    "report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON file to write figures, bins and history to.",
)
@click.option("--full-coverage", is_flag=True, help="Fail if a bin has never been met.")
def regress(
    *,
    text: str | None,
    backends: tuple[str, ...],
    cores: tuple[str, ...],
    hours: float | None,
    minutes: float | None,
    most_lots: int | None,
    workers: int,
    scheduler: str | None,
    path: Path | None,
    report: Path | None,
    full_coverage: bool,
) -> int:
    """Run random cases on simulated cores, and compare them with the golden model.

    Without --hours, --minutes or --lots it runs for a minute. Results go into a database, and the
    next pass goes on where this one ended. A case that fails is told as a command that repeats it,
    and made smaller.
    """
    for backend in backends:
        require(*BACKEND_TOOLS[backend])
    if text is not None:
        if len(backends) != 1:
            raise click.UsageError("--case runs on one --backend")
        if others := _given_beside("text", "backends"):
            raise click.UsageError(f"--case stands alone, or with --backend: not with {others}")
        return _run_one(text, backends[0])
    _refuse_cores(cores)
    seconds = 3600 * (hours or 0) + 60 * (minutes or 0)
    if hours is None and minutes is None:
        seconds = 60.0 if most_lots is None else float("inf")
    settings = Settings(backends, cores, seconds, most_lots, workers, scheduler)
    path = path or Path(platformdirs.user_data_dir("extremum")) / "regression.sqlite"
    before = {} if report is None else _amounts_before(report, path)
    with _opened(path) as database:
        try:
            with terminated_as_interrupted():
                try:
                    with _progress(seconds) as tell:
                        number = run_pass(settings, database, tell, evidence.versions())
                finally:
                    if report is not None:  # what was run counts, whatever has ended it
                        _write_evidence(report, database, before)
        except SchedulerError as error:
            raise click.UsageError(f"--scheduler: {error}") from error
        return _tell_result(database, number, full_coverage=full_coverage)


def _refuse_cores(names: Sequence[str]) -> None:
    """Refuse cores that there are not."""
    known = [*(target.name for target in TARGETS), RANDOM]
    if unknown := set(names) - set(known):
        told = ", ".join(known)
        raise click.UsageError(f"--core must be of {told}, not {sorted(unknown)[0]!r}")


def _amounts_before(report: Path, path: Path) -> Mapping[str, int]:
    """Return how much the evidence in a file speaks of, and refuse a file that cannot take it."""
    # SQLite has files of its own beside the database, and removes them.
    if report.resolve() in (Path(f"{path.resolve()}{end}") for end in ("", *BESIDE)):
        raise click.UsageError(f"--evidence names a file of --database: {report}")
    require_writable(report)
    try:
        return evidence.amounts(report, revision())  # what else is there would be lost
    except EvidenceError as error:
        raise click.UsageError(f"--evidence: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[Database]:
    """Open the database, and close it."""
    from extremum.tb.netlists import earlier_revisions  # noqa: PLC0415 - imports much

    try:
        database = Database(path, revision(), earlier_revisions(with_model=True))
    except ValueError as error:
        raise click.UsageError(f"--database: {error}") from error
    try:
        yield database
    except sqlite3.Error as error:
        raise click.UsageError(f"--database: {path}: {error}") from error
    finally:
        database.close()


def _write_evidence(report: Path, database: Database, before: Mapping[str, int]) -> None:
    """Write the evidence, unless nothing ran.

    Evidence of more cases of the same sources stays, if the new one does not have more differences.
    """
    if not (figures := database.figures()):
        return
    cases, differences = (
        sum(each[name] for each in figures.values()) for name in ("cases", "differences")
    )
    is_worse = differences > before["differences"]
    if is_worse or not is_kept("the regression", before["cases"], cases):
        evidence.write(database, report)


def _run_one(text: str, backend: str) -> int:
    """Run one case, given by its seed or as JSON."""
    if re.fullmatch("-?[0-9]{1,30}", text):
        try:
            target_of(int(text))
        except ValueError as error:
            raise click.UsageError(f"--case: {error}") from error
        case = drawn_case(int(text), backend)
    else:
        try:
            case = Case.from_json(text)
        except ValueError as error:
            raise click.UsageError(f"--case: {error}") from error
    _refuse_misfits(case)
    click.echo(f"core: {case.target}\nbackend: {backend}")
    for number, batch in enumerate(case.batches):
        options = f"stalls {batch.input_stalls}, {batch.output_stalls}, {batch.job_stalls}"
        reset = "" if batch.reset_after is None else f", reset after {batch.reset_after}"
        click.echo(f"batch {number}: {options}{reset}")
        for item in batch.items:
            click.echo(f"  {item.operator} {item.arguments}, filled with {item.fill}")
    try:
        with Rig(backend) as rig:
            figures = run_case(case, rig, Tally())
    except Difference as error:
        click.echo(f"difference: {error}\n0 passed, 1 failed")
        return MISMATCH
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        # Of a seed every case can be run, so that is a fault of the bench.
        if text.lstrip("-").isdigit():
            raise
        told = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
        raise click.UsageError(f"--case: no core can run it: {told}") from error
    click.echo(f"{figures.jobs} jobs, {figures.beats} beats, no difference\n1 passed, 0 failed")
    return AGREEMENT


def _refuse_misfits(case: Case) -> None:
    """Refuse a case of which a part would not be run."""
    try:
        target = target_named(case.target)
    except ValueError as error:
        raise click.UsageError(f"--case: {error}") from error
    if target.bus == "none" or not is_programmable(target.config):
        has_faults = any(item.fault for batch in case.batches for item in batch.items)
        if has_faults or any(batch.accesses for batch in case.batches):
            raise click.UsageError(
                "--case: 'fault' and 'accesses' are for AXI blocks with registers, "
                f"and {case.target} is none"
            )


def repeat_command(failure: Failure) -> str:
    """Return the command that repeats a failure in its smallest known form."""
    case = failure.smallest or str(failure.seed)
    backend = [] if failure.backend == "native" else ["--backend", failure.backend]
    return shlex.join(["extremum", "regress", *backend, "--case", case])


def _tell_result(database: Database, number: int, *, full_coverage: bool) -> int:
    """Print what a pass has run and what is known altogether; return the exit status."""
    done = next(each for each in database.passes() if each["pass"] == number)
    seconds = done["seconds"] or 1
    click.echo(
        f"pass {number}: {done['cases']} cases, {done['beats']:,} beats in {seconds:.0f} s: "
        f"{done['cases'] / seconds:.1f} cases and {done['beats'] / seconds:,.0f} beats a second"
        + (f", {done['lots_retried']} lots retried" if done["lots_retried"] else "")
    )
    cases = 0
    for backend, sums in database.figures().items():
        cases += sums["cases"]
        click.echo(
            f"{backend}, all passes: {sums['cases']} cases, {sums['jobs']:,} jobs, "
            f"{sums['beats']:,} beats, {sums['clocks']:,} clocks, "
            f"{sums['differences']} differences"
        )
    unmet = evidence.missing(database)
    click.echo(f"coverage: {len(BINS) - len(unmet)} of {len(BINS)} bins")
    for name in unmet[:LISTED] if full_coverage else ():
        click.echo(f"  never met: {name}")
    failures = database.failures()
    for failure in failures:
        click.echo(f"difference in case {failure.seed} on {failure.backend}: {failure.message}")
        click.echo(f"  repeat: {repeat_command(failure)}")
    failed = len(failures) + (len(unmet) if full_coverage else 0)
    click.echo(f"{cases - len(failures)} passed, {failed} failed")
    return MISMATCH if failed else AGREEMENT


@contextmanager
def _progress(seconds: float) -> Iterator[TellPass]:
    """Show a bar of the time on stderr; unless that is a terminal, a line now and then."""
    console = Console(stderr=True)
    if not console.is_terminal:
        told = 0.0

        def line(now: Progress) -> None:
            nonlocal told
            if now.seconds >= told + TOLD_SECONDS:
                told = now.seconds
                click.echo(f"extremum: {now.seconds:.0f} s: {_figures(now)}", err=True)

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(None), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True, expand=True) as bars:
        total = None if seconds == float("inf") else seconds
        task = bars.add_task("starting", total=total)
        yield lambda now: bars.update(task, completed=now.seconds, description=_figures(now))


def _figures(now: Progress) -> str:
    retried = f", {now.retried} lots retried" if now.retried else ""
    return (
        f"{now.figures.cases} cases, {now.figures.beats:,} beats, "
        f"{now.figures.beats / max(now.seconds, 1):,.0f} a second, "
        f"{now.failures} differences{retried}"
    )
