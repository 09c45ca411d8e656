"""Any trained model as posterior: at the rows, along straight segments, or by its speeds (Schulz 2017, sec. 2.4.1 b).

A classifier with ``predict_proba`` predicts the class probabilities of a point, a regressor a mean and, where it can, a
standard deviation (``predict(X, return_std=True)``; otherwise the variance of its residuals). The length is the sum of
the distances between the predictions at consecutive nodes, arcs between square roots of probabilities or Fisher-Rao
distances of Gaussians: no gradient, nothing of the model's inside.

One sub-segment costs an evaluation per row. T of them cost (T - 1) per pair, so `SegmentModel.neighbors` spends them on
the candidates that the first kind finds.

In the tangent form (sec. 3.5.4) the speed of a segment at a node is ``sqrt(sum_c p_c (s_c . v)^2)`` with
``s_c = grad log p(c|x)`` of the model and v the whole segment; its length adds up one node per sub-segment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from prismap._util.blocks import row_blocks
from prismap._util.search import smallest
from prismap.exceptions import InputError
from prismap.metrics._geometry import FittedIndex
from prismap.metrics._segments import SegmentRule, arc, blend
from prismap.metrics.posteriors._base import Posterior
from prismap.metrics.posteriors._gaussian_process import fisher_rao
from prismap.metrics.posteriors._gradients import as_doubles, check_gradient
from prismap.metrics.posteriors._models import (
    aligned_gradients,
    aligned_probabilities,
    fold_model,
    model_name,
    model_words,
    predicted_moments,
)
from prismap.metrics.posteriors._rowwise import RowPosterior, StateBlock, StateRows
from prismap.target import ClassTarget, RealTarget, Target

#: Bytes of interpolated points, and of answers, in hand.
BATCH_BYTES = 32 * 2**20
#: Evaluations of a model for one matrix of distances at most.
MOST_EVALUATIONS = 20_000_000


# --- predictions, and how far two of them are apart -----------------------------------------------------------------


@dataclass(frozen=True)
class ClassReading:
    """Square roots of class probabilities; their distance is the arc between them."""

    classes: np.ndarray

    def __call__(self, model, X):
        """The model's predictions for rows, (n, C)."""
        return np.sqrt(aligned_probabilities(model, X, self.classes))

    def lengths(self, one, two):
        """Distances between predictions, over the last axis."""
        gap = one - two
        return arc(np.einsum("...c,...c->...", gap, gap))


@dataclass(frozen=True)
class RealReading:
    """Mean and variance of each target; their distance is Fisher and Rao's, and squares add over targets.

    variance : (targets,), of the residuals, for models that state no deviation.
    least : (targets,), no prediction is surer than this.
    """

    variance: np.ndarray
    least: np.ndarray

    def __call__(self, model, X):
        """The model's predictions for rows, (n, targets, 2)."""
        mean, deviation = predicted_moments(model, X)
        variance = np.broadcast_to(self.variance, mean.shape) if deviation is None else deviation**2
        return np.stack([mean, np.maximum(variance, self.least)], axis=-1)

    def lengths(self, one, two):
        """Distances between predictions, over the last two axes."""
        by_target = fisher_rao(one[..., 0], one[..., 1], two[..., 0], two[..., 1])
        return np.sqrt(np.sum(by_target**2, axis=-1))


def make_reading(context, folded):
    """How a model's predictions are read and compared; the variance of a regressor is at least 1e-6 of the target's."""
    if not isinstance(context.target, RealTarget):
        return ClassReading(context.target.classes)
    known, values = context.support, context.numbers
    read = folded.each_row(lambda model, X: predicted_moments(model, X)[0], context.data.raw(), context.folds)
    means = read[known]
    if means.shape != values[known].shape:
        raise InputError(
            f"the regressor {model_name(folded.whole)} predicts {means.shape[1]} targets and y has {values.shape[1]}: "
            "it was fitted on another target."
        )
    least = 1e-6 * values[known].var(axis=0)
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


