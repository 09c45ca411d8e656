"""Which columns of a table matter: for a map, for its clusters, and for a target.

*For a map*: `column_relevance`, one measure for pages and the command line.

*For a target*: `prismap.relevance._target_columns`; around some rows, `fisher_relevance`.

*For clusters*: `explained_clusters`. A column sets a cluster apart if it hardly varies inside: the statistic is
``1 - var(inside) / var(all)``, of a category summed over its levels. What random groups of the same size reach in their
best column is the threshold, so the number of columns is accounted for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.arrays import Numbers
from prismap._util.blocks import require_memory
from prismap.exceptions import InputError
from prismap.relevance._features import FeatureRelevance
from prismap.relevance._target_columns import FEWEST_ROWS, MOST_ROWS

#: Neighbourhoods that are judged; each looks at all rows.
N_SAMPLES = 1000
#: Random groups that a column is compared with, and how narrow it must be to be named.
N_RANDOM, NARROW = 199, 0.5
#: Share of the values at either end that are drawn in, of columns with more different values than so many.
TAIL, FEW_VALUES = 0.02, 10


# --- for a map --------------------------------------------------------------------------------------------------------


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
    >>> relevance = column_relevance({"x": Y[:, 0], "noise": np.random.default_rng(1).normal(size=60)}, Y)
    >>> str(relevance.feature_names_in_[relevance.relevance_.argmax()])
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


# --- for the clusters of a map ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExplainedCluster:
    """A cluster of a map: the numbers of its rows, and the columns that set it apart, the narrowest first."""

    rows: NDArray[np.intp]
    columns: dict[str, float]
    share: float
    """How much of the map it is."""


def sampled(n_rows: int, seed: int) -> NDArray[np.intp]:
    """The rows that are looked at."""
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:MOST_ROWS])


def drawn_in(block: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers (n, 1) without its extremes: a few of them would make it narrow nearly everywhere."""
    if block.shape[1] > 1 or len(np.unique(block)) <= FEW_VALUES:
        return block
    low = np.quantile(block, TAIL, method="higher")
    return np.asarray(np.clip(block, low, np.quantile(block, 1 - TAIL, method="lower")))


def narrowness(X: NDArray[Any], groups: NDArray[Any], first: NDArray[Any]) -> NDArray[Any]:
    """``1 - var(inside) / var(all)`` of each column inside groups of rows, (m, columns); 0 of columns that do not vary.

    X : (n, k) centred features. groups : (m, rows) numbers of rows. first : the first feature of each column.
    """
    member = np.zeros((len(groups), len(X)))
    np.put_along_axis(member, groups, 1.0 / groups.shape[1], axis=1)
    inside = np.add.reduceat(member @ np.square(X) - np.square(member @ X), first, axis=1)
    overall = np.add.reduceat(X.var(axis=0), first)
    constant = overall == 0
    return np.where(constant, 0.0, 1.0 - inside / np.where(constant, 1.0, overall))


def explained_clusters(
    labels: NDArray[np.intp], columns: Mapping[str, NDArray[Any]], *, seed: int = 0
) -> list[ExplainedCluster]:
    """The clusters of a map with the columns that set each apart; none if there is only one.

    Parameters
    ----------
    labels : the cluster of each row, -1 for none (`prismap.quality.find_clusters`)
    columns : (n,) or (n, k) features of the same rows, by name
    seed : of the random groups, and of the sample of more than 2,000 rows
    """
    n_rows, n_clusters = len(labels), int(labels.max(initial=-1)) + 1
    if n_clusters < 2 or not columns:
        return []
    names, among = list(columns), sampled(n_rows, seed)
    blocks = [np.asarray(columns[name], dtype=np.float64).reshape(n_rows, -1)[among] for name in names]
    blocks = [drawn_in(block) for block in blocks]
    first = np.concatenate([[0], np.cumsum([block.shape[1] for block in blocks])])[:-1]
    X = np.hstack([block - block.mean(axis=0) for block in blocks])
    orders, clusters = np.random.default_rng(seed).random((N_RANDOM, len(X))).argsort(axis=1), []
    for label in range(n_clusters):
        rows, inside = np.flatnonzero(labels == label), np.flatnonzero(labels[among] == label)
        if not len(inside):
            continue
        score, *null = narrowness(X, np.vstack([inside, orders[:, : len(inside)]]), first)
        order = [j for j in np.argsort(-score, kind="stable") if score[j] > max(np.max(null), NARROW)]
        clusters.append(ExplainedCluster(rows, {names[j]: float(score[j]) for j in order}, len(rows) / n_rows))
    return clusters


# --- for a target, around some rows -----------------------------------------------------------------------------------


def has_tensor(metric: Any) -> bool:
    """Whether the posterior of a fitted `FisherMetric` has a tensor at every row."""
    return any(hasattr(metric.posterior_, name) for name in ("tensor_factor", "tensor_at"))


def fisher_relevance(metric: Any, rows: Any = None) -> Numbers:
    """Shares of the features in the change of the target around some fitted rows.

    Along a step of feature d the distribution of the target changes by ``J_dd = sum_c F_cd^2``, the diagonal of the
    Fisher tensor (Schulz et al. 2017, eq. 5 to 7; `FisherMetric.tensor_factor`). It is averaged over the rows, and
    steps are measured in standard deviations of the features: ``J_dd var(x_d)``, divided by its sum over the features.
    The metric is cross-fitted, so no row is predicted from its own label.

    Parameters
    ----------
    metric : fitted `FisherMetric` of vectors, whose posterior has a tensor (Parzen, Gaussian process).
    rows : array of indices of fitted rows, default=None
        None takes all rows.

    Returns
    -------
    shares : array (n_features,)
        They add up to 1; all are 0 where the target does not change at all.

    See Also
    --------
    column_relevance : How well columns keep the neighbourhoods of a map.

    Examples
    --------
    >>> import numpy as np
    >>> from prismap.metrics import FisherMetric
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> metric = FisherMetric(posterior="parzen", perplexity=10, random_state=0).fit(X, (X[:, 1] > 0).astype(int))
    >>> int(fisher_relevance(metric).argmax())
    1
    """
    if not hasattr(metric, "tensor_factor"):
        raise InputError("fisher_relevance needs a FisherMetric: without a target nothing says what changes it.")
    data = metric.data_
    if data.is_matrix:
        raise InputError("fisher_relevance needs data='vectors': distances have no features.")
    X = data.rows_.toarray() if sp.issparse(data.rows_) else np.asarray(data.rows_)
    if not has_tensor(metric):
        raise InputError("the posterior of this metric has no tensor; fit FisherMetric(posterior='parzen').")
    n_classes = np.shape(metric.tensor_factor(X[:1]))[1]
    require_memory(16.0 * len(X) * n_classes * X.shape[1], "The Fisher tensors of all rows", "Take fewer features.")
    F = np.asarray(metric.tensor_factor(None), dtype=np.float64)
    F = F if rows is None else F[np.asarray(rows)]
    change = np.einsum("ncd,ncd->d", F, F) / max(len(F), 1) * X.var(axis=0)
    total = change.sum()
    return change / total if total > 0 else np.zeros_like(change)
