"""RSLVQ, GMLVQ, LMNN: costs equal to the formulas, gradients right, maps sensible, conventions kept."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.exceptions import InputError
from prismap.learners import GMLVQ, LMNN, RSLVQ
from prismap.learners import _lmnn as lmnn_module
from prismap.learners._gmlvq import gmlvq_cost
from prismap.learners._lmnn import lmnn_cost, target_neighbors
from prismap.learners._rslvq import rslvq_cost
from prismap.learners._shared import canonical_omega
from reference.learners_reference import gmlvq_reference, lmnn_reference, rslvq_reference


@parametrize_with_checks([RSLVQ(), GMLVQ(), LMNN()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 4)), np.arange(25) % 3
    W, labels = rng.normal(size=(5, 4)), np.array([0, 0, 1, 2, 2])
    return X, y, W, labels, rng.normal(size=(2, 4))


def assert_gradient(f, x, gradient):
    np.testing.assert_allclose(gradient.ravel(), approx_fprime(x.ravel(), f, 1e-7), atol=2e-6, rtol=1e-5)


def test_rslvq_cost_and_gradient(problem):
    X, y, W, labels, _ = problem
    same = y[:, None] == labels
    value, gradient = rslvq_cost(W, X, same, 0.8)
    np.testing.assert_allclose(value, rslvq_reference(W, labels, X, y, 0.8), rtol=1e-12)
    assert_gradient(lambda w: rslvq_cost(w.reshape(W.shape), X, same, 0.8)[0], W, gradient)


def test_rslvq_cost_stays_finite_far_from_all_prototypes(problem):
    X, y, W, labels, _ = problem
    value, gradient = rslvq_cost(W, X + 1e3, y[:, None] == labels, 0.1)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_gmlvq_cost_and_gradients(problem, noise):
    X, y, W, labels, omega = problem
    same = y[:, None] == labels
    value, by_W, by_omega = gmlvq_cost(W, omega, X, same, noise)
    np.testing.assert_allclose(value, gmlvq_reference(W, labels, omega, X, y, noise), rtol=1e-12)
    assert_gradient(lambda w: gmlvq_cost(w.reshape(W.shape), omega, X, same, noise)[0], W, by_W)
    assert_gradient(lambda o: gmlvq_cost(W, o.reshape(omega.shape), X, same, noise)[0], omega, by_omega)


@pytest.mark.parametrize(("push", "noise"), [(0.2, 0.0), (0.5, 0.3)])
def test_lmnn_cost_and_gradient(problem, push, noise, monkeypatch):
    X, y, _, _, omega = problem
    targets = target_neighbors(X, y, 3)
    value, gradient = lmnn_cost(omega, X, y, targets, push, noise)
    np.testing.assert_allclose(value, lmnn_reference(omega, X, y, 3, push, noise), rtol=1e-10)
    scaled = lambda o: lmnn_cost(o.reshape(omega.shape), X, y, targets, push, noise)[0] / 100  # noqa: E731
    assert_gradient(scaled, omega, gradient / 100)
    monkeypatch.setattr(lmnn_module, "_BLOCK_BYTES", 8 * 25 * 4)  # four rows a block
    blocked = lmnn_cost(omega, X, y, targets, push, noise)
    np.testing.assert_allclose(blocked[0], value, rtol=1e-12)
    np.testing.assert_allclose(blocked[1], gradient, rtol=1e-9)


def test_lmnn_small_classes_have_fewer_targets():
    X = np.array([0.0, 1.0, 2.1, 3.0, 4.0, 5.0])[:, None]
    assert target_neighbors(X, np.array([0, 0, 0, 1, 1, 2]), 2).tolist() == [
        [1, 2], [0, 2], [1, 0], [4, -1], [3, -1], [-1, -1]
    ]  # fmt: skip
    model = LMNN(2, noise=0.1).fit(X, [0, 0, 0, 1, 1, 2])
    cost = lmnn_reference(model.omega_, X, [0, 0, 0, 1, 1, 2], 2, 0.5, 0.1 * X.var())
    np.testing.assert_allclose(model.objective_ * 6, cost)


def test_canonical_omega_keeps_the_metric_and_orders_orthogonal_rows():
    omega = np.random.default_rng(0).normal(size=(3, 5))
    found = canonical_omega(omega)
    np.testing.assert_allclose(found.T @ found, omega.T @ omega, atol=1e-12)
    lengths = found @ found.T
    np.testing.assert_allclose(lengths, np.diag(np.diag(lengths)), atol=1e-12)
    assert (np.diff(np.diag(lengths)) < 0).all()
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    np.testing.assert_allclose(canonical_omega(rotation @ omega), found, atol=1e-12)


def noisy_classes(seed=0, n=120):
    """Two informative columns, eight noise columns of ten times the spread: Euclidean neighbours see noise only."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = 3.0 * rng.normal(size=(n, 10))
    X[:, :2] = 0.3 * rng.normal(size=(n, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[y]
    return X, y


@pytest.mark.parametrize("model", [GMLVQ(), GMLVQ(n_components=2), LMNN(), LMNN(n_components=4)])
def test_learned_metric_finds_the_informative_columns(model):
    X, y = noisy_classes()
    X_new, y_new = noisy_classes(1)
    model.fit(X, y)
    assert KNeighborsClassifier(3).fit(X, y).score(X_new, y_new) < 0.75
    assert model.score(X_new, y_new) > 0.9
    profile = np.diag(model.lambda_)
    assert profile[:2].min() > 5 * profile[2:].max()
    np.testing.assert_allclose(model.transform(X), X @ model.omega_.T)
    np.testing.assert_allclose(model.lambda_, model.omega_.T @ model.omega_)
    assert model.omega_.shape[0] == (model.n_components or 10)
    assert model.stop_reason_ in ("converged", "max_iter")


@pytest.mark.parametrize("model", [GMLVQ(), LMNN(n_components=5)])
def test_noise_to_bear_keeps_few_rows_from_being_learned_by_heart(model):
    """Twenty rows in forty columns, three of which tell the classes apart: fitted anyhow, held-out rows tell."""
    errors = {0.0: [], 0.3: []}
    for seed in (0, 2, 4):
        rng = np.random.default_rng(seed)
        y = np.arange(220) % 2
        X = rng.normal(size=(220, 40)) @ np.diag(np.geomspace(3, 0.1, 40))
        X[:, :3] += 2.0 * y[:, None]
        for noise, found in errors.items():
            fitted = model.set_params(noise=noise).fit(X[:20], y[:20])
            found.append(1 - fitted.score(X[20:], y[20:]))
    assert np.mean(errors[0.3]) < np.mean(errors[0.0]) - 0.05


def test_gmlvq_two_prototypes_solve_xor():
    rng = np.random.default_rng(0)
    corners = rng.choice([-1.0, 1.0], size=(100, 2))
    X, y = corners + 0.2 * rng.normal(size=(100, 2)), np.where(corners.prod(axis=1) > 0, "same", "other")
    model = GMLVQ(2, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert sorted(model.prototype_labels_) == ["other", "other", "same", "same"]
    np.testing.assert_allclose((model.omega_**2).sum(), 1.0)


def test_gmlvq_scores_say_how_near_the_other_class_is():
    X, y = load_iris(return_X_y=True)
    model = GMLVQ().fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    assert np.abs(scores).max() <= 1
    D2 = ((model.transform(X)[:, None] - model.transform(model.prototypes_)) ** 2).sum(axis=2)
    expected = [[(np.delete(d, c).min() - d[c]) / (np.delete(d, c).min() + d[c]) for c in range(3)] for d in D2]
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    assert (model.classes_[D2.argmin(axis=1)] == model.predict(X)).all()


def test_rslvq_probabilities_and_prototypes_among_the_data():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=500, random_state=0, stratify=y)
    for n_prototypes in (1, 3):
        model = RSLVQ(n_prototypes, random_state=0).fit(X_train, y_train)
        assert model.score(X_test, y_test) > 0.9
        P = model.predict_proba(X_test)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        right = P[np.arange(len(P)), y_test]
        assert -np.log(np.maximum(right, 1e-12)).mean() < 0.5  # not merely right: not sure where wrong
        assert model.prototypes_.shape == (10 * n_prototypes, 64)
        assert (model.prototype_labels_ == np.repeat(np.arange(10), n_prototypes)).all()


def test_rslvq_penalty_holds_prototypes_where_classes_are_separable():
    X = np.array([[-1.0], [-0.9], [0.9], [1.0]])
    y = [0, 0, 1, 1]
    free, held = (RSLVQ(penalty=p, sigma=0.8, tol=0.0).fit(X, y) for p in (0.0, 0.01))
    assert np.abs(held.prototypes_).max() < 3 < np.abs(free.prototypes_).max()
    moved = held.prototypes_ - [[-0.95], [0.95]]
    cost = rslvq_reference(held.prototypes_, np.array([0, 1]), X, y, 0.8) + 0.01 * (moved**2).sum() / (2 * 0.8**2)
    np.testing.assert_allclose(held.objective_, cost)


def test_rslvq_gives_the_bayes_posterior_of_its_own_mixture():
    rng = np.random.default_rng(0)
    W = np.array([[-1.0, 0.0], [1.0, 0.5]])
    y = rng.integers(2, size=4000)
    X = W[y] + 0.9 * rng.normal(size=(4000, 2))
    model = RSLVQ(sigma=0.9, penalty=0.0).fit(X, y)
    truth = 1 / (1 + np.exp((((X - W[1]) ** 2).sum(axis=1) - ((X - W[0]) ** 2).sum(axis=1)) / (2 * 0.81)))
    assert np.abs(model.predict_proba(X)[:, 1] - truth).mean() < 0.02


@pytest.mark.parametrize("model", [RSLVQ(3), GMLVQ(3), LMNN()])
def test_duplicates_constant_columns_and_few_rows(model):
    X = np.repeat(np.array([[0.0, 1.0], [1.0, 1.0]]), 3, axis=0)
    model.fit(X, [0, 0, 0, 1, 1, 1])
    assert model.predict(X).tolist() == [0, 0, 0, 1, 1, 1]
    wide = np.random.default_rng(0).normal(size=(6, 30))
    assert model.fit(wide, [0, 1, 0, 1, 0, 1]).predict(wide).shape == (6,)


@pytest.mark.parametrize("Model", [RSLVQ, GMLVQ, LMNN])
def test_bad_input(Model):
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(InputError, match="only one class"):
        Model().fit(X, np.zeros(6))
    with pytest.raises(InputError, match="y has 5 entries and X has 6 rows"):
        Model().fit(X, [0, 1, 0, 1, 0])
    with pytest.raises(InputError, match="1 missing or infinite values in 1 rows"):
        Model().fit(np.where(X[0, 0] == X, np.nan, X), [0, 1, 0, 1, 0, 1])


def test_lmnn_without_any_pair_says_so():
    with pytest.raises(InputError, match="one row only"):
        LMNN().fit(np.eye(3), [0, 1, 2])
