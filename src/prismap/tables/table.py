"""What every file becomes: named columns that hold numbers or text, with the target and the row ids set apart."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._brief import Brief
from prismap.exceptions import InputError
from prismap.tables.column import Column, TextColumn, text_column
from prismap.tables.written import numbers_of


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


@dataclass(frozen=True)
class Roles:
    """Which columns are not features, and which stay text even if they hold numbers.

    Columns in `show` are kept and not used for the map; those in `use` are used whatever they look like. Names that a
    file does not have are refused when `required`, and passed over otherwise. `matrix` names the features of a file
    that holds several matrices, such as cells with a representation ``X_pca``. `also` are further targets. `written`
    are targets that are text and meant as numbers, each with its way of writing (see `tables.written`).
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

    @property
    def mentioned(self) -> set[str]:
        """All columns that are called by name."""
        labels = {name for name in (self.target, self.ids) if name is not None}
        return {*labels, *self.also, *self.drop, *self.text, *self.show, *self.use}

    def is_label(self, name: str) -> bool:
        """Whether a column is a target or the ids."""
        return name in (self.target, self.ids) or name in self.also

    def is_target(self, name: str) -> bool:
        """Whether a column is a target."""
        return name == self.target or name in self.also

    def may_be_vectors(self, name: str) -> bool:
        """Whether a column that holds vectors is to be taken apart: it is a feature, and nobody calls it by name."""
        return not self.is_label(name) and name not in {*self.text, *self.drop, *self.show}


def make_table(columns: Mapping[str, Column], n_rows: int, roles: Roles, notes: Iterable[str] = ()) -> Table:
    """Set the target, the ids and the dropped columns apart."""
    targets = [("target", name) for name in (roles.target, *roles.also)]
    named = [*targets, ("id", roles.ids), *(("drop", name) for name in roles.drop)]
    kept = [*(("show", name) for name in roles.show), *(("use", name) for name in roles.use)]
    for option, name in [*named, *kept]:
        if roles.required and name is not None and name not in columns:
            raise InputError(f"there is no column {name!r} for {option}; {describe_names(name, columns)}.")
    apart = {name for _, name in named}
    return Table(
        {name: column for name, column in columns.items() if name not in apart},
        n_rows,
        _label_values(columns, roles.target, roles),
        _label_values(columns, roles.ids, roles),
        tuple(notes),
        also={name: np.asanyarray(_label_values(columns, name, roles)) for name in roles.also if name in columns},
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


# From arrow to columns


def table_from_arrow(batch: Any, roles: Roles) -> Table:
    """A pyarrow Table or RecordBatch as a `Table`."""
    refuse_double_names(batch.schema.names)
    return table_from_columns(zip(batch.schema.names, batch.columns, strict=True), batch.num_rows, roles)


def table_from_columns(arrays: Iterable[tuple[str, Any]], n_rows: int, roles: Roles) -> Table:
    """Names and pyarrow arrays as a `Table`; each array may be forgotten before the next one is read."""
    columns: dict[str, Column] = {}
    for name, array in arrays:
        vectors = vectors_from_arrow(array) if roles.may_be_vectors(name) else None
        if vectors is None:
            columns[name] = column_from_arrow(array, as_text=name in roles.text, as_label=roles.is_label(name))
        else:
            columns |= entries_of(name, vectors)
    return make_table(columns, n_rows, roles)


def entries_of(name: str, vectors: NDArray[Any]) -> dict[str, Column]:
    """A column of vectors, such as embeddings, as a column for each of their entries.

    >>> list(entries_of("embedding", np.zeros((3, 2))))
    ['embedding:1', 'embedding:2']
    """
    return {f"{name}:{place + 1}": values for place, values in enumerate(vectors.T)}


def vectors_from_arrow(array: Any) -> NDArray[Any] | None:
    """A column of lists of numbers, all equally long and none missing, as a matrix; None for any other column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not lists or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        return None
    lengths = pc.unique(pc.list_value_length(array)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        return None
    return _floats(pc.list_flatten(array)).reshape(len(array), lengths[0])


def _floats(array: Any) -> NDArray[Any]:
    """Numbers with NaN for null; in single precision if they are stored so, or in half of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    single = pa.types.is_float32(array.type) or pa.types.is_float16(array.type)
    cast = pc.cast(array, pa.float32() if single else pa.float64(), safe=False)
    return np.asarray(cast.to_numpy(zero_copy_only=False))


def column_from_arrow(array: Any, *, as_text: bool, as_label: bool = False) -> Column:
    """Numbers and booleans as floats with NaN for null, labels exactly; everything else as text."""
    import pyarrow as pa  # whoever holds an arrow array has it
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        # Numbers that were declared a category are names of its levels, unless they have an order.
        as_text = as_text or not (array.type.ordered or pa.types.is_string(array.type.value_type))
        array = pc.cast(array, array.type.value_type)
    kind = array.type
    if as_label and not as_text and (pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)):
        return _exact_labels(array)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not as_text and (number or pa.types.is_null(kind) or (pa.types.is_boolean(kind) and not as_label)):
        return _floats(pc.cast(array, pa.float64()) if as_label and pa.types.is_floating(kind) else array)
    if pa.types.is_duration(kind):  # as Python writes them, and not as a count of their unit
        durations = pc.cast(array, pa.duration("us"), safe=False).to_pylist()
        array = pa.array([None if one is None else str(one) for one in durations], pa.string())
    try:
        array = pc.cast(array, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists and other nested values
        return text_column([None if value is None else str(value) for value in array.to_pylist()])
    encoded = pc.dictionary_encode(array)
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    levels = encoded.dictionary.to_pylist()
    if not levels and not (as_text or as_label):  # no value at all
        return np.full(len(encoded), np.nan)
    order = sorted(range(len(levels)), key=levels.__getitem__)
    rank = np.empty(len(levels) + 1, dtype=np.intp)
    rank[order] = np.arange(len(levels))
    rank[-1] = -1
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return TextColumn(rank[codes], tuple(levels[place] for place in order))


def _exact_labels(array: Any) -> Column:
    """Integers of 64 bits, masked where null; text where they need more bits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for kind in (pa.int64(), pa.uint64()):
        try:
            whole = pc.cast(array, kind)
        except pa.ArrowInvalid:
            continue
        numbers = pc.fill_null(whole, 0).to_numpy(zero_copy_only=False)
        missing = pc.is_null(whole).to_numpy(zero_copy_only=False)
        return np.ma.MaskedArray(numbers, missing) if missing.any() else np.asarray(numbers)
    return text_column([None if value is None else str(value) for value in array.to_pylist()])


def refuse_double_names(names: Sequence[str]) -> None:
    """Two columns of one name cannot be told apart."""
    double = sorted(name for name, times in Counter(names).items() if times > 1)
    if double:
        raise InputError(f"column names occur more than once: {quoted(double)}. Give every column its own name.")
