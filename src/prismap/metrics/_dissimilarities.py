"""Fifteen dissimilarities between vectors, and a registry that takes others (Rice 2016, Table 1; Pekalska & Duin 2005).

Conventions, so that no measure ever gives NaN or infinity on finite input:

- equal rows are at dissimilarity 0 under every measure (the table's formula gives 1/4 for `correlation` and has a pole
  for `correlation2`);
- a quotient 0/0 inside a sum counts 0: two absent features do not differ;
- a zero vector is orthogonal to every other one (`cosine`: 1/2);
- `divergence`, `bray_curtis`, `soergel` and `ware_hedges` divide by sums or maxima of features and need them to be
  non-negative; other input is refused;
- `correlation2` is the table's formula as printed and falls below zero for rows nearer than sqrt(x.y); it is the only
  measure that is ever negative. `MixtureMetric` counts those as 0.

A measure with statistics (means, covariance, neighbour graph) learns them from the first rows it is given, so that new
rows are measured with the statistics of the fitted ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.spatial.distance import cdist, pdist, squareform

from prismap._util.blocks import require_memory, row_blocks
from prismap._util.graphs import connected_neighbours, geodesics, neighbour_graph, paths_through
from prismap.exceptions import InputError
from prismap.metrics._base import PrecomputedMetric

#: Bytes of one tile of differences: small enough to stay in the cache between the passes over it.
TILE_BYTES = 2 * 2**20


@dataclass(frozen=True)
class Dissimilarity:
    """One measure: `compute(A, B, **learnt)` gives the (n_A, n_B) matrix.

    `learn(X, **options)` turns rows and the user's options into the keyword arguments of `compute`. `metric` says that
    the triangle inequality holds, `euclidean` that the rows can be placed in a Euclidean space with these distances,
    both as in the paper's table. `vectors` is False for measures between other objects, which get lists. A measure with
    `halves` takes B=None for A itself and does half the work then.
    """

    name: str
    compute: Callable[..., Any]
    learn: Callable[..., dict[str, Any]] | None = None
    metric: bool = False
    euclidean: bool = False
    nonnegative: bool = False
    vectors: bool = True
    halves: bool = False

    def __call__(self, A, B=None, **learnt):
        """The matrix of dissimilarities between A and B (A itself if None), checked and with equal rows at 0."""
        for rows in (A,) if B is None else (A, B):
            check_domain(self, rows)
        D = np.array(self.compute(A, A if B is None and not self.halves else B, **learnt), dtype=np.float64)
        shape = (len(A), len(A if B is None else B))
        if D.shape != shape:
            raise InputError(f"dissimilarity {self.name!r} must give a matrix of shape {shape}; got {D.shape}.")
        if not np.isfinite(D).all():
            raise InputError(
                f"dissimilarity {self.name!r} gave {int((~np.isfinite(D)).sum())} values that are not finite."
            )
        if self.vectors:
            D[equal_rows(A, B)] = 0.0
        return D


def dissimilarity(name, X, Y=None, **options):
    """Dissimilarities between the rows of X and those of Y (of X itself if None), by the name of the measure.

    Parameters
    ----------
    name : str
        A key of `DISSIMILARITIES`.
    X : rows, or a list of objects for a measure of objects. Statistics that a measure needs are taken from X.
    Y : more of them, default=None
    **options : ``p`` (minkowski, 1.2), ``weights`` (weighted_euclidean), ``covariance`` and ``shrinkage``
        (mahalanobis), ``n_neighbors`` (geodesic, by default "auto", the smallest number that connects all rows)

    Returns
    -------
    array (n_X, n_Y)

    See Also
    --------
    register_dissimilarity : Add a measure of your own.

    Examples
    --------
    >>> dissimilarity("bray_curtis", [[1.0, 3.0], [2.0, 2.0]]).round(2).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    measure = get_dissimilarity(name)
    if measure.vectors:
        X = check_vectors(X, "X")
        Y = None if Y is None else check_vectors(Y, "Y")
        if Y is not None and Y.shape[1] != X.shape[1]:
            raise InputError(f"X has {X.shape[1]} columns and Y has {Y.shape[1]}: they must be equal in number.")
    return measure(X, Y, **learn_options(measure, X, options))


def learn_options(measure, X, options):
    """What `measure` needs beside the rows to compare: statistics of X and the user's options."""
    known = inspect.signature(measure.learn).parameters if measure.learn else {}
    unknown = sorted(set(options) - set(known))
    if unknown:
        allowed = ", ".join(list(known)[1:]) or "none"
        raise InputError(f"dissimilarity {measure.name!r} has no option {', '.join(unknown)}; options: {allowed}.")
    check_domain(measure, X)
    return measure.learn(X, **options) if measure.learn else {}


