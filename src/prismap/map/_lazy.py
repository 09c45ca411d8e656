"""Rows that are not all at hand: iterators of batches, and Dask arrays and data frames.

Placing them stays lazy. For fitting, a stratified sample is drawn in one pass: every row gets a random key, each block
keeps its rows with the smallest keys (and a few of every class), and blocks are merged by the same rule, so memory
is a few times the sample whatever the number of rows, and the sample does not depend on the order of merging.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.arrays import Rows
from prismap._util.blocks import keep_freed_memory
from prismap._util.optional import import_extra
from prismap.exceptions import InputError
from prismap.map._recipe import Recipe
from prismap.metrics._geometry import data_metric
from prismap.target import decide_target, shares
from prismap.target._labels import check_target_length, missing_mask

#: Rows kept in the pass: so many times the sample, and at least so many of every class.
SPARE, OF_EACH = 4, 32
FAN_IN = 8


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask array, data frame or bag."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_stream(X: Any) -> bool:
    """Whether X is an iterator, of batches of rows."""
    return isinstance(X, Iterator)


# Placing


def placed_later(model: Any, X: Any) -> Any:
    """Positions of an iterator's batches one by one, or of Dask rows as a Dask array."""
    if is_stream(X):
        return (model.transform(batch) for batch in X)
    dask = import_extra("dask", extra="distributed", feature="Placing Dask rows")
    shared = dask.delayed(model, pure=False, traverse=False)  # one copy in the graph, not one per block
    n_components = model.embedding_.shape[1]
    if model.map_.data.kind == "objects":
        array = import_extra("dask.array", extra="distributed", feature="Placing Dask rows")
        place = dask.delayed(place_objects, pure=False)
        parts = [array.from_delayed(place(part, shared), (np.nan, n_components), np.float64) for part in X.to_delayed()]
        return array.concatenate(parts)
    if hasattr(X, "columns"):
        names = list(model.get_feature_names_out())
        pandas = import_extra("pandas", extra="distributed", feature="Placing Dask data frames")
        meta = pandas.DataFrame(np.empty((0, n_components)), columns=names)
        return X.map_partitions(place_frame, shared, names, meta=meta).to_dask_array()
    rows = one_block_wide(X)
    return rows.map_blocks(
        place_block, shared, dtype=np.float64, chunks=(rows.chunks[0], (n_components,)),
        meta=np.empty((0, n_components)),
    )  # fmt: skip


def place_block(rows: Any, model: Any) -> NDArray[Any]:
    """Positions of a block of rows, which may be empty."""
    keep_freed_memory()
    return model.transform(rows) if rows.shape[0] else np.empty((0, model.embedding_.shape[1]))


def place_objects(objects: Any, model: Any) -> NDArray[Any]:
    """Positions of a partition of a Dask bag, which may be empty."""
    objects = list(objects)
    return model.transform(objects) if objects else np.empty((0, model.embedding_.shape[1]))


def place_frame(rows: Any, model: Any, names: Any) -> Any:
    """Positions of a partition, with its index."""
    pandas = import_extra("pandas", extra="distributed", feature="Placing Dask data frames")
    return pandas.DataFrame(place_block(rows, model), columns=names, index=rows.index)


def one_block_wide(X: Any) -> Any:
    """A Dask array whose blocks hold whole rows."""
    if getattr(X, "ndim", None) != 2:
        raise InputError(f"X must be a Dask array of two dimensions or a Dask data frame; got {X!r}.")
    return X.rechunk({1: -1})


# Sampling


@dataclass(frozen=True)
class Candidates:
    """Rows that may come into the sample, by their random keys, and what was seen of the others."""

    rows: Any
    y: np.ndarray | None
    keys: np.ndarray
    groups: np.ndarray
    """The class of each row as text."""
    places: np.ndarray
    """(block, row within it) of each row."""
    seen: Counter[str]
    """Rows of each class."""
    lengths: dict[int, int]
    """Rows of each block."""

    def take(self, index: Rows) -> Candidates:
        """Some of the rows."""
        y = None if self.y is None else self.y[index]
        return replace(
            self, rows=take_rows(self.rows, index), y=y, keys=self.keys[index], groups=self.groups[index],
            places=self.places[index],
        )  # fmt: skip


def drawn(X: Any, y: Any, recipe: Recipe) -> tuple[Any, Any, Rows | None]:
    """(X, y, None) as they are; of Dask rows a sample of `fit_rows` with the same shares of classes, and its indices.

    X and y must be divided alike; one pass over them.
    """
    if not is_lazy(X):
        return X, y, None
    if data_metric(recipe.data).kind == "objects":
        raise InputError("objects of a Dask bag are placed, not fitted: fit the map to a list of some of them.")
    if data_metric(recipe.data).is_matrix:
        raise InputError(f"data={recipe.data!r} is a matrix of all pairs and cannot be sampled by rows; pass an array.")
    if isinstance(recipe.fit_rows, str):
        raise InputError(
            f"fit_rows={recipe.fit_rows!r} needs rows in memory: of Dask rows one pass draws the sample, and its size "
            "must be known before. Set fit_rows=20000, for example."
        )
    dask = import_extra("dask", extra="distributed", feature="Fitting Dask rows")
    blocks, targets = delayed_blocks(X, y)
    by_class = y is not None and recipe.supervision != 0 and recipe.target in ("auto", "class")
    if by_class and recipe.target == "auto":
        first = dask.compute(targets[0])[0]
        by_class = decide_target(check_target_length(first, len(first))).kind == "class"
    pick, merge = dask.delayed(candidates, pure=False), dask.delayed(merged, pure=False)
    layer = [
        pick(rows, target, number, recipe.seed, recipe.fit_rows, by_class)
        for number, (rows, target) in enumerate(zip(blocks, targets, strict=True))
    ]
    while len(layer) > 1:
        layer = [merge(layer[k : k + FAN_IN], recipe.fit_rows) for k in range(0, len(layer), FAN_IN)]
    pool = dask.compute(layer[0])[0]
    sample = pool.take(choose(pool, recipe.fit_rows))
    starts = np.concatenate([[0], np.cumsum([pool.lengths[number] for number in range(len(blocks))])])
    return sample.rows, sample.y, starts[sample.places[:, 0]] + sample.places[:, 1]


