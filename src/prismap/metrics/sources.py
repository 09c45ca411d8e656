"""Where a Fisher metric's posterior comes from, and the state of rows under it.

A *source* holds a posterior (``block(A, B)`` with ``sub_lengths``, see `prismap.metrics.parzen`), the state of the
fitted rows in the order the posterior wants them, and makes the state of new rows.

======================  ==========================================================================================
source                  posterior
======================  ==========================================================================================
`ParzenSource`          Gaussian kernels on the support, along the whole segment
`ExcessSource`          the same on each row's nearest labelled rows, where these are many, and few rows between
`LocalParzenSource`     its first edition, at the rows only, for files that hold it
`MachineSource`         a least-squares support vector machine on the profiles, at the rows
`ModelSource`           any classifier with ``predict_proba``, at the rows (vectors only)
`RegressorSource`       any regressor, at the rows (vectors only)
`SegmentModelSource`    any classifier or regressor, along the whole segment (vectors only)
`GaussianProcessSource` a Gaussian process for each real target, along the whole segment
======================  ==========================================================================================
"""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from prismap._blocks import require_memory
from prismap.exceptions import InputError
from prismap.metrics.excess import PATH_SEGMENTS, PATH_SUPPORT, ExcessPosterior
from prismap.metrics.gaussian_process import (
    EVIDENCE_ROWS,
    GaussianProcess,
    GaussianProcessPosterior,
    Process,
    ProcessRows,
    fit_process,
)
from prismap.metrics.geometry import FittedIndex
from prismap.metrics.local import local_probabilities, probabilities_of_new
from prismap.metrics.lssvm import LeastSquaresSVM, fit_lssvm, log_loss
from prismap.metrics.model_segments import (
    MOST_EVALUATIONS,
    EndPosterior,
    ModelRows,
    SegmentPosterior,
    dense,
    make_reading,
    refined_neighbors,
)
from prismap.metrics.models import fold_model, model_name, predicted_target
from prismap.metrics.nystroem import fit_on_all_rows
from prismap.metrics.parzen import ParzenPosterior
from prismap.metrics.rowwise import RowwisePosterior
from prismap.metrics.segments import SegmentRule, enough_segments, sample_rows
from prismap.metrics.support import stratified_support


def cross_fitted_words(folds):
    """How the fitted rows were judged."""
    n_folds = int(folds.max()) + 1
    return f"cross-fitted in {n_folds} folds" if n_folds else "in-sample"


def model_words(metric, folded):
    """How a model judged the fitted rows."""
    return "in-sample, by a model that was fitted before" if folded.fitted_before else cross_fitted_words(metric.folds_)


def fixed_rule(metric):
    """The rule that parameters or a file name; one sub-segment where it is still to be found."""
    path = "tangent" if metric.path == "tangent" else "chord"
    if metric.segments_open:
        return SegmentRule(path, 1)
    return SegmentRule(path, metric.n_segments_, metric.symmetric, metric.extrapolated_)


def found_rule(metric, source, mean):
    """The rule that a sample of pairs of the fitted rows asks for; `mean` orders the rows of the source."""
    a, b = sample_rows(source.rows.fold, mean, source.sampled_rows)
    A, B, every = source.rows.take(a), source.rows.take(b), slice(None)
    steps = None
    if metric.supervision < 1:
        steps = metric._squared_steps(FittedIndex(source.order[a]), FittedIndex(source.order[b]))

    def length(rule):
        posterior = copy(source.posterior)
        posterior.rule = rule
        return rule.length(posterior.block(A, B).sub_lengths(every, every), metric.supervision, steps)

    rule = enough_segments(length, source.most_found)
    metric.n_segments_, metric.extrapolated_ = rule.n_segments, rule.extrapolated
    return rule


def predicted_source(metric, values, rng):
    """The usual posterior of what a model predicts instead of the target."""
    model = metric.posterior.model
    predicted, folded = predicted_target(metric, values, model)
    source = (
        GaussianProcessSource(metric, predicted, rng) if metric.target_ == "real" else ParzenSource(metric, predicted)
    )
    source.judged = f"on what {model_name(model)} predicts ({model_words(metric, folded)})"
    return source


