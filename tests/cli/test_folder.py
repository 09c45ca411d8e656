"""The folder of a map is complete or absent, and never takes the place of other files."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from prismap.cli import folder as module
from prismap.cli.folder import check_folder, folder_aside, mark_of
from prismap.exceptions import InputError


def fill(folder, content="new"):
    (folder / "model.prismap").write_text(content)
    (folder / "report.json").write_text(content)


def former_map(folder, content="old"):
    """A folder that a run has written."""
    folder.mkdir()
    fill(folder, content)
    module.mark_files(folder)


def listing(path):
    """What a user sees in a folder."""
    return sorted(name for name in os.listdir(path) if name != module.MARKS)


def test_the_folder_appears_when_it_is_complete(tmp_path):
    out = tmp_path / "deep" / "out"
    with folder_aside(out, force=True) as aside:
        fill(aside)
        assert not out.exists()
    assert listing(out) == ["model.prismap", "report.json"]
    assert listing(tmp_path / "deep") == ["out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_nothing_is_left_of_an_interrupted_folder(tmp_path, error):
    out = tmp_path / "out"

    def interrupted():
        with folder_aside(out, force=True) as aside:
            fill(aside)
            raise error

    with pytest.raises(error):
        interrupted()
    assert listing(tmp_path) == []
    former_map(out)
    with pytest.raises(error):
        interrupted()
    assert listing(tmp_path) == ["out"]
    assert (out / "report.json").read_text() == "old"


def test_a_former_map_is_replaced_as_a_whole(tmp_path):
    out = tmp_path / "out"
    former_map(out)
    (out / "map.csv").write_text("old")
    module.mark_files(out)
    with folder_aside(out, force=True) as aside:
        fill(aside)
    assert listing(tmp_path) == ["out"]
    assert listing(out) == ["model.prismap", "report.json"]
    assert (out / "report.json").read_text() == "new"


def test_the_former_map_comes_back_if_the_new_one_cannot_take_its_name(tmp_path, monkeypatch):
    out = tmp_path / "out"
    former_map(out)
    rename, calls = os.replace, []
    monkeypatch.setattr(module, "_exchange", lambda *_: False)

    def stubborn(source, target):
        calls.append(source)
        if len(calls) == 2:
            raise OSError("the disk says no")
        rename(source, target)

    monkeypatch.setattr(module.os, "replace", stubborn)
    with (
        pytest.raises(OSError, match=r"says no. The finished map is in .*out-2"),
        folder_aside(out, force=True) as aside,
    ):
        fill(aside)
    assert listing(tmp_path) == ["out", "out-2"]
    assert (out / "report.json").read_text() == "old"
    assert (tmp_path / "out-2" / "report.json").read_text() == "new"


def test_the_working_folder_is_filled_and_not_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = os.stat(tmp_path).st_ino
    with folder_aside(module.Path("."), force=True) as aside:
        fill(aside)
    assert listing(tmp_path) == ["model.prismap", "report.json"]
    assert os.stat(tmp_path).st_ino == before


def test_folders_that_must_not_be_replaced_are_refused(tmp_path):
    out = tmp_path / "out"
    check_folder(out, force=False)
    out.mkdir()
    check_folder(out, force=False)
    fill(out)
    module.mark_files(out)
    with pytest.raises(InputError, match="holds a map already: --force"):
        check_folder(out, force=False)
    check_folder(out, force=True)
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"not prismap's \(thesis.tex\) and is left alone"):
        check_folder(out, force=True)
    with pytest.raises(InputError, match="is a file"):
        check_folder(out / "thesis.tex", force=True)


# During a fit much can happen


def test_a_folder_that_was_made_during_the_work_is_left_alone(tmp_path):
    out = tmp_path / "out"
    check_folder(out, force=False)

    def overtaken():
        with folder_aside(out, force=False) as aside:
            fill(aside)
            out.mkdir()
            (out / "thesis.tex").write_text("years of work")

    with pytest.raises(InputError, match=r"thesis.tex.* left alone.*The finished map is in .*out-2\."):
        overtaken()
    assert (out / "thesis.tex").read_text() == "years of work"
    assert listing(tmp_path / "out-2") == ["model.prismap", "report.json"]
    assert listing(tmp_path) == ["out", "out-2"]


def test_of_two_runs_at_once_no_result_is_lost(tmp_path):
    out = tmp_path / "out"
    with folder_aside(out, force=False) as first:
        fill(first, "first")
        with folder_aside(out, force=False) as second:
            fill(second, "second")
        with pytest.raises(InputError, match="holds a map already.*out-2"):
            _finish(out, "third")
        os.rename(out, tmp_path / "elsewhere")
    assert (out / "report.json").read_text() == "first"
    assert (tmp_path / "elsewhere" / "report.json").read_text() == "second"
    assert (tmp_path / "out-2" / "report.json").read_text() == "third"


def _finish(out, content, force=False):
    with folder_aside(out, force=force) as aside:
        fill(aside, content)


def test_the_second_write_of_a_run_replaces_its_own_map_only(tmp_path):
    out = tmp_path / "out"
    with folder_aside(out) as aside:
        fill(aside, "first")
    mark = mark_of(out)
    with folder_aside(out, replacing=mark) as aside:
        fill(aside, "second")
    assert (out / "report.json").read_text() == "second"

    def write_again():
        with folder_aside(out, replacing=mark) as aside:
            fill(aside, "of a run whose map was replaced")

    with pytest.raises(InputError, match=r"holds a map already.* The finished map is in .*out-2"):
        write_again()
    assert (out / "report.json").read_text() == "second"
    assert (tmp_path / "out-2" / "report.json").read_text() == "of a run whose map was replaced"


def test_a_strangers_file_outlives_the_exchange(tmp_path, monkeypatch):
    """Put there after the second look: kept beside the new map."""
    out = tmp_path / "out"
    former_map(out)
    take = module._take_name

    def late(aside, out):
        (out / "thesis.tex").write_text("years of work")
        return take(aside, out)

    monkeypatch.setattr(module, "_take_name", late)
    with folder_aside(out, force=True) as aside:
        fill(aside)
    assert (out / "report.json").read_text() == "new"
    assert listing(tmp_path / "out.former") == ["thesis.tex"]
    assert listing(tmp_path) == ["out", "out.former"]


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_file_that_another_program_has_open_stays_beside(tmp_path, monkeypatch, exchanged):
    """Windows does not delete open files."""
    out = tmp_path / "out"
    former_map(out)
    unlink = module.Path.unlink

    def but_the_model(path, **options):
        if path.name == "model.prismap":
            raise PermissionError(13, "The process cannot access the file")
        unlink(path, **options)

    if not exchanged:
        monkeypatch.setattr(module, "_exchange", lambda *_: False)
    with monkeypatch.context() as patched, folder_aside(out, force=True) as aside:
        fill(aside)
        patched.setattr(module.Path, "unlink", but_the_model)
    assert (out / "model.prismap").read_text() == "new"
    assert listing(tmp_path) == ["out", "out.former"]
    assert listing(tmp_path / "out.former") == ["model.prismap"]


def test_a_folder_that_another_program_has_open_is_left_and_the_map_kept(tmp_path, monkeypatch):
    """Windows does not rename open folders."""
    out = tmp_path / "out"
    former_map(out)
    rename = os.replace

    def refuse_out(source, target):
        if module.Path(source) == out:
            raise PermissionError(13, "Access is denied")
        rename(source, target)

    monkeypatch.setattr(module, "_exchange", lambda *_: False)
    monkeypatch.setattr(module.os, "replace", refuse_out)
    with pytest.raises(OSError, match=r"Access is denied.* The finished map is in .*out-2"):
        _finish(out, "new", force=True)
    assert (out / "report.json").read_text() == "old"
    assert (tmp_path / "out-2" / "report.json").read_text() == "new"
    assert listing(tmp_path) == ["out", "out-2"]


@pytest.mark.linux
def test_the_exchange_is_one_step(tmp_path, monkeypatch):
    out = tmp_path / "out"
    former_map(out)
    monkeypatch.setattr(module, "_replace_in_two_steps", lambda *_: pytest.fail("two steps"))
    with folder_aside(out, force=True) as aside:
        fill(aside)
    assert (out / "report.json").read_text() == "new"


KILLED = """
import os, signal, sys
from pathlib import Path
from prismap.cli import folder
rename = os.replace
def then_die(*names):
    rename(*names)
    os.kill(os.getpid(), signal.SIGKILL)
