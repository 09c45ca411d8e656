"""Maximum variance unfolding: pull the rows apart as far as the distances to their neighbours allow.

Weinberger & Saul, IJCV 70 (2006); low-rank factors: Kulis, Surendran & Platt, AISTATS 2007. Schulz (2017), sec.
3.2, and Gisbrecht et al. (2015), sec. 2.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from prismap._util.blocks import require_memory
from prismap._util.graphs import bridged_edges, connected_neighbours, edge_graph, geodesics, neighbour_edges
from prismap._util.optimise import minimize
from prismap._util.params import Interval, StrOptions
from prismap._util.search import smallest
from prismap._util.spectra import (
    check_n_components,
    classical_scaling,
    fix_signs,
    gram_around_centre,
    reconstruction_weights,
    triangulate,
)
from prismap.embeddings._base import Embedding, EmbeddingResult
from prismap.embeddings._isomap import choose_landmarks
from prismap.metrics._base import PrecomputedMetric

#: Neighbours whose distances are kept, unless a number is given.
NEIGHBORS = 5
#: Dimensions of the factors: the optimum of the full problem nearly always has fewer.
RANK = 10
#: Rows from which paths are measured for the starting positions.
START_LANDMARKS = 300
#: Distances that cannot all be kept, which is usual unless they are Euclidean, are worth a warning from here on.
TOLERABLE = 0.05
#: Steps of L-BFGS before the multipliers are updated.
INNER_STEPS = 300


class Unfolding(NamedTuple):
    """Centred factors R with K = R R^T, the edges' multipliers, the error of the distances, steps and why they ended.

    The multipliers l solve the dual program: at the optimum ``sum_e l_e d_e^2`` is the trace of K, and no other K has a
    larger one if the graph Laplacian with weights l has no eigenvalue below 1 but that of the constant vector.
    """

    factors: np.ndarray
    multipliers: np.ndarray
    error: float
    n_iter: int
    stop_reason: str


def augmented_cost(R, edges, weights, penalty):
    """Augmented Lagrangian of MVU at the factors R, and its gradient.

    ``-sum_i |r_i - mean r|^2 + sum_e (l_e c_e + penalty c_e^2 / 2)`` with c_e = |r_i - r_j|^2 - d_e^2 over the edges, l
    the multipliers in `weights`. `edges` holds the signed incidence matrix, its transpose and the d_e^2.
    """
    B, B_transposed, D2 = edges
    centred = R - R.mean(axis=0)
    differences = B @ R
    gap = np.einsum("ij,ij->i", differences, differences) - D2
    pull = (weights + penalty * gap)[:, None] * differences
    cost = -float(np.vdot(centred, centred)) + float(weights @ gap) + 0.5 * penalty * float(gap @ gap)
    return cost, 2.0 * (B_transposed @ pull) - 2.0 * centred


def unfold(edges, R, *, max_iter=20_000, tol=1e-3, callback=None):
    """Maximise ``sum |r_i - mean r|^2`` with |r_i - r_j| kept for all edges ``(i, j, length)``, starting from R.

    L-BFGS on the augmented Lagrangian; after each minimisation the multipliers move by penalty times the gap, and the
    penalty triples while the gap shrinks by less than half. The problem is free of scale: lengths are divided by their
    quadratic mean, and multipliers start where those of the starting positions would be on average.
    """
    i, j, length = edges
    scale = float(np.mean(length**2))
    if scale == 0.0:
        return Unfolding(np.zeros_like(R), np.zeros(len(i)), 0.0, 1, "converged")
    D2 = length**2 / scale
    B = incidence(i, j, len(R))
    graph = (B, B.T.tocsr(), D2)
    R = R / np.sqrt(scale)
    weights = np.full(len(D2), max(float(np.sum((R - R.mean(axis=0)) ** 2)), 1.0) / D2.sum())
    penalty, size = weights[0], np.linalg.norm(D2)
    best, stalled, done, reason = np.inf, 0, 0, "max_iter"
    while done < max_iter:
        R, steps = minimise_factors(R, graph, weights, penalty, min(INNER_STEPS, max_iter - done))
        done += steps
        gap = np.sum((B @ R) ** 2, axis=1) - D2
        weights = weights + penalty * gap
        error = float(np.linalg.norm(gap) / size)
        if callback is not None and callback(done, error, R * np.sqrt(scale)):
            reason = "callback"
            break
        if error <= tol:
            reason = "converged"
            break
        stalled = stalled + 1 if error > 0.98 * best else 0
        if stalled == 5:
            reason = "stalled"
            break
        if error > 0.5 * best:
            penalty *= 3.0
        best = min(best, error)
    return Unfolding((R - R.mean(axis=0)) * np.sqrt(scale), weights, error, done, reason)


def minimise_factors(R, graph, weights, penalty, max_iter):
    """One minimisation of the augmented Lagrangian: new factors and the number of steps."""
    minimum = minimize(
        lambda R: augmented_cost(R, graph, weights, penalty), R, max_iter=max_iter, n_evaluations=2 * max_iter,
        tol=1e-10, gradient_tol=1e-5 * abs(weights).mean(),
    )  # fmt: skip
    return minimum.x, max(minimum.n_iter, 1)


def incidence(i, j, n_rows):
    """Sparse matrix with a row for each edge: +1 at i, -1 at j."""
    columns = np.stack([i, j], axis=1).ravel()
    signs = np.tile([1.0, -1.0], len(i))
    return sp.csr_array((signs, columns, np.arange(0, 2 * len(i) + 1, 2)), shape=(len(i), n_rows))


def start_factors(graph, rank, rng):
    """Isomap's positions in `rank` dimensions, with a little noise so that no dimension stays empty."""
    n_rows = graph.shape[0]
    landmarks = choose_landmarks(START_LANDMARKS, n_rows, rng)
    D2 = geodesics(graph, landmarks) ** 2
    if landmarks is None:
        R = classical_scaling(D2, rank, rng)[0]
    else:
        R = triangulate(D2, D2[:, landmarks], classical_scaling(D2[:, landmarks].copy(), rank, rng)[0])
    return R + 0.01 * np.sqrt(np.mean(graph.data**2)) * rng.normal(size=R.shape)