class ParzenSource:
    """Gaussian kernels on the support rows; the rows are sorted by fold."""

    most_segments = None
    sampled_rows, most_found = 24, 32

    def __init__(self, metric, codes):
        self.geometry, self.support = metric.geometry_, metric.support_
        self.order = np.argsort(metric.folds_, kind="stable")
        folds = metric.folds_[self.support] if metric.cross_fit else None
        n_classes, rule = len(metric.classes_), fixed_rule(metric)
        self.posterior = ParzenPosterior(codes[self.support], n_classes, folds, metric.bandwidth_, rule)
        self.judged = cross_fitted_words(metric.folds_)
        n_bytes = self.posterior.bytes_per_row(self.geometry.dtype.itemsize) * metric.n_rows_
        require_memory(n_bytes, "The profiles of the fitted rows", "Set a smaller n_support, or fit fewer rows.")
        Q = self.geometry.squared_to(FittedIndex(self.order), self.support)
        self.rows = self.posterior.rows(Q, metric.folds_[self.order])
        if metric.segments_open:
            self.posterior.rule = found_rule(metric, self, self.rows.exponent.mean(axis=1))
            self.rows = self.posterior.prepared(self.rows)

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return self.posterior.rows(self.geometry.squared_to(rows, self.support, self_similarity))

    def probabilities_of_fitted(self):
        """Class probabilities of the fitted rows, in their order."""
        return self.posterior.probabilities(self.rows)[np.argsort(self.order)]

    def state(self):
        """Support, folds and bandwidth, which the metric keeps, are all there is."""
        return {}


class _RowwiseSource:
    """Class probabilities at the rows; no order, one sub-segment."""

    most_segments = 1
    posterior: RowwisePosterior

    def _hold(self, metric, P):
        self.order = np.arange(metric.n_rows_)
        self.dtype = metric.geometry_.dtype
        self.fitted_probabilities = P
        self.rows = self.posterior.rows(P, self.dtype)

    def probabilities_of_fitted(self):
        """Class probabilities of the fitted rows, in their order."""
        return self.fitted_probabilities

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return self.posterior.rows(self.posterior.predict(rows, self_similarity), self.dtype)

    def new_roots(self, rows, own=None):
        """Square roots of the class probabilities of new rows that are to be placed."""
        return self.new(rows).root


class MachineSource(_RowwiseSource):
    """A least-squares support vector machine on the support's profiles, cross-fitted in closed form."""

    def __init__(self, metric, codes, rng):
        support, n_classes = metric.support_, len(metric.classes_)
        if metric.n_support is None and np.count_nonzero(codes >= 0) > len(support):
            machine, P = fit_on_all_rows(metric.geometry_, codes, n_classes, rng, cross_fit=metric.cross_fit)
            self._set(metric, machine)
            self._hold(metric, P)
            return
        folds = metric.folds_[support] if metric.cross_fit else None
        Q = metric.geometry_.squared_to(FittedIndex(support), support)
        machine, of_support = fit_lssvm(Q, codes[support], n_classes, folds, rng, support)
        self._set(metric, machine)
        P = np.empty((metric.n_rows_, n_classes))
        P[support] = of_support
        others = np.setdiff1d(np.arange(metric.n_rows_), support)
        if len(others):
            P[others] = self.posterior.predict(FittedIndex(others), None)
        self._hold(metric, P)

    def _set(self, metric, machine):
        geometry, landmarks = metric.geometry_, machine.landmarks
        self.geometry, self.machine, self.judged = geometry, machine, cross_fitted_words(metric.folds_)

        def predict(rows, self_similarity):
            return machine.probabilities(np.maximum(geometry.squared_to(rows, landmarks, self_similarity), 0))

        self.posterior = RowwisePosterior("lssvm", predict, len(metric.classes_))

    def new_roots(self, rows, own=None):
        """Square roots of the class probabilities of new rows, by the squared distances that place them."""
        if own is None or not np.array_equal(own.anchors.anchors, self.machine.landmarks):
            own = self.landmarks.see(rows)
        return np.sqrt(self.machine.probabilities(own.squared).astype(np.float64))

    @cached_property
    def landmarks(self):
        """The machine's landmarks, as new rows are compared with them."""
        return self.geometry.to_anchors(self.machine.landmarks)

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
                float(state["machine_temperature"]), state["machine_landmarks"],
            ),
        )  # fmt: skip
        self._hold(metric, state["probabilities"])
        return self


