"""A lock for objects that threads share, which refuses a call from inside a call."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import RLock


class Turns:
    """Lets calls of several threads wait for each other, and refuses a call from inside a call.

    A forked or pickled copy begins unlocked, even if its original is in the middle of a call.
    """

    def __init__(self) -> None:
        self._renew()

    def __reduce__(self) -> tuple[Callable[[], Turns], tuple[()]]:
        return Turns, ()

    def _renew(self) -> None:
        self._lock = RLock()
        self._process = os.getpid()

    def take(self) -> AbstractContextManager[object]:
        """Return a context that waits for the calls of other threads, and keeps them waiting.

        It is the lock itself: an interrupt finds it taken or not taken, and never in between, where
        a context of Python's own code would leave it taken for ever.

        Raises
        ------
        RuntimeError
            This thread is in such a context already.
        """
        if self._process != os.getpid():
            self._renew()  # the thread that holds the lock is in another process
        # `threading.Condition` asks its lock in the same way.
        if self._lock._is_owned():  # type: ignore[attr-defined]  # pyright: ignore
            raise RuntimeError(
                "the accelerator is in the middle of a call: its progress callback must not use "
                "it; raise an exception there to stop the operator, or use a second Accelerator"
            )
        return self._lock