folder.os.replace = then_die
if sys.argv[2] == "two steps":
    folder._exchange = lambda *_: False
else:
    exchange = folder._exchange
    def exchanged(*names):
        exchange(*names)
        os.kill(os.getpid(), signal.SIGKILL)
    folder._exchange = exchanged
with folder.folder_aside(Path(sys.argv[1]), force=True) as aside:
    (aside / "report.json").write_text("new")
"""


@pytest.mark.parametrize("how", ["exchange", "two steps"])
@pytest.mark.posix
def test_a_run_killed_while_it_replaces_leaves_a_whole_map(tmp_path, how):
    out = tmp_path / "out"
    former_map(out)
    done = subprocess.run([sys.executable, "-c", KILLED, str(out), how])
    assert done.returncode == -signal.SIGKILL
    if how == "exchange":
        assert (out / "report.json").read_text() == "new"
    else:  # systems without an exchange: the former map is beside, whole and with a name that says it
        assert (tmp_path / "out.former" / "report.json").read_text() == "old"


def test_a_full_disk_and_a_locked_folder_are_said_before_the_work(tmp_path, monkeypatch):
    class Usage:
        free = 1000

    with monkeypatch.context() as patched:
        patched.setattr(module.shutil, "disk_usage", lambda _: Usage)
        with pytest.raises(InputError, match="0.0 MiB left"):
            check_folder(tmp_path / "deep" / "out", force=False)

    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.tempfile, "TemporaryFile", refuse)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        check_folder(tmp_path / "out", force=False)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file is a file"):
        check_folder(tmp_path / "file" / "out", force=False)
    assert listing(tmp_path) == ["file"]


# Ours is what carries our mark


def refused(out, name):
    with pytest.raises(InputError, match=rf"not prismap's \({name}\) and is left alone"):
        check_folder(out, force=True)


@pytest.mark.parametrize("name", ["map.csv", "report.json", "model.prismap", "explorer.json", ".prismap"])
def test_a_users_file_with_a_name_of_ours_is_not_replaced(tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("years of work")
    refused(out, name)
    with pytest.raises(InputError, match=r"The finished map is in .*out-2"), folder_aside(out, force=True) as aside:
        fill(aside)
    assert (out / name).read_text() == "years of work"
    assert listing(tmp_path / "out-2") == ["model.prismap", "report.json"]


def test_a_file_of_ours_that_was_changed_is_the_users(tmp_path):
    former_map(tmp_path / "out")
    check_folder(tmp_path / "out", force=True)
    (tmp_path / "out" / "report.json").write_text("new")  # as long as before
    refused(tmp_path / "out", "report.json")


def test_the_view_that_the_explorer_keeps_is_ours(tmp_path):
    former_map(tmp_path / "out")
    (tmp_path / "out" / "explorer.json").write_text('{"format": 1, "view": "zoom"}')
    check_folder(tmp_path / "out", force=True)
    with folder_aside(tmp_path / "out", force=True) as aside:
        fill(aside)
    assert listing(tmp_path / "out") == ["model.prismap", "report.json"]


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_folder_with_a_name_of_ours_outlives_the_exchange(tmp_path, monkeypatch, exchanged):
    """`OUT/map.parquet/` with somebody's parts, put there after the second look."""
    out = tmp_path / "out"
    former_map(out)
    take = module._take_name
    if not exchanged:
        monkeypatch.setattr(module, "_exchange", lambda *_: False)

    def late(aside, out):
        (out / "map.parquet").mkdir()
        (out / "map.parquet" / "part-0").write_text("years of work")
        (out / "map.csv").write_text("years of work")
        return take(aside, out)

    monkeypatch.setattr(module, "_take_name", late)
    with folder_aside(out, force=True) as aside:
        fill(aside)
    assert (tmp_path / "out.former" / "map.parquet" / "part-0").read_text() == "years of work"
    assert (tmp_path / "out.former" / "map.csv").read_text() == "years of work"
    assert listing(out) == ["model.prismap", "report.json"]
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "map.parquet").mkdir()
    refused(tmp_path / "old", "map.parquet")


