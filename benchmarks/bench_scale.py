"""Mapping of files within `benchmarks.run`: two processes against one on few rows. Many: benchmarks/files.py."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.files import fitted_model, same_files, write_files
from prismap.scale import map_files


def cases(data_folder=None):
    """200,000 rows: two processes against one by the clock; start-up included, so the ratio stays below two."""
    folder = Path(tempfile.mkdtemp())
    write_files(folder / "data", 200_000)
    model = fitted_model(folder, 500)

    def run_with(n_workers):
        return lambda: map_files(folder / "data", folder / f"{n_workers}", model, n_workers=n_workers, resume=False)

    try:
        yield {
            "name": "mapping 200,000 rows from parquet: two processes, against one",
            "ours": run_with(2),
            "theirs": run_with(1),
            "check": lambda *_: same_files(folder / "2", folder / "1"),
            "clock": "wall",
        }
    finally:
        shutil.rmtree(folder)
