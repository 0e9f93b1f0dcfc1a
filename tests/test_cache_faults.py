"""A cache that is damaged, read-only, full, shared with others, or not a folder at all."""

import errno
import os
import re
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amounts import mostly_slow
from command_line import run

from extremum.hdl.config import CoreConfig
from extremum.host import Accelerator, SimulationError, ToolError, cache
from extremum.host.errors import CacheError
from extremum.host.simulation import native_build, native_library
from extremum.host.simulation.native_build import compile_native

CONFIG = CoreConfig(max_window=(1, 1, 1), operators=("argmax",), coordinate_width=4)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """A cache that holds one small core."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, str(folder))
        compile_native(CONFIG)
    return folder


@pytest.fixture
def holding(compiled, tmp_path, monkeypatch):
    """Make a copy of that cache the one that is used; return its folder."""
    folder = shutil.copytree(compiled, tmp_path / "cache")
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    return folder


def make_read_only(monkeypatch, folder):
    """Let every attempt to write below a folder fail, also for root, who may write anything."""
    folder.mkdir(exist_ok=True)

    def refusing(call, writes):
        def wrapped(path, *arguments, **options):
            if Path(path).is_relative_to(folder) and writes(*arguments):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
            return call(path, *arguments, **options)

        return wrapped

    for name in ("mkdir", "utime", "unlink", "rename"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name), lambda *_: True))
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    monkeypatch.setattr(os, "open", refusing(os.open, lambda mode, *_: mode & writing))


def without_a_compiler(monkeypatch):
    """Let no program be found, so that nothing can be compiled."""
    monkeypatch.setenv("PATH", "")


def use():
    """Run an operator on the core; return its result."""
    with Accelerator(CONFIG) as accelerator:
        return accelerator.argmax(np.array([1, 3, 2], np.float32)).tolist()


def stages():
    """Return the stages that are told while the core is prepared: none if it is kept."""
    told = []
    compile_native(CONFIG, tell=told.append)
    return told


def test_a_relative_folder_is_below_the_working_directory(compiled, tmp_path, monkeypatch):
    shutil.copytree(compiled, tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(cache.VARIABLE, "kept")
    assert cache.directory() == tmp_path / "kept"
    assert stages() == []
    assert use() == [1]


def test_the_folder_is_where_the_system_keeps_caches(monkeypatch, tmp_path):
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directory() in (tmp_path / "extremum", Path.home() / "Library/Caches/extremum")
    monkeypatch.setenv(cache.VARIABLE, "")
    assert cache.directory().is_absolute()


BAD_SUMS = {"no JSON": "[", "no sums": "{}", "deep JSON": "[" * 100_000}
"""What may stand in the file of checksums."""


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        *(("verilog", damage) for damage in ("truncated", "garbage", "removed", *BAD_SUMS)),
        ("native", "truncated"),
        ("native", "garbage"),
        pytest.param("runtime", "garbage", marks=pytest.mark.slow),
    ],
)
def test_a_damaged_entry_is_made_again(holding, kind, damage):
    """Whatever is damaged, the core works, and its entry is whole again afterwards."""
    (entry,) = holding.glob(f"{kind}-*")
    (file,) = (path for path in entry.glob("core.*" if kind != "runtime" else "*.o"))
    whole = file.read_bytes()
    if damage == "truncated":
        file.write_bytes(whole[: len(whole) // 2])
    elif damage == "garbage":
        file.write_bytes(whole[:1000] + bytes(1000) + whole[2000:])
    elif damage == "removed":
        file.unlink()
    else:
        (entry / "sums.json").write_text(BAD_SUMS[damage])
        file.unlink()
    if kind == "runtime":
        (native,) = holding.glob("native-*")
        shutil.rmtree(native)
    assert use() == [1]
    assert stages() == []
    assert file.stat().st_size == len(whole)
    if kind == "verilog":
        assert file.read_bytes() == whole


def test_nothing_is_kept_of_what_failed(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))

    def fail(folder):
        (folder / "half").write_text("of it")
        raise SimulationError("refused")

    with pytest.raises(SimulationError, match="refused"):
        cache.kept("thing", "key", fail)
    assert not list(tmp_path.rglob("half"))
    assert cache.kept("thing", "key", lambda folder: (folder / "whole").touch()).is_dir()


@pytest.mark.parametrize("compiler", ["there", "missing"])
def test_a_read_only_cache_is_used(holding, monkeypatch, compiler):
    make_read_only(monkeypatch, holding)
    if compiler == "missing":
        without_a_compiler(monkeypatch)
    with pytest.raises(OSError, match="Read-only"):
        (holding / "test").mkdir()
    assert use() == [1]


def test_a_compiler_is_not_needed_for_what_is_kept(holding, monkeypatch):
    without_a_compiler(monkeypatch)
    assert use() == [1]
    with pytest.raises(ToolError, match=r"c\+\+ is missing"):
        compile_native(replace(CONFIG, index_width=8))


def test_the_version_of_the_compiler_is_part_of_the_key(holding, monkeypatch):
    """A new compiler compiles the core again, and the result of the old one stays beside it."""
    monkeypatch.setattr(native_build, "compiler_version", lambda: "c++ of tomorrow")
    monkeypatch.setattr(native_build._Build, "make", lambda *_: made.append(1))
    made = []
    assert stages() == []
    assert made == [1]
    assert len(list(holding.glob("native-*"))) == 2


def test_each_version_of_a_program_makes_an_entry(monkeypatch, tmp_path):
    """If the program is missing, the entry that was used last is taken."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))

    def made_by(maker):
        def make(folder):
            (folder / "by").write_text(str(maker))

        folder = cache.kept("thing", "key", make, maker=maker)
        os.utime(folder / cache.LOCK, (next(clock), next(clock)))
        return (folder / "by").read_text()

    clock = iter(range(100))
    assert [made_by("1"), made_by("2"), made_by("1")] == ["1", "2", "1"]
    assert made_by(None) == "1"
    assert [made_by("2"), made_by(None)] == ["2", "2"]
    assert len(cache.entries()) == 2


