"""The width of the kernels of a posterior: given, or by a rule of thumb."""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from prismap.exceptions import InputError


def rule_of_thumb(X):
    """The width of Gaussian kernels that suits normal data: ``s (4 / (d + 2) n)^(1 / (d + 4))`` (Silverman 1986, 4.14).

    s^2 is the mean variance of the d columns of the n rows. In one dimension this is the ``h_rot = 1.06 s n^(-1/5)``
    that the thesis names (Schulz 2017, sec. 2.4.1). Many columns make it wide.
    """
    n, d = X.shape
    variances = mean_variance_axis(X, axis=0)[1] if sp.issparse(X) else np.var(X, axis=0, dtype=np.float64)
    return float(np.sqrt(np.mean(variances)) * (4 / ((d + 2) * n)) ** (1 / (d + 4))) or 1.0


def given_bandwidth(bandwidth, data, support):
    """The width that a posterior asks for itself: a number, or "silverman" for the `rule_of_thumb` of its support."""
    if isinstance(bandwidth, Real) and not isinstance(bandwidth, bool) and 0 < float(bandwidth) < np.inf:
        return float(bandwidth)
    if bandwidth != "silverman":
        raise InputError(
            f"bandwidth must be a positive number, 'silverman' (the rule of thumb) or None (by perplexity); got "
            f"{bandwidth!r}."
        )
    if data.is_matrix:
        raise InputError(
            "bandwidth='silverman' counts columns, and a matrix between rows has none; give a number, or None for the "
            "width by perplexity."
        )
    return rule_of_thumb(data.rows_[support])
