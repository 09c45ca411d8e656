"""LGMLVQ: the cost and its gradients, regions with relevances of their own, conventions."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.learners import GMLVQ, LGMLVQ
from prismap.learners._gmlvq import lgmlvq_cost
from reference.learners_reference import lgmlvq_reference


@parametrize_with_checks([LGMLVQ(max_iter=20)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_cost_and_gradients(noise):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 4)), np.arange(25) % 3
    W, labels, omegas = rng.normal(size=(5, 4)), np.array([0, 0, 1, 2, 2]), rng.normal(size=(5, 2, 4))
    same = y[:, None] == labels
    value, by_W, by_omegas = lgmlvq_cost(W, omegas, X, same, noise)
    assert value == pytest.approx(lgmlvq_reference(W, labels, omegas, X, y, noise), rel=1e-12)
    for given, gradient, cost in (
        (W, by_W, lambda w: lgmlvq_cost(w.reshape(W.shape), omegas, X, same, noise)[0]),
        (omegas, by_omegas, lambda o: lgmlvq_cost(W, o.reshape(omegas.shape), X, same, noise)[0]),
    ):
        numeric = approx_fprime(given.ravel(), cost, 1e-7)
        np.testing.assert_allclose(gradient.ravel(), numeric, atol=2e-6, rtol=1e-5)


def two_regimes():
    """Left, the first feature tells the classes apart; right, the second: one matrix cannot say so."""
    rng = np.random.default_rng(0)
    side = np.repeat([-8.0, 8.0], 60)
    X = rng.normal(size=(120, 4))
    y = rng.integers(0, 2, size=120)
    sign = np.where(y, 1.5, -1.5)
    X[:60, 0] = sign[:60] + 0.3 * X[:60, 0]
    X[60:, 1] = sign[60:] + 0.3 * X[60:, 1]
    X[:, 2] = side + 0.3 * X[:, 2]
    return X, y, side > 0


def test_regions_find_what_matters_in_them():
    X, y, right = two_regimes()
    model = LGMLVQ(2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    assert model.score(X, y) >= GMLVQ(2, random_state=0).fit(X, y).score(X, y)
    np.testing.assert_allclose(model.relevances_.sum(axis=1), 1)
    regions = model.regions(X)
    for region in range(4):
        inside = regions == region
        assert right[inside].mean() in (0.0, 1.0)  # the learnt borders keep the two regimes apart
        here, there = model.relevances_[region, :2][:: 1 if not right[inside][0] else -1]
        assert here > 3 * there
    assert (model.prototype_labels_[regions] == model.predict(X)).all()


def test_the_decision_is_that_of_the_nearest_prototype():
    X, y, _ = two_regimes()
    y = y + 2 * (X[:, 2] > 0)
    model = LGMLVQ(n_components=2, max_iter=30).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (120, 4)
    assert (model.classes_[scores.argmax(axis=1)] == model.predict(X)).all()
    assert model.omegas_.shape == (4, 2, 4)
    again = LGMLVQ(n_components=2, max_iter=30).fit(X, np.array(["a", "b", "c", "d"])[y])
    assert (again.predict(X) == np.array(["a", "b", "c", "d"])[model.predict(X)]).all()
