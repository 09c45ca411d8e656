"""Other notions of relevance: hinge loss, entropy, independence tests, the L2 canonical map, regularisation paths."""

import numpy as np
import pytest
from scipy.stats import kruskal, spearmanr
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from prismap.exceptions import InputError
from prismap.relevance import RelevanceBounds, coefficient_paths, conditional_entropy, recursive_independence_test
from prismap.relevance._bounds import leading_directions
from prismap.relevance._entropy import (
    class_dependence,
    class_information,
    differential_entropy,
    rank_dependence,
    real_information,
)
from prismap.relevance._ranges import hinge_losses
from reference.bounds_reference import (
    class_information_reference,
    entropy_reference,
    hinge_bounds,
    real_information_reference,
)


@pytest.fixture
def machine():
    """Copies of one feature, a necessary one, and noise; the classes overlap."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 60))
    y = np.where(a + b + 0.5 * rng.normal(size=60) > 0, "yes", "no")
    return np.column_stack([a, a, b, rng.normal(size=60)]), y, np.array([0.8, 0.2, 1.1, 0.1])


# --- the hinge loss ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slack", [0.0, 0.05])
def test_hinge_bounds_equal_a_convex_solver(machine, slack):
    X, y, w = machine
    loss, expected = hinge_bounds(X, y, w, slack)
    assert hinge_losses(X @ w, np.where(y == "yes", 1.0, -1.0))[0] == pytest.approx(loss, rel=1e-7)
    found = RelevanceBounds(method="hinge", slack=slack).fit(X, w, y)
    np.testing.assert_allclose(found.interval_, expected, atol=1e-5)


def test_hinge_bounds_know_copies_and_noise_of_a_machine(machine):
    X, y, _ = machine
    found = RelevanceBounds(method="hinge").fit(X, LinearSVC(C=10).fit(X, y), y)
    assert found.relevance_classes_.tolist() == [1, 1, 2, 0]
    np.testing.assert_allclose(found.interval_[0], found.interval_[1], atol=1e-6)


def test_hinge_bounds_of_several_classes_are_summed_and_a_useless_map_has_none(machine):
    X, _, _ = machine
    y = np.digitize(X[:, 2], [-0.5, 0.5])
    model = LinearSVC().fit(X, y)
    found = RelevanceBounds(method="hinge").fit(X, model, y)
    single = [RelevanceBounds(method="hinge").fit(X, w, y == c).interval_ for c, w in enumerate(model.coef_)]
    np.testing.assert_allclose(found.interval_, np.sum(single, axis=0), atol=1e-6)
    assert not RelevanceBounds(method="hinge").fit(X, [0, 0, 0, 1e-9], y > 0).interval_.any()


def test_hinge_bounds_ask_for_classes_that_fit(machine):
    X, _, w = machine
    with pytest.raises(InputError, match="needs y, the classes"):
        RelevanceBounds(method="hinge").fit(X, w)
    with pytest.raises(InputError, match="y has 3 classes and coef 1 rows"):
        RelevanceBounds(method="hinge").fit(X, w, np.arange(60) % 3)


# --- entropy and independence -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3])
def test_entropy_equals_the_formula_and_that_of_a_gaussian(d):
    X = np.random.default_rng(d).normal(size=(40, d))
    assert differential_entropy(X) == pytest.approx(entropy_reference(X, 3))
    many = np.random.default_rng(d).normal(size=(3000, d))
    assert differential_entropy(many) == pytest.approx(0.5 * d * np.log(2 * np.pi * np.e), abs=0.1)


def test_information_equals_the_formulas_and_bears_copies():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 40, 2))
    Y[:, 0] += 2 * X[:, 0]
    codes = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int) + (X[:, 1] > 1)
    assert real_information(X, Y) == pytest.approx(real_information_reference(X, Y, 3))
    assert class_information(X, codes) == pytest.approx(class_information_reference(X, codes, 3))
    assert real_information(np.hstack([X, X]), Y) == pytest.approx(real_information(X, Y))


def test_conditional_entropy_falls_with_what_the_columns_tell():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 800))
    real = x + 0.5 * noise  # mutual information log(1 + 4) / 2
    nothing = conditional_entropy(np.zeros((800, 1)), real)
    assert nothing - conditional_entropy(x[:, None], real) == pytest.approx(0.5 * np.log(5), abs=0.15)
    assert nothing - conditional_entropy(rng.normal(size=(800, 1)), real) == pytest.approx(0, abs=0.1)
    classes = (x > 0).astype(int)
    assert conditional_entropy(np.zeros((800, 1)), classes) == pytest.approx(np.log(2), abs=0.01)
    assert conditional_entropy(x[:, None], classes) == pytest.approx(0, abs=0.1)
    with pytest.raises(InputError, match="no class of more than 3 rows"):
        conditional_entropy(x[:6, None], ["a", "a", "b", "b", "c", "c"])


def test_entropy_is_a_criterion_of_the_bounds(machine):
    X, _, _ = machine
    y = X[:, 0] + X[:, 2]
    by_name = RelevanceBounds(method="greedy", criterion="entropy", max_iter=3).fit(X, np.ones(4), y)
    by_hand = RelevanceBounds(method="greedy", criterion=conditional_entropy, max_iter=3).fit(X, np.ones(4), y)
    np.testing.assert_array_equal(by_name.interval_, by_hand.interval_)
    assert by_name.interval_[:, 0].argmax() == 2  # the copies replace each other, this one has no equal
    assert by_name.interval_[3, 1] < by_name.interval_[:3, 1].min()


def test_rank_tests_equal_those_of_scipy():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(30, 3)).astype(float)
    X[:, 2] = 1.0
    y = rng.integers(0, 3, size=30)
    ranks = np.apply_along_axis(lambda v: np.searchsorted(np.sort(v), v) + 0.5 * (v[:, None] == v).sum(axis=1), 0, X)
    expected = [kruskal(*(X[y == c, j] for c in range(3))).pvalue for j in range(2)]
    np.testing.assert_allclose(class_dependence(ranks, y), [*expected, 1.0])
    assert rank_dependence(ranks, ranks)[0, 1] == pytest.approx(spearmanr(X[:, 0], X[:, 1]).pvalue)
    assert rank_dependence(ranks, ranks)[0, 2] == 1.0


def test_independence_spreads_from_the_target_round_by_round():
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 300))
    X = np.column_stack([a, a + b, b + c, c, rng.normal(size=300)])
    assert recursive_independence_test(X, a).tolist() == [1, 1, 2, 3, 0]
    assert recursive_independence_test(X, np.where(a > 0, "u", "v")).tolist() == [1, 1, 2, 3, 0]
    assert not recursive_independence_test(X, rng.normal(size=300)).any()
    with pytest.raises(InputError, match="alpha must lie between 0 and 1"):
        recursive_independence_test(X, a, alpha=2)


# --- the canonical map and the paths ----------------------------------------------------------------------------------


def test_the_canonical_map_is_the_shortest_equivalent_one():
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 7)), rng.normal(size=(2, 7))
    found = RelevanceBounds(4).fit(X, W).canonical_map_
    values, vectors = np.linalg.eigh(X.T @ X)
    null = vectors[:, np.argsort(values)[::-1]][:, 4:]
    np.testing.assert_allclose(found, W - sum((W @ v)[:, None] * v for v in null.T), atol=1e-10)  # Psi of the thesis
    np.testing.assert_allclose(X @ found.T, X @ W.T, atol=1e-9)
    np.testing.assert_allclose(found, (np.linalg.pinv(X) @ X @ W.T).T, atol=1e-9)
    assert leading_directions(X)[0].shape == (7, 4)


def test_paths_equal_scikit_learns_regressions(machine):
    X, _, w = machine
    X = X + np.random.default_rng(1).normal(size=X.shape)
    X, y = X - X.mean(axis=0), (X - X.mean(axis=0)) @ w
    paths = coefficient_paths(X, w, n_alphas=20)
    largest = np.abs(X.T @ y).max() / len(X)
    alphas = {"lasso": np.logspace(0, -4, 20) * largest, "elastic net": np.logspace(0, -4, 20) * largest / 0.5}
    alphas["ridge"] = np.logspace(3, -6, 20) * np.linalg.norm(X, 2) ** 2
    for name, model in (("lasso", Lasso(tol=1e-6)), ("elastic net", ElasticNet(tol=1e-6)), ("ridge", Ridge())):
        lengths, weights = paths[name]
        np.testing.assert_allclose(lengths, np.abs(weights).sum(axis=1))
        for k in (0, 5, 12):
            expected = model.set_params(alpha=alphas[name][k], fit_intercept=False).fit(X, y).coef_
            np.testing.assert_allclose(weights[k], expected, atol=1e-3)
        np.testing.assert_allclose(weights[-1], w, atol=0.01)


def test_paths_share_weight_among_copies_where_bounds_say_that_one_is_enough(machine):
    X, _, w = machine
    paths = coefficient_paths(X, w)
    ridge = paths["ridge"][1]
    np.testing.assert_allclose(ridge[:, 0], ridge[:, 1], atol=1e-9)
    np.testing.assert_allclose(RelevanceBounds(3, slack=0.0).fit(X, w).interval_[:2], [[0, 1], [0, 1]], atol=1e-8)
    with pytest.raises(InputError, match="coef has 3 outputs"):
        coefficient_paths(X, LogisticRegression().fit(X, np.arange(60) % 3))
