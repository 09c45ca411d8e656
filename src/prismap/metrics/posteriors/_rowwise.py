"""Posteriors known at the rows only: states of rows, class probabilities with the arcs between them, calibration.

A least-squares support vector machine, or any classifier with ``predict_proba``, gives each row its class
probabilities; the distance of two rows is the arc between their square roots, the chord rule with one sub-segment. What
lies between the rows is not looked at, so structure inside a class comes from the Euclidean part of the tensor
(supervision < 1).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from prismap.metrics._anchors import FittedIndex, RowwiseAnchors
from prismap.metrics._segments import arc
from prismap.metrics.posteriors._base import Posterior

#: The least probability that counts in a log-loss.
LEAST_CHANCE = 1e-12


@dataclass(frozen=True)
class StateRows:
    """What is known at some rows, (n, ...); fold is -1 throughout, since it does not depend on the other row."""

    state: np.ndarray
    fold: np.ndarray

    def __len__(self):
        return len(self.fold)

    @classmethod
    def of(cls, state):
        """Rows from what is known of them."""
        return cls(state, np.full(len(state), -1, dtype=np.intp))

    def take(self, index):
        """Some of the rows."""
        return StateRows(self.state[index], self.fold[index])


@dataclass(frozen=True)
class StateBlock:
    """Distances between what is known at two sets of rows, tile by tile.

    lengths : ``lengths(a, b)``, distances of states (n, 1, ...) and (1, m, ...).
    """

    state_a: np.ndarray
    state_b: np.ndarray
    lengths: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def sub_lengths(self, a, b):
        """The one sub-segment's length for the pairs of two slices."""
        yield self.lengths(self.state_a[a][:, None], self.state_b[b][None])


@dataclass(frozen=True)
class RootRows:
    """Square roots of class probabilities (n, C) of some rows; fold is -1 throughout, as in `StateRows`."""

    root: np.ndarray
    fold: np.ndarray
    dtype: np.dtype

    def __len__(self):
        return len(self.root)

    @classmethod
    def of(cls, P, dtype):
        """Rows from their probabilities; `dtype` is that of the distances."""
        root = np.sqrt(np.asarray(P, dtype=np.float64))
        return cls(root, np.full(len(root), -1, dtype=np.intp), np.dtype(dtype))

    def take(self, index):
        """Some of the rows."""
        return RootRows(self.root[index], self.fold[index], self.dtype)


class RowPosterior(Posterior):
    """Class probabilities at the rows. A subclass writes `fit`, which ends with `hold`, and `predict`."""

    at_rows, anchors = True, RowwiseAnchors

    @abstractmethod
    def predict(self, rows, self_similarity=None):
        """Class probabilities of new rows, or of fitted ones by their index."""

    def hold(self, context, P):
        """Keep the probabilities of the fitted rows and become fitted."""
        self.rule, self.order = context.rule_at_rows(self.name), np.arange(len(P))
        self.dtype, self.fitted_probabilities = np.dtype(context.data.dtype), P
        self.rows = RootRows.of(P, self.dtype)
        return self

    def hold_support(self, context, of_support):
        """The same from the probabilities of the support rows; all other rows are predicted."""
        P = np.empty((context.data.n_rows_, context.n_classes))
        P[context.support] = of_support
        others = np.setdiff1d(np.arange(len(P)), context.support)
        if len(others):
            P[others] = self.predict(FittedIndex(others))
        return self.hold(context, P)

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return RootRows.of(self.predict(rows, self_similarity), self.dtype)

    def fitted_roots(self):
        """Square roots of the fitted rows' probabilities."""
        return self.rows.root

    def new_roots(self, rows, own=None):
        """The same of new rows that are to be placed; `own` is how the data's own metric saw them."""
        return self.new(rows).root

    def probabilities(self, rows):
        """Class probabilities of rows."""
        return (rows.root**2).astype(rows.dtype)

    def block(self, A, B):
        """The pairs of two sets of rows."""
        return RootBlock(A.root, B.root, A.dtype)


@dataclass(frozen=True)
class RootBlock:
    """Arcs between two sets of rows, tile by tile."""

    root_a: np.ndarray
    root_b: np.ndarray
    dtype: np.dtype

    def sub_lengths(self, a, b):
        """The one sub-segment's length for the pairs of two slices.

        ``||r - r'||^2 = 2 - 2 r.r'`` by one product, in double precision: half of its digits are plenty for an arc.
        """
        gap = self.root_a[a] @ self.root_b[b].T
        gap *= -2
        gap += 2
        yield arc(np.maximum(gap, 0).astype(self.dtype, copy=False))


# --- calibration ------------------------------------------------------------------------------------------------------


def best_temperature(scores, codes):
    """The factor on the scores with the smallest log-loss."""
    best = minimize_scalar(lambda t: log_loss(softmax(np.exp(t) * scores), codes), bounds=(-2.0, 4.5), method="bounded")
    return float(np.exp(best.x))


def softmax(scores):
    """Row-wise softmax."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def log_losses(P, codes):
    """Negative log-probabilities of the true classes; a class given no chance counts as one in 10^12."""
    return -np.log(np.maximum(P[np.arange(len(codes)), codes], LEAST_CHANCE))


def log_loss(P, codes):
    """Their mean."""
    return float(log_losses(P, codes).mean())
