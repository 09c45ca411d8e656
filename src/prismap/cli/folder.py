"""The folder of a map: complete or absent, and never in place of files that are not prismap's.

A run looks at the folder twice: before the work, so that a mistake costs no time, and again when the result takes its
name, under a lock, because much can happen during a fit. The exchange itself is one step of the system where there is
such a step, so that a run that is killed leaves the former map or the new one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prismap._util.locks import locked_folder, replace_path
from prismap.bundle import sync_folder
from prismap.exceptions import InputError
from prismap.page._folder import DATA

MODEL, REPORT, PAGE, PICTURE = "model.prismap", "report.json", "map.html", "map.png"
#: Where the explorer keeps its last view.
VIEW = "explorer.json"
#: Everything that `prismap map`, `explore`, `view`, `judge` and `compare` write.
NAMES = frozenset({
    DATA, MODEL, REPORT, PAGE, PICTURE, "map.parquet", "map.csv", VIEW,
    "view.html", "view.png", "fidelity.json", "verdicts.json", "verdicts.txt",
})  # fmt: skip
#: Free space below which no work is begun: a small map takes less, and a disk this full will not take a large one.
LEAST_FREE = 16 * 2**20
_EXCHANGE, _HERE = 2, -100  # RENAME_EXCHANGE and AT_FDCWD of Linux


def check_folder(out: Path, *, force: bool) -> None:
    """Refuse, before any work, a folder that must not be replaced or cannot be written."""
    _check_content(out, force=force)
    _check_writable(out)


def _check_content(out: Path, *, force: bool) -> None:
    if not out.exists():
        if out.is_symlink():
            raise InputError(f"{out} is a link to nothing; -o names the folder to write.")
        return
    if not out.is_dir():
        raise InputError(f"{out} is a file; -o names the folder to write.")
    names = sorted(path.name for path in out.iterdir())
    others = [name for name in names if name not in NAMES]
    if others:
        shown = ", ".join(others[:4]) + (", ..." if others[4:] else "")
        raise InputError(f"{out} holds files that are not prismap's ({shown}) and is left alone: name another folder.")
    if names and not force:
        raise InputError(f"{out} holds a map already: --force replaces it.")


def _check_writable(out: Path) -> None:
    """Try to write beside `out`, in the nearest folder above that exists, and look how much room there is."""
    parent = out.resolve().parent
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
    aside = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    aside.mkdir()
    try:
        yield aside
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
        shutil.rmtree(aside, ignore_errors=True)
    sync_folder(out.parent)


def _kept_beside(aside: Path, out: Path) -> Path:
    """Give a finished folder the first free name of the form OUT-2, OUT-3, ..."""
    number = 2
    while True:
        name = out.with_name(f"{out.name}-{number}")
        if not os.path.lexists(name):
            replace_path(aside, name)
            return name
        number += 1


def _take_name(aside: Path, out: Path) -> Path | None:
    """Put the finished folder at `out`; returns where the former one is now, if there was one."""
    if out == Path.cwd():  # the working directory cannot be exchanged: the files are moved into it one by one
        for path in sorted(aside.iterdir()):
            replace_path(path, out / path.name)
        return None
    try:
        if not out.exists():
            replace_path(aside, out)
            return None
        return aside if _exchange(aside, out) else _replace_in_two_steps(aside, out)
    except OSError as error:  # on Windows, another program has the folder or a file in it open
        kept = _kept_beside(aside, out)
        raise OSError(f"{out} cannot be written: {error}. The finished map is in {kept}.") from error


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
    for name in NAMES:
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
