"""Values of pairs that are known already: sorted arrays in memory under a byte bound, files beyond it.

A pair of objects i <= j is the whole number ``i n + j``. Values that arrive together are one sorted *run*. Runs of
similar size are merged, so that there are few of them and a value is copied a logarithmic number of times. When the
runs in memory pass the bound they are merged into one file that is searched in place. In a folder that is kept, what
is in memory is written to a journal as well, so that a program that ends early, for any reason, loses nothing it had
stored.

Several programs may use one folder at once. Each writes to files of its own: it locks its journal as long as it runs,
reads those of others, and takes over the journals of programs that have ended. Every file is one of `Records`, whose
digests tell damaged values; these are set aside with a warning, and evaluated again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Numbers
from prismap._util.blocks import require_memory
from prismap._util.locks import lock_if_free
from prismap.bundle._aside import remove_leftovers, set_aside, written_aside
from prismap.bundle._records import Records
from prismap.exceptions import FileFormatError

PAIR = np.dtype([("pair", "<u8"), ("value", "<f8")])
#: Pairs of a file that are checked at a time.
BLOCK = 2**20
KIND, RUNS, JOURNALS = "values of pairs", "run-*.pairs", "journal-*.pairs"


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
        self._journal: Journal | None = None
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
        return _merged([*self.files, *self.runs])

    def add(self, pairs: NDArray[Any], values: NDArray[Any]) -> None:
        """Keep values of pairs that were not known; each pair once."""
        if not len(pairs):
            return
        run = np.empty(len(pairs), dtype=PAIR)
        run["pair"], run["value"] = pairs, values
        if self.folder is not None and self._temporary is None:
            if self._journal is None:
                self._journal = Journal.new(self.folder)
            self._journal.records.append(run)
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
        path = self.folder / RUNS.replace("*", secrets.token_hex(4))
        with written_aside(path) as aside:
            records = Records(aside, kind=KIND, key=self.folder.name)
            records.append(_merged(self.runs))
            records.close()
        self.files.append(_in_place(path, records.spans[0]))
        self.runs = []
        if self._journal is not None:
            self._journal.remove()
            self._journal = None

    def _read(self) -> None:
        """What others have left, or have written so far: whole files, and the good records of their journals."""
        remove_leftovers(self.folder / RUNS)
        for path in sorted(self.folder.glob(RUNS)):
            try:
                self.files.append(_read_run(path))
            except FileFormatError as error:
                _refuse(path, str(error))
            except FileNotFoundError:
                continue
        journals = []
        for path in sorted(self.folder.glob(JOURNALS)):
            with suppress(FileNotFoundError):  # another program has taken it over in this moment
                journals.append(Journal(path))
        # Two programs may have evaluated the same pair, and a file may have been written by one that was killed before
        # it removed its journal.
        run = _merged([journal.entries for journal in journals])
        run = run[~np.isin(run["pair"], np.concatenate([np.empty(0, "u8"), *(file["pair"] for file in self.files)]))]
        if len(run):
            self.runs = [run]
        self._take_over(journals)

    def _take_over(self, journals: list[Journal]) -> None:
        """Go on with the longest journal that no other program has, and move to it what is in others of this kind."""
        ours = [journal for journal in journals if journal.is_ours]
        good = [journal for journal in ours if not journal.damage]
        self._journal = max(good, key=lambda journal: len(journal.entries), default=None)
        for journal in ours:
            if journal is self._journal:
                continue
            if len(journal.entries):
                if self._journal is None:
                    self._journal = Journal.new(self.folder)
                self._journal.records.append(journal.entries)
            journal.remove()
        for journal in journals:
            if not journal.is_ours:
                journal.close()


class Journal:
    """A file of values in the order of their arrival, and the lock on it if no other program has it.

    Attributes
    ----------
    entries : all pairs and values in it that are good.
    damage : why not all of them are; empty if they are.
    is_ours : whether this program has its lock, and may write to it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, lock_if_free(path)
        self.is_ours, self.damage, self.entries = self._lock is not None, "", np.empty(0, PAIR)
        try:
            self.records = Records(path, kind=KIND, key=path.parent.name)
            self.entries, self.damage = self._entries(), self.records.damage
        except FileFormatError as error:
            self.damage = str(error)
        except BaseException:
            self.close()
            raise

    @classmethod
    def new(cls, folder: Path) -> Journal:
        """A journal without values, with its lock."""
        while True:
            path = folder / JOURNALS.replace("*", secrets.token_hex(4))
            path.touch(exist_ok=False)
            with suppress(FileNotFoundError):  # another program has taken it over before it was locked
                journal = cls(path)
                if journal.is_ours and path.exists():
                    return journal
                journal.close()

    def close(self) -> None:
        """Release it."""
        if hasattr(self, "records"):
            self.records.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def remove(self) -> None:
        """Delete it, because its values are elsewhere; a damaged one is set aside instead."""
        if hasattr(self, "records"):
            self.records.close()
        if self.damage:
            _refuse(self.path, self.damage)
        else:
            self.path.unlink(missing_ok=True)
        self.close()

    def _entries(self) -> NDArray[Any]:
        n_bytes = sum(length for _, length in self.records.spans)
        require_memory(4.0 * n_bytes, f"Reading {self.path}", "Use another cache.")
        parts = [np.empty(0, PAIR)]
        with open(self.path, "rb") as file:
            for start, length in self.records.spans:
                file.seek(start)
                parts.append(_pairs(file.read(length), self.path))
        return np.concatenate(parts)


def _read_run(path: Path) -> NDArray[Any]:
    """The values of a sorted file, which stay on the disk."""
    records = Records(path, kind=KIND, key=path.parent.name)
    if records.damage or len(records.spans) != 1:
        raise FileFormatError(records.damage or f"{len(records.spans)} records where one is needed")
    run = _in_place(path, records.spans[0])
    for start in range(0, len(run), BLOCK):
        part = run[start : start + BLOCK + 1]
        _check_finite(part, path)
        if (part["pair"][1:] < part["pair"][:-1]).any():
            raise FileFormatError(f"the pairs in {path} are not sorted")
    return run


def _in_place(path: Path, span: tuple[int, int]) -> NDArray[Any]:
    start, n_bytes = span
    if not n_bytes or n_bytes % PAIR.itemsize:
        raise FileFormatError(f"{path} holds no values of pairs")
    return np.memmap(path, PAIR, "r", start, (n_bytes // PAIR.itemsize,))


def _pairs(content: bytes, path: Path) -> NDArray[Any]:
    if len(content) % PAIR.itemsize:
        raise FileFormatError(f"{path} holds no values of pairs")
    pairs = np.frombuffer(content, PAIR)
    _check_finite(pairs, path)
    return pairs


def _check_finite(pairs: NDArray[Any], path: Path) -> None:
    if not np.isfinite(pairs["value"]).all():
        raise FileFormatError(f"{path} holds values that are not finite, which no comparison gives")


def _refuse(path: Path, why: str) -> None:
    with suppress(FileNotFoundError):  # another program has done so
        set_aside(path, why, "Values that it held are evaluated again.")


def _merged(runs: Sequence[Any]) -> NDArray[Any]:
    """All values of some runs in the order of their pairs, each pair once."""
    together = np.concatenate([np.empty(0, PAIR), *runs])
    together = together[np.argsort(together["pair"], kind="stable")]
    first = np.ones(len(together), dtype=bool)
    first[1:] = together["pair"][1:] != together["pair"][:-1]
    kept: NDArray[Any] = together[first]
    return kept
