"""Which features change the target at some rows: the diagonal of the Fisher tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._util.arrays import Numbers
from prismap._util.blocks import require_memory
from prismap.exceptions import InputError


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
