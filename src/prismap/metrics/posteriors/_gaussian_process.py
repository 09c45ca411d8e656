"""A Gaussian process for real-valued targets, along straight segments, from squared distances only.

With ``k(x, x') = s exp(-beta ||x - x'||^2)`` and noise nu, the target at x is ``N(m(x), v(x))`` (Schulz 2017, eq.
2.32 to 2.34, noise included). Along ``x(a) = (1-a) x + a x'`` the kernel against support row l is

    k_l(a) = s exp(-beta ((1-a) q_l(x) + a q_l(x') - a (1-a) ||x - x'||^2)),

a product of one factor per endpoint and one per pair, so no coordinate and no exponential per pair is needed, and

    m(a) = mean + sum_l w_l k_l(a),        v(a) = s + nu - ||T k(a)||^2

with a triangular T are one matrix product of (pairs, r) with half of (r, r). ``T^T T = (K + nu I)^{-1}`` on the r
support rows that a pivoted Cholesky decomposition of the kernel matrix K picks: all of them, or fewer where the kernel
is so smooth that the others add less than the noise.

- *chord*: Fisher-Rao distances between the Gaussians at consecutive nodes,
  ``sqrt(2) arccosh(1 + ((m1 - m2)^2 / 2 + (s1 - s2)^2) / (2 s1 s2))``.
- *tangent*: the speed ``sqrt(m'^2 / v + v'^2 / (2 v^2))`` at nodes, which is ``sqrt(dx^T J dx)`` (Schulz 2017, eq.
  2.40).

Several targets have a process each, and their squared lengths add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpstrf

from prismap._util.blocks import require_memory, row_blocks
from prismap._util.threads import on_one_thread
from prismap.exceptions import InputError
from prismap.metrics._geometry import FittedIndex, SimilarityMetric, VectorMetric
from prismap.metrics._segments import join
from prismap.metrics.posteriors._base import Posterior, sampled_rule
from prismap.metrics.posteriors._evidence import evidence_rows, plain_kernel
from prismap.target import RealTarget

#: Support rows, at least and at most, when the user names no number.
SUPPORT = (300, 1000)
#: Bytes of kernel values in hand: few enough to stay in cache.
KERNEL_BYTES = 2**20


# --- one process ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Regression:
    """A process reduced to what predictions need: ``m = mean + w . k`` and ``v = s + nu - ||T k||^2``.

    rows : the support rows whose kernel values make k, an index.
    T : lower triangular (r, r).
    w : weights (r,).
    mean : mean of the targets that were seen.
    """

    rows: np.ndarray
    T: np.ndarray
    w: np.ndarray
    mean: float

    def parts(self, k):
        """``T k`` for rows of k, a few components at a time, without the products with the zeros of T."""
        step = max(64, -(-len(self.T) // 8))
        for start in range(0, len(self.T), step):
            stop = min(start + step, len(self.T))
            yield k[:, :stop] @ self.T[start:stop, :stop].T


class Process:
    """The process of one target.

    Parameters
    ----------
    Q : squared distances between the support rows.
    y : targets of the support rows.
    folds : folds of the support rows.
    signal, beta, noise : hyper-parameters.
    """

    def __init__(self, Q, y, folds, signal, beta, noise):
        self.signal, self.beta, self.noise = float(signal), float(beta), float(noise)
        self.K, self.y, self.folds = self.kernel(Q), y, folds
        self._kept: dict[tuple[int, int], Regression] = {}

    def kernel(self, Q):
        """Kernel values from squared distances."""
        return self.signal * np.exp(-self.beta * Q)

    @on_one_thread
    def regression(self, fold_a, fold_b):
        """The process that sees the support outside two folds."""
        key = (int(min(fold_a, fold_b)), int(max(fold_a, fold_b)))
        if key in self._kept:
            return self._kept[key]
        seen = np.flatnonzero((self.folds != fold_a) & (self.folds != fold_b))
        rows, T, w, mean = solve(self.K[np.ix_(seen, seen)], self.y[seen], self.signal, self.noise)
        regression = Regression(seen[rows], T, w, mean)
        # Two different folds meet once when all pairs are measured; the others come back with every new row.
        if key[0] in (-1, key[1]):
            self._kept[key] = regression
        return regression

    def moments(self, k, regression):
        """Mean and variance (noise included) from kernel values (n, r)."""
        explained = sum(np.einsum("ij,ij->i", part, part) for part in regression.parts(k))
        return regression.mean + k @ regression.w, self.variance(explained)

    def moments_of_rows(self, profile, regression):
        """Mean and variance of rows from their squared distances to the support."""
        return self.moments(self.kernel(profile[:, regression.rows]), regression)

    def gradients(self, profile, regression):
        """At rows: for mean and variance, their derivatives in ``ln k_l`` (n, r) and what a step in them counts for.

        A change of ``ln k`` by t has the squared Fisher length ``sum (derivative . t / unit)^2`` over the two.
        """
        k = self.kernel(profile[:, regression.rows])
        _, v = self.moments(k, regression)
        yield k * regression.w, np.sqrt(v)
        yield -2 * k * (k @ (regression.T.T @ regression.T)), np.sqrt(2) * v

    def variance(self, explained):
        """``s + nu - explained``; never below the noise, which rounding or non-Euclidean data could make it."""
        return np.maximum(self.signal + self.noise - explained, self.noise)


def solve(K, y, signal, noise):
    """(rows, T, w, mean): ``||T k||^2 = k^T (K + noise I)^{-1} k`` and ``w = (K + noise I)^{-1} (y - mean)``.

    K is replaced by ``L L^T`` of fewer rows where these explain the others but for a trace. Where it is indefinite,
    because the distances are not Euclidean, what lies beyond L is left out.
    """
    n, mean = len(K), float(y.mean())
    negligible = max(1e-12 * noise, np.finfo(np.float64).eps * n * signal)
    L, rows, rank = pivoted_cholesky(K, negligible)
    if rank == n:
        C = cholesky(K + noise * np.eye(n), lower=True)
        return np.arange(n), solve_triangular(C, np.eye(n), lower=True), cho_solve((C, True), y - mean), mean
    # Kernel values at all rows are W times those at the kept ones.
    W = solve_triangular(L[:rank].T, L.T).T
    C = cholesky(L @ L.T + noise * np.eye(n), lower=True)
    w = W.T @ cho_solve((C, True), y[rows] - mean)
    # A rotation of the factor C^-1 W changes no length: the one that makes it triangular saves half of the products.
    _, R = np.linalg.qr(solve_triangular(C, W, lower=True)[:, ::-1])
    return rows[:rank], np.ascontiguousarray(R[::-1, ::-1]), w, mean


def pivoted_cholesky(K, tolerance):
    """L (n, rank) with ``K[rows][:, rows] ~ L L^T`` until no diagonal entry of the rest exceeds the tolerance."""
    factor, pivots, rank, _ = dpstrf(K, lower=1, tol=tolerance)
    return np.tril(factor)[:, :rank], pivots - 1, rank


# --- all targets, rows and pairs --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProcessRows:
    """What the posterior needs of some rows.

    profile : squared distances to the support (n, |S|), float64.
    fold : the fold each row lies in, -1 for none.
    index : which fitted rows they are, or None for new rows.
    new : new rows as they were given, or None.
    squared : squared distances of new rows to all fitted ones, or None.
    """

    profile: np.ndarray
    fold: np.ndarray
    index: np.ndarray | None = None
    new: Any = None
    squared: np.ndarray | None = None

    def __len__(self):
        return len(self.fold)

    def take(self, index):
        """Some of the rows; views where the index is a slice."""
        parts: dict[str, Any] = {name: None if part is None else part[index] for name, part in vars(self).items()}
        return ProcessRows(**parts)


class GaussianProcess(Posterior):
    """A Gaussian process for each real target: ``signal exp(-beta q)``, plus noise (Schulz 2017, 2.6).

    Parameters
    ----------
    beta : float or None, default=None
        Inverse squared width of the kernel; None finds beta, signal and noise by the marginal likelihood.
    signal, noise : float, default=1.0 and 0.1
        Variances of signal and noise, where beta is given.
    n_support : int or None, default=None
        Support rows; None takes 1000 to 300, by the number of rows.

    Examples
    --------
    >>> from prismap.metrics import FisherMetric
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> FisherMetric(posterior=GaussianProcess(1.0), perplexity=10).fit(X, X[:, 0] ** 2).pairwise().shape
    (40, 40)
    """

    name, targets = "gp", (RealTarget,)
    #: A pair costs the square of the support at every node, so fewer pairs are asked and fewer nodes spent.
    SAMPLED_ROWS, MOST_SEGMENTS = 12, 4

    def __init__(self, beta=None, *, signal=1.0, noise=0.1, n_support=None):
        self.beta = beta
        self.signal = signal
        self.noise = noise
        self.n_support = n_support

    def most_support(self, target):
        """Fewer for many rows: a pair costs the square of the support."""
        return int(np.clip(10**6 // len(target), *SUPPORT))

    def fit(self, context):
        """Find the hyper-parameters, and the processes without every pair of folds."""
        return self._hold(context)

    def restore(self, context, state):
        """The hyper-parameters of `state`; support and folds are the metric's."""
        return self._hold(context, state["process"])

    def state(self):
        """The hyper-parameters."""
        return {"process": self.hyper}

    def _hold(self, context, hyper=None):
        self.data, self.support, self.judged = context.data, context.support, context.judged
        rule, self.order = context.rule_along(), context.by_fold
        n_bytes = 16.0 * len(self.support) * (self.data.n_rows_ + len(self.support))
        require_memory(n_bytes, "The profiles of the fitted rows", "Set a smaller n_support, or fit fewer rows.")
        Q, y = self._profiles(FittedIndex(self.support)), context.numbers[self.support]
        self.hyper = self._find(Q, context) if hyper is None else hyper
        folds = context.support_folds if context.cross_fit else np.zeros(len(y), dtype=np.intp)
        self.processes = [Process(Q, column, folds, *values) for values, column in zip(self.hyper, y.T, strict=True)]
        # Only then is a point on a segment sure to be at no negative squared distance from the support.
        self.euclidean = (isinstance(self.data, VectorMetric) and self.data.is_complete) or (
            isinstance(self.data, SimilarityMetric) and self.data.repair != "none"
        )
        profile = self._profiles(FittedIndex(self.order))
        self.rows = ProcessRows(profile, context.folds[self.order], index=self.order)
        mean, sample = profile.mean(axis=1), {"n_rows": self.SAMPLED_ROWS, "most": self.MOST_SEGMENTS}
        self.rule = sampled_rule(self, context, mean, **sample) if rule is None else rule
        return self

    def _profiles(self, rows):
        return np.maximum(self.data.squared_to(rows, self.support), 0).astype(np.float64)

    def _find(self, Q, context):
        """(signal, beta, noise) of each target: given, or by the marginal likelihood."""
        target = context.target.take(self.support)
        y = context.numbers[self.support]
        if self.beta is not None:
            values = (self.signal, self.beta, self.noise)
            if not all(np.isfinite(value) and value > 0 for value in values):
                raise InputError(f"beta, signal and noise of a GaussianProcess must be positive numbers; got {self!r}.")
            return np.array([values] * y.shape[1])
        seen = evidence_rows(target, context.rng)
        return np.array([plain_kernel(Q[np.ix_(seen, seen)], column) for column in y[seen].T])

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        self.data.require_self_similarity(self_similarity)
        D2 = self.data.squared_to(rows, slice(None), self_similarity)
        profile = np.maximum(D2[:, self.support], 0).astype(np.float64)
        return ProcessRows(profile, np.full(len(D2), -1, dtype=np.intp), new=rows, squared=D2)

    def squared(self, A, B):
        """Squared distances of all pairs of two sets of rows."""
        if B.index is None and A.index is None:
            if not isinstance(self.data, VectorMetric):
                raise InputError(
                    "a real target needs the distance of every pair, and that of two new rows is not known for matrix "
                    "data: leave B out to get the distances to the fitted rows."
                )
            D2 = self.data.squared_between(A.new, B.new)
        elif B.index is None:
            D2 = B.squared[:, A.index].T
        elif A.index is None:
            D2 = A.squared[:, B.index]
        else:
            D2 = self.data.squared_to(FittedIndex(A.index), B.index)
        return np.maximum(D2, 0).astype(np.float64)

    def block(self, A, B):
        """Everything that the pairs of two sets of rows share, each set from one fold."""
        D2 = self.squared(A, B)
        parts = [ProcessBlock(process, self.rule, A, B, D2, self.euclidean) for process in self.processes]
        return parts[0] if len(parts) == 1 else JointBlock(parts)

    def _by_fold(self, rows):
        for fold in np.unique(rows.fold):
            index = np.flatnonzero(rows.fold == fold)
            for t, process in enumerate(self.processes):
                yield index, t, process, process.regression(fold, fold)

    def moments(self, rows):
        """Means and variances (noise included) of the targets at the rows, (n, targets) each, without their folds."""
        means, variances = np.empty((2, len(rows), len(self.processes)))
        for index, t, process, regression in self._by_fold(rows):
            means[index, t], variances[index, t] = process.moments_of_rows(rows.profile[index], regression)
        return means, variances

    def tensor_factor(self, rows, support):
        """``grad m / sqrt(v)`` and ``grad v / (sqrt(2) v)`` per target, (n, 2 targets, D): Schulz 2017, eq. 2.40."""
        X = self.data.rows_[rows.index] if rows.index is not None else self.data.centred(rows.new)
        X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        factors = np.empty((len(rows), 2 * len(self.processes), X.shape[1]))
        for index, t, process, regression in self._by_fold(rows):
            near = support[regression.rows]
            for half, (pull, unit) in enumerate(process.gradients(rows.profile[index], regression)):
                # grad ln k_l = 2 beta (x_l - x)
                step = pull @ near - pull.sum(axis=1, keepdims=True) * X[index]
                factors[index, 2 * t + half] = 2 * process.beta * step / unit[:, None]
        return factors.astype(self.data.dtype)


