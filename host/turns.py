"""One call at a time on what several threads share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, get_ident


class Turns:
    """Lets calls of several threads wait for each other, and refuses a call from inside a call.

    A forked or pickled copy is independent: whatever call its original was in, it is in none.
    """

    def __init__(self) -> None:
        self._renew()

    def __reduce__(self) -> tuple[Callable[[], Turns], tuple[()]]:
        return Turns, ()

    def _renew(self) -> None:
        self._lock = Lock()
        self._holder: int | None = None
        self._process = os.getpid()

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for the calls of other threads, and keep them waiting until the block ends.

        Raises
        ------
        RuntimeError
            This thread is in such a block already.
        """
        if self._process != os.getpid():
            self._renew()  # the thread that holds the lock is in another process
        if self._holder == get_ident():
            raise RuntimeError(
                "the accelerator is in the middle of a call: its progress callback must not use "
                "it; raise an exception there to stop the operator, or use a second Accelerator"
            )
        with self._lock:
            self._holder = get_ident()
            try:
                yield
            finally:
                self._holder = None
