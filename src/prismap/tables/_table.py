"""What every file becomes: named columns that hold numbers or text, with the target and the row ids set apart."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.repr import Brief
from prismap.exceptions import InputError
from prismap.tables._column import Column, TextColumn
from prismap.tables._parsed_text import numbers_of


@dataclass(frozen=True, repr=False)
class Table(Brief):
    """Rows of a file: columns of features by name, the target (None where unlabelled), ids, and what was noticed."""

    columns: dict[str, Column]
    n_rows: int
    target: NDArray[Any] | None = None
    ids: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    kind: str | None = None
    """What the file says it holds (npz files may): vectors, similarity or dissimilarity."""
    show: tuple[str, ...] = ()
    """Columns that came along to be shown, not used."""
    also: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Further targets by name, which `target` is the first of."""
    given: NDArray[Any] | None = None
    """The levels of a column that is known and of no interest, such as a batch."""


@dataclass(frozen=True)
class Roles:
    """Which columns are not features, and which stay text even if they hold numbers.

    Columns in `show` are kept and not used for the map; those in `use` are used whatever they look like. Names that a
    file does not have are refused when `required`, and passed over otherwise. `matrix` names the features of a file
    that holds several matrices, such as cells with a representation ``X_pca``. `also` are further targets. `written`
    are targets that are text and meant as numbers, each with its format (see `prismap.tables._parsed_text`). `groups`
    and `order` are columns that say which rows are not independent; with `independent` all rows are. They are no
    features, and neither is `given`, a column that is known and of no interest, whose levels are taken out of the map.
    """

    target: str | None = None
    ids: str | None = None
    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    required: bool = True
    show: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    matrix: str | None = None
    also: tuple[str, ...] = ()
    written: tuple[tuple[str, str], ...] = ()
    given: str | None = None
    groups: str | None = None
    order: str | None = None
    independent: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns that are kept and not used for the map."""
        return (*self.show, *(name for name in (self.groups, self.order) if name is not None))

    @property
    def mentioned(self) -> set[str]:
        """All columns that are called by name."""
        labels = {name for name in (self.target, self.ids, self.given) if name is not None}
        return {*labels, *self.also, *self.drop, *self.text, *self.shown, *self.use}

    def is_label(self, name: str) -> bool:
        """Whether a column is a target, the ids or the levels."""
        return name in (self.target, self.ids, self.given) or name in self.also

    def is_target(self, name: str) -> bool:
        """Whether a column is a target."""
        return name == self.target or name in self.also

    def may_be_vectors(self, name: str) -> bool:
        """Whether a column that holds vectors is to be taken apart: it is a feature, and no role names it."""
        return not self.is_label(name) and name not in {*self.text, *self.drop, *self.shown}


def make_table(columns: Mapping[str, Column], n_rows: int, roles: Roles, notes: Iterable[str] = ()) -> Table:
    """Set the target, the ids and the dropped columns apart."""
    targets = [("target", name) for name in (roles.target, *roles.also)]
    named = [*targets, ("id", roles.ids), ("given", roles.given), *(("drop", name) for name in roles.drop)]
    kept = [*(("show", name) for name in roles.show), *(("use", name) for name in roles.use)]
    units = [("groups", None if roles.groups == roles.ids else roles.groups), ("order", roles.order)]
    for option, name in [*named, *kept, *units]:
        if roles.required and name is not None and name not in columns:
            raise InputError(f"there is no column {name!r} for {option}; {_meant(option, name, columns)}.")
    if roles.given is not None and roles.given in (roles.groups, roles.order):
        raise InputError(
            f"column {roles.given!r} is given and says what is independent, too: nothing can be known inside a level "
            "that is one unit. Name it once."
        )
    if roles.required:
        _refuse_dropped(roles)
    apart = {name for _, name in named}
    return Table(
        {name: column for name, column in columns.items() if name not in apart},
        n_rows,
        _label_values(columns, roles.target, roles),
        _label_values(columns, roles.ids, roles),
        tuple(notes),
        also={name: np.asanyarray(_label_values(columns, name, roles)) for name in roles.also if name in columns},
        given=_label_values(columns, roles.given, roles),
    )


def _meant(option: str, name: str, columns: Mapping[str, Column]) -> str:
    """The columns that may be meant by a name that none of them has."""
    parts = [part.strip() for part in name.split(",")]
    if option == "target" and len(parts) > 1 and all(part in columns for part in parts):
        return f"to map by several targets, name each of them: target={parts}"
    return describe_names(name, columns)


def _refuse_dropped(roles: Roles) -> None:
    """A column that is dropped has no other part in a map."""
    labels = [("target", roles.target), *(("target", name) for name in roles.also), ("id", roles.ids)]
    units = [("given", roles.given), ("groups", roles.groups), ("order", roles.order)]
    kept = [*(("show", name) for name in roles.show), *(("use", name) for name in roles.use)]
    for option, name in [*labels, *units, *kept]:
        if name is not None and name in roles.drop:
            raise InputError(
                f"column {name!r} is named by {option} and by drop: a column that is left out has no other use."
            )


def chosen_names(names: Iterable[str], columns: Collection[str] | None, roles: Roles) -> list[str]:
    """The names to read: `columns` and labels; all for None, and if some are missing, so that a refusal shows them."""
    names = list(names)
    if columns is None:
        return names
    # The entries of a column of vectors are named after it: "embedding:1".
    wanted = {name if name in names else name.rpartition(":")[0] for name in columns}
    if not wanted <= set(names):
        return names
    return [name for name in names if name in wanted or roles.is_label(name)]


def describe_names(wanted: str, names: Iterable[str]) -> str:
    """The names there are, the nearest first."""
    names = list(names)
    near = nearest(wanted, names)
    if near:
        return f"did you mean {quoted(near)}? There are {len(names)} columns"
    return f"there are {quoted(names, 40)}"


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """Up to three names that may be meant: written alike in any case, or one within the other.

    >>> nearest("STATE", ["city", "state", "state_code"])
    ['state', 'state_code']
    """
    by_case = {name.casefold(): name for name in names}
    alike = difflib.get_close_matches(wanted.casefold(), by_case, n=3, cutoff=0.6)
    within = [name for name in by_case if len(wanted) > 2 and wanted.casefold() in name]
    return [by_case[name] for name in dict.fromkeys([*alike, *within])][:3]


def quoted(names: Iterable[str], most: int = 8) -> str:
    """'a', 'b' and 3 more."""
    names = list(names)
    return ", ".join(repr(name) for name in names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")


def _label_values(columns: Mapping[str, Column], name: str | None, roles: Roles) -> NDArray[Any] | None:
    """Text with None where missing; integers, masked where missing; other numbers with NaN where missing."""
    column, written = columns.get(name or ""), dict(roles.written)
    if not isinstance(column, TextColumn):
        return column
    return numbers_of(column, written[name], name) if name in written else column.values()


def label_texts(labels: NDArray[Any] | None) -> list[str] | None:
    """Labels as a page shows them, empty where missing."""
    return None if labels is None else ["" if value is None else str(value) for value in labels.tolist()]


def entries_of(name: str, vectors: NDArray[Any]) -> dict[str, Column]:
    """A column of vectors, such as embeddings, as a column for each of their entries.

    >>> list(entries_of("embedding", np.zeros((3, 2))))
    ['embedding:1', 'embedding:2']
    """
    return {f"{name}:{place + 1}": values for place, values in enumerate(vectors.T)}


def refuse_double_names(names: Sequence[str]) -> None:
    """Refuse a name that several columns have."""
    double = sorted(name for name, times in Counter(names).items() if times > 1)
    if double:
        raise InputError(f"column names occur more than once: {quoted(double)}. Give every column its own name.")
