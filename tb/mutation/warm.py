"""Runs tests on mutants of software: from a process that is warm, and no test that cannot tell.

``python -m extremum.tb.mutation.warm JOB`` works in a copy of the tree. JOB is a file in JSON with
the files that may be mutated, the test files, and the mutants. It prints a line in JSON for the
tests without a mutant, and then one for each mutant.

Each run of the tests is a fork of this process, which has imported what is large and is not
mutated. A first run notes which lines of the files each test reaches. A second one measures how
long each test takes. A mutant then meets the tests that reach its statement, the quickest first,
until one fails.

What one test leaves behind for another, such as a shared accelerator, counts for the first of them
alone. So a mutant may survive wrongly, and is looked at then. A mutant counts as killed only if the
same tests, in the same order, pass without it.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.util
import json
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import (
    _lru_cache_wrapper,  # pyright: ignore[reportPrivateUsage] (all caches are of this class)
)
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

FORK = multiprocessing.get_context("fork")

LARGE = ("numpy", "hypothesis.extra.numpy", "amaranth.sim", "amaranth.back")
"""What is imported once, if it is installed. None of it imports the project."""

PATIENCE = 10
"""A test is given up after so many times what it takes without a mutant, and SLACK more."""

SLACK = 10.0
"""Seconds that importing the tests may take, and each of them besides its own time."""

MEMORY = 8 << 30
"""Bytes that a process may have, since a mutant may ask for very many."""

OUTPUT = "warm.log"
"""What the last run of the tests printed."""

IMPORT = "import"
"""Stands for the import of the files, beside the names of tests and of test files."""


def statements(source: str) -> dict[int, range]:
    """Return the lines of the smallest statement around each line of a module.

    Of a statement that holds others, such as ``for``, they are the lines of its head.
    """
    found: dict[int, range] = {}
    nodes = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt | ast.excepthandler)
    ]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        body = getattr(node, "body", None)
        head = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
        lines = range(first, head + 1)
        found |= dict.fromkeys(range(first, (node.end_lineno or head) + 1), lines)
    return found


class Reach:
    """A plugin of pytest that notes which lines of some files each test reaches.

    What a fixture or the import of a test file reaches is noted for all tests of that file.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        # Few installations have this package, so that it is imported by name.
        package = importlib.import_module("coverage")
        self._paths = {str(Path(path).resolve()): path for path in paths}
        self._coverage = package.Coverage(
            data_file=None,
            config_file=False,
            include=list(self._paths) or [os.devnull],
            messages=False,
        )
        self._caches: list[Any] = []

    def start(self) -> None:
        """Note lines from now on."""
        self._coverage.start()
        self._coverage.switch_context(IMPORT)

    def lines(self) -> dict[str, dict[int, list[str]]]:
        """Return the names of what reaches each line of each file."""
        self._coverage.stop()
        data = self._coverage.get_data()
        return {path: data.contexts_by_lineno(name) for name, path in self._paths.items()}

    def _note(self, name: str) -> None:
        self._coverage.switch_context(name)

    def pytest_collectstart(self, collector: Any) -> None:
        """Note lines for a test file."""
        self._note(collector.nodeid.partition("::")[0])

    def pytest_collection_finish(self, session: Any) -> None:
        """Find the project's caches, which would hide lines from all tests but the first."""
        self._caches = [
            each for each in gc.get_objects()
            if isinstance(each, _lru_cache_wrapper)
            and str(getattr(each, "__module__", "")).startswith("extremum.")
        ]  # fmt: skip

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note lines for the file of a test, and forget what other tests left in caches."""
        self._note(nodeid.partition("::")[0])
        for each in self._caches:
            each.cache_clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Note lines for a test, and for its file behind it."""
        self._note(item.nodeid)
        yield
        self._note(item.nodeid.partition("::")[0])


NONE_RAN = int(pytest.ExitCode.NO_TESTS_COLLECTED)
"""Pytest's status if there was no test to run."""


