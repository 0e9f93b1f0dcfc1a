"""A team of processes gives what one accelerator gives: the same bits and the same report."""

import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import Future, ProcessPoolExecutor
from threading import Thread
from typing import Any

import numpy as np
import pytest
from equal_bits import assert_equal_bits

from extremum.host import Accelerator, SimulationError
from extremum.host.team import WORTHWHILE_CLOCKS, Team, _run_share
from extremum.model import EmptyWindowWarning, Pooling, Reduction
from extremum.tb.cores import CORES

CONFIG = CORES["image"]
RNG = np.random.default_rng(4)


def tiled():
    """Return a pooling of several jobs, some windows of which are empty."""
    problem = Pooling.of(
        (2, 3, 9, 300), "int8", (2, 3), start_padding=(4, 1), end_padding=(4, 1),
        return_indices=True,
    )  # fmt: skip
    return problem, RNG.integers(-3, 4, problem.sizes).astype(np.int8)


def reduced():
    problem = Reduction.of("argmin", (5, 40), "int8", (1,))
    return problem, RNG.integers(-3, 4, problem.sizes).astype(np.int8)


def assert_same(actual, expected):
    for a, e in zip(
        *(x if isinstance(x, tuple) else (x,) for x in (actual, expected)), strict=True
    ):
        assert_equal_bits(a, e)


@pytest.fixture(scope="module", autouse=True)
def started_at_once():
    """Let processes be started for the smallest work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extremum.host.team.WORTHWHILE_CLOCKS", dict.fromkeys(WORTHWHILE_CLOCKS, 0))
        yield


@pytest.fixture(scope="module")
def team():
    with Team(CONFIG, workers=2) as team:
        yield team


def test_little_work_starts_no_process(monkeypatch):
    monkeypatch.setattr("extremum.host.team.WORTHWHILE_CLOCKS", WORTHWHILE_CLOCKS)
    with Team(CONFIG, workers=2) as small, warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyWindowWarning)
        small.run(*tiled())
        assert small._executor is None
        assert small.report is not None
        assert small.report.jobs > 2


def test_results_and_reports_are_those_of_one(team):
    work = [tiled(), reduced(), tiled()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyWindowWarning)
        done = team.run_all(work)
        with Accelerator(CONFIG) as accelerator:
            for (problem, x), (result, report) in zip(work, done, strict=True):
                assert_same(result, accelerator.run(problem, x))
                assert report == accelerator.report
                assert report.cycles == report.predicted_cycles
    assert done[0][1].jobs > 2
    assert done[0][1].empty_windows


def test_an_error_ends_what_is_not_yet_begun(team, monkeypatch):
    """Nobody waits for it any more, and it would keep the next call waiting."""
    left = []

    class Executor:
        def submit(self, *arguments):
            left.append(Future())
            if len(left) == 1:
                left[0].set_exception(SimulationError("the core hung"))
            return left[-1]

    monkeypatch.setattr(team, "_executor", executor := Executor())
    monkeypatch.setattr(team, "_running", lambda: (executor, 2))
    with pytest.raises(SimulationError, match="the core hung"):
        team.run_all([tiled(), reduced()])
    assert len(left) > 2
    assert all(each.cancelled() for each in left[1:])


def test_empty_windows_are_told(team):
    with pytest.warns(EmptyWindowWarning) as told:
        team.run(*tiled())
    assert team.report.empty_windows
    assert [each.filename for each in told] == [__file__]
    problem = Pooling.of((1, 2, 4, 4), "int8", 1, start_padding=1)
    work = [(problem, np.zeros(problem.sizes, np.int8))] * 2
    with pytest.warns(EmptyWindowWarning) as told:
        team.run_all(work)
    assert [each.filename for each in told] == [__file__] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = team.run_all(work, warns=False)
    assert [report.empty_windows for _, report in done] == [18, 18]


def test_one_job_starts_no_process():
    with Team(CONFIG, workers=2) as alone:
        alone.run(*reduced())
        assert alone._executor is None
        assert alone.report is not None
        assert alone.report.jobs == 1


def test_a_worker_that_dies_is_told_and_replaced(team):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyWindowWarning)
        expected = team.run(*(work := tiled()))
        victim = next(iter(team._executor._processes))
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(SimulationError, match=r"^a worker of the team has died: run it again$"):
            _until_it_fails(team, work)
        assert_same(team.run(*work), expected)


def _until_it_fails(team, work):
    """Run until the death is seen: at once, or when the next share is handed out."""
    for _ in range(50):
        team.run(*work)


class Endless(Reduction):
    """An operator that no worker ever finishes."""

    def compute(self, tensor: Any) -> np.ndarray:
        time.sleep(100_000)
        return tensor


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_what_workers_compute():
    problem, x = reduced()
    endless = Endless(**vars(problem))
    workers = []

    def interrupt():
        while len(getattr(shared._executor, "_processes", ())) < 2:
            time.sleep(0.01)
        workers.extend(shared._executor._processes.values())  # pyright: ignore
        time.sleep(0.5)  # most of the time they compute by then
        os.kill(os.getpid(), signal.SIGINT)

    with Team(CONFIG, workers=2, backend="model") as shared:
        Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            shared.run_all([(endless, x)] * 4)
        for worker in workers:
            worker.join()
        assert len(shared.run_all([(problem, x)] * 2)) == 2


def test_a_team_that_is_closed_in_the_middle_of_a_call(monkeypatch):
    ended = ProcessPoolExecutor(1)
    ended.shutdown()
    with Team(CONFIG, workers=2, backend="model") as closed:
        monkeypatch.setattr(closed, "_running", lambda: (ended, 2))
        with pytest.raises(SimulationError, match=r"^the team was closed meanwhile: run it again$"):
            closed.run_all([reduced(), reduced()])


def test_threads_start_the_processes_once(monkeypatch):
    started = []
    start = Team._start

    def counted(self):
        started.append(self)
        time.sleep(0.2)
        return start(self)

    monkeypatch.setattr(Team, "_start", counted)
    work = [reduced(), reduced()]
    found = []
    with Team(CONFIG, workers=2, backend="model") as shared:
        threads = [Thread(target=lambda: found.append(shared.run_all(work))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(started) == 1
    assert len(found) == 3


def test_after_its_end_a_team_starts_anew():
    with Team(CONFIG, workers=2, backend="model") as ended:
        first = ended.run_all([reduced(), reduced()])
    assert ended._executor is None
    again = ended.run_all([reduced(), reduced()])
    assert ended._executor is not None
    ended.close()
    assert [report for _, report in first] == [report for _, report in again]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_forked_copy_starts_its_own_processes():
    with Team(CONFIG, workers=2, backend="model") as original:
        work = [reduced(), reduced()]
        expected = original.run_all(work)
        processes = set(original._executor._processes)  # pyright: ignore
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
            child = os.fork()
        if not child:
            signal.alarm(60)
            done = original.run_all(work)
            own = set(original._executor._processes)  # pyright: ignore
            same = all((a == b).all() for (a, _), (b, _) in zip(done, expected, strict=True))
            original.close()
            os._exit(0 if same and not own & processes else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert set(original._executor._processes) == processes  # pyright: ignore
        original.run_all(work)


ORPHANS = """
import sys, time
from extremum.host import team as module
from extremum.host.team import Team
from test_team import CONFIG, tiled
module.WORTHWHILE_CLOCKS = dict.fromkeys(module.WORTHWHILE_CLOCKS, 0)
if __name__ == "__main__":
    team = Team(CONFIG, workers=2)
    team.run(*tiled())
    print(*team._executor._processes, flush=True)
    time.sleep(600)
