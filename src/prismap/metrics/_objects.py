"""Any objects and a comparison of two of them as the data of a map: values are evaluated when they are needed.

Rows of a map are then `ObjectRows`. Those of one fit share a table of values, so that the maps that are made
to judge one, and the rows that are held out for it, ask for no pair again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from threading import RLock
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from prismap._util.blocks import row_blocks
from prismap._util.search import Neighbors, check_n_neighbors
from prismap._util.validation import check_similarity
from prismap.comparisons import Objects, get_comparison, neighbors_by_pivots
from prismap.comparisons._content import digest, pack, to_plain, unpack
from prismap.comparisons._objects import describe
from prismap.exceptions import InputError
from prismap.metrics._anchors import FittedIndex, MatrixAnchors, SeenEntries
from prismap.metrics._base import Seen
from prismap.metrics._geometry import DESCRIBED, DissimilarityMetric, SimilarityMetric

#: Up to so many objects all values stay in a square array; beyond, the evaluator remembers them.
MOST_IN_MATRIX = 5000
#: Objects that all others are compared with, to search for neighbours among many.
N_PIVOTS = 100


class ValueTable:
    """Values between the objects of one list, each pair evaluated at most once while they fit in a square array."""

    def __init__(self, how, objects):
        self.evaluator, self.lock = how.over(objects), RLock()
        self.n_own = 0
        n = len(objects)
        self.matrix: Any = np.full((n, n), np.nan) if n <= MOST_IN_MATRIX else None

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state):
        vars(self).update(state)
        self.lock = RLock()

    @property
    def n_evaluations(self):
        """Values computed so far, those of new objects included."""
        return self.evaluator.n_evaluations + self.n_own

    @classmethod
    def of(cls, how, objects):
        """A table of these objects: the one of an earlier attempt by the same comparison, if that came to no end."""
        before: Any = getattr(how, "unfinished", None)
        same = before is not None and len(before.evaluator.objects) == len(objects)
        if same and all(a is b for a, b in zip(before.evaluator.objects, objects, strict=True)):
            return before
        return cls(how, objects)

    def block(self, i, j):
        """Values between objects i and objects j; if that fails, those evaluated so far wait for the next attempt."""
        how = self.evaluator.how
        try:
            with self.lock if self.matrix is not None else nullcontext():
                values = self._block(i, j)
        except BaseException:  # Ctrl-C too
            object.__setattr__(how, "unfinished", self)
            raise
        if getattr(how, "unfinished", None) is self:
            object.__delattr__(how, "unfinished")
        return values

    def _block(self, i, j):
        if self.matrix is None:
            return self._checked(self.evaluator.block(i, j), i, j)
        self._fill(i, j)
        return self.matrix[np.ix_(i, j)]

    def _fill(self, i, j):
        """Evaluate what is missing; a block fills its mirror image too."""
        missing = np.isnan(self.matrix[np.ix_(i, j)])
        if not missing.any():
            return
        i, j = i[missing.any(axis=1)], j[missing.any(axis=0)]
        named = self.evaluator.comparison
        remembered = named is None or named.remembered
        # Few at a time where mirror images would be evaluated again, many where all cores are to have work.
        asked = 4_000_000 if remembered else min(500_000, len(i) * len(j) // 8)
        for part in row_blocks(len(i), len(j), asked):
            rows = i[part]
            columns = j[np.isnan(self.matrix[np.ix_(rows, j)]).any(axis=0)]
            values = self._checked(self.evaluator.block(rows, columns), rows, columns)
            self.matrix[np.ix_(rows, columns)] = values
            self.matrix[np.ix_(columns, rows)] = values.T

    def new(self, objects, j, numbers):
        """Values between new objects, which errors name by their numbers, and objects j."""
        return self._checked(self.evaluator.new(objects, j, numbers), numbers, j, objects)

    def own(self, objects):
        """Values of new objects with themselves."""
        alone = replace(self.evaluator.how, cache=None).over(objects)
        every = np.arange(len(objects))
        values = alone.pairs(every, every)
        with self.lock:
            self.n_own += len(objects)
        return values

    def _checked(self, values, i, j, new=None):
        """No value is NaN, and no dissimilarity is negative."""
        negative = self.evaluator.how.kind == "dissimilarity"
        wrong = ~np.isfinite(values) | (values < 0) if negative else ~np.isfinite(values)
        if wrong.any():
            a, b = (int(k[0]) for k in np.nonzero(wrong))
            objects = self.evaluator.objects
            first = describe("object", i[a], objects[i[a]]) if new is None else describe("new object", i[a], new[a])
            raise InputError(
                f"compare gave {values[a, b]:g} for {first} and {describe('object', j[b], objects[j[b]])}; "
                + ("a dissimilarity must not be negative." if values[a, b] < 0 else "a finite number is needed.")
            )
        return values


class ObjectRows:
    """Objects as the rows of a map: ``rows[index]`` are some of them. New objects keep what they were compared with."""

    #: That of their positions.
    dtype = np.dtype(np.float64)

    def __init__(self, objects: np.ndarray, table: ValueTable | None = None, index: np.ndarray | None = None):
        self.objects, self.table = objects, table
        self.index = np.arange(len(objects)) if index is None else index
        self._seen: tuple[Any, np.ndarray, np.ndarray] | None = None

    @property
    def shape(self):
        """As many rows as objects; an object has no columns."""
        return (len(self.objects),)

    def __len__(self):
        return len(self.objects)

    def __getitem__(self, index):
        return ObjectRows(self.objects[index], self.table, self.index[index])

    def astype(self, dtype, copy=True):
        """Objects have no precision."""
        return self

    def tolist(self):
        """The objects."""
        return self.objects.tolist()

    def to(self, fitted: ObjectRows, columns) -> np.ndarray:
        """Values against some of the fitted rows."""
        others = fitted.index[columns]
        table: Any = fitted.table
        if self.table is not None and self.table is table:
            return self.table.block(self.index, others)
        if self._seen is None or self._seen[0] is not table:
            self._seen = table, np.empty(0, dtype=np.intp), np.empty((len(self), 0))
        _, known, values = self._seen
        missing = np.setdiff1d(others, known)
        if len(missing):
            values = np.hstack([values, table.new(self.tolist(), missing, self.index)])
            known = np.concatenate([known, missing])
            self._seen = table, known, values
        order = np.argsort(known, kind="stable")
        return values[:, order[np.searchsorted(known[order], others)]]

    def own(self, fitted: ObjectRows) -> np.ndarray:
        """Values of the rows with themselves."""
        table: Any = fitted.table
        return table.own(self.tolist())

    def pack(self) -> dict[str, np.ndarray]:
        """Arrays for a file: the objects as text, and the values between them where all are known."""
        arrays = {"objects": pack(self.tolist())}
        matrix = None if self.table is None else self.table.matrix
        if matrix is not None and not np.isnan(matrix[np.ix_(self.index, self.index)]).any():
            arrays["values"] = matrix[np.ix_(self.index, self.index)][np.tril_indices(len(self))]
        return arrays

    @classmethod
    def unpack(cls, how: Objects, arrays: Mapping[str, np.ndarray]) -> ObjectRows:
        """The rows of `pack`, which know the values that were stored."""
        rows = as_rows(unpack(arrays["objects"]), least=2)
        rows.table = ValueTable(how, rows.tolist())
        if "values" in arrays and rows.table.matrix is not None:
            lower = np.tril_indices(len(rows))
            rows.table.matrix[lower] = rows.table.matrix.T[lower] = arrays["values"]
        return rows

    def content_keys(self) -> list[Any]:
        """What equal objects share: their content, or, for objects without a readable one, themselves."""
        return [content_key(thing) for thing in self.objects]


def content_key(thing: Any) -> Any:
    """A key that equal objects share."""
    try:
        return digest(to_plain(thing))
    except InputError:
        try:
            return digest(thing)
        except Exception:  # pickling runs the user's code
            return id(thing)


def as_rows(objects: Any, *, least: int) -> ObjectRows:
    """A list of objects as rows, checked for what is no list of objects."""
    if isinstance(objects, ObjectRows):
        return objects
    if sp.issparse(objects) or isinstance(objects, (str, bytes, Mapping)) or not isinstance(objects, Iterable):
        raise InputError(
            f"X must be a list of objects, as data=Objects(...) says; got {type(objects).__name__}. Put them in a list."
        )
    listed = list(objects)
    if len(listed) < least:
        raise InputError(f"X has {len(listed)} objects; at least {least} are needed.")
    values = np.empty(len(listed), dtype=object)
    for k, thing in enumerate(listed):
        values[k] = thing
    return ObjectRows(values)


def known_rows(how: Objects, objects: Any, values: np.ndarray) -> ObjectRows:
    """Objects whose values, all of them, are known already."""
    rows = as_rows(objects, least=2)
    rows.table = ValueTable(how, rows.tolist())
    rows.table.matrix = np.asarray(values, dtype=np.float64)
    return rows


class ObjectData:
    """What both kinds of objects share: reading, cutting, and which rows know each other."""

    how: Any
    #: Not "similarity": the rows are no entries of a matrix.
    kind = "objects"
    #: Anchors of a large map: each costs one comparison per new object.
    most_anchors = 1500

    def read(self, estimator, X, *, reset=True):
        """A list of objects, checked."""
        rows = as_rows(X, least=2 if reset else 1)
        if reset:
            estimator.n_features_in_ = 1
            if hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
        return rows

    def cut(self, rows, index):
        """Some of the rows; they share the values that are known."""
        return rows[index]

    def entries(self, rows, index):
        """New objects are compared when that is needed."""
        return rows

    def _hold(self, rows):
        if rows.table is None:
            rows.table, rows.index = ValueTable.of(self.how, rows.tolist()), np.arange(len(rows))
        self.rows_, self.n_rows_, self.dtype = rows, len(rows), np.dtype(np.float64)
        self.n_features_in_ = 1
        return rows

    def _side(self, A):
        """Fitted rows by index, all where None, or new ones."""
        if A is None:
            return self.rows_
        return self.rows_[A.index] if isinstance(A, FittedIndex) else A

    def values_to(self, A, columns):
        """Values of objects A, new ones or a `FittedIndex`, against the fitted objects `columns`."""
        return self._side(A).to(self.rows_, columns)

    @property
    def n_evaluations(self):
        """Values computed so far, for the fit, for maps that judge it, and for new objects."""
        return self.rows_.table.n_evaluations

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = False
        tags.input_tags.two_d_array = False
        return tags


class ObjectAnchors(MatrixAnchors):
    """New objects measured against the anchors, and after that against the fitted objects near these."""

    searchable = True

    def see(self, rows, own=None):
        """Look at a block of objects."""
        return SeenObjects(self, rows)

    def of_fitted(self, index):
        """Fitted objects by their distances to pivots: which anchor is near one follows without comparing them."""
        coordinates = self.metric.coordinates()
        return Seen(euclidean_distances(coordinates[index], coordinates[self.anchors]))


class SeenObjects(SeenEntries):
    """A block of new objects."""

    def __init__(self, anchors, rows):
        super().__init__(anchors, np.maximum(anchors.metric.squared_to(rows, anchors.anchors), 0))
        self.rows = rows
        self._among: tuple[Any, Any] = (None, None)

    def among(self, candidates):
        """Distances of each object to its candidates, each evaluated once."""
        if self._among[0] is not candidates:
            D = np.empty(candidates.shape)
            for k, wanted in enumerate(candidates):
                others, place = np.unique(wanted, return_inverse=True)
                D[k] = np.sqrt(self.anchors.metric.squared_to(self.rows[k : k + 1], others)[0])[place]
            self._among = candidates, D
        return self._among[1]


class ObjectDissimilarity(ObjectData, DissimilarityMetric):
    """Objects compared by a dissimilarity, evaluated when it is asked for.

    Parameters
    ----------
    how : `prismap.comparisons.Objects`.

    Examples
    --------
    >>> metric = ObjectDissimilarity(Objects("edit")).fit(["kitten", "sitting", "mitten"])
    >>> metric.pairwise(["kitten"]).tolist()
    [[0.0, 3.0, 1.0]]
    """

    def __init__(self, how):
        self.how = how

    def over(self, rows):
        """The fitted metric of these objects; nothing is compared yet."""
        self._hold(rows)
        self._coordinates = None
        return self

    def squared_to(self, A, columns, self_similarity=None):
        """Squared dissimilarities, laid out in memory as those of a matrix are: products then have the same bits."""
        values = self._side(A).to(self.rows_, columns)
        return (values if isinstance(columns, slice) else np.asfortranarray(values)) ** 2

    def to_anchors(self, anchors):
        """What measures new objects against some of the fitted ones."""
        return ObjectAnchors(self, anchors)

    def coordinates(self):
        """Distances of the fitted objects to a few of them, evaluated when they are first asked for."""
        with self.rows_.table.lock:
            if self._coordinates is None:
                n_pivots = min(N_PIVOTS, self.n_rows_)
                pivots = np.sort(np.random.default_rng(0).choice(self.n_rows_, n_pivots, replace=False))
                self._coordinates = self.rows_.to(self.rows_, pivots)
            return self._coordinates

    def search(self, n_neighbors, random_state=None):
        """Nearest neighbours of all objects with few evaluations: candidates by pivots. The recall is measured."""
        n_neighbors = check_n_neighbors(n_neighbors, self.n_rows_, own=True)
        table = self.rows_.table
        if len(self.rows_) != len(table.evaluator):
            table = ValueTable(self.how, self.rows_.tolist())
        near = neighbors_by_pivots(
            table.evaluator, n_neighbors, n_pivots=N_PIVOTS, n_candidates=2 * n_neighbors, n_near=12, n_checked=50,
            random_state=random_state,
        )  # fmt: skip
        return Neighbors(
            near.distances, near.indices, method="pivots", recall=near.recall, n_distances=near.n_evaluations
        )


class ObjectSimilarity(ObjectData, SimilarityMetric):
    """Objects compared by a similarity. All pairs of the fitted objects are evaluated once, to repair the matrix.

    Parameters
    ----------
    how : `prismap.comparisons.Objects`.
    repair : {"clip", "flip", "shift", "none"}, default="clip"
        What is done about negative eigenvalues; see `SimilarityMetric`. With "shift" and "none" new objects are
        compared with themselves, too.
    """

    most_rows = MOST_IN_MATRIX

    def __init__(self, how, repair="clip"):
        self.how = how
        self.repair = repair

    def read(self, estimator, X, *, reset=True):
        """A list of objects, checked."""
        self._validate_params()
        return ObjectData.read(self, estimator, X, reset=reset)

    def over(self, rows):
        """The fitted metric of these objects."""
        if len(rows) > MOST_IN_MATRIX:
            raise InputError(
                f"a similarity of {len(rows):,} objects needs all pairs at once, of at most {MOST_IN_MATRIX:,}: set "
                f"fit_rows={MOST_IN_MATRIX} or less, the others are placed; or compare them by a dissimilarity."
            )
        self._hold(rows)
        values = rows.to(rows, slice(None))
        check_similarity(values)
        super().over(values)
        self._hold(rows)
        return self

    def squared_to(self, A, columns, self_similarity=None):
        """Squared distances; what a new object is to itself is evaluated where it does not follow."""
        if A is None or isinstance(A, FittedIndex):
            return super().squared_to(A, columns, self_similarity)
        if self.repaired_.vectors is not None:
            return super().squared_to(A.to(self.rows_, slice(None)), columns, self_similarity)
        own = A.own(self.rows_) + self.repaired_.shift if self_similarity is None else np.asarray(self_similarity)
        return own[:, None] + self.diagonal[columns][None, :] - 2 * A.to(self.rows_, columns)

    @property
    def self_similarity_known(self):
        """Objects can be compared with themselves."""
        return True


def object_metric(how: Objects) -> ObjectDissimilarity | ObjectSimilarity:
    """The metric of the data that `data=Objects(...)` stands for."""
    return (ObjectSimilarity if how.kind == "similarity" else ObjectDissimilarity)(how)


def objects_to_spec(how: Objects) -> dict[str, Any]:
    """A comparison for a header of JSON: by its name and version, or as a function that is asked for again."""
    named = how.comparison
    if named is None:
        return {"function": getattr(how.compare, "__name__", type(how.compare).__name__), "kind": how.kind}
    return {"name": named.name, "version": named.version, "options": to_plain(named.options)}


def objects_from_spec(spec: dict[str, Any], compare: Any = None) -> Objects:
    """The comparison of a header."""
    if "function" in spec:
        return Objects(compare, spec["kind"])
    named = get_comparison(spec["name"], **spec["options"])
    if named.version != spec["version"]:
        raise InputError(
            f"comparison {named.name!r} gives other values than it did (version {spec['version']}, now "
            f"{named.version}); fit the map anew"
        )
    return Objects(named)


DESCRIBED[Objects] = object_metric