class Order:
    """A plugin of pytest that runs some tests in a given order, each with a limit of its time.

    Tests that the run without a mutant did not have come first.

    Parameters
    ----------
    wanted
        The names of the tests, in their order; None for all tests as they come.
    seconds
        What each test takes without a mutant.
    """

    def __init__(self, wanted: Sequence[str] | None, seconds: Mapping[str, float]) -> None:
        self._wanted, self._seconds = wanted, seconds
        self.taken: dict[str, float] = {}
        self._begun = 0.0

    def pytest_collection(self) -> None:
        """Have a failing random test end at once, without a search for a smaller example."""
        settings.register_profile(
            "mutants", settings.default,
            phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False,
        )  # fmt: skip
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Choose the tests and sort them."""
        if self._wanted is None:
            return
        places = {name: place for place, name in enumerate(self._wanted)}
        kept = [i for i in items if i.nodeid in places or i.nodeid not in self._seconds]
        items[:] = sorted(kept, key=lambda item: places.get(item.nodeid, -1))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Set the limit of a test."""
        self._begun = time.monotonic()
        limit(self._seconds.get(nodeid))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note how long a test took."""
        self.taken[nodeid] = time.monotonic() - self._begun


def limit(seconds: float | None) -> None:
    """End this process by a signal if it is not done in many times some seconds; None: never."""
    allowed = 0.0 if seconds is None else PATIENCE * seconds + SLACK
    signal.setitimer(signal.ITIMER_REAL, allowed)


def forked(work: Callable[[], tuple[int, Any]], memory: int = MEMORY) -> tuple[int, Any]:
    """Do work in a fork with so much memory; return its status and its answer.

    The status is negative if a signal ended it.
    """
    receiver, sender = FORK.Pipe(duplex=False)

    def run() -> None:
        os.setsid()
        output = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        status, answer = 1, None
        try:
            status, answer = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sender.send(answer)
            sys.stdout.flush()
            os._exit(status)

    process = FORK.Process(target=run)
    process.start()
    sender.close()
    answer = None
    with suppress(EOFError):
        answer = receiver.recv()
    process.join()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    return process.exitcode or 0, answer


def tested(files: Sequence[str], *plugins: object) -> int:
    """Run test files in this process until a test fails; return pytest's status.

    Plugins of pytest that are imported already are warned of, which is no error here.
    """
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider"]
    return int(pytest.main(["-q", "-x", "--tb=short", *quiet, *files], [*plugins]))


class Tests:
    """The tests of some files: which of them reach a line, and how long each takes.

    Parameters
    ----------
    paths
        The files that may be mutated.
    files
        The test files.
    """

    def __init__(self, paths: Sequence[str], files: Sequence[str]) -> None:
        self._statements = {
            path: statements(Path(path).read_text()) for path in paths if path.endswith(".py")
        }

        # The sanitizers of C reserve terabytes of addresses, and use few of them.
        self._memory = MEMORY if self._statements else resource.RLIM_INFINITY

        def reach() -> tuple[int, Any]:
            watch = Reach(list(self._statements))
            watch.start()
            for path in self._statements:
                module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                importlib.import_module(f"extremum.{module}")
            order = Order(None, {})
            return tested(files, watch, order), (watch.lines(), order.taken)

        status, answer = forked(reach, self._memory)
        if status or answer is None:
            raise RuntimeError(f"the tests fail without a mutant: {Path(OUTPUT).read_text()}")
        self._reached, self.seconds = answer

        def measure() -> tuple[int, Any]:
            order = Order(self._sorted(list(self.seconds)), {})
            return tested(files, order), order.taken

        status, taken = forked(measure, self._memory)
        if status or taken.keys() != self.seconds.keys():
            raise RuntimeError(f"the tests fail in another order: {Path(OUTPUT).read_text()}")
        self.seconds = taken
        self._passing: set[tuple[str, ...]] = set()

    def of(self, path: str, line: int) -> list[str]:
        """Return the tests that reach the statement at a line, in the order in which they run.

        All of them may tell a line that runs as the file is imported, one that none reaches here,
        since it may run in another process, and one of a file that is not Python.
        """
        reached = self._reached.get(path, {})
        lines = self._statements.get(path, {}).get(line, range(line, line + 1))
        names = set[str]().union(*(reached.get(each, set()) for each in lines))
        found = [
            test for test in self.seconds
            if not names or IMPORT in names or test in names or test.partition("::")[0] in names
        ]  # fmt: skip
        return self._sorted(found)

    def _sorted(self, tests: list[str]) -> list[str]:
        """Return tests in the order in which they run: the quickest first.

        What the tests of C share, a library that a compiler makes, takes longer than most of them.
        So they stay beside those of their file, as they come.
        """
        return sorted(tests, key=self.seconds.__getitem__) if self._statements else tests

    def _check(self, ran: Sequence[str]) -> None:
        """Make sure that tests pass without a mutant in the order in which they ran with one.

        It may be that none is left: a mutant can change the parameters of tests, and so their
        names.
        """
        if tuple(ran) in self._passing:
            return
        files = list(dict.fromkeys(test.partition("::")[0] for test in ran))
        order = Order(ran, self.seconds)
        status, _ = forked(lambda: (tested(files, order), None), self._memory)
        if status not in (0, NONE_RAN):
            printed = Path(OUTPUT).read_text()
            raise RuntimeError(f"the tests end with {status} in this order, and print: {printed}")
        self._passing.add(tuple(ran))

    def become(self, path: str, line: int, code: str) -> dict[str, Any]:
        """Return what becomes of a mutant: ``killed``, ``timed_out`` or ``survived``."""
        begun, chosen = time.monotonic(), self.of(path, line)
        files = list(dict.fromkeys(test.partition("::")[0] for test in chosen))
        text = Path(path).read_text()
        Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)

        def work() -> tuple[int, Any]:
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            limit(0)
            order = Order(chosen, self.seconds)
            return tested(files, order), list(order.taken)

        try:
            Path(path).write_text(code)
            status, ran = forked(work, self._memory)
        finally:
            Path(path).write_text(text)
        if status == 1 and ran:
            self._check(ran)
        if status == -signal.SIGKILL:
            raise RuntimeError("the system ended the tests, as it does if memory is short")
        lived = dict.fromkeys((0, NONE_RAN), "survived")
        outcome = ({-signal.SIGALRM: "timed_out"} | lived).get(status, "killed")
        return {
            "outcome": outcome,
            "tests": len(chosen),
            "ran": len(ran or ()),
            "last": ran[-1] if ran else "",
            "seconds": round(time.monotonic() - begun, 2),
        }


def main() -> int:
    """Run the command; return its exit status."""
    job = json.loads(Path(sys.argv[1]).read_text())
    for name in LARGE:
        with suppress(ImportError):
            importlib.import_module(name)
    begun = time.monotonic()
    tests = Tests(job["paths"], job["tests"])
    told = {"tests": len(tests.seconds), "seconds": round(time.monotonic() - begun, 2)}
    print(json.dumps(told), flush=True)
    for mutant in job["mutants"]:
        print(json.dumps(tests.become(**mutant)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
