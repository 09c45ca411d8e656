"""Relevance without a model: conditional entropy as a criterion, and the recursive independence test.

See Schulz (2017, sec. 4.3.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import digamma, gammaln
from scipy.stats import chi2, rankdata
from scipy.stats import t as student
from sklearn.neighbors import KDTree, NearestNeighbors

from prismap._util.arrays import Numbers, Rows
from prismap.exceptions import InputError
from prismap.target import decide_target
from prismap.target._labels import check_target_length

#: Distances count as this share of the root mean square spread of the rows at least: equal rows have no density.
SMALLEST_DISTANCE = 1e-6


def differential_entropy(X: Numbers, n_neighbors: int = 3) -> float:
    """Entropy in nats by the estimator of Kozachenko & Leonenko (1987).

    ``H = psi(n) - psi(k) + log V_d + d mean_i log e_i``, e_i the Euclidean distance of row i to its k-th neighbour, V_d
    the volume of the unit ball in the d dimensions of X.
    """
    n, d = X.shape
    k = min(n_neighbors, n - 1)
    distances = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0][:, -1]
    spread = float(np.sqrt(X.var(axis=0).sum())) or 1.0
    log_volume = 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1)
    smallest = SMALLEST_DISTANCE * spread
    return float(digamma(n) - digamma(k) + log_volume + d * np.log(np.maximum(distances, smallest)).mean())


def conditional_entropy(X: Numbers, y: Any, n_neighbors: int = 3) -> float:
    """H(y | X) in nats: what is left to know of the target by one who knows the columns of X.

    ``H(y) - I(X; y)``. The entropy of a real target is `differential_entropy`, that of classes ``-sum_c p_c log p_c``.
    The mutual information comes from estimators in which the errors of Kozachenko & Leonenko's, made in spaces of
    different dimensions, cancel, and which bear columns that repeat each other: `real_information` and
    `class_information`. Columns, and real targets, are brought to unit variance. As a criterion of `RelevanceBounds`
    the differences are conditional mutual information.

    Parameters
    ----------
    X : (n, d) rows
    y : classes or numbers
    n_neighbors : int, default=3
        Neighbours of the estimators.

    Returns
    -------
    float

    Examples
    --------
    >>> x = np.linspace(-1, 1, 200)
    >>> bool(conditional_entropy(x[:, None], x > 0) < conditional_entropy(np.zeros((200, 1)), x > 0))
    True
    """
    X = np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    X = (X[:, spread > 0] - X[:, spread > 0].mean(axis=0)) / spread[spread > 0]
    y = np.asarray(y)
    if is_real(y):
        y = y.reshape(len(X), -1).astype(np.float64)
        y = (y - y.mean(axis=0)) / np.where(y.std(axis=0) > 0, y.std(axis=0), 1.0)
        return differential_entropy(y, n_neighbors) - (real_information(X, y, n_neighbors) if X.shape[1] else 0.0)
    codes, counts = np.unique(y, return_inverse=True, return_counts=True)[1:]
    if counts.max() <= n_neighbors:
        raise InputError(f"y has no class of more than {n_neighbors} rows; the entropy needs that many neighbours.")
    own = float(-(counts / len(y) * np.log(counts / len(y))).sum())
    return own - (min(class_information(X, codes, n_neighbors), own) if X.shape[1] else 0.0)


def real_information(X: Numbers, Y: Numbers, n_neighbors: int = 3) -> Any:
    """I(X; Y) of two sets of columns in nats (Kraskov, Stögbauer & Grassberger 2004, eq. 8), not below 0.

    ``psi(k) + psi(n) - mean_i (psi(n_x) + psi(n_y))``, n_x (n_y) the number of rows, itself included, nearer to row i
    in X (in Y) than its k-th neighbour in both, by the largest difference of a column.
    """
    k = min(n_neighbors, len(X) - 1)
    reach = NearestNeighbors(n_neighbors=k, metric="chebyshev").fit(np.hstack([X, Y])).kneighbors()[0][:, -1]
    reach = np.nextafter(reach, 0)
    inside = [
        KDTree(Z, metric="chebyshev").query_radius(Z, reach, count_only=True, return_distance=False) for Z in (X, Y)
    ]
    information = digamma(k) + digamma(len(X)) - sum(digamma(np.maximum(count, 1)).mean() for count in inside)
    return max(float(information), 0.0)


def class_information(X: Numbers, codes: Rows, n_neighbors: int = 3) -> Any:
    """I(X; class) in nats (Ross 2014, eq. 2), not below 0.

    ``psi(n) + psi(k) - mean_i (psi(n_c) + psi(m_i))``, n_c the size of the class of row i, m_i the number of rows
    within the distance of its k-th neighbour in it. Classes of one row are left out, small ones have a smaller k.
    """
    reach, ks, sizes = np.zeros(len(X)), np.zeros(len(X)), np.zeros(len(X))
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        if len(rows) < 2:
            continue
        k = min(n_neighbors, len(rows) - 1)
        reach[rows] = NearestNeighbors(n_neighbors=k).fit(X[rows]).kneighbors()[0][:, -1]
        ks[rows], sizes[rows] = k, len(rows)
    kept = sizes > 0
    X, reach, ks, sizes = X[kept], np.nextafter(reach[kept], np.inf), ks[kept], sizes[kept]
    within = KDTree(X).query_radius(X, reach, count_only=True, return_distance=False) - 1
    information = digamma(len(X)) + np.mean(digamma(ks) - digamma(sizes) - digamma(np.maximum(within, 1)))
    return max(float(information), 0.0)


def is_real(y: Any) -> bool:
    """Whether a target holds real numbers and no classes, by the rule of the maps."""
    return y.ndim == 2 or decide_target(y).kind == "real"


def recursive_independence_test(X: Numbers, y: Any, *, alpha: float = 0.05) -> Rows:
    """Which features are related to the target, directly or through others (Nilsson et al. 2007, RIT).

    First come the features that depend on the target, then, round by round, all that depend on a feature of the round
    before. Each is tested by ranks: Spearman's correlation between numbers, Kruskal and Wallis's test of a feature
    against classes. p-values are compared with `alpha` divided by the number of features tested (Bonferroni), so a
    round finds a false one with a chance of at most `alpha` per feature it starts from.

    Parameters
    ----------
    X : array (n_samples, n_features)
    y : array (n_samples,), classes or real numbers
    alpha : float, default=0.05

    Returns
    -------
    rounds : array (n_features,)
        1 for features that depend on the target, 2 for those that depend on one of these, and so on; 0 for the others,
        which are relevant neither alone nor with others, as far as tests of pairs show.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> X = np.column_stack([x[:, 0], x[:, 0] + x[:, 1], x[:, 1], x[:, 2]])
    >>> recursive_independence_test(X, x[:, 0]).tolist()
    [1, 1, 2, 0]
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise InputError("X must be a table of finite numbers, shape (n_samples, n_features).")
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1; got {alpha}.")
    y = check_target_length(y, len(X))
    ranks = rankdata(X, axis=0)
    limit = alpha / X.shape[1]
    target = rank_dependence(ranks, rankdata(y)[:, None])[:, 0] if is_real(y) else class_dependence(ranks, y)
    rounds: Rows = (target < limit).astype(np.intp)
    pairs = rank_dependence(ranks, ranks)
    newest = np.flatnonzero(rounds)
    while len(newest):
        touched = (pairs[:, newest] < limit).any(axis=1) & (rounds == 0)
        rounds[touched] = rounds.max() + 1
        newest = np.flatnonzero(touched)
    return rounds


