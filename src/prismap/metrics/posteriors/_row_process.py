"""A Gaussian process for real targets that is known at the rows, at the price of a product per row.

With r pivot rows and the factor L of their kernel matrix, rows have the features ``f(x) = L^-1 k_r(x)``. The process
is a regression on these with independent weights of variance 1 (Rasmussen and Williams 2006, 8.3: subset of
regressors), noise nu, and a variance that counts what the pivots leave unexplained:

    m(x) = mean + f A^-1 F^T (g - mean),    v(x) = nu + nu f A^-1 f^T + k(x, x) - ||f||^2,    A = F^T F + nu I.

Pivots are taken until they explain all rows but for a small share of the noise, or there are `MOST_PIVOTS`. The rows of
a fold are judged without it by ``A - F_fold^T F_fold``: no second fit. The distance of two rows is Fisher and Rao's
between their Gaussians. What lies between the rows is not looked at, so structure among rows with the same target comes
from the Euclidean part of the tensor (supervision < 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh, eigvalsh, solve_triangular

from prismap._util.blocks import row_blocks
from prismap._util.grid import sum_products
from prismap._util.threads import on_one_thread
from prismap.metrics._anchors import MomentAnchors
from prismap.metrics._geometry import FittedIndex, VectorMetric
from prismap.metrics.posteriors._base import Posterior
from prismap.metrics.posteriors._evidence import Kernel, Warp, evidence_rows, find_kernel
from prismap.metrics.posteriors._gaussian_process import fisher_rao, pivoted_cholesky
from prismap.metrics.posteriors._rowwise import StateBlock, StateRows
from prismap.target import RealTarget

#: Pivots at most.
MOST_PIVOTS = 600


# --- one process ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowRegression:
    """A fitted process: moments of rows from their scaled squared distances to the pivots.

    Attributes
    ----------
    kernel, warp : of the process, and of the target.
    means : what `Kernel` needs of the pivots.
    weights : ``L^-T A^-1 F^T (g - mean)``, so that no features are needed.
    root : ``||root k||^2`` is what is known of g at a row beforehand minus what is left open: triangular in effect.
    mean : of g over the rows that were learnt from.
    """

    kernel: Kernel
    warp: Warp
    means: np.ndarray
    weights: np.ndarray
    root: np.ndarray
    mean: float

    def moments(self, Q):
        """Means and variances (noise included) of g at rows, each row summed by itself."""
        k = self.kernel.of_profiles(Q, self.means)
        known = np.square(sum_products(k, self.root.T)).sum(axis=1)
        left = np.maximum(self.kernel.of_rows(Q, self.means) - known, 0)
        return self.mean + sum_products(k, self.weights[:, None])[:, 0], self.kernel.noise + left


@on_one_thread
def fit_rows(kernel, warp, Q_pivots, Q, g, folds):
    """(process, m, v): the process of rows with warped targets g, and its moments at each of them.

    Q_pivots : scaled squared distances between the pivots. Q : those of the rows to the pivots. folds : fold of each
    row, which is judged without it; None gives in-sample moments.
    """
    means = Q_pivots.mean(axis=1)
    K, n_pivots = kernel.of_profiles(Q_pivots, means), len(Q_pivots)
    inverse = solve_triangular(steady_cholesky(K), np.eye(n_pivots), lower=True)
    F = kernel.of_profiles(Q, means) @ inverse.T
    left = np.maximum(kernel.of_rows(Q, means) - np.einsum("ij,ij->i", F, F), 0)
    gram = F.T @ F + kernel.noise * np.eye(n_pivots)
    m, v = np.empty((2, len(g)))
    for fold in [None] if folds is None else np.unique(folds):
        out = np.arange(len(g)) if fold is None else np.flatnonzero(folds == fold)
        kept = out if fold is None else np.flatnonzero(folds != fold)
        part, mean = F[out], float(g[kept].mean())
        C = cholesky(gram if fold is None else gram - part.T @ part, lower=True)
        half = solve_triangular(C, part.T, lower=True)
        m[out] = mean + half.T @ solve_triangular(C, F[kept].T @ (g[kept] - mean), lower=True)
        v[out] = kernel.noise * (1 + np.einsum("ij,ij->j", half, half)) + left[out]
    mean, (values, vectors) = float(g.mean()), eigh(gram, check_finite=False)
    weights = inverse.T @ (vectors @ (vectors.T @ (F.T @ (g - mean)) / values))
    # ||f||^2 - nu f A^-1 f^T, without the directions of which next to nothing is known after all rows.
    learnt = 1 - kernel.noise / values
    known = learnt > 1e-4
    root = (np.sqrt(learnt[known]) * vectors[:, known]).T @ inverse
    return RowRegression(kernel, warp, means, weights, root, mean), m, v


def steady_cholesky(K):
    """The lower factor of K with as little on its diagonal as it needs: more where distances are not Euclidean."""
    unit = float(np.trace(K)) / len(K) * np.eye(len(K))
    for jitter in (1e-10, 1e-7):
        try:
            return cholesky(K + jitter * unit, lower=True)
        except LinAlgError:
            continue
    return cholesky(K + (1e-4 - min(0.0, float(eigvalsh(K)[0])) / unit[0, 0]) * unit, lower=True)


def choose_pivots(K, noise):
    """Rows that explain the others of a kernel matrix but for 1 % of the noise, at most `MOST_PIVOTS`; sorted."""
    _, rows, rank = pivoted_cholesky(K, 0.01 * noise)
    return np.sort(rows[: min(max(rank, 1), MOST_PIVOTS)])


class ScaledRows:
    """The data's own rows with other scales of their columns: squared distances of rows to some of the fitted ones."""

    def __init__(self, data, scales):
        self.data, self.scales = data, scales
        if len(scales) > 1:
            self.data = VectorMetric().over(data.raw().astype(np.float64) * np.sqrt(scales)).filled()

    @property
    def factor(self):
        """What is left to multiply."""
        return 1.0 if len(self.scales) > 1 else float(self.scales[0])

    def given(self, rows):
        """New rows in these scales."""
        if isinstance(rows, FittedIndex) or len(self.scales) == 1:
            return rows
        return np.asarray(rows, dtype=np.float64) * np.sqrt(self.scales)

    def squared(self, rows, pivots, self_similarity=None):
        """Squared distances of rows, new ones or a `FittedIndex`, to the fitted rows `pivots`."""
        D2 = self.data.squared_to(self.given(rows), pivots, self_similarity)
        return self.factor * np.maximum(D2, 0).astype(np.float64)

    def anchored(self, pivots):
        """The same for new rows that are to be placed, the same bits in any batch: a function of rows."""
        anchors = self.data.to_anchors(pivots)
        return lambda rows: self.factor * anchors.see(self.given(rows)).squared.astype(np.float64)


