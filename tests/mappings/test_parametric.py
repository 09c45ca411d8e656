"""ParametricMap: gradients, slow twins, the costs it is trained by, and its place inside a map."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap import PrisMap
from prismap._util.costs import stress_cost
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.mappings import MapCost, ParametricMap
from prismap.mappings._parametric import backward, first_weights, flatten, forward, shadow_targets, unflatten
from reference import embedding_costs_reference as costs
from reference import mappings_reference as slow

SMALL = {"n_hidden": 6, "max_iter": 15, "cost": MapCost(perplexity=8)}


@parametrize_with_checks(
    [
        ParametricMap(cost=MapCost(perplexity=3), n_hidden=4, max_iter=3),
        ParametricMap("rbf", cost="sammon", n_hidden=4, max_iter=3),
    ]
)
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def plane():
    """Rows near a plane in four dimensions and their positions in it."""
    rng = np.random.default_rng(0)
    Y = rng.uniform(size=(60, 2)) * 3
    return Y @ rng.normal(size=(2, 4)) + 0.05 * rng.normal(size=(60, 4)), Y


def test_gradients_of_a_network_equal_finite_differences():
    rng = np.random.default_rng(0)
    X, goal, layers = rng.normal(size=(7, 3)), rng.normal(size=(7, 2)), first_weights([3, 5, 4, 2], rng)

    def cost(flat):
        return 0.5 * np.square(forward(unflatten(flat, layers), X)[-1] - goal).sum()

    values = forward(layers, X)
    found = flatten(backward(layers, values, values[-1] - goal))
    np.testing.assert_allclose(found, approx_fprime(flatten(layers), cost, 1e-7), atol=1e-5)


def test_a_network_sees_principal_coordinates_through_distances(plane):
    X, Y = plane
    model = ParametricMap(n_inputs=3, **SMALL).fit(X[:40], Y[:40])
    expected = np.array([slow.network_position(x, X[:40], model.layers_, 3) for x in X[40:]])
    spread = np.sqrt(np.square(Y[:40] - Y[:40].mean(axis=0)).mean())
    np.testing.assert_allclose(model.transform(X[40:]), spread * expected + Y[:40].mean(axis=0), atol=1e-6)


def test_shadow_targets_equal_the_slow_ones_and_lower_the_stress(plane):
    X, Y = plane
    D = cdist(X, X)
    F = np.column_stack([np.exp(-np.square(D[:, ::6])), np.ones(60)])
    cost_of = partial(stress_cost, D=D)
    first = np.random.default_rng(0).normal(size=Y.shape)
    A, cost, n_iter = shadow_targets(F, first, cost_of, 12)
    np.testing.assert_allclose(A, slow.shadow_targets(F, first, cost_of, 12), rtol=1e-5, atol=1e-7)
    assert n_iter == 12
    assert cost < 0.5 * cost_of(F @ (np.linalg.pinv(F) @ first))[0]


@pytest.mark.parametrize("kind", ["network", "rbf"])
@pytest.mark.parametrize("init", ["positions", "random"])
@pytest.mark.parametrize("cost", ["tsne", "sammon"])
def test_training_lowers_the_cost_of_the_fitted_rows(plane, kind, init, cost):
    X, Y = plane[0][:25], plane[1][:25]
    model = ParametricMap(kind, init=init, **SMALL | {"cost": MapCost(cost, perplexity=8)}).fit(X, Y)
    placed, D = model.transform(X), cdist(X, X)
    P = costs.row_affinities(D, 8)[0]
    np.testing.assert_allclose(placed.mean(axis=0), Y.mean(axis=0), atol=1e-8)  # turned and shifted onto the positions
    assert (model.scale_ != 1) == (init == "positions" and cost == "tsne")  # stress has a scale of its own
    placed = (placed - Y.mean(axis=0)) / model.scale_
    expected = costs.tsne_cost(placed, (P + P.T) / 50) if cost == "tsne" else costs.sammon_stress(placed, D)
    assert model.cost_[1] == pytest.approx(expected, rel=1e-4)
    assert model.cost_[1] < model.cost_[0]


@pytest.mark.parametrize("kind", ["network", "rbf"])
def test_new_rows_land_near_their_place_whatever_their_company(plane, kind):
    X, _ = plane
    model = ParametricMap(kind, cost="mds", n_hidden=20, max_iter=150).fit(X[:45], cdist_positions(X[:45]))
    together = model.transform(X[45:])
    wanted = cdist(X[45:], X[:45])
    alone = np.vstack([model.place(row[None]) for row in wanted])
    np.testing.assert_array_equal(alone, model.place(wanted))
    assert np.abs(cdist(together, model.embedding_) - wanted).mean() < 0.25 * wanted.mean()


def cdist_positions(X):
    """The plane that holds most of the rows, in their own units."""
    centred = X - X.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T


@pytest.mark.parametrize("mapping", ["parametric", ParametricMap("rbf", **SMALL)], ids=str)
def test_it_is_a_mapping_of_maps_that_can_be_kept(mapping, tmp_path):
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(1).normal(scale=0.05, size=X.shape)
    model = PrisMap(TSNE(max_iter=100, perplexity=10), mapping=mapping, supervision=0.8, perplexity=10, random_state=0)
    model.fit(X[::2], y[::2])
    placed = model.transform(X[1::2])
    # In the scale of the map, which a network trained to the end would leave: the residual was 1.9.
    assert model.map_.mapping.residual_ < 0.7
    assert np.abs(placed).max() < 1.5 * np.abs(model.embedding_).max()
    np.testing.assert_array_equal(np.vstack([model.transform(row[None]) for row in X[1:9:2]]), placed[:4])
    model.save(tmp_path / "m.prismap")
    np.testing.assert_array_equal(PrisMap.load(tmp_path / "m.prismap").transform(X[1::2]), placed)
    with pytest.raises(InputError, match="kernel maps and votes only"):
        model.partial_refit(X[1::2] + 100)


def test_equal_rows_and_wrong_parameters():
    model = ParametricMap(**SMALL).fit(np.ones((30, 2)), np.zeros((30, 2)))
    assert np.isfinite(model.transform(np.ones((2, 2)))).all()
    with pytest.raises(ValueError, match="kind"):
        ParametricMap("forest").fit(np.eye(9), np.eye(9)[:, :2])
    with pytest.raises(InputError, match="the cost 'lle' is none that this mapping can minimise"):
        ParametricMap(cost=MapCost("lle")).fit(np.eye(9), np.eye(9)[:, :2])