def get_dissimilarity(name):
    """The registered measure of that name."""
    if name not in DISSIMILARITIES:
        raise InputError(
            f"dissimilarity {name!r} is not known. Names: {', '.join(DISSIMILARITIES)}; or register yours."
        )
    return DISSIMILARITIES[name]


def register_dissimilarity(
    name, compute, *, learn=None, metric=False, euclidean=False, nonnegative=False, vectors=False
):
    """Add a measure under `name`: ``compute(A, B)`` gives the (n_A, n_B) matrix.

    Parameters
    ----------
    name : str
        The name by which `dissimilarity` and `MixtureMetric` know it.
    compute : callable
        ``compute(A, B)``, of two lists of objects, or of float arrays if `vectors` is True.
    learn : callable, default=None
        ``learn(X, **options)`` may return keyword arguments for `compute`, learnt from the fitted objects.
    metric, euclidean : bool, default=False
        Whether it keeps the triangle inequality, and whether it is Euclidean.
    nonnegative : bool, default=False
        Whether features must not be negative.
    vectors : bool, default=False
        Whether `compute` takes float arrays.

    Examples
    --------
    >>> def lengths(A, B):
    ...     return np.abs(np.subtract.outer([len(a) for a in A], [len(b) for b in B]))
    >>> register_dissimilarity("length", lengths, metric=True)
    >>> dissimilarity("length", ["a", "abc"]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    >>> del DISSIMILARITIES["length"]
    """
    if name in DISSIMILARITIES:
        raise InputError(f"a dissimilarity named {name!r} exists already; choose another name.")
    DISSIMILARITIES[name] = Dissimilarity(name, compute, learn, metric, euclidean, nonnegative, vectors)


# --- shared pieces ----------------------------------------------------------------------------------------------------


def check_vectors(X, name):
    """Rows as a finite two-dimensional float array."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise InputError(f"{name} must be a matrix with one row per object; got shape {X.shape}.")
    if not np.isfinite(X).all():
        raise InputError(f"{name} holds {int((~np.isfinite(X)).sum())} missing or infinite values; drop or fill them.")
    return X


def check_domain(measure, X):
    """Refuse negative values where a measure of shares and counts would be meaningless, and squares that overflow."""
    if measure.vectors and np.abs(X).max() > 1e150:
        raise InputError(f"X holds values up to {np.abs(X).max():.3g}, whose squares overflow; rescale the columns.")
    if measure.nonnegative and X.min() < 0:
        raise InputError(
            f"dissimilarity {measure.name!r} needs non-negative features; got {int((X < 0).sum())} negative values, "
            f"the smallest {X.min():.3g}. Shift the columns (X - X.min(axis=0)) or leave this measure out."
        )


def equal_rows(A, B=None):
    """A boolean (n_A, n_B) matrix: which rows are equal in every feature."""
    stacked = A if B is None else np.vstack([A, B])
    label = np.unique(stacked, axis=0, return_inverse=True)[1].reshape(-1)
    return label[: len(A), None] == (label if B is None else label[len(A) :])


def tiled(A, B, tile, dtype=np.float64):
    """An (n_A, n_B) matrix from `tile(a, b, buffer)` on (r, 1, d) and (1, c, d) views; half the work when B is None."""
    columns = A if B is None else B
    D = np.empty((len(A), len(columns)))
    width = min(len(columns), max(1, TILE_BYTES // (8 * A.shape[1])))
    for cols in row_blocks(len(columns), 8.0 * A.shape[1], budget=8 * A.shape[1] * width):
        for rows in row_blocks(len(A), 8.0 * A.shape[1] * width, budget=TILE_BYTES):
            if B is None and rows.start >= cols.stop:
                break
            a, b = A[rows, None], columns[None, cols]
            D[rows, cols] = tile(a, b, np.empty((a.shape[0], b.shape[1], A.shape[1]), dtype=dtype))
            if B is None:
                D[cols, rows] = D[rows, cols].T
    return D


def scipy_distance(A, B, name, **options):
    """scipy's compiled loop, over the pairs once when B is None."""
    return squareform(pdist(A, name, **options)) if B is None else cdist(A, B, name, **options)


def products(A, B):
    """x.y, |x|^2 as a column and |y|^2 as a row."""
    B = A if B is None else B
    return A @ B.T, np.einsum("id,id->i", A, A)[:, None], np.einsum("id,id->i", B, B)[None]


