"""Linear discriminants as posterior: one covariance for all classes, with its out-of-fold scores from sums over folds.

With means m_c and shares pi_c of the classes, and the covariance W within them in columns of variance 1 there, drawn
towards a sphere (Friedman 1989, eq. 18 with one covariance; D columns),

    s_c(x) = <S^-1 m_c, x> - <S^-1 m_c, m_c> / 2 + log pi_c,    S = (1 - g) W + g tr(W) / D I.

It has one number per class and column to learn, where a machine on profiles has one per class and row, so it is ahead
where rows are few: many columns, small classes, categories. Means and covariance come from sums over rows, so a fold is
left out by a difference of sums. Scores become probabilities by a softmax whose temperature minimises the out-of-fold
log-loss; g minimises it too.

Of more columns than `MOST_DIRECTIONS` only the leading principal directions of the support are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from prismap._util.evidence import first_of_equals
from prismap._util.grid import sum_products
from prismap._util.spectra import leading_eigenpairs
from prismap._util.threads import on_one_thread
from prismap.metrics._geometry import FittedIndex
from prismap.metrics.posteriors._rowwise import RowPosterior, best_temperature, log_loss, softmax

#: Shares of the sphere in the covariance that are tried.
SPHERES = (0.9, 0.6, 0.3, 0.1, 0.01)
MOST_DIRECTIONS = 300


@dataclass(frozen=True)
class Sums:
    """Sums over some rows: products of their columns (D, D), columns of each class (C, D), and rows of each class."""

    products: np.ndarray
    columns: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, X, targets):
        """Those of rows X with one-hot targets."""
        return cls(X.T @ X, targets.T @ X, targets.sum(axis=0))

    def without(self, other):
        """Those of the rows that are not among the other's."""
        return Sums(self.products - other.products, self.columns - other.columns, self.counts - other.counts)

    def discriminant(self, sphere):
        """Slopes (D, C) and offsets (C,) of the scores; a class without rows has an offset of minus infinity."""
        rows = np.maximum(self.counts, 1)[:, None]
        means = self.columns / rows
        W = self.products - means.T @ self.columns
        S = (1 - sphere) * W
        S[np.diag_indices_from(S)] += sphere * (float(np.trace(W)) / len(W) or 1.0)
        S /= max(self.counts.sum() - np.count_nonzero(self.counts), 1.0)
        slopes = np.linalg.solve(S, means.T)
        with np.errstate(divide="ignore"):
            shares = np.log(self.counts / self.counts.sum())
        return slopes, shares - np.einsum("cd,dc->c", means, slopes) / 2


def likelihoods(scores, farthest=30.0):
    """Scores relative to the largest of each row, at most so far below it: a class that was left out is not impossible.

    Without that bound one such row would decide on the temperature.
    """
    return np.maximum(scores - scores.max(axis=1, keepdims=True), -farthest)


@on_one_thread
def fit_discriminant(X, codes, n_classes, folds):
    """Slopes (D, C), offsets (C,), the temperature, and the out-of-fold probabilities of rows X."""
    targets = np.eye(n_classes)[codes]
    scales = spreads_within(X, targets)
    Z, directions = leading_directions(X / scales)
    whole, parts = Sums.of(Z, targets), [np.flatnonzero(folds == fold) for fold in np.unique(folds)]
    rests = [whole.without(Sums.of(Z[rows], targets[rows])) for rows in parts]
    tried = []
    for sphere in SPHERES:
        scores = np.empty(targets.shape)
        for rows, rest in zip(parts, rests, strict=True):
            slopes, offsets = rest.discriminant(sphere)
            scores[rows] = likelihoods(Z[rows] @ slopes + offsets)
        temperature = best_temperature(scores, codes)
        tried.append((softmax(temperature * scores), temperature))
    best = first_of_equals([log_loss(P, codes) for P, _ in tried])
    slopes, offsets = whole.discriminant(SPHERES[best])
    slopes = (slopes if directions is None else directions @ slopes) / scales[:, None]
    return slopes, offsets, tried[best][1], tried[best][0]


def spreads_within(X, targets, least=0.01):
    """The standard deviation of each column within classes; 1 for a constant one.

    At least a share of the whole deviation, since a column that tells classes for certain would be all that counts.
    """
    means = targets.T @ X / np.maximum(targets.sum(axis=0), 1)[:, None]
    within = np.maximum((X - targets @ means).std(axis=0), least * X.std(axis=0))
    return np.where(within > 0, within, 1.0)


def leading_directions(Z):
    """Coordinates of rows Z in their leading principal directions, and these (D, k); Z and None of few columns."""
    if Z.shape[1] <= MOST_DIRECTIONS:
        return Z, None
    values, vectors = leading_eigenpairs(Z @ Z.T, min(MOST_DIRECTIONS, len(Z) - 1))
    lengths = np.sqrt(np.maximum(values, 1e-12 * values[0]))
    return vectors * lengths, Z.T @ vectors / lengths


class Discriminant(RowPosterior):
    """Linear discriminants on the support rows, cross-fitted by sums over folds; dense vectors only."""

    name = "discriminant"

    @staticmethod
    def serves(context):
        """Whether there are columns to look at, classes to tell, and folds to judge by."""
        data = context.data
        return bool(context.cross_fit and context.n_classes > 1 and not data.is_matrix and not sp.issparse(data.rows_))

    def fit(self, context):
        """Fit the discriminants, and judge every fitted row by those that never saw its fold."""
        self.data, self.judged, support = context.data.filled(), context.judged, context.support
        X, codes = self.data.rows_[support].astype(np.float64), context.codes[support]
        self.slopes, self.offsets, self.temperature, of_support = fit_discriminant(
            X, codes, context.n_classes, context.support_folds
        )
        return self.hold_support(context, of_support)

    def predict(self, rows, self_similarity=None):
        """Class probabilities of new rows, or of fitted ones by their index."""
        X = self.data.rows_[rows.index] if isinstance(rows, FittedIndex) else self.data.centred(rows)
        scores = sum_products(X.astype(np.float64), self.slopes) + self.offsets
        return softmax(self.temperature * likelihoods(scores))

    def state(self):
        """Slopes, offsets and temperature, what columns are counted from, and the fitted rows' own probabilities."""
        names = ("slopes", "offsets", "temperature")
        own = {f"discriminant_{name}": np.asarray(getattr(self, name)) for name in names}
        return {**own, "discriminant_center": self.data.center, "probabilities": self.fitted_probabilities}

    def restore(self, context, state):
        """From the arrays of `state`. Columns may be counted from elsewhere since, if rows were added to the map."""
        self.data, self.judged = context.data.filled(), context.judged
        self.slopes, moved = state["discriminant_slopes"], self.data.center - state["discriminant_center"]
        self.offsets = state["discriminant_offsets"] + moved.astype(np.float64) @ self.slopes
        self.temperature = float(state["discriminant_temperature"])
        if self.slopes.shape != (self.data.n_features_in_, context.n_classes) or self.offsets.shape != (
            context.n_classes,
        ):
            raise ValueError("its discriminants do not go with its columns and classes")
        return self.hold(context, state["probabilities"])
