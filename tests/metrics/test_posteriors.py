"""Posteriors at the rows: the least-squares machine against plain refits, classifiers, and the choice between them."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.metrics.posteriors._machine import fit_lssvm, lower_inverse, solve
from prismap.metrics.posteriors._rowwise import log_loss, softmax
from prismap.target import decide_target, make_target


@pytest.fixture(scope="module")
def toy():
    return make_classification(90, 5, n_informative=4, n_redundant=0, n_classes=3, class_sep=1.0, random_state=1)


def squared(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=2)


def test_closed_form_folds_equal_refitted_machines(toy):
    X, y = toy
    Q, folds, gamma, ridge = squared(X, X), np.arange(90) % 7, 0.2, 0.05
    _, mean, scores = solve(Q, y, 3, folds, gamma, ridge)
    T = np.eye(3)[y] - mean
    for fold in range(7):
        out, kept = folds == fold, folds != fold
        alpha = np.linalg.solve(np.exp(-gamma * Q[np.ix_(kept, kept)]) + ridge * np.eye(kept.sum()), T[kept])
        np.testing.assert_allclose(scores[out], np.exp(-gamma * Q[np.ix_(out, kept)]) @ alpha + mean, atol=1e-10)


@pytest.mark.parametrize("least", [0.1, -3.0])
def test_the_inverse_of_a_symmetric_matrix_need_not_be_positive(least):
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    K = (Q * np.linspace(least, 5.0, 40)) @ Q.T
    K = (K + K.T) / 2
    H = lower_inverse(K)
    H = np.tril(H) + np.tril(H, -1).T
    np.testing.assert_allclose(H @ K, np.eye(40), atol=1e-10)


def test_machine_probabilities_are_calibrated_and_honest(toy):
    X, y = toy
    rng = np.random.default_rng(0)
    _, honest = fit_lssvm(squared(X, X), y, 3, np.arange(90) % 10, rng, np.arange(90))
    _, in_sample = fit_lssvm(squared(X, X), y, 3, None, rng, np.arange(90))
    np.testing.assert_allclose(honest.sum(axis=1), 1)
    assert log_loss(honest, y) < np.log(3)
    assert (in_sample.argmax(axis=1) == y).mean() > (honest.argmax(axis=1) == y).mean()
    shuffled = rng.permutation(y)
    _, null = fit_lssvm(squared(X, X), shuffled, 3, np.arange(90) % 10, rng, np.arange(90))
    assert (null.argmax(axis=1) == shuffled).mean() < 0.55


def test_distance_is_the_arc_between_posteriors_and_the_euclidean_part(toy):
    X, y = toy
    metric = FisherMetric(posterior="lssvm", supervision=0.7, perplexity=10, random_state=0).fit(X, y)
    P = metric.class_probabilities()
    arcs = 2 * np.arccos(np.clip(np.sqrt(P) @ np.sqrt(P).T, -1, 1))
    expected = np.sqrt(0.7 * arcs**2 + 0.3 * squared(X, X) / metric.bandwidth_**2)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(metric.pairwise(), expected, atol=1e-6)


def test_three_kinds_of_data_agree_under_the_machine(toy):
    X, y = toy
    options = {"posterior": "lssvm", "supervision": 0.5, "perplexity": 10, "random_state": 0}
    vectors = FisherMetric(**options).fit(X, y)
    dissimilarity = FisherMetric(data="dissimilarity", **options).fit(np.sqrt(squared(X, X)), y)
    similarity = FisherMetric(data="similarity", **options).fit(X @ X.T, y)
    np.testing.assert_allclose(dissimilarity.pairwise(), vectors.pairwise(), atol=1e-6)
    np.testing.assert_allclose(similarity.pairwise(), vectors.pairwise(), atol=1e-6)
    new = X[:5] + 0.1
    np.testing.assert_allclose(dissimilarity.pairwise(np.sqrt(squared(new, X))), vectors.pairwise(new), atol=1e-6)
    np.testing.assert_allclose(similarity.pairwise(new @ X.T), vectors.pairwise(new), atol=1e-6)


def test_state_restores_the_metric(toy):
    X, y = toy
    for posterior in ("lssvm", "parzen"):
        options = {"posterior": posterior, "supervision": 0.5, "perplexity": 10, "random_state": 0}
        metric = FisherMetric(**options).fit(X, y)
        again = FisherMetric(**options).restore(X, y, metric.state())
        np.testing.assert_array_equal(again.pairwise(), metric.pairwise())
        np.testing.assert_array_equal(again.pairwise(X[:4] + 0.1), metric.pairwise(X[:4] + 0.1))


def test_auto_takes_the_smaller_log_loss():
    X, y = make_moons(200, noise=0.2, random_state=0)
    metric = FisherMetric(supervision=0.8, random_state=0).fit(X, y)
    losses = metric.log_losses_
    assert metric.posterior_.name == min(losses, key=losses.get)
    assert metric.posterior_.name in repr(metric)
    # Without a Euclidean part only a posterior along the segment keeps two clusters of one class apart.
    assert FisherMetric(random_state=0).fit(X, y).posterior_.name == "parzen"


def test_unfitted_classifier_never_judges_a_row_it_saw(toy):
    X, y = toy
    metric = FisherMetric(posterior=LogisticRegression(), perplexity=10, random_state=0).fit(X, y)
    P = metric.class_probabilities()
    out = metric.folds_ == metric.folds_[4]
    expected = LogisticRegression().fit(X[~out], y[~out]).predict_proba(X[4:5])
    np.testing.assert_allclose(P[4], expected[0], atol=1e-12)
    whole = LogisticRegression().fit(X, y).predict_proba(X[:3])
    np.testing.assert_allclose(metric.class_probabilities(X[:3]), whole, atol=1e-12)
    assert "cross-fitted in 10 folds" in repr(metric)


def test_fitted_classifier_is_used_as_it_is_and_called_in_sample(toy):
    X, y = toy
    names = np.array(["ant", "bee", "cat"])[y]
    model = LogisticRegression().fit(X, names)
    metric = FisherMetric(posterior=model, perplexity=10).fit(X, names)
    np.testing.assert_allclose(metric.class_probabilities(), model.predict_proba(X), atol=1e-12)
    assert "in-sample" in repr(metric)


def test_bad_models_are_named(toy):
    X, y = toy
    with pytest.raises(InputError, match="CalibratedClassifierCV"):
        FisherMetric(posterior=LinearSVC(), perplexity=10).fit(X, y)
    with pytest.raises(InputError, match="refused these rows"):
        FisherMetric(posterior=LogisticRegression().fit(X[:, :3], y), perplexity=10).fit(X, y)
    with pytest.raises(InputError, match="fitted on another target"):
        FisherMetric(posterior=LogisticRegression().fit(X, y + 10), perplexity=10).fit(X, y)
    with pytest.raises(InputError, match="probabilities at the rows only"):
        FisherMetric(posterior="lssvm", n_segments=3, perplexity=10).fit(X, y)
    with pytest.raises(InputError, match="cannot be saved"):
        FisherMetric(posterior=LogisticRegression(), perplexity=10).fit(X, y).state()
    with pytest.raises(InputError, match="has no tensor"):
        FisherMetric(posterior="lssvm", perplexity=10).fit(X, y).tensor()


def test_softmax_of_large_scores_is_finite():
    np.testing.assert_allclose(softmax(np.array([[1e4, 0.0], [0.0, 0.0]])), [[1, 0], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (["a", "b", "a"], "class"),
        ([True, False, True], "class"),
        ([0, 1, 1], "class"),
        ([0.5, 1.0, 2.0], "real"),
        ([1.0, 2.0, 2.0], "class"),
        (list(range(200)), "real"),
        ([None, "a", "b"], "class"),
        ([np.nan, 0.1, 0.2], "real"),
        ([None, 1, 2], "class"),
    ],
)
def test_kind_of_target_is_seen(y, kind):
    assert decide_target(np.array(y, dtype=object if None in y else None)).kind == kind


def test_useless_real_targets_are_refused():
    for y, words in [
        ([1.5] * 5, "one constant value"),
        ([1.5, 2.5] * 3, "only two distinct values"),
        ([np.nan] * 4, "no value"),
        ([1.5, np.inf, 2.5, 3.5], "1 infinite values"),
        (["a", "b", "c"], "needs numbers"),
    ]:
        with pytest.raises(InputError, match=words):
            make_target(y, len(y), "real")
    for kind in ("auto", "class"):  # whole numbers and infinity are no classes
        with pytest.raises(InputError, match="2 infinite values"):
            make_target([1.0, np.inf, 2.0, np.inf], 4, kind)