def quotient(numerator, denominator):
    """Elementwise, with 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)


# --- the measures, in the order of the table --------------------------------------------------------------------------


def euclidean(A, B=None):
    """1. sqrt((x - y)^T (x - y))."""
    return scipy_distance(A, B, "euclidean")


def learn_weights(X, weights=None):
    """w_i = 1 / |mean of feature i|; 1 / mean |x_i| where the mean is nothing beside that; 0 where all values are 0."""
    if weights is not None:
        return {"weights": np.asarray(weights, dtype=np.float64)}
    mean, size = np.abs(X.mean(axis=0)), np.abs(X).mean(axis=0)
    mean = np.where(mean > 1e-6 * size, mean, size)
    return {"weights": quotient(np.ones_like(mean), mean)}


def weighted_euclidean(A, B=None, *, weights):
    """2. sqrt((x - y)^T diag(w_i^2) (x - y)); w is the inverse of the mean of the fitted rows, as in the paper."""
    return euclidean(A * weights, None if B is None else B * weights)


def city_block(A, B=None):
    """3. sum_i |x_i - y_i|."""
    return scipy_distance(A, B, "cityblock")


def max_norm(A, B=None):
    """4. max_i |x_i - y_i|."""
    return scipy_distance(A, B, "chebyshev")


def learn_power(X, p=1.2):
    """The exponent, at least 1 (below that the triangle inequality fails)."""
    if not p >= 1:
        raise InputError(f"p of the Minkowski distance must be at least 1; got {p!r}.")
    return {"p": float(p)}


def minkowski(A, B=None, *, p):
    """5. (sum_i |x_i - y_i|^p)^(1/p), p = 1.2 in the paper; powers in float32 (error near 1e-7, much faster)."""
    scale = largest(A, B)

    def tile(a, b, buffer):
        np.subtract(a, b, out=buffer, casting="same_kind")
        np.abs(buffer, out=buffer)
        np.power(buffer, np.float32(p), out=buffer)
        return buffer.sum(axis=2, dtype=np.float64)

    return scale * tiled(A / scale, None if B is None else B / scale, tile, np.float32) ** (1 / p)


def largest(A, B):
    """The largest absolute value, to keep float32 away from its limits; 1 if all are 0."""
    return max(float(np.abs(A).max()), 0.0 if B is None else float(np.abs(B).max())) or 1.0


def learn_whitening(X, covariance=None, shrinkage=1e-3):
    """The Cholesky factor L of C = (1 - s) C_0 + s (tr C_0 / d) I, C_0 the sample covariance.

    The shrinkage s keeps C regular with constant columns and with fewer rows than columns. Rows that are all equal have
    no covariance; C is then I.
    """
    if not 0 <= shrinkage <= 1:
        raise InputError(f"shrinkage of the Mahalanobis distance must lie between 0 and 1; got {shrinkage!r}.")
    d = X.shape[1]
    require_memory(24.0 * d * d, f"The covariance of {d} features", "Reduce them first, for instance with PCA.")
    C = np.atleast_2d(np.cov(X, rowvar=False, bias=len(X) < 2)) if covariance is None else np.asarray(covariance)
    if not np.trace(C) > 0:
        return {"factor": np.eye(d)}
    C = (1 - shrinkage) * C + shrinkage * np.trace(C) / d * np.eye(d)
    try:
        return {"factor": cholesky(C, lower=True)}
    except LinAlgError as error:
        constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
        why = f"columns {constant[:8].tolist()} are constant" if len(constant) else "features depend on each other"
        raise InputError(
            f"The covariance of the Mahalanobis distance is singular: {why}. Use shrinkage > 0."
        ) from error


def mahalanobis(A, B=None, *, factor):
    """6. sqrt((x - y)^T C^-1 (x - y)), C = L L^T the regularised covariance of the fitted rows."""
    white_a = solve_triangular(factor, A.T, lower=True).T
    return euclidean(white_a, None if B is None else solve_triangular(factor, B.T, lower=True).T)


def median(A, B=None):
    """7. median_i |x_i - y_i|, in float32 (error near 1e-7)."""
    scale, half, odd = largest(A, B), A.shape[1] // 2, A.shape[1] % 2

    def tile(a, b, buffer):
        np.subtract(a, b, out=buffer, casting="same_kind")
        np.abs(buffer, out=buffer)
        buffer.partition(half, axis=2)
        upper = buffer[:, :, half].astype(np.float64)
        return upper if odd else (upper + buffer[:, :, :half].max(axis=2)) / 2

    return scale * tiled(A / scale, None if B is None else B / scale, tile, np.float32)


def correlation(A, B=None):
    """8. (1 - x.y / (|x|^2 + |y|^2)) / 2: from 1/4 to 3/4 between rows that differ."""
    xy, xx, yy = products(A, B)
    return (1 - quotient(xy, xx + yy)) / 2


def correlation2(A, B=None):
    """9. (1 - x.y / |x - y|^2) / 2: the table's denominator |x|^2 + |y|^2 - 2 x.y is |x - y|^2. Unbounded below."""
    return (1 - quotient(products(A, B)[0], euclidean(A, B) ** 2)) / 2


