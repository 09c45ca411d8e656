"""The Parzen posterior of classes."""

from __future__ import annotations

from copy import copy
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from prismap._util.blocks import require_memory
from prismap.exceptions import InputError
from prismap.metrics._geometry import FittedIndex
from prismap.metrics._segments import SegmentRule
from prismap.metrics.posteriors._base import Posterior, sampled_rule
from prismap.metrics.posteriors._density import ParzenBlock, ParzenDensity
from prismap.metrics.posteriors._local_parzen import LocalParzen


def rule_of_thumb(X):
    """The width of Gaussian kernels that suits normal data: ``s (4 / (d + 2) n)^(1 / (d + 4))`` (Silverman 1986, 4.14).

    s^2 is the mean variance of the d columns of the n rows. In one dimension this is the ``h_rot = 1.06 s n^(-1/5)``
    of Schulz (2017, sec. 2.4.1). Many columns make it wide.
    """
    n, d = X.shape
    variances = mean_variance_axis(X, axis=0)[1] if sp.issparse(X) else np.var(X, axis=0, dtype=np.float64)
    return float(np.sqrt(np.mean(variances)) * (4 / ((d + 2) * n)) ** (1 / (d + 4))) or 1.0


class Parzen(Posterior):
    """Gaussian kernels on labelled support rows, along the whole segment (Gisbrecht et al. 2015; Schulz 2017, 2.4.1).

    Parameters
    ----------
    n_support : int, "baseline" or None, default=None
        Support rows, drawn with equal shares of the classes. None takes all labelled rows up to 4000; where there are
        more, every row is judged by its own nearest labelled rows (`LocalParzen`). "baseline" takes the most rows with
        which permuted labels have nearly the nearest-neighbour error of chance, as the papers regularise the in-sample
        estimate of ``FisherMetric(cross_fit=False)``; with cross-fitting that is all of them.
    bandwidth : float, "silverman", "matlab", "published" or None, default=None
        Width of the kernels. None takes the mean of the widths with the metric's perplexity, "silverman" the rule of
        thumb for normal data (vectors only). "published" is twice the width of None, and "matlab" sqrt(2) of it: what
        the formulas of Schulz et al. (2017) and of Gisbrecht et al. (2015) give with the sigma that the common program
        for t-SNE prints, which is ``sqrt(1 / beta)`` of ``exp(-beta d^2)``.

    See Also
    --------
    FisherMetric : The metric that asks this posterior.

    References
    ----------
    A. Schulz, J. Brinkrolf, B. Hammer (2017), eq. 4 and sec. 5. A. Schulz (2017), sec. 2.4.1. B. W. Silverman
    (1986), Density estimation for statistics and data analysis, sec. 4.3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from prismap.metrics import FisherMetric
    >>> metric = FisherMetric(posterior=Parzen(bandwidth="silverman")).fit(*load_iris(return_X_y=True))
    >>> round(metric.bandwidth_, 3)
    0.541
    """

    name = "parzen"
    #: Rows of the sample that finds the number of sub-segments, and sub-segments at most: many where nothing but them
    #: tells two clusters of a class apart, fewer where the Euclidean part of the tensor does so, too.
    SAMPLED_ROWS, MOST_SEGMENTS, MOST_BLENDED = 24, 32, 8

    #: The widths of the papers, in units of the width sigma of ``exp(-d^2 / 2 sigma^2)`` with the perplexity. The
    #: program that is commonly used with them calls ``sqrt(1 / beta)`` of ``exp(-beta d^2)`` sigma, which is sqrt(2) of
    #: these ("matlab"). Schulz et al. (2017, eq. 4) print ``exp(-0.5 d^2 / 2 sigma^2)``, which is sqrt(2) more.
    PUBLISHED_WIDTHS = {"matlab": float(np.sqrt(2)), "published": 2.0}

    def __init__(self, n_support=None, *, bandwidth=None):
        self.n_support = n_support
        self.bandwidth = bandwidth

    @property
    def width_factor(self):
        """2 or sqrt(2) for the widths of the papers, 1 for all others."""
        return self.PUBLISHED_WIDTHS.get(self.bandwidth, 1.0) if isinstance(self.bandwidth, str) else 1.0

    def own_bandwidth(self, data, support):
        """The width that was asked for: a number, or the `rule_of_thumb` of the support; None leaves it open."""
        width = self.bandwidth
        if width is None or self.width_factor != 1:
            return None
        if isinstance(width, Real) and not isinstance(width, bool) and 0 < float(width) < np.inf:
            return float(width)
        if width != "silverman":
            raise InputError(
                f"bandwidth must be a positive number, 'silverman' (the rule of thumb), 'published' or 'matlab' (wider "
                f"by 2 or sqrt 2 than by perplexity) or None (by perplexity); got {width!r}."
            )
        if data.is_matrix:
            raise InputError(
                "bandwidth='silverman' counts columns, and a matrix between rows has none; give a number, or None for "
                "the width by perplexity."
            )
        return rule_of_thumb(data.rows_[support])

    def fit(self, context):
        """Kernels on the support, or on each row's own nearest rows where there are more labelled rows than that."""
        many = np.count_nonzero(context.codes >= 0) > len(context.support) and self.n_support is None
        if many and context.n_segments in ("auto", 1) and not context.path.startswith("tangent"):
            return LocalParzen().fit(context)
        return self.fit_on_support(context)

    def fit_on_support(self, context):
        """Kernels on the support."""
        self.data, self.support, self.judged = context.data, context.support, context.judged
        rule, self.order = context.rule_along(), context.by_fold
        self.density = ParzenDensity(
            context.codes[self.support], context.n_classes, context.support_folds,
            context.bandwidth, rule or SegmentRule(n_segments=1),
        )  # fmt: skip
        n_bytes = self.density.bytes_per_row(self.data.dtype.itemsize) * len(self.order)
        require_memory(n_bytes, "The profiles of the fitted rows", "Set a smaller n_support, or fit fewer rows.")
        Q = self.data.squared_to(FittedIndex(self.order), self.support)
        self.rows = self.density.rows(Q, context.folds[self.order])
        if rule is None:
            mean = self.rows.exponent.mean(axis=1)
            most = self.MOST_SEGMENTS if context.supervision == 1 else self.MOST_BLENDED
            rule = sampled_rule(self, context, mean, n_rows=self.SAMPLED_ROWS, most=most)
            self.density.rule = rule
            self.rows = self.density.prepared(self.rows)
        self.rule = rule
        return self

    def restore(self, context, state):
        """The kernels follow from the context; local supports are in the state."""
        if "local_probabilities" not in state:
            return self.fit_on_support(context)
        return LocalParzen().restore(context, state)

    def measured_by(self, rule):
        """The same posterior with another rule for segments."""
        other = super().measured_by(rule)
        other.density = copy(self.density)
        other.density.rule = rule
        return other

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return self.density.rows(self.data.squared_to(rows, self.support, self_similarity))

    def block(self, A, B):
        """The pairs of two sets of rows."""
        return ParzenBlock(self.density, A, B)

    def chunk_rows(self):
        """Rows of a block at most."""
        return self.density.chunk_rows()

    def probabilities(self, rows):
        """Class posteriors of the rows, each without the support of its own fold."""
        return self.density.probabilities(rows)

    def tensor_factor(self, rows, support):
        """Factors of the Fisher tensors of the rows."""
        return self.density.tensor_factor(rows, support)