"""


def test_workers_end_with_their_caller(tmp_path):
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    caller = subprocess.Popen(
        [sys.executable, "-W", "ignore", script],
        env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert caller.stdout is not None
    workers = [int(word) for word in caller.stdout.readline().split()]
    assert workers
    caller.kill()
    caller.communicate()
    for worker in workers:
        for _ in range(600):
            if not os.path.exists(f"/proc/{worker}"):
                break
            time.sleep(0.1)
        assert not os.path.exists(f"/proc/{worker}")


def test_wrong_settings():
    with pytest.raises(ValueError, match=r"^workers must be at least 1, not 0$"):
        Team(CONFIG, workers=0)
    for wrong in (2.5, True, "2"):
        with pytest.raises(TypeError, match=f"^workers must be an integer, not {wrong!r}$"):
            Team(CONFIG, workers=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"^config must be a CoreConfig, not \('int8',\)$"):
        Team(("int8",))  # pyright: ignore[reportArgumentType]
    settings = {"data_types": CONFIG, "backend": "native", "bus": "axi"}
    with pytest.raises(ValueError, match=r"^bus must be 'none'"):
        _run_share(settings, *tiled(), range(1))


@pytest.mark.slow
def test_a_scheduler():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Team(CONFIG, scheduler=cluster.scheduler_address) as team,
        Accelerator(CONFIG) as accelerator,
        warnings.catch_warnings(),
    ):  # fmt: skip
        warnings.simplefilter("ignore")
        problem, x = tiled()
        assert_same(team.run(problem, x), accelerator.run(problem, x))
        assert team.report == accelerator.report
        assert team._running()[1] == 2


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("extremum.host.team.CONNECT_SECONDS", 1)
    with (
        Team(CONFIG, scheduler="tcp://127.0.0.1:9") as team,
        pytest.raises(ConnectionError, match=r"^no scheduler of Dask answers at tcp"),
    ):
        team.run(*tiled())


@pytest.mark.parametrize("workers", [1, 2])
def test_another_tensor_is_refused_whoever_would_take_it(team, workers):
    problem, x = tiled()
    with Team(CONFIG, workers=workers) as here:
        for each in (here, team):
            for wrong in (x.view(np.uint8), x[:1], np.ma.array(x), x.astype(np.float64)):
                with pytest.raises((TypeError, ValueError), match=r"type|sizes|masked"):
                    each.run(problem, wrong)