def cosine(A, B=None):
    """10. (1 - x.y / (|x| |y|)) / 2."""
    xy, xx, yy = products(A, B)
    return (1 - np.clip(quotient(xy, np.sqrt(xx) * np.sqrt(yy)), -1, 1)) / 2


def divergence(A, B=None):
    """11. sqrt(sum_i (x_i - y_i)^2 / (x_i + y_i)^2)."""

    def tile(a, b, buffer):
        total = np.maximum(np.add(a, b, out=buffer), np.finfo(np.float64).tiny, out=buffer)
        share = np.divide(a - b, total, out=buffer)
        return np.sqrt(np.einsum("ijk,ijk->ij", share, share))

    return tiled(A, B, tile)


def bray_curtis(A, B=None):
    """12. sum_i |x_i - y_i| / sum_i (x_i + y_i)."""
    return quotient(city_block(A, B), row_sums(A, B))


def soergel(A, B=None):
    """13. sum_i |x_i - y_i| / sum_i max(x_i, y_i), where max(x, y) = (x + y + |x - y|) / 2."""
    D = city_block(A, B)
    return quotient(2 * D, row_sums(A, B) + D)


def row_sums(A, B):
    """sum_i (x_i + y_i) for every pair."""
    return A.sum(axis=1)[:, None] + (A if B is None else B).sum(axis=1)


def ware_hedges(A, B=None):
    """14. sum_i (1 - min(x_i, y_i) / max(x_i, y_i)), where 1 - min / max = |x_i - y_i| / max."""

    def tile(a, b, buffer):
        top = np.maximum(np.maximum(a, b, out=buffer), np.finfo(np.float64).tiny, out=buffer)
        gap = a - b
        return np.divide(np.abs(gap, out=gap), top, out=buffer).sum(axis=2)

    return tiled(A, B, tile)


def learn_geodesics(X, n_neighbors="auto"):
    """Shortest paths in the graph of `n_neighbors` nearest rows; "auto" takes the smallest number that connects it."""
    if len(X) == 1:
        return {"landmarks": X, "geodesics": np.zeros((1, 1)), "n_neighbors": 1}
    distances, indices = connected_neighbours(PrecomputedMetric.of(euclidean(X)), len(X), n_neighbors)
    G = geodesics(neighbour_graph(distances, indices))
    # The two ways round differ in the last digit.
    return {"landmarks": X, "geodesics": np.minimum(G, G.T), "n_neighbors": indices.shape[1]}


def geodesic(A, B=None, *, landmarks, geodesics, n_neighbors):
    """15. Length of the shortest path over the neighbour graph of the fitted rows (Dijkstra, as in Isomap).

    A new row enters the graph through its `n_neighbors` nearest fitted rows.
    """
    if A is landmarks and (B is None or B is landmarks):
        return geodesics.copy()
    paths = paths_through(euclidean(A, landmarks), n_neighbors, geodesics)
    if B is landmarks:
        return paths
    return paths_through(euclidean(A if B is None else B, landmarks), n_neighbors, paths.T).T


#: Formula, what it learns from the fitted rows, the table's columns "metric" and "Euclidean", and "non-negative".
_TABLE = (
    (euclidean, None, True, True, False),
    (weighted_euclidean, learn_weights, True, True, False),
    (city_block, None, True, False, False),
    (max_norm, None, True, False, False),
    (minkowski, learn_power, True, False, False),
    (mahalanobis, learn_whitening, True, True, False),
    (median, None, False, False, False),
    (correlation, None, False, False, False),
    (correlation2, None, False, False, False),
    (cosine, None, False, False, False),
    (divergence, None, False, False, True),
    (bray_curtis, None, False, False, True),
    (soergel, None, False, False, True),
    (ware_hedges, None, False, False, True),
    (geodesic, learn_geodesics, False, False, False),
)

#: The measures by name, in the order of the paper's table; `register_dissimilarity` adds to it.
DISSIMILARITIES: dict[str, Dissimilarity] = {
    formula.__name__: Dissimilarity(
        formula.__name__, formula, learn, metric=metric, euclidean=flat, nonnegative=nonnegative, halves=True
    )
    for formula, learn, metric, flat, nonnegative in _TABLE
}
