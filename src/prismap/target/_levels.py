"""The levels of a column that is known and of no interest: a batch, a site, a scanner.

`Levels` owns what the levels are, for the rows that a map is fitted to and for all later ones. Levels are known by
their text, so that a table may bring them as numbers or as words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Rows
from prismap.exceptions import InputError
from prismap.target._labels import check_target_length, label_array, missing_mask

#: Rows of a level at least: with fewer there is too little to tell what it shifts.
FEWEST_IN_LEVEL = 5


@dataclass(frozen=True)
class Levels:
    """The levels of a column, in the order of their codes.

    Attributes
    ----------
    names : of the levels.
    name : of the column; None if it had none.
    """

    names: tuple[str, ...]
    name: str | None = None

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, given: Any, n_rows: int) -> Rows:
        """The code of each row's level. A level that the map was not fitted with is refused: nothing is known of it."""
        texts = level_texts(given, n_rows)
        places = {name: code for code, name in enumerate(self.names)}
        strangers = sorted(set(texts.tolist()) - set(places))
        if strangers:
            raise InputError(
                f"given holds levels that the map was not fitted with ({listed(strangers)}). It knows "
                f"{listed(self.names)}. Fit again with rows of a new level, with or without a target, to learn what it "
                "shifts."
            )
        return np.array([places[text] for text in texts.tolist()], dtype=np.intp)


def read_levels(given: Any, n_rows: int) -> tuple[Levels, Rows]:
    """The levels of a column as a user gives it, and the code of each row.

    >>> levels, codes = read_levels(["b", "a"] * 5, 10)
    >>> levels.names, codes[:3].tolist()
    (('a', 'b'), [1, 0, 1])
    """
    texts = level_texts(given, n_rows)
    names, codes, sizes = np.unique(texts, return_inverse=True, return_counts=True)
    few = [str(name) for name in names[sizes < FEWEST_IN_LEVEL]]
    if few:
        raise InputError(
            f"given has {len(names)} levels, and {len(few)} of them have fewer than {FEWEST_IN_LEVEL} rows "
            f"({listed(few)}), too few to tell what they shift. Join them with others, or leave these rows out."
        )
    name = getattr(given, "name", None)
    return Levels(tuple(str(one) for one in names), None if name is None else str(name)), codes.astype(np.intp)


def level_texts(given: Any, n_rows: int) -> NDArray[np.str_]:
    """The level of each row as text, whole numbers without a point; a missing one is refused."""
    values = label_array(given)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1 or len(values) != n_rows:
        raise InputError(
            f"given must have one level per row, and X has {n_rows} rows; got an array of shape {values.shape}."
        )
    values = check_target_length(values, n_rows)
    missing = int(missing_mask(values).sum())
    if missing:
        raise InputError(
            f"given misses the level of {missing} of {n_rows} rows. Leave these rows out, or give them a level of "
            "their own, such as 'unknown'."
        )
    return np.array([text_of(value) for value in values.tolist()], dtype=str)


def text_of(value: Any) -> str:
    """A level as text: 1.0 and 1 are the same one."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def listed(names: Any, most: int = 8) -> str:
    """Some names in quotes."""
    names = list(names)
    return ", ".join(repr(name) for name in names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")