class AskedModel(Posterior):
    """What all posteriors share that ask a model.

    Parameters
    ----------
    model : a classifier with ``predict_proba`` or a regressor, fitted or not.
    """

    def __init__(self, model):
        self.model = model

    def most_support(self, target):
        """A model is fitted to all rows there are."""
        return len(target)

    def ask_in_folds(self, context, *, pairs=False):
        """Fit a clone for every fold (or pair of folds) unless the model is fitted, and choose how it is read."""
        self.name, self.data = model_name(self.model), context.data
        self.folded = fold_model(context, self.model, pairs=pairs)
        self.reading, self.judged = make_reading(context, self.folded), model_words(context, self.folded)

    def states_of_fitted(self, context):
        """Predictions for the fitted rows, each by the clone that never saw its fold."""
        return self.folded.each_row(self.reading, self.data.raw(), context.folds)

    def tensor_at(self, X, folds):
        """Factors ``sqrt(p_c) grad log p_c`` (n, C, D) of the Fisher tensors of rows, each by the clone that never saw
        its fold.
        """
        check_gradient(self.model, "the tensor")

        def factors(model, rows):
            P, S = aligned_gradients(model, rows, self.reading.classes)
            return np.sqrt(P)[:, :, None] * S

        return self.folded.each_row(factors, dense(X), folds)