@dataclass(frozen=True)
class JointBlock:
    """Several targets: independent Gaussians, whose squared Fisher lengths add."""

    parts: list[ProcessBlock]

    def sub_lengths(self, a, b):
        """The T sub-segment lengths (n_a, n_b) of the pairs of two slices, one after another."""
        for lengths in zip(*(part.sub_lengths(a, b) for part in self.parts), strict=True):
            yield np.sqrt(sum(length**2 for length in lengths))


class ProcessBlock:
    """Segments between two sets of rows under one process, each set from one fold, measured tile by tile."""

    def __init__(self, process, rule, A, B, D2, euclidean):
        self.process, self.rule, self.D2, self.euclidean = process, rule, D2, euclidean
        self.regression = process.regression(A.fold[0], B.fold[0])
        self.profile_a, self.profile_b = (rows.profile[:, self.regression.rows] for rows in (A, B))
        make = process.moments_of_rows if rule.path == "chord" else process.gradients
        self.ends_a, self.ends_b = (tuple(make(rows.profile, self.regression)) for rows in (A, B))

    def sub_lengths(self, a, b):
        """The T sub-segment lengths (n_a, n_b) of the pairs of two slices, one after another."""
        if self.rule.path == "tangent":
            return (self._node_speed(node, a, b) / self.rule.n_segments for node in self.rule.nodes())
        return join(self._states(a, b), lambda one, two: fisher_rao(*one, *two), coarse=self.rule.extrapolated)

    def _states(self, a, b):
        """Means and variances at both ends and the nodes between."""
        yield tuple(part[a, None] for part in self.ends_a)
        for node in self.rule.nodes():
            yield self._moments(node, a, b)
        yield tuple(part[None, b] for part in self.ends_b)

    def _node_speed(self, node, a, b):
        return (self._end_speed if node in (0, 1) else self._speed)(node, a, b)

    def _kernels(self, node, a, b):
        """Kernel values (pairs, r) at a node of the segments, a few rows of slice a at a time: (rows, values)."""
        beta, QA, QB = self.process.beta, self.profile_a[a], self.profile_b[b]
        lift = beta * node * (1 - node) * self.D2[a, b]
        factor_b = self.process.signal * np.exp(-beta * node * QB)
        for rows in row_blocks(len(QA), 8.0 * QB.size, KERNEL_BYTES):
            # Up to such a lift the products of factors lose nothing: what underflows there counts for nothing.
            if self.euclidean and lift[rows].max() <= 300.0:
                k = np.exp(-beta * (1 - node) * QA[rows])[:, None, :] * factor_b
                k *= np.exp(lift[rows])[:, :, None]
            else:
                k = (1 - node) * QA[rows][:, None, :] + node * QB - (lift[rows] / beta)[:, :, None]
                k = self.process.kernel(np.maximum(k, 0, out=k))
            yield rows, k.reshape(-1, k.shape[2])

    def _moments(self, node, a, b):
        """Mean and variance (n_a, n_b) at a node of the segments."""
        m, v = np.empty((2, *self.D2[a, b].shape))
        for rows, k in self._kernels(node, a, b):
            mean, variance = self.process.moments(k, self.regression)
            m[rows], v[rows] = mean.reshape(-1, m.shape[1]), variance.reshape(-1, m.shape[1])
        return m, v

    def _end_speed(self, node, a, b):
        """The same at an endpoint, where the kernel values are those of a row and not of a pair: one product."""
        if node == 0:
            ends, here, there, D2 = self.ends_a, self.profile_a[a], self.profile_b[b], self.D2[a, b]
        else:
            ends, here, there, D2 = self.ends_b, self.profile_b[b], self.profile_a[a], self.D2[a, b].T
        rows, total = a if node == 0 else b, 0.0
        for pull, unit in ends:
            own, weight = np.einsum("ij,ij->i", pull[rows], here), pull[rows].sum(axis=1)
            step = pull[rows] @ there.T - own[:, None] - weight[:, None] * D2
            total = total + (step / unit[rows, None]) ** 2
        speed = self.process.beta * np.sqrt(total)
        return speed if node == 0 else speed.T

    def _speed(self, node, a, b):
        """``sqrt(m'^2 / v + v'^2 / (2 v^2))`` (n_a, n_b) at a node of the segments.

        ``k_l' = -beta (q_l(x') - q_l(x) - (1 - 2a) ||x - x'||^2) k_l``.
        """
        D2, speed = self.D2[a, b], np.empty(self.D2[a, b].shape)
        for rows, k in self._kernels(node, a, b):
            slope = self.profile_b[b] - self.profile_a[a][rows][:, None, :] - (1 - 2 * node) * D2[rows][:, :, None]
            slope = slope.reshape(k.shape)
            slope *= k
            explained, fall = np.zeros((2, len(k)))
            for part, change in zip(self.regression.parts(k), self.regression.parts(slope), strict=True):
                explained += np.einsum("ij,ij->i", part, part)
                fall += 2 * np.einsum("ij,ij->i", part, change)
            v = self.process.variance(explained)
            squares = self.process.beta**2 * ((slope @ self.regression.w) ** 2 / v + 0.5 * (fall / v) ** 2)
            speed[rows] = np.sqrt(squares).reshape(-1, D2.shape[1])
        return speed


def fisher_rao(m1, v1, m2, v2):
    """Fisher-Rao distance of Gaussians ``N(m1, v1)`` and ``N(m2, v2)``.

    ``arccosh(1 + 2 x^2) = 2 asinh(x)``: no digits are lost where the two are nearly equal.

    >>> round(float(fisher_rao(0.0, 1.0, 0.0, 4.0)), 6), float(fisher_rao(1.0, 2.0, 1.0, 2.0))
    (0.980258, 0.0)
    """
    s1, s2 = np.sqrt(v1), np.sqrt(v2)
    gap = np.sqrt(((m1 - m2) ** 2 / 2 + (s1 - s2) ** 2) / (s1 * s2)) / 2
    return 2 * np.sqrt(2) * np.arcsinh(gap)
