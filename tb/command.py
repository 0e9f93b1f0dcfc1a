"""What the commands of the campaigns have in common: numbers, files of evidence, and interrupts."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from extremum.host.errors import ToolError
from extremum.tb.evidence import EvidenceError, require_writable

__all__ = [
    "at_least",
    "end",
    "is_kept",
    "minutes",
    "refuse_unwritable",
    "terminated_as_interrupted",
]


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number from the command line, and refuses a smaller one."""

    def number(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, not {text}") from None
        if found < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {text}")
        return found

    return number


def minutes(text: str) -> float:
    """Read a time in minutes from the command line: a finite number, not below 0."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of minutes, 0 or more, not {text}")
    return found


def refuse_unwritable(parser: argparse.ArgumentParser, path: Path | None) -> None:
    """Refuse a file that cannot be written; None stands for no file."""
    if path is None:
        return
    try:
        require_writable(path)
    except OSError as error:
        parser.error(f"{path} cannot be written: {error.strerror or error}")


def is_kept(what: str, before: float, now: float) -> bool:
    """Return whether older evidence is kept since this run was smaller, and print that.

    Parameters
    ----------
    what
        What the evidence is about.
    before, now
        How much the evidence speaks of, and how much was run now.
    """
    if now >= before:
        return False
    print(f"the evidence about {what} stays: it is of {before:g}, and this run is of {now:g}")
    return True


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Let the first SIGTERM raise KeyboardInterrupt, so that a campaign cleans up when it is ended.

    Later ones are ignored, so that they do not disturb that. A handler that is set already stays,
    and so do those of a process whose campaign runs in another thread, which gets no signals.
    """
    in_thread = threading.current_thread() is not threading.main_thread()
    if in_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def end(main: Callable[[], int]) -> NoReturn:
    """Run a command, and end with its status.

    An interrupt, or SIGTERM, is told in a line, with status 130; what cannot be read or written,
    and a tool that is missing, with status 2.
    """
    try:
        with terminated_as_interrupted():
            sys.exit(main())
    except (EvidenceError, ToolError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"{error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted; the next run begins anew", file=sys.stderr)
        sys.exit(130)