class MVU(Embedding):
    """Maximum variance unfolding on any metric.

    Finds the centred Gram matrix K of largest trace that keeps the distances between neighbours, ``K_ii + K_jj - 2 K_ij
    = d_ij^2``. Its leading eigenvectors are the positions. Writing K = R R^T with few columns turns the semi-definite
    program into an ordinary one, which an augmented Lagrangian solves. With ``metric=FisherMetric()`` this is Fisher
    MVU. Distances that no Euclidean space can keep are kept as well as possible, in which case `stop_reason_` is
    "stalled" and `error_` says how well.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    n_neighbors : int or "auto", default="auto"
        Neighbours per sample. "auto" is 5, and adds the shortest edges that connect separate parts. A given number must
        connect all samples.
    n_landmarks : int, default=None
        Number of random samples to unfold. Every other sample is placed by its weights over nearby landmarks. None
        unfolds all samples.
    rank : int, default=None
        Columns of R. None is 10. If the last entry of `explained_` is not small, a larger rank gives more variance.
    max_iter : int, default=20000
        Largest number of steps.
    tol : float, default=1e-3
        Relative error (root mean square, of squared distances) at which the distances count as kept.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called after each update of the multipliers. Return True to stop.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    objective_ : float
        The trace of K (of the landmarks, if there are any).
    error_ : float
        Relative error of the kept distances.
    explained_ : array
        Shares of the trace along the principal axes of R, largest first.
    landmarks_, n_iter_, metric_ : array or None, int and metric object
        As in the other embeddings.
    stop_reason_ : {"converged", "stalled", "max_iter", "callback"}
        Why the run ended.

    See Also
    --------
    Isomap : Faster, and similar on one smooth sheet.
    LLE : Local linear reconstruction.

    Notes
    -----
    Time is O(n k rank) per step for some thousands of steps, and memory O(n (k + 20 rank)), so 3,000 samples are
    practical. With L landmarks, memory is 16 L n bytes, and 100,000 samples are. `prismap.mappings` projects new
    samples.

    References
    ----------
    K. Weinberger, L. Saul (2006), Unsupervised learning of image manifolds by semidefinite programming. B. Kulis,
    A. Surendran, J. Platt (2007), Fast low-rank semidefinite programming for embedding and clustering. Schulz (2017),
    sec. 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MVU(random_state=0).fit_transform(X[::5]).shape
    (30, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, object],
        "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_components=2,
        *,
        metric="euclidean",
        n_neighbors="auto",
        n_landmarks=None,
        rank=None,
        max_iter=20_000,
        tol=1e-3,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.rank = rank
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def _embed(self, metric, n_rows, rng):
        landmarks = choose_landmarks(self.n_landmarks, n_rows, rng)
        check_n_components(self.n_components, n_rows if landmarks is None else len(landmarks), "MVU")
        edges, weights = self._edges(metric, n_rows), None
        if landmarks is not None:
            D = distances_to_landmarks(edges, n_rows, landmarks)
            weights = landmark_weights(D, landmarks, self._n_neighbors() + 1)
            edges = bridged_edges(PrecomputedMetric.of(D[:, landmarks]), len(landmarks), self._n_neighbors())

        def positions(factors):
            Y = principal_positions(factors, self.n_components)[0]
            return Y if weights is None else weights @ Y

        run = self._unfold(edges, n_rows if landmarks is None else len(landmarks), rng, positions)
        if run.stop_reason == "max_iter" or (run.stop_reason == "stalled" and run.error > TOLERABLE):
            warnings.warn(
                f"MVU kept the squared distances of neighbours to a relative error of {run.error:.2g} only "
                f"(tol={self.tol:g}, stopped: {run.stop_reason}). More max_iter may help; where the metric is not "
                "Euclidean they cannot all be kept.",
                ConvergenceWarning,
                stacklevel=3,
            )
        variances = principal_positions(run.factors, self.n_components)[1]
        total = float(variances.sum())
        extra = {"error_": run.error, "explained_": variances / (total or 1.0), "landmarks_": landmarks}
        return EmbeddingResult(positions(run.factors), total, run.n_iter, run.stop_reason, extra)

    def _n_neighbors(self):
        return NEIGHBORS if self.n_neighbors == "auto" else self.n_neighbors

    def _edges(self, metric, n_rows):
        """Pairs whose distance is kept, in a graph of one piece."""
        if self.n_neighbors == "auto":
            return bridged_edges(metric, n_rows, NEIGHBORS)
        return neighbour_edges(*connected_neighbours(metric, n_rows, self.n_neighbors))

    def _unfold(self, edges, n_rows, rng, positions):
        rank = min(max(self.rank or RANK, self.n_components), n_rows - 1)
        R = start_factors(edge_graph(edges, n_rows), rank, rng)
        callback = None
        if self.callback is not None:

            def callback(iteration, error, factors):
                return self.callback(iteration, error, positions(factors))

        return unfold(edges, R, max_iter=self.max_iter, tol=self.tol, callback=callback)


def principal_positions(factors, n_components):
    """The factors along their leading principal axes, and their sums of squares along all of them."""
    left, sizes, _ = np.linalg.svd(factors - factors.mean(axis=0), full_matrices=False)
    return fix_signs(left[:, :n_components]) * sizes[:n_components], sizes**2


def distances_to_landmarks(edges, n_rows, landmarks):
    """Lengths of the shortest paths over the neighbour graph, shape (n_landmarks, n)."""
    require_memory(16.0 * len(landmarks) * n_rows, f"Paths from {len(landmarks)} landmarks", "Lower n_landmarks.")
    D = geodesics(edge_graph(edges, n_rows), landmarks)
    D[:, landmarks] = 0.5 * (D[:, landmarks] + D[:, landmarks].T)
    return D


def landmark_weights(D, landmarks, k):
    """Sparse (n, n_landmarks) weights, adding up to one, of the k landmarks nearest to each row.

    D, shape (n_landmarks, n), holds distances; the weights rebuild a row as in LLE. A landmark has itself only.
    """
    n_landmarks, n_rows = D.shape
    near, columns = smallest(D.T, min(k, n_landmarks))
    among = D[:, landmarks][columns[:, :, None], columns[:, None, :]] ** 2
    W, _ = reconstruction_weights(gram_around_centre(near**2, among), 1e-3)
    rows = np.repeat(np.arange(n_rows), columns.shape[1])
    weights = sp.csr_array((W.ravel(), (rows, columns.ravel())), shape=(n_rows, n_landmarks)).tolil()
    weights[landmarks] = sp.eye_array(n_landmarks, format="lil")
    return weights.tocsr()
