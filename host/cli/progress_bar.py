"""What the command line shows of an operator under way: a bar, or lines without a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from extremum.host.progress import Progress, TellProgress

__all__ = ["progress", "status_line"]

PHASES = {
    "planning": "planning the jobs",
    "compiling": "compiling the core, which is then kept",
    "simulating": "simulating",
}
"""What the bar says in each phase."""


@contextmanager
def progress() -> Iterator[TellProgress]:
    """Show a bar on stderr; unless that is a terminal, a line for each stage of a compilation.

    While a core is simulated the bar shows the beats done, cycles per second, and the times gone
    and left; before that, what is being prepared, and for how long.
    """
    if not sys.stderr.isatty():
        yield _print_stage
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(None), TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Bars(*columns, console=Console(stderr=True), transient=True, expand=True) as bars:
        yield _Bar(bars)


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Show on stderr what goes on; unless that is a terminal, in a line for each step."""
    if not sys.stderr.isatty():
        yield _print
        return
    with Console(stderr=True).status("generating") as status:
        yield status.update


def _print_stage(now: Progress) -> None:
    """Print what is done while a core is compiled, which takes long enough to be asked about."""
    if now.stage:
        _print(f"{PHASES[now.phase]}: {now.stage}")


def _print(text: str) -> None:
    """Print a line on stderr."""
    try:
        print(f"extremum: {text}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise
    except OSError:  # a full disk: the result matters, and not what is said meanwhile
        pass


class _Bar:
    """A bar that starts anew with each phase."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._phase = ""

    def __call__(self, now: Progress) -> None:
        """Show how far the operator has come."""
        if self._task is None or now.phase != self._phase:
            if self._task is not None:
                self._bars.remove_task(self._task)
            self._task = self._bars.add_task(PHASES[now.phase], total=None, figures="")
            self._phase = now.phase
        if now.stage:
            self._bars.update(self._task, figures=now.stage, refresh=True)
        if now.phase == "simulating":
            self._bars.update(
                self._task,
                completed=now.clocks,
                total=now.predicted_clocks,
                figures=_figures(now, self._bars.tasks[-1].speed),
            )


def _figures(now: Progress, speed: float | None) -> str:
    """Return the beats, the jobs if there are several, and the cycles per second."""
    figures = [f"{_short(now.beats)} of {_short(now.predicted_beats)} beats"]
    if now.jobs > 1:
        figures.append(f"{now.job:,} of {now.jobs:,} jobs")
    if speed is not None:
        figures.append(f"{speed / 1e6:.2f} M cycles/s")
    return ", ".join(figures)


def _short(number: int) -> str:
    """Return a number as text, a large one in millions."""
    return f"{number / 1e6:.1f} M" if number >= 1_000_000 else f"{number:,}"
