"""Values of pairs that are known already: sorted arrays in memory under a byte bound, files beyond it.

A pair of objects i <= j is the whole number ``i n + j``. Values that arrive together are one sorted *run*. Runs of
similar size are merged, so that there are few of them and a value is copied a logarithmic number of times. When the
runs in memory pass the bound they are merged into one file that is searched in place. In a folder that is kept, what
is in memory is written to a journal as well, so that a program that ends early, for any reason, loses nothing it had
stored.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Numbers
from prismap._util.locks import replace_path
from prismap.exceptions import FileFormatError

PAIR = np.dtype([("pair", "<u8"), ("value", "<f8")])


class PairStore:
    """Values by pair.

    Parameters
    ----------
    memory : bytes that values in memory may take.
    folder : where files go and are found again; None takes a temporary folder, made when it is needed.
    """

    def __init__(self, memory: int, folder: Path | None = None) -> None:
        self.memory = memory
        self.runs: list[Any] = []
        self.files: list[Any] = []
        self.folder: Any = None if folder is None else Path(folder)
        self._temporary: TemporaryDirectory[str] | None = None
        self._journal: Any = None
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._read()

    def __len__(self) -> int:
        return sum(len(run) for run in (*self.runs, *self.files))

    def find(self, pairs: NDArray[Any]) -> Numbers:
        """Values of pairs, NaN where none is known."""
        values = np.full(len(pairs), np.nan)
        order = np.argsort(pairs, kind="stable")  # neighbours in a run are asked for together
        asked = pairs[order]
        for run in (*self.files, *self.runs):
            keys = run["pair"]
            place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
            hit = keys[place] == asked
            values[order[hit]] = run["value"][place[hit]]
        return values

    def known(self) -> NDArray[Any]:
        """All pairs and values, in the order of the pairs."""
        runs = [*self.files, *self.runs]
        return _merged(runs) if runs else np.empty(0, dtype=PAIR)

    def add(self, pairs: NDArray[Any], values: NDArray[Any]) -> None:
        """Keep values of pairs that were not known; each pair once."""
        if not len(pairs):
            return
        run = np.empty(len(pairs), dtype=PAIR)
        run["pair"], run["value"] = pairs, values
        if self.folder is not None and self._temporary is None:
            self._write_journal(run)
        self.runs.append(run[np.argsort(run["pair"])])
        while len(self.runs) > 1 and 2 * len(self.runs[-1]) > len(self.runs[-2]):
            last = self.runs.pop()
            self.runs[-1] = _merged([self.runs[-1], last])
        if sum(run.nbytes for run in self.runs) > self.memory:
            self._spill()

    def close(self) -> None:
        """Close the files; what is in a folder of the user's stays there."""
        self.runs, self.files = [], []
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if self._temporary is not None:
            self._temporary.cleanup()

    def _spill(self) -> None:
        """Move all values in memory to one sorted file."""
        if self.folder is None:
            # Windows does not delete files that are mapped into memory, as those of a store that was not closed are.
            self._temporary = TemporaryDirectory(prefix="prismap-pairs-", ignore_cleanup_errors=True)
            self.folder = Path(self._temporary.name)
        number = int(Path(self.files[-1].filename).stem[3:]) + 1 if self.files else 0
        path = self.folder / f"run{number:04d}.npy"
        aside = path.with_suffix(".part")
        with open(aside, "wb") as file:
            np.save(file, _merged(self.runs))
        replace_path(aside, path)
        self.files.append(np.load(path, mmap_mode="r"))
        self.runs = []
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            (self.folder / "journal").unlink()

    def _write_journal(self, run: NDArray[Any]) -> None:
        if self._journal is None:
            self._journal = open(self.folder / "journal", "ab")  # noqa: SIM115 (open for as long as the store)
        self._journal.write(run.tobytes())
        self._journal.flush()

    def _read(self) -> None:
        """What an earlier run left: whole files, and the journal up to the last complete entry."""
        for path in sorted(self.folder.glob("run*.npy")):
            try:
                run = np.load(path, mmap_mode="r")
            except (ValueError, EOFError, OSError) as error:
                raise FileFormatError(
                    f"{path} is damaged: {error}. Remove it; its values are evaluated again."
                ) from error
            if run.dtype != PAIR or run.ndim != 1:
                raise FileFormatError(f"{path} holds no values of pairs. Remove it, or use another cache.")
            self.files.append(run)
        journal = self.folder / "journal"
        if not journal.exists():
            return
        size = journal.stat().st_size // PAIR.itemsize * PAIR.itemsize
        os.truncate(journal, size)  # an entry that was cut short would shift all that follow
        run = np.frombuffer(journal.read_bytes(), dtype=PAIR)
        run = run[np.unique(run["pair"], return_index=True)[1]]
        # A file may have been written and the program have ended before its journal was removed.
        run = run[~np.isin(run["pair"], np.concatenate([np.empty(0, "u8"), *(file["pair"] for file in self.files)]))]
        if len(run):
            self.runs = [run]


def _merged(runs: Sequence[Any]) -> NDArray[Any]:
    together = np.concatenate(runs)
    return together[np.argsort(together["pair"], kind="stable")]
