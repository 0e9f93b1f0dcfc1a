"""The pipe through which simulators write waveforms: nothing lost, every error told, no leak."""

import errno
import gc
import os
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from extremum.host.errors import WaveformError
from extremum.host.simulation.wave_pipe import WavePipe

CONTENT = bytes(range(256)) * 5000


def opened(folder):
    """Return what this process has open below a folder."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the list itself
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [path for path in found if path.startswith(str(folder))]


def threads():
    return [thread for thread in threading.enumerate() if thread.name.endswith(".pipe")]


@pytest.fixture
def place(tmp_path):
    """A folder; what was opened in it must be closed in the end, and every thread have ended."""
    yield tmp_path
    gc.collect()
    end = time.monotonic() + 60
    while (threads() or opened(tmp_path)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not threads()
    assert not opened(tmp_path)


def write(path, content=CONTENT):
    """Write to a pipe in another process, which ends."""
    subprocess.run(["sh", "-c", f"cat > '{path}'"], input=content, check=True)


def test_all_comes_in_order_and_an_old_file_is_gone(place):
    (place / "file").write_bytes(CONTENT * 2)
    for content in (CONTENT, b"short"):
        pipe = WavePipe(place / f"{len(content)}.pipe", place / "file")
        write(place / f"{len(content)}.pipe", content)
        pipe.close()
        pipe.check()
        assert (place / "file").read_bytes() == content
        pipe.close()


def test_an_old_file_stays_if_nothing_comes(place):
    """A simulator that does not start has no waveforms to put in its place."""
    (place / "file").write_bytes(b"old")
    pipe = WavePipe(place / "empty.pipe", place / "file")
    write(place / "empty.pipe", b"")
    pipe.close()
    pipe.check()
    assert (place / "file").read_bytes() == b"old"


def test_waveforms_into_a_device(place):
    """Where there is nothing to be emptied, nothing is."""
    pipe = WavePipe(place / "null.pipe", Path("/dev/null"))
    write(place / "null.pipe")
    pipe.close()
    pipe.check()


class New:
    """A file that is empty."""

    def truncate(self, size):
        assert size == 0


def test_a_disk_that_takes_little_at_a_time(place):
    pipe = WavePipe(place / "a.pipe", place / "file")
    file = pipe._copy.file

    class Slow(New):
        def write(self, chunk):
            return file.write(chunk[:1000])

        def close(self):
            file.close()

    pipe._copy.file = Slow()  # pyright: ignore[reportAttributeAccessIssue]
    write(place / "a.pipe")
    pipe.close()
    pipe.check()
    assert (place / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("fails", ["write", "close"])
def test_an_error_is_told_and_the_writer_goes_on(place, fails):
    pipe = WavePipe(place / "a.pipe", place / "file")
    file = pipe._copy.file

    class Full(New):
        def write(self, chunk):
            if fails == "write":
                raise OSError(errno.EDQUOT, "Disk quota exceeded")
            return file.write(chunk)

        def close(self):
            file.close()
            raise OSError(errno.EIO, "Input/output error")

    pipe._copy.file = Full()  # pyright: ignore[reportAttributeAccessIssue]
    write(place / "a.pipe")  # it ends, though all of this is more than a pipe holds
    pipe.close()
    told = "Disk quota exceeded" if fails == "write" else "Input/output error"
    with pytest.raises(WaveformError, match=f"^cannot write all waveforms to .*/file: {told}$"):
        pipe.check()


def test_a_disk_that_does_not_answer(place):
    pipe = WavePipe(place / "a.pipe", place / "file")
    file, answers = pipe._copy.file, threading.Event()

    class Hanging(New):
        def write(self, chunk):
            answers.wait(60)
            return file.write(chunk)

        def close(self):
            file.close()

    pipe._copy.file = Hanging()  # pyright: ignore[reportAttributeAccessIssue]
    write(place / "a.pipe", b"some")
    pipe.close(0.1)
    assert threads()
    answers.set()
    pipe.close()
    assert (place / "file").read_bytes() == b"some"


def test_who_is_forgotten_leaves_nothing_open(place):
    pipe = WavePipe(place / "a.pipe", place / "file")
    write(place / "a.pipe", b"some")
    assert threads()
    assert len(opened(place)) == 3  # both ends of the pipe, and the file
    del pipe


def test_what_cannot_be_written(place):
    os.mkfifo(place / "fifo")
    for target, why in (("fifo", "it is a pipe"), ("no/file", "No such file or directory")):
        with pytest.raises(WaveformError, match=f"^cannot write waveforms to .*/{target}: {why}$"):
            WavePipe(place / f"{len(target)}.pipe", place / target)
