"""Where a Fisher metric's posterior comes from, and the state of rows under it.

A *source* holds a posterior (``block(A, B)`` with ``sub_lengths``, see `prismap.metrics.parzen`), the state of the
fitted rows in the order the posterior wants them, and makes the state of new rows.

======================  ==========================================================================================
source                  posterior
======================  ==========================================================================================
`ParzenSource`          Gaussian kernels on the support, along the whole segment
`MachineSource`         a least-squares support vector machine on the profiles, at the rows
`ModelSource`           any classifier with ``predict_proba``, at the rows (vectors only)
`GaussianProcessSource` a Gaussian process for each real target, along the whole segment
======================  ==========================================================================================
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from prismap._blocks import require_memory
from prismap.exceptions import InputError
from prismap.metrics.gaussian_process import (
    EVIDENCE_ROWS,
    GaussianProcess,
    GaussianProcessPosterior,
    Process,
    ProcessRows,
    fit_process,
)
from prismap.metrics.geometry import FittedIndex
from prismap.metrics.lssvm import LeastSquaresSVM, fit_lssvm, log_loss
from prismap.metrics.parzen import ParzenPosterior
from prismap.metrics.rowwise import RowwisePosterior
from prismap.metrics.segments import SegmentRule


def cross_fitted_words(folds):
    """How the fitted rows were judged."""
    n_folds = int(folds.max()) + 1
    return f"cross-fitted in {n_folds} folds" if n_folds else "in-sample"


class ParzenSource:
    """Gaussian kernels on the support rows; the rows are sorted by fold."""

    most_segments = None
    default_segments = 2

    def __init__(self, metric, codes):
        self.geometry, self.support = metric.geometry_, metric.support_
        self.order = np.argsort(metric.folds_, kind="stable")
        folds = metric.folds_[self.support] if metric.cross_fit else None
        path = "tangent" if metric.path == "tangent" else "chord"
        rule = SegmentRule(path, metric.n_segments_, metric.symmetric)
        n_classes = len(metric.classes_)
        self.posterior = ParzenPosterior(codes[self.support], n_classes, folds, metric.bandwidth_, rule)
        self.judged = cross_fitted_words(metric.folds_)
        n_bytes = self.posterior.bytes_per_row(self.geometry.dtype.itemsize) * metric.n_rows_
        require_memory(n_bytes, "The profiles of the fitted rows", "Set a smaller n_support, or fit fewer rows.")
        Q = self.geometry.squared_to(FittedIndex(self.order), self.support)
        self.rows = self.posterior.rows(Q, metric.folds_[self.order])

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return self.posterior.rows(self.geometry.squared_to(rows, self.support, self_similarity))

    def state(self):
        """Support, folds and bandwidth, which the metric keeps, are all there is."""
        return {}


class _RowwiseSource:
    """Class probabilities at the rows; no order, one sub-segment."""

    most_segments = 1
    default_segments = 1
    posterior: RowwisePosterior

    def _hold(self, metric, P):
        self.order = np.arange(metric.n_rows_)
        self.dtype = metric.geometry_.dtype
        self.fitted_probabilities = P
        self.rows = self.posterior.rows(P, self.dtype)

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return self.posterior.rows(self.posterior.predict(rows, self_similarity), self.dtype)


class MachineSource(_RowwiseSource):
    """A least-squares support vector machine on the support's profiles, cross-fitted in closed form."""

    def __init__(self, metric, codes, rng):
        support, n_classes = metric.support_, len(metric.classes_)
        folds = metric.folds_[support] if metric.cross_fit else None
        Q = metric.geometry_.squared_to(FittedIndex(support), support)
        machine, of_support = fit_lssvm(Q, codes[support], n_classes, folds, rng)
        self._set(metric, machine)
        P = np.empty((metric.n_rows_, n_classes))
        P[support] = of_support
        others = np.setdiff1d(np.arange(metric.n_rows_), support)
        if len(others):
            P[others] = self.posterior.predict(FittedIndex(others), None)
        self._hold(metric, P)

    def _set(self, metric, machine):
        geometry, support = metric.geometry_, metric.support_
        self.machine, self.judged = machine, cross_fitted_words(metric.folds_)

        def predict(rows, self_similarity):
            return machine.probabilities(np.maximum(geometry.squared_to(rows, support, self_similarity), 0))

        self.posterior = RowwisePosterior("lssvm", predict, len(metric.classes_))

    def state(self):
        """The machine, and the fitted rows' own probabilities."""
        machine = {f"machine_{name}": np.asarray(value) for name, value in vars(self.machine).items()}
        return {**machine, "probabilities": self.fitted_probabilities}

    @classmethod
    def restore(cls, metric, state):
        """From the arrays of `state`."""
        self = cls.__new__(cls)
        self._set(
            metric,
            LeastSquaresSVM(
                state["machine_coefficients"], state["machine_mean"], float(state["machine_gamma"]),
                float(state["machine_temperature"]),
            ),
        )  # fmt: skip
        self._hold(metric, state["probabilities"])
        return self


