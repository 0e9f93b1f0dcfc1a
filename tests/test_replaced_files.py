"""Files are written whole or not at all, and stay what they were in all other respects."""

import os
import stat

import pytest

from extremum.host.replaced_files import write_together, write_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write_half(path, failure):
    """Fail after some bytes have been written."""

    def write(file):
        file.write(b"half")
        file.flush()
        raise failure

    write_together([(path.with_name("first"), b"first"), (path, write)])


@pytest.mark.parametrize("before", [None, b"before"])
def test_what_fails_changes_nothing(tmp_path, before):
    path, first = tmp_path / "y", tmp_path / "first"
    if before is not None:
        path.write_bytes(before)
        first.write_bytes(before)
    with pytest.raises(OSError, match="no more") as caught:
        write_half(path, OSError(28, "no more"))
    assert caught.value.filename == str(path)
    assert names(tmp_path) == ([] if before is None else ["first", "y"])
    assert before is None or (path.read_bytes(), first.read_bytes()) == (before, before)


def test_what_may_not_be_read_is_no_folder_that_takes_no_file(tmp_path):
    path = tmp_path / "y"
    path.write_bytes(b"before")
    with pytest.raises(PermissionError, match="not yours"):
        write_half(path, PermissionError(13, "not yours"))
    assert names(tmp_path) == ["y"]
    assert path.read_bytes() == b"before"


def test_several_files_are_written_together(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    second.write_bytes(b"before")
    write_together([(first, lambda file: file.write(b"1")), (second, b"2")])
    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")
    assert names(tmp_path) == ["first", "second"]


@pytest.mark.parametrize("place", ["nowhere/second", "first/second"])
def test_of_several_files_the_one_that_cannot_be_written_is_named(tmp_path, place):
    (tmp_path / "first").write_bytes(b"before")
    contents = [(tmp_path / name, b"new") for name in ("first", place, "third")]
    with pytest.raises(OSError, match=r"No such file|Not a directory") as caught:
        write_together(contents)
    assert caught.value.filename == str(tmp_path / place)
    assert (tmp_path / "first").read_bytes() == b"before"
    assert names(tmp_path) == ["first"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_device_that_takes_nothing_leaves_the_files_beside_it(tmp_path):
    path = tmp_path / "y"
    path.write_bytes(b"before")
    for contents in ([(path, b"new"), ("/dev/full", b"n")], [("/dev/full", b"n"), (path, b"new")]):
        with pytest.raises(OSError, match="No space left") as caught:
            write_together(contents)
        assert caught.value.filename == "/dev/full"
        assert path.read_bytes() == b"before"
        assert names(tmp_path) == ["y"]


def test_folders_that_are_missing_are_made_and_go_again(tmp_path):
    (tmp_path / "old").mkdir()
    names_of_files = ("old/first", "new/inner/second", "new/third")
    contents = [(tmp_path / name, b"new") for name in names_of_files]
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="Not a directory") as caught:
        write_together([*contents, (tmp_path / "file/fourth", b"")], makes_folders=True)
    assert caught.value.filename == str(tmp_path / "file/fourth")
    assert names(tmp_path) == ["file", "old"]
    assert names(tmp_path / "old") == []
    write_together(contents, makes_folders=True)
    assert [path.read_bytes() for path, _ in contents] == [b"new"] * 3


def test_an_interrupt_leaves_no_file(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_half(tmp_path / "y", KeyboardInterrupt())
    assert names(tmp_path) == []


def test_a_new_file_has_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "y", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "y").stat().st_mode) == 0o640
    assert names(tmp_path) == ["y"]


def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "y"
    path.write_bytes(b"a longer one than the new")
    path.chmod(0o604)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays(tmp_path, exists):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "y", tmp_path / "link"
    if exists:
        target.write_bytes(b"before")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(target.parent) == ["y"]


def test_a_file_with_two_names_stays_one(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"before")
    os.link(first, second)
    write_whole(first, b"new")
    assert second.read_bytes() == b"new"


def test_what_is_no_file_is_written_directly(tmp_path):
    """A device stays a device, and a pipe gets what is written."""
    write_whole("/dev/null", b"new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, b"new")
        assert os.read(reader, 100) == b"new"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_open_file_without_a_name(tmp_path):
    """The name of its number leads to it."""
    path = tmp_path / "y"
    number = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        path.unlink()
        write_whole(f"/proc/self/fd/{number}", b"new")
        assert os.pread(number, 100, 0) == b"new"
    finally:
        os.close(number)
    assert names(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_no_files(tmp_path):
    path = tmp_path / "y"
    path.write_bytes(b"before")
    tmp_path.chmod(0o500)
    try:
        write_whole(path, b"new")
        assert path.read_bytes() == b"new"
        with pytest.raises(PermissionError):
            write_whole(tmp_path / "z", b"new")
    finally:
        tmp_path.chmod(0o700)
