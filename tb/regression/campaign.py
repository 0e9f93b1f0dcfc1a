"""A pass of the regression: lots go to the workers of Dask until the time is over."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from extremum.host.tools import require
from extremum.tb.regression.database import Database, Failure
from extremum.tb.regression.draw import drawn_case
from extremum.tb.regression.lots import Lot, LotResult, lots, rig_of, run_lot
from extremum.tb.regression.revision import Revision, revision
from extremum.tb.regression.shrink import shrink
from extremum.tb.regression.work import Figures

if TYPE_CHECKING:
    from distributed import Client, Future

TOPIC = "extremum-regress"
"""Under this topic the workers tell Dask's scheduler which case they begin."""

AHEAD = 2
"""Lots that wait for each worker beside the one that it runs."""

DEATHS = 3
"""A lot that has taken so many workers with it is given up, and its last case has failed."""

CONNECT_SECONDS = 15
"""Seconds after which a scheduler that does not answer, or has no worker, is given up."""

SHRUNK = 3
"""Failures that are shrunk, at the most."""


class SchedulerError(Exception):
    """The workers of another scheduler cannot be used."""


@dataclass
class Settings:
    """What a pass shall do.

    Parameters
    ----------
    backends
        What simulates.
    cores
        Names of cores and blocks; all if there are none.
    seconds
        Budget of time. Lots that have been begun are finished beyond it.
    most_lots
        Lots after which it ends, however much time is left; None for no such end.
    workers
        Worker processes of the cluster; 0 runs everything in this process, without Dask.
    scheduler
        Address of a scheduler of Dask whose workers are used instead; None for none.
    """

    backends: tuple[str, ...] = ("native",)
    cores: tuple[str, ...] = ()
    seconds: float = 60.0
    most_lots: int | None = None
    workers: int = 2
    scheduler: str | None = None


@dataclass
class Progress:
    """How far a pass is: what has been run and counted, and what happened on the way."""

    figures: Figures = field(default_factory=Figures)
    failures: int = 0
    lots: int = 0
    retried: int = 0
    seconds: float = 0.0


TellPass = Callable[[Progress], None]


class _Local:
    """Runs lots in this process, one by one."""

    workers = 1

    def __init__(self) -> None:
        self._waiting: list[Lot] = []

    def start(self, lot: Lot) -> None:
        self._waiting.append(lot)

    def results(self) -> Iterator[tuple[Lot, LotResult, int]]:
        while self._waiting:
            lot = self._waiting.pop(0)
            yield lot, run_lot(lot), 1

    def shrink(self, backend: str, seed: int) -> str | None:
        return shrunk(backend, seed)


class _Cluster:
    """Runs lots on the workers of Dask."""

    def __init__(self, client: Client, workers: int) -> None:
        from distributed import as_completed  # noqa: PLC0415 (needs the extra regress)

        self.workers = workers
        self._client = client
        self._ended: Any = as_completed(with_results=False, raise_errors=False)
        self._lots: dict[str, Lot] = {}

    def start(self, lot: Lot) -> None:
        name = f"{lot.backend}-{lot.target.name}-{lot.number}-{id(self):x}"
        self._lots[name] = lot
        with _its_end_is_told():
            future = self._client.submit(
                _run_on_worker, lot, name, revision(), key=name, pure=False
            )
            self._ended.add(future)

    def results(self) -> Iterator[tuple[Lot, LotResult, int]]:
        while True:
            with _its_end_is_told():
                future = next(self._ended, None)
                begun = [] if future is None else self._begun(str(future.key))
            if future is None:
                return
            lot = self._lots.pop(str(future.key))
            attempts = max(1, sum(seed == lot.seeds[0] for seed in begun))
            yield lot, self._result(future, lot, begun), attempts
            future.release()

    def _result(self, future: Future, lot: Lot, begun: list[int]) -> LotResult:
        """Return the result of a lot, of which these cases were begun."""
        from distributed import KilledWorker  # noqa: PLC0415

        try:
            return LotResult.of(_outcome(future))
        except KilledWorker:
            told = f"the worker died {DEATHS + 1} times, the last time in this case"
            return LotResult(Figures(), {}, [(begun[-1] if begun else lot.seeds[0], told)])

    def shrink(self, backend: str, seed: int) -> str | None:
        from distributed import KilledWorker, wait  # noqa: PLC0415

        with _its_end_is_told():
            future = self._client.submit(shrunk, backend, seed, pure=False)
            wait(future)
        try:
            return _outcome(future)
        except KilledWorker:
            return None

    def _begun(self, name: str) -> list[int]:
        """Return the seeds of the cases of a lot that were begun, on whichever worker."""
        events: Any = self._client.get_events(f"{TOPIC}-{name}")
        return [message for _, message in events]


