"""Which levels samples have in a column that is known and of no interest: as they are given, or as a table has them."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from prismap._util.arrays import Rows
from prismap.exceptions import InputError
from prismap.map._fitted import Given
from prismap.map._lazy import is_lazy
from prismap.metrics._geometry import DataMetric, VectorMetric
from prismap.tables import TableEncoding, is_frame, table_from_frame


def check_given(given: Any, X: Any, data: DataMetric) -> None:
    """Refuse levels of what they cannot be taken out of: only dense vectors can be shifted."""
    if given is None:
        return
    kind = "a Dask array" if is_lazy(X) else "sparse" if sp.issparse(X) else None
    if not isinstance(data, VectorMetric):
        kind = f"data={data.kind!r}"
    if kind is not None:
        raise InputError(f"given needs dense vectors in memory, of which levels can be taken out; X is {kind}.")


def levels_of(made_of: Given, X: Any, given: Any, n_rows: int) -> Rows | None:
    """The codes of the levels of samples X, which a table may bring along; None for a map without levels."""
    levels = made_of.levels
    if levels is None:
        if given is not None:
            raise InputError("given: this map was fitted without levels, so it has no use for them; leave it out.")
        return None
    given = given_in(made_of.encoding, X) if given is None else given
    if given is None:
        name = "" if levels.name is None else f" of {levels.name!r}"
        raise InputError(
            f"this map was fitted with given=, so the level{name} of every row is needed: transform(X, given=...), one "
            f"of its {len(levels)} levels per row."
        )
    return levels.encode(given, n_rows)


def given_in(encoding: TableEncoding | None, X: Any) -> Any:
    """The levels that a table brings along for a map of tables; None if there are none."""
    if encoding is None or encoding.given is None or not is_frame(X):
        return None
    return table_from_frame(X, encoding.roles).given
