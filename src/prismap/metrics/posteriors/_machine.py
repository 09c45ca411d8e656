"""A least-squares support vector machine on profiles as posterior, with its cross-validated scores in closed form.

With ``K = exp(-gamma q)`` between support rows and one-hot targets T, the machine of ridge lambda is
``alpha = H T``, ``H = (K + lambda I)^{-1}``. The scores of a fold F by the machine that never saw F need no second fit:

    s_F = T_F - H_FF^{-1} alpha_F        (block leave-one-out of kernel ridge regression).

Scores become probabilities by a softmax whose temperature minimises the out-of-fold log-loss; gamma and lambda minimise
it too. Only squared profiles enter, so vectors, similarities and dissimilarities are served alike, and a new row costs
one matrix product.

Where there are more rows than the kernel matrix has room for, kernels stand at m landmarks only, and the targets of all
n rows are fitted: with ``K`` the (n, m) kernels of all rows against the landmarks and ``L`` the (m, m) ones between
landmarks,

    alpha = (K^T K + lambda L)^{-1} K^T T        (subset of regressors).

Folds much smaller than m need one factorisation for all of them: with ``A = K^T K + lambda L`` and the hat matrix
``H = K A^{-1} K^T``,

    s_F = T_F - (I - H_FF)^{-1} (T_F - K_F alpha)        (block leave-one-out of penalised least squares).

For larger ones ``K^T K`` is kept as a sum over folds, and a machine that never saw a fold is the same solution without
that fold's part. Either way two passes over the rows serve all folds. Time O(n m^2) up to 200,000 rows and O(n m)
beyond, memory O(m^2), with large folds O(folds m^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotri

from prismap._util.blocks import row_blocks
from prismap._util.evidence import first_of_equals
from prismap._util.grid import sum_products
from prismap._util.threads import on_one_thread, parallel_map
from prismap.metrics._geometry import FittedIndex
from prismap.metrics.posteriors._rowwise import RowPosterior, best_temperature, log_loss, softmax

#: Landmarks of a machine that is fitted on more rows than the metric has support.
N_LANDMARKS = 2000
N_FOLDS = 10
#: Labelled rows that it is fitted on at most: a hundred for each landmark. Others are predicted by a machine that never
#: saw them.
MOST_FITTED = 200_000


@dataclass(frozen=True)
class LeastSquaresSVM:
    """A fitted machine: scores of profiles, and probabilities from scores."""

    coefficients: np.ndarray
    mean: np.ndarray
    gamma: float
    temperature: float
    landmarks: np.ndarray

    def probabilities(self, Q):
        """Class probabilities of rows from their squared profiles against the landmarks."""
        return softmax(self.temperature * self.scores(Q))

    def scores(self, Q):
        """One score per class: 1 for a certain member, 0 for a certain non-member."""
        return sum_products(np.exp(Q * Q.dtype.type(-self.gamma)), self.coefficients) + self.mean


def fit_lssvm(Q, codes, n_classes, folds, rng, support):
    """The machine fitted on all support rows, its landmarks, and the out-of-fold probabilities of these rows.

    Q : squared distances between the support rows. folds : fold of each, or None for in-sample probabilities. support :
    indices of the support among the fitted rows.
    """
    Q = np.maximum(Q.astype(np.float64), 0)
    judged = folds if folds is not None else folds_by_profile(Q, codes)
    gamma, ridge = search(Q, codes, n_classes, judged, rng)
    coefficients, mean, scores = solve(Q, codes, n_classes, judged, gamma, ridge)
    temperature = best_temperature(scores, codes)
    machine = LeastSquaresSVM(coefficients, mean, gamma, temperature, support)
    return machine, softmax(temperature * scores) if folds is not None else machine.probabilities(Q)


def folds_by_profile(Q, codes, n_folds=10):
    """Folds for the search of width and ridge where none are given: the order of the rows does not matter for them."""
    folds = np.empty(len(codes), dtype=np.intp)
    folds[np.lexsort((Q.mean(axis=1), codes))] = np.arange(len(codes)) % n_folds
    return folds


@on_one_thread
def search(Q, codes, n_classes, folds, rng):
    """Width and ridge with the smallest out-of-fold log-loss: a coarse grid, then half and double the best width.

    Widths are in units of 1 / (half the mean squared distance). Sixty support rows per class are enough to tell.
    """
    rows = np.arange(len(codes))
    most = int(np.clip(60 * n_classes, 600, 2000))
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    Q, codes, folds = Q[np.ix_(rows, rows)], codes[rows], folds[rows]
    unit = 2.0 / (float(Q.mean()) or 1.0)
    losses = {}

    def try_width(width):
        for ridge in (0.01, 0.1, 1.0):
            _, _, scores = solve(Q, codes, n_classes, folds, width * unit, ridge)
            losses[width, ridge] = log_loss(softmax(best_temperature(scores, codes) * scores), codes)

    for width in (0.25, 1.0, 4.0):
        try_width(width)
    best = smoothest_of_best(losses)[0]
    for width in (best / 2, best * 2):
        try_width(width)
    width, ridge = smoothest_of_best(losses)
    return width * unit, ridge


def smoothest_of_best(losses):
    """The (width, ridge) with the smallest loss; of near equals the smoothest, with small width and large ridge."""
    tried = sorted(losses, key=lambda one: (one[0], -one[1]))
    return tried[first_of_equals([losses[one] for one in tried])]


def solve(Q, codes, n_classes, folds, gamma, ridge):
    """Coefficients, mean target, and the scores of every row by the machine that never saw its fold."""
    targets = np.eye(n_classes)[codes]
    mean = targets.mean(axis=0)
    K = np.exp(-gamma * Q)
    K[np.diag_indices_from(K)] += ridge
    H = lower_inverse(K)
    coefficients = dsymm(1.0, H, targets - mean, lower=True)
    scores = np.empty_like(targets)
    for fold in np.unique(folds):
        rows = np.flatnonzero(folds == fold)
        own = np.tril(H[np.ix_(rows, rows)])
        own += np.tril(own, -1).T
        scores[rows] = targets[rows] - np.linalg.solve(own, coefficients[rows])
    return coefficients, mean, scores


def lower_inverse(K):
    """The lower triangle of the inverse of a symmetric matrix: by Cholesky where it is positive definite.

    That is half the work. Kernels on dissimilarities that are no distances between points need not be.
    """
    factor, failed = dpotrf(K.T, lower=True, clean=True)  # the transpose, for LAPACK wants columns
    if failed:
        return np.linalg.inv(K)
    return dpotri(factor, lower=True, overwrite_c=True)[0]


# --- many rows --------------------------------------------------------------------------------------------------------


def fit_on_all_rows(geometry, target, rng, *, cross_fit=True):
    """A machine with a sample of the labelled rows as landmarks, fitted on many of them: (machine, probabilities).

    The probabilities (n, C) are those of all rows: each labelled one's by the machine that never saw its fold (of the
    machine itself without `cross_fit`).
    """
    codes, n_classes = target.values, len(target.classes)
    landmarks, labelled = target.draw(N_LANDMARKS, rng), target.labelled_rows
    if len(labelled) > MOST_FITTED:
        labelled = np.sort(rng.choice(labelled, MOST_FITTED, replace=False))
    L = np.maximum(geometry.squared_to(FittedIndex(landmarks), landmarks), 0).astype(np.float64)
    gamma, ridge = search(L, codes[landmarks], n_classes, np.arange(len(landmarks)) % N_FOLDS, rng)
    folds = np.full(len(codes), -1, dtype=np.intp)
    folds[labelled] = target.folds(labelled, N_FOLDS, rng)
    mean = np.bincount(codes[labelled], minlength=n_classes) / len(labelled)

    def kernels(rows):
        return np.exp(np.maximum(geometry.squared_to(FittedIndex(rows), landmarks), 0) * geometry.dtype.type(-gamma))

    if len(codes) <= 6 * len(landmarks):  # few enough to be kept, for they are asked for twice
        kernels = kernels(np.arange(len(codes))).__getitem__
    penalty = ridge * np.exp(-gamma * L)
    targets = np.eye(n_classes)[codes] - mean
    whole, scores = fit_without_folds(kernels, targets, folds, penalty, cross_fit=cross_fit)
    rows = np.flatnonzero(folds < 0) if cross_fit else np.arange(len(codes))
    for block in row_blocks(len(rows), 24.0 * len(landmarks)):
        scores[rows[block]] = kernels(rows[block]) @ whole.astype(geometry.dtype)
    scores += mean
    temperature = best_temperature(scores[labelled], codes[labelled])
    return LeastSquaresSVM(whole, mean, gamma, temperature, landmarks), softmax(temperature * scores)


def fit_without_folds(kernels, targets, folds, penalty, *, cross_fit=True):
    """Coefficients (m, C) of the machine of all rows that have a fold, and their scores (n, C) without their fold.

    kernels : the (rows, m) kernels of some rows. targets : (n, C), centred. penalty : ``lambda L``.
    """
    # Up to half as many rows as landmarks in a fold the closed form is about as fast, and it holds far less.
    if 2 * np.bincount(folds[folds >= 0]).max() <= len(penalty):
        try:
            return fit_small_folds(kernels, targets, folds, penalty, cross_fit=cross_fit)
        except LinAlgError:  # no points have such distances between landmarks
            pass
    return fit_large_folds(kernels, targets, folds, penalty, cross_fit=cross_fit)


def fit_small_folds(kernels, targets, folds, penalty, *, cross_fit=True):
    """`fit_without_folds` by one factorisation, in closed form; LinAlgError if there is none by Cholesky."""
    product, moment = normal_equations(kernels, targets, np.where(folds < 0, -1, 0), len(penalty), 1)
    factor = cholesky(with_trace(product[0] + penalty), lower=True, overwrite_a=True, check_finite=False)
    whole, scores = cho_solve((factor, True), moment[0], check_finite=False), np.empty(targets.shape)

    def leave_out(fold):
        rows = np.flatnonzero(folds == fold)
        K = kernels(rows).astype(np.float64)
        W = solve_triangular(factor, K.T, lower=True, check_finite=False)
        left = np.linalg.solve(np.eye(len(rows)) - W.T @ W, targets[rows] - K @ whole)
        scores[rows] = targets[rows] - left

    parallel_map(leave_out, range(folds.max() + 1) if cross_fit else ())
    return whole, scores


def fit_large_folds(kernels, targets, folds, penalty, *, cross_fit=True):
    """`fit_without_folds` by one solution for each fold, without its part of the sums."""
    n_folds = folds.max() + 1
    products, moments = normal_equations(kernels, targets, folds, len(penalty), n_folds)
    product, moment, scores = products.sum(axis=0), moments.sum(axis=0), np.empty(targets.shape)

    def leave_out(fold):
        coefficients = solve_normal(product - products[fold], moment - moments[fold], penalty)
        rows = np.flatnonzero(folds == fold)
        for block in row_blocks(len(rows), 24.0 * len(penalty)):
            K = kernels(rows[block])
            scores[rows[block]] = K @ coefficients.astype(K.dtype)

    parallel_map(leave_out, range(n_folds) if cross_fit else ())
    return solve_normal(product, moment, penalty), scores


def normal_equations(kernels, targets, folds, n_landmarks, n_folds):
    """``K^T K`` (folds, m, m) and ``K^T T`` (folds, m, C) of the rows of each fold."""
    products = np.zeros((n_folds, n_landmarks, n_landmarks))
    moments = np.zeros((n_folds, n_landmarks, targets.shape[1]))

    def add(fold):
        rows = np.flatnonzero(folds == fold)
        for block in row_blocks(len(rows), 24.0 * n_landmarks):
            K = kernels(rows[block]).astype(np.float64)
            products[fold] += K.T @ K
            moments[fold] += K.T @ targets[rows[block]]

    parallel_map(add, range(n_folds))
    return products, moments


def solve_normal(product, moment, penalty):
    """``(K^T K + lambda L)^{-1} K^T T``: by Cholesky, or by elimination where ``L`` is not positive definite."""
    A = with_trace(product + penalty)
    try:
        return cho_solve((cholesky(A, lower=True, check_finite=False), True), moment, check_finite=False)
    except LinAlgError:
        return np.linalg.solve(A, moment)


def with_trace(A):
    """A matrix, changed: with a trace on its diagonal, for kernels of near landmarks are nearly equal."""
    A[np.diag_indices_from(A)] += 1e-10 * np.trace(A) / len(A)
    return A


# --- the posterior ----------------------------------------------------------------------------------------------------


class LeastSquaresMachine(RowPosterior):
    """A least-squares support vector machine on the support's profiles, cross-fitted in closed form.

    Parameters
    ----------
    n_support : int or None, default=None
        Support rows. None takes all labelled rows up to 4000; where there are more, the machine stands on 2000
        landmarks and is fitted to all of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from prismap.metrics import FisherMetric
    >>> metric = FisherMetric(posterior=LeastSquaresMachine(), supervision=0.8, random_state=0)
    >>> metric.fit(*load_iris(return_X_y=True)).pairwise().shape
    (150, 150)
    """

    name = "lssvm"

    def __init__(self, n_support=None):
        self.n_support = n_support

    def fit(self, context):
        """Fit the machine, and judge every fitted row by the machine that never saw its fold."""
        self._take(context)
        data, codes, support, n_classes = self.data, context.codes, context.support, context.n_classes
        if self.n_support is None and np.count_nonzero(codes >= 0) > len(support):
            self.machine, P = fit_on_all_rows(data, context.target, context.rng, cross_fit=context.cross_fit)
            return self.hold(context, P)
        Q = data.squared_to(FittedIndex(support), support)
        self.machine, of_support = fit_lssvm(Q, codes[support], n_classes, context.support_folds, context.rng, support)
        return self.hold_support(context, of_support)

    def _take(self, context):
        # A machine on filled values is better than one on distances over the columns that two rows have in common.
        self.data, self.judged = context.data.filled(), context.judged

    def predict(self, rows, self_similarity=None):
        """Class probabilities of new rows, or of fitted ones by their index."""
        Q = self.data.squared_to(rows, self.machine.landmarks, self_similarity)
        return self.machine.probabilities(np.maximum(Q, 0))

    def new_roots(self, rows, own=None):
        """Square roots of the class probabilities of new rows, by the squared distances that place them."""
        if own is None or not own.is_complete or not np.array_equal(own.anchors.anchors, self.machine.landmarks):
            own = self.landmarks.see(rows)
        return np.sqrt(self.machine.probabilities(own.squared).astype(np.float64))

    @cached_property
    def landmarks(self):
        """The machine's landmarks, as new rows are compared with them."""
        return self.data.to_anchors(self.machine.landmarks)

    def state(self):
        """The machine, and the fitted rows' own probabilities."""
        machine = {f"machine_{name}": np.asarray(value) for name, value in vars(self.machine).items()}
        return {**machine, "probabilities": self.fitted_probabilities}

    def restore(self, context, state):
        """From the arrays of `state`."""
        self._take(context)
        self.machine = LeastSquaresSVM(
            state["machine_coefficients"], state["machine_mean"], float(state["machine_gamma"]),
            float(state["machine_temperature"]), state["machine_landmarks"],
        )  # fmt: skip
        return self.hold(context, state["probabilities"])
