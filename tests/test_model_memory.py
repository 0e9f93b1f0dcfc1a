"""The memory of arrays that a call frees serves the next call."""

import os
import platform
import subprocess
import sys

import pytest

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
