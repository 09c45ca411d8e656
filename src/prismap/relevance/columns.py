"""Relevance of the columns of a table, numbers and texts, for a map: one measure for pages and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prismap.relevance.features import FeatureRelevance

#: Neighbourhoods that are judged; each looks at all rows.
N_SAMPLES = 1000
FEWEST_ROWS = 20


def column_relevance(columns: Mapping[str, Any], Y: Any, *, n_neighbors: int = 10, random_state: Any = 0) -> Any:
    """The relevance of the columns of a table, numbers, dates and texts, for a map of its rows.

    Missing numbers are taken as the column's median. Texts are compared by their level (equal, or not). Texts with a
    value of their own for most rows, such as names, are left out.

    Parameters
    ----------
    columns : dict of arrays by name
    Y : (n, 2) positions of the rows
    n_neighbors : int, default=10
    random_state : for the permuted columns

    Returns
    -------
    FeatureRelevance or None : a "forward" one, whose `feature_names_in_` are the columns that could be judged; None if
        there are none.

    Examples
    --------
    >>> Y = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = column_relevance({"x": Y[:, 0], "noise": np.random.default_rng(1).normal(size=60)}, Y)
    >>> str(found.feature_names_in_[found.relevance_.argmax()])
    'x'
    """
    judged = {name: numbers for name, values in columns.items() if (numbers := column_numbers(values)) is not None}
    if not judged or len(Y) < FEWEST_ROWS:
        return None
    model = FeatureRelevance(
        "forward", n_neighbors=min(n_neighbors, (len(Y) - 1) // 2), n_samples=N_SAMPLES, random_state=random_state
    )
    model.fit(np.column_stack(list(judged.values())), Y)
    model.feature_names_in_ = np.array(list(judged), dtype=object)
    return model


def column_numbers(values: Any) -> np.ndarray | None:
    """A column as numbers that tell rows apart as the column does; None where it names rows or is empty."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        array = np.where(np.isnat(array), np.nan, array.astype("datetime64[us]").astype(np.int64).astype(np.float64))
    if array.dtype.kind in "fiub":
        numbers = array.astype(np.float64)
        known = np.isfinite(numbers)
        return np.where(known, numbers, np.median(numbers[known])) if known.any() else None
    levels, codes = np.unique([str(value) for value in array.tolist()], return_inverse=True)
    return codes.astype(np.float64) if len(levels) <= max(30, len(array) / 2) else None
