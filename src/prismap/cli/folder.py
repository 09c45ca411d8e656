"""The folder of a map: complete or absent, and never in place of files that are not prismap's.

A run looks at the folder twice: before the work, so that a mistake costs no time, and again when the result takes its
name, under a lock, because much can happen during a fit. The exchange itself is one step of the system where there is
such a step, so that a run that is killed leaves the former map or the new one.

What is prismap's is what carries its mark, and not what has one of its names: ``.prismap`` lists the SHA-256 digest of
every file that a run has written. A file that is not listed, or was changed since, is never replaced.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prismap._util.locks import claimed, locked_folder, replace_path
from prismap.bundle import sync_folder, written_aside
from prismap.bundle._aside import leftovers
from prismap.exceptions import InputError

MODEL, REPORT, PAGE, PICTURE = "model.prismap", "report.json", "map.html", "map.png"
#: Where the explorer keeps its last view.
VIEW = "explorer.json"
#: The marks of the files that are prismap's, a line for each: its digest and its name.
MARKS = ".prismap"
#: Free space below which no work is begun: a small map takes less, and a disk this full will not take a large one.
LEAST_FREE = 16 * 2**20
_EXCHANGE, _HERE = 2, -100  # RENAME_EXCHANGE and AT_FDCWD of Linux
#: Names of our files, and the temporary names of these.
_OURS = re.compile(
    r"\.prismap|\.?(map|model|view|report|fidelity|verdicts|explorer)(\.[0-9a-f]{8})?"
    r"\.(page|html|png|parquet|csv|json|txt|prismap)"
)


def check_folder(out: Path, *, force: bool) -> None:
    """Refuse, before any work, a folder that must not be replaced or cannot be written."""
    _check_content(out, force=force)
    _check_writable(out)
    remove_left_folders(out)


def _check_content(out: Path, *, force: bool) -> None:
    if not out.exists():
        if out.is_symlink():
            raise InputError(f"{out} is a link to nothing; -o names the folder to write.")
        return
    if not out.is_dir():
        raise InputError(f"{out} is a file; -o names the folder to write.")
    names = sorted(path.name for path in out.iterdir() if not _is_aside(path, out))
    own = own_files(out)
    others = [name for name in names if name not in own]
    if others:
        shown = ", ".join(others[:4]) + (", ..." if others[4:] else "")
        raise InputError(
            f"{out} holds files that are not prismap's ({shown}) and is left alone: name another folder. "
            "(Files of earlier versions, and those changed since, carry no mark of prismap's.)"
        )
    if names and not force:
        raise InputError(f"{out} holds a map already: --force replaces it.")


def own_files(folder: Path) -> set[str]:
    """The names of the files of a folder that are as prismap wrote them, its marks and its view among them."""
    marks = _read_marks(folder)
    named = {line.partition("  ")[2] for line in marks}
    own = {name for name in named if _is_plain(folder / name) and _mark(folder / name) in marks}
    return own | ({MARKS} if marks else set()) | ({VIEW} if _is_view(folder / VIEW) else set())


def mark_files(folder: Path) -> None:
    """Mark all files of a finished folder that does not have its name yet as prismap's."""
    marks = {_mark(path) for path in folder.iterdir() if _is_plain(path) and path.name != MARKS}
    (folder / MARKS).write_text(_text_of(marks), encoding="utf-8")


def _text_of(marks: set[str]) -> str:
    return "".join(f"{line}\n" for line in sorted(marks))


def _mark(path: Path) -> str:
    """The digest and the name of a file, as ``sha256sum`` prints them."""
    with open(path, "rb") as file:
        return f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}"