# A folder that cannot be exchanged


def test_a_mount_point_is_filled_in_place(tmp_path, monkeypatch):
    """The volume of a container: nothing may be written beside it, and it cannot be renamed."""
    out = tmp_path / "out"
    former_map(out)
    (out / "map.csv").write_text("old")
    module.mark_files(out)
    monkeypatch.setattr(module.os.path, "ismount", lambda path: module.Path(path) == out)
    with folder_aside(out, force=True) as aside:
        assert aside.parent == out
        fill(aside)
    assert listing(out) == ["model.prismap", "report.json"]
    assert (out / "report.json").read_text() == "new"
    assert listing(tmp_path) == ["out"]
    check_folder(out, force=True)
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"The finished map is in .*out-2"), folder_aside(out, force=True) as aside:
        fill(aside, "newer")
    assert (tmp_path / "out-2" / "report.json").read_text() == "newer"


@pytest.mark.parametrize("code", [errno.EBUSY, errno.EXDEV])
def test_a_folder_that_is_busy_is_filled_in_place(tmp_path, monkeypatch, code):
    """A mount that does not show itself as one; its files are on another device, so that they are copied."""
    out = tmp_path / "out"
    former_map(out)
    replace_path = module.replace_path

    def busy(source, target):
        if module.Path(source).is_dir() or module.Path(source).parent != module.Path(target).parent:
            raise OSError(errno.EXDEV if module.Path(source).is_file() else code, "busy")
        replace_path(source, target)

    def no_exchange(*_):
        raise OSError(code, "busy")

    monkeypatch.setattr(module, "replace_path", busy)
    monkeypatch.setattr(module, "_exchange", no_exchange)
    with folder_aside(out, force=True) as aside:
        fill(aside)
    assert (out / "report.json").read_text() == "new"
    assert listing(tmp_path) == ["out"]
    check_folder(out, force=True)


MOUNTED = """
set -e
mount -t tmpfs none out
map () {
    "$1" -c "import sys; from prismap.cli.main import main; sys.exit(main())" map flowers.csv --target kind -o out \\
        --quick --quiet $2 > said
    ls -A out
}
map "$1" ""
map "$1" --force
umount out
"""


@pytest.mark.linux
def test_a_map_is_written_to_a_mounted_volume(tmp_path):
    """A real one, in a mount namespace of its own, where the system allows that."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here")
    (tmp_path / "out").mkdir()
    lines = ["a,b,kind", *(f"{i % 7},{i * i % 11},{'xy'[i % 2]}" for i in range(30))]
    (tmp_path / "flowers.csv").write_text("\n".join(lines))
    command = ["unshare", "-rm", "sh", "-c", MOUNTED, "sh", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("model.prismap") == 2
    assert listing(tmp_path) == ["flowers.csv", "out", "said"]