def rank_dependence(A: Numbers, B: Numbers) -> Numbers:
    """p-values of Spearman's correlation between the columns of ranks A and B, by Student's t; 1 for constants."""
    A, B = (R - R.mean(axis=0) for R in (A, B))
    sizes = np.sqrt(np.square(A).sum(axis=0))[:, None] * np.sqrt(np.square(B).sum(axis=0))
    r = np.divide(A.T @ B, sizes, out=np.zeros_like(sizes), where=sizes > 0).clip(-1, 1)
    degrees = max(len(A) - 2, 1)
    with np.errstate(divide="ignore"):
        return np.asarray(2 * student.sf(np.abs(r) * np.sqrt(degrees / (1 - r**2)), degrees))


def class_dependence(ranks: Numbers, y: Any) -> Numbers:
    """p-values of the test of Kruskal & Wallis, corrected for ties, of each column of ranks against classes."""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    centred = ranks - ranks.mean(axis=0)
    sums = np.zeros((len(counts), ranks.shape[1]))
    np.add.at(sums, codes, centred)
    total = np.square(centred).sum(axis=0)
    between = (np.square(sums) / counts[:, None]).sum(axis=0)
    statistic = (len(ranks) - 1) * np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(chi2.sf(statistic, max(len(counts) - 1, 1)))
