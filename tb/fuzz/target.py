"""What a target of the fuzzing is, and what its outcome may be."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis.strategies import SearchStrategy

LONGEST = 20.0
"""Seconds after which an input has made the software hang."""


class FaultError(AssertionError):
    """The software did what it never may, whatever its input is."""


class HangError(BaseException):
    """An input took longer than :data:`LONGEST`. No handler of exceptions may stop it."""


@dataclass(frozen=True)
class Target:
    """A part of the software, and the inputs that it is given.

    Parameters
    ----------
    name
        Name of the target.
    purpose
        What is fuzzed, and what must hold, in one sentence.
    strategy
        Makes the strategy that draws inputs. It is a function, since some are costly to make.
    run
        Gives the software one input; returns in a word what it did. It raises
        :class:`FaultError` if the software did what it may not.
    refusals
        The documented exceptions by which the software may refuse an input.
    is_raw
        The input is bytes, so that coverage alone can guide it.
    prepare
        Called once before the first input, however long it takes: compiles what is needed.
    sanitized
        Its process must be started with the library of the address sanitizer.
    """

    name: str
    purpose: str
    strategy: Callable[[], SearchStrategy[Any]]
    run: Callable[[Any], str]
    refusals: tuple[type[Exception], ...] = ()
    is_raw: bool = False
    prepare: Callable[[], object] | None = None
    sanitized: bool = False

    def try_input(self, value: Any) -> str:
        """Give the software an input; return in a word what it did with it.

        Raises
        ------
        Exception
            The software did what it may not: another exception than :attr:`refusals`, or
            :class:`FaultError`.
        HangError
            It took too long.
        """
        with no_hang():
            return self.answer(value)

    def answer(self, value: Any) -> str:
        """Do as :meth:`try_input`, without an end to the time."""
        try:
            return self.run(value)
        except self.refusals:
            return "refused"


@contextmanager
def no_hang(seconds: float = LONGEST) -> Iterator[None]:
    """Raise :class:`HangError` in a block that takes longer. For the main thread alone."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise HangError(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def require(condition: bool, message: str) -> None:
    """Raise :class:`FaultError` unless a condition holds."""
    if not condition:
        raise FaultError(message)


def new_folder() -> Path:
    """Return a new folder; it is removed when the process ends."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="extremum-fuzz-"))
    return Path(_KEPT[-1].name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
