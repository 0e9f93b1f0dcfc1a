"""Accelerators in processes of their own, which share operators and the jobs of operators.

A team has the results, and the clocks, of one accelerator: a job takes as many clocks whichever
process runs it. It is quicker where there are several jobs at a time.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import warnings
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from types import TracebackType
from typing import Any

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.host.accelerator import Accelerator
from extremum.host.errors import SimulationError
from extremum.host.plan import Plan, plan
from extremum.host.plan_runner import JobResults, gathered, report_of
from extremum.host.progress import Tell
from extremum.host.report import Report
from extremum.model import EmptyWindowWarning, Pooling, Reduction

__all__ = ["Team"]

Work = tuple[Reduction | Pooling, np.ndarray]
"""An operator and its tensor."""

Done = tuple[Any, Report]
"""What an operator gave, and its report."""


START_CLOCKS = {"native": 2_000_000, "verilator": 50_000, "icarus": 10_000, "model": 2_000_000}
"""Clocks of a backend that take about as long as the start of processes, a second or two."""


class Team:
    """Processes with an accelerator each.

    They are started when there are several jobs for the first time that take longer than a start,
    by :data:`START_CLOCKS`; until then, and if there is one job, this process runs it.

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
        Is told of what runs in this process.

    Raises
    ------
    ValueError
        There is no worker.
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
        progress: Tell | None = None,
    ) -> None:
        self._workers = (os.cpu_count() or 1) if workers is None else workers
        if self._workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        self.config = config
        self._settings = {"data_types": config, "backend": backend, "bus": bus}
        self._here = Accelerator(config, backend=backend, bus=bus, progress=progress)
        self._splits = bus == "none" and backend != "model"
        self._scheduler = scheduler
        self._client: Any = None
        self._executor: Executor | None = None
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
        """End the processes and the simulation of this one."""
        if self._client is not None:
            self._client.close()
        elif self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        self._executor = self._client = None
        self._here.close()

    def run(self, problem: Reduction | Pooling, x: np.ndarray) -> Any:
        """Carry out an operator as :meth:`Accelerator.run` does, and set :attr:`report`."""
        ((result, self.report),) = self.run_all([(problem, x)])
        return result

    def run_all(self, work: Sequence[Work]) -> list[Done]:
        """Carry out operators side by side.

        Returns
        -------
        list of (result, report)
            For each operator what :meth:`Accelerator.run` returns, and its report.

        Raises
        ------
        SimulationError
            A simulation failed, or a process has died.
        """
        plans = [plan(problem, self._here.config) for problem, _ in work]
        shares = [self._shares(todo) for todo in plans]
        if sum(map(len, shares)) < 2 or not self._is_worth(sum(todo.cycles for todo in plans)):
            return [self._run_here(*each) for each in work]
        if self._executor is None:
            self._here.prepare()  # compiles the core, once for all
            self._executor = self._start()
        executor = self._executor
        try:
            futures = [
                [executor.submit(_run_share, self._settings, *each, share) for share in of_each]
                for each, of_each in zip(work, shares, strict=True)
            ]
            return [_done(*each) for each in zip(plans, shares, futures, strict=True)]
        except BrokenProcessPool as error:
            self._executor = None
            raise SimulationError("a worker of the team has died: run it again") from error

    def _is_worth(self, clocks: int) -> bool:
        """Return whether the processes are to do what takes so many clocks."""
        if self._scheduler is not None or self._executor is not None:
            return True
        return self._workers > 1 and clocks >= START_CLOCKS[self._here.backend]

    def _shares(self, todo: Plan) -> list[range | None]:
        """Return the jobs of each share of an operator; None stands for all of them."""
        jobs = len(todo.jobs)
        if not self._splits or jobs < 2:
            return [None]
        count = min(jobs, self._workers)
        edges = [jobs * place // count for place in range(count + 1)]
        return [range(*pair) for pair in itertools.pairwise(edges)]

    def _run_here(self, problem: Reduction | Pooling, x: np.ndarray) -> Done:
        result = self._here.run(problem, x)
        assert self._here.report is not None
        return result, self._here.report

    def _start(self) -> Executor:
        if self._scheduler is None:
            context = multiprocessing.get_context("spawn")
            return ProcessPoolExecutor(self._workers, context, initializer=_begin)
        from distributed import Client  # noqa: PLC0415 (an extra of its own)

        try:
            self._client = Client(self._scheduler, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            message = f"no scheduler of Dask answers at {self._scheduler}"
            raise ConnectionError(message) from error
        return self._client.get_executor()


CONNECT_SECONDS = 15
"""Seconds after which a scheduler that does not answer is given up."""


def _done(todo: Plan, shares: Sequence[range | None], futures: Sequence[Future[Any]]) -> Done:
    """Return the result of an operator all of whose shares are on their way."""
    given = [future.result() for future in futures]
    if shares == [None]:
        result, report = given[0]
        return result, report
    jobs: list[JobResults] = [job for share in given for job in share]
    results, cycles = gathered(todo, jobs)
    empty = results.count_empty_windows()
    if empty:
        warnings.warn(EmptyWindowWarning(empty), stacklevel=2)
    return results.finish(), report_of(todo, cycles, empty)


_accelerators: dict[str, Accelerator] = {}
"""Those of a worker, by their settings."""


def _run_share(
    settings: dict[str, Any], problem: Reduction | Pooling, x: np.ndarray, share: range | None
) -> Any:
    """Carry out an operator, or some jobs of it, in a worker."""
    key = repr(settings)
    if key not in _accelerators:
        _accelerators[key] = Accelerator(**settings)
    accelerator = _accelerators[key]
    if share is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyWindowWarning)
            return accelerator.run(problem, x), accelerator.report
    return accelerator.run_jobs(plan(problem, accelerator.config), x, share)


def _begin() -> None:
    """Let a worker leave interrupts to the process that started it, and end with that process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
