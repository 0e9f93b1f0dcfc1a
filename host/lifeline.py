"""Ends a process, and all that it started, as soon as the process that asked for it is gone.

A compiler that goes on after its caller was interrupted or killed wastes minutes of a processor.
Nothing that the caller does on its way out can prevent that: a killed process does nothing. So the
caller holds one end of a pipe, the *lifeline*, and here a thread waits at its other end. When the
caller closes it or ends in whatever way, this process ends its whole process group.

Run as a script, ``lifeline.py COMMAND ARGUMENT ...`` runs a command that way, with the lifeline as
its standard input. It imports the standard library alone, so that it starts quickly.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from threading import Thread

LOOK_SECONDS = 1.0
"""A forked copy of the caller keeps the lifeline open, so now and then the parent is looked at."""


def hold_lifeline() -> None:
    """End this process's group when standard input ends, or the parent does.

    This process must lead a group of its own. What it starts afterwards reads an empty input, and
    can be interrupted even if the caller ignores interrupts (under ``nohup``, for example).
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parent = os.getppid()
    lifeline = os.dup(0)  # which, unlike standard input, is not inherited by what is started
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    Thread(target=_end_with, args=(lifeline, parent), daemon=True).start()


def _end_with(lifeline: int, parent: int) -> None:
    while os.getppid() == parent:
        readable, _, _ = select.select([lifeline], [], [], LOOK_SECONDS)
        if readable and not os.read(lifeline, 1):
            break
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    hold_lifeline()
    status = subprocess.call(sys.argv[1:])
    sys.exit(status if status >= 0 else 128 - status)  # as a shell tells a signal
