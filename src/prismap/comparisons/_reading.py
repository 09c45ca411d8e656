"""Objects from files: FASTA, a column of text, and JSON lines of texts, series, graphs, trees, sets or histograms.

A line of a JSON file is one object with its kind as the key, and a name and a label if there are any:

    {"text": "kitten", "name": "w1", "label": "cats"}
    {"series": [0.0, 1.0, 0.5]}                                      or [[0.0, 1.0], [0.5, 0.2]], one list per moment
    {"graph": {"nodes": ["C", "O"], "edges": [[0, 1]]}}
    {"tree": ["f", ["d", "a", "b"], "e"]}                            [label, child, child, ...]
    {"set": ["milk", "bread"]}
    {"histogram": [3, 1, 0]}
    {"cloud": {"points": [[0.0, 1.0], [2.0, 2.0]], "weights": [1, 2]}}
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prismap._util.repr import Brief
from prismap.exceptions import FileFormatError, InputError

#: Keys of JSON lines, and the comparison that takes what they hold.
KINDS = {
    "text": "edit", "series": "dtw", "graph": "weisfeiler_lehman", "tree": "tree_edit", "set": "jaccard",
    "histogram": "earth_mover", "cloud": "transport",
}  # fmt: skip


#: Endings of files of sequences, and of files of JSON objects.
FASTA, JSON = (".fasta", ".fa", ".faa", ".fna", ".ffn"), (".jsonl", ".ndjson")


@dataclass(frozen=True, repr=False)
class Things(Brief):
    """Objects of a file.

    Attributes
    ----------
    objects : list
    names : list of str
    labels : list or None
        None where an object has no label, or for all of them.
    """

    objects: list[Any]
    names: list[str]
    labels: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.objects)


def objects_reader(path: str | Path) -> Any:
    """What reads the objects of a file, by its ending (.gz aside): `read_fasta`, `read_json_lines`, or None."""
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() != ".gz"]
    ending = endings[-1] if endings else ""
    return read_fasta if ending in FASTA else read_json_lines if ending in JSON else None


def read_fasta(path: str | Path) -> Things:
    """Sequences of a FASTA file (or a .gz of one): names are what follows ``>`` up to the first blank.

    Blanks and digits inside sequences, a closing ``*`` and lines that begin with ``;`` are skipped.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Things : objects, names and labels.

    Examples
    --------
    >>> read_fasta("proteins.fasta").names[:2]  # doctest: +SKIP
    ['sp|P69905', 'sp|P68871']
    """
    names: list[str] = []
    parts: list[list[str]] = []
    with _opened(path) as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if line.startswith(">"):
                names.append((line[1:].split() or [f"sequence {len(names) + 1}"])[0])
                parts.append([])
            elif line and not line.startswith(";"):
                if not names:
                    raise FileFormatError(f"{path}: line {number} is text before the first '>'; is this FASTA?")
                parts[-1].append("".join(letter for letter in line if not (letter.isspace() or letter.isdigit())))
    sequences = ["".join(part).removesuffix("*").upper() for part in parts]
    if not sequences:
        raise FileFormatError(f"{path} holds no sequence: no line begins with '>'.")
    empty = [name for name, sequence in zip(names, sequences, strict=True) if not sequence]
    if empty:
        raise FileFormatError(f"{path}: sequence {empty[0]!r} is empty ({len(empty)} in all).")
    return Things(sequences, names)


def text_column(table: Any, name: str) -> Things:
    """A column of text of a table, with the table's ids and target.

    Parameters
    ----------
    table : prismap.tables.Table
        As `prismap.tables.read_table` reads it.
    name : str
        The column.

    Returns
    -------
    Things : objects, names and labels.

    Examples
    --------
    >>> text_column(read_table("words.csv"), "word").objects  # doctest: +SKIP
    ['kitten', 'sitting']
    """
    if name not in table.columns:
        raise InputError(f"column {name!r} is not in the table. Columns: {', '.join(list(table.columns)[:8])}.")
    column = table.columns[name]
    if not hasattr(column, "levels"):
        raise InputError(f"column {name!r} holds numbers, not text. Read it as text, or map it as a feature.")
    texts = column.values().tolist()
    missing = [k for k, text in enumerate(texts) if text is None]
    if missing:
        raise InputError(f"column {name!r} has {len(missing):,} missing texts, the first in row {missing[0] + 1:,}.")
    ids = np.arange(1, len(texts) + 1) if table.ids is None else table.ids
    return Things(texts, [str(one) for one in ids], None if table.target is None else list(table.target))


def read_json_lines(path: str | Path) -> Things:
    """Objects of a file of JSON lines, all of one kind; see the top of this module for the format.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Things : objects, names and labels.

    Examples
    --------
    >>> read_json_lines("series.jsonl").objects  # doctest: +SKIP
    [array([0. , 1. , 0.5])]
    """
    objects: list[Any] = []
    names: list[str] = []
    labels: list[Any] = []
    kind = None
    with _opened(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            entry = _entry(path, number, line)
            (own_kind,) = entry.keys() & KINDS.keys()
            if kind not in (None, own_kind):
                raise FileFormatError(f"{path}: line {number:,} is a {own_kind}, those before are a {kind}.")
            kind = own_kind
            objects.append(entry[kind])
            names.append(str(entry.get("name", len(names) + 1)))
            labels.append(entry.get("label"))
    if not objects:
        raise FileFormatError(f"{path} holds no objects.")
    return Things(objects, names, None if all(label is None for label in labels) else labels)


def _entry(path: Any, number: int, line: str) -> Any:
    try:
        entry = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise FileFormatError(f"{path}: line {number:,} is not JSON: {error}.") from error
    if not isinstance(entry, dict) or len(entry.keys() & KINDS.keys()) != 1:
        raise FileFormatError(f"{path}: line {number:,} must hold exactly one of the keys {', '.join(KINDS)}.")
    return entry


class _opened:
    """Text of a file, unpacked if its name ends in .gz; an unreadable one is named."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)

    def __enter__(self) -> Any:
        try:
            opened: Any = gzip.open if self.path.suffix == ".gz" else open
            self.file = opened(self.path, "rt", encoding="utf-8-sig")
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}.") from error
        return self.file

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.file.close()
        if isinstance(error, (UnicodeDecodeError, EOFError, gzip.BadGzipFile)):
            raise FileFormatError(f"{self.path} is damaged or no text: {error}.") from error
