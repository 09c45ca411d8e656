"""The folder of a map: complete or absent, and never in place of somebody else's files."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prismap.bundle import sync_folder
from prismap.exceptions import InputError
from prismap.explorer.folder import DATA

MODEL, REPORT, PAGE, PICTURE = "model.prismap", "report.json", "map.html", "map.png"
#: Everything that `prismap map` and `prismap view` write, and where the explorer keeps its last view.
NAMES = frozenset({
    DATA, MODEL, REPORT, PAGE, PICTURE, "map.parquet", "map.csv", "explorer.json",
    "view.html", "view.png", "fidelity.json",
})  # fmt: skip


def check_folder(out: Path, *, force: bool) -> None:
    """Refuse, before any work, a folder that must not be replaced."""
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(f"{out} is a file; -o names the folder to write.")
    found = sorted(path.name for path in out.iterdir())
    others = [name for name in found if name not in NAMES]
    if others:
        shown = ", ".join(others[:4]) + (", ..." if others[4:] else "")
        raise InputError(f"{out} holds files that are not prismap's ({shown}) and is left alone: name another folder.")
    if found and not force:
        raise InputError(f"{out} holds a map already: --force replaces it.")


@contextmanager
def folder_aside(out: Path) -> Iterator[Path]:
    """A new folder beside `out` to write into; it takes the name `out` when the block ends well, else it is removed."""
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = out.with_name(f".{out.name}.{secrets.token_hex(4)}")
    aside.mkdir()
    try:
        yield aside
        sync_folder(aside)
        _take_name(aside, out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    sync_folder(out.parent)


def _take_name(aside: Path, out: Path) -> None:
    if out == Path.cwd():  # a shell stands in it: the files go in, one rename each
        for path in sorted(aside.iterdir()):
            os.replace(path, out / path.name)
        return
    if not out.exists():
        os.rename(aside, out)
        return
    former = aside.with_name(aside.name + ".former")
    os.rename(out, former)
    try:
        os.rename(aside, out)
    except BaseException:
        os.rename(former, out)
        raise
    shutil.rmtree(former, ignore_errors=True)
