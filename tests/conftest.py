"""What all test files share: reproducible examples, and accelerators that a file's tests reuse."""

import signal

import pytest
from hypothesis import HealthCheck, settings

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


@pytest.fixture
def interruptible():
    """Let interrupts reach this process even if it was started to ignore them, as by ``nohup``."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def hardware():
    """Return accelerators that the tests of a file share, so that each is started once."""
    from accelerators import Hardware  # noqa: PLC0415 - the golden model's tests need no hardware

    with Hardware() as hardware:
        yield hardware