class SegmentModel(AskedModel):
    """Any classifier or regressor, asked along straight segments; the rows are sorted by fold."""

    targets: tuple[type[Target], ...] = (ClassTarget, RealTarget)
    n_folds = 5

    def fit(self, context):
        """Fit clones for every pair of folds."""
        self.ask_in_folds(context, pairs=True)
        self.rule, self.order = SegmentRule("chord", context.n_segments), context.by_fold
        self.fitted = ModelRows(dense(self.data.raw()), context.folds)
        self.rows = self.fitted.take(self.order)
        return self

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        X = dense(rows)
        return ModelRows(X, np.full(len(X), -1, dtype=np.intp))

    def states(self, rows):
        """Predictions for rows, each by the clone that never saw its fold."""
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
        """Predictions for X[index], each row asked about once."""
        rows, place = np.unique(index, return_inverse=True)
        return self.reading(model, X[rows])[place]

    def evaluations(self):
        """Questions to the model for a pair."""
        return self.rule.n_segments - 1

    def require_evaluations(self, n_pairs):
        """Refuse a matrix of distances that would ask the model too often."""
        wanted = n_pairs * self.evaluations()
        if wanted > MOST_EVALUATIONS:
            raise InputError(
                f"all distances along segments would ask the model {wanted:,} times, more than {MOST_EVALUATIONS:,}; "
                "use kneighbors, fewer rows, n_segments=1, or posterior=PredictedLabels(model)."
            )

    def neighbors(self, A, n_neighbors, supervision, steps_of):
        """Nearest fitted rows of rows A (None: of the fitted ones), evaluated along segments to candidates only.

        One sub-segment finds three candidates for each neighbour that is wanted.
        ``steps_of(block)`` gives the squared steps of a slice of the rows to all fitted rows, None without.
        """
        own = A is None
        rows = self.fitted if own else self.new(A)
        n_fitted = len(self.fitted)
        n_candidates = min(3 * n_neighbors, n_fitted - own)
        distances = np.empty((len(rows), n_neighbors), dtype=self.data.dtype)
        indices = np.empty((len(rows), n_neighbors), dtype=np.intp)
        ends = self.states(self.fitted)
        wide = 8.0 * max(ends.size, n_candidates * rows.X.shape[1])
        for block in row_blocks(len(rows), wide, BATCH_BYTES):
            some, steps = rows.take(block), steps_of(block)
            arcs = self.reading.lengths(self.states(some)[:, None], ends[None])
            D = blend([arcs], 1, supervision, steps)
            if own:
                D[np.arange(len(D)), np.arange(block.start, block.stop)] = np.inf
            _, candidates = smallest(D, n_candidates)
            near = None if steps is None else np.take_along_axis(steps, candidates, axis=1)
            D = self._paired_lengths(some, candidates, supervision, near)
            distances[block], columns = smallest(D, n_neighbors)
            indices[block] = np.take_along_axis(candidates, columns, axis=1)
        return distances, indices

    def _paired_lengths(self, rows, candidates, supervision, steps):
        """Lengths (n, m) of the segments of each row to its candidates among the fitted rows."""
        D = np.empty(candidates.shape)
        fold_a, fold_b = np.broadcast_arrays(rows.fold[:, None], self.fitted.fold[candidates])
        n_folds = max(int(fold_a.max()), int(fold_b.max())) + 2
        kind = ((np.minimum(fold_a, fold_b) + 1) * n_folds + np.maximum(fold_a, fold_b) + 1).ravel()
        for one in np.unique(kind):
            i, j = np.unravel_index(np.flatnonzero(kind == one), D.shape)
            model = self.folded.without(one // n_folds - 1, one % n_folds - 1)
            parts = self.along(model, rows.X, self.fitted.X, i, candidates[i, j])
            D[i, j] = blend(parts, self.rule.n_segments, supervision, None if steps is None else steps[i, j])
        return D


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
            predicted = self.posterior.reading(self.model, points.reshape(-1, B.shape[1]))
            parts.append(predicted.reshape(*points.shape[:2], *predicted.shape[1:]))
        return np.concatenate(parts)


def dense(X):
    """Rows as a dense array: points between rows are."""
    return X.toarray() if sp.issparse(X) else X


# --- at the rows ------------------------------------------------------------------------------------------------------


class ClassModel(AskedModel, RowPosterior):
    """A classifier with ``predict_proba``, fitted in folds unless it is fitted already."""

    def fit(self, context):
        """Judge every row by the clone that never saw it."""
        self.ask_in_folds(context)
        return self.hold(context, self.states_of_fitted(context) ** 2)

    def predict(self, rows, self_similarity=None):
        """Class probabilities of new rows, or of fitted ones by their index."""
        rows = self.data.raw(rows.index) if isinstance(rows, FittedIndex) else rows
        return self.reading(self.folded.whole, rows) ** 2


class RealModel(AskedModel):
    """A regressor, fitted in folds unless it is fitted already."""

    targets = (RealTarget,)

    def fit(self, context):
        """Judge every row by the clone that never saw it."""
        self.ask_in_folds(context)
        self.rule, self.order = SegmentRule(n_segments=1), np.arange(self.data.n_rows_)
        self.rows = StateRows.of(self.states_of_fitted(context))
        return self

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return StateRows.of(self.reading(self.folded.whole, rows))

    def moments(self, rows):
        """Means and variances of real targets at rows."""
        return tuple(np.moveaxis(rows.state, -1, 0))

    def block(self, A, B):
        """The pairs of two sets of rows."""
        return StateBlock(A.state, B.state, self.reading.lengths)


# --- tangents ---------------------------------------------------------------------------------------------------------


def model_speeds(model, X, V, classes):
    """Fisher speeds (n,) at the rows X of steps V."""
    speeds = np.empty(len(X))
    for rows in row_blocks(len(X), 16.0 * len(classes) * X.shape[1], BATCH_BYTES):
        P, S = aligned_gradients(model, X[rows], classes)
        along = np.matmul(S, V[rows][:, :, None])[:, :, 0]
        speeds[rows] = np.sqrt(np.einsum("nc,nc->n", P, along**2))
    return speeds


class TangentModel(SegmentModel):
    """A classifier with a derivative, asked for it at the nodes of straight segments."""

    targets = (ClassTarget,)

    def fit(self, context):
        """Fit clones for every pair of folds."""
        super().fit(context)
        self.rule, self.classes = context.rule_along(), context.target.classes
        return self

    def evaluations(self):
        """Questions to the model for a pair."""
        return self.rule.n_segments

    def block(self, A, B):
        """The pairs of two sets of rows, each from one fold."""
        return TangentBlock(self, self.folded.without(A.fold[0], B.fold[0]), as_doubles(A.X), as_doubles(B.X))

    def along(self, model, A, B, i, j):
        """The T sub-segment lengths of the segments from rows A[i] to rows B[j], one after another."""
        A, B = as_doubles(A)[i], as_doubles(B)[j]
        for node in self.rule.nodes():
            yield model_speeds(model, (1 - node) * A + node * B, B - A, self.classes) / self.rule.n_segments


class TangentBlock:
    """Segments between two sets of rows under one model, measured tile by tile."""

    def __init__(self, posterior, model, A, B):
        self.posterior, self.model, self.A, self.B = posterior, model, A, B

    def sub_lengths(self, a, b):
        """The T sub-segment lengths (n_a, n_b) of the pairs of two slices, one after another."""
        A, B = self.A[a], self.B[b]
        i, j = (part.ravel() for part in np.indices((len(A), len(B))))
        for length in self.posterior.along(self.model, A, B, i, j):
            yield length.reshape(len(A), len(B))
