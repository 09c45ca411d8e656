"""Units: sets of samples that may share what the target does not explain, such as the recordings of one person.

Samples of one unit are not independent of each other. What is learnt from one of them says nothing about how well it
would be known of a stranger, so folds, votes, permutations and standard errors go by units (`prismap.target.Target`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Rows
from prismap._util.repr import Brief
from prismap.exceptions import InputError
from prismap.target._labels import label_array, missing_mask

#: Endings of the names of columns that only say that they are names.
IDS = re.compile(r"[ _.-]?(id|ID|Id|key|code|no|nr|number)$")


@dataclass(frozen=True, eq=False, repr=False)
class Units(Brief):
    """Which samples are not independent of each other.

    Attributes
    ----------
    codes : the unit of each sample, whole numbers from 0 on.
    name : what a unit is called, such as "patient".
    in_order : whether units are stretches of time in its order, so that those next to each other are not independent
        either.
    labels : the groups that were given, as text; None where units were found in the data.
    source : where they come from: "groups", "order", "copies", "near copies" or "column 'name'".
    words : what was found without being asked for, and how to have it otherwise; empty for groups that were given.
    """

    codes: Rows
    name: str = "unit"
    in_order: bool = False
    labels: NDArray[Any] | None = None
    source: str = "groups"
    words: str = ""

    def take(self, rows: Any) -> Units:
        """The units of some of the samples."""
        return replace(self, codes=self.codes[rows], labels=None if self.labels is None else self.labels[rows])

    @property
    def independent(self) -> bool:
        """Whether every sample is a unit of its own."""
        return not self.in_order and len(np.unique(self.codes)) == len(self.codes)


def read_groups(groups: Any, n_rows: int, name: str | None = None) -> Units:
    """The units that a user names: one entry per sample; a missing entry is a unit of its own.

    name : of a group; None takes that of the column.

    Examples
    --------
    >>> read_groups(["ann", "bob", "ann", None], 4).codes.tolist()
    [0, 1, 0, 2]
    """
    column = getattr(groups, "name", None) if name is None else name
    values = label_array(groups)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n_rows:
        raise InputError(
            f"groups must have one entry per row; got {'x'.join(map(str, values.shape)) or 'a single value'} for "
            f"{n_rows} rows."
        )
    missing = missing_mask(values)
    labels = np.array([None if gap else as_text(value) for gap, value in zip(missing, values.tolist(), strict=True)])
    codes = np.empty(n_rows, dtype=np.intp)
    known, codes[~missing] = np.unique(labels[~missing].astype(str), return_inverse=True)
    codes[missing] = len(known) + np.arange(int(missing.sum()))
    if len(known) + missing.sum() < 2:
        raise InputError(
            "groups holds one group only: if all rows depend on each other, nothing can be judged. Leave groups out, "
            "or name a column that tells apart what is independent."
        )
    return Units(codes, unit_word(column), labels=labels)


def as_text(value: Any) -> str:
    """A group as text; whole numbers are written alike, whatever their type."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def unit_word(column: Any) -> str:
    """What a unit is called, from the name of its column.

    >>> unit_word("patient_id"), unit_word("Donor"), unit_word(None), unit_word("id")
    ('patient', 'Donor', 'group', 'group')
    """
    word = IDS.sub("", str(column)) if column is not None else ""
    return word.strip() or "group"


def plural(word: str) -> str:
    """A word for several units.

    >>> plural("patient"), plural("batch"), plural("family"), plural("run of rows")
    ('patients', 'batches', 'families', 'runs of rows')
    """
    if word in ("series", "species"):
        return word
    if " of " in word:
        first, rest = word.split(" of ", 1)
        return f"{plural(first)} of {rest}"
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(s|x|z|ch|sh)$", word) else f"{word}s"
