"""Lengths of straight segments under any trained model, asked at their nodes (thesis 2.4.1 b).

A classifier with ``predict_proba`` says of a point its class probabilities, a regressor a mean and, where it can, a
standard deviation (``predict(X, return_std=True)``; otherwise the variance of its residuals). The length is the sum of
the distances between what is said at consecutive nodes, arcs between square roots of probabilities or Fisher-Rao
distances of Gaussians: no gradient, nothing of the model's inside.

One sub-segment costs an evaluation a row. T of them cost (T - 1) a pair, so `refined_neighbors` spends them on the
candidates that the first kind finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from prismap._blocks import row_blocks
from prismap._search import smallest
from prismap.exceptions import InputError
from prismap.metrics.gaussian_process import fisher_rao
from prismap.metrics.geometry import FittedIndex
from prismap.metrics.models import aligned_probabilities, model_name, predicted_moments
from prismap.metrics.segments import arc, blend

#: Bytes of interpolated points, and of answers, in hand.
BATCH_BYTES = 32 * 2**20
#: Evaluations of a model for one matrix of distances at most.
MOST_EVALUATIONS = 20_000_000
#: Candidates for each neighbour that is wanted, found with one sub-segment.
CANDIDATES = 3
#: Least variance of a regressor's statement, as a share of the target's.
LEAST_VARIANCE = 1e-6


# --- what a model says, and how far two statements are apart ----------------------------------------------------------


@dataclass(frozen=True)
class ClassReading:
    """Square roots of class probabilities; their distance is the arc between them."""

    classes: np.ndarray

    def __call__(self, model, X):
        """What the model says of rows, (n, C)."""
        return np.sqrt(aligned_probabilities(model, X, self.classes))

    def lengths(self, one, two):
        """Distances between statements, over the last axis."""
        gap = one - two
        return arc(np.einsum("...c,...c->...", gap, gap))


@dataclass(frozen=True)
class RealReading:
    """Mean and variance of each target; their distance is Fisher and Rao's, and squares add over targets.

    variance : (targets,), of the residuals, for models that state no deviation.
    least : (targets,), no statement is surer than this.
    """

    variance: np.ndarray
    least: np.ndarray

    def __call__(self, model, X):
        """What the model says of rows, (n, targets, 2)."""
        mean, deviation = predicted_moments(model, X)
        variance = np.broadcast_to(self.variance, mean.shape) if deviation is None else deviation**2
        return np.stack([mean, np.maximum(variance, self.least)], axis=-1)

    def lengths(self, one, two):
        """Distances between statements, over the last two axes."""
        by_target = fisher_rao(one[..., 0], one[..., 1], two[..., 0], two[..., 1])
        return np.sqrt(np.sum(by_target**2, axis=-1))


def make_reading(metric, values, folded):
    """How the model's statements are read and compared."""
    if metric.target_ == "class":
        return ClassReading(metric.classes_)
    known = metric.support_
    means = folded.each_row(lambda model, X: predicted_moments(model, X)[0], metric.raw_rows_, metric.folds_)[known]
    if means.shape != values[known].shape:
        raise InputError(
            f"the regressor {model_name(folded.whole)} predicts {means.shape[1]} targets and y has {values.shape[1]}: "
            "it was fitted on another target."
        )
    least = LEAST_VARIANCE * values[known].var(axis=0)
    return RealReading(np.maximum(np.mean((values[known] - means) ** 2, axis=0), least), least)


# --- rows, pairs and neighbours ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelRows:
    """Vectors as the model takes them, and the fold each row lies in, -1 for none."""

    X: np.ndarray
    fold: np.ndarray

    def __len__(self):
        return len(self.fold)

    def take(self, index):
        """Some of the rows."""
        return ModelRows(self.X[index], self.fold[index])


class SegmentPosterior:
    """What a model says along straight segments.

    Parameters
    ----------
    name : the model's kind.
    folded : `FoldedModel` with clones for pairs of folds.
    reading : how statements are read and compared.
    rule : `SegmentRule` of the chord kind.
    """

    def __init__(self, name, folded, reading, rule):
        self.name, self.folded, self.reading, self.rule = name, folded, reading, rule

    def states(self, rows):
        """What is said of rows, each by the clone that never saw its fold."""
        return self.folded.each_row(self.reading, rows.X, rows.fold)

    def probabilities(self, rows):
        """Class probabilities of rows."""
        return self.states(rows) ** 2

    def moments(self, rows):
        """Means and variances of real targets at rows."""
        return tuple(np.moveaxis(self.states(rows), -1, 0))

    def block(self, A, B):
        """The pairs of two sets of rows, each from one fold."""
        return SegmentBlock(self, self.folded.without(A.fold[0], B.fold[0]), A.X, B.X)

    def along(self, model, A, B, i, j):
        """The T sub-segment lengths of the segments from rows A[i] to rows B[j], one after another."""
        previous, last = self._ends(model, A, i), self._ends(model, B, j)
        for node in self.rule.nodes():
            here = self.reading(model, (1 - node) * A[i] + node * B[j])
            yield self.reading.lengths(previous, here)
            previous = here
        yield self.reading.lengths(previous, last)

    def _ends(self, model, X, index):
        """What is said of X[index], each row asked about once."""
        rows, place = np.unique(index, return_inverse=True)
        return self.reading(model, X[rows])[place]


