"""The memory that a call takes: freed arrays serve the next call, and NumPy's buffers are small."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from extremum.model import max_pooling
from extremum.model.fast import pooling
from extremum.model.fast.buffers import BUFFERED_ELEMENTS, LEAST_VALUES, LEAST_WITH_INDICES

CALLS = 50
PAGES = """
import resource
import numpy as np
from extremum.model import argmax, max_pooling

x = np.ones((1, 32, 64, 64), np.float32)
call = {call}
for _ in range(5):
    call()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({calls}):
    call()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
"""Tells how many pages of memory the operating system supplied during some calls."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="depends on the memory of glibc")
@pytest.mark.parametrize(
    "call",
    [
        "lambda: max_pooling(x, 3, dilations=2, return_indices=True)",
        "lambda: max_pooling(x, 3, dilations=2)",
        "lambda: argmax(x.reshape(8, 4, 16, 4, 16, 4), [0, 2, 4])",
    ],
)
def test_the_operating_system_supplies_no_new_pages(call):
    """Each call allocates arrays of more than a hundred pages, and frees all of them."""
    script = PAGES.format(call=call, calls=CALLS)
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, env=own, stdout=subprocess.PIPE, check=True)
    assert int(ran.stdout) < CALLS


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's statm")
def test_a_process_with_little_memory_goes_on():
    """Where 32 MiB cannot be had, the operators work, and only their memory is not kept."""
    limited = """
import resource
import numpy as np
from extremum.model import argmax

pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (1 << 24)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print(argmax(np.array([1, 3, 2])))
"""
    ran = subprocess.run([sys.executable, "-c", limited], stdout=subprocess.PIPE, check=True)
    assert ran.stdout == b"[1]\n"


SMALL = 512
"""The size of NumPy's buffers that a caller has set."""


@pytest.fixture
def sizes_of_buffers(monkeypatch):
    """Record the size of NumPy's buffers while windows slide; before and behind it is `SMALL`."""
    sizes = []
    slide = pooling.window_winners

    def record(*arguments):
        sizes.append(np.getbufsize())
        return slide(*arguments)

    monkeypatch.setattr(pooling, "window_winners", record)
    before = np.setbufsize(SMALL)
    yield sizes
    assert np.setbufsize(before) == SMALL


@pytest.mark.parametrize(
    ("elements", "name", "indices", "expected"),
    [
        (LEAST_VALUES - 512, "float32", False, SMALL),
        (LEAST_VALUES, "float32", False, BUFFERED_ELEMENTS),
        (2 * LEAST_VALUES, "int64", False, BUFFERED_ELEMENTS),
        (2 * LEAST_VALUES, "float16", False, SMALL),
        (LEAST_WITH_INDICES - 512, "float32", True, SMALL),
        (LEAST_WITH_INDICES, "int8", True, BUFFERED_ELEMENTS),
        (2 * LEAST_WITH_INDICES, "float16", True, BUFFERED_ELEMENTS),
    ],
)
def test_large_poolings_use_small_buffers(elements, name, indices, expected, sizes_of_buffers):
    """Setting the size takes longer than it saves where a tensor is small or its values narrow."""
    x = np.ones((1, 1, elements // 512, 512), name)
    max_pooling(x, 3, return_indices=indices)
    assert set(sizes_of_buffers) == {expected}


def test_buffers_are_restored_behind_an_error(monkeypatch, sizes_of_buffers):
    """Memory may run out in the midst of a pooling, and the caller goes on."""

    def fail(*_):
        sizes_of_buffers.append(np.getbufsize())
        raise MemoryError

    monkeypatch.setattr(pooling, "window_winners", fail)
    with pytest.raises(MemoryError):
        max_pooling(np.ones((1, 1, LEAST_VALUES // 512, 512), np.float32), 3)
    assert sizes_of_buffers == [BUFFERED_ELEMENTS]
