"""A least-squares support vector machine as posterior."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from prismap.metrics.geometry import FittedIndex
from prismap.metrics.posteriors.lssvm import LeastSquaresSVM, fit_lssvm
from prismap.metrics.posteriors.nystroem import fit_on_all_rows
from prismap.metrics.posteriors.rowwise import RowPosterior


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
        # A machine learns what to make of a filling; kernels of distances over common columns are worse.
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
