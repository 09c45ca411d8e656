"""What runs that were killed have left beside their folder under a temporary name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from prismap.bundle._aside import leftovers

#: Names of our files, and the temporary names of these.
_OURS = re.compile(
    r"\.prismap|\.?(map|model|view|report|fidelity|verdicts|explorer)(\.[0-9a-f]{8})?"
    r"\.(page|html|png|parquet|csv|json|txt|prismap)"
)


def remove_left_folders(out: Path) -> None:
    """Remove folders that killed runs were writing to take the name `out`, if they hold nothing but our files."""
    out = out.resolve()
    for path in (*leftovers(out), *leftovers(out / out.name)):
        if path.is_dir() and not path.is_symlink() and all(_is_ours(one) for one in path.iterdir()):
            shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and _OURS.fullmatch(path.name) is not None
