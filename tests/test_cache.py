"""The cache of compiled simulations: built once, shown, cleared, and kept within its limit."""

import io
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from simulation import ONE_COCOTB

from extremum.hdl.config import CoreConfig
from extremum.host import Accelerator, cache, cache_files
from extremum.host.cli import commands as cli
from extremum.host.errors import CacheError
from extremum.host.simulation import cocotb_simulator, native_build

HOLD = """
import sys, time
from pathlib import Path
from extremum.host import cache
with cache.entry("native", "a key") as folder:
    made = folder / "made"
    if not made.exists():
        time.sleep(0.5)
        made.write_text("x" * 1000)
        print("built")
"""


def test_two_processes_build_once(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    both = [
        subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert sorted(process.communicate(timeout=60)[0] for process in both) == ["", "built\n"]
    (entry,) = cache.entries()
    assert entry.name.startswith("native-")
    assert entry.size >= 1000


COMPILE = """
from extremum.host.simulation.native_build import compile_native
from extremum.tb.cores import CORES
print(compile_native(CORES["reduction"]))
"""


def test_two_processes_compile_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    both = [
        subprocess.Popen([sys.executable, "-c", COMPILE], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    one, two = (process.communicate(timeout=300)[0] for process in both)
    assert one == two
    assert one.startswith(str(tmp_path))
    kinds = sorted(entry.name.split("-")[0] for entry in cache.entries())
    assert kinds == ["native", "runtime", "verilog"]


@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_a_folder_whose_name_tools_do_not_take(monkeypatch, tmp_path, backend):
    """A space, quotation marks, a number sign, and a byte that is no UTF-8."""
    folder = tmp_path / os.fsdecode(b"a b'\"#$c\xff")
    monkeypatch.setenv("EXTREMUM_CACHE", str(folder))
    for _ in range(2):
        with Accelerator("int8", backend=backend, max_window=(1, 1, 1)) as accelerator:
            assert accelerator.argmax(np.array([1, 5, 5], np.int8)) == 1
        for module in (cocotb_simulator, native_build):  # nothing is compiled again
            monkeypatch.setattr(module, "plain", None)
    assert any(folder.glob(f"{backend}-*/lock"))


def test_clearing_the_cache_spares_what_is_being_built(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    (tmp_path / "other").mkdir()
    for key in "ab":
        with cache.entry("thing", key) as folder:
            (folder / "file").write_text("x")
    with cache.entry("thing", "c") as in_use:
        removed, kept = cache.clear()
        assert [entry.name for entry in kept] == [in_use.name]
    assert len(removed) == 2
    assert [entry.name for entry in cache.entries()] == [in_use.name]
    assert (tmp_path / "other").exists()
    with cache.entry("thing", "a") as folder:
        assert not (folder / "file").exists()


def put(key, size, age):
    """Put so many bytes into the cache, used last so many seconds ago; return the folder."""
    with cache.entry("thing", key) as folder:
        (folder / "file").write_bytes(bytes(size))
    when = time.time() - age
    os.utime(folder / cache.LOCK, (when, when))
    return folder


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A cache that holds 1000 bytes."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    monkeypatch.setattr(cache, "LIMIT", 1000)


@pytest.mark.usefixtures("small")
def test_what_was_used_longest_ago_makes_room():
    """If the cache is full, the entry whose last use is longest ago is removed."""
    one, two, three = (put(key, 300, age) for key, age in (("1", 9000), ("2", 8000), ("3", 7000)))
    with cache.entry("thing", "1") as folder:  # used again, so now the youngest
        assert (folder / "file").exists()
    four = put("4", 300, 0)
    assert [path.exists() for path in (one, two, three, four)] == [True, False, True, True]
    # Nothing new is stored, so nothing is removed.
    with cache.entry("thing", "4") as folder:
        assert (folder / "file").exists()
    assert cache.prune() == []


@pytest.mark.usefixtures("small")
def test_what_is_in_use_is_spared():
    """An entry stays while a process uses it, and for a while after its last use."""
    put("old", 400, 9000)
    with cache.entry("thing", "held") as in_use:
        (in_use / "file").write_bytes(bytes(4000))
        os.utime(in_use / cache.LOCK, (0, 0))
        recent = put("recent", 4000, 5)
        assert {entry.name for entry in cache.entries()} == {in_use.name, recent.name}
        assert cache.prune() == []
    assert [entry.name for entry in cache.prune()] == []  # used just now
    os.utime(in_use / cache.LOCK, (0, 0))
    assert [entry.name for entry in cache.prune()] == [in_use.name]
    assert recent.exists()


def test_the_command_shows_and_clears(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    with cache.entry("thing", "a") as folder:
        (folder / "file").write_text("x" * 1000)
    status, out, err = run("cache")
    assert (status, err, out[0]) == (0, [], str(tmp_path))
    assert out[2].split() == [folder.name, "0.0"]
    told = json.loads(run("cache --json")[1][0])
    assert told["entries"] == [{"name": folder.name, "size": 1000}]
    told = json.loads(run("cache --clear --json")[1][0])
    assert (told["entries"], told["bytes"], len(told["removed"])) == ([], 0, 1)
    assert not folder.exists()


def test_folders_of_others_are_left_alone(monkeypatch, tmp_path):
    """The cache may be told to lie where other things are."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    for name in ("my-data", "native-0123", f"native-{24 * 'g'}", f"my-{24 * '0'}-notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / cache.LOCK).touch()
    with cache.entry("native", "a") as folder:
        pass
    assert [entry.name for entry in cache.entries()] == [folder.name]
    assert json.loads(run("cache --clear --json")[1][0])["removed"] == [
        {"name": folder.name, "size": 0}
    ]
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("name", ["loop", "n" * 300])
def test_a_folder_that_cannot_be(monkeypatch, tmp_path, name):
    """A link that leads to itself, and a name that is too long."""
    if name == "loop":
        (tmp_path / name).symlink_to(name)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / name))
    told = cache.problem()
    assert told is not None
    assert "set EXTREMUM_CACHE to another folder" in told
    with pytest.raises(CacheError), cache.entry("native", "a"):
        pass


def test_the_command_tells_why_new_cores_cannot_be_kept(monkeypatch, tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    status, out, (said,) = run("cache --json")
    assert (status, json.loads(out[0])["entries"]) == (0, [])
    assert said.startswith("extremum: new cores cannot be kept: ")
    assert "may be written by other users" in said


def test_a_relative_folder_of_a_folder_that_is_gone(monkeypatch, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv(cache.VARIABLE, "cores")
    gone.rmdir()
    said = (
        "the cache cores is relative to a folder that has been removed: set EXTREMUM_CACHE to "
        "another folder"
    )
    assert cache.problem() == said
    assert run("cache") == (4, [], [f"extremum: {said}"])


@pytest.mark.parametrize("command", ["cache", "cache --clear"])
def test_the_command_needs_a_folder(monkeypatch, tmp_path, command):
    (tmp_path / "file").touch()
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file"))
    status, out, (said,) = run(command)
    assert (status, out) == (4, [])
    assert "file is not a folder: remove that file" in said


def test_a_cache_that_cannot_be_made(monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, "/proc/nowhere")
    with (
        pytest.raises(CacheError, match="cache /proc/nowhere cannot be made"),
        cache.entry("a", "b"),
    ):
        pass


def test_the_command_line_tells_each_stage(monkeypatch, tmp_path):
    """A compilation takes a while, so its stages are told even without a terminal.

    Nothing is told once the core is kept.
    """
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    np.save(tmp_path / "x.npy", np.zeros(3, np.int8))
    line = f"run argmax --input {tmp_path}/x.npy --max-window 1,1,1 --coordinate-width 4"
    err = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(err):
        assert cli.main(line.split()) == 0
    before = "extremum: compiling the core, which is then kept: "
    assert err.getvalue().splitlines() == [
        f"{before}generating the Verilog (Amaranth)",
        f"{before}translating it to C++ (Verilator)",
        f"{before}compiling the C++",
    ]
    again = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(again):
        assert cli.main(line.split()) == 0
    assert again.getvalue() == ""


def test_an_entry_that_is_used_without_its_maker_counts_as_used(tmp_path, monkeypatch):
    """Otherwise it would be the first to be removed when the cache is full."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))

    def make(folder):
        (folder / "made").write_text("1")

    folder = cache.kept("kind", "key", make, maker="compiler 1")
    os.utime(folder / cache.LOCK, (0, 0))
    assert cache.kept("kind", "key", make, maker=None) == folder
    assert (folder / cache.LOCK).stat().st_mtime > 0


def test_an_entry_that_vanishes_while_it_is_looked_at_is_made_again(tmp_path, monkeypatch):
    """Another process may clear the cache between two looks at an entry."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    made = []

    def make(folder):
        made.append(folder)
        (folder / "made").write_text("1")

    cache.kept("kind", "key", make, maker="compiler 1")

    last_use = cache._last_use

    def vanish(folder):
        monkeypatch.setattr(cache, "_last_use", last_use)
        shutil.rmtree(folder)
        return 0.0

    monkeypatch.setattr(cache, "_last_use", vanish)
    assert (cache.kept("kind", "key", make, maker=None) / "made").read_text() == "1"
    assert len(made) == 2


def test_an_entry_can_be_made_while_it_is_being_removed(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))

    def make(folder):
        (folder / "made").write_text("1")

    cache.kept("kind", "key", make)
    remove = shutil.rmtree

    def slow(*arguments, **options):
        cache.kept("kind", "key", make)
        remove(*arguments, **options)

    monkeypatch.setattr(shutil, "rmtree", slow)
    cache.clear()
    assert (cache.kept("kind", "key", lambda _: pytest.fail("made anew")) / "made").is_file()


def test_an_entry_that_was_left_half_removed_is_removed_the_next_time(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    cache.kept("kind", "key", lambda folder: (folder / "made").touch())
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        removed, spared = cache.clear()
    assert (removed, len(spared)) == ([], 1)
    (left,) = cache.entries()
    assert left.name.startswith("removed-")
    assert cache.clear() == ([left], [])


def test_a_lasting_lack_of_a_file_is_told(tmp_path, monkeypatch):
    """Only an entry that has been cleared is made again."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    asked = []

    def make(_):
        asked.append(1)
        raise FileNotFoundError("the interpreter of a tool")

    with pytest.raises(FileNotFoundError, match="the interpreter of a tool"):
        cache.verilog(CoreConfig(), lambda: make(None))
    assert asked == [1]


def test_a_folder_that_vanishes_while_it_is_looked_at_is_made_again(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    folder.mkdir()
    is_dir = Path.is_dir

    def vanish(path):
        monkeypatch.setattr(Path, "is_dir", is_dir)
        path.rmdir()
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", vanish)
    cache_files.make_private(folder)
    assert folder.is_dir()


def test_a_folder_that_vanishes_while_it_is_made_is_made_again(tmp_path, monkeypatch):
    check = cache_files.refuse_shared

    def vanish(folder):
        monkeypatch.setattr(cache_files, "refuse_shared", check)
        folder.rmdir()
        check(folder)

    monkeypatch.setattr(cache_files, "refuse_shared", vanish)
    cache_files.make_private(tmp_path / "cache")
    assert (tmp_path / "cache").is_dir()
