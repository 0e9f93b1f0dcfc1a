"""Plants bugs in a copy of the sources, and finds out which tests catch each, and how soon.

``python -m extremum.tb.mutation.planted`` adds its table to ``docs/evidence/mutation.json``. Its
sources must be a working tree of Git, since it copies the files that Git knows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extremum.tb.command import end, refuse_unwritable
from extremum.tb.evidence import FOLDER, read_evidence, write_evidence
from extremum.tb.regression.revision import revision
from extremum.tb.source_digest import ROOT

EVIDENCE = FOLDER / "mutation.json"
SECONDS = 240
"""Time after which a rung is given up."""

RUNGS = (
    ("core", "tests/test_hdl_core.py"),
    ("native", "tests/test_accelerator_random.py tests/test_rates.py"),
    ("bench", "tests/test_core.py"),
)
"""What runs behind a bug's unit tests, until something fails: names, and arguments of pytest."""


@dataclass(frozen=True)
class Planted:
    """A bug: a text of a source file and what is put in its place.

    Parameters
    ----------
    name
        What the bug is.
    file, old, new
        The file, a text that it holds once, and the wrong text.
    unit
        The test file of the part.
    """

    name: str
    file: str
    old: str
    new: str
    unit: str


BUGS = (
    Planted(
        "a tie on the border of two lanes goes the wrong way", "hdl/fold.py",
        "taps, decreasing)", "taps, ~decreasing)", "tests/test_hdl_fold.py",
    ),
    Planted(
        "one credit too many", "hdl/admission.py",
        "self.queue_depth - self.in_flight + 1", "self.queue_depth - self.in_flight + 2",
        "tests/test_hdl_admission.py",
    ),
    Planted(
        "half of a late comparison is used a clock early", "hdl/timing/comparison.py",
        "return high | (level & low)", "return high | ((a[half:] == b[half:]) & low)",
        "tests/test_timing_comparison.py",
    ),
    Planted(
        "job registers are copied a clock late", "hdl/shadow.py",
        "with m.If(enable):", "with m.If(delay(m, enable, 1)):", "tests/test_hdl_fold.py",
    ),
    Planted(
        "a long counter carries a step early", "hdl/counter.py",
        "(following == (1 << width) - 1)", "(following == (1 << width) - 2)",
        "tests/test_hdl_counter.py",
    ),
    Planted(
        "the first tap in the end padding counts as an element", "hdl/output_schedule.py",
        "here - last_element)", "here - last_element - 1)", "tests/test_hdl_schedule.py",
    ),
    Planted(
        "the sign of a NaN decides its order", "hdl/key.py",
        "Mux(nan, ignore_nan.at(analysed), ", "Mux(nan, ignore_nan.at(analysed) ^ sign, ",
        "tests/test_hdl_key.py",
    ),
    Planted(
        "the flag of the last result comes early", "hdl/packer.py",
        "Timed(m, self.done, early).at(0)", "Timed(m, self.done, early).at(early)",
        "tests/test_hdl_packer.py",
    ),
    Planted(
        "the status of empty windows stays for the next job", "hdl/admission.py",
        "self.status.empty.eq(0)", "self.status.empty.eq(self.status.empty)",
        "tests/test_hdl_admission.py",
    ),
    Planted(
        "TLAST that comes early is not noticed", "hdl/axi/input_packets.py",
        "self.early.eq(ended & was_filled)", "self.early.eq(0)",
        "tests/test_axi_packets.py",
    ),
    Planted(
        "a beat is taken only if a result could leave", "hdl/core.py",
        "self.i.ready.eq(admission.beat_wanted),",
        "self.i.ready.eq(admission.beat_wanted & self.o.ready),", "tests/test_hdl_admission.py",
    ),
)  # fmt: skip
"""The bugs, each of another kind."""


