"""One accelerator in several threads and processes, and its copies: what waits, what is refused."""

import copy
import multiprocessing
import os
import pickle
import random
import signal
import threading
from contextlib import suppress
from threading import Thread
from weakref import WeakValueDictionary

import numpy as np
import pytest
from amounts import mostly_slow
from simulation import ONE_COCOTB

from extremum.host import Accelerator, SimulationError, ToolError, session
from extremum.host.turns import Turns
from extremum.model import Reduction, argmax

PARAMETERS = {"data_types": ("int8",), "max_window": (1, 1, 1)}
LONGEST = 60
"""Seconds after which a thread or a process is given up."""


def tensor(seed):
    return np.random.default_rng(seed).integers(-9, 9, (5, 70), np.int8)


@pytest.mark.parametrize("backend", ["native", "model"])
def test_threads_wait_for_each_other(backend):
    """Eight threads at once: every result is right, and no two calls are inside at a time."""
    inside = []
    most = []

    def watch(progress):
        if progress.phase == "planning":
            inside.append(threading.get_ident())
            most.append(len(set(inside)))

    def use(seed):
        for number in range(20):
            x = tensor(100 * seed + number)
            right.append(np.array_equal(accelerator.argmax(x, 1), argmax(x, 1)))

    right = []
    run = Accelerator._run

    def leave(self, *arguments):
        try:
            return run(self, *arguments)
        finally:
            inside.remove(threading.get_ident())

    with (
        pytest.MonkeyPatch.context() as patch,
        Accelerator(**PARAMETERS, backend=backend, progress=watch) as accelerator,
    ):
        patch.setattr(Accelerator, "_run", leave)
        threads = [threading.Thread(target=use, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONGEST)
    assert right == [True] * 160
    assert most == [1] * 160


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_nothing_taken():
    """Wherever it comes: in front of a call, in it, or behind it."""
    turns, rounds = Turns(), random.Random(1)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(3000):
            try:
                signal.setitimer(signal.ITIMER_REAL, rounds.uniform(1e-6, 6e-5))
                for _ in range(200):
                    with turns.take():
                        pass
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                with turns.take():  # which would be refused
                    pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_call_returns_its_own_report():
    with Accelerator(**PARAMETERS) as accelerator:
        problem = Reduction.of("argmax", (1, 6), "int8", 1)
        result, report = accelerator.run_reported(problem, np.arange(6, dtype=np.int8)[None])
        accelerator.argmax(np.zeros(3, np.int8))
    assert (result.item(), report.beats_in) == (5, -(-6 // accelerator.config.lanes))


@pytest.mark.parametrize("backend", [*ONE_COCOTB, "model"])
@pytest.mark.parametrize("call", ["argmax", "close", "prepare"])
def test_a_callback_must_not_use_its_accelerator(backend, call):
    """Otherwise it would wait for the call that it is called from."""

    def use(progress):
        getattr(accelerator, call)(*([tensor(1)] if call == "argmax" else []))

    with Accelerator(**PARAMETERS, backend=backend, progress=use) as accelerator:
        with pytest.raises(RuntimeError, match="its progress callback must not use it; raise"):
            accelerator.argmax(tensor(1))
        accelerator._progress = None
        assert accelerator.argmax(np.arange(5, dtype=np.int8)) == 4


def in_a_child(work):
    """Do something in a forked copy of this process; return its exit status."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(LONGEST)
    return process.exitcode


@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_a_forked_copy_has_a_simulation_of_its_own(backend):
    with Accelerator(**PARAMETERS, backend=backend) as accelerator:
        x = tensor(1)
        accelerator.argmax(x, 1)

        def close():
            accelerator.close()

        def use():
            ours = accelerator._session.simulation
            assert np.array_equal(accelerator.argmax(tensor(2), 1), argmax(tensor(2), 1))
            assert accelerator._session.simulation is not ours
            accelerator.close()

        simulation = accelerator._session.simulation
        assert in_a_child(close) == 0
        assert in_a_child(use) == 0
        # The simulation of this process goes on.
        assert np.array_equal(accelerator.argmax(x, 1), argmax(x, 1))
        assert accelerator._session.simulation is simulation


@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_a_forked_copy_does_not_write_the_waves_of_another_process(backend, tmp_path):
    waves = tmp_path / "wave.vcd"
    with Accelerator(**PARAMETERS, backend=backend, waves=waves) as accelerator:
        accelerator.argmax(tensor(1), 1)

        def use():
            with pytest.raises(SimulationError, match=r"wave\.vcd is written by the process that"):
                accelerator.argmax(tensor(1), 1)
            accelerator.close()

        assert in_a_child(use) == 0
        accelerator.argmax(tensor(2), 1)
    assert waves.read_text().count("$enddefinitions") == 1


def test_a_copy_that_was_forked_before_its_first_operator_writes_waves(tmp_path):
    """No other process writes them, so it may, and goes on with them."""
    with Accelerator(**PARAMETERS, waves=tmp_path / "wave.vcd") as accelerator:

        def use():
            for seed in (1, 2):
                found = accelerator.argmax(tensor(seed), 1)
                assert np.array_equal(found, argmax(tensor(seed), 1))
            accelerator.close()

        assert in_a_child(use) == 0
    assert (tmp_path / "wave.vcd").read_text().count("$enddefinitions") == 1


def test_a_copy_that_was_forked_during_a_call_can_be_used():
    """The thread that holds the lock is not in the copy, so the copy must get a lock of its own."""
    found = []

    def fork(progress):
        if progress.phase == "simulating" and not found:
            found.append(in_a_child(use))

    def use():
        accelerator._progress = None
        assert accelerator.argmax(np.arange(5, dtype=np.int8)) == 4
        accelerator.close()
        os._exit(7)

    with Accelerator(**PARAMETERS, progress=fork) as accelerator:
        accelerator.argmax(tensor(1))
    assert found == [7]


DUPLICATES = [lambda a: pickle.loads(pickle.dumps(a)), copy.copy]
"""Ways to copy an accelerator within a process."""


@pytest.mark.parametrize("backend", ONE_COCOTB)
@pytest.mark.parametrize("bus", mostly_slow(["none", "axi"], ["none"]))
@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_a_copy_has_a_simulation_of_its_own(backend, bus, duplicate):
    with Accelerator(**PARAMETERS, backend=backend, bus=bus) as accelerator:
        accelerator.argmax(tensor(1), 1)
        with duplicate(accelerator) as other:
            assert (other.config, other.report) == (accelerator.config, accelerator.report)
            assert other._session.simulation is None
            assert np.array_equal(other.argmax(tensor(2), 1), argmax(tensor(2), 1))
            assert other._session.simulation is not accelerator._session.simulation
            if bus == "axi":
                assert other._session._driver is not accelerator._session._driver
        assert np.array_equal(accelerator.argmax(tensor(3), 1), argmax(tensor(3), 1))


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_a_copy_does_not_write_the_waves_of_its_original(duplicate, tmp_path):
    waves = tmp_path / "wave.vcd"
    with Accelerator(**PARAMETERS, waves=waves) as accelerator:
        accelerator.argmax(tensor(1), 1)
        with duplicate(accelerator) as other, duplicate(other) as third:
            for each in (other, third):
                with pytest.raises(SimulationError, match=r"wave\.vcd is written by the accelera"):
                    each.argmax(tensor(2), 1)
        accelerator.argmax(tensor(3), 1)
    assert waves.read_text().count("$enddefinitions") == 1
    # Nobody writes them as long as nothing is simulated.
    with Accelerator(**PARAMETERS, waves=waves) as accelerator, duplicate(accelerator) as other:
        assert np.array_equal(other.argmax(tensor(2), 1), argmax(tensor(2), 1))


@pytest.mark.parametrize("other_name", ["wave.vcd", "link.vcd", "sub/../wave.vcd"])
@pytest.mark.parametrize("duplicate", [*DUPLICATES, None])
def test_two_accelerators_do_not_write_the_same_waves(duplicate, other_name, tmp_path):
    """Not even if the copy was made before the first operator, or if it is none."""
    waves, other_waves = tmp_path / "wave.vcd", tmp_path / other_name
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.vcd").symlink_to(waves)
    with Accelerator(**PARAMETERS, waves=waves) as accelerator:
        if duplicate is None:
            other = Accelerator(**PARAMETERS, waves=other_waves)
        else:
            other = duplicate(accelerator)
        with other:
            accelerator.argmax(tensor(1), 1)
            for _ in range(2):
                with pytest.raises(SimulationError, match=r"vcd is written by another accelera"):
                    other.argmax(tensor(2), 1)
            accelerator.close()
            assert np.array_equal(other.argmax(tensor(2), 1), argmax(tensor(2), 1))
            with pytest.raises(SimulationError, match=r"vcd is written by another accelera"):
                accelerator.argmax(tensor(3), 1)
    times = [int(line[1:]) for line in waves.read_text().splitlines() if line.startswith("#")]
    assert times == sorted(times)


def test_of_two_that_begin_at_once_one_writes_the_waves(tmp_path, monkeypatch):
    """Whoever claims a file has begun to start: nobody else may see it in between."""
    waves, began = tmp_path / "wave.vcd", []
    first, second = (Accelerator(**PARAMETERS, waves=waves)._session for _ in range(2))
    monkeypatch.setattr(second, "_simulation", began.append)

    class Interrupted(WeakValueDictionary):
        def __setitem__(self, place, writer):
            super().__setitem__(place, writer)
            if writer is first:
                thread.start()
                thread.join(0.2)

    def start_second():
        with suppress(SimulationError):
            second.start(print)

    monkeypatch.setattr(session, "_writers", Interrupted())
    monkeypatch.setattr(first, "_simulation", lambda tell: thread.join() or began.append(tell))
    thread = Thread(target=start_second)
    tell = lambda progress: None  # noqa: E731
    first.start(tell)
    assert began == [tell]


def test_a_file_of_waves_is_taken_while_its_core_is_compiled(tmp_path, monkeypatch):
    """Which takes seconds, in which another thread may ask for the same file; or which may fail."""
    waves = tmp_path / "wave.vcd"
    with (
        Accelerator(**PARAMETERS, waves=waves) as accelerator,
        Accelerator(**PARAMETERS, waves=waves) as other,
    ):

        def failing(tell):
            with pytest.raises(SimulationError, match=r"vcd is written by another accelera"):
                other.argmax(tensor(2), 1)
            raise ToolError("there is no compiler")

        monkeypatch.setattr(accelerator._session, "_simulation", failing)
        with pytest.raises(ToolError, match="there is no compiler"):
            accelerator.argmax(tensor(1), 1)
        assert np.array_equal(other.argmax(tensor(2), 1), argmax(tensor(2), 1))