# --- all targets, rows and pairs --------------------------------------------------------------------------------------


def moment_lengths(one, two):
    """Fisher-Rao lengths between means and variances over the last axis; squares add over targets, the last but one."""
    total = sum(
        fisher_rao(one[..., t, 0], one[..., t, 1], two[..., t, 0], two[..., t, 1]) ** 2 for t in range(one.shape[-2])
    )
    return np.sqrt(total)


class RowProcess(Posterior):
    """A Gaussian process for each real target, at the rows; extreme values are drawn in, skewed targets straightened.

    Its kernel is smooth, with a linear part and a scale per column where the evidence asks for them.

    Parameters
    ----------
    n_support : int or None, default=None
        Rows that the process learns from; None takes all rows with a target up to 4000.

    Examples
    --------
    >>> import numpy as np
    >>> from prismap.metrics import FisherMetric, RowProcess
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> metric = FisherMetric(posterior=RowProcess(), supervision=0.8, perplexity=10).fit(X, np.exp(X[:, 0]))
    >>> metric.posterior_.warps[0].is_logarithm
    True
    """

    name, targets, at_rows, anchors = "gp", (RealTarget,), True, MomentAnchors

    def __init__(self, n_support=None):
        self.n_support = n_support

    def fit(self, context):
        """Find the kernels, and judge every fitted row by the process that never saw its fold."""
        support = context.support
        seen = support[evidence_rows(context.target.take(support), context.rng)]
        data = context.data.filled()
        Q = np.maximum(data.squared_to(FittedIndex(seen), seen), 0).astype(np.float64)
        X = dense_rows(data, seen)
        kernels = [find_kernel(Q, column, X) for column in context.numbers[seen].T]
        self._take(context, [kernel for _, kernel in kernels])
        self.pivots = [self._pivots(context, t, kernel) for t, (_, kernel) in enumerate(kernels)]
        learnt = [self._learn(context, t, *one) for t, one in enumerate(kernels)]
        self.regressions = [one for one, _ in learnt]
        return self._hold(context, np.stack([state for _, state in learnt], axis=1))

    def _take(self, context, kernels):
        self.data = context.data.filled()
        self.fields = [ScaledRows(self.data, kernel.scales) for kernel in kernels]

    def _pivots(self, context, t, kernel, most_rows=2000):
        """Fitted rows that carry the process of a target, out of at most so many."""
        pool = context.support
        if len(pool) > most_rows:
            pool = np.sort(context.rng.choice(pool, most_rows, replace=False))
        Q = self.fields[t].squared(FittedIndex(pool), pool)
        return pool[choose_pivots(kernel.of_profiles(Q, Q.mean(axis=1)), kernel.noise)]

    def _learn(self, context, t, warp, kernel):
        """The process of one target and the moments (n, 2) of all fitted rows."""
        field, pivots, support = self.fields[t], self.pivots[t], context.support
        g = warp(context.numbers[support, t])
        Q_pivots, Q = (field.squared(FittedIndex(rows), pivots) for rows in (pivots, support))
        one, m, v = fit_rows(kernel, warp, Q_pivots, Q, g, context.support_folds)
        state = np.empty((context.data.n_rows_, 2))
        state[support] = np.stack([m, v], axis=1)
        others = np.setdiff1d(np.arange(len(state)), support)
        for block in row_blocks(len(others), 1.0, 2048):
            rows = others[block]
            state[rows] = np.stack(one.moments(field.squared(FittedIndex(rows), pivots)), axis=1)
        return one, state

    def _hold(self, context, states):
        self.rule, self.order = context.rule_at_rows(self.name), np.arange(len(states))
        self.judged = f"{process_words(self.regressions)}, {context.judged}"
        self.rows = StateRows.of(states)
        return self

    @property
    def warps(self):
        """What each target went through."""
        return [one.warp for one in self.regressions]

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        self.data.require_self_similarity(self_similarity)
        parts = [
            one.moments(field.squared(rows, pivots, self_similarity))
            for one, field, pivots in zip(self.regressions, self.fields, self.pivots, strict=True)
        ]
        return StateRows.of(stacked_moments(parts))

    def fitted_states(self):
        """Means and variances (n, targets, 2) of the fitted rows."""
        return self.rows.state

    def new_states(self, rows):
        """The same of new rows that are to be placed: the same bits in any batch."""
        return stacked_moments(one.moments(see(rows)) for one, see in zip(self.regressions, self.placed, strict=True))

    @cached_property
    def placed(self):
        """How each target's process sees new rows that are to be placed."""
        return [field.anchored(pivots) for field, pivots in zip(self.fields, self.pivots, strict=True)]

    def pair_lengths(self, one, two):
        """Distances between states of rows, over the last two axes."""
        return moment_lengths(one, two)

    def block(self, A, B):
        """The pairs of two sets of rows."""
        return StateBlock(A.state, B.state, moment_lengths)

    def moments(self, rows):
        """Means and variances of the targets at rows, in the targets' own units."""
        parts = [warp.moments(rows.state[:, t, 0], rows.state[:, t, 1]) for t, warp in enumerate(self.warps)]
        means, variances = zip(*parts, strict=True)
        return np.stack(means, axis=1), np.stack(variances, axis=1)

    def state(self):
        """The processes as arrays, one behind the other, and the moments of the fitted rows."""
        parts = self.regressions
        return {
            "process_states": self.rows.state,
            "process_numbers": np.array([[one.mean, *one.kernel.numbers, *one.warp.array()] for one in parts]),
            "process_sizes": np.array([[len(one.kernel.scales), *one.root.shape] for one in parts]),
            "process_scales": np.concatenate([one.kernel.scales for one in parts]),
            "process_pivots": np.concatenate(self.pivots),
            "process_means": np.concatenate([one.means for one in parts]),
            "process_weights": np.concatenate([one.weights for one in parts]),
            "process_root": np.concatenate([one.root.ravel() for one in parts]),
        }

    def restore(self, context, state):
        """From the arrays of `state`."""
        scales, directions, pivots = state["process_sizes"].T
        pieces = {
            name: np.split(state[f"process_{name}"], np.cumsum(sizes)[:-1])
            for name, sizes in {
                "scales": scales, "pivots": pivots, "means": pivots, "weights": pivots, "root": directions * pivots,
            }.items()
        }  # fmt: skip
        self.pivots, self.regressions = pieces["pivots"], []
        for t, (mean, signal, linear, noise, *warp) in enumerate(state["process_numbers"].tolist()):
            kernel = Kernel(pieces["scales"][t], signal, linear, noise)
            root = pieces["root"][t].reshape(directions[t], pivots[t])
            if not (kernel.scales >= 0).all() or min(signal, linear) < 0 or noise <= 0:
                raise ValueError("the kernel of its process has negative numbers")
            self.regressions.append(
                RowRegression(kernel, Warp(*warp), pieces["means"][t], pieces["weights"][t], root, mean)
            )
        if state["process_states"].shape != (context.data.n_rows_, len(self.regressions), 2):
            raise ValueError("its process does not go with its rows")
        self._take(context, [one.kernel for one in self.regressions])
        return self._hold(context, state["process_states"])


def stacked_moments(parts):
    """Means and variances (n, targets, 2) from a pair of them for each target."""
    return np.stack([np.stack(part, axis=1) for part in parts], axis=1)


def process_words(regressions):
    """What is worth knowing of the processes, in words."""
    words = ["at the rows"]
    if any(one.warp.is_logarithm for one in regressions):
        words.append("of the logarithm of a skewed target")
    if any(len(one.kernel.scales) > 1 for one in regressions):
        words.append("with a scale per column")
    if any(one.kernel.linear > 0 for one in regressions):
        words.append("with a linear part")
    return ", ".join(words)


def dense_rows(data, index):
    """Vectors whose columns may have scales of their own; None where there are none."""
    if data.is_matrix or sp.issparse(data.rows_):
        return None
    return data.rows_[index].astype(np.float64)