def test_a_read_only_cache_without_the_core(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    make_read_only(monkeypatch, folder)
    with pytest.raises(CacheError) as error:
        compile_native(CONFIG)
    assert re.fullmatch(
        rf"the cache {folder}\S* cannot be written \(Read-only file system\): change its "
        "permissions, or set EXTREMUM_CACHE to another folder",
        str(error.value),
    )


@pytest.mark.parametrize("below", ["", "/below"])
def test_a_file_in_place_of_the_cache(tmp_path, monkeypatch, below):
    (tmp_path / "file").write_text("")
    path = f"{tmp_path}/file{below}"
    monkeypatch.setenv(cache.VARIABLE, path)
    message = rf"^the cache {path} is not a folder: remove that file, or set EXTREMUM_CACHE to "
    with pytest.raises(CacheError, match=message):
        compile_native(CONFIG)
    assert "is not a folder" in str(cache.problem())


@pytest.mark.parametrize("kind", ["a folder", "a link"])
def test_something_else_in_place_of_a_lock(monkeypatch, tmp_path, kind):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    lock = cache.kept("thing", "key", lambda folder: (folder / "file").touch()) / cache.LOCK
    lock.unlink()
    if kind == "a folder":
        lock.mkdir()
    else:
        lock.symlink_to("nowhere")
    message = rf"^{lock} in the cache is not a file: remove it, or set EXTREMUM_CACHE to another"
    with pytest.raises(CacheError, match=message):
        cache.kept("thing", "key", lambda folder: None)


def fill(monkeypatch, where):
    """Let the disk be full: for what Python writes, or for what the compiler writes."""
    if where == "python":

        def write_text(self, *_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(Path, "write_text", write_text)
    else:
        programs = Path(os.environ[cache.VARIABLE]).parent / "programs"
        programs.mkdir()
        program = programs / "c++"
        text = "fatal error: error writing to core.o: No space left on device"
        program.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo c++ 13.1.0 || {{ echo "{text}"; exit 1; }}\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")


@pytest.mark.parametrize("where", ["python", "compiler"])
def test_a_full_disk(holding, monkeypatch, where):
    fill(monkeypatch, where)
    for entry in (*holding.glob("native-*"), *holding.glob("runtime-*")):
        shutil.rmtree(entry)
    with pytest.raises(CacheError) as error:
        compile_native(CONFIG)
    assert str(error.value) == (
        f"the disk of the cache {holding} is full: free some space ('extremum cache --clear' "
        "empties the cache), or set EXTREMUM_CACHE to another folder"
    )
    assert {path.name for path in holding.glob("native-*/*")} <= {cache.LOCK}


def test_its_folders_are_the_users_alone(tmp_path, monkeypatch):
    """The cache holds programs that are run later, so nobody else may put any there."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "new" / "cache"))
    before = os.umask(0)
    try:
        folder = cache.kept("thing", "key", lambda folder: (folder / "file").touch())
    finally:
        os.umask(before)
    for path in (folder, folder.parent):
        assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("which", ["the cache", "an entry"])
@pytest.mark.parametrize("mode", mostly_slow([0o720, 0o702, 0o777], [0o720]))
def test_a_folder_that_others_may_write_is_refused(holding, which, mode):
    folder = holding if which == "the cache" else next(holding.glob("native-*"))
    folder.chmod(mode)
    message = rf"^the cache {folder} may be written by other users, who could put programs there: "
    with pytest.raises(CacheError, match=message):
        compile_native(CONFIG)
    if which == "the cache":
        assert "may be written by other users" in str(cache.problem())
        folder.chmod(mode | stat.S_ISVTX)  # as /tmp, where no advice may change that
        assert "chmod" not in str(cache.problem())
    folder.chmod(0o755)  # which others may only read
    assert use() == [1]
    assert cache.problem() is None


def test_sources_that_change_while_a_process_runs_are_not_what_it_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "files", lambda package: tmp_path / package)
    cache._sources.cache_clear()
    try:
        (tmp_path / "extremum.hdl").mkdir()
        (tmp_path / "extremum.hdl" / "core.py").write_text("1")
        first = cache._sources("hdl")
        (tmp_path / "extremum.hdl" / "core.py").write_text("2")
        assert cache._sources("hdl") == first == ["core.py", "1"]
    finally:
        cache._sources.cache_clear()


def test_a_folder_of_another_user_is_refused(holding, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: os.stat(holding).st_uid + 1)
    if os.stat(holding).st_uid == 0:  # root's folder is trusted: give it to another user
        os.chown(holding, 12345, -1)
    with pytest.raises(CacheError, match=rf"^the cache {holding} belongs to another user \(number"):
        compile_native(CONFIG)


def test_sources_in_subfolders_are_part_of_the_key(monkeypatch, tmp_path):
    """A change of any file that the gateware is generated from makes its Verilog again."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    for name in ("extremum.hdl/deep/er", "extremum.model/fast"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(cache, "files", lambda package: tmp_path / package)
    monkeypatch.setattr(cache, "_sources", cache._sources.__wrapped__)  # as in another process
    generated = []
    monkeypatch.setattr("extremum.hdl.verilog.generate", lambda *_, **__: f"text {len(generated)}")

    def times():
        cache.verilog(CONFIG, lambda: generated.append(1))
        return len(generated)

    assert [times(), times()] == [1, 1]
    for number, name in enumerate(("extremum.hdl/deep/er/new.py", "extremum.model/fast/a.py")):
        (tmp_path / name).write_text("1")
        assert [times(), times()] == [2 + 2 * number] * 2
        (tmp_path / name).write_text("2")
        assert times() == 3 + 2 * number


def refuse_looking_into(monkeypatch, folder):
    """Let every attempt to look into a folder fail, also for root, who may look anywhere."""

    def refusing(call):
        def wrapped(path, *arguments, **options):
            if not isinstance(path, int) and Path(path).is_relative_to(folder):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return call(path, *arguments, **options)

        return wrapped

    for name in ("listdir", "mkdir", "open", "stat", "lstat"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))


def test_a_folder_into_which_nobody_may_look(monkeypatch, tmp_path):
    """As that of another user's home."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "other" / "cores"))
    (tmp_path / "other" / "cores").mkdir(parents=True)
    refuse_looking_into(monkeypatch, tmp_path / "other")
    told = rf"^the cache {tmp_path}/other/cores cannot be written \(Permission denied\)"
    for use in (cache.entries, lambda: cache.verilog(CONFIG)):
        with pytest.raises(CacheError, match=told):
            use()


def test_an_entry_into_which_nobody_may_look(holding, monkeypatch):
    (entry,) = (folder for folder in holding.iterdir() if folder.name.startswith("native"))
    refuse_looking_into(monkeypatch, entry)
    with pytest.raises(CacheError, match=r"cannot be written \(Permission denied\)"):
        compile_native(CONFIG)


def test_a_core_that_the_system_does_not_load(tmp_path):
    """As from a disk whose programs may not run; what is damaged is found before."""
    (tmp_path / "core.so").write_text("no program")
    with pytest.raises(CacheError, match=r"^a core in the cache cannot be loaded .*: set EXTREMUM"):
        native_library.load(tmp_path / "core.so", ())


def test_a_file_system_without_new_folders(monkeypatch):
    """There is none below /proc, whatever the permissions say."""
    monkeypatch.setenv(cache.VARIABLE, "/proc/none/cores")
    told = "the cache /proc/none/cores cannot be made: set EXTREMUM_CACHE to another folder"
    assert cache.problem() == told


def test_the_command_line_tells_of_a_bad_cache_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "file"))
    status, out, err = run(f"run argmax --input {tmp_path}/x.npy")
    assert (status, out) == (4, [])
    assert err == [
        f"extremum: the cache {tmp_path}/file is not a folder: remove that file, or set "
        "EXTREMUM_CACHE to another folder"
    ]