class LocalParzenSource(_RowwiseSource):
    """Each row judged by its own nearest labelled rows, for more rows than a support holds; ends only.

    Files of the first version hold such maps; new ones look between the rows, too (`ExcessSource`).
    """

    def __init__(self, metric, codes, state):
        self.judged = f"local supports at the rows only, {cross_fitted_words(metric.folds_)}"
        self.posterior = RowwisePosterior("parzen", local_predict(metric, codes), len(metric.classes_))
        self._hold(metric, state["local_probabilities"])

    def state(self):
        """The fitted rows' own probabilities; the rest follows from rows and labels."""
        return {"local_probabilities": self.fitted_probabilities}


class ExcessSource:
    """The same at the ends of a segment, and a small support for what lies between; the rows are sorted by fold."""

    most_segments = 1

    def __init__(self, metric, codes, rng, state=None):
        self.geometry, n_classes = metric.geometry_, len(metric.classes_)
        self.order = np.argsort(metric.folds_, kind="stable")
        if state is None:
            among = np.full(len(codes), -1, dtype=np.intp)
            among[metric.support_] = codes[metric.support_]
            self.support = stratified_support(among, PATH_SUPPORT, rng)
            self.local = local_probabilities(
                self.geometry, codes, n_classes, metric.perplexity, rng, cross_fit=metric.cross_fit,
                n_jobs=metric.n_jobs,
            )  # fmt: skip
        else:
            self.support, self.local = state["path_support"], state["local_probabilities"]
        folds = metric.folds_[self.support] if metric.cross_fit else None
        rule = SegmentRule(n_segments=PATH_SEGMENTS)
        along = ParzenPosterior(codes[self.support], n_classes, folds, metric.bandwidth_, rule)
        self.posterior = ExcessPosterior(local_predict(metric, codes), along)
        self.judged = (
            f"local supports at the rows, {len(self.support)} support rows and {PATH_SEGMENTS} sub-segments between "
            f"them, {cross_fitted_words(metric.folds_)}"
        )
        Q = self.geometry.squared_to(FittedIndex(self.order), self.support)
        self.rows = self.posterior.joined(self.local[self.order], self.geometry.dtype, Q, metric.folds_[self.order])

    def probabilities_of_fitted(self):
        """Class probabilities of the fitted rows, in their order."""
        return self.local

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        Q = self.geometry.squared_to(rows, self.support, self_similarity)
        return self.posterior.joined(self.posterior.predict(rows, self_similarity), self.geometry.dtype, Q)

    def state(self):
        """The fitted rows' own probabilities and the small support; the rest follows from rows and labels."""
        return {"local_probabilities": self.local, "path_support": self.support}


class ModelSource(_RowwiseSource):
    """A classifier, asked at the rows."""

    def __init__(self, metric, values, model):
        folded = fold_model(metric, values, model)
        reading = make_reading(metric, values, folded)
        self.judged = model_words(metric, folded)

        def predict(rows, self_similarity):
            return reading(folded.whole, metric.uncentred(rows)) ** 2

        self.posterior = RowwisePosterior(model_name(model), predict, len(metric.classes_))
        self._hold(metric, folded.each_row(reading, metric.raw_rows_, metric.folds_) ** 2)


class RegressorSource:
    """A regressor, asked at the rows."""

    most_segments = None

    def __init__(self, metric, values, model):
        self.metric, self.folded = metric, fold_model(metric, values, model)
        self.judged, self.order = model_words(metric, self.folded), np.arange(metric.n_rows_)
        self.posterior = EndPosterior(model_name(model), make_reading(metric, values, self.folded))
        self.rows = self.posterior.rows(self.folded.each_row(self.posterior.reading, metric.raw_rows_, metric.folds_))

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        return self.posterior.rows(self.posterior.reading(self.folded.whole, self.metric.uncentred(rows)))


