"""Any trained model as posterior, asked at the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prismap.metrics.geometry import FittedIndex
from prismap.metrics.posteriors.model_segments import AskedModel, RealReading
from prismap.metrics.posteriors.rowwise import RowPosterior
from prismap.metrics.segments import SegmentRule
from prismap.target import RealTarget


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


class RealModel(AskedModel):
    """A regressor, fitted in folds unless it is fitted already."""

    targets = (RealTarget,)

    def fit(self, context):
        """Judge every row by the clone that never saw it."""
        self.ask_in_folds(context)
        self.rule, self.order = SegmentRule(n_segments=1), np.arange(self.data.n_rows_)
        self.rows = self._rows(self.states_of_fitted(context))
        return self

    def _rows(self, state):
        return StateRows(state, np.full(len(state), -1, dtype=np.intp))

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return self._rows(self.reading(self.folded.whole, rows))

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
