"""Mixtures by other costs than elastic stress: equal to the slow costs, gradients right, lawful, on any objects."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist, pdist, squareform

from prismap.embeddings import TSNE, Isomap, NeRV
from prismap.metrics import AlternatingDescent, MixtureCost, MixtureMetric
from prismap.metrics._mixture_costs import IsomapCost, path_lengths
from reference import embedding_costs_reference as costs
from reference import mappings_reference as maps
from reference.dissimilarities_reference import elastic_stress

COSTS = ["elastic", "tsne", "nerv", "isomap", "cca", "bregman", "neuroscale"]


@pytest.fixture
def problem():
    """Four measures of twenty rows, condensed, raw weights and positions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    matrices = np.stack([pdist(X), pdist(X, "cityblock"), pdist(X[:, :2]), rng.uniform(1, 2, size=190)])
    return X, matrices / matrices.mean(axis=1)[:, None], np.array([0.4, 0.3, 0.2, 0.5]), rng.normal(size=(20, 2))


def slow_cost(name, D, Y):
    """The cost of positions Y under a square mixture D, straight from the formulas."""
    if name == "cca":
        return costs.curvilinear_cost(Y, D, 1.0)
    if name == "bregman":
        return costs.bregman_cost(Y, D)
    if name == "neuroscale":
        F = np.exp(-0.5 * D**2)
        return elastic_stress(F @ np.linalg.lstsq(F, Y, rcond=0.01)[0], D)
    if name == "isomap":
        G = maps.connected_paths(D)
        J = np.eye(len(D)) - 1 / len(D)
        gram = -0.5 * J @ G**2 @ J
        return np.square(gram - J @ Y @ (J @ Y).T).sum() / np.square(gram).sum()
    P, sigma = costs.row_affinities(D, 5)
    if name == "tsne":
        return costs.tsne_cost(Y, (P + P.T) / (2 * len(D)))
    return costs.nerv_cost(Y, np.maximum(P, 1e-12), sigma, 0.3)


@pytest.mark.parametrize("name", COSTS[1:])
def test_costs_equal_the_formulas_and_both_turns_agree(problem, name):
    _, matrices, a, Y = problem
    cost, weights = MixtureCost(name, perplexity=5, gamma=0.3).made(), a / a.sum()
    D = squareform(weights @ matrices)
    assert cost.of_weights(matrices, weights, Y)(a)[0] == pytest.approx(slow_cost(name, D, Y), rel=1e-4)
    placed = cost.place(weights @ matrices, Y, max_iter=3)
    assert placed.value == pytest.approx(cost.of_weights(matrices, weights, placed.x)(a)[0], rel=1e-9)
    assert placed.value < slow_cost(name, D, Y)


@pytest.mark.parametrize("name", COSTS)
def test_weight_gradients_equal_finite_differences(problem, name):
    _, matrices, a, Y = problem
    objective = MixtureCost(name, perplexity=5, gamma=0.3).made().of_weights(matrices, a / a.sum(), Y)
    numeric = approx_fprime(a, lambda a: objective(a)[0], 1e-6)
    np.testing.assert_allclose(objective(a)[1], numeric, atol=2e-4 * np.abs(numeric).max())


@pytest.mark.parametrize("name", ["cca", "bregman"])
def test_position_gradients_equal_finite_differences(problem, name):
    _, matrices, a, Y = problem
    cost, D = MixtureCost(name, reach=0.7).made(), a / a.sum() @ matrices
    Y[3] = Y[7]  # two rows at one place
    numeric = costs.numeric_gradient(lambda Z: cost.of_positions(Z, D)[0], Y)
    others = np.setdiff1d(np.arange(20), [3, 7])  # where there is a gradient
    np.testing.assert_allclose(cost.of_positions(Y, D)[1][others], numeric[others], atol=1e-4)
    assert np.isfinite(cost.of_positions(Y, D)[1]).all()


def test_path_lengths_by_each_measure_add_up_to_those_of_the_mixture(problem):
    _, matrices, a, _ = problem
    weights = a / a.sum()
    lengths, before = IsomapCost()._paths(weights @ matrices)
    np.testing.assert_allclose(squareform(weights @ path_lengths(matrices, before)), lengths, atol=1e-12)


@pytest.mark.parametrize("allow_negative", [True, False])
@pytest.mark.parametrize("name", COSTS[1:])
def test_every_cost_falls_and_prefers_the_measure_that_fits(name, allow_negative):
    rng = np.random.default_rng(1)
    plane = rng.normal(size=(40, 2))
    noise = squareform(rng.uniform(1, 3, size=40 * 39 // 2))
    # Isomap's cost jumps where other paths become the shortest, so that the starts decide.
    start = {"n_init": 3} if name == "isomap" else {"n_init": 1, "init": [0.5, 0.5]}
    options = {"descent": AlternatingDescent(n_epochs=6, max_iter=40), "random_state": 0, **start}
    options |= {"cost": MixtureCost(name, perplexity=8), "allow_negative": allow_negative}
    metric = MixtureMetric((cdist(plane, plane), noise), **options).fit(plane)
    assert (np.diff(metric.history_) <= 0).all()
    assert metric.stress_ < (0.5 * metric.start_stress_.max() if name == "isomap" else 0.8 * metric.history_[0])
    assert metric.weights_[0] > 0.7
    assert metric.weights_.sum() == pytest.approx(1)


def test_the_learnt_mixture_is_a_metric_of_the_embedding_it_was_learnt_by(problem):
    X = problem[0]
    options = {"descent": AlternatingDescent(n_epochs=2, max_iter=20), "n_init": 1}
    for name, embedding in (
        ("tsne", TSNE(perplexity=5, max_iter=50)),
        ("nerv", NeRV(max_iter=10, perplexity=5)),
        ("isomap", Isomap()),
    ):
        metric = MixtureMetric(("euclidean", "city_block"), cost=MixtureCost(name, perplexity=5), **options).fit(X)
        assert embedding.set_params(metric=metric).fit_transform(X).shape == (20, 2)
        if name == "isomap":
            assert metric.stress_ == pytest.approx(slow_cost(name, metric.pairwise(), embedding.embedding_), rel=1e-6)


def test_weights_of_measures_of_words_are_learnt_by_every_cost():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), size=rng.integers(2, 9))) for _ in range(15)]

    def lengths(A, B):
        return np.abs(np.subtract.outer([len(a) for a in A], [len(b) for b in B])).astype(float)

    def letters(A, B):
        return np.array([[len(set(a) ^ set(b)) for b in B] for a in A], dtype=float)

    for name in COSTS:
        options = {"cost": MixtureCost(name, perplexity=4), "descent": AlternatingDescent(n_epochs=2, max_iter=15)}
        metric = MixtureMetric((lengths, letters), n_init=2, **options).fit(words)
        assert metric.weights_.sum() == pytest.approx(1)
        assert metric.pairwise(words[:3]).shape == (3, 15)


def test_dissimilarities_below_zero_are_kept_on_demand():
    X = np.random.default_rng(0).gamma(2.0, size=(25, 5)) + 2
    options = {"scale": None, "n_init": 1, "descent": AlternatingDescent(n_epochs=0), "init": [0.9, 0.1]}
    measures = ("euclidean", "correlation2")
    clipped, kept = (MixtureMetric(measures, negative=how, **options).fit(X) for how in ("zero", "keep"))
    below = clipped.pairwise() - kept.pairwise()
    assert below.min() >= -1e-12
    assert below.max() > 0.1
    np.testing.assert_allclose(kept.pairwise(X[:4]), kept.pairwise()[:4], atol=1e-12)
