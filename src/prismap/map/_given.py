"""What `fit` is given, read and checked: samples, target, units and levels, and the levels of later samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._util.arrays import Rows
from prismap.exceptions import InputError
from prismap.map._columns import warn_of_columns, warn_of_names
from prismap.map._held import earlier_of
from prismap.map._lazy import drawn, is_lazy
from prismap.map._recipe import Given, Recipe
from prismap.metrics._geometry import DataMetric, VectorMetric, data_metric
from prismap.metrics._shift import without_shift
from prismap.tables import TableEncoding, is_frame, table_from_frame
from prismap.target import decide_units, make_target, read_levels


def read_given(
    estimator: Any, recipe: Recipe, X: Any, y: Any, *, groups: Any, order: Any, given: Any, like: Any
) -> tuple[DataMetric, Given, tuple[str, ...]]:
    """The metric of the data, what a `PrisMap` was given, and what a reader should know about that; see its `fit`.

    The estimator gets what scikit-learn sets (`n_features_in_`, `feature_names_in_`), and `sampled_rows_`.
    """
    index, name = row_names(X), getattr(y, "name", None)
    check_given(given, X, data_metric(recipe.data))
    earlier = earlier_of(like, X, given, recipe)
    X, y, estimator.sampled_rows_ = drawn(X, y, recipe)
    data = data_metric(recipe.data)
    rows = data.read(estimator, X)
    names = getattr(estimator, "feature_names_in_", None)
    notes = () if data.is_matrix else warn_of_columns(rows, names)
    unused = recipe.supervision == 0 and not isinstance(recipe.supervision, str)  # the map is not to be about it
    target = make_target(None if unused else y, rows.shape[0], recipe.target, X=rows, data=data.kind)
    levels = None
    if given is not None:
        levels, codes = read_levels(given, rows.shape[0])
        target = target.inside(codes, len(levels))
    samples = rows.objects if data.kind == "objects" else rows
    dependence = decide_units(
        without_shift(samples, target), target, data=data.kind, groups=groups, order=order, copies=recipe.copies,
        seed=recipe.seed, raw=samples,
    )  # fmt: skip
    if dependence.units is not None:
        target = target.with_units(dependence.units)
    notes = (*notes, *dependence.notes, *warn_of_names(target))
    every = np.arange(rows.shape[0])
    return data, Given(
        rows, target, every, every, names, estimator.n_features_in_, row_names=index, y=y,
        target_name=None if name is None else str(name), dependence=dependence, levels=levels, earlier=earlier,
    ), notes  # fmt: skip


def row_names(X: Any) -> Any:
    """The index of a pandas frame; None for all else, whose rows have no names."""
    return X.index if type(X).__module__.startswith("pandas") and hasattr(X, "columns") else None


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