class SegmentModelSource:
    """A classifier or a regressor, asked along segments; the rows are sorted by fold."""

    most_segments = None

    def __init__(self, metric, values, model):
        self.metric = metric
        folded = fold_model(metric, values, model, pairs=True)
        reading = make_reading(metric, values, folded)
        rule = SegmentRule("chord", metric.n_segments_)
        self.judged = model_words(metric, folded)
        self.posterior = SegmentPosterior(model_name(model), folded, reading, rule)
        self.order = np.argsort(metric.folds_, kind="stable")
        self.fitted = ModelRows(dense(metric.raw_rows_), metric.folds_)
        self.rows = self.fitted.take(self.order)

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        X = dense(self.metric.uncentred(rows))
        return ModelRows(X, np.full(len(X), -1, dtype=np.intp))

    def neighbors(self, A, n_neighbors):
        """Nearest fitted rows, evaluated along the segments to candidates only."""
        return refined_neighbors(self.metric, self, A, n_neighbors)

    def require_evaluations(self, n_pairs):
        """Refuse a matrix of distances that would ask the model too often."""
        wanted = n_pairs * (self.metric.n_segments_ - 1)
        if wanted > MOST_EVALUATIONS:
            raise InputError(
                f"all distances along segments would ask the model {wanted:,} times, more than {MOST_EVALUATIONS:,}; "
                "use kneighbors, fewer rows, n_segments=1, or posterior=PredictedLabels(model)."
            )


class GaussianProcessSource:
    """A Gaussian process for each real target on the support rows; the rows are sorted by fold."""

    most_segments = None
    #: A pair costs the square of the support at every node, so fewer pairs are asked and fewer nodes spent.
    sampled_rows, most_found = 12, 4

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
        self.posterior = GaussianProcessPosterior(self.geometry, processes, fixed_rule(metric))
        profile = self._profiles(self.geometry.squared_to(FittedIndex(self.order), self.support))
        self.rows = ProcessRows(profile, metric.folds_[self.order], index=self.order)
        if metric.segments_open:
            self.posterior.rule = found_rule(metric, self, profile.mean(axis=1))

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


def local_predict(metric, codes):
    """From new rows to class probabilities by their nearest labelled rows."""
    geometry, n_classes, perplexity = metric.geometry_, len(metric.classes_), metric.perplexity

    def predict(rows, self_similarity):
        return probabilities_of_new(geometry, rows, rows.shape[0], codes, n_classes, perplexity, self_similarity)

    return predict


def parzen_source(metric, codes, rng, state=None):
    """Kernels on the support, or each row's own local support where there are more labelled rows than that."""
    whole = np.count_nonzero(codes >= 0) <= len(metric.support_) or metric.n_support is not None
    if state is not None:
        whole = "local_probabilities" not in state
    if whole or metric.n_segments not in ("auto", 1) or metric.path == "tangent":
        return ParzenSource(metric, codes)
    metric.segments_open = metric.extrapolated_ = False
    if state is not None and "path_support" not in state:
        return LocalParzenSource(metric, codes, state)
    return ExcessSource(metric, codes, rng, state)


def choose_source(metric, codes, rng):
    """Parzen or the support vector machine, by out-of-fold log-loss on the support: (source, both losses)."""
    support = metric.support_
    machine, parzen = MachineSource(metric, codes, rng), parzen_source(metric, codes, rng)
    losses = {
        "parzen": log_loss(parzen.probabilities_of_fitted()[support], codes[support]),
        "lssvm": log_loss(machine.probabilities_of_fitted()[support], codes[support]),
    }
    chosen = machine if losses["lssvm"] < losses["parzen"] else parzen
    metric.extrapolated_ = metric.extrapolated_ and chosen is parzen
    return chosen, losses