def delayed_blocks(X: Any, y: Any) -> tuple[list[Any], list[Any]]:
    """Blocks of rows, and the targets that belong to them (None without a target)."""
    if not hasattr(X, "columns"):
        X = one_block_wide(X)
    blocks = list(np.ravel(X.to_delayed()))
    if y is None:
        return blocks, [None] * len(blocks)
    if not is_lazy(y):
        if hasattr(X, "columns") or np.isnan(X.chunks[0]).any():
            raise InputError("y must be a Dask series or array, divided as X is: the lengths of X's parts are unknown.")
        from_array = import_extra("dask.array", extra="distributed", feature="Fitting Dask rows").from_array
        y = from_array(check_target_length(y, X.shape[0]), chunks=(X.chunks[0],))
    elif not hasattr(X, "columns") and hasattr(y, "chunks") and not np.isnan([*X.chunks[0], *y.chunks[0]]).any():
        if X.shape[0] != y.shape[0]:
            raise InputError(f"y has {y.shape[0]} entries and X has {X.shape[0]} rows: they must be equal in number.")
        y = y.rechunk({0: X.chunks[0]})
    targets = list(np.ravel(y.to_delayed()))
    if len(targets) != len(blocks):
        raise InputError(f"y has {len(targets)} Dask partitions and X has {len(blocks)}: divide them alike.")
    return blocks, targets


def candidates(rows: Any, y: Any, number: int, seed: int, most: int, by_class: bool) -> Candidates:
    """The rows of a block that may come into a sample of `most`."""
    n_rows = rows.shape[0]
    y = None if y is None else check_target_length(y, n_rows)
    groups = group_names(y) if by_class else np.full(n_rows, "")
    places = np.column_stack([np.full(n_rows, number), np.arange(n_rows)])
    keys = np.random.default_rng([seed, number]).random(n_rows)
    seen = Counter(dict(zip(*(part.tolist() for part in np.unique(groups, return_counts=True)), strict=True)))
    return trimmed(Candidates(rows, y, keys, groups, places, seen, {number: n_rows}), most)


def merged(parts: list[Candidates], most: int) -> Candidates:
    """The candidates of several blocks together."""
    y = None if parts[0].y is None else np.concatenate([part.y for part in parts])
    keys, groups, places = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "groups", "places")
    )
    seen: Counter[str] = sum((part.seen for part in parts), Counter())
    lengths = {number: length for part in parts for number, length in part.lengths.items()}
    return trimmed(Candidates(join_rows([part.rows for part in parts]), y, keys, groups, places, seen, lengths), most)


def trimmed(pool: Candidates, most: int) -> Candidates:
    """Those with the smallest keys: a few times as many as are wanted, and some of every class."""
    rank = np.empty(len(pool.keys), dtype=np.intp)
    order = np.argsort(pool.keys)
    rank[order] = np.arange(len(order))
    kept = rank < SPARE * most
    for group in np.unique(pool.groups):
        members = np.flatnonzero(pool.groups == group)
        kept[members[np.argsort(pool.keys[members])[:OF_EACH]]] = True
    return pool.take(np.flatnonzero(kept))


def choose(pool: Candidates, most: int) -> Rows:
    """Indices of the sample among the candidates, in the order of the rows: every class has its share."""
    order = np.lexsort(pool.places.T[::-1])
    if sum(pool.seen.values()) <= most:
        return order
    names = sorted(pool.seen)
    wanted = dict(zip(names, shares([pool.seen[name] for name in names], max(most, len(names))), strict=True))
    chosen = np.zeros(len(order), dtype=bool)
    for name, size in wanted.items():
        members = np.flatnonzero(pool.groups == name)
        chosen[members[np.argsort(pool.keys[members])[:size]]] = True
    return order[chosen[order]]


def group_names(y: Any) -> NDArray[np.str_]:
    """The class of each row as text; empty where there is none."""
    missing = missing_mask(y)
    names = np.full(len(y), "", dtype=object)
    names[~missing] = [str(value) for value in y[~missing].tolist()]
    return names.astype(str)


def take_rows(rows: Any, index: Rows) -> Any:
    """Some rows of an array, a sparse matrix or a data frame."""
    return rows.iloc[index] if hasattr(rows, "iloc") else rows[index]


def join_rows(parts: list[Any]) -> Any:
    """Parts of one kind, one below the other."""
    if hasattr(parts[0], "iloc"):
        pandas = import_extra("pandas", extra="distributed", feature="Fitting Dask data frames")
        return pandas.concat(parts, ignore_index=True)
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
