"""Files that are complete or absent: written under a name of their own beside their place, and renamed."""

from __future__ import annotations

import os
import re
import secrets
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from prismap._util.locks import claimed, is_claimed, replace_path
from prismap.exceptions import InputError, PrismapWarning

#: Seconds after which what no process works on is a leftover; and the same where the system cannot tell.
LEFT_SECONDS, LEFT_SECONDS_UNKNOWN = 60.0, 86_400.0


@contextmanager
def written_aside(path: str | os.PathLike[str], *, claim: bool = True) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well and removed when it does not.

    The name keeps its ending, for writers that choose the format by it. Data reach the disk before the name does. An
    empty file has the temporary name from the start, so that other processes see that this one is at work. `claim` is
    False for writers that lock the file themselves, as HDF5 does.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder.")
    aside = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    aside.touch(exist_ok=False)
    try:
        with claimed(aside) if claim else nullcontext():
            yield aside
            with open(aside, "rb+") as file:
                os.fsync(file.fileno())
            replace_path(aside, path)
    finally:
        with suppress(FileNotFoundError):
            aside.unlink()
    sync_folder(path.parent)


def leftovers(path: Path) -> list[Path]:
    """Files and folders beside `path` that a killed process has left under a temporary name of it.

    ``*`` in its name stands for any letters.
    """
    kinds = (re.escape(f".{path.name}.TOKEN"), re.escape(f".{path.stem}.TOKEN{path.suffix}"))
    pattern = re.compile("|".join(kinds).replace(r"\*", ".*").replace("TOKEN", "[0-9a-f]{8}"))
    with suppress(OSError):
        return [one for one in path.parent.iterdir() if pattern.fullmatch(one.name) and _is_left(one)]
    return []


def remove_leftovers(path: Path) -> None:
    """Remove files that a killed process has left of `path`."""
    for one in leftovers(path):
        with suppress(OSError):
            one.unlink()


def _is_left(path: Path) -> bool:
    """Whether no process works on a path under a temporary name, as far as the system can tell."""
    with suppress(OSError):
        at_work = is_claimed(path)
        longest = LEFT_SECONDS_UNKNOWN if at_work is None else LEFT_SECONDS
        return not at_work and time.time() - path.lstat().st_mtime > longest
    return False


def set_aside(path: Path, why: str, then: str) -> None:
    """Rename a file that cannot be trusted to NAME.damaged, in place of an earlier one, and warn."""
    aside = path.with_name(f"{path.name}.damaged")
    if aside.is_dir():
        aside = aside.with_name(f"{aside.name}.{secrets.token_hex(4)}")
    replace_path(path, aside)
    text = f"{path} cannot be trusted and is now {aside.name}: {why.rstrip('.')}. {then}"
    warnings.warn(text, PrismapWarning, stacklevel=3)


def sync_folder(path: Path) -> None:
    """Make a rename inside the folder last; systems that cannot open folders are left alone."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
