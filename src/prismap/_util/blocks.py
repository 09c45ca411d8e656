"""Work in blocks under a byte budget: n x n stages never hold more than the block in hand."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from prismap.exceptions import FileFormatError, InputError

#: Bytes that one stage may use for temporary arrays.
WORKING_BYTES = 256 * 2**20
#: Bytes of a temporary array that stays in a processor's cache beside a few others; half of it beside more of them.
CACHED_BYTES = 2**21
#: Pairs that are measured again, by their coordinates, at a time.
PAIRS = 65536
#: Names and values that set when glibc gives memory back (malloc.h), and the largest value that it accepts.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGEST_KEPT = -1, -3, 2**25


def available_bytes() -> int:
    """Memory this process can still have without swapping: what the machine has left, or its own limit if that is less.

    Limits are those of the process (``ulimit -v``) and of its control group, as containers have. An estimate; physical
    memory if unknown.
    """
    return int(min(_machine_bytes(), _limit_bytes(), container_bytes()))


def _limit_bytes() -> float:
    """What a limit on the address space of this process leaves (``ulimit -v``); infinite without one."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return math.inf
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        return max(0, limit - used)
    except (ImportError, OSError, ValueError):  # not a system with such limits
        return math.inf


def container_bytes(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> float:
    """What the memory limits of this process's control group and of those above it leave; infinite without one.

    Both versions are read: 2 has one tree, 1 a tree for memory under ``root/memory``. In a container the path that the
    kernel names is often that of the host, and only the top of the tree can be seen: it is read in any case.
    """
    try:
        lines = proc.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return math.inf
    left = math.inf
    for line in lines:
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            tree, names = root, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            tree, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = tree / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder == tree or tree in folder.parents:
                left = min(left, _group_bytes(folder, *names))
    return left


def _group_bytes(folder: Path, limit: str, used: str, reclaimable: str) -> float:
    """Limit minus use of one control group; pages of files that the kernel would give up first are not counted."""
    try:
        most = int((folder / limit).read_text(encoding="ascii"))  # "max" in version 2 is no number: no limit
        now = int((folder / used).read_text(encoding="ascii"))
        stat = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return math.inf
    return max(0, most - now + min(now, int(stat.get(reclaimable, 0))))


def _machine_bytes() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 8 * 2**30


def row_blocks(n_rows: int, bytes_per_row: float, budget: int = WORKING_BYTES, at_least: int = 1) -> Iterator[slice]:
    """Consecutive slices of `n_rows` whose rows fit in `budget` together.

    >>> [(s.start, s.stop) for s in row_blocks(5, 100, budget=200)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(at_least, int(budget // max(bytes_per_row, 1)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


@cache
def keep_freed_memory() -> None:
    """Let the allocator keep what blocks of work free, as it does by default, in the worker processes of Dask.

    Dask starts them with a MALLOC_TRIM_THRESHOLD_, so that glibc gives every array above 128 kB back to the system and
    asks for it again: its pages are made anew for every block, which takes longer than the work on them.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ or not sys.platform.startswith("linux"):
        return
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
        mallopt(_TRIM_THRESHOLD, 2 * _LARGEST_KEPT)


def file_bytes(size: float) -> float:
    """Memory that the content of a table file of so many bytes may take: more than any real table needs.

    gzip packs at most 1,032 bytes into one, and the runs of parquet any number.
    """
    return 2.0**28 + 1000.0 * size


def require_file_memory(n_bytes: float, what: str, size: float, way_out: str) -> None:
    """Refuse a file whose content would not fit, or is out of all proportion to its size."""
    if n_bytes > file_bytes(size):
        raise FileFormatError(
            f"{what} would take {n_bytes / 2**30:.1f} GiB of memory, more than 1,000 times the {size / 2**10:.0f} KiB "
            f"of the file: it is damaged, or made to fill the memory. {way_out}"
        )
    require_memory(n_bytes, what, way_out)


def require_memory(n_bytes: float, what: str, way_out: str) -> None:
    """Refuse work that would not fit, with the figure and the parameter that avoids it."""
    free = available_bytes()
    if n_bytes > free:
        raise InputError(
            f"{what} would need {n_bytes / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB are available. {way_out}"
        )