def run_pass(
    settings: Settings, database: Database, tell: TellPass, versions: dict[str, str]
) -> int:
    """Run a pass, write its results as they come, and return its number.

    Raises
    ------
    ToolError
        Dask is missing.
    SchedulerError
        The scheduler does not answer, or has no workers, or ended before the pass did.
    """
    started = time.monotonic()
    end = started + settings.seconds
    todo = lots(settings.backends, settings.cores, database.done())
    if settings.most_lots is not None:
        todo = itertools.islice(todo, settings.most_lots)
    with ExitStack() as stack:
        crew = stack.enter_context(_crew(settings))
        number = database.begin(crew.workers, settings.scheduler or "local", versions)
        progress = Progress()
        stack.callback(lambda: database.end(number, time.monotonic() - started))
        for lot in itertools.islice(todo, (1 + AHEAD) * crew.workers):
            crew.start(lot)
        for lot, result, attempts in crew.results():
            if database.add(number, lot, result, attempts):
                progress.figures.add(result.figures)
                progress.failures += len(result.failures)
                progress.lots += 1
                progress.retried += attempts > 1
            progress.seconds = time.monotonic() - started
            tell(progress)
            if time.monotonic() < end and (lot := next(todo, None)) is not None:
                crew.start(lot)
        for failure in _to_shrink(database):
            if (smallest := crew.shrink(failure.backend, failure.seed)) is not None:
                database.set_smallest(failure, smallest)
    return number


def _to_shrink(database: Database) -> list[Failure]:
    """Return some failures that have not been shrunk, and that this bench can repeat."""
    failures = database.failures()
    return [each for each in failures if each.is_current and not each.smallest][:SHRUNK]


def shrunk(backend: str, seed: int) -> str:
    """Return the smallest case, as JSON, that fails as the case of a seed does."""
    return shrink(drawn_case(seed, backend), rig_of(backend)).to_json()


@contextmanager
def _crew(settings: Settings) -> Iterator[_Local | _Cluster]:
    """Yield what runs the lots; a cluster of its own ends with the context."""
    if settings.workers == 0 and settings.scheduler is None:
        yield _Local()
        return
    require("distributed")
    import dask.config  # noqa: PLC0415 (needs the extra regress)
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": DEATHS}))
        if settings.scheduler is None:
            with _interrupts_wait():
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=settings.workers,
                        threads_per_worker=1,
                        memory_limit=0,
                        dashboard_address=None,  # pyright: ignore[reportArgumentType] (none)
                        silence_logs=50,
                    )
                )
            client = stack.enter_context(Client(cluster))
        else:
            client = stack.enter_context(_connected(settings.scheduler))
        yield _Cluster(client, max(1, len(client.scheduler_info(n_workers=-1)["workers"])))


def _outcome(future: Future) -> Any:
    """Return what a task has given, or raise its error, which is none of the scheduler."""
    with nullcontext() if future.status == "error" else _its_end_is_told():
        return future.result()


@contextmanager
def _its_end_is_told() -> Iterator[None]:
    """Raise a SchedulerError where the scheduler does not answer any more.

    Dask tells of that by errors of several kinds.
    """
    from distributed.client import ClosedClientError  # noqa: PLC0415

    cancelled = (asyncio.CancelledError, concurrent.futures.CancelledError)
    try:
        yield
    except (OSError, ClosedClientError, *cancelled) as error:
        raise SchedulerError(
            f"the scheduler has ended: {str(error) or type(error).__name__}; "
            "the database keeps what was run until then, and the next pass goes on there"
        ) from error


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Start processes that get no interrupts; one that comes meanwhile waits for the end of this.

    Ctrl-C reaches the workers too, from their first moment on, but this process ends them.
    """
    # What starts this helper of `multiprocessing` lets interrupts through again, so it comes first.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _connected(address: str) -> Client:
    """Return a client of a scheduler that has workers.

    Raises
    ------
    SchedulerError
        There is none, or no worker has come.
    """
    import dask.config  # noqa: PLC0415
    from distributed import Client  # noqa: PLC0415

    # What Dask would log as an error is told by an exception.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        with dask.config.set({"distributed.comm.timeouts.connect": CONNECT_SECONDS}):
            client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:  # a timeout is an OSError
        raise SchedulerError(f"there is no scheduler of Dask at {address}: {error}") from error
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except OSError as error:
        client.close()
        raise SchedulerError(f"the scheduler at {address} has no workers") from error
    return client


def _run_on_worker(lot: Lot, name: str, expected: Revision) -> dict[str, object]:
    """Run a lot on a worker, and tell the scheduler of every case that is begun.

    Raises
    ------
    SchedulerError
        The worker has other sources than the process that asks, for which its results would count.
    """
    from distributed import get_worker  # noqa: PLC0415

    if (own := revision()) != expected:
        raise SchedulerError(
            f"a worker has other sources: gateware {own.gateware} and bench {own.bench}, and here "
            f"they are {expected.gateware} and {expected.bench}; install the same ones on it"
        )
    worker = get_worker()
    return run_lot(lot, lambda seed: worker.log_event(f"{TOPIC}-{name}", seed)).as_dict()