class ModelSource(_RowwiseSource):
    """Any classifier: an unfitted one is cloned and fitted in the folds, a fitted one used as it is (in-sample)."""

    def __init__(self, metric, codes, model):
        if metric.data != "vectors":
            raise InputError("posterior as a classifier needs data='vectors'; use 'parzen' or 'lssvm' for matrix data.")
        if not is_classifier(model) or not hasattr(model, "predict_proba"):
            raise InputError(
                f"posterior={model!r} must be a classifier with predict_proba. Wrap one without probabilities in "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        X = metric.raw_rows_
        labelled = np.flatnonzero(codes >= 0)
        if is_fitted(model):
            self.judged, self.model = "in-sample, by a model that was fitted before", model
            P = aligned_probabilities(model, X, metric.classes_)
        else:
            self.judged = cross_fitted_words(metric.folds_)
            y = metric.classes_[codes[labelled]]
            self.model = clone(model).fit(X[labelled], y)
            P = aligned_probabilities(self.model, X, metric.classes_)
            for fold in range(metric.folds_.max() + 1):
                kept = labelled[metric.folds_[labelled] != fold]
                out = np.flatnonzero(metric.folds_ == fold)
                part = clone(model).fit(X[kept], metric.classes_[codes[kept]])
                P[out] = aligned_probabilities(part, X[out], metric.classes_)
        name = type(model).__name__

        def predict(rows, self_similarity):
            return aligned_probabilities(self.model, metric.uncentred(rows), metric.classes_)

        self.posterior = RowwisePosterior(name, predict, len(metric.classes_))
        self._hold(metric, P)

    def state(self):
        """A model is code; a file without pickle cannot hold it."""
        raise InputError("a metric whose posterior is a classifier object cannot be saved; use a named posterior.")


class GaussianProcessSource:
    """A Gaussian process for each real target on the support rows; the rows are sorted by fold."""

    most_segments = None
    default_segments = 2

    def __init__(self, metric, Y, rng=None, state=None):
        self.metric, self.geometry, self.support = metric, metric.geometry_, metric.support_
        self.order = np.argsort(metric.folds_, kind="stable")
        self.judged = cross_fitted_words(metric.folds_)
        n_bytes = 16.0 * len(self.support) * (metric.n_rows_ + len(self.support))
        require_memory(n_bytes, "The profiles of the fitted rows", "Set a smaller n_support, or fit fewer rows.")
        Q = self._profiles(self.geometry.squared_to(FittedIndex(self.support), self.support))
        y = Y[self.support]
        self.hyper = state["process"] if state is not None else self._hyper(metric.posterior, Q, y, rng)
        folds = metric.folds_[self.support] if metric.cross_fit else np.zeros(len(y), dtype=np.intp)
        processes = [Process(Q, column, folds, *hyper) for hyper, column in zip(self.hyper, y.T, strict=True)]
        rule = SegmentRule("tangent" if metric.path == "tangent" else "chord", metric.n_segments_, metric.symmetric)
        self.posterior = GaussianProcessPosterior(self.geometry, processes, rule)
        profile = self._profiles(self.geometry.squared_to(FittedIndex(self.order), self.support))
        self.rows = ProcessRows(profile, metric.folds_[self.order], index=self.order)

    def _profiles(self, Q):
        return np.maximum(Q, 0).astype(np.float64)

    def _hyper(self, given, Q, y, rng):
        """(signal, beta, noise) of each target."""
        if isinstance(given, GaussianProcess):
            return np.array([given.values()] * y.shape[1])
        seen = np.arange(len(y))
        if len(seen) > EVIDENCE_ROWS:
            seen = np.sort(rng.choice(seen, EVIDENCE_ROWS, replace=False))
        return np.array([fit_process(Q[np.ix_(seen, seen)], column) for column in y[seen].T])

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        self.metric._demand_self_similarity(rows, self_similarity)
        D2 = self.geometry.squared_to(rows, slice(None), self_similarity)
        return ProcessRows(
            self._profiles(D2[:, self.support]), np.full(len(D2), -1, dtype=np.intp), new=rows, squared=D2
        )

    def state(self):
        """The hyper-parameters; support and folds are the metric's."""
        return {"process": self.hyper}


def is_fitted(model):
    """Whether a model has been fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def aligned_probabilities(model, X, classes):
    """The model's probabilities in the order of `classes`; a class it does not know gets none."""
    try:
        found = np.asarray(model.predict_proba(X), dtype=np.float64)
    except ValueError as error:
        raise InputError(f"the classifier {type(model).__name__} refused these rows: {error}") from error
    known = [str(name) for name in model.classes_]
    P = np.zeros((len(found), len(classes)))
    for k, name in enumerate(classes):
        if str(name) in known:
            P[:, k] = found[:, known.index(str(name))]
    total = P.sum(axis=1, keepdims=True)
    if not total.all():
        raise InputError(
            f"the classifier {type(model).__name__} knows the classes {known[:8]} and gives some rows to none of y's "
            f"classes {[str(name) for name in classes[:8]]}: it was fitted on another target."
        )
    return P / total


def choose_source(metric, codes, rng):
    """Parzen or the support vector machine, by out-of-fold log-loss on the support: (source, both losses)."""
    support = metric.support_
    machine = MachineSource(metric, codes, rng)
    parzen = ParzenSource(metric, codes)
    place = np.argsort(parzen.order)
    losses = {
        "parzen": log_loss(parzen.posterior.probabilities(parzen.rows)[place][support], codes[support]),
        "lssvm": log_loss(machine.fitted_probabilities[support], codes[support]),
    }
    return (machine if losses["lssvm"] < losses["parzen"] else parzen), losses