def refuse_no_tree(parser: argparse.ArgumentParser) -> None:
    """Refuse sources of which Git does not tell the files."""
    needed = "its sources must be a working tree of Git: it copies the files that Git knows"
    if not (ROOT / ".git").exists():
        parser.error(needed)
    try:
        known_files(ROOT)
    except OSError as error:
        parser.error(f"{needed}. git: {error.strerror or error}")
    except subprocess.CalledProcessError as error:
        parser.error(f"{needed}. {error.stderr.strip().partition(chr(10))[0]}")


def known_files(root: Path) -> list[str]:
    """Return the files of a working tree that Git knows.

    Raises
    ------
    OSError
        There is no Git.
    subprocess.CalledProcessError
        Git does not take the folder for a working tree of this user.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    return [name for name in listed.split("\0") if name]


def copy(root: Path, folder: Path) -> None:
    """Copy the files that Git knows into a folder."""
    for name in known_files(root):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (root / name).is_symlink():
            target.symlink_to(os.readlink(root / name))
        elif (root / name).exists():
            target.write_bytes((root / name).read_bytes())


def plant(bug: Planted, folder: Path) -> str:
    """Put a bug into a copy; return the text without it.

    Raises
    ------
    ValueError
        The file does not hold the text once.
    """
    path = folder / bug.file
    text = path.read_text()
    if text.count(bug.old) != 1:
        raise ValueError(f"{bug.file} must hold {bug.old!r} once, for the bug {bug.name!r}")
    path.write_text(text.replace(bug.old, bug.new))
    return text


def status_of(folder: Path, arguments: str) -> int | None:
    """Run tests in a copy; return the status of pytest, or None if the time was over."""
    variables = os.environ | {"PYTHONPATH": f"{folder / 'typings'}"}
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
             *arguments.split()],
            cwd=folder, env=variables, capture_output=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    return ran.returncode


def fails(folder: Path, arguments: str) -> bool:
    """Return whether tests fail with a bug: at one of them, at an import, or as it hangs.

    Raises
    ------
    RuntimeError
        They were not run.
    """
    status = status_of(folder, arguments)
    if status not in (0, 1, 2, None):
        raise RuntimeError(f"pytest ended with status {status}: {arguments}")
    return status != 0


def catch(bug: Planted, folder: Path) -> dict[str, Any]:
    """Return which rung catches a bug, and after how many seconds in all."""
    text, started = plant(bug, folder), time.monotonic()
    found: dict[str, Any] = {"bug": bug.name, "file": bug.file, "caught_by": None}
    try:
        for rung, arguments in (("unit", bug.unit), *RUNGS):
            begun = time.monotonic()
            if fails(folder, arguments):
                found |= {"caught_by": rung, "tests": arguments}
                found["seconds_of_rung"] = round(time.monotonic() - begun, 1)
                break
    finally:
        (folder / bug.file).write_text(text)
    return found | {"seconds": round(time.monotonic() - started, 1)}


def main() -> int:
    """Plant all bugs, one after the other; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m extremum.tb.mutation.planted", description=__doc__
    )
    parser.parse_args()
    refuse_no_tree(parser)
    refuse_unwritable(parser, EVIDENCE)
    read_evidence(EVIDENCE)  # what else is there would be lost
    outcomes, gateware = [], revision().gateware
    with tempfile.TemporaryDirectory(prefix="extremum-planted-") as name:
        folder = Path(name)
        copy(ROOT, folder)
        units = " ".join(sorted({bug.unit for bug in BUGS}))
        for rung, arguments in (("unit", units), *RUNGS):
            if status_of(folder, arguments) != 0:
                print(f"{rung}: without a bug these do not pass in time: {arguments}")
                print("0 passed, 1 failed")
                return 1
        for bug in BUGS:
            outcomes.append(catch(bug, folder))
            print(
                f"{outcomes[-1]['caught_by']} {outcomes[-1]['seconds']} s: {bug.name}", flush=True
            )
    whole = read_evidence(EVIDENCE)
    whole["planted"] = {"revision": {"gateware": gateware}, "bugs": outcomes}
    write_evidence(EVIDENCE, whole)
    failed = sum(outcome["caught_by"] is None for outcome in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return int(bool(failed))


if __name__ == "__main__":
    end(main)