class SegmentBlock:
    """Segments between two sets of rows under one model, measured tile by tile."""

    def __init__(self, posterior, model, A, B):
        self.posterior, self.model, self.A, self.B = posterior, model, A, B
        self.ends_a, self.ends_b = posterior.reading(model, A), posterior.reading(model, B)

    def sub_lengths(self, a, b):
        """The T sub-segment lengths (n_a, n_b) of the pairs of two slices, one after another."""
        lengths, previous = self.posterior.reading.lengths, self.ends_a[a][:, None]
        for node in self.posterior.rule.nodes():
            here = self._at(node, self.A[a], self.B[b])
            yield lengths(previous, here)
            previous = here
        yield lengths(previous, self.ends_b[b][None])

    def _at(self, node, A, B):
        parts = []
        for rows in row_blocks(len(A), 8.0 * B.size, BATCH_BYTES):
            points = (1 - node) * A[rows][:, None] + node * B
            said = self.posterior.reading(self.model, points.reshape(-1, B.shape[1]))
            parts.append(said.reshape(*points.shape[:2], *said.shape[1:]))
        return np.concatenate(parts)


@dataclass(frozen=True)
class StateRows:
    """What a model says of some rows; fold is -1 throughout: rows that were judged honestly need no pairing."""

    state: np.ndarray
    fold: np.ndarray

    def __len__(self):
        return len(self.fold)

    def take(self, index):
        """Some of the rows."""
        return StateRows(self.state[index], self.fold[index])


class EndPosterior:
    """Statements at the rows only, compared with each other: one sub-segment."""

    def __init__(self, name, reading):
        self.name, self.reading = name, reading

    def rows(self, state):
        """Rows from what is said of them."""
        return StateRows(state, np.full(len(state), -1, dtype=np.intp))

    def moments(self, rows):
        """Means and variances of real targets at rows."""
        return tuple(np.moveaxis(rows.state, -1, 0))

    def block(self, A, B):
        """The pairs of two sets of rows."""
        return EndBlock(self.reading, A.state, B.state)


@dataclass(frozen=True)
class EndBlock:
    """Distances between the statements of two sets of rows, tile by tile."""

    reading: RealReading
    state_a: np.ndarray
    state_b: np.ndarray

    def sub_lengths(self, a, b):
        """The one sub-segment's length for the pairs of two slices."""
        yield self.reading.lengths(self.state_a[a][:, None], self.state_b[b][None])


def refined_neighbors(metric, source, A, n_neighbors):
    """Nearest fitted rows of A by lengths along segments, among the candidates with the nearest end points."""
    posterior, own = source.posterior, A is None
    rows = source.fitted if own else source.new(A)
    n_candidates = min(CANDIDATES * n_neighbors, metric.n_rows_ - own)
    distances = np.empty((len(rows), n_neighbors), dtype=metric.geometry_.dtype)
    indices = np.empty((len(rows), n_neighbors), dtype=np.intp)
    ends = posterior.states(source.fitted)
    wide = 8.0 * max(ends.size, n_candidates * rows.X.shape[1])
    for block in row_blocks(len(rows), wide, BATCH_BYTES):
        some = rows.take(block)
        index = FittedIndex(np.arange(block.start, block.stop))
        steps = None
        if metric.supervision < 1:
            steps = metric._squared_steps(index if own else A[block], FittedIndex(np.arange(metric.n_rows_)))
        arcs = posterior.reading.lengths(posterior.states(some)[:, None], ends[None])
        D = blend([arcs], 1, metric.supervision, steps)
        if own:
            D[np.arange(len(D)), index.index] = np.inf
        _, candidates = smallest(D, n_candidates)
        near = None if steps is None else np.take_along_axis(steps, candidates, axis=1)
        D = paired_lengths(metric, posterior, some, source.fitted, candidates, near)
        distances[block], columns = smallest(D, n_neighbors)
        indices[block] = np.take_along_axis(candidates, columns, axis=1)
    return distances, indices


def paired_lengths(metric, posterior, rows, fitted, candidates, steps):
    """Lengths (n, m) of the segments of each row to its candidates among the fitted rows."""
    D = np.empty(candidates.shape)
    fold_a, fold_b = np.broadcast_arrays(rows.fold[:, None], fitted.fold[candidates])
    n_folds = max(int(fold_a.max()), int(fold_b.max())) + 2
    kind = ((np.minimum(fold_a, fold_b) + 1) * n_folds + np.maximum(fold_a, fold_b) + 1).ravel()
    for one in np.unique(kind):
        pairs = np.flatnonzero(kind == one)
        i, j = np.unravel_index(pairs, D.shape)
        model = posterior.folded.without(one // n_folds - 1, one % n_folds - 1)
        parts = posterior.along(model, rows.X, fitted.X, i, candidates[i, j])
        D[i, j] = blend(parts, metric.n_segments_, metric.supervision, None if steps is None else steps[i, j])
    return D


def dense(X):
    """Rows as a dense array: points between rows are."""
    return X.toarray() if sp.issparse(X) else X
