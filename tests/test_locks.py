"""Locks and renames: the same promises on POSIX systems and on Windows, whose module `msvcrt` has a stand-in here."""

import os
import subprocess
import sys
import threading
import types

import pytest

from prismap._util import locks as module
from prismap._util.locks import locked_folder, replace_path
from prismap.exceptions import InputError


class FakeMsvcrt(types.ModuleType):
    """`msvcrt.locking` in memory: one lock per file, whoever opened it."""

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self):
        super().__init__("msvcrt")
        self.held = {}

    def locking(self, handle, mode, n_bytes):
        about = os.fstat(handle)
        file = about.st_dev, about.st_ino
        assert n_bytes == 1
        if mode == self.LK_UNLCK:
            assert self.held.pop(file) == handle
        elif file in self.held:
            raise PermissionError(13, "Permission denied")
        else:
            self.held[file] = handle


@pytest.fixture
def windows(tmp_path, monkeypatch):
    """A system without fcntl, with `msvcrt`, and with a temporary folder of its own."""
    fake, temporary = FakeMsvcrt(), tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(temporary))
    return fake


@pytest.fixture(params=["this system", "windows"])
def system(request):
    """The real locks of this system, and those of Windows."""
    return request.getfixturevalue("windows") if request.param == "windows" else None


def held_elsewhere(folder, begun, end):
    with locked_folder(folder):
        begun.set()
        end.wait(20)


def test_a_held_folder_refuses_and_is_free_afterwards(system, tmp_path):
    with locked_folder(tmp_path, refusal="busy"):
        with pytest.raises(InputError, match="busy"), locked_folder(tmp_path, refusal="busy"):
            pytest.fail("two runs hold the folder")
        with locked_folder(tmp_path.parent, refusal="another folder"):
            pass
    with locked_folder(tmp_path, refusal="busy"):
        pass


def test_without_a_refusal_the_lock_is_waited_for(system, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LOCK_PAUSE", 0.005)
    begun, end, order = threading.Event(), threading.Event(), []
    holder = threading.Thread(target=held_elsewhere, args=(tmp_path, begun, end), daemon=True)
    holder.start()
    assert begun.wait(20)

    def wait_for_it():
        with locked_folder(tmp_path):
            order.append("second")

    waiting = threading.Thread(target=wait_for_it, daemon=True)
    waiting.start()
    waiting.join(0.1)
    order.append("first")
    end.set()
    holder.join(20)
    waiting.join(20)
    assert order == ["first", "second"]


def test_an_error_inside_releases_the_lock(system, tmp_path):
    with pytest.raises(BlockingIOError, match="of the work"), locked_folder(tmp_path, refusal="busy"):
        raise BlockingIOError("of the work")
    with locked_folder(tmp_path, refusal="busy"):
        pass


def test_no_handle_stays_open(system, tmp_path):
    def next_handle():
        handle = os.open(os.devnull, os.O_RDONLY)
        os.close(handle)
        return handle

    before = next_handle()
    with locked_folder(tmp_path), pytest.raises(InputError), locked_folder(tmp_path, refusal="busy"):
        pass
    assert next_handle() == before


def test_the_lock_of_a_process_ends_with_it(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from prismap._util.locks import locked_folder\n"
        "with locked_folder(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read(); os._exit(1)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="busy"), locked_folder(tmp_path, refusal="busy"):
            pytest.fail("two processes hold the folder")
    with locked_folder(tmp_path, refusal="busy"):
        pass


def test_windows_writes_nothing_into_the_folder_it_locks(windows, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with locked_folder(folder):
        assert list(folder.iterdir()) == []
        assert len(windows.held) == 1
        folder.rename(tmp_path / "renamed")  # no handle keeps it
    assert windows.held == {}


def test_one_folder_has_one_lock_under_all_its_names(windows, tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    with (
        locked_folder(folder, refusal="busy"),
        pytest.raises(InputError, match="busy"),
        locked_folder(module.Path("folder") / ".." / "folder", refusal="busy"),
    ):
        pytest.fail("two runs hold the folder")


def test_systems_without_locks_go_on(tmp_path, monkeypatch):
    for name in ("fcntl", "msvcrt"):
        monkeypatch.setitem(sys.modules, name, None)
    with locked_folder(tmp_path, refusal="busy"), locked_folder(tmp_path, refusal="busy"):
        pass


# Renames


@pytest.fixture
def scanned(tmp_path, monkeypatch):
    """A rename that is refused while another program, which is slow, has the file open; returns the tries."""
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    replace, tries = os.replace, []

    def refused_twice(source, target):
        tries.append(source)
        if len(tries) <= 2:
            raise PermissionError(13, "The process cannot access the file")
        replace(source, target)

    monkeypatch.setattr(module.os, "replace", refused_twice)
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    return tries


def test_windows_tries_a_refused_rename_again(scanned, tmp_path, monkeypatch):
    monkeypatch.setattr(module.sys, "platform", "win32")
    replace_path(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "new"
    assert len(scanned) == 3


def test_other_systems_say_at_once_that_they_may_not(scanned, tmp_path, monkeypatch):
    monkeypatch.setattr(module.sys, "platform", "linux")
    with pytest.raises(PermissionError):
        replace_path(tmp_path / "new", tmp_path / "old")
    assert len(scanned) == 1


def test_windows_gives_up_after_some_tries(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "The process cannot access the file")

    waited = []
    monkeypatch.setattr(module.sys, "platform", "win32")
    monkeypatch.setattr(module.os, "replace", refuse)
    monkeypatch.setattr(module.time, "sleep", waited.append)
    with pytest.raises(PermissionError, match="cannot access"):
        replace_path(tmp_path / "new", tmp_path / "old")
    assert 0.5 < sum(waited) < 2
