"""The tangent form of a trained model's own metric (Schulz 2017, sec. 2.4.1 b and 3.5.4).

The speed of a segment at a node is ``sqrt(sum_c p_c (s_c . v)^2)`` with ``s_c = grad log p(c|x)`` of the model and v
the whole segment; its length adds up one node per sub-segment (`prismap.metrics.segments`).
"""

from __future__ import annotations

import numpy as np

from prismap._blocks import row_blocks
from prismap.metrics.posteriors.gradients import dense
from prismap.metrics.posteriors.model_segments import BATCH_BYTES, SegmentModel
from prismap.metrics.posteriors.models import aligned_gradients
from prismap.target import ClassTarget


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
        return TangentBlock(self, self.folded.without(A.fold[0], B.fold[0]), dense(A.X), dense(B.X))

    def along(self, model, A, B, i, j):
        """The T sub-segment lengths of the segments from rows A[i] to rows B[j], one after another."""
        A, B = dense(A)[i], dense(B)[j]
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
