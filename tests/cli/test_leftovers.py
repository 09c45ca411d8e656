"""What killed runs leave under a temporary name is removed by the next run; what others have is not."""

import os
import signal
import subprocess
import sys
import time

import pytest

from prismap.bundle import written_aside
from prismap.bundle._aside import LEFT_SECONDS, remove_leftovers
from prismap.cli.folder import check_folder

WORK = """
import sys, time
from pathlib import Path
from prismap.bundle import written_aside
from prismap.cli.folder import folder_aside
what = folder_aside if sys.argv[2] == "folder" else written_aside
with what(Path(sys.argv[1])) as aside:
    if aside.is_dir():
        (aside / "map.csv").write_text("x")
    else:
        aside.write_text("x")
    print("ready", flush=True)
    time.sleep(60)
"""


def aged(path):
    """As if it had been left an hour ago."""
    then = time.time() - 3600
    os.utime(path, (then, then))


@pytest.mark.parametrize("kind", ["folder", "file"])
@pytest.mark.posix
def test_what_a_killed_run_was_writing_is_removed(tmp_path, kind):
    out = tmp_path / ("out" if kind == "folder" else "ap.csv")

    def look():
        check_folder(out, force=True) if kind == "folder" else remove_leftovers(out)
        return [path.name for path in tmp_path.iterdir()]

    with subprocess.Popen([sys.executable, "-c", WORK, out, kind], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        (left,) = tmp_path.iterdir()
        aged(left)
        assert look() == [left.name]  # its run is still at work
        process.send_signal(signal.SIGKILL)
    assert look() == []


@pytest.mark.posix
def test_a_run_that_has_just_begun_is_left_alone(tmp_path):
    """It has its temporary name for a moment before it can show that it is at work."""
    left = tmp_path / ".ap.0123abcd.csv"
    left.touch()
    remove_leftovers(tmp_path / "ap.csv")
    assert left.exists()
    aged(left)
    remove_leftovers(tmp_path / "ap.csv")
    assert not left.exists()
    assert LEFT_SECONDS >= 60


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        (".out.0123abcd", "mine.txt"), (".out.0123abcd", "sub/map.csv"), (".out.mine", "map.csv"),
        (".other.0123abcd", "map.csv"),
    ],
)  # fmt: skip
def test_folders_of_others_stay(tmp_path, folder, file):
    path = tmp_path / folder / file
    path.parent.mkdir(parents=True)
    path.write_text("x")
    aged(tmp_path / folder)
    check_folder(tmp_path / "out", force=False)
    assert path.read_text() == "x"


@pytest.mark.parametrize(
    "name", [".ap.csv", ".ap.0123abc.csv", ".ap.0123abcd.parquet", ".bp.0123abcd.csv", "ap.0123abcd.csv"]
)
def test_files_of_others_stay(tmp_path, name):
    (tmp_path / name).write_text("x")
    aged(tmp_path / name)
    remove_leftovers(tmp_path / "ap.csv")
    assert (tmp_path / name).exists()


def test_systems_that_cannot_tell_wait_for_a_day(tmp_path, monkeypatch):
    monkeypatch.setattr("prismap.bundle._aside.is_claimed", lambda _: None)
    left = tmp_path / ".ap.0123abcd.csv"
    left.touch()
    aged(left)
    remove_leftovers(tmp_path / "ap.csv")
    assert left.exists()
    then = time.time() - 2 * 86_400
    os.utime(left, (then, then))
    remove_leftovers(tmp_path / "ap.csv")
    assert not left.exists()


def test_a_file_has_its_temporary_name_from_the_start(tmp_path):
    with written_aside(tmp_path / "a.csv") as aside:
        assert aside.exists()
        aside.write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
