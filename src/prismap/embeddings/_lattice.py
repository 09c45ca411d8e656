"""What SOM and GTM share: a lattice, prototypes that are weighted means of rows, and the two kinds of rows.

A prototype is w = sum_i c_i x_i with sum_i c_i = 1. Its squared distance to a row needs no coordinates:
``|x_j - w|^2 = (D2 c)_j - c^T D2 c / 2`` (Hammer & Hasenfuss, Neural Computation 22, 2010), so the same algorithm runs
on vectors and on distances. Coefficients of all prototypes come as a product ``mixing @ sums`` of a small matrix
and one with a column for each row: the large matrix is multiplied by `sums` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import TransformerTags, get_tags
from sklearn.utils.validation import check_is_fitted

from prismap._util.grid import sum_products
from prismap._util.random import as_seed
from prismap._util.spectra import double_centre, fix_signs, leading_eigenpairs
from prismap._util.threads import on_one_thread
from prismap._util.validation import check_rows
from prismap.embeddings._base import Embedding, all_distances
from prismap.embeddings._starts import all_equal
from prismap.exceptions import InputError
from prismap.metrics._base import NamedMetric

#: Nodes of a lattice whose size is left to us: more show no more on a screen, and cost grows with their square.
MOST_NODES = 400


@dataclass(frozen=True)
class VectorPrototypes:
    """Prototypes that are points ``mixing @ totals``; `offset`, the mean of the rows, guards against cancellation."""

    mixing: np.ndarray
    totals: np.ndarray
    offset: Any

    def squared_distances(self, X):
        """(n, K) squared distances of the rows X."""
        X = X if sp.issparse(X) else X - self.offset
        return euclidean_distances(X, self.mixing @ self.totals - self.offset, squared=True)

    def between(self):
        """(K, K) squared distances between prototypes."""
        return euclidean_distances(self.mixing @ self.totals - self.offset, squared=True)

    def squared_norms(self, mixing):
        """Squared norms of other combinations ``mixing @ totals`` whose coefficients add up to zero."""
        combined = mixing @ self.totals
        return np.einsum("ij,ij->i", combined, combined)


@dataclass(frozen=True)
class RelationalPrototypes:
    """Prototypes that are known by their coefficients ``mixing @ sums`` only; `core` is sums @ D2 @ sums^T."""

    mixing: np.ndarray
    sums: Any
    core: np.ndarray

    def squared_distances(self, D2):
        """(n, K) squared distances of rows whose squared distances to the fitted rows are D2, each row by itself."""
        to_sums = (self.sums @ D2.T).T if sp.issparse(self.sums) else sum_products(D2, self.sums.T)
        return sum_products(to_sums, self.mixing.T) + self.squared_norms(self.mixing)

    def between(self):
        """(K, K) squared distances between prototypes."""
        inner = self.mixing @ self.core @ self.mixing.T
        own = 0.5 * np.diag(inner)
        return inner - own[:, None] - own[None, :]

    def squared_norms(self, mixing):
        """Squared norms of other combinations ``mixing @ sums`` whose coefficients add up to zero.

        Of the prototypes themselves, whose coefficients add up to one, it is what their distances to rows lack.
        """
        return -0.5 * np.einsum("ij,jk,ik->i", mixing, self.core, mixing, optimize=True)


class VectorSpace:
    """Rows with coordinates, dense (kept centred) or sparse."""

    def __init__(self, X):
        self.offset = 0.0 if sp.issparse(X) else X.mean(axis=0, dtype=np.float64)
        self.X = X.astype(np.float64) if sp.issparse(X) else X - self.offset
        self.n_rows, self.dimension = X.shape

    def prototypes(self, mixing, sums):
        """Prototypes with the coefficients ``mixing @ sums``, and their squared distances to all rows, (n, K)."""
        totals = sums @ self.X
        totals = totals.toarray() if sp.issparse(totals) else totals
        D2 = euclidean_distances(self.X, mixing @ totals, squared=True)
        return VectorPrototypes(mixing, totals + np.outer(sums.sum(axis=1), self.offset), self.offset), D2

    def principal_axes(self, rng):
        """The two leading unit eigenvectors of the centred Gram matrix (n, 2), their eigenvalues, and its trace."""
        if sp.issparse(self.X) and all_equal(self.X):
            return np.zeros(2), np.zeros((self.n_rows, 2)), 0.0
        k = min(2, self.dimension, self.n_rows)
        pca = PCA(k, random_state=as_seed(rng))
        with np.errstate(
            invalid="ignore"
        ):  # rows that are all equal: 0 / 0 in the share of variance, which is not used
            positions = pca.fit_transform(self.X)
        mean_square = self.X.multiply(self.X).mean() if sp.issparse(self.X) else np.mean(np.square(self.X))
        trace = self.X.shape[0] * (self.dimension * float(mean_square) - float(np.sum(pca.mean_**2)))
        values = np.sum(positions**2, axis=0)
        vectors = fix_signs(positions) / np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
        return np.pad(values, (0, 2 - k)), np.pad(vectors, ((0, 0), (0, 2 - k))), max(trace, 0.0)


class RelationalSpace:
    """Rows known by squared distances only. An effective number of coordinates stands for the dimension.

    It is (sum of eigenvalues)^2 / (sum of their squares) of the Gram matrix: q for q directions of equal spread.
    """

    def __init__(self, D2, dimension=None):
        self.D2 = D2
        self.n_rows = len(D2)
        if dimension is None:
            G = double_centre(D2)
            size = float(np.vdot(G, G))
            dimension = max(float(np.trace(G)) ** 2 / size, 1.0) if size > 0 else 1.0
        self.dimension = dimension

    def prototypes(self, mixing, sums):
        """Prototypes with the coefficients ``mixing @ sums``, and their squared distances to all rows, (n, K)."""
        to_sums = (sums @ self.D2).T
        made = RelationalPrototypes(mixing, sums, sums @ to_sums)
        return made, to_sums @ mixing.T + made.squared_norms(mixing)

    def principal_axes(self, rng):
        """The two leading unit eigenvectors of the centred Gram matrix (n, 2), their eigenvalues, and its trace."""
        G = double_centre(self.D2)
        values, vectors = leading_eigenpairs(G, 2, rng)
        return np.maximum(values, 0.0), vectors * (values > 0), max(float(np.trace(G)), 0.0)


def space_of(metric, n_rows, method):
    """Vectors for the Euclidean metric, squared distances for every other."""
    if isinstance(metric, NamedMetric) and metric.name == "euclidean":
        return VectorSpace(metric.rows_)
    return RelationalSpace(np.square(all_distances(metric, n_rows, method=method, n_matrices=3)))


def choose_grid(grid, n_rows, ratio=1.0):
    """(columns, rows) of the lattice: as given, or 5 sqrt(n) nodes (Vesanto 2000), 400 at most, with sides in `ratio`.

    >>> choose_grid("auto", 1500), choose_grid("auto", 1500, ratio=2.0)
    ((14, 13), (21, 9))
    """
    if not isinstance(grid, str):
        columns, rows = check_grid(grid, "grid")
        if columns * rows > n_rows:
            raise InputError(
                f"grid={(columns, rows)} has {columns * rows} nodes and there are n_samples={n_rows} rows: a lattice "
                "needs at least as many rows as nodes. Use a smaller grid, or grid='auto'."
            )
        return columns, rows
    nodes = min(5.0 * np.sqrt(n_rows), n_rows, MOST_NODES)
    rows = max(1, int(np.sqrt(nodes / ratio)))
    return int(nodes / rows), rows


def check_grid(grid, name):
    """Two whole numbers of at least one."""
    sides = tuple(grid)
    if len(sides) != 2 or not all(isinstance(side, (int, np.integer)) and side >= 1 for side in sides):
        raise InputError(f"{name} must be 'auto' or two whole numbers (columns, rows) of at least 1; got {grid!r}.")
    return int(sides[0]), int(sides[1])


def lattice(columns, rows):
    """Node positions (columns * rows, 2) with unit spacing; node ``r * columns + c`` lies at (c, r)."""
    return (
        np.stack(np.meshgrid(np.arange(columns), np.arange(rows), indexing="xy"), axis=-1).reshape(-1, 2).astype(float)
    )


class LatticeEmbedding(Embedding):
    """Base of SOM and GTM: new rows find their place through their distances to the prototypes.

    A subclass writes `_positions`, from squared distances to the prototypes, and `keep_points`, which is given the
    rows (None where they have no coordinates) and keeps what its inverse map needs.
    """

    @on_one_thread
    def fit_transform(self, X, y=None):
        """Fit the map to the rows of X and return their positions."""
        super().fit_transform(X, y)
        pairwise = get_tags(self).input_tags.pairwise
        self.keep_points(None if pairwise else check_rows(self, X, reset=False, sparse=True))
        return self.embedding_

    @on_one_thread
    def transform(self, X):
        """Positions of new rows; with ``metric="precomputed"``, X holds their distances to the fitted rows."""
        return self._positions(self._distances_to_prototypes(X))

    def _distances_to_prototypes(self, X):
        """Squared distances (n, K) of new rows to the prototypes."""
        check_is_fitted(self)
        if isinstance(self.prototypes_, VectorPrototypes):
            return self.prototypes_.squared_distances(check_rows(self, X, reset=False, sparse=True))
        return self.prototypes_.squared_distances(np.square(self.metric_.pairwise(X), dtype=np.float64))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def _positions(self, D2):
        raise NotImplementedError(f"{type(self).__name__} has no _positions")

    def keep_points(self, rows):
        """Learn from the fitted rows' coordinates where the nodes lie in the data space; None: they have none."""
        raise NotImplementedError(f"{type(self).__name__} has no keep_points")


def data_points(prototypes, mixing, rows):
    """Combinations ``mixing @ sums`` of the rows as points of the data space; None where rows have no coordinates.

    Rows under any metric on vectors have them, so the relational forms get an inverse map too.
    """
    if isinstance(prototypes, VectorPrototypes):
        return mixing @ prototypes.totals
    if rows is None:
        return None
    totals = prototypes.sums @ rows
    return mixing @ (totals.toarray() if sp.issparse(totals) else totals)


def check_positions(Y):
    """Positions (m, 2) for an inverse map."""
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[1] != 2 or not np.isfinite(Y).all():
        raise InputError(f"Y must hold finite positions of shape (m, 2); got shape {Y.shape}.")
    return Y


def no_inverse():
    """The error of an inverse map that does not exist."""
    return InputError("inverse_transform needs rows with coordinates; this map was fitted on distances alone.")
