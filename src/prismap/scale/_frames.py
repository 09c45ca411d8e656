"""`map_frame`: the rows of a data frame that is there already, in memory or on a Dask cluster."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from prismap._util.blocks import keep_freed_memory
from prismap._util.optional import import_extra
from prismap.exceptions import PrismapWarning
from prismap.map import PrisMap
from prismap.map._tables import may_lack
from prismap.scale._files import placed_columns, without_names
from prismap.tables import encoding_of
from prismap.tables._table import chosen_names


def map_frame(frame: Any, model: Any) -> Any:
    """Place the rows of a data frame on a map.

    Parameters
    ----------
    frame : data frame of pandas or Dask
        It needs the columns that the map was made of, and may have others.
    model : PrisMap or path
        A map, or the file of a saved one. A file is read by the process that calls; the map travels to the workers.

    Returns
    -------
    data frame
        Of the same kind, with the same index and, for Dask, the same partitions; nothing is computed yet then. Columns:
        ``x``, ``y``, ``far`` (whether the row is far from all the map has seen), ``distance`` (to the nearest fitted
        row, in units of their typical distance), ``trust`` if the map was judged, and what the ten nearest fitted rows
        on the map say, as in `map_file`.

    See Also
    --------
    map_files : Many files, with results on the disk that an interrupted run does not lose.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> m = PrisMap(perplexity=10, random_state=0).fit(X[::2], y[::2])
    >>> list(map_frame(X[1::2], m).columns)
    ['x', 'y', 'far', 'distance', 'neighbor_class', 'neighbor_share']
    """
    model = model if isinstance(model, PrisMap) else PrisMap.load(model)
    if not hasattr(frame, "map_partitions"):
        return place_partition(frame, model)
    dask = import_extra("dask", extra="distributed", feature="Placing Dask data frames")
    shared = dask.delayed(model, pure=False, traverse=False)  # one copy in the graph, not one per partition
    return frame.map_partitions(place_partition, shared, meta=_no_rows(model))


def place_partition(rows: Any, model: Any) -> Any:
    """The columns of a frame in memory, which may be empty."""
    pandas = import_extra("pandas", extra="distributed", feature="Placing data frames")
    keep_freed_memory()
    if not len(rows):
        return _no_rows(model).reindex(rows.index)
    encoding = encoding_of(model)
    needed = set(chosen_names(map(str, rows.columns), encoding.names, encoding.roles))
    rows_of = rows.loc[:, [str(name) in needed for name in rows.columns]]
    encoded = encoding.apply(rows_of, may_lack=may_lack(model.map_, encoding))
    for note in encoded.surprises:
        warnings.warn(f"{note}.", PrismapWarning, stacklevel=2)
    placed = placed_columns(without_names(model), encoded.X, encoded.given)
    return pandas.DataFrame(placed | {"far": placed["far"] | encoded.doubtful}, index=rows.index)


def _no_rows(model: Any) -> Any:
    """The columns of the result, and their types."""
    pandas = import_extra("pandas", extra="distributed", feature="Placing data frames")
    fitted = model.map_
    row = fitted.rows[:1]
    row = row.toarray() if hasattr(row, "toarray") else np.asarray(row)
    given = None if fitted.given.levels is None else fitted.given.levels.names[:1]
    return pandas.DataFrame(placed_columns(without_names(model), row, given)).iloc[:0]
