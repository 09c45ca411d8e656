"""Trained models as posteriors: along segments against a plain loop, regressors, predicted labels, wrong models."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric, PredictedLabels
from reference import gaussian_process_reference

OPTIONS = {"perplexity": 8, "random_state": 0}
PAIRS = [(0, 5), (3, 17), (41, 2), (11, 12), (8, 50)]


@pytest.fixture(scope="module")
def toy():
    return make_classification(
        60, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=2
    )


@pytest.fixture(scope="module")
def real(toy):
    X, _ = toy
    return X, 2 + X[:, 0] ** 2 + X[:, 1] + 0.2 * np.random.default_rng(0).normal(size=60)


def kept_rows(metric, i, j):
    """Rows outside the folds of two rows."""
    return (metric.folds_ != metric.folds_[i]) & (metric.folds_ != metric.folds_[j])


def blended(lengths, x, z, metric):
    """Sub-segments under ``w J + (1-w) I / sigma^2``."""
    w, T = metric.supervision, len(lengths)
    step = np.sum((x - z) ** 2) / metric.bandwidth_**2 / T**2
    return sum(np.sqrt(w * length**2 + (1 - w) * step) for length in lengths)


def class_length(metric, model, x, z, T):
    P = model.predict_proba([(1 - t / T) * x + t / T * z for t in range(T + 1)])
    arcs = [2 * np.arccos(min(1.0, np.sqrt(P[t]) @ np.sqrt(P[t + 1]))) for t in range(T)]
    return blended(arcs, x, z, metric)


def real_length(metric, predict, x, z, T):
    m, v = predict(np.array([(1 - t / T) * x + t / T * z for t in range(T + 1)]))
    gaps = [gaussian_process_reference.fisher_rao(m[t], v[t], m[t + 1], v[t + 1]) for t in range(T)]
    return blended(gaps, x, z, metric)


# --- along segments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("supervision", [1.0, 0.6])
def test_a_pair_is_judged_along_its_segment_by_the_clone_that_saw_neither_fold(toy, supervision):
    X, y = toy
    metric = FisherMetric(posterior=LogisticRegression(), n_segments=3, supervision=supervision, **OPTIONS).fit(X, y)
    D = metric.pairwise()
    assert "cross-fitted in 5 folds" in repr(metric)
    for i, j in PAIRS:
        kept = kept_rows(metric, i, j)
        judge = LogisticRegression().fit(X[kept], y[kept])
        assert D[i, j] == pytest.approx(class_length(metric, judge, X[i], X[j], 3), rel=1e-9)
    np.testing.assert_allclose(D, D.T)
    whole = LogisticRegression().fit(X, y)
    new = X[:3] + 0.1
    kept = kept_rows(metric, 7, 7)
    judge = LogisticRegression().fit(X[kept], y[kept])
    assert metric.pairwise(new)[1, 7] == pytest.approx(class_length(metric, judge, new[1], X[7], 3), rel=1e-9)
    np.testing.assert_allclose(metric.class_probabilities(new), whole.predict_proba(new), atol=1e-12)


def test_neighbours_are_refined_among_candidates_and_ask_the_model_little(toy):
    X, y = toy
    model = Asked().fit(X, y)
    metric = FisherMetric(posterior=model, n_segments=2, supervision=0.5, **OPTIONS).fit(X, y)
    D = metric.pairwise() + np.diag(np.full(60, np.inf))
    model.rows_ = 0
    distances, indices = metric.kneighbors(None, 4)
    assert 60 * 12 < model.rows_ <= 60 * (12 + 4)
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), rtol=1e-9)
    found = [len(set(one) & set(two)) for one, two in zip(indices, np.argsort(D, axis=1)[:, :4], strict=True)]
    assert np.mean(found) / 4 > 0.97
    distances, indices = metric.kneighbors(X[:5] + 0.1, 3)
    expected = np.take_along_axis(metric.pairwise(X[:5] + 0.1), indices, axis=1)
    np.testing.assert_allclose(distances, expected, rtol=1e-9)


class Asked(LogisticRegression):
    """Counts the rows it is asked about."""

    rows_ = 0

    def predict_proba(self, X):
        self.rows_ += len(X)
        return super().predict_proba(X)


def test_cross_fitted_neighbours_agree_with_all_pairs(toy):
    X, y = toy
    metric = FisherMetric(posterior=LogisticRegression(), n_segments=2, **OPTIONS).fit(X, y)
    D = metric.pairwise()
    distances, indices = metric.kneighbors(None, 5)
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), atol=1e-9)
    graph = FisherMetric(posterior=LogisticRegression(), n_segments=2, path="graph", **OPTIONS).fit(X, y)
    assert (graph.pairwise() <= D + 1e-9).all()


def test_all_pairs_of_many_rows_are_refused_with_the_number(toy, monkeypatch):
    X, y = toy
    metric = FisherMetric(posterior=LogisticRegression(), n_segments=5, **OPTIONS).fit(X, y)
    monkeypatch.setattr("prismap.metrics.posteriors._model.MOST_EVALUATIONS", 1000)
    with pytest.raises(InputError, match=r"ask the model 7,200 times, more than 1,000; use kneighbors"):
        metric.pairwise()


# --- regressors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("T", [1, 3])
def test_a_regressor_that_states_its_deviation(real, T):
    X, y = real
    model = BayesianRidge().fit(X, y)
    metric = FisherMetric(posterior=model, n_segments=T, supervision=0.7, **OPTIONS).fit(X, y)
    assert "in-sample, by a model that was fitted before" in repr(metric)

    def predict(points):
        mean, deviation = model.predict(points, return_std=True)
        return mean, deviation**2

    D = metric.pairwise()
    for i, j in PAIRS:
        assert D[i, j] == pytest.approx(real_length(metric, predict, X[i], X[j], T), rel=1e-9)
    mean, variance = metric.target_moments(X[:4] + 0.1)
    np.testing.assert_allclose((mean[:, 0], variance[:, 0]), predict(X[:4] + 0.1))


@pytest.mark.parametrize("T", [1, 2])
def test_a_regressor_without_deviation_has_that_of_its_residuals_out_of_fold(real, T):
    X, y = real
    metric = FisherMetric(posterior=LinearRegression(), n_segments=T, **OPTIONS).fit(X, y)
    out_of_fold = np.empty(60)
    for fold in range(metric.folds_.max() + 1):
        out = metric.folds_ == fold
        out_of_fold[out] = LinearRegression().fit(X[~out], y[~out]).predict(X[out])
    variance = np.mean((y - out_of_fold) ** 2)
    mean, found = metric.target_moments()
    np.testing.assert_allclose(mean[:, 0], out_of_fold)
    np.testing.assert_allclose(found, variance)
    D = metric.pairwise()
    for i, j in PAIRS:
        if T == 1:
            expected = gaussian_process_reference.fisher_rao(out_of_fold[i], variance, out_of_fold[j], variance)
        else:
            kept = kept_rows(metric, i, j)
            judge = LinearRegression().fit(X[kept], y[kept])
            expected = real_length(metric, lambda P, m=judge: (m.predict(P), np.full(len(P), variance)), X[i], X[j], T)
        assert D[i, j] == pytest.approx(expected, rel=1e-9)


def test_several_targets_of_a_regressor_add_their_squares(real):
    X, y = real
    Y = np.column_stack([y, X[:, 2]])
    both = FisherMetric(posterior=LinearRegression().fit(X, Y), **OPTIONS).fit(X, Y)
    one, two = (FisherMetric(posterior=LinearRegression().fit(X, c), **OPTIONS).fit(X, c).pairwise() for c in Y.T)
    np.testing.assert_allclose(both.pairwise(), np.hypot(one, two), atol=1e-9)


# --- predicted labels -------------------------------------------------------------------------------------------------


def test_predicted_labels_go_through_the_usual_posterior(toy, real):
    X, y = toy
    names = np.array(["ant", "bee", "cat"])[y]
    model = LogisticRegression().fit(X, names)
    metric = FisherMetric(posterior=PredictedLabels(model), **OPTIONS).fit(X, names)
    plain = FisherMetric(posterior="parzen", **OPTIONS).fit(X, names)
    labels = model.predict(X)
    assert (labels != names).any()
    np.testing.assert_array_equal(plain.folds_, metric.folds_)
    state = {**plain.state(), "segments": (metric.n_segments_, metric.extrapolated_)}
    plain = FisherMetric(posterior="parzen", **OPTIONS).restore(X, labels, state)
    np.testing.assert_allclose(metric.pairwise(), plain.pairwise())
    assert "parzen, on what LogisticRegression predicts (in-sample" in repr(metric)
    X, y = real
    smooth = FisherMetric(posterior=PredictedLabels(KNeighborsRegressor()), **OPTIONS).fit(X, y)
    assert "gp, on what KNeighborsRegressor predicts (cross-fitted in 10 folds)" in repr(smooth)
    with pytest.raises(InputError, match="cannot be saved"):
        smooth.state()


def test_unfitted_predictions_are_out_of_fold(toy):
    X, _ = toy
    y = np.random.default_rng(0).integers(0, 2, 60)
    metric = FisherMetric(posterior=PredictedLabels(Memory()), **OPTIONS).fit(X, y)
    assert metric.class_probabilities()[:, 0].min() == 1  # what was learnt by heart is not known out of fold


class Memory(BaseEstimator):
    """Knows the rows it saw, and says 0 of all others."""

    def fit(self, X, y):
        self.seen_ = {tuple(x): label for x, label in zip(X, y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.seen_.get(tuple(x), 0) for x in X])


# --- the main object, clones, wrong models ----------------------------------------------------------------------------


def test_a_model_of_named_columns_and_classes_serves_a_map(toy):
    pd = pytest.importorskip("pandas")
    X, y = toy
    frame, names = pd.DataFrame(X, columns=list("abcd")), np.array(["ant", "bee", "cat"])[y]
    model = LogisticRegression().fit(frame, names)
    m = PrisMap(metric=FisherMetric(posterior=model), perplexity=8, random_state=0).fit(frame, names)
    np.testing.assert_allclose(m.metric_.class_probabilities(), model.predict_proba(frame), atol=1e-12)
    assert "LogisticRegression, in-sample" in m.metric_.describe()
    assert clone(m.metric_).posterior is m.metric_.posterior
    unfitted = PrisMap(metric=FisherMetric(posterior=LogisticRegression()), perplexity=8, random_state=0).fit(
        frame, names
    )
    assert "LogisticRegression, cross-fitted" in unfitted.metric_.describe()
    with pytest.raises(InputError, match=r"trained on other columns than these: it wants \['d'\]"):
        PrisMap(metric=FisherMetric(posterior=model), perplexity=8).fit(frame.rename(columns={"d": "e"}), names)
    with pytest.raises(InputError, match=r"posterior=LinearSVC\(\) must be a classifier with predict_proba"):
        PrisMap(metric=FisherMetric(posterior=LinearSVC()), perplexity=8).fit(frame, names)
    predicted = PrisMap(metric=FisherMetric(posterior=PredictedLabels(model)), perplexity=8, random_state=0).fit(
        frame, names
    )
    assert "on what LogisticRegression predicts" in predicted.metric_.describe()


def test_a_frozen_model_survives_the_clone_of_its_metric(toy):
    X, y = toy
    metric = FisherMetric(posterior=FrozenEstimator(LogisticRegression().fit(X, y)), supervision=0.8, **OPTIONS)
    assert "in-sample" in repr(TSNE(metric=metric, perplexity=5, max_iter=10, random_state=0).fit(X, y).metric_)


def test_wrong_models_are_named(toy, real):
    X, y = toy
    for posterior, target, words in (
        (LinearSVC(), y, "CalibratedClassifierCV"),
        (LogisticRegression().fit(X[:, :3], y), y, "trained on 3 columns and asked about 4"),
        (LogisticRegression().fit(X, y + 10), y, "fitted on another target"),
        (PredictedLabels(LogisticRegression().fit(X, y + 10)), y, "none of y's classes"),
        (LogisticRegression(), real[1], "must be a regressor with predict"),
        (LinearRegression().fit(X, np.column_stack([y, y])), real[1], "predicts 2 targets and y has 1"),
        (LinearRegression().fit(X[:, :2], real[1]), real[1], "trained on 2 columns and asked about 4"),
    ):
        with pytest.raises(InputError, match=words):
            FisherMetric(posterior=posterior, **OPTIONS).fit(X, target)
