"""The fuzzing in its quick form, and faults put into the software that it must find."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import repeat

import numpy as np
import pytest

from extremum.host import cache_files, tools
from extremum.host.cli import tensor_files
from extremum.host.driver import block
from extremum.host.simulation import native
from extremum.host.simulation.native_build import compile_native
from extremum.model import BufferTensorDesc
from extremum.tb.fuzz import devices, pumps, sanitizers
from extremum.tb.fuzz.command_line import run_line
from extremum.tb.fuzz.pumps import GUARD, Guarded
from extremum.tb.fuzz.target import FaultError, HangError, no_hang
from extremum.tb.fuzz.targets import TARGETS, check, explore

QUICK = [name for name, target in TARGETS.items() if target.prepare is None]
EXAMPLES = 20


@pytest.mark.parametrize("name", QUICK)
def test_nothing_is_found(name):
    """Twenty inputs each; `make fuzz` gives them thousands."""
    assert sum(check(TARGETS[name], EXAMPLES, 1).values()) >= EXAMPLES


@pytest.mark.parametrize("name", QUICK)
def test_a_target_does_not_refuse_everything(name):
    """What refuses all inputs, right ones too, is not fuzzed behind its first check."""
    found = Counter()
    for seed in range(20):
        found += check(TARGETS[name], EXAMPLES, seed)
        if found.keys() - {"refused"}:
            return
    pytest.fail(f"{found}")


@pytest.mark.parametrize(
    "line", [["fpga"], ["fpga", "--clock", "9"], ["fpga", "--bus=axi"], ["verilog", "--clock", "9"]]
)
def test_no_command_line_starts_a_tool_for_fpgas(line, monkeypatch):
    """They take minutes, and what is asked of the command line is answered before."""
    monkeypatch.setattr(tools, "require", lambda *_: pytest.fail("a tool is asked for"))
    assert run_line(line) == "taken"


@pytest.mark.slow
def test_all_targets_run(tmp_path):
    """For a few seconds each, in processes of their own, as `make fuzz` runs them."""
    evidence = tmp_path / "fuzz.json"
    arguments = ["--minutes", "1", "--evidence", str(evidence)]
    ran = subprocess.run(
        [sys.executable, "-m", "extremum.tb.fuzz", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(evidence.read_text())
    assert {target["name"] for target in told["targets"]} == TARGETS.keys()
    assert ran.stdout.splitlines()[-1] == f"{told['passed']} passed, 0 failed"


def raise_type_error(*_):
    raise TypeError("planted")


def write_beyond(self, buffer, name="buffer", view=BufferTensorDesc.view):
    """Write a byte behind the buffer whose view is asked for."""
    if name == "out" and isinstance(buffer, np.ndarray) and buffer.base is not None:
        buffer.base[-1] ^= 1
    return view(self, buffer, name)


FAULTS = {
    "npy files": (tensor_files, "_read_array", raise_type_error),
    "configurations": ("extremum.host.cli.core_options", "parse", raise_type_error),
    "cache contents": (cache_files, "is_whole", lambda folder: True),
    "buffer descriptors": (BufferTensorDesc, "view", write_beyond),
    "register dumps": (block, "register_of", lambda number, config: next(iter(()))),
}
"""For some targets: what is replaced by what, so that the target must fail."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name, monkeypatch):
    where, what, instead = FAULTS[name]
    if isinstance(where, str):
        # What the command line does not expect is an internal error, and no refusal.
        where, instead = sys.modules[where], lambda *_: next(iter(()))
    monkeypatch.setattr(where, what, instead)
    with pytest.raises((FaultError, TypeError, StopIteration, OSError, BaseExceptionGroup)):
        explore(TARGETS[name], 20, 1, shrink=False)


@pytest.mark.parametrize(("which", "told"), [(0, "values"), (1, "positions")])
def test_a_wrong_result_behind_any_words_is_found(which, told, monkeypatch):
    """Each result of the job counts, not only how many there are."""
    drawn = [("clocks", 9, 0)]
    assert devices.disturb(drawn) == "all taken"
    right = devices.expected_beats

    def wrong(job, x):
        beats = right(job, x)
        beats[which].reshape(-1).view(np.uint8)[-1] ^= 1
        return beats

    monkeypatch.setattr(devices, "expected_beats", wrong)
    with pytest.raises(FaultError, match=f"the {told} are not right"):
        devices.disturb(drawn)


def test_a_hang_is_found():
    with pytest.raises(HangError, match=r"^no answer within 0\.1 s$"), no_hang(0.1):
        for _ in repeat(None):
            pass


@pytest.mark.parametrize("place", [GUARD - 1, -GUARD])
def test_a_byte_beside_a_buffer_is_found(place):
    buffer = Guarded(10, b"content")
    buffer.bytes[:] = 1
    buffer.check("the buffer")
    buffer._whole[place] ^= 1
    with pytest.raises(FaultError, match=r"^bytes beside the buffer were written$"):
        buffer.check("the buffer")


def test_jobs_go_through_the_pump(monkeypatch):
    """Without the sanitizers, which take a minute to compile: whole, damaged and stopped runs."""
    library = native.load(compile_native(pumps.CONFIG))
    monkeypatch.setattr(pumps, "_library", lambda: library)
    ended = check(replace(TARGETS["native pump"], prepare=None), EXAMPLES, 1)
    assert ended.keys() == {"done", "failed"}


@pytest.mark.slow
def test_the_sanitizer_finds_a_buffer_that_is_too_short():
    """The pump is told of more room than its buffers have: the process must not survive it."""
    pumps.build()
    code = (
        "import numpy as np\n"
        "from extremum.tb.fuzz import pumps\n"
        "library = pumps._library()\n"
        "class Short(pumps.Guarded):\n"
        "    def __init__(self, size, content=b''):\n"
        "        super().__init__(size, content)\n"
        "        self.kept = np.zeros(4, np.uint8)\n"
        "    address = property(lambda self: self.kept.ctypes.data)\n"
        "    def check(self, name):\n"
        "        pass\n"
        "pumps.Guarded = Short\n"
        "pumps.pump({'seed': 1, 'jobs': 2, 'flipped': [], 'beats': 0, 'results': 0, 'room': 9,"
        " 'piece': 9, 'bytes': 8, 'stalls': (0, 0, 0), 'stop_after': pumps.native.NEVER,"
        " 'watchdog': 400})\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | sanitizers.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode != 0
    assert "heap-buffer-overflow" in ran.stderr
