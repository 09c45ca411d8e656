"""Are neighbours in the data neighbours in the map? Q_NX, R_NX and the numbers that sum them up.

With rho_ij the rank of row j among the neighbours of row i in the data and r_ij the same in the map,

    Q_NX(k) = 1/(n k) |{(i, j) : max(rho_ij, r_ij) <= k}|                   (Lee & Verleysen 2009; Schulz 2017, eq. 2.2)
    R_NX(k) = ((n - 1) Q_NX(k) - k) / (n - 1 - k)                             (Schulz 2017, eq. 2.3)
    area    = sum_k R_NX(k)/k / sum_k 1/k,  k = 1 .. n-2                      (Lee et al. 2013, 2015)
    Q_local = mean of Q_NX(k), k <= k_max = argmax Q_NX(k) - k/(n - 1)        (Lee & Verleysen 2010)

so the whole curve is the cumulated histogram of max(rho, r): each row's ranks are made, counted and forgotten, and the
co-ranking matrix is never built. Time O(m n log n) for m judged rows, memory O(n) beyond the block in hand.

Ties: equal distances (to 11 digits) are ranked by one fixed, shuffled order of the rows, the same in the data and in
the map. Hence the measures do not change when X and Y are swapped, duplicates kept as duplicates count as kept, and a
map that puts everything in one place scores as chance does, however the rows are sorted.

Trustworthiness asks the opposite: are the neighbours that the map shows neighbours in the data (Venna and Kaski 2001)?

    T(k) = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in U_k(i)} (rho_ij - k)

U_k(i) holds the rows among the k nearest of row i in the map that are not among its k nearest in the data.

Large n: the neighbourhoods of a sample of rows are judged, against all rows. That estimates Q_NX(k) itself, at every k.
(A map of a sample, Q_m(k) ~ Q_M(k M/m) as in Gisbrecht, Schulz & Hammer 2015, sec. 5, knows nothing below k = m/M.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap._util.blocks import row_blocks
from prismap._util.random import as_generator
from prismap._util.threads import on_one_thread
from prismap.exceptions import InputError
from prismap.quality._distances import DistanceRows, distance_rows, shuffled
from prismap.quality._estimates import Estimate, RankCurve

#: Pairs of rows that are ranked before sampling sets in: up to 10,000 rows are judged in full.
MOST_PAIRS = 10**8
#: Rows judged at least when there are more pairs than that.
FEWEST_ROWS = 500
#: Blocks of this size stay near the processor; larger ones are slower.
BLOCK_BYTES = 16 * 2**20
#: Two blocks of distances and what it takes to make and rank them.
BYTES_PER_PAIR = 40.0
#: The standard error comes from so many groups of rows.
N_GROUPS = 10
#: That of Q_local comes from groups drawn so many times.
N_REDRAWN = 50


def q_nx(
    X: Any, Y: Any, *, n_neighbors: Any = None, metric: Any = "euclidean", n_samples: int | None = None,
    random_state: Any = None,
) -> Any:  # fmt: skip
    """Q_NX(k): the share of the k nearest neighbours in X that are among the k nearest in Y, on average over rows.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows; Euclidean
    n_neighbors : None for all k = 1 .. n-1, one k, or several
    metric : name, ``"precomputed"`` or a fitted metric object
    n_samples : rows whose neighbourhoods are judged. None: all of them up to 10,000 rows, then as many as keep the work
        near 10^8 pairs, at least 500
    random_state : for the sample

    Returns
    -------
    RankCurve, or an Estimate (a float with a spread) when `n_neighbors` is one number.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> float(q_nx(X, X[:, ::-1], n_neighbors=10))
    1.0
    """
    return _at(X, Y, "q_nx", n_neighbors, metric, n_samples, random_state)


def r_nx(
    X: Any, Y: Any, *, n_neighbors: Any = None, metric: Any = "euclidean", n_samples: int | None = None,
    random_state: Any = None,
) -> Any:  # fmt: skip
    """R_NX(k): Q_NX(k) rescaled so that a random map has 0 and a perfect one 1, for k = 1 .. n-2.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows; Euclidean
    n_neighbors : None for all k, one k, or several
    metric : name, ``"precomputed"`` or a fitted metric object
    n_samples : rows whose neighbourhoods are judged, as for `q_nx`
    random_state : for the sample

    Returns
    -------
    RankCurve, or an Estimate (a float with a spread) when `n_neighbors` is one number.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> float(r_nx(X, X[:, ::-1], n_neighbors=10))
    1.0
    """
    return _at(X, Y, "r_nx", n_neighbors, metric, n_samples, random_state)


def auc_log_k(
    X: Any, Y: Any, *, metric: Any = "euclidean", n_samples: int | None = None, random_state: Any = None
) -> Estimate:
    """The area under R_NX with k on a logarithmic scale: one number, in which near neighbours weigh most.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows; Euclidean
    metric : name, ``"precomputed"`` or a fitted metric object
    n_samples : rows whose neighbourhoods are judged, as for `q_nx`
    random_state : for the sample

    Returns
    -------
    Estimate : 0 for a random map, 1 for a perfect one, with its standard error as ``spread``.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> round(float(auc_log_k(X, X)), 6)
    1.0
    """
    curve: RankCurve = r_nx(X, Y, metric=metric, n_samples=n_samples, random_state=random_state)
    return curve.auc_log_k


def q_local(
    X: Any, Y: Any, *, metric: Any = "euclidean", n_samples: int | None = None, random_state: Any = None
) -> Estimate:
    """The mean of Q_NX(k) up to the k where it exceeds chance most (the largest LCMC).

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows; Euclidean
    metric : name, ``"precomputed"`` or a fitted metric object
    n_samples : rows whose neighbourhoods are judged, as for `q_nx`
    random_state : for the sample

    Returns
    -------
    Estimate : a share from 0 to 1, with its standard error as ``spread``.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> float(q_local(X, X))
    1.0
    """
    curve: RankCurve = q_nx(X, Y, metric=metric, n_samples=n_samples, random_state=random_state)
    return curve.q_local


def local_quality(X: Any, Y: Any, *, n_neighbors: int = 10, metric: Any = "euclidean") -> np.ndarray:
    """The share of each row's `n_neighbors` nearest neighbours in X that it keeps in Y, shape (n,); its mean is Q_NX.

    Use it to colour a map by how well each point keeps its neighbours. All rows are judged, whatever their number.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows; Euclidean
    n_neighbors : int, default=10
    metric : name, ``"precomputed"`` or a fitted metric object

    Returns
    -------
    array (n,) : shares from 0 to 1.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> float(local_quality(X, X).min())
    1.0
    """
    x, y = _two_sides(X, Y, metric)
    (k,) = _check_sizes([n_neighbors], x.n_rows - 1)
    shares = np.empty(x.n_rows)
    shares[shuffled(x.n_rows)] = kept_shares(x, y, np.arange(x.n_rows), int(k))
    return shares


def _at(
    X: Any, Y: Any, kind: str, n_neighbors: Any, metric: Any, n_samples: int | None, random_state: Any
) -> RankCurve | Estimate:
    x, y = _two_sides(X, Y, metric, n_samples)
    n = x.n_rows
    rows = sampled_rows(n, n_samples, random_state)
    last = n - 1 if kind == "q_nx" else n - 2
    sizes = np.arange(1, last + 1) if n_neighbors is None else _check_sizes(n_neighbors, last)
    if n_neighbors is not None and np.ndim(n_neighbors) == 0:
        k = int(sizes[0])
        shares = kept_shares(x, y, rows, k)
        return Estimate.over_rows(shares if kind == "q_nx" else _above_chance(shares, k, n))
    counts, group_sizes = rank_counts(x, y, rows)
    return curve_from_counts(counts, group_sizes, n, kind, sizes)


def curve_from_counts(counts: np.ndarray, group_sizes: np.ndarray, n: int, kind: str, sizes: np.ndarray) -> RankCurve:
    """The curve and its summaries from histograms of max(rho, r), one for each group of rows."""
    k = np.arange(1, n)
    grouped = np.cumsum(counts, axis=1) / (k * group_sizes[:, None])
    share = group_sizes / group_sizes.sum()

    def estimate(of_groups: np.ndarray) -> tuple[Any, Any]:
        mean = share @ of_groups
        return mean, np.sqrt(share @ (of_groups - mean) ** 2 / (len(share) - 1))

    R, weight = _above_chance(grouped[:, :-1], k[:-1], n), 1.0 / k[:-1]
    value, spread = estimate(grouped if kind == "q_nx" else R)
    local, k_max = _local(share @ grouped)
    # k_max itself varies with the rows, so the groups are drawn anew many times instead of one formula for the error.
    redrawn = np.random.default_rng(0).multinomial(len(share), share, size=N_REDRAWN) / len(share)
    return RankCurve(
        kind=kind,
        k=sizes,
        value=value[sizes - 1],
        spread=spread[sizes - 1],
        n_rows=n,
        n_samples=int(group_sizes.sum()),
        auc_log_k=Estimate(*estimate(R @ weight / weight.sum())),
        q_local=Estimate(local, float(np.std([_local(weights @ grouped)[0] for weights in redrawn], ddof=1))),
        k_max=k_max,
    )


def _local(Q: np.ndarray) -> tuple[float, int]:
    """Q_local and k_max of a curve Q_NX(1 .. n-1)."""
    k_max = int(np.argmax(Q - np.arange(1, len(Q) + 1) / len(Q))) + 1
    return float(Q[:k_max].mean()), k_max


def _above_chance(Q: Any, k: Any, n: int) -> Any:
    """R_NX from Q_NX."""
    return ((n - 1) * Q - k) / (n - 1 - k)


@on_one_thread  # products of small blocks lose more by waiting for a second thread
def rank_counts(
    x: DistanceRows, y: DistanceRows, rows: np.ndarray, budget: int = BLOCK_BYTES
) -> tuple[np.ndarray, np.ndarray]:
    """How often max(rho, r) is 1 .. n-1, for each of `N_GROUPS` groups of the given rows, and their sizes."""
    n, everyone = x.n_rows, np.arange(x.n_rows)
    place = np.empty(n, dtype=np.intp)
    sizes = np.array([len(group) for group in np.array_split(rows, min(N_GROUPS, len(rows)))])
    counts, group = np.zeros((len(sizes), n), dtype=np.int64), np.repeat(np.arange(len(sizes)), sizes)
    for part in row_blocks(len(rows), BYTES_PER_PAIR * n, budget, max(x.together, y.together)):
        blocks = (side.block(rows[part]) for side in (x, y))
        for i, g, d_x, d_y in zip(rows[part], group[part], *blocks, strict=True):
            d_x[i], d_y[i] = (2.0 * d.max() or 1.0 for d in (d_x, d_y))  # the row itself comes last, with rank n
            place[nearest_first(d_x, d_x[i])] = everyone
            worse: np.ndarray = place.take(nearest_first(d_y, d_y[i]))
            counts[g] += np.bincount(np.maximum(worse, everyone, out=worse), minlength=n)
    return counts[:, :-1], sizes


def nearest_first(d: np.ndarray, top: float) -> np.ndarray:
    """The stable order that sorts the non-negative numbers d, the largest of which is `top`.

    Sorting by the lower, then the upper half of a 32-bit fixed-point copy is a radix sort, two to three times as quick
    as sorting floats; where that copy is too coarse (huge outliers) the result shows it and the floats are sorted.
    """
    if top > 1e-280:
        fixed = (d * (4294967295.0 / top)).astype(np.uint32)
        order = np.argsort(fixed.astype(np.uint16), kind="stable")
        order = order.take(np.argsort((fixed >> 16).astype(np.uint16).take(order), kind="stable"))
        in_order = d.take(order)
        if (in_order[1:] >= in_order[:-1]).all():
            return order
    return np.argsort(d, kind="stable")


def kept_shares(x: DistanceRows, y: DistanceRows, rows: np.ndarray, k: int, budget: int = BLOCK_BYTES) -> np.ndarray:
    """The share of the k nearest neighbours that each of the given rows keeps."""
    shares = np.empty(len(rows))
    for part in row_blocks(len(rows), BYTES_PER_PAIR * x.n_rows, budget):
        kept = _k_nearest(x, rows[part], k) & _k_nearest(y, rows[part], k)
        shares[part] = kept.sum(axis=1) / k
    return shares


def _k_nearest(side: DistanceRows, rows: np.ndarray, k: int) -> np.ndarray:
    """Which k columns are nearest to each row; ties go to those that come first."""
    D = side.block(rows)
    D[np.arange(len(D)), rows] = np.inf
    limit = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    near = limit >= D
    for i in np.flatnonzero(near.sum(axis=1) > k):
        tied = np.flatnonzero(D[i] == limit[i])
        near[i, tied[len(tied) - (near[i].sum() - k) :]] = False
    return near


def sampled_rows(n: int, n_samples: int | None, random_state: Any) -> np.ndarray:
    """Row numbers to judge, in ascending order: all, or a random sample."""
    if n_samples is None:
        n_samples = n if n * n <= MOST_PAIRS else max(FEWEST_ROWS, MOST_PAIRS // n)
    if not 2 <= n_samples <= n:
        raise InputError(f"n_samples must lie between 2 and the {n} rows; got {n_samples}.")
    if n_samples == n:
        return np.arange(n)
    return np.sort(as_generator(random_state).choice(n, size=int(n_samples), replace=False))


def _two_sides(
    X: Any, Y: Any, metric: Any, n_wanted: int | None = None, *, shuffle: bool = True
) -> tuple[DistanceRows, DistanceRows]:
    x = distance_rows(X, metric, name="X", shuffle=shuffle, n_wanted=n_wanted)
    y = distance_rows(Y, name="Y", shuffle=shuffle)
    if x.n_rows != y.n_rows:
        raise InputError(f"X has {x.n_rows} rows and Y has {y.n_rows}: they must be the same rows.")
    if x.n_rows < 3:
        raise InputError(f"X has {x.n_rows} rows; neighbourhoods need at least 3.")
    return x, y


def _check_sizes(n_neighbors: Any, last: int) -> np.ndarray:
    sizes = np.atleast_1d(np.asarray(n_neighbors))
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not len(sizes) or sizes.min() < 1 or sizes.max() > last:
        raise InputError(
            f"n_neighbors must hold whole numbers between 1 and {last} for these rows; got {n_neighbors!r}."
        )
    return sizes


# --- trustworthiness --------------------------------------------------------------------------------------------------


def trustworthiness(
    X: Any, Y: Any, *, n_neighbors: int = 5, metric: Any = "euclidean", n_samples: int | None = None,
    random_state: Any = None,
) -> Estimate:  # fmt: skip
    """Trustworthiness of a map, from 0 to 1, as scikit-learn defines it, for any metric and of a sample of many rows.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows
    n_neighbors : int, default=5
        k, below half of the number of rows.
    metric : name, ``"precomputed"`` or a fitted metric object
    n_samples : rows whose neighbourhoods are judged; None judges all up to 10,000 rows, then a sample
    random_state : for the sample

    Returns
    -------
    Estimate, with the standard error over the judged rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> float(trustworthiness(X, X[:, ::-1]))
    1.0
    """
    x, y = _two_sides(X, Y, metric, n_samples, shuffle=False)
    n, k = x.n_rows, int(n_neighbors)
    if not 1 <= k < n / 2:
        raise InputError(f"n_neighbors must be at least 1 and less than half of the {n} rows; got {n_neighbors}.")
    rows = sampled_rows(n, n_samples, random_state)
    lost = np.concatenate(
        [intruders(x, y, rows[part], k) for part in row_blocks(len(rows), 2 * BYTES_PER_PAIR * n, BLOCK_BYTES)]
    )
    return Estimate.over_rows(1.0 - 2.0 * lost / (k * (2.0 * n - 3.0 * k - 1.0)))


def intruders(x: DistanceRows, y: DistanceRows, rows: np.ndarray, k: int) -> np.ndarray:
    """For each row the sum of rho_ij - k over its neighbours in the map that are not among those in the data."""
    D, near = x.block(rows), np.nonzero(_k_nearest(y, rows, k))[1].reshape(len(rows), k)
    D[np.arange(len(rows)), rows] = np.inf
    lost = np.empty(len(rows))
    for i, (d, in_order, neighbors) in enumerate(zip(D, np.sort(D, axis=1), near, strict=True)):
        ranks = np.searchsorted(in_order, d[neighbors]) + 1
        for tied in np.flatnonzero(in_order[np.minimum(ranks, len(d) - 1)] == d[neighbors]):  # as a stable sort has it
            ranks[tied] += np.count_nonzero(d[: neighbors[tied]] == d[neighbors[tied]])
        lost[i] = np.maximum(ranks - k, 0).sum()
    return lost
