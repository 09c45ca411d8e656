"""Do the features go with the target at all? A test of the columns themselves, for effects that no map shows.

For columns of ranks r_j (centred, variance 1) and a target T (an indicator of each class over the root of its share, or
the rank of a number, centred), ``H_j = |r_j' T|^2 / n`` is the statistic of Kruskal and Wallis (1952), of a number that
of Spearman's correlation. The largest H_j finds an effect in one column, their sum one that is spread over many. Both
are held against permutations of the target between independent units, so that the chance is exact however the columns
are distributed; permutations end as soon as `ENOUGH` of them are as good (Besag & Clifford 1991). Of the two chances
the smaller one counts, twice.

A column must go with the target by itself or with others in sum: of two columns that tell it only together this test
knows nothing, and the posterior has to (`knows_target` in the curve of the supervision).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from prismap._util.arrays import Numbers
from prismap.target import Target

#: Permutations at most, and how many as good as the target itself are enough to stop.
N_PERMUTATIONS, ENOUGH = 4000, 10
#: Rows that are looked at, and products of a permutation: of more columns the ones of the largest variance.
MOST_ROWS, MOST_PRODUCTS = 1000, 2_000_000
#: Permutations that are computed together.
BATCH = 50


def chance_of_relation(X: Any, target: Target, rng: np.random.Generator) -> float | None:
    """How likely columns X (n, columns) go so well with one column of a target by chance; None if that is not known.

    Examples
    --------
    >>> from prismap.target import make_target
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    >>> chance_of_relation(X, make_target(y, 200), rng) > 0.01
    True
    >>> X[:, 3] += 0.7 * y
    >>> chance_of_relation(X, make_target(y, 200), rng) < 0.001
    True
    """
    if target.in_order:  # in time, columns and targets go together by their trends
        return None
    rows = target.draw(MOST_ROWS, rng, whole_units=True)
    target = target.take(rows)
    T = centred_target(target)
    R = centred_ranks(X[rows], MOST_PRODUCTS // T.size)
    if not R.shape[1] or not T.any():
        return None

    def statistics(permuted: Numbers) -> Numbers:
        """(largest, sum) of H for each of some targets (permutations, n, columns)."""
        H = np.square(np.tensordot(permuted, R, axes=(1, 0))).sum(axis=1)
        return np.stack([H.max(axis=1), H.sum(axis=1)], axis=1)

    own = statistics(T[None])[0] * (1 - 1e-9)  # rounding makes no difference
    as_good, done = np.zeros(2), 0
    while done < N_PERMUTATIONS and as_good.min() < ENOUGH:
        orders = np.stack([target.permuted_rows(rng) for _ in range(BATCH)])
        as_good += (statistics(T[orders]) >= own).sum(axis=0)
        done += BATCH
    return float(min(1.0, 2 * (as_good.min() + 1) / (done + 1)))


def centred_target(target: Target) -> Numbers:
    """T of the labelled rows of one column."""
    if target.codes is None:
        T = rankdata(target.values.reshape(len(target), -1)[:, 0])[:, None]
        return np.asarray((T - T.mean()) / (T.std() or 1.0))
    T = np.eye(int(target.codes.max()) + 1)[target.codes]
    T = T[:, T.any(axis=0)]
    share = T.mean(axis=0)
    return np.asarray((T - share) / np.sqrt(share))


def centred_ranks(X: Any, most: int) -> Numbers:
    """r of the columns that vary, of at most so many."""
    X = np.asarray(X, dtype=np.float64)
    X = X[:, X.min(axis=0) < X.max(axis=0)]
    if X.shape[1] > max(most, 1):
        X = X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[: max(most, 1)])]
    R = rankdata(X, axis=0) if X.size else np.zeros_like(X)
    R -= R.mean(axis=0)
    return np.asarray(R / R.std(axis=0))
