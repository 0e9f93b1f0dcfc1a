"""Accelerators in processes of their own, which share operators and the jobs of operators.

A team has the results, and the clocks, of one accelerator: a job takes as many clocks whichever
process runs it. It is quicker where there are several jobs at a time.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection, wait
from threading import Lock, Thread
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from extremum.hdl.config import CoreConfig
from extremum.host.accelerator import Accelerator
from extremum.host.checks import tensor_for, warn_of_empty_windows
from extremum.host.errors import SimulationError
from extremum.host.plan import Plan, plan
from extremum.host.plan_runner import JobResults, joined_results, report_of
from extremum.host.progress import TellProgress
from extremum.host.report import Report
from extremum.model import Pooling, Reduction

__all__ = ["Team"]

Operation = tuple[Reduction | Pooling, NDArray[Any]]
"""An operator and its tensor."""

Done = tuple[Any, Report]
"""What an operator gave, and its report."""


WORTHWHILE_CLOCKS = {"native": 2_000_000, "verilator": 50_000, "icarus": 10_000, "model": 2_000_000}
"""For each backend, the clocks that it simulates in the time that processes take to start.

That is a second or two: operators of fewer clocks do not start the processes.
"""


class Team:
    """Processes with an accelerator each.

    The processes are started by the first call whose operators together have several jobs (on an
    AXI block, which takes whole operators: for several operators) and at least
    :data:`WORTHWHILE_CLOCKS` predicted clocks; the workers of a scheduler take any of several jobs.
    Until then, and whenever a call has a single job, the accelerator of this process runs it.

    Threads may share a team; its processes are started once. A forked copy leaves the processes of
    its original alone, and starts its own.

    Parameters
    ----------
    config
        What all cores are built for.
    backend, bus
        See :class:`extremum.host.accelerator.Accelerator`. On a bus the jobs of an operator follow
        each other in one block, so only whole operators are shared.
    workers
        How many processes; as many as the machine has processors, if None.
    scheduler
        Address of a scheduler of Dask, whose workers are used instead. They need this package.
    progress
        Called with the :class:`extremum.host.progress.Progress` of what runs in this process; the
        workers tell nothing.

    Attributes
    ----------
    config : CoreConfig
        What all cores are built for.
    report : Report or None
        What the last operator of :meth:`run` took; None before the first.

    Raises
    ------
    TypeError, ValueError
        A parameter is not what it should be.
    ConnectionError
        No scheduler answers. Raised when it is needed first.
    """

    def __init__(
        self,
        config: CoreConfig,
        *,
        backend: str = "native",
        bus: str = "none",
        workers: int | None = None,
        scheduler: str | None = None,
        progress: TellProgress | None = None,
    ) -> None:
        if not isinstance(config, CoreConfig):
            raise TypeError(f"config must be a CoreConfig, not {config!r}")
        self._workers = (os.cpu_count() or 1) if workers is None else _checked(workers)
        self.config = config
        self._settings = {"data_types": config, "backend": backend, "bus": bus}
        self._here = Accelerator(config, backend=backend, bus=bus, progress=progress)
        self._splits = bus == "none" and backend != "model"
        self._scheduler = scheduler
        self._client: Any = None
        self._executor: Executor | None = None
        self._original: Executor | None = None
        self._end: Connection | None = None
        self._lock = Lock()
        self._process = os.getpid()
        self.report: Report | None = None

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes and the simulation of this one; the next operator starts new ones."""
        self._leave_original()
        with self._lock:
            client, executor = self._client, self._executor
            self._executor = self._client = self._end = None
        if client is not None:
            client.close()
        elif executor is not None:
            executor.shutdown(cancel_futures=True)
        self._here.close()

    def _abandon(self, executor: Executor) -> None:
        """End the processes at once, whatever they are computing, if they are still the team's."""
        with self._lock:
            if self._executor is not executor or self._client is not None:
                return
            self._executor, end, self._end = None, self._end, None
        if end is not None:
            end.send_bytes(b"end")  # forked copies of this process keep the pipe open
        executor.shutdown(wait=False, cancel_futures=True)

    def _leave_original(self) -> None:
        """Forget the processes of the team that this one is a forked copy of."""
        if self._process != os.getpid():
            # If it were collected here, it would shut down the processes of the original.
            self._original = self._executor
            self._executor = self._client = self._end = None
            self._lock = Lock()  # whoever held it is in another process
            self._process = os.getpid()

    def run(self, problem: Reduction | Pooling, x: NDArray[Any]) -> Any:
        """Carry out an operator, and set :attr:`report`.

        Parameters and results are those of :meth:`extremum.host.accelerator.Accelerator.run`, the
        errors those of :meth:`run_all`.
        """
        ((result, self.report),) = self.run_all([(problem, x)])
        return result

    def run_all(self, work: Sequence[Operation], *, warns: bool = True) -> list[Done]:
        """Carry out operators side by side.

        Parameters
        ----------
        work
            Each operator, and its tensor.
        warns
            Whether a warning is given of the empty windows of an operator. Its report counts them.

        Returns
        -------
        list of (result, report)
            For each operator what :meth:`Accelerator.run` returns, and its report.

        Raises
        ------
        TypeError, ValueError
            A tensor is not of its operator's type and sizes.
        SimulationError
            A simulation failed, or a process has died.
        """
        self._leave_original()
        work = [(problem, tensor_for(problem, x)) for problem, x in work]
        plans = [plan(problem, self.config) for problem, _ in work]
        tasks = sum(len(todo.jobs) if self._splits else 1 for todo in plans)
        if tasks < 2 or not self._is_worth(sum(todo.cycles for todo in plans)):
            return [self._here.run_reported(*each, warns=warns) for each in work]
        executor, workers = self._running()
        shares = [self._shares(todo, workers) for todo in plans]
        try:
            given = self._carry_out(executor, work, shares)
        except BrokenProcessPool as error:
            with self._lock:
                if self._executor is executor:
                    self._executor = None
            raise SimulationError("a worker of the team has died: run it again") from error
        except (CancelledError, RuntimeError) as error:
            if self._executor is executor:
                raise
            raise SimulationError("the team was closed meanwhile: run it again") from error
        except BaseException as error:
            if not isinstance(error, Exception):  # an interrupt, for example
                self._abandon(executor)
            raise
        done = [_done(*each) for each in zip(plans, shares, given, strict=True)]
        if warns:
            for _, report in done:
                warn_of_empty_windows(report.empty_windows)
        return done

    def _carry_out(
        self,
        executor: Executor,
        work: Sequence[Operation],
        shares: Sequence[Sequence[range | None]],
    ) -> list[list[Any]]:
        """Carry out all shares of all operators; return what each share gave, by operator.

        After an error the shares that have not begun are cancelled. After an interrupt the caller
        also ends those that run, by :meth:`_abandon`.
        """
        futures: list[list[Future[Any]]] = []
        try:
            for each, of_each in zip(work, shares, strict=True):
                futures.append([])
                for share in of_each:
                    futures[-1].append(executor.submit(_run_share, self._settings, *each, share))
            return [[share.result() for share in of_each] for of_each in futures]
        except Exception:
            for share in itertools.chain(*futures):
                share.cancel()
            raise

    def _is_worth(self, clocks: int) -> bool:
        """Return whether work of so many predicted clocks goes to the processes."""
        if self._scheduler is not None or self._executor is not None:
            return True
        return self._workers > 1 and clocks >= WORTHWHILE_CLOCKS[self._here.backend]

    def _shares(self, todo: Plan, workers: int) -> list[range | None]:
        """Return the jobs of each share of an operator; None stands for all of them."""
        jobs = len(todo.jobs)
        if not self._splits or jobs < 2:
            return [None]
        count = min(jobs, workers)
        edges = [jobs * place // count for place in range(count + 1)]
        return [range(*pair) for pair in itertools.pairwise(edges)]

    def _running(self) -> tuple[Executor, int]:
        """Return the executor of the shares, started if need be, and the number of its workers."""
        with self._lock:
            if self._executor is None:
                self._here.prepare()  # compiles the core, once for all
                self._executor = self._start()
            workers = self._workers if self._client is None else len(self._client.ncores())
            return self._executor, max(workers, 1)

    def _start(self) -> Executor:
        if self._scheduler is None:
            context = multiprocessing.get_context("spawn")
            told, self._end = context.Pipe(duplex=False)
            return ProcessPoolExecutor(self._workers, context, initializer=_begin, initargs=(told,))
        from distributed import Client  # noqa: PLC0415 (an extra of its own)

        try:
            self._client = Client(self._scheduler, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            message = f"no scheduler of Dask answers at {self._scheduler}"
            raise ConnectionError(message) from error
        return self._client.get_executor()


CONNECT_SECONDS = 15
"""Seconds after which a scheduler that does not answer is given up."""


def _checked(workers: object) -> int:
    """Return the number of workers, if it is one.

    Raises
    ------
    TypeError
        ``workers`` is no integer.
    ValueError
        ``workers`` is less than 1.
    """
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise TypeError(f"workers must be an integer, not {workers!r}")
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    return workers


def _done(todo: Plan, shares: Sequence[range | None], given: Sequence[Any]) -> Done:
    """Return the result of an operator from what its shares gave."""
    if shares == [None]:
        return given[0]
    jobs: list[JobResults] = [job for share in given for job in share]
    results, cycles = joined_results(todo, jobs)
    return results.finish(), report_of(todo, cycles, results.count_empty_windows())


_accelerators: dict[str, Accelerator] = {}
"""The accelerators of this worker process, by the text of their settings."""


def _run_share(
    settings: dict[str, Any], problem: Reduction | Pooling, x: NDArray[Any], share: range | None
) -> Any:
    """Carry out an operator, or some jobs of it, in a worker."""
    key = repr(settings)
    if key not in _accelerators:
        _accelerators[key] = Accelerator(**settings)
    accelerator = _accelerators[key]
    if share is None:
        return accelerator.run_reported(problem, x, warns=False)
    return accelerator.run_jobs(plan(problem, accelerator.config), x, share)


def _begin(told: Connection) -> None:
    """Prepare a worker process: it ignores interrupts, and ends when its parent wants it to.

    The parent says so by sending anything on the pipe ``told``. The worker ends as well when the
    parent has ended.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    ends = [told] if parent is None else [told, parent.sentinel]
    Thread(target=lambda: (wait(ends), os._exit(1)), daemon=True).start()