def _read_marks(folder: Path) -> set[str]:
    try:
        lines = (folder / MARKS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return set()
    return {line for line in lines if re.fullmatch(r"[0-9a-f]{64}  [^/\\\0]+", line)}


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_view(path: Path) -> bool:
    """Whether a file is the view that the explorer keeps, which it writes when it likes."""
    try:
        return _is_plain(path) and {"format", "view"} == set(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def _is_aside(path: Path, out: Path) -> bool:
    """Whether a path is a folder in which a run prepares its result."""
    return re.fullmatch(rf"\.{re.escape(out.name)}\.[0-9a-f]{{8}}", path.name) is not None and path.is_dir()


def _stays(out: Path) -> bool:
    """Whether a folder can be filled and not be exchanged: the working directory, and where a volume is mounted."""
    return out == Path.cwd() or os.path.ismount(out)


def _check_writable(out: Path) -> None:
    """Try to write where the result is prepared, or in the nearest folder above, and look how much room there is."""
    parent = out.resolve() if _stays(out.resolve()) else out.resolve().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise InputError(f"{out} cannot be written: {parent} is a file.")
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
        free = shutil.disk_usage(parent).free
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror or error} ({parent}).") from error
    if free < LEAST_FREE:
        raise InputError(
            f"{out} cannot be written: {parent} has {free / 2**20:.1f} MiB left; {LEAST_FREE >> 20} MiB are needed."
        )


def mark_of(out: Path) -> tuple[int, int, int] | None:
    """What identifies the map in a folder, to notice if it is replaced; None without a map."""
    try:
        about = (out / MODEL).stat()
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns


@contextmanager
def folder_aside(out: Path, *, force: bool = False, replacing: tuple[int, int, int] | None = None) -> Iterator[Path]:
    """A new folder beside `out` to write into; it takes the name `out` when the block ends well, else it is removed.

    What `check_folder` refused before the work is refused again: then the finished folder keeps its own name, and the
    error says it, because the work should not be lost. With `replacing` it may replace the map of this mark and no
    other: a run that writes twice must not take what another run has put there in between.
    """
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = (out if _stays(out) else out.parent) / f".{out.name}.{secrets.token_hex(4)}"
    aside.mkdir()
    made = aside.stat().st_ino
    try:
        with claimed(aside):
            yield aside
            mark_files(aside)
        sync_folder(aside)
        with locked_folder(out.parent):
            try:
                _check_content(out, force=force or (replacing is not None and mark_of(out) == replacing))
            except InputError as error:
                kept = _kept_beside(aside, out)
                raise InputError(f"{error} The finished map is in {kept}.") from error
            former = _take_name(aside, out)
        if former is not None:
            _remove_former(former, out)
    finally:
        with suppress(OSError):
            if aside.stat().st_ino == made:  # after an exchange this is the name of the former folder
                shutil.rmtree(aside, ignore_errors=True)
    sync_folder(out.parent)


def _kept_beside(aside: Path, out: Path) -> Path:
    """Give a finished folder the first free name of the form OUT-2, OUT-3, ..., inside OUT if not beside it."""
    for home in dict.fromkeys((out.parent, aside.parent)):
        number = 2
        while os.path.lexists(home / f"{out.name}-{number}"):
            number += 1
        with suppress(OSError):
            replace_path(aside, home / f"{out.name}-{number}")
            return home / f"{out.name}-{number}"
    raise OSError(f"{aside} cannot be renamed")


def _take_name(aside: Path, out: Path) -> Path | None:
    """Put the finished folder at `out`; returns where the former one is now, if there was one."""
    try:
        if _stays(out):
            _move_into(aside, out)
            return None
        if not out.exists():
            replace_path(aside, out)
            return None
        try:
            return aside if _exchange(aside, out) else _replace_in_two_steps(aside, out)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EXDEV):  # a mount that does not show itself as one
                raise
            _move_into(aside, out)
            return None
    except OSError as error:  # on Windows, another program has the folder or a file in it open
        kept = _kept_beside(aside, out)
        raise OSError(f"{out} cannot be written: {error}. The finished map is in {kept}.") from error


def _move_into(aside: Path, out: Path) -> None:
    """Move the files of a finished folder into `out`, one by one, in place of those of a former map.

    Killed on the way, files of both maps are there, and all of them are marked as prismap's.
    """
    former, new = own_files(out) - {MARKS}, {path.name for path in aside.iterdir()} - {MARKS}
    with written_aside(out / MARKS) as marks:
        marks.write_text(_text_of(_read_marks(out) | _read_marks(aside)), encoding="utf-8")
    for name in sorted(new):
        _move_file(aside / name, out / name)
    for name in former - new:
        (out / name).unlink(missing_ok=True)
    _move_file(aside / MARKS, out / MARKS)


def _move_file(path: Path, target: Path) -> None:
    """Rename a file, or copy it to another file system; in both cases it is complete when it has its name."""
    try:
        replace_path(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with written_aside(target) as copy:
            shutil.copyfile(path, copy)


def _exchange(aside: Path, out: Path) -> bool:
    """Let two folders swap their names in one step of the system; False where it has none."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(aside), _HERE, os.fsencode(out), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(out))


def _replace_in_two_steps(aside: Path, out: Path) -> Path:
    """Where there is no exchange: killed between the two steps, the former map is at OUT.former and nothing is lost."""
    former = _former_name(out)
    replace_path(out, former)
    try:
        replace_path(aside, out)
    except BaseException:
        replace_path(former, out)
        raise
    return former


def _remove_former(former: Path, out: Path) -> None:
    """Remove our own files and the folder; other files, and those that a program has open, stay in OUT.former."""
    for name in sorted(own_files(former), reverse=True):  # the marks, which begin with a dot, last
        with suppress(FileNotFoundError, PermissionError):
            (former / name).unlink()
    try:
        former.rmdir()
    except OSError:
        if former.name.startswith("."):  # two folders that exchanged their names: the former one has a hidden name
            replace_path(former, _former_name(out))


def _former_name(out: Path) -> Path:
    path = out.with_name(f"{out.name}.former")
    return path if not os.path.lexists(path) else path.with_name(f"{path.name}.{secrets.token_hex(4)}")


def remove_left_folders(out: Path) -> None:
    """Remove folders that killed runs were writing to take the name `out`, if they hold nothing but our files."""
    out = out.resolve()
    for path in (*leftovers(out), *leftovers(out / out.name)):
        if path.is_dir() and not path.is_symlink() and all(_is_ours(one) for one in path.iterdir()):
            shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and _OURS.fullmatch(path.name) is not None
